import os
import subprocess
from pathlib import Path

import numpy as np
import pytest

from steelyard import StateError, _native
from steelyard.reproduction.provenance import package_digest, source_commit
from steelyard.reproduction.recipe import Recipe, read_recipe
from steelyard.reproduction.results import FIXED, Results, Run

from .test_recipe import RECIPE, write

CURVE = {"examples": np.array([1, 2]), "f1": np.array([0.1, 0.25])}


@pytest.fixture
def recipe(tmp_path: Path) -> Recipe:
    return read_recipe(write(tmp_path, RECIPE))


@pytest.fixture
def results(tmp_path: Path, recipe: Recipe) -> Results:
    results = Results(tmp_path / "out")
    results.folder.mkdir()
    for run in range(3):
        results.append(recipe, "d", Run("a, b", run, 0.5, {"cost": 1 / 3 + run}), CURVE if run else {})
    return results


def lines(results: Results, recipe: Recipe) -> list[str]:
    return results.path(recipe).read_text().splitlines()


def test_a_line_carries_its_provenance(results: Results, recipe: Recipe) -> None:
    header, first = lines(results, recipe)[:2]
    assert header.split(",")[: len(FIXED)] == list(FIXED)
    assert {"recipe", "data", "package", "commit", "dirty", "numpy", "scipy", "scikit_learn", "took"} <= set(FIXED)
    assert first.startswith(f"{recipe.digest},d,")
    assert results.runs(recipe)[1] == Run("a, b", 1, 0.5, {"cost": 1.3333333333})
    assert results.curves(recipe)["a, b"][2] == {"examples": [1.0, 2.0], "f1": [0.1, 0.25]}


def test_the_package_is_its_files_and_the_extension_at_work(tmp_path: Path) -> None:
    """An editable install keeps the extension elsewhere; another build of it is another package."""
    package, extension = tmp_path / "package", tmp_path / "elsewhere" / "_native.so"
    for folder in (package, extension.parent):
        folder.mkdir()
    (package / "a.py").write_text("a = 1")
    extension.write_bytes(b"one")
    first = package_digest(package, extension)
    assert package_digest(package, extension) == first
    extension.write_bytes(b"two")
    second = package_digest(package, extension)
    (package / "a.py").write_text("a = 2")
    assert len({first, second, package_digest(package, extension)}) == 3
    assert package_digest() == package_digest(extension=Path(_native.__file__))


def test_what_runs_and_checks_write_does_not_make_the_tree_dirty(tmp_path: Path) -> None:
    written = [tmp_path / "papers/000-x/results/a.csv", tmp_path / "papers/CHECKED.toml"]
    source = tmp_path / "src/package/__init__.py"
    for path in (*written, source):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("1")
    assert source_commit(source.parent) == ("unknown", "unknown")
    who = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
    for command in (["init", "-q"], ["add", "."], [*who, "commit", "-qm", "all"]):
        subprocess.run(["git", *command], cwd=tmp_path, check=True)
    for path in written:
        path.write_text("2")
    assert source_commit(source.parent)[1] == "no"
    source.write_text("2")
    assert source_commit(source.parent)[1] == "yes"


@pytest.mark.parametrize("cut", [1, 5, 12, 13, 30, 60])
def test_a_torn_line_is_set_aside_and_its_run_done_again(results: Results, recipe: Recipe, cut: int) -> None:
    path = results.path(recipe)
    path.write_text(path.read_text()[:-cut] if cut > 1 else path.read_text()[:-2])
    notes: list[str] = []
    assert [run.run for run in results.runs(recipe, notes=notes)] == [0, 1]
    assert notes == ["table9-german.csv, line 4 is cut off: set aside, its run is done again."]
    assert results.repair(recipe, "d") == notes
    assert len(lines(results, recipe)) == 3
    assert list(results.curves(recipe)["a, b"]) == [1]
    assert results.repair(recipe, "d") == []


