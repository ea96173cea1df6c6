"""``python -m bench.quality.readme``: writes the results into the README beside this file, from ``results/*.jsonl``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from .summary import (
    FOUR,
    complete_pairs,
    cost_interval,
    cost_lines,
    cost_logs,
    count_near_best,
    count_promises,
    memory_peak,
    read_lines,
    width_ratio,
)

HERE = Path(__file__).parent
START, END = "<!-- results: written by python -m bench.quality.readme -->", "<!-- end of results -->"
PEERS = ("catboost", "lightgbm", "xgboost", "flaml", "logistic")
_GOAL = 0.98


def block(folder: Path) -> str:
    """A table of every results file, the halves beside each other."""
    runs = {path.stem: read_lines(path) for path in sorted(folder.glob("*.jsonl"))}
    heads = list(runs)
    rows = [["", *heads, "goal (60 s)"], ["---"] * (len(heads) + 2)]
    rows.append(
        ["tables, pairs with a seed that all ran", *(_size(lines) for lines in runs.values()), "14, several seeds"]
    )
    for peer in PEERS:
        goal = f"at most {_GOAL}" if peer != "logistic" else ""
        rows.append([f"cost over {peer}'s", *(_ratio(lines, peer) for lines in runs.values()), goal])
    rows.append(["at most 2% above the best of four", *(_near(lines) for lines in runs.values()), "10 of 14"])
    rows += [
        [f"{peer}: at most 2% above the best of the other three", *(_near(lines, peer) for lines in runs.values()), ""]
        for peer in FOUR
    ]
    rows.append(["promise kept", *(_kept(lines) for lines in runs.values()), "90%"])
    rows.append(
        ["its width over the winner's own interval, median", *(_width(lines) for lines in runs.values()), "2.2"]
    )
    rows.append(["CPU seconds, mean", *(_cpu(lines) for lines in runs.values()), "60"])
    rows.append(["peak memory, MB (limit)", *(_memory(lines) for lines in runs.values()), "6 tables + 400"])
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _size(lines: list[dict[str, Any]]) -> str:
    complete, _ = complete_pairs(cost_lines(lines))
    return f"{len(complete)}, {sum(map(len, complete.values()))}"


def _ratio(lines: list[dict[str, Any]], peer: str) -> str:
    logs = cost_logs(cost_lines(lines), peer)
    if not logs:
        return "not run"
    value, low, high = cost_interval(np.array(list(logs.values())))
    missed = ", **missed**" if peer != "logistic" and value > _GOAL else ""
    return f"{value:.3f} ({low:.3f} to {high:.3f}; {len(logs)} tables){missed}"


def _near(lines: list[dict[str, Any]], judged: str = "steelyard") -> str:
    near, total = count_near_best(cost_lines(lines), judged)
    return f"{near} of {total}"


def _kept(lines: list[dict[str, Any]]) -> str:
    kept, total = count_promises(lines)
    return f"{kept} of {total}"


def _width(lines: list[dict[str, Any]]) -> str:
    wider = width_ratio(lines)
    return "" if wider is None else f"{wider:.2f}"


def _cpu(lines: list[dict[str, Any]]) -> str:
    found = [line["cpu"] for line in lines if line["method"] == "steelyard"]
    return f"{np.mean(found):.1f}" if found else ""


def _memory(lines: list[dict[str, Any]]) -> str:
    peak = memory_peak(lines)
    return "" if peak is None else f"{peak[0]:.0f} ({peak[1]:.0f})"


def main() -> None:
    path = HERE / "README.md"
    before, _, rest = path.read_text().partition(START)
    _, _, after = rest.partition(END)
    path.write_text(f"{before}{START}\n{block(HERE / 'results')}\n{END}{after}")


if __name__ == "__main__":
    main()
