import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from steelyard.reproduction import runs as runs_module
from steelyard.reproduction.page import cells
from steelyard.reproduction.recipe import Recipe, read_recipe
from steelyard.reproduction.results import Results, Run
from steelyard.reproduction.runs import Wish, hours_of, run_recipe
from steelyard.reproduction.tables import Printed, lines_of, paired_lines, read_summary, write_summary

from .test_recipe import RECIPE, write


@pytest.fixture
def recipe(tmp_path: Path) -> Recipe:
    (tmp_path / "printed.csv").write_text(
        "item,data,learner,measure,mean,spread,spread_kind,runs\n"
        "Table 9,german,tree,mean_cost,0.300,0.01,std,20\n"
        "Table 10,german,tree,error,25.0,,,10\n"
    )
    return read_recipe(write(tmp_path, RECIPE))


@pytest.fixture
def results(tmp_path: Path) -> Results:
    (tmp_path / "results").mkdir()
    return Results(tmp_path / "results")


def test_runs_are_kept_and_not_done_again(recipe: Recipe, results: Results, monkeypatch: pytest.MonkeyPatch) -> None:
    first = run_recipe(recipe, results).runs
    assert [(run.learner, run.run) for run in first] == [("tree", 0), ("tree", 1)]
    monkeypatch.setattr(runs_module, "outcomes", lambda *a: iter([]) if not a[3] else pytest.fail("ran again"))
    again = run_recipe(recipe, results).runs
    for kept, done in zip(again, first, strict=True):
        assert dict(kept.values) == pytest.approx(dict(done.values))


def test_a_paired_test_takes_as_many_runs_as_the_paper(recipe: Recipe) -> None:
    """Ten runs of which only the last six tell the learners apart: the paper's four do not."""
    paired = replace(recipe, paired={"item": "Table 1", "reference": "A", "measure": "cost", "level": 0.1})
    gains = [1, -1, 1, -1, 2, 3, 2, 3, 2, 3]
    runs = [Run(name, k, 0.0, {"cost": gain * (name == "B")}) for k, gain in enumerate(gains) for name in "AB"]
    key = ("Table 1", recipe.data_name, "B", "reference better")
    [over_all] = paired_lines(paired, runs, {})
    [over_four] = paired_lines(paired, runs, {key: Printed(*key, 1.0, None, "", 4, 0)})
    assert (over_all.mean, over_all.runs) == (1.0, 10)
    assert (over_four.mean, over_four.runs) == (0.0, 4)


def test_an_interrupted_job_resumes_where_it_stopped(recipe: Recipe, results: Results) -> None:
    run_recipe(recipe, results, Wish(runs=1))
    assert len(results.runs(recipe)) == 1
    assert len(run_recipe(recipe, results, Wish(runs=3)).runs) == 3


def test_a_changed_recipe_starts_anew_and_sets_the_old_lines_aside(recipe: Recipe, results: Results) -> None:
    run_recipe(recipe, results, Wish(runs=1))
    changed = replace(recipe, digest="another")
    assert results.runs(changed) == []
    done = run_recipe(changed, results, Wish(runs=1))
    assert len(done.runs) == 1
    assert done.notes == ["table9-german.csv: 1 lines of another recipe or other data: set aside."]
    assert results.runs(recipe) == []
    assert results.path(recipe).with_suffix(".aside").read_text().startswith(recipe.digest)


def test_runs_do_not_depend_on_the_number_of_jobs(recipe: Recipe, tmp_path: Path) -> None:
    alone, beside = Results(tmp_path / "one"), Results(tmp_path / "two")
    for results, jobs in ((alone, 1), (beside, 2)):
        results.folder.mkdir()
        run_recipe(recipe, results, Wish(runs=2, n_jobs=jobs))
    assert [dict(r.values) for r in alone.runs(recipe)] == [dict(r.values) for r in beside.runs(recipe)]


def test_time_that_is_up_leaves_runs_and_says_how_many(recipe: Recipe, results: Results) -> None:
    done = run_recipe(recipe, results, Wish(deadline=0.0))
    assert (done.runs, done.left) == ([], 2)


def test_hours_left_go_by_what_each_learner_took() -> None:
    runs = [Run("a", 0, 3600.0, {}), Run("a", 1, 7200.0, {}), Run("b", 0, 36.0, {})]
    assert hours_of([("a", 2), ("b", 1)], runs) == pytest.approx(1.51)
    assert hours_of([("c", 0)], runs) == pytest.approx(1.5)
    assert hours_of([], []) == 0.0
    assert math.isnan(hours_of([("a", 0)], []))


def test_hours_left_of_what_was_never_run_here_go_by_the_committed_runs(
    recipe: Recipe, results: Results, tmp_path: Path
) -> None:
    assert results == Results.committed(recipe)
    run_recipe(recipe, results)
    elsewhere = Results(tmp_path / "elsewhere")
    elsewhere.folder.mkdir()
    assert run_recipe(recipe, elsewhere, Wish(deadline=0.0)).hours_left > 0


def test_a_difference_without_spread_is_told_as_it_is(recipe: Recipe) -> None:
    [line] = [x for x in lines_of(recipe, [Run("tree", k, 0.0, {"error": 27.5}) for k in (0, 1)]) if x.printed]
    assert cells(line)[-2] == "+2.5"
    noise = [Run("tree", k, 0.0, {"error": 27.5 + 1e-14 * k}) for k in (0, 1)]
    [line] = [x for x in lines_of(recipe, noise) if x.printed]
    assert line.std > 0
    assert cells(line)[-2] == "+2.5"


def test_the_printed_stand_in_the_digits_of_the_paper(recipe: Recipe) -> None:
    [line] = [x for x in lines_of(recipe, [Run("tree", k, 0.0, {"error": 27.5 + k}) for k in (0, 1)]) if x.printed]
    assert line.printed is not None
    large = replace(line, printed=replace(line.printed, mean=94563.58, spread=150.54, decimals=3))
    assert cells(large)[3:5] == ["94563.580", "150.540"]


def test_lines_join_ours_with_the_printed(recipe: Recipe, results: Results) -> None:
    lines = {line.measure: line for line in lines_of(recipe, run_recipe(recipe, results).runs)}
    assert lines["error"].item == "Table 10"
    assert lines["error"].printed is not None
    assert lines["error"].printed.mean == 25.0
    values = [run.values["error"] for run in results.runs(recipe)]
    assert lines["error"].mean == pytest.approx(np.mean(values))
    assert lines["error"].std == pytest.approx(np.std(values, ddof=1))
    write_summary(results.folder, list(lines.values()))
    write_summary(results.folder, list(lines.values()))
    assert [row["measure"] for row in read_summary(recipe.path.parent)] == ["error", "mean_cost"]
