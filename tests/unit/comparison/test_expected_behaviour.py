"""What a comparison owes its user, one test each: the order of work, rows, folds, columns, intervals, bad input."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

import steelyard
from steelyard import CSOGD2, Costs, InvalidInputError, OneSidedClassifier, OnlineClassifier
from steelyard.comparison import baselines, registry, schedule
from steelyard.comparison.cache import FoldResult
from steelyard.comparison.candidates import Candidate, Kind, TrainingRows
from steelyard.comparison.data import ComparisonData, read_data
from steelyard.comparison.evaluation import CandidateRun, Work, evaluate, last_steps_seconds, refit_seconds
from steelyard.comparison.fold import FoldRunner, Judged, Results, Task
from steelyard.comparison.given import given_candidates
from steelyard.comparison.learners import LEARNERS
from steelyard.comparison.promise import Choice, promise
from steelyard.comparison.registry import candidates, in_turn, portfolio
from steelyard.comparison.schedule import Effort, read_effort
from steelyard.models.schema import read_columns


def compared(X: Any, y: Any, costs: Any = None, **settings: Any) -> Any:
    return steelyard.compare(X, y, costs=costs, **{"candidates": ["logistic"], "cv": 5, **settings})


class Clock:
    """Results that take the CPU time they are told to; nothing is computed."""

    cpu_limit = 1e9

    def __init__(self, judged: Any, n_classes: int, seconds: float, beside: float = 0.0) -> None:
        self._judged, self._n_classes, self._seconds, self._beside = judged, n_classes, seconds, beside
        self.units: list[Any] = []

    def cpu_beside(self) -> float:
        return self._beside

    def run(self, tasks: list[Task], may_start: Any, failed: Any) -> Results:
        for unit, _ in tasks:
            if not may_start(unit):
                return
            self.units.append(unit)
            held = int((self._judged(unit.rows, unit.repeat).fold == unit.fold).sum())
            proba = np.full((held, self._n_classes), 1.0 / self._n_classes, dtype=np.float32)
            yield unit, FoldResult(proba, None, self._seconds, self._seconds, 0.0)


class NoCache:
    def read_fold(self, unit: Any, shape: Any) -> None:
        return None

    def save_fold(self, unit: Any, result: Any) -> None:
        pass


def timed(
    data: ComparisonData, everyone: list[Candidate], plan: Effort, seconds: float, limit: float, beside: float = 0.0
) -> tuple[Any, Clock]:
    judged = FoldRunner(data, 5).judged
    clock = Clock(judged, len(data.classes), seconds, beside)
    work = Work(
        clock,
        NoCache(),  # type: ignore[arg-type]
        judged,
        len(data.classes),
        limit=plan.limit,
        time_limit=limit,
        interrupted=lambda: False,
        cost_of=lambda unit, result: 1.0,
    )
    return evaluate(data, everyone, work, judged, plan), clock


def count_tried(result: Any) -> int:
    return sum(entry.folds > 0 for entry in result.entries)


def some_data(n: int = 200, classes: int = 2) -> ComparisonData:
    rng = np.random.default_rng(0)
    return read_data(rng.normal(size=(n, 2)), np.arange(n) % classes, None)


# -- seen and expected ------------------------------------------------------------------------------------------------


def test_time_is_used_or_it_is_said_that_nothing_was_left() -> None:
    """Units of a fixed CPU time: nine tenths of the limit go into them and the last steps that are kept back for."""
    plan = read_effort("thorough")
    result, _ = timed(some_data(), portfolio(), plan, seconds=0.05, limit=20.0)
    # All say the same: the blend has one member, fitted for the model, to tell its size, and for the page's five folds.
    kept = last_steps_seconds(200, count_tried(result)) + (2 * 1.3 + 5) * 0.05
    assert result.cut
    assert 0.9 * 20.0 <= result.cpu_seconds + kept <= 20.0 + 0.05
    said = compared(*easy(), time_limit=1000.0, effort="quick").recommendation
    assert "Nothing was left to try: the plan was finished before the time was." in said


def test_what_is_done_beside_the_units_counts_against_the_time() -> None:
    plan = read_effort("thorough")
    free, _ = timed(some_data(), portfolio(), plan, seconds=0.05, limit=20.0)
    busy, _ = timed(some_data(), portfolio(), plan, seconds=0.05, limit=20.0, beside=5.0)
    ends = [found.cpu_seconds + last_steps_seconds(200, count_tried(found)) for found in (free, busy)]
    assert ends[0] == pytest.approx(ends[1], abs=0.2)
    assert busy.units * 0.05 + 5.0 == pytest.approx(busy.cpu_seconds)
    assert free.units - busy.units > 90


@pytest.mark.parametrize(("used", "seconds"), [(10.0, 8.1), (19.0, 0.0), (1.0, 10.0)])
def test_the_page_fits_within_what_is_left_of_the_time(used: float, seconds: float) -> None:
    """Of 20 s 1.3 s are for the last steps, 0.6 s for the model."""
    result = compared(*easy(), effort=1)
    result.best.refit_seconds = 0.6
    limited = replace(result, time_limit=20.0, runs=replace(result.runs, cpu_seconds=used))
    assert limited._page_seconds() == pytest.approx(seconds)
    assert replace(limited, time_limit=None)._page_seconds() == 10.0


def test_a_fit_with_known_rounds_is_kept_back_for_by_less() -> None:
    """All rows are 5/4 of a fold's, and boosting found its rounds before: three quarters of the time will do."""
    proba = np.zeros((1, 2), dtype=np.float32)
    plain, boosted = (FoldResult(proba, rounds, 4.0, 4.0, 0.0) for rounds in (None, 100))
    assert refit_seconds([plain], 5) == pytest.approx(1.3 * 4.0)
    assert refit_seconds([boosted, boosted], 5) == pytest.approx(0.75 * 1.3 * 4.0)
    assert refit_seconds([plain], 3) > refit_seconds([plain], 5)


