import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from steelyard import Balanced, Costs, InvalidInputError
from steelyard.reproduction.names import named
from steelyard.reproduction.recipe import build, find_recipes, papers_folder, read_recipe

RECIPE = """
paper = "000"
item = "Table 9"
claim = "Table 9 on german"
data = { name = "german" }
protocol = { use = "Holdout", runs = 2, train = 0.5 }
costs = { use = "Balanced", eta_pos = 0.25 }
measure = ["mean_cost", { use = "sklearn.metrics.zero_one_loss", name = "error", scale = 100, item = "Table 10" }]

[[learner]]
name = "tree"
use = "sklearn.tree.DecisionTreeClassifier"
max_depth = 3
"""


def write(folder: Path, text: str, name: str = "table9-german.toml") -> Path:
    path = folder / name
    path.write_text(text)
    return path


def test_build_makes_objects_inside_out() -> None:
    made = build({"use": "sklearn.pipeline.Pipeline", "steps": [["a", {"use": "sklearn.preprocessing.Normalizer"}]]})
    assert type(made.steps[0][1]).__name__ == "Normalizer"
    assert build({"use": "Balanced", "eta_pos": 0.25}) == Balanced(0.25)
    pair = build({"use": "Costs.binary", "fn": 3, "fp": 1})
    assert isinstance(pair, Costs)
    assert pair.ratio() == 3.0


@pytest.mark.parametrize(
    "name",
    [
        "os.system",
        "sklearn._private.thing",
        "NoSuchThing",
        "sklearn.svm.NoSuchThing",
        "sklearn.datasets.clear_data_home",
        "sklearn.datasets.fetch_openml",
        "sklearn.utils.discovery.import_module",
        "sklearn.utils._testing.check_output",
        "sklearn.utils.all_estimators",
        "sklearn.metrics.warnings",
        "sklearn.metrics.get_scorer_names",
        "sklearn.base.BaseEstimator.__init_subclass__",
        "sklearn.svm",
        "sklearn..svm.SVC",
        "sklearn.externals.joblib.load",
        "imblearn.datasets.fetch_datasets",
        "steelyard.reproduction.runs.subprocess",
        "steelyard.reproduction.protocols.importlib",
        "steelyard.cli.main",
        "steelyard.models.storage.load_model",
        "Costs.from_file",
        "Costs.__init__",
        "Costs.regret",
        "read_csv",
        "fetch_dataset",
        "load_dataset",
        "load_model",
        "compare",
        "SteelyardError",
        "",
        ".",
    ],
)
def test_only_what_recipes_are_made_of_is_found(name: str) -> None:
    with pytest.raises(InvalidInputError, match="use must name something"):
        named(name)


def test_a_recipe_deletes_and_runs_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "home"
    folder.mkdir()
    (tmp_path / "payload.py").write_text("raise SystemExit")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    for spec in (
        {"use": "sklearn.datasets.clear_data_home", "data_home": str(folder)},
        {"use": "sklearn.utils.discovery.import_module", "name": "payload"},
        {"use": "payload.thing"},
        {"use": "sklearn.pipeline.Pipeline", "steps": [["a", "passthrough"]], "memory": str(folder)},
    ):
        with pytest.raises(InvalidInputError):
            build(spec)
    assert folder.is_dir()
    assert "payload" not in sys.modules


def test_every_name_in_the_recipes_of_the_papers_is_found() -> None:
    def used(part: Any) -> Iterator[str]:
        if isinstance(part, Mapping):
            yield from (str(value) for key, value in part.items() if key == "use")
            yield from (name for value in part.values() for name in used(value))
        elif isinstance(part, (list, tuple)):
            yield from (name for value in part for name in used(value))

    names = set()
    for path in papers_folder().glob("*/*.toml"):
        if path.name != "claims.toml":
            recipe = read_recipe(path)
            names |= set(used([recipe.learners, recipe.prepare, recipe.measures, recipe.costs]))
    assert len(names) > 40
    for name in names:
        assert callable(named(name))


def test_the_current_directory_is_not_searched_for_recipes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mine = tmp_path / "papers" / "000-mine"
    mine.mkdir(parents=True)
    write(mine, RECIPE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("STEELYARD_PAPERS", raising=False)
    assert papers_folder().resolve() != (tmp_path / "papers").resolve()
    monkeypatch.setenv("STEELYARD_PAPERS", "papers")
    assert papers_folder() == Path("papers")
    monkeypatch.setenv("STEELYARD_PAPERS", str(tmp_path / "nowhere"))
    with pytest.raises(InvalidInputError, match="must hold the recipes"):
        papers_folder()


def test_wrong_parameters_are_named() -> None:
    with pytest.raises(InvalidInputError, match="Balanced cannot be built"):
        build({"use": "Balanced", "eta": 1})


def test_recipe_knows_every_table_it_speaks_to(tmp_path: Path) -> None:
    recipe = read_recipe(write(tmp_path, RECIPE))
    assert recipe.items == ("Table 9", "Table 10")
    assert recipe.item_of("error") == "Table 10"
    assert recipe.item_of("mean_cost") == "Table 9"


def test_digest_changes_with_the_numbers_only(tmp_path: Path) -> None:
    digest = read_recipe(write(tmp_path, RECIPE)).digest
    assert read_recipe(write(tmp_path, RECIPE.replace("Table 9 on german", "other words"))).digest == digest
    assert read_recipe(write(tmp_path, RECIPE.replace("0.25", "0.5"))).digest != digest
    assert read_recipe(write(tmp_path, RECIPE.replace("runs = 2", "runs = 20"))).digest == digest
    moved = RECIPE.replace("sklearn.tree.DecisionTreeClassifier", "sklearn.elsewhere.DecisionTreeClassifier")
    assert read_recipe(write(tmp_path, moved)).digest == digest


def test_missing_and_unknown_keys_are_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="must state claim"):
        read_recipe(write(tmp_path, RECIPE.replace('claim = "Table 9 on german"', "")))
    with pytest.raises(InvalidInputError, match="states colour"):
        read_recipe(write(tmp_path, 'colour = "red"\n' + RECIPE))
    with pytest.raises(InvalidInputError, match="is not TOML"):
        read_recipe(write(tmp_path, "= 3"))


def test_find_recipes_by_item_and_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "000-toy"
    folder.mkdir()
    write(folder, RECIPE)
    monkeypatch.setenv("STEELYARD_PAPERS", str(tmp_path))
    assert [r.name for r in find_recipes("000", item="Table 10", data="german")] == ["table9-german"]
    write(folder, RECIPE.replace("Table 9", "Table II (sum)"), "table2-sum.toml")
    assert [r.name for r in find_recipes("000", item="Table II")] == ["table2-sum"]
    with pytest.raises(InvalidInputError, match="no recipe for Table 3"):
        find_recipes("000", item="Table 3")
    with pytest.raises(InvalidInputError, match="paper must be one of 000"):
        find_recipes("007")
