"""``python -m bench.quality.portfolio --folder F [--size 18] [--write]``: the settings that `compare` tries, in order.

Greedy: each step adds the setting of the long list with which the blend of all so far has the least log loss on the
held-out rows of the choosing half, as a share of the log loss of the class shares, averaged over tables. Log loss, not
cost, decides, since a few hundred held-out rows tell it far more exactly. ``--write`` replaces the settings in
``portfolio.toml``; settings of kinds that were not measured stay, after the others.
"""

from __future__ import annotations

import argparse
import tomllib
from pathlib import Path
from typing import Any

import numpy as np

import steelyard.comparison
from steelyard.decision.blending import greedy_blend
from steelyard.decision.calibration import LEAST

from .measure import SETTINGS
from .variants import Floats, Table, calibrate, read_tables

PORTFOLIO = Path(steelyard.comparison.__file__).parent / "portfolio.toml"
_STEPS = 12
_LEAST_GAIN = 0.0003  # of the share of log loss that a further setting must bring


class Objective:
    """What each setting tells of the truth on one table: out of fold, and on held-out rows."""

    def __init__(self, table: Table) -> None:
        self.name = table.cut.name
        codes, new = table.data.codes, table.cut.new_y
        self.inside: dict[str, Floats] = {}
        self.outside: dict[str, Floats] = {}
        for name in table.proba:
            proba, proba_new = calibrate(table, name)
            self.inside[name] = proba[np.arange(len(codes)), codes]
            self.outside[name] = proba_new[np.arange(len(new)), new]
        shares = np.bincount(codes) / len(codes)
        self.prior = float(-np.log(shares[new]).mean())

    def loss(self, names: list[str]) -> float:
        """Log loss of the blend on held-out rows, as a share of what the class shares alone would have."""
        able = [name for name in names if name in self.inside]
        if not able:
            return 1.0
        weights = greedy_blend(np.column_stack([self.inside[name] for name in able]), steps=_STEPS)
        mean = np.column_stack([self.outside[name] for name in able]) @ weights
        return float(-np.log(np.maximum(mean, LEAST)).mean()) / self.prior


def build(objectives: list[Objective], names: list[str], size: int) -> list[str]:
    """The settings in the order in which they help."""
    chosen: list[str] = []
    before = np.inf
    while len(chosen) < size:
        left = [name for name in names if name not in chosen]
        means = {name: float(np.mean([objective.loss([*chosen, name]) for objective in objectives])) for name in left}
        best = min(left, key=lambda name: (means[name], names.index(name)))
        if means[best] > before - _LEAST_GAIN:
            break
        before = means[best]
        chosen.append(best)
        print(f"{len(chosen):3d} {means[best]:.4f} {best}", flush=True)
    return chosen


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return f'"{value}"' if isinstance(value, str) else repr(value)


def entry(head: str, setting: dict[str, Any]) -> str:
    """One setting as TOML."""
    weighted = "weighted = true\n" if setting.get("weighted") else ""
    params = ", ".join(f"{name} = {_value(value)}" for name, value in setting["params"].items())
    inner = f" {params} " if params else ""
    return f'[[{head}]]\nname = "{setting["name"]}"\nkind = "{setting["kind"]}"\n{weighted}params = {{{inner}}}\n'


def written(chosen: list[str], measured: set[str]) -> str:
    """The portfolio file: the chosen settings in their order, those that always stay, then kinds not measured.

    Kinds that were measured and have no setting among these become optional.
    """
    listed = {s["name"]: s for s in tomllib.loads(SETTINGS.read_text())["setting"]}
    before = tomllib.loads(PORTFOLIO.read_text())
    chosen = [*chosen, *(n for n, s in listed.items() if s.get("always") and n not in chosen)]
    last = [s for s in before["setting"] if s["kind"] not in measured]
    known = {s["kind"] for s in (listed[name] for name in chosen)} | {s["kind"] for s in last}
    rest = [s for s in before["optional"] if s["name"] not in chosen]
    rest += [s for s in before["setting"] if s["name"] not in chosen and s["kind"] not in known]
    head = (
        "# The settings that `compare` tries, in this order, found by bench/quality/portfolio.py on the choosing half\n"
        "# of its suite. Kinds are described in baselines.py and learners.py.\n\n"
    )
    names = "".join(f'    "{name}",\n' for name in before["expensive"])
    head += (
        "# With many classes and rows these come first, strongest for their CPU time there; chosen on the suite's "
        f"expensive tables.\nexpensive = [\n{names}]\n\n"
    )
    middle = "\n# Those that join when asked for, `--candidates +NAME`.\n\n"
    return (
        head
        + "\n".join(entry("setting", s) for s in [*(listed[n] for n in chosen), *last])
        + middle
        + "\n".join(entry("optional", s) for s in rest)
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--size", type=int, default=18)
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    objectives = [Objective(table) for table in read_tables(given.folder)]
    print(f"{len(objectives)} tables: {', '.join(objective.name for objective in objectives)}")
    before = [s["name"] for s in tomllib.loads(PORTFOLIO.read_text())["setting"]]
    print(f"portfolio as it stands: {np.mean([objective.loss(before) for objective in objectives]):.4f}")
    listed = tomllib.loads(SETTINGS.read_text())["setting"]
    names = [s["name"] for s in listed if any(s["name"] in objective.inside for objective in objectives)]
    chosen = build(objectives, names, given.size)
    print(f"built: {np.mean([objective.loss(chosen) for objective in objectives]):.4f}")
    measured = {s["kind"] for s in listed if s["name"] in names}
    if given.write:
        PORTFOLIO.write_text(written(chosen, measured))


if __name__ == "__main__":
    main()
