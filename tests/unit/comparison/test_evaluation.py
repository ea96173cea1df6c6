"""The evaluation: units in a fixed order, nobody sees a held-out row, what was done is kept."""

from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin

from steelyard import Costs
from steelyard.comparison import baselines, evaluation
from steelyard.comparison.cache import FoldResult, UnitCache
from steelyard.comparison.candidates import Candidate, Kind, TrainingRows
from steelyard.comparison.data import ComparisonData, read_data
from steelyard.comparison.evaluation import Evaluation, Work, blend_runs, evaluate
from steelyard.comparison.fold import FoldRunner, InProcess
from steelyard.comparison.registry import candidates, everyone, portfolio
from steelyard.comparison.schedule import Effort, Unit, assign_folds, count_survivors, read_effort, rungs
from steelyard.comparison.workers import WorkerPool
from steelyard.decision.threshold import cheapest_threshold
from steelyard.evaluate import costs_paid


class Spy(ClassifierMixin, BaseEstimator):
    """Remembers the row numbers, its first column, that it was fitted on and asked about."""

    log: ClassVar[list[tuple[str, set[int]]]] = []

    def fit(self, X: Any, y: Any) -> "Spy":
        self.classes_ = np.unique(y)
        Spy.log.append(("fit", set(np.asarray(X)[:, 0].astype(int).tolist())))
        return self

    def predict_proba(self, X: Any) -> Any:
        Spy.log.append(("predict", set(np.asarray(X)[:, 0].astype(int).tolist())))
        return np.full((len(X), len(self.classes_)), 1.0 / len(self.classes_))


def fit_spy(params: dict[str, Any], rows: TrainingRows, weighted: bool) -> tuple[Any, int | None]:
    return Spy().fit(rows.X, rows.data.codes), None


def fit_broken(params: dict[str, Any], rows: TrainingRows, weighted: bool) -> tuple[Any, int | None]:
    raise RuntimeError("no\nmore")


SPY, BROKEN = Candidate("spy", Kind(fit_spy, "coded")), Candidate("broken", Kind(fit_broken, "coded"))
QUICK = [c for c in portfolio() if c.name.startswith("logistic")]


def numbered(n: int = 120, seed: int = 0, **given: Any) -> ComparisonData:
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.permutation(n), rng.normal(size=n)]).astype(float)
    return read_data(X, (X[:, 1] + rng.normal(size=n) > 0.6).astype(int), {0: 1.0, 1: 5.0}, **given)


def run(
    data: ComparisonData,
    everyone: list[Candidate],
    *,
    plan: Effort | None = None,
    cv: int = 3,
    cache: UnitCache | None = None,
    pool: Any = None,
    time_limit: float | None = None,
    interrupted: Any = lambda: False,
) -> Evaluation:
    runner = FoldRunner(data, cv)
    plan = plan or Effort(None, None, 0)
    settings: dict[str, Any] = {"limit": plan.limit, "time_limit": time_limit, "interrupted": interrupted}
    pool = pool or InProcess(data, cv)
    work = Work(
        pool, cache or UnitCache(None), runner.judged, len(data.classes), cost_of=lambda unit, result: 0.0, **settings
    )
    return evaluate(data, everyone, work, runner.judged, plan)


def test_no_candidate_sees_a_row_it_is_asked_about() -> None:
    Spy.log = []
    result = run(numbered(), [SPY], cv=4)
    pairs = list(zip(Spy.log[::2], Spy.log[1::2], strict=True))
    assert len(pairs) == 4
    for (did, fitted), (then, asked) in pairs:
        assert (did, then) == ("fit", "predict")
        assert not fitted & asked
        assert fitted | asked == set(range(120))
    assert result.entries[0].complete
    assert result.units == 4


