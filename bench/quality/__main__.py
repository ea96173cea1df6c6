"""``python -m bench.quality --half choosing|reporting [--seconds 60] [--seeds 3] [--tables A,B] [--out FILE]``.

Every pair of table and seed and method is one line of the output file; a run that was ended goes on where it was, and
``--portion`` ends it after so many seconds. The summary is printed at the end, or with ``--summary`` alone. Run the
reporting half once per landed change. Seconds are CPU seconds of one core, for every method.
"""

from __future__ import annotations

import argparse
import json
import resource
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from . import tables
from .peers import METHODS
from .summary import read_lines, summary


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--half", choices=("choosing", "reporting"), required=True)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--tables", default="")
    parser.add_argument("--methods", default=",".join(METHODS))
    parser.add_argument("--out", type=Path, default=None)
    parser.add_argument("--portion", type=float, default=float("inf"), help="start nothing after so many seconds")
    parser.add_argument("--summary", action="store_true")
    given = parser.parse_args()
    out = given.out or Path(__file__).parent / "results" / f"{given.half}-{given.seconds:g}s.jsonl"
    out.parent.mkdir(parents=True, exist_ok=True)
    if not given.summary:
        wanted = given.tables.split(",") if given.tables else tables.names(given.half)
        _run(wanted, given.methods.split(","), given.seconds, given.seeds, out, time.monotonic() + given.portion)
    shown = summary(read_lines(out))
    out.with_suffix(".txt").write_text(shown + "\n")
    print(shown)


def _run(wanted: list[str], methods: list[str], seconds: float, seeds: int, out: Path, until: float) -> None:
    done = {(line["table"], line["seed"], line["method"]) for line in read_lines(out)}
    for seed in range(seeds):
        for table in wanted:
            todo = [m for m in methods if (table, seed, m) not in done]
            if not todo:
                continue
            cut = tables.cut(table, seed)
            for method in todo:
                if time.monotonic() > until:
                    return
                line = _one(cut, method, seconds, seed)
                with out.open("a") as file:
                    file.write(json.dumps(line) + "\n")
                print(f"{table:28s} {seed} {method:10s} {line.get('cost')} {line['cpu']:.1f} s", flush=True)


def _one(cut: tables.Cut, method: str, seconds: float, seed: int) -> dict[str, Any]:
    start = time.process_time()
    line: dict[str, Any] = {"table": cut.name, "seed": seed, "method": method, "seconds": seconds}
    constant = float(cut.new_costs.mean(axis=0).min())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            found = METHODS[method](cut, seconds, seed)
        except Exception as error:
            return line | {"failed": f"{type(error).__name__}: {error}"[:200], "cpu": time.process_time() - start}
    codes = found.pop("codes")
    cost = float(cut.new_costs[np.arange(len(codes)), codes].mean())
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    used = {"cpu": time.process_time() - start, "peak_mb": peak, "table_mb": cut.X.size * 4 / (1 << 20)}
    return line | found | {"cost": cost, "constant": constant} | used


if __name__ == "__main__":
    main()
