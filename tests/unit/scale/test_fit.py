"""Learning from parts: the same bits however it is done, and every refusal by name."""

import itertools
import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import dump_svmlight_file
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import SGDClassifier

from steelyard import (
    ACOG,
    AROW,
    CSOGD2,
    SCW1,
    AdaptiveBalanced,
    AskRandom,
    Costs,
    DataFileError,
    InvalidInputError,
    OnlineClassifier,
    OnlineCostClassifier,
    StateError,
)
from steelyard.online.second_order import Belief
from steelyard.scale import fit as fit_module
from steelyard.scale import fit_parts
from steelyard.scale import lanes as lanes_module
from steelyard.scale.lbfgs import chunk_sums

pytestmark = pytest.mark.filterwarnings("ignore:lanes of about")  # these are short, to be quick
RNG = np.random.default_rng(7)
X = RNG.normal(size=(230, 5))
Y = np.where(X @ [1.0, -1.0, 0.5, 0.0, 0.2] + 0.3 * RNG.normal(size=230) > 0, "yes", "no")
CUTS = [0, 40, 41, 90, 150, 180, 230]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "parts"
    made.mkdir()
    for i, (a, b) in enumerate(itertools.pairwise(CUTS)):
        lines = [",".join([*map(repr, map(float, x)), y]) for x, y in zip(X[a:b], Y[a:b], strict=True)]
        (made / f"part-{i}.csv").write_text("\n".join(["a,b,c,d,e,y", *lines, ""]))
    return made


def weights(model: Any) -> bytes:
    return bytes(model.coef_.tobytes() + model.intercept_.tobytes())


@pytest.mark.parametrize("passes", [1, 3])
@pytest.mark.parametrize(
    "model",
    [
        OnlineClassifier(CSOGD2(), costs=Costs.binary(fn=5, fp=1), fit_intercept=True),
        OnlineClassifier(AROW(), query=AskRandom(0.5), budget=60, after_budget="average"),
        OnlineClassifier(costs=AdaptiveBalanced()),
        OnlineCostClassifier(),
    ],
)
def test_one_lane_is_fit_on_all_rows(folder: Path, tmp_path: Path, model: Any, passes: int) -> None:
    expected = clone(model)
    for _ in range(passes):
        expected.partial_fit(X, Y, classes=["no", "yes"])
    for given in ({}, {"work": tmp_path / "work", "executor": ThreadPoolExecutor(1)}, {"work": tmp_path / "work"}):
        found = fit_parts(model, folder, target="y", passes=passes, rows=7, progress=False, **given)  # type: ignore[arg-type]
        assert weights(found) == weights(expected)
        assert found.n_rounds_ == expected.n_rounds_
    if passes == 1:
        assert weights(found) == weights(clone(model).fit(X, Y))


def lane_twin(rule: Any, mean: Any, variance: Any, mine: Any, constant: bool) -> Any:
    model = OnlineClassifier(rule, fit_intercept=constant).start(5, ["no", "yes"])
    state = model.state()
    state["arrays"] |= {"weights": mean[:5].copy(), "spread": variance}
    state["arrays"]["factors"][1] = mean[5] if constant else 0.0
    model = OnlineClassifier.from_state(state)
    for a, b in mine:
        model.partial_fit(X[a:b], Y[a:b])
    arrays = model.state()["arrays"]
    return np.array([*arrays["weights"], *([arrays["factors"][1]] if constant else [])]), arrays["spread"]


def divided_twin(rule: Any, lanes: int, passes: int, constant: bool) -> Any:
    """The first lane alone, then the divided prior as it reads: precisions add, weights are their mean by precision."""
    d = 5 + constant
    mine = [list(itertools.pairwise(CUTS))[lane::lanes] for lane in range(lanes)]
    mean, variance = lane_twin(rule, np.zeros(d), np.ones(d), mine[0], constant)
    for turn in range(passes):
        others = mine[1:] if turn == 0 else mine
        found = [lane_twin(rule, mean, variance * len(others), one, constant) for one in others]
        precision = [sum(1.0 / s[j] for _, s in found) for j in range(d)]
        mean = np.array([sum(w[j] / s[j] for w, s in found) / precision[j] for j in range(d)])
        variance = 1.0 / np.array(precision)
    return mean