@pytest.mark.parametrize("classes", [2, 3])
def test_labels_of_a_held_out_fold_change_no_probability(classes: int) -> None:
    """Whoever looked at them, in an encoder, early stopping or calibration, would answer differently.

    The category of many values is encoded by the target; an encoder fitted outside the fold fails here.
    """
    rng = np.random.default_rng(classes)
    n = 120
    X = pd.DataFrame({"a": rng.normal(size=n), "b": rng.choice(["x", "y", None], n)})
    X["city"] = [f"c{i % 45}" for i in range(n)]
    y = np.digitize(X.a + rng.normal(size=n), [0.0, 0.9][: classes - 1])
    data = read_data(X, y, np.abs(np.subtract.outer(range(classes), range(classes))) * 2.0)
    assert data.columns.many == ("city",)
    fold = assign_folds(data, 3)
    spoiled = data.codes.copy()
    spoiled[fold == 0] = rng.permutation(spoiled[fold == 0])
    other = replace(data, codes=spoiled)
    for k, candidate in enumerate(portfolio()):
        if candidate.unable(data) is not None:
            continue
        found = []
        for each in (data, other):
            runner = FoldRunner(each, 3)
            runner.judged(n).fold = fold
            found.append(runner.run(Unit(k, n, 0), candidate))
        assert isinstance(found[0], FoldResult), (candidate.name, found[0])
        assert isinstance(found[1], FoldResult)
        assert np.array_equal(found[0].proba, found[1].proba), candidate.name


def test_a_planted_encoder_that_leaks_the_target_is_caught() -> None:
    """The law above has teeth: an encoder fitted on all rows, held-out ones too, breaks it."""
    rng = np.random.default_rng(0)
    n = 120
    X = pd.DataFrame({"city": [f"c{i % 45}" for i in range(n)], "a": rng.normal(size=n)})
    data = read_data(X, rng.integers(0, 2, n), None)
    fold = assign_folds(data, 3)
    other = replace(data, codes=np.where(fold == 0, 1 - data.codes, data.codes))

    class Leaky(FoldRunner):
        def _rows(self, candidate: Candidate, unit: Unit, fit_on: Any, held_out: Any) -> tuple[Any, Any]:
            whole = candidate.new_encoder(self.data).fit(self.data.X, self.data.codes).transform(self.data.X)
            return whole[fit_on], whole[held_out]

    told = []
    for runner in (Leaky(data, 3), Leaky(other, 3), FoldRunner(data, 3), FoldRunner(other, 3)):
        runner.judged(n).fold = fold
        result = runner.run(Unit(0, n, 0), QUICK[0])
        assert isinstance(result, FoldResult)
        told.append(result.proba)
    assert not np.array_equal(told[0], told[1])
    assert np.array_equal(told[2], told[3])


def test_rows_are_prepared_once_per_fold_and_encoder(monkeypatch: pytest.MonkeyPatch) -> None:
    count = []
    before = Candidate.new_encoder
    monkeypatch.setattr(Candidate, "new_encoder", lambda self, data: count.append(1) or before(self, data))
    run(numbered(), QUICK, cv=3)
    assert len(count) == 3


def test_folds_are_calibrated_once_however_many_blends_are_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    # With every batch of random settings a blend is made of all that has run; calibrating all of it each time took
    # more than half of the CPU time of a small table.
    seen: list[bytes] = []
    true_calibrate = evaluation.calibrate_out_of_fold

    def counted(proba: Any, labels: Any, fold: Any) -> Any:
        seen.append(proba.tobytes() + fold.tobytes())
        return true_calibrate(proba, labels, fold)

    monkeypatch.setattr(evaluation, "calibrate_out_of_fold", counted)
    found = run(numbered(), QUICK, plan=Effort(None, None, 12))
    assert len(found.complete()) == len(QUICK) + 12
    assert len(seen) == len(found.complete())


def test_a_failing_candidate_does_not_end_the_others_and_is_named() -> None:
    result = run(numbered(), [BROKEN, QUICK[0]])
    assert result.entries[0].stopped == "failed (RuntimeError: no)"
    assert result.entries[1].complete


