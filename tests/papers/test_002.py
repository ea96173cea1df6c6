"""Paper 002: mean test cost of the five SVM reductions under random costs (Table 2), and the three Gaussians (Fig. 2).

Protocol of section 5: 75% training, features to [0, 1] by the training set, perceptron kernel, lam among 2^17 ... 2^-3
by five folds on mean cost. Costs are uniform on [0, 2000] off the diagonal; the printed formula, with ratios of class
sizes, does not reproduce Table 2. Splits keep the class proportions.

A mean agrees if it lies within two standard errors of the difference from ``REFERENCE`` (an independent implementation
of this protocol, 100 runs; 20 on vehicle and vowel) or from ``PRINTED`` (the paper, 20 runs). That splits keep
the class proportions follows from Table 3: OVA's error on glass, which hardly depends on costs, is 32% with plain ones.
"""

import csv
import os
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.spatial.distance import cdist
from sklearn.model_selection import StratifiedKFold, train_test_split
from sklearn.preprocessing import MinMaxScaler
from sklearn.svm import SVC

from steelyard import (
    AllPairsClassifierCV,
    FilterTreeClassifierCV,
    OneSidedClassifierCV,
    OneVsAllClassifierCV,
    SECOCClassifierCV,
    random_costs,
)
from steelyard.data.gaussians import make_three_gaussians, rotating_costs, three_gaussians_posterior

METHODS: dict[str, Any] = {
    "RED": OneSidedClassifierCV,
    "FT": FilterTreeClassifierCV,
    "SECOC": SECOCClassifierCV,
    "WAP": AllPairsClassifierCV,
    "OVA": OneVsAllClassifierCV,
}
RUNS = {"iris": 100, "wine": 100, "glass": 100, "vehicle": 20, "vowel": 20}
Band = tuple[float, float]  # mean and standard error
REFERENCE: dict[str, dict[str, Band]] = {
    "iris": {"RED": (33.2, 2.9), "FT": (34.2, 3.2), "SECOC": (36.9, 3.2), "WAP": (34.2, 3.0), "OVA": (44.7, 3.8)},
    "wine": {"RED": (22.5, 2.2), "FT": (19.7, 2.2), "SECOC": (17.7, 1.9), "WAP": (21.0, 2.4), "OVA": (26.1, 3.0)},
    "glass": {"RED": (247, 9), "FT": (254, 10), "SECOC": (255, 9), "WAP": (247, 9), "OVA": (305, 9)},
    "vehicle": {"RED": (198, 19), "FT": (210, 21), "SECOC": (197, 20), "WAP": (206, 22), "OVA": (220, 18)},
    "vowel": {"RED": (25.1, 2.6), "FT": (29.6, 2.3), "SECOC": (73, 9), "WAP": (19.6, 2.3), "OVA": (19.0, 2.1)},
}
PRINTED: dict[str, dict[str, Band]] = {
    "iris": {
        "RED": (23.82, 5.52),
        "FT": (31.75, 5.53),
        "SECOC": (29.30, 5.53),
        "WAP": (28.13, 6.20),
        "OVA": (35.58, 7.16),
    },
    "wine": {
        "RED": (19.43, 4.65),
        "FT": (20.72, 5.27),
        "SECOC": (19.66, 4.54),
        "WAP": (19.99, 5.82),
        "OVA": (28.00, 5.16),
    },
    "glass": {
        "RED": (228.54, 15.61),
        "FT": (264.52, 15.66),
        "SECOC": (251.91, 14.18),
        "WAP": (253.29, 16.76),
        "OVA": (283.86, 18.17),
    },
    "vehicle": {
        "RED": (178.63, 20.37),
        "FT": (190.68, 21.62),
        "SECOC": (193.52, 21.38),
        "WAP": (187.25, 22.69),
        "OVA": (216.94, 17.83),
    },
    "vowel": {
        "RED": (23.07, 2.89),
        "FT": (25.96, 2.76),
        "SECOC": (88.57, 7.25),
        "WAP": (17.63, 2.01),
        "OVA": (13.43, 1.84),
    },
}


def load(name: str) -> tuple[NDArray[np.float64], NDArray[np.str_]]:
    """Features and labels; of vowel the ten formants only."""
    folder = os.environ.get("STEELYARD_DATA")
    if not folder:
        pytest.skip("STEELYARD_DATA does not say where the papers' data are")
    file = {"iris": "iris.data", "wine": "wine.data", "glass": "glass.data"}.get(name, f"{name}.dat")
    lines = [line for line in (Path(folder) / file).read_text().splitlines() if line.strip() and line[0] != "@"]
    cells = np.array([line.replace(",", " ").split() for line in lines])
    if name == "wine":
        return cells[:, 1:].astype(float), cells[:, 0]
    first = {"glass": 1, "vowel": 3}.get(name, 0)  # a row number; train/test flag, speaker and sex
    return cells[:, first:-1].astype(float), cells[:, -1]