def averaged_twin(rule: Any, lanes: int, passes: int, constant: bool) -> Any:
    """All lanes from what is known; moves averaged by the precision gained, which counts up to 10."""
    mean, variance = np.zeros(5 + constant), np.ones(5 + constant)
    mine = [list(itertools.pairwise(CUTS))[lane::lanes] for lane in range(lanes)]
    for _ in range(passes):
        found = [lane_twin(rule, mean, variance, one, constant) for one in mine]
        before, known = mean.copy(), variance.copy()
        for j in range(len(mean)):
            gained = [1.0 / s[j] - 1.0 / known[j] for _, s in found]
            share = [min(10.0, one) for one in gained]
            moves = [k * (w[j] - before[j]) for k, (w, _) in zip(share, found, strict=True)]
            mean[j] += sum(moves) / sum(share) if sum(share) else 0.0
            variance[j] = 1.0 / (1.0 / known[j] + sum(gained) / lanes)
    return mean


TWINS: dict[Any, Any] = {AROW: divided_twin, SCW1: averaged_twin}


@pytest.mark.parametrize("constant", [False, True])
@pytest.mark.parametrize("passes", [1, 3])
@pytest.mark.parametrize("rule", [AROW(2.0), SCW1()])
@pytest.mark.parametrize("lanes", [2, 3, 8])
def test_lanes_are_merged_as_the_twin_of_the_rule_reads(
    folder: Path, rule: Any, lanes: int, passes: int, constant: bool
) -> None:
    model = OnlineClassifier(rule, fit_intercept=constant)
    with ThreadPoolExecutor(2) as pool:
        found = fit_parts(model, folder, target="y", lanes=lanes, passes=passes, executor=pool, progress=False)
    both = np.concatenate([found.coef_[0], found.intercept_ if constant else []])
    np.testing.assert_allclose(both, TWINS[type(rule)](rule, lanes, passes, constant), rtol=1e-9, atol=1e-12)
    assert found.n_rounds_ == passes * 230


