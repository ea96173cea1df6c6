"""``python -m bench.quality.variants --folder F``: what is made of the same probabilities, on the choosing half alone.

Works on the files of ``measure``: calibration, blend, decision and promise are tried without fitting a learner again.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steelyard.comparison.choice import clearly_cheaper
from steelyard.comparison.data import ComparisonData
from steelyard.comparison.fold import Judged
from steelyard.decision import calibration
from steelyard.decision.blending import greedy_blend
from steelyard.decision.threshold import cheapest_threshold

from . import tables
from .measure import FOLDS, path_of, problem_of, settings

Floats = NDArray[np.float64]
_SHARE = 0.01  # of the cheapest constant's cost is added to both sides of a ratio


@dataclass(frozen=True)
class Table:
    """One table of the choosing half with what every setting says of it."""

    cut: tables.Cut
    data: ComparisonData
    fold: NDArray[np.intp]
    proba: dict[str, tuple[NDArray[np.float32], NDArray[np.float32], float]]  # out of fold, new rows, CPU seconds

    def cost(self, proba: Floats) -> float:
        """Mean cost of the decisions on the held-out rows."""
        costs = self.cut.costs if self.cut.decide_costs is None else self.cut.decide_costs
        codes = np.asarray(costs.expected(proba)).argmin(axis=1)
        return float(self.cut.new_costs[np.arange(len(codes)), codes].mean())

    @property
    def constant(self) -> float:
        """Mean cost of the cheapest constant answer."""
        return float(self.cut.new_costs.mean(axis=0).min())


def read_tables(folder: Path) -> list[Table]:
    """The tables on which at least half as many settings were measured as on any, with those measured on all."""
    every = {t: {c.name: path_of(folder, t, c.name) for c in settings()} for t in tables.names("choosing")}
    measured = {t: {name for name, path in paths.items() if path.exists()} for t, paths in every.items()}
    most = max(map(len, measured.values()))
    started = [t for t, names in measured.items() if names and 2 * len(names) >= most]
    common = set.intersection(*(measured[t] for t in started)) if started else set()
    found = []
    for name in started:
        paths = {setting: path for setting, path in every[name].items() if setting in common}
        cut, data = problem_of(name)
        proba = {}
        for setting, path in paths.items():
            with np.load(path) as file:
                if "why_not" not in file:
                    proba[setting] = (file["out_of_fold"], file["new"], float(file["cpu"]))
        found.append(Table(cut, data, Judged(data, len(data.codes), FOLDS).fold, proba))
    return found


def calibrate(table: Table, name: str) -> tuple[Floats, Floats]:
    """Out-of-fold probabilities calibrated across folds, and those of the new rows."""
    raw, new, _ = table.proba[name]
    codes = table.data.codes
    found = np.empty(raw.shape)
    for k in range(FOLDS):
        held = table.fold == k
        found[held] = calibration.fit_calibration(raw[~held], codes[~held]).apply(raw[held])
    return found, calibration.fit_calibration(raw, codes).apply(new)


def blended(table: Table, members: dict[str, tuple[Floats, Floats]]) -> Floats:
    """Probabilities of the greedy blend for the new rows."""
    at = np.arange(len(table.data.codes))
    weights = greedy_blend(np.column_stack([proba[at, table.data.codes] for proba, _ in members.values()]))
    return np.asarray(sum(w * new for w, (_, new) in zip(weights, members.values(), strict=True) if w > 0))


def ratio(table: Table, cost: float, other: float) -> float:
    """Logarithm of the cost ratio that the summary averages."""
    extra = _SHARE * table.constant
    return float(np.log((cost + extra) / (other + extra)))


def with_limit(limit: int) -> Callable[[Table, list[str]], float]:
    """The blend, with a sigmoid per class from so many rows of the rarest class on."""

    def cost(table: Table, names: list[str]) -> float:
        before = calibration.FEWEST_FOR_SIGMOID
        calibration.FEWEST_FOR_SIGMOID = limit
        try:
            return table.cost(blended(table, {name: calibrate(table, name) for name in names}))
        finally:
            calibration.FEWEST_FOR_SIGMOID = before

    return cost


def raw_blend(table: Table, names: list[str]) -> float:
    """The blend of what the learners say themselves."""
    proba: dict[str, Any] = {name: table.proba[name][:2] for name in names}
    return table.cost(blended(table, proba))


def best_single(table: Table, names: list[str]) -> float:
    """The single setting of least cost out of fold, calibrated."""
    costs = {}
    for name in names:
        proba, _ = calibrate(table, name)
        costs[name] = float(table.data.paid(table.data.decide(proba)).mean())
    return table.cost(calibrate(table, min(costs, key=lambda n: costs[n]))[1])


def _blend_out_of_fold(table: Table, names: list[str], draws: int = 0) -> tuple[Floats, Floats]:
    """The blend's probabilities out of fold and for new rows; weights are means over ``draws`` resamples, if any."""
    members = [calibrate(table, name) for name in names]
    codes = table.data.codes
    truth = np.column_stack([proba[np.arange(len(codes)), codes] for proba, _ in members])
    rng = np.random.default_rng(0)
    counts = [np.bincount(rng.integers(0, len(codes), len(codes)), minlength=len(codes)) for _ in range(draws)]
    weights = np.mean([greedy_blend(truth, count) for count in counts or [None]], axis=0)
    inside, outside = (
        np.asarray(sum(w * pair[which] for w, pair in zip(weights, members, strict=True) if w > 0)) for which in (0, 1)
    )
    return inside, outside