def test_the_units_of_a_time_are_the_same_units_of_an_effort() -> None:
    by_time, clock = timed(some_data(), portfolio(), read_effort("thorough"), seconds=0.1, limit=9.0)
    by_units, other = timed(some_data(), portfolio(), read_effort(by_time.units), seconds=0.1, limit=1e9)
    assert clock.units == other.units
    assert [e.stopped for e in by_time.entries] == [e.stopped for e in by_units.entries]


@pytest.mark.parametrize("classes", [4, 8])
def test_boosting_gets_its_turn_first_and_everyone_sees_all_rows(classes: int) -> None:
    data = some_data(240, classes)
    result, clock = timed(data, portfolio(), read_effort("normal"), seconds=1.0, limit=12.0)
    done = [e for e in result.entries if e.complete]
    assert done[0].name.startswith("LightGBM")
    assert {unit.rows for unit in clock.units} == {240}


def test_a_unit_that_would_not_end_in_time_is_not_started() -> None:
    """Of 30 s three units of 4 s fit beside further fits of 14.4 s and 1.3 s for the last steps; a fourth does not."""
    result, clock = timed(some_data(), portfolio()[:1], read_effort("thorough"), seconds=4.0, limit=30.0)
    assert len(clock.units) == result.units == 3
    assert 30.0 - 4.0 < result.cpu_seconds + last_steps_seconds(200, 1) + (2 * 1.3 + 1) * 4.0 <= 30.0
    assert result.cut


@pytest.mark.parametrize(
    ("rows", "classes", "folds"), [(20_000, 2, 5), (20_001, 2, 3), (5_000, 8, 5), (5_000, 18, 3), (100, 1, 5)]
)
def test_folds_are_fewer_where_rows_and_classes_are_many(rows: int, classes: int, folds: int) -> None:
    assert schedule.count_folds(rows, classes, 5) == folds
    assert schedule.count_folds(rows, classes, 2) == 2


@pytest.mark.parametrize(("classes", "factor"), [(2, 1.0), (8, 1.0), (12, 1.5), (16, 2.0), (20, 2.0)])
def test_boosting_takes_larger_steps_with_many_classes(classes: int, factor: float) -> None:
    rows = TrainingRows(np.zeros((60, 1)), some_data(60, classes))
    found = baselines._with_larger_steps({"learning_rate": 0.05, "num_leaves": 8}, rows)
    assert found == {"learning_rate": pytest.approx(0.05 * factor), "num_leaves": 8}