@pytest.mark.filterwarnings("error")
def test_short_lanes_are_not_quiet(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with ThreadPoolExecutor(2) as pool:
        given: Any = {"target": "y", "lanes": 4, "executor": pool, "progress": False}
        with pytest.warns(UserWarning, match=r"lanes of about 57 rows are short: below 5,000 .* Use lanes=1 here"):
            fit_parts(OnlineClassifier(AROW()), folder, **given)
        with pytest.warns(UserWarning, match=r"lanes of about 115 rows are short"):  # each row counts once
            fit_parts(OnlineClassifier(AROW()), folder, **given | {"lanes": 2})
        monkeypatch.setattr(fit_module, "LONG", 57)
        fit_parts(OnlineClassifier(AROW()), folder, **given)


def test_sparse_rows_in_lanes(tmp_path: Path) -> None:
    rows = sparse.random(120, 40, 0.2, format="csr", random_state=1)
    rows.data = np.round(rows.data, 3)
    y = (rows @ RNG.normal(size=40) > 0).astype(int)
    for i in range(4):
        part = slice(30 * i, 30 * i + 30)
        dump_svmlight_file(rows[part], y[part], str(tmp_path / f"p{i}.svm"), zero_based=False)
    one = fit_parts(OnlineClassifier(AROW()), tmp_path, n_features=40, progress=False)
    assert weights(one) == weights(OnlineClassifier(AROW()).fit(rows, y))
    with ThreadPoolExecutor(1) as pool:
        a = fit_parts(OnlineClassifier(AROW()), tmp_path, n_features=40, lanes=3, executor=pool, progress=False)
    with ThreadPoolExecutor(4) as pool:
        b = fit_parts(OnlineClassifier(AROW()), tmp_path, n_features=40, lanes=3, executor=pool, progress=False, rows=9)
    assert weights(a) == weights(b)


def test_merging_is_the_sum_of_precisions() -> None:
    one, two = Belief(np.array([1.0, 2.0]), np.array([0.5, 4.0])), Belief(np.array([3.0, 2.0]), np.array([0.5, 1.0]))
    found = AROW().merge([one, two], Belief(np.zeros(2), np.ones(2)))
    np.testing.assert_allclose(found.variance, [0.25, 0.8])
    np.testing.assert_allclose(found.mean, [2.0, 2.0])
    np.testing.assert_array_equal(AROW().begin_lane(one, 4).variance, [2.0, 16.0])


def test_lanes_of_scw_count_by_what_they_learned_and_no_more_than_alike() -> None:
    before = Belief(np.array([1.0, 1.0, 1.0]), np.array([1.0, 1.0, 1.0]))
    saw_one = Belief(np.array([3.0, 2.0, 1.0]), 1.0 / np.array([4.0, 101.0, 1.0]))
    saw_more = Belief(np.array([1.0, 6.0, 1.0]), 1.0 / np.array([1.0, 1001.0, 1.0]))
    found = SCW1().merge([saw_one, saw_more], before)
    np.testing.assert_allclose(found.mean, [3.0, 4.0, 1.0])  # who saw it decides; both know it well; nobody saw it
    np.testing.assert_allclose(1.0 / found.variance, [2.5, 551.0, 1.0])
    assert SCW1().begin_lane(before, 4) is before


def test_many_lanes_and_passes_of_scw_stay_within_what_lanes_found() -> None:
    rng, known = np.random.default_rng(5), Belief(np.zeros(20), np.ones(20))
    for _ in range(50):
        gains = [np.where(rng.random(20) < 0.3, rng.exponential(100, 20), 0.0) for _ in range(64)]
        made = [Belief(rng.normal(size=20), 1.0 / (1.0 / known.variance + gain)) for gain in gains]
        found = SCW1().merge(made, known)
        every = np.array([known.mean, *(one.mean for one in made)])
        assert np.all((found.mean >= every.min(axis=0)) & (found.mean <= every.max(axis=0)))
        assert np.all(found.variance <= known.variance)
        assert np.all(found.variance >= np.min([one.variance for one in made], axis=0))
        known = found


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (
            OnlineClassifier(CSOGD2()),
            "lanes must be 1 for CSOGD2, whose lanes cannot be merged without loss; got 8. Use AROW or SCW1, or "
            'finish="lbfgs".',
        ),
        (OnlineClassifier(ACOG()), "lanes must be 1 for ACOG"),
        (OnlineClassifier(), "lanes must be 1 for OnlineClassifier"),
        (OnlineCostClassifier(), "lanes must be 1 for"),
        (OnlineClassifier(AROW(full=True)), r"lanes must be 1 for AROW\(full=True\)"),
        (OnlineClassifier(AROW(), query=AskRandom(0.5)), "lanes must be 1 with a query rule"),
        (OnlineClassifier(AROW(), budget=5), "lanes must be 1 with a budget"),
        (OnlineClassifier(AROW(), costs=AdaptiveBalanced()), "lanes must be 1 with AdaptiveBalanced"),
        (SGDClassifier(), "lanes must be 1 for SGDClassifier"),
    ],
)
def test_what_cannot_be_merged_is_refused(folder: Path, model: Any, words: str) -> None:
    with pytest.raises(InvalidInputError, match=words.replace('("', "(").replace("8.", "8.")):
        fit_parts(model, folder, target="y", lanes=8)