def test_a_disk_that_takes_a_part_of_a_line_is_given_the_rest(
    tmp_path: Path, results: Results, recipe: Recipe, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = os.write
    monkeypatch.setattr(os, "write", lambda handle, content: written(handle, content[:20]))
    again = Results(tmp_path / "again")
    again.folder.mkdir()
    for run in results.runs(recipe):
        again.append(recipe, "data", run, {})
    assert again.runs(recipe) == results.runs(recipe)


@pytest.mark.parametrize("left", [0, 1, 40])
def test_a_file_cut_in_its_first_line_is_started_anew(results: Results, recipe: Recipe, left: int) -> None:
    path = results.path(recipe)
    path.write_text(path.read_text()[:left])
    notes: list[str] = []
    assert results.runs(recipe, notes=notes) == []
    assert notes == ["table9-german.csv, line 1 is cut off: the file is started anew."]
    assert results.repair(recipe, "d") == notes
    results.append(recipe, "d", Run("a, b", 0, 0.5, {"cost": 1.0}), {})
    assert [run.run for run in results.runs(recipe)] == [0]


def test_an_altered_number_is_not_believed(results: Results, recipe: Recipe) -> None:
    path = results.path(recipe)
    path.write_text(path.read_text().replace("1.3333333333", "1.3333333334"))
    notes: list[str] = []
    assert [run.run for run in results.runs(recipe, notes=notes)] == [0, 2]
    assert notes == ["table9-german.csv, line 3 does not match its checksum: set aside, its run is done again."]


def test_an_altered_column_name_is_not_believed(results: Results, recipe: Recipe) -> None:
    path = results.path(recipe)
    path.write_text(path.read_text().replace("cost", "gain", 1))
    assert results.runs(recipe) == []


def test_an_altered_curve_is_not_believed(results: Results, recipe: Recipe) -> None:
    path = results.curve_path(recipe)
    path.write_text(path.read_text().replace("0.25", "0.26", 1))
    notes: list[str] = []
    assert [run.run for run in results.runs(recipe, notes=notes)] == [0, 2]
    assert "does not match its curve" in notes[0]


def test_a_doubled_line_counts_once(results: Results, recipe: Recipe) -> None:
    path = results.path(recipe)
    path.write_text(path.read_text() + lines(results, recipe)[1] + "\n")
    notes: list[str] = []
    assert len(results.runs(recipe, notes=notes)) == 3
    assert notes == ["table9-german.csv, lines 2 and 5 both hold a, b, run 0: counted once."]
    results.repair(recipe, "d")
    assert len(lines(results, recipe)) == 4


def test_two_lines_that_disagree_are_an_error_naming_both(results: Results, recipe: Recipe) -> None:
    results.append(recipe, "d", Run("a, b", 0, 0.5, {"cost": 0.5}), {})
    with pytest.raises(StateError, match=r"lines 2 and 5 hold different numbers for a, b, run 0"):
        results.runs(recipe)


def test_times_of_a_timed_recipe_may_differ(tmp_path: Path) -> None:
    timed = read_recipe(write(tmp_path, "timed = true\n" + RECIPE))
    results = Results(tmp_path)
    for seconds in (1.0, 2.0):
        results.append(timed, "d", Run("tree", 0, seconds, {"cost": 1.0, "seconds": seconds}), {})
    assert len(results.runs(timed)) == 1


def test_a_curve_without_its_line_is_dropped(results: Results, recipe: Recipe) -> None:
    """What a kill between the two writes leaves."""
    path = results.path(recipe)
    path.write_text("\n".join(lines(results, recipe)[:-1]) + "\n")
    results.repair(recipe, "d")
    assert list(results.curves(recipe)["a, b"]) == [1]


@pytest.mark.parametrize("left", [0, 3, 9, 10, 16])
def test_a_curve_cut_in_its_first_line_does_not_run_into_the_next(results: Results, recipe: Recipe, left: int) -> None:
    """A kill may end a long write anywhere; whatever is left of a curve, the next one is whole."""
    path = results.curve_path(recipe)
    path.write_text(path.read_text() + '"a, b",3,1,0.1\n'[:left])
    results.repair(recipe, "d")
    results.append(recipe, "d", Run("a, b", 3, 0.5, {"cost": 1.0}), CURVE)
    assert [run.run for run in results.runs(recipe)] == [0, 1, 2, 3]


@pytest.mark.parametrize("left", [0, 5, 21])
def test_curves_cut_in_their_first_line_are_started_anew(tmp_path: Path, recipe: Recipe, left: int) -> None:
    results = Results(tmp_path)
    results.append(recipe, "d", Run("a, b", 0, 0.5, {"cost": 1.0}), {})
    results.curve_path(recipe).write_text("learner,run,examples,f1\n"[:left])
    results.repair(recipe, "d")
    results.append(recipe, "d", Run("a, b", 1, 0.5, {"cost": 1.0}), CURVE)
    assert [run.run for run in results.runs(recipe)] == [0, 1]


def test_other_columns_and_other_formats_are_refused(results: Results, recipe: Recipe) -> None:
    with pytest.raises(StateError, match="must have the columns"):
        results.append(recipe, "d", Run("a, b", 3, 0.5, {"gain": 1.0}), {})
    results.path(recipe).write_text("recipe,data,commit,learner,run,took,cost\n")
    with pytest.raises(StateError, match="not of this version's format"):
        results.runs(recipe)


def test_one_writer_a_folder(results: Results) -> None:
    with results.locked(), pytest.raises(StateError, match="in use by process"), Results(results.folder).locked():
        pass


def test_files_do_not_depend_on_the_order_of_the_runs(tmp_path: Path) -> None:
    two = read_recipe(
        write(tmp_path, RECIPE + '\n[[learner]]\nname = "other"\nuse = "sklearn.dummy.DummyClassifier"\n')
    )
    texts = []
    for name, order in (("one", [0, 1, 2, 3]), ("two", [3, 1, 0, 2])):
        results = Results(tmp_path / name)
        results.folder.mkdir()
        runs = [Run(learner, run, 0.0, {"cost": float(run)}) for run in range(2) for learner in ("tree", "other")]
        for k in order:
            results.append(two, "d", runs[k], CURVE)
        results.tidy(two)
        texts.append((results.path(two).read_text(), results.curve_path(two).read_text()))
    assert texts[0] == texts[1]