@pytest.mark.parametrize(("rate", "taken"), [(0.06, 0.12), (0.1, 0.12), (0.15, 0.15)])
def test_larger_steps_end_where_boosting_diverges(rate: float, taken: float) -> None:
    rows = TrainingRows(np.zeros((60, 1)), some_data(60, 20))
    assert baselines._with_larger_steps({"learning_rate": rate}, rows) == {"learning_rate": pytest.approx(taken)}


def test_many_classes_begin_with_what_is_strong_for_its_time() -> None:
    few, many = (in_turn(portfolio(), some_data(6_000, classes)) for classes in (2, 20))
    assert few == portfolio()
    assert [c.name for c in many[:2]] == ["LightGBM, ordered categories", "LightGBM, ordered categories, 31 leaves"]
    assert sorted(c.name for c in many) == sorted(c.name for c in few)
    rest = [c for c in many if c.name not in registry._portfolio()["expensive"]]
    assert rest == [c for c in few if c in rest]  # in the order that they had


def test_every_name_of_the_expensive_order_is_of_the_portfolio() -> None:
    assert {c.name for c in portfolio()} >= set(registry._portfolio()["expensive"])


def test_left_over_effort_goes_into_repeats_of_members_then_random_settings() -> None:
    data = some_data()
    first = portfolio()[:2]
    result, clock = timed(data, first, Effort(None, None, 4, 2), seconds=0.01, limit=1e9)
    repeats = [unit.repeat for unit in clock.units]
    random = [unit.candidate for unit in clock.units if unit.candidate >= 2]
    assert repeats[:10] == [0] * 10
    assert repeats[10:20] == [1] * 5 + [2] * 5  # of one member: all say the same
    assert len(set(random)) == 4
    assert min(i for i, unit in enumerate(clock.units) if unit.candidate >= 2) == 20
    assert not result.cut


def test_rungs_of_a_large_table_have_equal_rows_for_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schedule, "_MANY_ROWS", 300)
    monkeypatch.setattr(schedule, "_FIRST_RUNG", 100)
    data = some_data(900)
    result, clock = timed(data, portfolio()[:12], read_effort("normal"), seconds=0.01, limit=1e9)
    by_rows: dict[int, set[int]] = {}
    for unit in clock.units:
        by_rows.setdefault(unit.rows, set()).add(unit.candidate)
    assert {rows: len(some) for rows, some in by_rows.items()} == {100: 12, 400: 6, 900: 5}
    ranked = [e for e in result.entries if e.complete]
    assert len(ranked) == 5
    assert {len(np.asarray(e.paid)) for e in ranked} == {900}
    assert any(e.stopped == "left out after 100 rows" for e in result.entries)


def test_the_promise_counts_selection_and_the_noise_of_the_new_sample() -> None:
    """Many candidates that are all alike: the cheapest looks cheaper than it is, and its own interval misses."""
    kept = own = 0
    trials, n = 40, 120
    for seed in range(trials):
        rng = np.random.default_rng(seed)
        y = (rng.random(n) < 0.4).astype(int)
        data = read_data(rng.normal(size=(n, 1)), y, None, seed=seed)
        runs = []
        for k in range(25):
            paid = (rng.random(n) < 0.3).astype(float)  # each pays 0.3 on any new row
            runs.append(CandidateRun(f"c{k}", "baseline", paid=paid, answers=data.codes))
        constant = CandidateRun("always", "constant", paid=np.ones(n), answers=data.codes)
        told, _ = promise(data, Choice(runs, [constant], False), folds=5, rows=n, confidence=0.95)
        new = float((rng.random(n) < 0.3).mean())
        kept += told.low <= new <= told.high
        best = min((np.asarray(r.paid) for r in runs), key=lambda paid: float(paid.mean()))
        spread = 1.96 * best.std() / np.sqrt(n)
        own += abs(new - best.mean()) <= spread
    assert kept >= 0.85 * trials
    assert own < kept


