"""Measures, bootstrap intervals and stream measures beside scipy and scikit-learn, 20,000 examples."""

from __future__ import annotations

import numpy as np

from harness import Goal, Round, candidate

N, RESAMPLES = 20_000, 2000
INTERVAL, COSTS, STREAM, MEASURE = "BCa interval of F1", "BCa interval of mean cost", "F1 at 200 rounds", "one F1"


def answers() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    draw = np.random.default_rng(0)
    y = (draw.random(N) < 0.1).astype(int)
    return y, np.where(draw.random(N) < 0.85, y, 1 - y), draw.gamma(1.0, 5.0, N)


@candidate(INTERVAL, "steelyard")
def _() -> Round:
    import steelyard as sy

    y, p, _ = answers()
    return lambda: sy.bootstrap_interval(sy.f_score, y, p, n_resamples=RESAMPLES, random_state=0)


@candidate(INTERVAL, "scipy, stratified", rounds=2)
def _() -> Round:
    from scipy import stats

    y, p, _ = answers()

    def f1(of_negatives: np.ndarray, of_positives: np.ndarray, axis: int = -1) -> np.ndarray:
        hits = of_positives.sum(axis=axis)
        return 2 * hits / (of_positives.shape[axis] + hits + of_negatives.sum(axis=axis))

    strata = (p[y == 0], p[y == 1])
    return lambda: stats.bootstrap(strata, f1, n_resamples=RESAMPLES, method="BCa", vectorized=True, batch=50, rng=0)


@candidate(COSTS, "steelyard")
def _() -> Round:
    import steelyard as sy

    y, p, dear = answers()
    costs = sy.Costs.binary(fn=dear, fp=1.0, classes=[0, 1])
    return lambda: sy.bootstrap_interval(sy.mean_cost, y, p, costs=costs, n_resamples=RESAMPLES, random_state=0)


@candidate(COSTS, "scipy, stratified", rounds=2)
def _() -> Round:
    from scipy import stats

    y, p, dear = answers()
    paid = np.where(y != p, np.where(y == 1, dear, 1.0), 0.0)

    def mean(a: np.ndarray, b: np.ndarray, axis: int = -1) -> np.ndarray:
        return (a.sum(axis=axis) + b.sum(axis=axis)) / (a.shape[axis] + b.shape[axis])

    strata = (paid[y == 0], paid[y == 1])
    return lambda: stats.bootstrap(strata, mean, n_resamples=RESAMPLES, method="BCa", vectorized=True, batch=50, rng=0)


@candidate(STREAM, "steelyard")
def _() -> Round:
    import steelyard as sy

    y, p, _ = answers()
    trace = sy.Trace(np.zeros(N), p, np.ones(N, dtype=bool), np.ones(N), y)
    rounds = np.linspace(100, N, 200).astype(int)
    return lambda: sy.prequential_curve(sy.f_score, trace, at=rounds)


@candidate(STREAM, "scikit-learn, prefix by prefix")
def _() -> Round:
    from sklearn.metrics import f1_score

    y, p, _ = answers()
    rounds = np.linspace(100, N, 200).astype(int)
    return lambda: [f1_score(y[:t], p[:t], zero_division=0) for t in rounds]


@candidate(MEASURE, "steelyard")
def _() -> Round:
    import steelyard as sy

    y, p, _ = answers()
    return lambda: sy.f_score(y, p)


@candidate(MEASURE, "scikit-learn")
def _() -> Round:
    from sklearn.metrics import f1_score

    y, p, _ = answers()
    return lambda: f1_score(y, p)


GOALS = [
    Goal(INTERVAL, "steelyard", against="scipy, stratified", at_least=10),
    Goal(COSTS, "steelyard", against="scipy, stratified", at_least=5),
    Goal(STREAM, "steelyard", against="scikit-learn, prefix by prefix", at_least=10),
    Goal(MEASURE, "steelyard", against="scikit-learn", at_most=1),
]
