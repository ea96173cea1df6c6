"""``python -m bench.quality --half choosing|reporting|expensive [--seconds 60] [--seeds 3] [--out FILE]``.

Every pair of table and seed and method is one line of the output file; a run that was ended goes on where it was, and
``--portion`` ends it after so many seconds. The summary is printed at the end, or with ``--summary`` alone. Run the
reporting half once per landed change. Seconds are CPU seconds of one core, for every method.
"""

from __future__ import annotations

import argparse
import json
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

from . import tables
from .peers import METHODS, run_method
from .summary import read_lines, summary


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--half", choices=tables.PARTS, required=True)
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
    todo = [
        (table, method, seconds, seed)
        for seed in range(seeds)
        for table in wanted
        for method in methods
        if (table, seed, method) not in done
    ]
    # A process for each, or one method's memory and threads would count for the next.
    with ProcessPoolExecutor(1, mp_context=get_context("spawn"), max_tasks_per_child=1) as pool:
        for asked in todo:
            if time.monotonic() > until:
                return
            line = pool.submit(run_method, *asked).result()
            with out.open("a") as file:
                file.write(json.dumps(line) + "\n")
            print(
                f"{line['table']:28s} {line['seed']} {line['method']:10s} {line.get('cost')} {line['cpu']:.1f} s",
                flush=True,
            )


if __name__ == "__main__":
    main()
