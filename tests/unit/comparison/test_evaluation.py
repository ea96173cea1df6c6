"""The race: nobody sees a test fold, limits hold, what was done is kept."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin

from steelyard import Costs, StateError
from steelyard.comparison.cache import FoldResult
from steelyard.comparison.candidates import Candidate, shared_groups
from steelyard.comparison.data import ComparisonData, read_data
from steelyard.comparison.evaluation import Evaluation, evaluate, make_splits
from steelyard.comparison.fold import Task, run_fold
from steelyard.comparison.leaderboard import leaderboard, recommend
from steelyard.comparison.registry import candidates
from steelyard.comparison.schedule import fit_within_time
from steelyard.decision.threshold import cheapest_threshold
from steelyard.evaluate import costs_paid


class Spy(ClassifierMixin, BaseEstimator):
    """Remembers the row numbers, its first column, that it was taught with and asked about."""

    log: ClassVar[list[tuple[str, set[int]]]] = []

    def __init__(self, answer: Any = 0) -> None:
        self.answer = answer

    def fit(self, X: Any, y: Any) -> "Spy":
        self.classes_ = np.unique(y)
        Spy.log.append(("taught", set(np.asarray(X)[:, 0].astype(int).tolist())))
        return self

    def predict(self, X: Any) -> Any:
        Spy.log.append(("asked", set(np.asarray(X)[:, 0].astype(int).tolist())))
        return np.full(len(X), self.answer)


@dataclass(frozen=True)
class Build:
    model: Any

    def __call__(self, problem: ComparisonData) -> Any:
        return self.model


def numbered(n: int = 120, seed: int = 0) -> ComparisonData:
    rng = np.random.default_rng(seed)
    X = np.column_stack([np.arange(n), rng.normal(size=n)])
    return read_data(X, (X[:, 1] + rng.normal(size=n) > 0.6).astype(int), {0: 1.0, 1: 5.0})


def test_no_contender_sees_a_row_it_is_asked_about() -> None:
    Spy.log = []
    problem = numbered()
    evaluation = evaluate(problem, [Candidate("spy", "usual", Build(Spy()))], folds=4)
    pairs = list(zip(Spy.log[::2], Spy.log[1::2], strict=True))
    assert len(pairs) == 4
    for (did, fitted), (then, asked) in pairs:
        assert (did, then) == ("taught", "asked")
        assert not fitted & asked
        assert fitted | asked == set(range(120))
    rows, _ = evaluation.answers(evaluation.entries[0])
    assert rows.tolist() == list(range(120))


def test_inner_searches_stay_inside_the_training_part() -> None:
    """Answers stay the same when the rows asked about are garbage during teaching."""
    problem = numbered(90)
    train, test = np.arange(60), np.arange(60, 90)
    spoiled = np.array(problem.X)
    spoiled[test] = 1e6
    for candidate in candidates(problem):
        if candidate.work > 1.5:
            continue
        clean = candidate.predict(candidate.fit(problem.subset(train)), problem.subset(test))
        other = read_data(spoiled, problem.y, problem.costs).subset(train)
        assert np.array_equal(clean, candidate.predict(candidate.fit(other), problem.subset(test))), candidate.name


def test_hopeless_contender_is_stopped_and_constants_never() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 2))
    problem = read_data(X, (X[:, 0] > 0).astype(int), None)
    everyone = [c for c in candidates(problem) if c.name == "logistic regression" or c.family == "constant"]
    everyone.append(Candidate("wrong", "usual", Build(Spy(answer=0)), work=2.0))
    evaluation = evaluate(problem, everyone, folds=5)
    by_name = {e.candidate.name: e for e in evaluation.entries}
    assert by_name["wrong"].stopped is not None
    assert "far behind" in by_name["wrong"].stopped
    assert all(len(e.folds) == 5 for e in evaluation.entries if e.candidate.family == "constant")
    assert leaderboard(evaluation)[0].name == "logistic regression"


def test_no_time_leaves_the_constants() -> None:
    problem = numbered()
    evaluation = evaluate(problem, candidates(problem), seconds=1e-9)
    assert {e.candidate.family for e in evaluation.complete()} == {"constant"}
    assert all("out of time" in (e.stopped or "") for e in evaluation.entries if e.candidate.family != "constant")


def test_interrupt_keeps_what_is_done_and_resume_goes_on(tmp_path: Path) -> None:
    problem = numbered()
    everyone = [c for c in candidates(problem) if c.work <= 0.4]

    def stop_after_five(evaluation: Evaluation, name: str) -> None:
        if sum(len(e.folds) for e in evaluation.entries) == 5:
            raise KeyboardInterrupt

    cut = evaluate(problem, everyone, folds=3, state=tmp_path, watch=stop_after_five)
    assert cut.interrupted
    assert sum(len(e.folds) for e in cut.entries) == 5
    assert len(list(tmp_path.glob("*.npz"))) == 5
    before = {p.name: p.stat().st_mtime_ns for p in tmp_path.glob("*.npz")}
    whole = evaluate(problem, everyone, folds=3, state=tmp_path)
    assert all(p.stat().st_mtime_ns == before.get(p.name, p.stat().st_mtime_ns) for p in tmp_path.glob("*.npz"))
    fresh = evaluate(problem, everyone, folds=3)
    for a, b in zip(whole.entries, fresh.entries, strict=True):
        assert len(a.folds) == len(b.folds)
        assert np.array_equal(whole.answers(a)[1], fresh.answers(b)[1])


def test_nothing_answered_is_said() -> None:
    problem = numbered()

    def stop(evaluation: Evaluation, name: str) -> None:
        raise KeyboardInterrupt

    evaluation = evaluate(problem, [], folds=3, watch=stop)
    with pytest.raises(StateError, match="interrupted before any"):
        leaderboard(evaluation)


def test_per_example_costs_follow_their_rows() -> None:
    rng = np.random.default_rng(1)
    X = pd.DataFrame({"a": rng.normal(size=80), "b": rng.choice(["x", "y", None], 80)})
    y = np.where(rng.random(80) < 0.4, "bad", "good")
    miss = rng.uniform(1, 9, 80)
    costs = Costs.binary(fn=miss, fp=1.0, classes=["bad", "good"], positive="bad")
    problem = read_data(X, y, costs)
    everyone = [c for c in candidates(problem) if c.work <= 0.6]
    evaluation = evaluate(problem, everyone, folds=3)
    always_good = next(e for e in evaluation.entries if e.candidate.name == "always good")
    rows, paid = evaluation.paid(always_good)
    assert np.allclose(paid, np.where(y == "bad", miss, 0.0)[rows])
    assert any(e.candidate.how == "expected" and len(e.folds) == 3 for e in evaluation.entries)


class Broken(Spy):
    def fit(self, X: Any, y: Any) -> "Broken":
        raise RuntimeError("no\nmore")


def test_a_failing_contender_does_not_end_the_race() -> None:
    problem = numbered()
    everyone = [c for c in candidates(problem) if c.family == "constant"]
    evaluation = evaluate(problem, [*everyone, Candidate("broken", "usual", Build(Broken()))], folds=3)
    assert evaluation.entries[-1].stopped == "failed (RuntimeError: no) after 0 of 3 folds"
    assert len(evaluation.complete()) == 2
    assert any("broken" in sentence for sentence in recommend(evaluation, leaderboard(evaluation)))


@pytest.mark.parametrize("classes", [2, 3])
def test_labels_of_a_test_fold_change_no_answer(classes: int) -> None:
    """Whoever looked at them, in a search, a threshold or a calibration, would answer differently."""
    rng = np.random.default_rng(classes)
    X = pd.DataFrame({"a": rng.normal(size=90), "b": rng.choice(["x", "y", None], 90)})
    y = np.digitize(X.a + rng.normal(size=90), [0.0, 0.9][: classes - 1])
    problem = read_data(X, y, np.abs(np.subtract.outer(range(classes), range(classes))) * 2.0)
    everyone = candidates(problem)
    train, test = make_splits(problem, 3)[0]
    spoiled = y.copy()
    spoiled[test] = rng.permutation(y[test])
    assert (spoiled != y).any()
    other = read_data(X, spoiled, problem.costs)
    for team in shared_groups(everyone):
        task = Task(team, 0, None, 1e6, 0.0, np.inf)
        clean, changed = (run_fold(0, task, p, train, test)[1] for p in (problem, other))
        for candidate, before, after in zip(team, clean, changed, strict=True):
            assert isinstance(before, FoldResult), (candidate.name, before)
            assert isinstance(after, FoldResult), (candidate.name, after)
            assert np.array_equal(before.predicted, after.predicted), candidate.name


def test_climb_takes_as_many_rows_as_the_time_allows() -> None:
    rng = np.random.default_rng(0)
    problem = read_data(rng.normal(size=(50_000, 1)), np.arange(50_000) % 2, None)
    for per_row, power, seconds in ((1e-4, 1.0, 100.0), (1e-4, 1.0, 1.0), (1e-6, 2.0, 20.0), (1.0, 1.0, 0.1)):
        now, fitted = [0.0], []

        def fit(subset: ComparisonData, per_row: float = per_row, power: float = power) -> int:
            now[0] += per_row * len(subset.y) ** power  # noqa: B023
            fitted.append(len(subset.y))  # noqa: B023
            return len(subset.y)

        last, rows = fit_within_time(fit, problem, seconds, growth=2.0, clock=lambda: now[0])  # noqa: B023
        assert last == rows == fitted[-1]
        assert fitted[0] == 1000
        assert fitted == sorted(fitted)
        assert now[0] <= max(seconds, per_row * 1000**power)
        assert rows == 50_000 or seconds < 10 * per_row * rows**power


def test_rows_sampled_keep_every_class_and_its_share() -> None:
    y = np.array([0] * 9_000 + [1] * 995 + [2] * 5)
    problem = read_data(np.zeros((10_000, 1)) + np.arange(10_000)[:, None], y, None)
    some = problem.sample_rows(1_000)
    assert np.bincount(y[some]).tolist() == [900, 100, 3]
    assert (np.diff(some) > 0).all()


def test_thresholds_cost_what_was_counted() -> None:
    """The cheapest of all thresholds, by trying each."""
    rng = np.random.default_rng(0)
    score = np.round(rng.random(60), 1)
    costs = Costs.binary(fn=rng.uniform(1, 9, 60), fp=2.0, classes=[0, 1])
    problem = read_data(np.zeros((60, 1)) + score[:, None], (rng.random(60) < score).astype(int), costs)
    cut = cheapest_threshold(score, problem.y, problem.costs)

    def paid(threshold: float) -> float:
        return float(costs_paid(problem.y, (score >= threshold).astype(int), costs=costs).sum())

    assert paid(cut) == pytest.approx(min(paid(t) for t in [*np.unique(score), 2.0]))


def test_a_leader_that_ran_out_of_time_is_named_with_how_far_it_came() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 1))
    problem = read_data(X, (X[:, 0] > 0).astype(int), None)
    evaluation = evaluate(problem, [c for c in candidates(problem) if c.work <= 0.06], folds=3)
    for entry in evaluation.entries:
        if entry.candidate.family != "constant":
            del entry.folds[1], entry.folds[2]
            entry.stopped = "out of time after 1 of 3 folds"
    lines = leaderboard(evaluation)
    assert lines[0].family == "ours"
    assert any("It ran 1 of 3 folds" in sentence for sentence in recommend(evaluation, lines))