def bagged_blend(table: Table, names: list[str]) -> float:
    """Weights that are means over resamples of the rows, as in Caruana's bagged selection."""
    return table.cost(_blend_out_of_fold(table, names, draws=10)[1])


def _blend_or_single(table: Table, names: list[str], *, clearly: bool) -> float:
    inside, outside = _blend_out_of_fold(table, names)
    data = table.data
    blend = data.paid(data.decide(inside))
    paid = np.column_stack([data.paid(data.decide(calibrate(table, name)[0])) for name in names])
    best = clearly_cheaper(paid, blend) if clearly else int(paid.mean(axis=0).argmin())
    if best is None or paid[:, best].mean() >= blend.mean():
        return table.cost(outside)
    return table.cost(calibrate(table, names[best])[1])


def single_if_cheaper(table: Table, names: list[str]) -> float:
    """The best single wherever it is cheaper out of fold than the blend."""
    return _blend_or_single(table, names, clearly=False)


def single_if_clearly_cheaper(table: Table, names: list[str]) -> float:
    """The best single only where chance does not explain that it is cheaper: what `compare` does."""
    return _blend_or_single(table, names, clearly=True)


def tuned_threshold(table: Table, names: list[str]) -> float:
    """Two classes and no costs of each row: the blend answers by the threshold that cost least out of fold."""
    inside, outside = _blend_out_of_fold(table, names)
    if len(table.data.classes) > 2 or table.cut.decide_costs is not None:
        return table.cost(outside)
    positive = table.data.costs.positive_index()
    cut = cheapest_threshold(inside[:, positive], table.data.y, table.data.costs)
    codes = np.where(outside[:, positive] >= cut, positive, 1 - positive)
    return float(table.cut.new_costs[np.arange(len(codes)), codes].mean())


VARIANTS: dict[str, Callable[[Table, list[str]], float]] = {
    "sigmoid from 40 rows of the rarest class on": with_limit(40),
    "sigmoid always": with_limit(0),
    "sigmoid from 10 rows on": with_limit(10),
    "sigmoid from 20 rows on": with_limit(20),
    "sigmoid from 80 rows on": with_limit(80),
    "one temperature always": with_limit(1 << 30),
    "no calibration": raw_blend,
    "best single": best_single,
    "best single where it is cheaper out of fold": single_if_cheaper,
    "best single where it is clearly cheaper": single_if_clearly_cheaper,
    "weights are means over ten resamples": bagged_blend,
    "threshold tuned on cost (two classes)": tuned_threshold,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, required=True)
    found = read_tables(parser.parse_args().folder)
    base: list[float] = []
    for name, variant in VARIANTS.items():
        costs = [variant(table, list(table.proba)) for table in found]
        base = base or costs
        logs = [ratio(t, cost, other) for t, cost, other in zip(found, costs, base, strict=True)]
        error = np.std(logs, ddof=1) / np.sqrt(len(logs)) if len(logs) > 1 else np.nan
        each = " ".join(f"{np.exp(log):.2f}" for log in logs)
        print(f"{name:46s} {np.exp(np.mean(logs)):.3f} (s.e. {error:.3f})  {each}")


if __name__ == "__main__":
    main()