def without_mistakes(rows_of_a_class: int, costs: np.ndarray) -> tuple[ComparisonData, Choice]:
    y = np.repeat(np.arange(3), rows_of_a_class)
    data = read_data(y[:, None].astype(float), y, Costs.from_matrix(costs, classes=[0, 1, 2]))
    run = CandidateRun("right", "baseline", paid=np.zeros(len(y)), answers=data.codes)
    constant = CandidateRun("always 0", "constant", paid=data.paid(np.zeros(len(y), dtype=np.intp)))
    return data, Choice([run], [constant], False)


def test_a_model_that_made_no_mistake_is_not_promised_to_make_none() -> None:
    """Three classes, none mistaken in any fold: a few mistakes among as many new rows are within the promise."""
    costs = np.array([[0.0, 1.0, 3.0], [2.0, 0.0, 2.0], [10.0, 10.0, 0.0]])
    few, many = (
        promise(data, choice, folds=5, rows=3 * n, confidence=0.95)[0]
        for n in (30, 3_000)
        for data, choice in [without_mistakes(n, costs)]
    )
    assert (few.low, few.value) == (many.low, many.value) == (0.0, 0.0)
    # Of 30 rows that all were right, the next 30 hold one mistake or more with a chance of .29 (Jeffreys' prior).
    assert 10 / 90 <= few.high <= 40 / 90
    assert many.high < 0.02 * few.high


def test_a_constant_answer_has_no_unseen_mistakes_and_learns_nothing() -> None:
    costs = np.array([[0.0, 100.0, 100.0], [1.0, 0.0, 1.0], [1.0, 1.0, 0.0]])  # "always 0" never pays the 100
    data, choice = without_mistakes(40, costs)
    alone = Choice([], choice.constants, False)
    ends = [promise(data, alone, folds=folds, rows=120, confidence=0.95)[0] for folds in (2, 10)]
    assert ends[0] == ends[1]
    assert ends[0].high < 0.8


def test_the_lower_end_allows_for_a_fit_on_all_rows() -> None:
    """Fits of two folds see half of the rows, so the model that sees all of them may cost clearly less than told."""
    rng = np.random.default_rng(0)
    y = (rng.random(400) < 0.5).astype(int)
    data = read_data(rng.normal(size=(400, 1)), y, None)
    run = CandidateRun("some", "baseline", paid=(rng.random(400) < 0.2).astype(float), answers=data.codes)
    constant = CandidateRun("always", "constant", paid=np.ones(400), answers=data.codes)
    two, many = (
        promise(data, Choice([run], [constant], False), folds=folds, rows=400, confidence=0.95)[0]
        for folds in (2, 1_000_000)
    )
    assert (two.value, two.high) == (many.value, many.high)
    assert two.low == pytest.approx(many.low * 0.5**0.5, rel=1e-5)


def test_a_gain_whatever_the_answer_moves_the_promise_and_nothing_else() -> None:
    """Where answers gain, more rows lower what is lost beside the best answers, and do not bring the gain nearer 0."""
    rng = np.random.default_rng(0)
    y, wrong = (rng.random(400) < 0.5).astype(int), rng.random(400) < 0.2
    told = []
    for gain in (0.0, 3.0):
        costs = Costs.from_matrix(np.array([[0.0, 1.0], [1.0, 0.0]]) - gain, classes=[0, 1])
        data = read_data(rng.normal(size=(400, 1)), y, costs)
        run = CandidateRun("some", "baseline", paid=wrong - gain, answers=np.where(wrong, 1 - data.codes, data.codes))
        constant = CandidateRun("always", "constant", paid=np.full(400, 1.0 - gain), answers=data.codes)
        told.append(promise(data, Choice([run], [constant], False), folds=5, rows=400, confidence=0.95)[0])
    plain, moved = ((one.low, one.value, one.high) for one in told)
    assert moved == pytest.approx(np.array(plain) - 3.0)


def test_of_few_rows_no_lead_is_told_beyond_chance() -> None:
    X, y = easy(30)
    result = compared(X, y, candidates=["logistic regression, C=1"])
    said = " ".join(result.recommendation) + result._repr_html_()
    assert "significantly" not in said
    assert "beyond chance" not in said


