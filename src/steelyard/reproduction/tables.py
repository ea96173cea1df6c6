"""Ours beside the printed: means with standard errors, differences, and a line per printed number."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from scipy.stats import ttest_1samp

from ..files import write_atomically
from .recipe import Recipe
from .results import Run


@dataclass(frozen=True)
class Printed:
    """A number of a paper: mean, its +- where given, what kind of spread that is, and over how many runs."""

    item: str
    data: str
    learner: str
    measure: str
    mean: float
    spread: float | None
    spread_kind: str
    runs: int | None
    decimals: int

    @property
    def standard_error(self) -> float:
        """Standard error of the printed mean, as far as the paper lets us know it."""
        if self.spread is None:
            return 0.0
        return self.spread if self.spread_kind == "se" else self.spread / math.sqrt(self.runs or 1)


_TRAIN = {"Holdout": 0.75, "Sweep": 0.5, "ChosenOnce": 0.5, "SearchedCosts": 0.8}  # share of rows unless a recipe says


@dataclass(frozen=True)
class Design:
    """How the runs of a recipe are related: ``split`` of one data set, ``generated`` anew, or the ``same`` rows."""

    kind: str = "same"
    train: float = 0.0
    drawn_costs: bool = False

    @classmethod
    def of(cls, recipe: Recipe) -> Design:
        """Read the design off a recipe."""
        use = str(recipe.protocol.get("use"))
        drawn = recipe.costs is not None and str(recipe.costs.get("use", "")).endswith("RandomCosts")
        if recipe.data.get("generated"):
            return cls("generated", drawn_costs=drawn)
        if use in _TRAIN:
            return cls("split", float(recipe.protocol.get("train", _TRAIN[use])), drawn)
        return cls(drawn_costs=drawn)


@dataclass(frozen=True)
class Source:
    """Where the values of a line come from: recipe, learner, and how many runs of it the recipe declares.

    An average over data sets comes from several of them, its ``parts``.
    """

    recipe: str = ""
    learner: str = ""
    declared: int | None = None
    parts: tuple[Source, ...] = ()


@dataclass(frozen=True)
class Line:
    """One cell of a table: our mean over runs and, where the paper has one, its number."""

    item: str
    data: str
    learner: str
    measure: str
    mean: float
    std: float
    runs: int
    printed: Printed | None
    values: Mapping[int, float] = field(default_factory=dict, repr=False)
    design: Design = Design()
    source: Source = Source()

    def first(self, runs: int | None) -> Line:
        """Return the line of the first ``runs`` runs alone."""
        some = {r: v for r, v in self.values.items() if runs is None or r < runs}
        if not some or len(some) == len(self.values):
            return self
        mean, std = mean_and_std(list(some.values()))
        return replace(self, mean=mean, std=std, runs=len(some), values=some)

    @property
    def standard_error(self) -> float:
        """Standard error of our mean."""
        return self.std / math.sqrt(self.runs)

    @property
    def gap(self) -> float | None:
        """Difference to the printed mean in standard errors of the difference; None where nothing is printed."""
        if self.printed is None:
            return None
        # A paper without +- had much the same spread over its fewer runs as we have.
        theirs = self.printed.standard_error or self.std / math.sqrt(self.printed.runs or 1)
        spread = math.hypot(self.standard_error, theirs)
        difference = self.mean - self.printed.mean
        if spread == 0:
            return 0.0 if self.equal else math.copysign(math.inf, difference)
        return difference / spread

    @property
    def equal(self) -> bool:
        """Whether our mean, and our spread where one is printed, round to the printed digits."""
        if self.printed is None:
            return False
        pairs = [(self.mean, self.printed.mean)]
        if self.printed.spread is not None:
            ours = self.std if self.printed.spread_kind == "std" else self.standard_error
            pairs.append((ours, self.printed.spread))
        return all(abs(a - b) <= 0.5000001 * 10**-self.printed.decimals for a, b in pairs)


def read_printed(folder: Path) -> list[Printed]:
    """The numbers a paper prints, from its folder's ``printed.csv``."""
    path = folder / "printed.csv"
    if not path.exists():
        return []
    with path.open(newline="") as file:
        return [
            Printed(
                row["item"],
                row["data"],
                row["learner"],
                row["measure"],
                float(row["mean"]),
                float(row["spread"]) if row["spread"] else None,
                row["spread_kind"],
                int(row["runs"]) if row["runs"] else None,
                len(row["mean"].partition(".")[2]),
            )
            for row in csv.DictReader(file)
        ]


