"""Numbers in papers/*/README.md, from results, never typed: ``python docs/site_pages/paper_numbers.py`` writes them.

A mark names where its number comes from: ``<!-- = recipe; learner; measure; mean .1f -->84.7<!-- -->``. Its kinds are
``mean``, ``error`` (standard error of the mean), ``std``, ``runs`` and ``seconds`` of a recipe's learner, and
``printed`` and ``spread`` of ``item; data; learner; measure``; ``verdict`` and ``joint p`` of ``claim; first words``.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

from steelyard.reproduction.recipe import read_recipe
from steelyard.reproduction.results import Results, Run
from steelyard.reproduction.tables import Printed, mean_and_std, read_printed

ROOT = Path(__file__).resolve().parents[2]
MARK = re.compile(r"<!-- = (?P<key>.*?) -->(?P<shown>.*?)<!-- -->", re.DOTALL)

# Numbers that are no results: of tables, figures, equations, sections and papers, and everything written as code.
NAMED = re.compile(
    r"(Tables?|Figures?|[Ee]quations?|eq\.|[Ss]ections?|Algorithms?|[Pp]apers?|Theorems?|Lemma)\s+\(?\d[\d(),. and]*"
)


def with_numbers(text: str, folder: Path) -> str:
    """A README's text with its marks filled in from the folder's results."""
    return MARK.sub(lambda found: f"<!-- = {found['key']} -->{number(folder, found['key'])}<!-- -->", text)


def typed_numbers(text: str) -> list[str]:
    """Find numbers that stand outside marks, code and names of tables; the heading and the citation may have some."""
    lines = [line for line in text.splitlines() if not line.startswith("#") and "Run with `" not in line]
    rest = MARK.sub("", "\n".join(lines))
    rest = re.sub(r"```.*?```|`[^`]*`|\]\([^)]*\)", "", rest, flags=re.DOTALL)
    return re.findall(r"(?<![A-Za-z\d])[+-]?\.?\d\S*", NAMED.sub("", rest))


def number(folder: Path, key: str) -> str:
    """The number that a mark asks for, as text."""
    *place, kind = (part.strip() for part in key.split(";"))
    name, _, style = kind.rpartition(" ") if re.search(r" \S*[fgde%]$", kind) else (kind, "", "")
    if name in ("verdict", "joint p"):
        return _of_claim(folder, place[1], name)
    if name in ("printed", "spread"):
        found = next(p for p in _printed(folder) if [p.item, p.data, p.learner, p.measure] == place)
        return _styled(found.mean if name == "printed" else found.spread or 0.0, style or f".{found.decimals}f")
    recipe, learner, measure = place if len(place) == 3 else (*place, "")
    runs = [run for run in _runs(folder / f"{recipe}.toml") if run.learner == learner]
    return _styled(KINDS[name](runs, measure), style or ".3g")


def _styled(value: float, style: str) -> str:
    return f"{value:{style}}"


def _error(runs: list[Run], measure: str) -> float:
    return float(mean_and_std([run.values[measure] for run in runs])[1] / len(runs) ** 0.5)


KINDS: dict[str, Callable[[list[Run], str], float]] = {
    "mean": lambda runs, measure: mean_and_std([run.values[measure] for run in runs])[0],
    "std": lambda runs, measure: mean_and_std([run.values[measure] for run in runs])[1],
    "error": _error,
    "runs": lambda runs, measure: len(runs),
    "seconds": lambda runs, measure: mean_and_std([run.seconds for run in runs])[0],
}


@lru_cache
def _runs(path: Path) -> list[Run]:
    recipe = read_recipe(path)
    return Results.committed(recipe).runs(recipe)


@lru_cache
def _printed(folder: Path) -> list[Printed]:
    return read_printed(folder)


def _of_claim(folder: Path, words: str, kind: str) -> str:
    with (folder / "results" / "verdicts.csv").open(newline="", encoding="utf-8") as file:
        (row,) = (row for row in csv.DictReader(file) if row["claim"].startswith(words))
    if kind == "verdict":
        return row["verdict"]
    found = re.search(r"joint p = (\S+)", row["because"])
    assert found is not None, row["because"]
    return found[1]


if __name__ == "__main__":
    for readme in sorted((ROOT / "papers").glob("*/README.md")):
        readme.write_text(with_numbers(readme.read_text(encoding="utf-8"), readme.parent), encoding="utf-8")
