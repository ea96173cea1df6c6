"""``python -m bench.quality.optional --folder F``: what each candidate that joins when asked for would bring.

Works on the files of ``measure --portfolio``, on the choosing half alone: the cost of each such candidate by itself and
of the portfolio's blend with it, over that of the portfolio's blend, and its CPU time over that of the whole portfolio.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from steelyard.comparison.registry import everyone, portfolio

from .variants import Table, blended, calibrated, ratio, read_tables

_OUT = Path(__file__).parent / "results" / "optional.txt"


def ratios(table: Table, core: list[str], name: str) -> tuple[float, float, float]:
    """Logarithms of the cost by itself and joined, and of the CPU time, each over the portfolio's blend."""
    members = {each: calibrated(table, each) for each in [*core, name]}
    base = table.cost(blended(table, {each: members[each] for each in core}))
    joined, alone = table.cost(blended(table, members)), table.cost(members[name][1])
    whole = sum(table.told[each][2] for each in core)
    return ratio(table, alone, base), ratio(table, joined, base), float(np.log(table.told[name][2] / whole))


def summary(found: list[Table]) -> str:
    """A line for each candidate: geometric means over the tables that it can learn from."""
    core = [candidate.name for candidate in portfolio()]
    lines = [f"{len(found)} tables of the choosing half: {', '.join(table.cut.name for table in found)}"]
    lines.append(f"{'':36s} {'alone':>16s} {'joined (s.e.)':>16s} {'CPU':>6s} tables")
    for candidate in everyone():
        name = candidate.name
        known = [table for table in found if name in table.told]
        if name in core or not known:
            continue
        each = np.array([ratios(table, [c for c in core if c in table.told], name) for table in known])
        error = each.std(axis=0, ddof=1) / np.sqrt(len(each)) if len(each) > 1 else np.full(3, np.nan)
        alone, joined, cpu = np.exp(each.mean(axis=0))
        shown = (f"{alone:.2f} ({error[0]:.2f})", f"{joined:.3f} ({error[1]:.3f})", f"{cpu:.2f}")
        lines.append(f"{name:36s} {shown[0]:>16s} {shown[1]:>16s} {shown[2]:>6s} {len(known)}")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, required=True)
    shown = summary(read_tables(parser.parse_args().folder))
    _OUT.write_text(shown + "\n")
    print(shown)


if __name__ == "__main__":
    main()