def costs_of_runs(name: str, method: str, runs: range) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Mean test cost and error in percent of every run; a run has its own split and costs."""
    X, y = load(name)
    paid, wrong = [], []
    for run in runs:
        rng = np.random.default_rng(run)
        costs = random_costs(y, rng)
        seed = int(rng.integers(2**31))
        Xa, Xb, ya, yb = train_test_split(X, y, test_size=0.25, random_state=seed, stratify=y)
        scaler = MinMaxScaler().fit(Xa)
        extra = {"random_state": seed} if method == "FT" else {}
        model = METHODS[method](costs=costs, lams="paper", **extra).fit(scaler.transform(Xa), ya)
        predicted = model.predict(scaler.transform(Xb))
        paid.append(costs.per_example(yb)[np.arange(len(yb)), costs.encode(predicted)].mean())
        wrong.append(100 * (predicted != yb).mean())
    return np.array(paid), np.array(wrong)


def check(name: str, method: str, runs: range) -> None:
    mean = costs_of_runs(name, method, runs)[0].mean()
    bands = (REFERENCE[name][method], PRINTED[name][method])
    error = bands[0][1] * (RUNS[name] / len(runs)) ** 0.5  # costs of runs are skewed: few of them hide their spread
    distances = [abs(mean - m) / np.hypot(error, e) for m, e in bands]
    print(f"{name} {method}: {mean:.2f} +- {error:.2f}; reference {bands[0]}, printed {bands[1]}; z {distances}")
    assert min(distances) <= 2


@pytest.mark.data
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", ["iris", "wine", "glass"])
def test_table_2_in_a_few_runs(name: str, method: str) -> None:
    check(name, method, range(3))


@pytest.mark.data
@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", RUNS)
def test_table_2(name: str, method: str) -> None:
    check(name, method, range(RUNS[name]))


@pytest.mark.data
@pytest.mark.slow
def test_error_of_one_vs_all_on_glass() -> None:
    """Table 3, and 30.1 by the independent implementation."""
    errors = costs_of_runs("glass", "OVA", range(100))[1]
    assert abs(errors.mean() - 29.91) <= 2 * np.hypot(errors.std() / 10, 0.63)


def costs_kept(name: str) -> NDArray[np.float64]:
    """Mean test costs by run and method, from the results that stand beside the recipe."""
    results = Path(__file__).parents[2] / "papers" / "002-one-sided-svr" / "results"
    with (results / f"table2-{name}.csv").open(newline="") as file:
        cell = {
            (row["learner"].split("-")[0], int(row["run"])): float(row["mean_cost"]) for row in csv.DictReader(file)
        }
    return np.array([[cell[method, run] for method in METHODS] for run in range(len(cell) // len(METHODS))])


def test_kept_results_agree_with_the_reference_as_chance_would_have_it() -> None:
    """Of 25 cells a few lie outside two standard errors even if both sides did the same, and methods share their luck.

    How many do so is known from references drawn from our own runs: theirs must not be among the worst 5%.
    """
    rng = np.random.default_rng(0)
    kept = {name: costs_kept(name) for name in RUNS}

    def outside(reference: dict[str, NDArray[np.float64]]) -> int:
        cells = 0
        for name, (mean, error) in reference.items():
            ours, our_error = mean_and_error(kept[name])
            cells += np.count_nonzero(np.abs(ours - mean) > 2 * np.hypot(our_error, error))
        return cells

    found = outside({name: np.array([REFERENCE[name][method] for method in METHODS]).T for name in RUNS})
    by_chance = [
        outside({name: mean_and_error(ours[rng.integers(len(ours), size=RUNS[name])]) for name, ours in kept.items()})
        for _ in range(1000)
    ]
    as_many = np.mean(np.array(by_chance) >= found)
    print(
        f"{found} of 25 cells outside two standard errors; as many in {as_many:.0%} of references drawn from our runs"
    )
    assert as_many > 0.05


def mean_and_error(costs: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.array([costs.mean(axis=0), costs.std(axis=0, ddof=1) / len(costs) ** 0.5])


def machine(gram: Any, y: Any, weight: Any, lam: float, to_train: Any) -> Any:
    """Decisions of a weighted SVM by scikit-learn; examples of no weight take no part."""
    used = weight > 0
    if len(set(y[used])) < 2:
        return np.full(len(to_train), y[used][0])
    model = SVC(C=1 / lam, kernel="precomputed", tol=1e-8)
    model.fit(gram[np.ix_(used, used)], y[used], sample_weight=weight[used])
    return model.decision_function(to_train[:, used])


def one_vs_all(gram: Any, y: Any, C: Any, lam: float, to_train: Any) -> Any:
    own = [machine(gram, np.where(y == k, 1, -1), np.ones(len(y)), lam, to_train) for k in range(len(C))]
    return np.argmax(own, axis=0)


def all_pairs(gram: Any, y: Any, C: Any, lam: float, to_train: Any) -> Any:
    """Every pair once, at |v_i - v_j| with v_k = integral from 0 to c_k of dt / |{j: c_j <= t}|, step by step."""
    v = np.zeros_like(C)
    for truth, costs in enumerate(C):
        for low, high in pairwise(sorted(costs)):
            v[truth, costs >= high] += (high - low) / np.count_nonzero(costs <= low)
    wins = np.zeros((len(to_train), len(C)))
    for i, j in combinations(range(len(C)), 2):
        gain = v[y, j] - v[y, i]
        first = machine(gram, np.where(gain >= 0, 1, -1), np.abs(gain), lam, to_train) >= 0
        wins[:, i] += first
        wins[:, j] += ~first
    return np.argmax(wins, axis=1)


@pytest.mark.data
@pytest.mark.parametrize(("method", "answers"), [("OVA", one_vs_all), ("WAP", all_pairs)])
def test_wine_by_scikit_learn_alone(method: str, answers: Any) -> None:
    """The whole protocol without a line of ours chooses the same lambdas and gives the same answers."""
    X, labels = load("wine")
    y = np.unique(labels, return_inverse=True)[1]
    lambdas = [2.0**power for power in range(17, -4, -2)]
    for run in range(4):
        rng = np.random.default_rng(run)
        C = rng.uniform(0, 2000, (3, 3)) * (1 - np.eye(3))
        train, test = train_test_split(np.arange(len(y)), test_size=0.25, random_state=run, stratify=y)
        scaled = MinMaxScaler().fit(X[train]).transform(X)
        K, truth = -cdist(scaled[train], scaled[train]), y[train]
        folds = list(StratifiedKFold(5, shuffle=True, random_state=run).split(K, truth))
        cost = [
            np.mean([C[truth[b], answers(K[np.ix_(a, a)], truth[a], C, lam, K[np.ix_(b, a)])].mean() for a, b in folds])
            for lam in lambdas
        ]
        lam = lambdas[int(np.argmin(np.round(cost, 9)))]
        model = METHODS[method](costs=C, lams="paper", cv=folds, tol=1e-6).fit(scaled[train], truth)
        np.testing.assert_allclose(model.cv_costs_.mean(axis=1), cost, atol=1e-6)
        assert model.lam_ == lam
        expected = answers(K, truth, C, lam, -cdist(scaled[test], scaled[train]))
        np.testing.assert_array_equal(model.predict(scaled[test]), expected)


def excess_on_gaussians(method: str, seed: int, n_per_class: int = 500) -> float:
    """Expected test cost over that of the Bayes rule, from the true posterior: no noise of test labels."""
    X, y = make_three_gaussians(n_per_class, random_state=seed)
    at, _ = make_three_gaussians(5000, random_state=1000 + seed)
    expected = rotating_costs().expected(three_gaussians_posterior(at))
    scaler = MinMaxScaler().fit(X)
    extra = {"random_state": seed} if method == "FT" else {}
    model = METHODS[method](costs=rotating_costs(), lams="paper", **extra).fit(scaler.transform(X), y)
    paid = expected[np.arange(len(at)), model.predict(scaler.transform(at))].mean()
    return float(paid / expected.min(axis=1).mean())


# By the reference implementation, of a Bayes cost of 1.15 in its test sample: OVA 3.42-3.91, RED 1.53-1.65, FT
# 1.19-1.34, WAP 1.19-1.33. RED stays well above the Bayes rule where FT and WAP come near.
GAUSSIANS = [("OVA", 2.9, 3.5), ("RED", 1.3, 1.6), ("FT", 1.0, 1.2), ("WAP", 1.0, 1.2)]


def test_figure_2_with_fewer_points() -> None:
    excess = {m: np.mean([excess_on_gaussians(m, seed, 150) for seed in range(3)]) for m in ("OVA", "RED", "WAP")}
    assert 1.0 <= excess["WAP"] < 1.25 < excess["RED"] < 1.6 < 2.4 < excess["OVA"] < 3.5


@pytest.mark.slow
@pytest.mark.parametrize(("method", "low", "high"), GAUSSIANS)
def test_figure_2(method: str, low: float, high: float) -> None:
    assert low <= np.mean([excess_on_gaussians(method, seed) for seed in range(10)]) <= high