def test_workers_give_what_this_process_gives() -> None:
    data = numbered()
    alone = run(data, QUICK[:2])
    pool = WorkerPool(data, 3, 2, 600.0)
    try:
        together = run(data, QUICK[:2], pool=pool)
    finally:
        pool.close()
    for a, b in zip(alone.entries, together.entries, strict=True):
        assert a.proba is not None
        assert b.proba is not None
        assert a.proba.tobytes() == b.proba.tobytes()


def test_effort_in_units_cuts_between_units_and_equals_that_many() -> None:
    data = numbered()
    cut = run(data, QUICK, plan=Effort(4, None, 0))
    assert cut.units == 4
    assert cut.cut
    assert [e.complete for e in cut.entries] == [True] + [False] * (len(QUICK) - 1)
    assert cut.entries[1].stopped == "1 of 3 folds"
    assert cut.entries[2].stopped == "not reached"


def test_no_time_leaves_no_units() -> None:
    result = run(numbered(), QUICK, time_limit=1e-9)
    assert result.units == 0
    assert not any(e.complete for e in result.entries)


def test_a_run_cut_by_time_is_a_run_of_that_many_units(tmp_path: Path) -> None:
    data, cache = numbered(), UnitCache(tmp_path)
    whole = run(data, QUICK, cache=cache)
    seconds = [0.1 * (i + 1) for i in range(whole.units)]
    for path, taken in zip(sorted(tmp_path.glob("*.npz")), seconds, strict=True):
        with np.load(path) as file:
            proba = file["proba"]
        np.savez(path, proba=proba, about=np.array(f'{{"rounds": null, "times": [{taken}, 0, 0]}}'))
    by_time = run(data, QUICK, cache=cache, time_limit=2.0)
    assert 0 < by_time.units < whole.units
    by_units = run(data, QUICK, cache=cache, plan=Effort(by_time.units, None, 0))
    assert [e.complete for e in by_time.entries] == [e.complete for e in by_units.entries]
    assert [e.stopped for e in by_time.entries] == [e.stopped for e in by_units.entries]


def test_interrupt_keeps_what_is_done_and_resume_goes_on(tmp_path: Path) -> None:
    data, calls = numbered(), [0]

    def after_four() -> bool:
        calls[0] += 1
        return calls[0] > 4

    cut = run(data, QUICK, cache=UnitCache(tmp_path), interrupted=after_four)
    assert cut.units == 4
    before = {p.name: p.stat().st_mtime_ns for p in tmp_path.glob("*.npz")}
    assert len(before) == 4
    whole, fresh = run(data, QUICK, cache=UnitCache(tmp_path)), run(data, QUICK)
    assert all((tmp_path / name).stat().st_mtime_ns == when for name, when in before.items())
    for a, b in zip(whole.entries, fresh.entries, strict=True):
        assert a.proba is not None
        assert b.proba is not None
        assert a.proba.tobytes() == b.proba.tobytes()


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04", b"hello"])
def test_a_broken_unit_file_is_computed_again(tmp_path: Path, content: bytes) -> None:
    data = numbered()
    run(data, QUICK[:1], cache=UnitCache(tmp_path))
    first = sorted(tmp_path.glob("*.npz"))[0]
    first.write_bytes(content)
    assert run(data, QUICK[:1], cache=UnitCache(tmp_path)).entries[0].complete
    assert first.read_bytes() != content


def test_large_tables_are_climbed_and_rows_of_a_rung_are_equal() -> None:
    assert rungs(20_000) == [20_000]
    assert rungs(100_000) == [10_000, 40_000, 100_000]
    assert [count_survivors(16, r) for r in range(3)] == [16, 8, 5]


