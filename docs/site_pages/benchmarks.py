"""Benchmarks: every goal of every kept run, from bench/results."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

TITLES = {
    "boosting": "Boosting",
    "data": "Reading data",
    "earlier_tree": "Beside an earlier commit (c96bee0)",
    "interrupt": "How soon Ctrl-C stops",
    "ldm": "Large margin distribution machines",
    "model_files": "Model files beside those of format 1, and files that are refused",
    "one_row": "One row at a time",
    "online": "One pass over a stream",
    "pulse": "What being ready for Ctrl-C costs",
    "quotes": "A stray quote in a CSV file",
    "reduction": "Many classes by reduction",
    "second_order": "Second-order online learners",
    "service": "The service, one request",
    "svm": "Support vector machines",
    "tree": "C4.5 trees",
}


def pages(root: Path) -> dict[str, str]:
    """One page with all topics."""
    parts = [
        "# Benchmarks\n",
        "Ratios within one run on one machine: Steelyard beside the named library on the same data. `scripts/bench` "
        "runs them again; a library that cannot be installed is left out by name. Goals were set before the runs, and "
        "those that were missed stay in the table.\n",
    ]
    for path in sorted((root / "bench" / "results").glob("*.json")):
        kept = json.loads(path.read_text(encoding="utf-8"))
        if not isinstance(kept, dict) or "goals" not in kept:
            continue
        parts.append(f"## {TITLES.get(path.stem, path.stem.replace('_', ' ').capitalize())}\n\n{goals(kept['goals'])}")
        about = kept.get("about", {})
        text = ", ".join(f"{name} {about[name]}" for name in ("commit", "python", "machine") if about.get(name))
        parts.append(f"Run: {text}. `{kept.get('script', f'scripts/bench {path.stem}')}`.\n")
    parts += quality(root / "bench" / "quality" / "results")
    return {"benchmarks.md": "\n".join(parts)}


def quality(folder: Path) -> list[str]:
    """What the model that `compare` names costs on rows it has not seen, beside tuned libraries."""
    kept = sorted(folder.glob("*.txt"))
    if not kept:
        return []
    parts = [
        "## Quality of compare\n",
        "Cost on held-out rows of the model that `compare` names, as a ratio to what others reach in the same CPU "
        "seconds on one core; settings are chosen on the choosing half of the tables, the reporting half is run once. "
        "`bench/quality` has the tables, the runs and how many variants were tried.\n",
    ]
    parts += [f"### {path.stem}\n\n```text\n{path.read_text(encoding='utf-8').rstrip()}\n```\n" for path in kept]
    return parts


def goals(rows: list[dict[str, Any]]) -> str:
    """The table of one topic."""
    lines = ["| workload | Steelyard | against | ratio | goal | reached |", "|---|---|---|---|---|---|"]
    for row in rows:
        ratio = "-" if row["ratio"] is None else row["ratio"]
        lines.append(
            f"| {row['workload']} | {row['ours']} | {row['against']} | {ratio} | {row['goal']} | {reached(row)} |"
        )
    return "\n".join(lines) + "\n"


def reached(row: dict[str, Any]) -> str:
    """A word for it."""
    return str({True: "yes", False: "no", None: "not run"}.get(row["reached"], row["reached"]))
