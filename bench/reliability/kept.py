"""Result tables of this folder, in the shape of the other benchmarks: bench/results/TOPIC.json and .md."""

from __future__ import annotations

import json
import platform
import subprocess
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent.parent
RESULTS = ROOT / "bench" / "results"


def goal(workload: str, ours: str, against: str, wanted: str, ratio: float, reached: bool) -> dict[str, Any]:
    """One line of a table."""
    return {
        "workload": workload,
        "ours": ours,
        "against": against,
        "goal": wanted,
        "ratio": round(ratio, 4),
        "reached": bool(reached),
    }


def keep(topic: str, script: str, rows: list[dict[str, Any]], notes: str = "") -> None:
    """Write the table, notes below it, and print it. Workloads that were not measured this time stay as they were."""
    path = RESULTS / f"{topic}.json"
    before = json.loads(path.read_text(encoding="utf-8"))["goals"] if path.exists() else []
    named = {row["workload"]: row for row in before} | {row["workload"]: row for row in rows}
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False
    ).stdout.strip()
    about = {"commit": commit, "python": platform.python_version(), "machine": platform.machine()}
    body = {"about": about, "script": script, "goals": list(named.values())}
    path.write_text(json.dumps(body, indent=1) + "\n", encoding="utf-8")
    head = [f"## {topic.replace('_', ' ')}", "", "| | Steelyard | against | goal | ratio |", "|---|---|---|---|---|"]
    shown = [*head, *map(line, named.values()), *(["", notes.strip()] if notes else [])]
    path.with_suffix(".md").write_text("\n".join(shown) + "\n", encoding="utf-8")
    print("\n".join(map(line, rows)), flush=True)


def line(row: dict[str, Any]) -> str:
    wanted = row["goal"] + ("" if row["reached"] else ", missed")
    return f"| {row['workload']} | {row['ours']} | {row['against']} | {wanted} | {row['ratio']} |"