def test_two_rows_of_a_class_among_600_keep_five_folds_and_are_told_apart() -> None:
    rng = np.random.default_rng(0)
    y = np.array(["a"] * 300 + ["b"] * 298 + ["u2r"] * 2)
    X = rng.normal(size=(600, 2)) + (y == "b")[:, None]
    result = compared(X, y)
    assert result.runs.judged.n_folds == 5
    said = " ".join(result.recommendation)
    assert "What class u2r will cost: cannot tell from 2 rows." in said
    assert "carry" not in said  # 0% of the uncertainty would say nothing


def test_cells_of_many_words_that_repeat_are_a_category() -> None:
    rng = np.random.default_rng(0)
    values = [
        "sales team of the north region",
        "sales team of the south region",
        "legal and finance at the head office",
    ]
    X = pd.DataFrame({"dept": rng.choice(values, 90), "x": rng.normal(size=90)})
    assert read_columns(X).nominal == ("dept",)
    assert not read_columns(X).left_out


def test_texts_and_dates_are_used_and_an_empty_column_is_left_out_with_a_line() -> None:
    rng = np.random.default_rng(0)
    y = np.arange(90) % 2
    words = np.where(y == 1, "late debt refused", "paid fine thanks")
    X = pd.DataFrame({"note": [f"{w} letter{i} of case{i}" for i, w in enumerate(words)], "empty": [None] * 90})
    X["when"] = [f"2024-{1 + i % 12:02d}-{1 + i % 28:02d}" for i in range(90)]
    X["x"] = rng.normal(size=90)
    columns = read_columns(X)
    assert (columns.texts, columns.dates, columns.numeric) == (("note",), ("when",), ("x",))
    result = compared(X, y)
    assert result.lines[0].savings.value > 0.9
    assert "Column 'empty' was left out: no values." in result.warnings
    alone = compared(X[["note"]], y, effort="quick", candidates=None)
    assert alone.lines[0].savings.value > 0.9
    assert {e.stopped for e in alone.runs.entries if e.name.startswith("LightGBM")} == {"reads no texts"}


@pytest.mark.parametrize(("role", "found"), [("category", "many"), ("date", "dates"), ("text", "texts")])
def test_a_role_that_is_given_overrules_what_is_seen(role: str, found: str) -> None:
    X = pd.DataFrame({"code": [f"k{i} v{i}" for i in range(60)], "x": np.arange(60.0) % 7})
    if role == "date":
        X = X.assign(code=["unknown", *(f"2024-01-{1 + i % 28}" for i in range(59))], x=20240100 + np.arange(60) % 7)
    columns = read_columns(X, roles={"code": role})
    assert getattr(columns, found) == ("code",)
    numbers = read_columns(X, roles={"x": role})
    assert "x" not in numbers.numeric
    assert "x" in numbers.used


# -- bad input --------------------------------------------------------------------------------------------------------


def easy(n: int = 80) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 2))
    return X, np.where(X[:, 0] + 0.3 * rng.normal(size=n) > 0, "bad", "good")


def test_constant_column_and_identifier_are_left_out_with_a_line_each() -> None:
    X, y = easy()
    frame = pd.DataFrame(X, columns=["a", "b"]).assign(same=1, id=range(len(y)), key=[f"u{i}" for i in range(len(y))])
    said = compared(frame, y).warnings
    for name, why in (("same", "the same in every row"), ("id", "counts the rows"), ("key", "an identifier")):
        assert sum(f"Column {name!r} was left out: " in s and why in s for s in said) == 1


def test_three_rows_of_a_class_run() -> None:
    X, y = easy(120)
    y = y.astype(object)
    y[:3] = "odd"
    result = compared(X, y.astype(str), candidates=["lightgbm", "logistic", "svm"], effort="quick")
    assert result.runs.judged.n_folds == 5
    assert not [e.name for e in result.runs.entries if e.stopped is not None]
    assert "What class odd will cost: cannot tell from 3 rows." in result.recommendation


def test_one_class_in_a_fold_runs() -> None:
    """Groups may leave a fold with a single class to answer for."""
    X, y = easy(100)
    y = np.where(np.arange(100) < 80, "good", "bad")
    groups = np.where(np.arange(100) < 80, np.arange(100), 1000)
    result = compared(X, y, groups=groups)
    assert len({tuple(np.unique(y[result.runs.judged.split(k)[1]])) for k in range(result.runs.judged.n_folds)}) > 1
    assert result.lines