def test_a_small_class_does_not_lower_the_folds_of_all() -> None:
    y = np.array([0] * 300 + [1] * 298 + [2] * 2)
    data = read_data(np.random.default_rng(0).normal(size=(600, 2)), y, None)
    fold = assign_folds(data, 5)
    assert sorted(set(fold.tolist())) == [0, 1, 2, 3, 4]
    counts = np.array([np.bincount(y[fold == k], minlength=3) for k in range(5)])
    assert (counts[:, :2].max(axis=0) - counts[:, :2].min(axis=0) <= 1).all()
    result = run(data, QUICK[:1], cv=5)
    assert result.entries[0].complete


def test_groups_stay_in_one_fold() -> None:
    groups = np.repeat(np.arange(30), 4)
    data = numbered(groups=groups)
    fold = assign_folds(data, 5)
    assert all(len(set(fold[groups == g].tolist())) == 1 for g in range(30))
    assert len(set(fold.tolist())) == 5


def test_efforts() -> None:
    assert read_effort(7) == read_effort("7")
    assert read_effort("quick").settings == 6
    with pytest.raises(ValueError, match="effort must be"):
        read_effort("much")


def test_per_example_costs_follow_their_rows() -> None:
    rng = np.random.default_rng(1)
    X = pd.DataFrame({"a": rng.normal(size=80), "b": rng.choice(["x", "y", None], 80)})
    y = np.where(rng.random(80) < 0.4, "bad", "good")
    miss = rng.uniform(1, 9, 80)
    costs = Costs.binary(fn=miss, fp=1.0, classes=["bad", "good"], positive="bad")
    data = read_data(X, y, costs)
    answers = np.ones(80, dtype=np.intp)  # always good
    assert np.allclose(data.paid(answers), np.where(y == "bad", miss, 0.0))
    proba = np.column_stack([np.full(80, 0.2), np.full(80, 0.8)])
    assert data.decide(proba).tolist() == [0 if 0.2 * m > 0.8 else 1 for m in miss]


def test_unknown_candidates_are_an_error_that_lists_the_names() -> None:
    with pytest.raises(ValueError, match=r"candidates must be among .*lightgbm.*; got 'magic'"):
        candidates(["magic"])
    assert [c.name for c in candidates(["logistic"])] == [c.name for c in QUICK]


def test_blend_is_made_of_complete_runs_only() -> None:
    data = numbered()
    result = run(data, [BROKEN, *QUICK])
    blend = blend_runs(result.entries, result.data)
    assert blend is not None
    assert sum(weight for _, weight in blend.members) == pytest.approx(1.0)
    assert {run.name for run, _ in blend.members} <= {c.name for c in QUICK}


def test_rows_sampled_keep_every_class_and_its_share() -> None:
    y = np.array([0] * 9_000 + [1] * 995 + [2] * 5)
    data = read_data(np.random.default_rng(0).normal(size=(10_000, 1)), y, None)
    some = data.sample_rows(1_000)
    assert np.bincount(y[some]).tolist() == [900, 100, 3]
    assert (np.diff(some) > 0).all()


def test_thresholds_cost_what_was_counted() -> None:
    """The cheapest of all thresholds, by trying each."""
    rng = np.random.default_rng(0)
    score = np.round(rng.random(60), 1)
    y = (rng.random(60) < score).astype(int)
    costs = Costs.binary(fn=rng.uniform(1, 9, 60), fp=2.0, classes=[0, 1])
    cut = cheapest_threshold(score, y, costs)

    def paid(threshold: float) -> float:
        return float(costs_paid(y, (score >= threshold).astype(int), costs=costs).sum())

    assert paid(cut) == pytest.approx(min(paid(t) for t in [*np.unique(score), 2.0]))


