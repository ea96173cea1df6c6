"""``python -m bench.quality.optional --folder F``: what each candidate that joins when asked for would bring.

Works on the files of ``measure --portfolio``, on the choosing half alone: the cost of each such candidate by itself and
of the portfolio's blend with it, over that of the portfolio's blend, and its CPU time over that of the whole portfolio.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np

from steelyard.comparison.registry import everyone, portfolio

from .variants import Table, blended, calibrate, ratio, read_tables

_OUT = Path(__file__).parent / "results" / "optional.txt"


def ratios(table: Table, core: list[str], members: dict[str, Any], name: str) -> tuple[float, float, float]:
    """Logarithms of the cost by itself and joined, and of the CPU time, each over the portfolio's blend."""
    inside = {each: members[each] for each in core}
    base, joined = (table.cost(blended(table, some)) for some in (inside, inside | {name: members[name]}))
    whole = sum(table.proba[each][2] for each in core)
    alone = table.cost(members[name][1])
    return ratio(table, alone, base), ratio(table, joined, base), float(np.log(table.proba[name][2] / whole))


def summary(found: list[Table]) -> str:
    """A line for each candidate: geometric means over the tables that it can learn from."""
    core = [candidate.name for candidate in portfolio()]
    each: dict[str, list[tuple[float, float, float]]] = {c.name: [] for c in everyone() if c.name not in core}
    for table in found:
        members = {name: calibrate(table, name) for name in table.proba}
        for name in each.keys() & members.keys():
            each[name].append(ratios(table, [c for c in core if c in members], members, name))
    lines = [f"{len(found)} tables of the choosing half: {', '.join(table.cut.name for table in found)}"]
    lines.append(f"{'':36s} {'alone (s.e.)':>16s} {'joined (s.e.)':>16s} {'CPU':>6s} tables")
    for name, logs in each.items():
        if logs:
            alone, joined, cpu = np.exp(np.mean(logs, axis=0))
            error = np.std(logs, axis=0, ddof=1) / np.sqrt(len(logs)) if len(logs) > 1 else np.full(3, np.nan)
            shown = (f"{alone:.2f} ({error[0]:.2f})", f"{joined:.3f} ({error[1]:.3f})", f"{cpu:.2f}")
            lines.append(f"{name:36s} {shown[0]:>16s} {shown[1]:>16s} {shown[2]:>6s} {len(logs)}")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, required=True)
    shown = summary(read_tables(parser.parse_args().folder))
    _OUT.write_text(shown + "\n")
    print(shown)


if __name__ == "__main__":
    main()