def test_other_estimators_learn_one_after_the_other_or_from_a_sample(folder: Path) -> None:
    found = fit_parts(SGDClassifier(random_state=0, shuffle=False), folder, target="y", rows=10)
    assert (found.predict(X) == Y).mean() > 0.8
    with pytest.raises(InvalidInputError, match=r"estimator must learn from parts .* sample=1_000_000"):
        fit_parts(RandomForestClassifier(), folder, target="y")
    forest = RandomForestClassifier(5, random_state=0)
    a = fit_parts(forest, folder, target="y", sample=100, seed=3)
    b = fit_parts(forest, folder, target="y", sample=100, seed=3, rows=11)
    assert (a.predict_proba(X) == b.predict_proba(X)).all()
    assert 60 < len(a.estimators_samples_[0]) < 140


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"costs": "fn=a,fp=1"}, "costs must be left out with sample="),
        ({"scale": "standard"}, "scale must be left out with sample=; got 'standard'"),
        ({"hash_bits": 8}, "hash_bits must be left out with sample="),
        ({"lanes": 2}, "lanes must be left out with sample="),
        ({"passes": 2}, "passes must be left out with sample="),
        ({"finish": "lbfgs"}, "finish must be left out with sample="),
    ],
)
def test_what_a_sample_would_not_heed_is_refused(folder: Path, given: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidInputError, match=words):
        fit_parts(OnlineClassifier(AROW()), folder, target="y", sample=100, **given)


class CountedLane:
    """Lets some lanes run and then fails, as a machine that is switched off."""

    def __init__(self, most: int) -> None:
        self.most, self.ran = most, 0
        self.real = lanes_module.run_lane

    def __call__(self, *given: Any) -> Any:
        if self.ran >= self.most:
            raise RuntimeError("switched off")
        self.ran += 1
        return self.real(*given)