def test_learners_that_see_costs_are_fitted_where_a_class_has_no_row_to_learn_from() -> None:
    """All rows of a class are of one group: one fold holds them out, and what is left knows two classes."""
    rng = np.random.default_rng(0)
    codes = np.repeat([0, 1, 2], [50, 50, 10])
    X = rng.normal(size=(110, 2)) + 2 * codes[:, None]
    groups = np.where(codes == 2, 999, np.arange(110))
    names = ["adac2_c45", "online_costs", "one_sided_svr", "filter_tree", "all_pairs"]
    own = {"mine": OneSidedClassifier(lam=0.1)}
    costs = [[0, 1, 2], [3, 0, 4], [5, 6, 0]]
    y = np.array(["a", "b", "c"])[codes]
    result = compared(X, y, costs=costs, groups=groups, candidates=names, estimators=own, cv=2)
    assert {e.name: e.stopped for e in result.runs.entries if e.stopped is not None} == {}
    assert "mine" in {run.name for run in result.runs.complete()}


def test_one_row_of_a_class_is_an_error_that_names_it() -> None:
    X, y = easy()
    y = y.astype(object)
    y[0] = "odd"
    with pytest.raises(InvalidInputError, match=r"1 of class 'odd'.*Merge or drop it\."):
        compared(X, y.astype(str))


@pytest.mark.parametrize("kind", ["word", "number", "date", "many", "missing"])
def test_a_column_that_gives_the_labels_away_comes_first_with_the_cost_without_it(kind: str) -> None:
    rng = np.random.default_rng(0)
    y = (rng.random(150) < 0.4).astype(int)
    leak: Any = {
        "word": np.where(y == 1, "paid", "open"),
        "number": y * 3.5 + rng.random(150),
        "date": [f"20{20 + 3 * k}-01-{1 + i % 28:02d}" for i, k in enumerate(y)],
        "many": [f"{'p' if k else 'q'}{i % 30}" for i, k in enumerate(y)],
        "missing": [None if k else f"w{i % 9}" for i, k in enumerate(y)],
    }[kind]
    X = pd.DataFrame({"leak": leak, "few": rng.integers(0, 3, 150)})
    said = compared(X, y).recommendation
    assert said[0].startswith("Column 'leak' alone gives away")
    assert said[1].startswith("Without 'leak' ")
    assert "costs" in said[1]


def test_the_same_row_many_times_is_a_warning_that_names_groups() -> None:
    X, y = easy(60)
    result = compared(np.repeat(X, 3, axis=0), np.repeat(y, 3))
    assert any("repeat an earlier row" in s and "--groups" in s for s in result.warnings)


def test_numbers_that_stand_in_every_copy_of_a_row_give_no_labels_away() -> None:
    X, y = np.random.default_rng(0).normal(size=(60, 2)), np.arange(60) % 2
    said = compared(np.repeat(X, 5, axis=0), np.repeat(y, 5)).recommendation
    assert not any("gives away" in s for s in said)


def test_of_a_candidate_that_alone_has_finished_no_lead_is_told() -> None:
    said = " ".join(compared(*easy(), effort=5).recommendation)
    assert "no other candidate has finished" in said
    assert "Every other candidate" not in said


def test_no_time_for_a_unit_gives_the_cheapest_constant_with_a_wide_promise() -> None:
    X, y = easy()
    cut = compared(X, y, time_limit=1e-6)
    assert cut.best.family == "constant"
    assert "no candidate has finished" in cut.recommendation[0]
    share = cut.promise.value  # of the rows is answered wrong
    assert cut.promise.high - cut.promise.low > 3 * np.sqrt(share * (1 - share) / len(y))
    assert json.loads(cut.to_json())["units"] == 0


def test_unknown_candidates_are_an_error_that_lists_every_name() -> None:
    with pytest.raises(InvalidInputError) as caught:
        candidates(["magic"])
    said = str(caught.value)
    for name in ("lightgbm", "arow", "csogd", "cs_svm", "filter_tree", "all_pairs", "adac2_c45", "smote_logistic"):
        assert name in said
    assert "balanced_forest" in said
    assert "threshold_logistic" in said
    assert "got 'magic'" in said


