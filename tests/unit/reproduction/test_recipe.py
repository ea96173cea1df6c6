from pathlib import Path

import pytest

from steelyard import Balanced, Costs, InvalidInputError
from steelyard.reproduction.recipe import build, find_recipes, named, read_recipe

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


@pytest.mark.parametrize("name", ["os.system", "sklearn._private.thing", "NoSuchThing", "sklearn.svm.NoSuchThing"])
def test_only_public_names_of_known_libraries(name: str) -> None:
    with pytest.raises(InvalidInputError, match="use must name something public"):
        named(name)


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
    with pytest.raises(InvalidInputError, match="no recipe for Table 3"):
        find_recipes("000", item="Table 3")
    with pytest.raises(InvalidInputError, match="paper must be one of 000"):
        find_recipes("007")