def test_a_stopped_job_goes_on_where_it_stopped(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model, given = OnlineClassifier(AROW()), {"target": "y", "lanes": 4, "passes": 2, "progress": False}
    with ThreadPoolExecutor(1) as pool:
        whole = fit_parts(model, folder, work=tmp_path / "whole", executor=pool, **given)  # type: ignore[arg-type]
        for most in (3, 2, 1, 2):
            counted = CountedLane(most)
            monkeypatch.setattr("steelyard.scale.fit.run_lane", counted)
            if most != 2 or not (tmp_path / "w" / "pass-001.steelyard").exists():
                try:
                    again = fit_parts(model, folder, work=tmp_path / "w", executor=pool, **given)  # type: ignore[arg-type]
                except RuntimeError:
                    continue
        monkeypatch.undo()
        files = {p: p.stat().st_mtime_ns for p in (tmp_path / "w").glob("pass-000-lane*.steelyard")}
        again = fit_parts(model, folder, work=tmp_path / "w", executor=pool, **given)  # type: ignore[arg-type]
        assert {p: p.stat().st_mtime_ns for p in files} == files
    assert weights(again) == weights(whole)


def test_a_checkpoint_within_a_lane_is_gone_on_from(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = weights(OnlineClassifier(CSOGD2()).fit(X, Y))
    monkeypatch.setattr(lanes_module, "BETWEEN", -1.0)
    real, learned = lanes_module.learn_part, []

    def learn(learner: Any, job: Any, position: int, reader: Any) -> Any:
        learned.append(position)
        if len(learned) == 4:
            raise RuntimeError("switched off")
        return real(learner, job, position, reader)

    monkeypatch.setattr(lanes_module, "learn_part", learn)
    with ThreadPoolExecutor(1) as pool:
        given: Any = {"target": "y", "work": tmp_path / "w", "executor": pool, "progress": False}
        with pytest.raises(RuntimeError):
            fit_parts(OnlineClassifier(CSOGD2()), folder, **given)
        assert weights(fit_parts(OnlineClassifier(CSOGD2()), folder, **given)) == expected
    assert learned == [0, 1, 2, 3, 3, 4, 5]


def test_another_job_in_the_folder_is_refused(folder: Path, tmp_path: Path) -> None:
    work = tmp_path / "w"
    with ThreadPoolExecutor(1) as pool:
        given: Any = {"target": "y", "work": work, "executor": pool, "progress": False}
        fit_parts(OnlineClassifier(AROW()), folder, lanes=2, **given)
        for model, more, words in [
            (AROW(), {"lanes": 3}, r"lanes differ \(lanes was 2, is 3\)"),
            (AROW(2.0), {"lanes": 2}, r"estimator differ \(estimator\.params\.update\.r was 1\.0, is 2\.0\)"),
            (AROW(), {"lanes": 2, "passes": 2}, "passes"),
            (
                AROW(),
                {"lanes": 2, "costs": Costs.binary(fn=2, fp=1)},
                r"estimator differ \(estimator\.params\.costs was",
            ),
        ]:
            with pytest.raises(StateError, match=f"must hold this job; {words}"):
                fit_parts(OnlineClassifier(model), folder, **given, **more)
        (folder / "part-1.csv").touch()
        with pytest.raises(StateError, match=r"files, fingerprint differ \(files\[1\]\.modified was"):
            fit_parts(OnlineClassifier(AROW()), folder, lanes=2, **given)
        (folder / "part-9.csv").write_text("a,b,c,d,e,y\n1,1,1,1,1,yes\n")
        with pytest.raises(StateError, match="files, fingerprint differ"):
            fit_parts(OnlineClassifier(AROW()), folder, lanes=2, **given)
        found = json.loads((work / "job.json").read_text())
        found["content"]["lanes"] = 3
        (work / "job.json").write_text(json.dumps(found))
        with pytest.raises(StateError, match="it is damaged"):
            fit_parts(OnlineClassifier(AROW()), folder, lanes=2, **given)


def test_a_folder_in_use_names_who_uses_it(folder: Path, tmp_path: Path) -> None:
    from steelyard.scale.job import WorkFolder

    with WorkFolder(tmp_path / "w").held(), pytest.raises(StateError, match=r"is in use by process \d+ on "):
        fit_parts(OnlineClassifier(), folder, target="y", work=tmp_path / "w")


def test_bad_parts_are_named_or_left_out_whole(folder: Path) -> None:
    (folder / "part-2.csv").write_text("a,b,c,d,e,y\n1,2,3,4,5,yes\n1,2,3\n")
    with pytest.raises(DataFileError, match=r"part-2\.csv"):
        fit_parts(OnlineClassifier(), folder, target="y", classes=["no", "yes"])
    with pytest.warns(UserWarning, match="left out"):
        found = fit_parts(OnlineClassifier(), folder, target="y", classes=["no", "yes"], on_bad_part="skip")
    assert [Path(p).name for p in found.skipped_parts_] == ["part-2.csv"]
    kept = np.r_[0:41, 90:230]
    assert weights(found) == weights(OnlineClassifier().fit(X[kept], Y[kept]))


def test_cells_and_labels_that_cannot_be_used_name_their_part(folder: Path) -> None:
    (folder / "part-2.csv").write_text("a,b,c,d,e,y\n1,2,3,4,5,yes\n1,,3,4,5,yes\n")
    with pytest.raises(InvalidInputError, match=r"NaN.*part-2.csv|missing.*part-2.csv"):
        fit_parts(OnlineClassifier(), folder, target="y", classes=["no", "yes"])
    lines = ["1,2,3,4,5,no"] * 8 + ["1,2,,4,5,no"]
    (folder / "part-2.csv").write_text("\n".join(["a,b,c,d,e,y", *lines, ""]))
    with pytest.raises(
        InvalidInputError, match=r"NaN at row 8, column 2\..* Rows are those of .*part-2.csv, counted from 0"
    ):
        fit_parts(OnlineClassifier(), folder, target="y", classes=["no", "yes"], rows=3)
    (folder / "part-2.csv").write_text("a,b,c,d,e,y\n1,2,3,4,5,maybe\n")
    with pytest.raises(InvalidInputError, match=r"maybe.*part-2.csv"):
        fit_parts(OnlineClassifier(), folder, target="y", classes=["no", "yes"])


def test_lbfgs_finds_the_minimum_and_does_not_depend_on_lanes(folder: Path, tmp_path: Path) -> None:
    from sklearn.linear_model import LogisticRegression

    weight = np.where(Y == "yes", 5.0, 1.0)
    reference = LogisticRegression(C=1.0, tol=1e-10, max_iter=1000).fit(X, Y, sample_weight=weight)
    costs = Costs.binary(fn=5, fp=1)
    found = []
    with ThreadPoolExecutor(2) as pool:
        given: Any = {"target": "y", "finish": "lbfgs", "max_passes": 60, "executor": pool, "progress": False}
        for lanes in (1, 4):
            model = OnlineClassifier(AROW(), costs=costs, fit_intercept=True)
            found.append(fit_parts(model, folder, lanes=lanes, work=tmp_path / f"w{lanes}", **given))
        again = fit_parts(model, folder, lanes=4, work=tmp_path / "w4", **given)
    for one in found:
        np.testing.assert_allclose(one.coef_, reference.coef_, rtol=2e-3, atol=2e-3)
        np.testing.assert_allclose(one.intercept_, reference.intercept_, rtol=5e-3, atol=2e-3)
    assert weights(again) == weights(found[1])


def test_the_gradient_is_that_of_the_loss() -> None:
    positive, cost, w = Y == "yes", np.where(Y == "yes", 5.0, 1.0), RNG.normal(size=6)
    sums = chunk_sums(X, positive, cost, w)
    np.testing.assert_allclose(chunk_sums(sparse.csr_matrix(X), positive, cost, w), sums)
    for j in range(6):
        step = np.eye(6)[j] * 1e-6
        slope = (chunk_sums(X, positive, cost, w + step)[0] - chunk_sums(X, positive, cost, w - step)[0]) / 2e-6
        assert sums[1 + j] == pytest.approx(slope, rel=1e-5)


def test_lbfgs_of_many_classes_is_the_multinomial_minimum(tmp_path: Path) -> None:
    from sklearn.linear_model import LogisticRegression

    three = np.where(X[:, 1] > 0.5, "top", Y)
    folder = tmp_path / "three"
    folder.mkdir()
    for i, (a, b) in enumerate(itertools.pairwise(CUTS)):
        lines = [",".join([*map(repr, map(float, x)), y]) for x, y in zip(X[a:b], three[a:b], strict=True)]
        (folder / f"part-{i}.csv").write_text("\n".join(["a,b,c,d,e,y", *lines, ""]))
    reference = LogisticRegression(C=1.0, tol=1e-10, max_iter=1000).fit(X, three)
    model = OnlineCostClassifier(fit_intercept=True)
    given: Any = {"target": "y", "finish": "lbfgs", "max_passes": 80, "progress": False}
    with ThreadPoolExecutor(2) as pool:
        found = fit_parts(model, folder, executor=pool, **given)
        dear = fit_parts(model, folder, executor=pool, costs={"no": 1.0, "yes": 1.0, "top": 20.0}, **given)
    np.testing.assert_allclose(found.coef_, -reference.coef_, rtol=5e-3, atol=5e-3)
    assert (found.predict(X) == reference.predict(X)).mean() > 0.99
    assert (dear.predict(X) == "top").sum() > (found.predict(X) == "top").sum()


def test_the_gradient_of_many_classes_is_that_of_the_loss() -> None:
    from steelyard.scale.lbfgs import class_sums

    saved, w = RNG.random(size=(230, 3)), RNG.normal(size=(3, 6))
    sums = class_sums(X, saved, w)
    np.testing.assert_allclose(class_sums(sparse.csr_matrix(X), saved, w), sums)
    for j in range(18):
        step = (np.eye(18)[j] * 1e-6).reshape(3, 6)
        slope = (class_sums(X, saved, w + step)[0] - class_sums(X, saved, w - step)[0]) / 2e-6
        assert sums[1 + j] == pytest.approx(slope, rel=1e-5, abs=1e-6)
