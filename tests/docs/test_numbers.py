"""Numbers in README come from results; every table and figure has a recipe, a verdict, and a result or a reason."""

import csv
import re
import tomllib
from pathlib import Path

import pytest
from site_pages import paper_numbers
from site_pages.readme_numbers import with_numbers

from steelyard.reproduction.claims import read_claims
from steelyard.reproduction.recipe import Recipe, find_recipes
from steelyard.reproduction.results import Results
from steelyard.reproduction.runs import full_runs, protocol_of
from steelyard.reproduction.tables import read_summary

ROOT = Path(__file__).parents[2]
LISTED = {
    "000": ["Table II (sum)", "Table II (cost)"],
    "001": [f"Figure {n}" for n in range(2, 7)],
    "002": ["Table 1", "Table 2", "Table 3", "Figure 2"],
    "003": [f"Table {n}" for n in range(3, 14)],
    "004": ["Table 2", "Table 3", "Table 4", "Table 5", "Figure 3", "Figure 4"],
}
RECIPES = [recipe for paper in LISTED for recipe in find_recipes(paper)]


def test_readme_shows_the_kept_results() -> None:
    text = (ROOT / "README.md").read_text()
    assert with_numbers(text, ROOT) == text, "run: python docs/site_pages/readme_numbers.py"


@pytest.mark.parametrize("readme", sorted((ROOT / "papers").glob("*/README.md")), ids=lambda path: path.parent.name)
def test_every_number_in_a_papers_readme_comes_from_its_results(readme: Path) -> None:
    text = readme.read_text(encoding="utf-8")
    assert paper_numbers.with_numbers(text, readme.parent) == text, "run: python docs/site_pages/paper_numbers.py"
    assert paper_numbers.typed_numbers(text) == [], "mark a result, write a setting as code"


@pytest.mark.parametrize("readme", sorted((ROOT / "papers").glob("*/README.md")), ids=lambda path: path.parent.name)
def test_the_code_that_a_papers_readme_names_is_there(readme: Path) -> None:
    named = re.findall(r"`((?:src|native|examples|tests)/[^`]*)`", readme.read_text(encoding="utf-8"))
    assert named
    assert [path for path in named if not list(ROOT.glob(path))] == []


def test_typed_numbers_are_found() -> None:
    mark = "<!-- = a; b; c; mean .1f -->84.7<!-- -->"
    assert paper_numbers.typed_numbers(f"## 5\nTable 2 and equations (22) and (23): {mark} on w8a with `B = 5`") == []
    assert paper_numbers.typed_numbers("it costs 84.7, or .9 +- .1, on 3 sets") == ["84.7,", ".9", ".1,", "3"]


@pytest.mark.parametrize("paper", LISTED)
def test_every_table_and_figure_has_a_recipe_and_a_verdict(paper: str) -> None:
    recipes = find_recipes(paper)
    assert set(LISTED[paper]) <= {item for recipe in recipes for item in recipe.items}
    with (recipes[0].path.parent / "results" / "verdicts.csv").open(newline="") as file:
        judged = [(row["item"], row["claim"]) for row in csv.DictReader(file)]
    assert judged == [(c["item"], c["claim"]) for c in read_claims(recipes[0].path.parent)]


@pytest.mark.parametrize("paper", LISTED)
def test_every_table_and_figure_has_results_or_a_reason(paper: str) -> None:
    for item in LISTED[paper]:
        recipes = find_recipes(paper, item=item)
        assert any(Results.committed(r).runs(r) for r in recipes) or all(r.skip for r in recipes), item


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda r: f"{r.paper}-{r.name}")
def test_a_recipe_can_be_built_and_its_kept_results_are_its_own(recipe: Recipe) -> None:
    if recipe.skip is not None:
        return
    assert protocol_of(recipe).runs >= 1
    results, notes = Results.committed(recipe), list[str]()
    if results.path(recipe).exists():
        assert results.runs(recipe, notes=notes), "the kept results belong to another recipe: run it again"
        assert notes == []
        cells = {(row["item"], row["data"]) for row in read_summary(recipe.path.parent)}
        assert {(item, recipe.data_name) for item in recipe.items} <= cells


@pytest.mark.parametrize(
    "recipe", [r for r in RECIPES if r.paper in ("000", "001")], ids=lambda r: f"{r.paper}-{r.name}"
)
def test_the_stream_papers_are_kept_with_all_their_runs(recipe: Recipe) -> None:
    if recipe.skip is not None:
        return
    wanted = {(name, run) for name, runs in full_runs(recipe).items() for run in range(runs)}
    assert {(run.learner, run.run) for run in Results.committed(recipe).runs(recipe)} >= wanted  # --decide adds some


def test_no_cell_is_told_twice() -> None:
    """Two recipes that write the same line of a summary would hide one another."""
    told: dict[tuple[str, ...], str] = {}
    for recipe in RECIPES:
        for measure in {str(m.get("name", m["use"])) for m in recipe.measures}:
            for learner in {str(spec["name"]) for spec in recipe.learners}:
                cell = (recipe.paper, recipe.item_of(measure), recipe.data_name, learner, measure)
                assert told.setdefault(cell, recipe.name) == recipe.name, cell


def test_recorded_checks_are_of_the_recipes_as_they_are() -> None:
    digests = {(recipe.paper, recipe.name): recipe.digest for recipe in RECIPES}
    recorded = tomllib.loads((ROOT / "papers" / "CHECKED.toml").read_text(encoding="utf-8"))
    found = {(paper, name): entry["recipe"] for paper, entries in recorded.items() for name, entry in entries.items()}
    assert found.items() <= digests.items(), "run: steelyard reproduce all --check --keep"