def test_learners_of_the_papers_join_when_asked_for() -> None:
    X, y = easy(60)
    names = ["arow", "csogd", "cs_svm", "adac2_c45", "threshold_logistic"]
    result = compared(X, y, Costs.binary(fn=5, fp=1, classes=["bad", "good"], positive="bad"), candidates=names, cv=3)
    assert not [e.stopped for e in result.runs.entries if e.stopped is not None]
    joined = candidates([f"+{name}" for name in names])
    assert len(joined) == len(portfolio()) + len(names)


def test_the_one_pass_candidate_answers_with_the_mean_of_its_weights() -> None:
    """The last weights hang on the last few rows: scores of the final fit would not be those of the folds."""
    data = some_data(60)
    fitted, _ = LEARNERS["csogd"].fit({"eta": 0.5}, TrainingRows(data.X, data), False)
    order = np.random.default_rng([data.seed, 3]).permutation(60)
    rows = fitted[:-1].transform(data.X)[order]
    by_hand = OnlineClassifier(CSOGD2(eta=0.5), fit_intercept=True, seed=data.seed)
    weights = [np.zeros(2)]  # with which the first row is answered
    for k in range(59):
        by_hand.partial_fit(rows[k : k + 1], data.codes[order][k : k + 1], classes=[0, 1])
        weights.append(by_hand.coef_[0].copy())
    assert fitted[-1].coef_[0] == pytest.approx(np.mean(weights, axis=0))
    assert fitted[-1].coef_[0] != pytest.approx(weights[-1])


@pytest.mark.parametrize("kind", ["adaboost_c45", "adac2_c45"])
def test_boosting_that_ends_after_one_round_has_graded_probabilities(kind: str) -> None:
    """Votes of one tree, 0 or 1, would meet curves that were fitted to the shares of many votes."""
    rng = np.random.default_rng(1)
    X = rng.integers(0, 3, (120, 2)).astype(float)
    data = read_data(X, (X[:, 0] + rng.normal(size=120) > 1).astype(int), {0: 1, 1: 3})
    rows = TrainingRows(X, data)
    one, _ = LEARNERS[kind].fit({"n_estimators": 1, "min_obj": 5}, rows, False)
    many, _ = LEARNERS[kind].fit({"n_estimators": 10, "min_obj": 5}, rows, False)
    assert len(many.estimators_) > 1
    proba = one.predict_proba(X)
    assert ((proba > 0.01) & (proba < 0.99)).any()
    assert one.classes_.tolist() == [0, 1]


def test_a_candidate_that_fails_is_named_and_the_rest_goes_on(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Crashes, endless loops and memory stand in the tests of the workers."""

    def broken(params: Any, rows: Any, weighted: bool) -> Any:
        raise ArithmeticError("no")

    X, y = easy()
    first = portfolio()[1]
    monkeypatch.setattr(
        steelyard.comparison, "registered", lambda names: [Candidate("broken", Kind(broken, "coded")), first]
    )
    result = steelyard.compare(X, y, cv=3)
    assert result.winner == first.name
    assert "These could not learn from the data: broken." in result.recommendation


def test_judged_rows_of_a_rung_are_those_of_its_sample() -> None:
    data = some_data(500)
    part = Judged(data, 100, 5)
    assert len(part.rows) == len(part.fold) == 100


def test_what_the_user_named_is_tried_early() -> None:
    """A short time limit must reach the user's own estimators; three others suffice for a leaderboard before."""
    mine = given_candidates({"mine": LogisticRegression(), "other": LogisticRegression(C=9)}, set())
    for classes in (2, 20):
        order = [c.name for c in in_turn([*portfolio(), *mine], some_data(6_000, classes))]
        plain = [c.name for c in in_turn(portfolio(), some_data(6_000, classes))]
        assert order == [*plain[:3], "mine", "other", *plain[3:]]
    named = candidates(["RBF SVM, C=1", "random forest"])
    assert in_turn(named, some_data()) == named