@pytest.mark.parametrize("kind", ["extra_trees", "forest"])
def test_trees_of_a_forest_grow_no_larger_with_the_rows(monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    monkeypatch.setattr(baselines, "_MOST_LEAVES", 10)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    data = read_data(X, rng.integers(0, 2, 300), None)
    params = {"n_estimators": 3, "min_samples_leaf": 2, "max_features": "sqrt"}
    model, _ = Candidate("forest", baselines.BASELINES[kind], params).fit(X, data)
    assert max(tree.tree_.n_leaves for tree in model.estimators_) <= 10
    assert params["min_samples_leaf"] == 2


@pytest.mark.parametrize(("classes", "trees"), [(2, 6), (10, 2), (50, 1)])
def test_trees_of_a_forest_are_fewer_with_many_classes(
    monkeypatch: pytest.MonkeyPatch, classes: int, trees: int
) -> None:
    """Each node of at most 2 * 300 holds a share of every class."""
    monkeypatch.setattr(baselines, "_MOST_SHARES", 2 * 300 * 20)
    X = np.random.default_rng(0).normal(size=(600, 3))
    data = read_data(X, np.arange(600) % classes, None)
    params = {"n_estimators": 6, "min_samples_leaf": 2, "max_features": "sqrt"}
    model, _ = Candidate("forest", baselines.BASELINES["extra_trees"], params).fit(X, data)
    assert len(model.estimators_) == trees


def test_ordered_categories_are_split_like_numbers() -> None:
    """Rows of two classes by the order of twelve levels: one split of numbers tells them apart."""
    level = np.arange(240) % 12
    frame = pd.DataFrame({"size": [f"s{k:02d}" for k in level], "other": np.arange(240) % 7})
    data = read_data(frame, (level > 5).astype(int), None)
    params = {"num_leaves": 2, "learning_rate": 0.1, "min_child_samples": 2}
    found = {}
    for kind in ("lightgbm", "lightgbm_ordered"):
        candidate = Candidate(kind, baselines.BASELINES[kind], params)
        model, _ = candidate.fit(candidate.new_encoder(data).fit_transform(data.X, data.codes), data, 1)
        found[kind] = model.booster_.dump_model()["tree_info"][0]["tree_structure"]["decision_type"]
    assert found == {"lightgbm": "==", "lightgbm_ordered": "<="}


COST_LEARNERS = [c for c in everyone() if c.kind.sees_costs and c.kind.requires is None]


@pytest.mark.parametrize("candidate", COST_LEARNERS, ids=lambda candidate: candidate.name)
def test_no_candidate_learns_otherwise_in_another_currency(candidate: Candidate) -> None:
    rng = np.random.default_rng(3)
    X = rng.normal(size=(90, 3))
    y = np.where(X[:, 0] + rng.normal(size=90) > 0.6, "bad", "good")
    by_row = Costs.binary(fn=rng.lognormal(3, 1, 90), fp=2, tp=-1, classes=["good", "bad"])
    for costs in (Costs.binary(fn=8, fp=0.5, classes=["good", "bad"]), by_row):
        found = [
            FoldRunner(read_data(X, y, costs.scaled(2.0**k)), 3).run(Unit(0, 90, 0, 0), candidate) for k in (0, 20)
        ]
        assert all(isinstance(one, FoldResult) for one in found), found
        np.testing.assert_array_equal(found[0].proba, found[1].proba)


def test_the_unit_of_costs_is_the_cheapest_mistake_by_class_within_bounds() -> None:
    X, y = np.random.default_rng(0).normal(size=(40, 1)), np.array([0, 1] * 20)

    def table(**costs: Any) -> Any:
        return read_data(X, y, Costs.binary(classes=[0, 1], **costs)).unit_costs[:2].tolist()

    assert table(fn=5, fp=1) == [[0, 1], [5, 0]]
    assert table(fn=500, fp=100) == [[0, 1], [5, 0]]
    assert table(fn=4, fp=2, tp=-2) == [[0, 1], [2, -1]]
    np.testing.assert_allclose(table(fn=1e6, fp=1e-6), [[0, 1e-9], [1000, 0]])
    assert table(fn=3, fp=0) == [[0, 0], [1, 0]]
