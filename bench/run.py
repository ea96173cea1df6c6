"""``scripts/bench [TOPIC ...] [--only WORKLOAD]``: without a topic, all of them."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import harness

# A topic states its goals; the other scripts of this folder are run by themselves.
TOPICS = sorted(p.stem for p in Path(__file__).parent.glob("*.py") if "\nGOALS" in p.read_text(encoding="utf-8"))


def main(arguments: list[str]) -> None:
    if arguments[:1] == ["--worker"]:
        harness.worker(arguments[1], int(arguments[2]))
        return
    only = None
    if "--only" in arguments:
        at = arguments.index("--only")
        only = arguments[at + 1]
        del arguments[at : at + 2]
    unknown = set(arguments) - set(TOPICS)
    if unknown:
        sys.exit(f"unknown topic {', '.join(sorted(unknown))}; there are: {', '.join(TOPICS)}")
    for topic in arguments or TOPICS:
        harness.CANDIDATES.clear()
        results = harness.measure(topic, only)
        harness.keep(topic, results, importlib.import_module(topic).GOALS)


if __name__ == "__main__":
    main(sys.argv[1:])
