"""The page of a paper: verdicts, tables and pictures of everything kept so far, in one HTML file.

Tested in ``tests/unit/reproduction/test_command.py``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from ..report import Report
from .claims import Verdict
from .recipe import Recipe
from .results import Results
from .tables import Line, write_rows

HOLDS = "The word before a claim is about this experiment: would more runs change the sign? A click shows why."
COLUMNS = ["learner", "measure", "ours", "+-", "runs", "printed", "+- printed", "difference", "equal"]

# Runs that all give one number, as where the costs are searched once, leave no standard error to count in but that of
# rounding.
MOST_ERRORS = 1e9


def cells(line: Line) -> list[str]:
    """A line as text: ours, its spread, runs, the printed pair, the gap in standard errors, and equality."""
    ours = [f"{line.mean:.4f}" if abs(line.mean) < 10 else f"{line.mean:.3f}", f"{line.std:.3f}", str(line.runs)]
    if line.printed is None:
        return [*ours, "", "", "", ""]
    spread = "" if line.printed.spread is None else f"{line.printed.spread:.{line.printed.decimals}f}"
    gap = f"{line.gap:+.1f} s.e." if abs(line.gap or 0.0) < MOST_ERRORS else f"{line.mean - line.printed.mean:+.4g}"
    return [*ours, f"{line.printed.mean:.{line.printed.decimals}f}", spread, gap, "yes" if line.equal else ""]


def write_page(
    paper: str,
    results: Results,
    found: Sequence[tuple[Recipe, Sequence[Line]]],
    verdicts: Sequence[Verdict],
    skipped: Mapping[str, str],
) -> Path:
    """Write ``index.html`` of a folder of results from what the recipes gave."""
    report = Report(
        f"Paper {paper}: ours beside the printed",
        subtitle="A difference is in standard errors of the difference between our mean and the paper's.",
        footer=f"Made by: steelyard reproduce {paper}",
    )
    holds = report.section("What holds", HOLDS)
    for v in verdicts:
        other = f"; on other samples: {v.elsewhere}" if v.elsewhere else ""
        holds.details(f"{v.item}: {v.claim}{other}", "\n".join(v.reasons), mark=v.word)
    for recipe, lines in found:
        section = report.section(recipe.claim)
        picture = results.path(recipe).with_suffix(".png")
        if picture.exists():
            section.figure(picture.read_bytes(), alt=recipe.claim)
        section.table([[line.learner, line.measure, *cells(line)] for line in lines], columns=COLUMNS)
    if skipped:
        rows = [{"recipe": name, "why": why} for name, why in skipped.items()]
        report.section("Not run here").table(rows)
    return report.write(results.folder / "index.html")


COMPARED = ["item", "claim", "where", "what", "difference", "low", "high", "spreads", "percent", "p", "runs"]


def write_verdicts(results: Results, verdicts: Sequence[Verdict]) -> None:
    """Write ``verdicts.csv``, one line a claim, and ``comparisons.csv``, one line for each of its comparisons."""
    rows = [[v.item, v.claim, v.word, v.elsewhere, v.reason, v.left] for v in verdicts]
    columns = ["item", "claim", "verdict", "on other samples", "because", "to decide it"]
    write_rows(results.folder / "verdicts.csv", columns, rows)
    compared = [[v.item, v.claim, *row] for v in verdicts for row in (*_pair_rows(v), *_bounded_rows(v))]
    write_rows(results.folder / "comparisons.csv", [*COMPARED, "other_low", "other_high"], compared)


def _pair_rows(verdict: Verdict) -> Iterator[list[object]]:
    for pair in verdict.pairs:
        if pair.found is not None:
            found, test, other = pair.found, pair.found.paired, pair.found.corrected
            numbers = (found.difference, test.low, test.high, found.effect, found.percent, test.p_better)
            ends = ["", ""] if other is None else [f"{other.low:.6g}", f"{other.high:.6g}"]
            what = f"{pair.better} - {pair.worse}"
            yield [pair.where, what, *(f"{v:.6g}" for v in numbers), found.n, *ends]


def _bounded_rows(verdict: Verdict) -> Iterator[list[object]]:
    for each in verdict.bounded:
        ends = [f"{v:.6g}" for v in (each.mean, each.low, each.high)]
        yield [each.label, verdict.kind, *ends, "", "", "", each.runs, "", ""]