def lines_of(recipe: Recipe, runs: Sequence[Run]) -> list[Line]:
    """Mean and standard deviation of every measure of every learner, joined with what the paper prints."""
    data = recipe.data_name
    printed = {(p.item, p.data, p.learner, p.measure): p for p in read_printed(recipe.path.parent)}
    lines = []
    for learner in dict.fromkeys(run.learner for run in runs):
        mine = [run for run in runs if run.learner == learner]
        for measure in mine[0].values:
            by_run = {run.run: run.values[measure] for run in mine if not math.isnan(run.values[measure])}
            values = list(by_run.values())
            mean, std = mean_and_std(values)
            key = (recipe.item_of(measure), data, learner, measure)
            lines.append(Line(*key, mean, std, len(values), printed.get(key), by_run, Design.of(recipe)))
    return lines + paired_lines(recipe, runs, printed)


def mean_and_std(values: Sequence[float]) -> tuple[float, float]:
    """Mean and standard deviation of a cell's values, summed exactly."""
    mean = math.fsum(values) / len(values)
    return mean, math.sqrt(math.fsum((v - mean) ** 2 for v in values) / max(len(values) - 1, 1))


def paired_lines(
    recipe: Recipe, runs: Sequence[Run], printed: Mapping[tuple[str, str, str, str], Printed]
) -> list[Line]:
    """A table of verdicts: 1 where the reference learner is significantly better, -1 worse, 0 otherwise.

    The one-tailed paired t-test over runs, as in paper 002, Table 1; a lower value is better. It takes as many runs as
    the paper's had, the first of ours: over more of them ever smaller differences are significant.
    """
    if recipe.paired is None:
        return []
    measure, level = str(recipe.paired["measure"]), float(recipe.paired["level"])
    by_learner: dict[str, dict[int, float]] = {}
    for run in runs:
        by_learner.setdefault(run.learner, {})[run.run] = run.values[measure]
    reference = by_learner.pop(str(recipe.paired["reference"]), {})
    lines = []
    for learner, values in by_learner.items():
        key = (str(recipe.paired["item"]), recipe.data_name, learner, "reference better")
        theirs = printed.get(key)
        both = sorted(set(values) & set(reference))[: None if theirs is None else theirs.runs]
        if len(both) < 2:
            continue
        differences = np.array([values[r] - reference[r] for r in both])
        by_run = {r: values[r] - reference[r] for r in sorted(set(values) & set(reference))}
        word = 0.0
        if differences.std() > 0:
            better, worse = (ttest_1samp(differences, 0, alternative=side).pvalue for side in ("greater", "less"))
            word = 1.0 if better < level else -1.0 if worse < level else 0.0
        lines.append(Line(*key, word, 0.0, len(both), theirs, by_run, Design.of(recipe)))
    return lines


def write_summary(results: Path, lines: Sequence[Line]) -> None:
    """Write ``summary.csv`` of a folder of results: one line a cell, of all that the folder holds."""
    header = ["item", "data", "learner", "measure", "ours", "std", "runs", "printed", "printed_spread", "gap", "equal"]
    kept: dict[tuple[str, ...], list[str]] = {}
    for line in lines:
        key = (line.item, line.data, line.learner, line.measure)
        shown = [f"{line.mean:.9g}", f"{line.std:.4g}", str(line.runs)]
        if line.printed is not None:
            spread = "" if line.printed.spread is None else f"{line.printed.spread:g}"
            shown += [f"{line.printed.mean:g}", spread, f"{line.gap:.2f}", "yes" if line.equal else "no"]
        else:
            shown += ["", "", "", ""]
        kept[key] = [*key, *shown]
    write_rows(results / "summary.csv", header, [kept[key] for key in sorted(kept)])


def write_rows(path: Path, header: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Write a small CSV file, whole or not at all."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)
    with write_atomically(path) as file:
        file.write(text.getvalue().encode())


def read_summary(folder: Path) -> list[dict[str, str]]:
    """Read the committed ``results/summary.csv`` of a paper's folder."""
    path = folder / "results" / "summary.csv"
    if not path.exists():
        return []
    with path.open(newline="") as file:
        return list(csv.DictReader(file))
