"""Candidates side by side: one process each, round-robin, the minimum of several rounds, ratios within one run.

A topic module (``bench/online.py``, ...) registers candidates and states its goals:

    @candidate("covtype dense", "steelyard CSOGD2")
    def _():
        X, y = load()                     # set-up, not timed
        return lambda: learn(X, y)        # one timed round

    GOALS = [Goal("covtype dense", "steelyard CSOGD2", against="plain read of X", at_most=1.4)]
"""

from __future__ import annotations

import importlib
import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
Round = Callable[[], object]


@dataclass(frozen=True)
class Candidate:
    workload: str
    name: str
    setup: Callable[[], Round]
    rounds: int
    summary: Callable[[list[float]], float]


@dataclass(frozen=True)
class Goal:
    """``at_least``: the other takes that many times our time. ``at_most``: we take that many times the other's."""

    workload: str
    ours: str
    against: str
    at_least: float | None = None
    at_most: float | None = None


@dataclass(frozen=True)
class Measured:
    """What a round returns that knows better than the clock, e.g. the CPU seconds of a server."""

    seconds: float


CANDIDATES: list[Candidate] = []


def candidate(
    workload: str, name: str, *, rounds: int = 5, summary: Callable[[list[float]], float] = min
) -> Callable[[Callable[[], Round]], Callable[[], Round]]:
    """Register a set-up function; an ImportError or OSError in it skips the candidate by name.

    ``summary``: which number stands for the seconds of all rounds.
    """

    def register(setup: Callable[[], Round]) -> Callable[[], Round]:
        CANDIDATES.append(Candidate(workload, name, setup, rounds, summary))
        return setup

    return register


def worker(topic: str, index: int) -> None:
    """Set up one candidate, then run a round for every line on standard input and answer with its seconds.

    A peer that fails on the data is named with its reason and left out; our own failure is an error.
    """
    importlib.import_module(topic)
    answers, sys.stdout = sys.stdout, sys.stderr  # peers that print must not disturb the protocol
    try:
        run = CANDIDATES[index].setup()
    except (ImportError, OSError) as error:
        print(json.dumps({"skip": str(error).splitlines()[0]}), file=answers, flush=True)
        return
    print(json.dumps({"ready": True}), file=answers, flush=True)
    for _ in sys.stdin:
        start = time.perf_counter()
        try:
            found = run()
        except Exception as error:
            if CANDIDATES[index].name.startswith("steelyard"):
                raise
            print(json.dumps({"skip": f"{type(error).__name__}, {error}"}), file=answers, flush=True)
            return
        seconds = found.seconds if isinstance(found, Measured) else time.perf_counter() - start
        print(json.dumps({"seconds": seconds}), file=answers, flush=True)


def measure(topic: str, only: str | None = None) -> dict[str, dict[str, float | str]]:
    """Seconds of every candidate of a topic by workload: {workload: {name: seconds or reason for skipping}}."""
    module = importlib.import_module(topic)
    results: dict[str, dict[str, float | str]] = {}
    for workload in dict.fromkeys(c.workload for c in CANDIDATES):
        if only is None or only in workload:
            entries = [(i, c) for i, c in enumerate(CANDIDATES) if c.workload == workload]
            results[workload] = _measure_alternately(topic, entries)
            report({workload: results[workload]}, [g for g in module.GOALS if g.workload == workload])
    return results


def _measure_alternately(topic: str, entries: list[tuple[int, Candidate]]) -> dict[str, float | str]:
    one_thread = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    outcome: dict[str, float | str] = {}
    taken: dict[str, list[float]] = {}
    running = []
    for index, entry in entries:
        process = subprocess.Popen(
            [sys.executable, str(HERE / "run.py"), "--worker", topic, str(index)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**one_thread, **os.environ},
        )
        answer = _answer(process)
        if "ready" in answer:
            running.append((entry, process))
        else:
            outcome[entry.name] = "skipped: " + str(answer.get("skip", "its process ended"))
    for round_ in range(max((c.rounds for c, _ in running), default=0)):
        for entry, process in running:
            if round_ < entry.rounds and not isinstance(outcome.get(entry.name), str):
                assert process.stdin is not None
                process.stdin.write("go\n")
                process.stdin.flush()
                answer = _answer(process)
                seconds = answer.get("seconds")
                if seconds is None:
                    outcome[entry.name] = "skipped: " + str(answer.get("skip", "its process ended"))
                else:
                    taken.setdefault(entry.name, []).append(float(seconds))
                    outcome[entry.name] = entry.summary(taken[entry.name])
    for _, process in running:
        process.communicate()
    return outcome


def _answer(process: subprocess.Popen[str]) -> dict[str, object]:
    assert process.stdout is not None
    line = process.stdout.readline()
    return dict(json.loads(line)) if line else {}


def verdicts(results: dict[str, dict[str, float | str]], goals: list[Goal]) -> list[dict[str, object]]:
    """One row per goal: the ratio of this run and whether the goal is reached."""
    rows = []
    for goal in goals:
        ours, other = (results.get(goal.workload, {}).get(name) for name in (goal.ours, goal.against))
        row: dict[str, object] = {"workload": goal.workload, "ours": goal.ours, "against": goal.against}
        row["goal"] = f">= {goal.at_least:g}x faster" if goal.at_least else f"<= {goal.at_most:g}x its time"
        if isinstance(ours, float) and isinstance(other, float):
            ratio = other / ours if goal.at_least else ours / other
            row["ratio"] = round(ratio, 2)
            row["reached"] = ratio >= goal.at_least if goal.at_least else ratio <= (goal.at_most or 0)
        else:
            row["ratio"], row["reached"] = None, other if isinstance(other, str) else ours
        rows.append(row)
    return rows


def report(results: dict[str, dict[str, float | str]], goals: list[Goal]) -> None:
    """Print seconds and ratios."""
    print(markdown(results, goals), flush=True)


def markdown(results: dict[str, dict[str, float | str]], goals: list[Goal]) -> str:
    lines = []
    for workload, entries in results.items():
        lines += [f"### {workload}", "", "| candidate | seconds |", "|---|---|"]
        lines += [f"| {n} | {s if isinstance(s, str) else format(s, '.4g')} |" for n, s in entries.items()]
        lines.append("")
    lines += ["| Steelyard | against | ratio | goal | reached |", "|---|---|---|---|---|"]
    for row in verdicts(results, goals):
        reached = {True: "yes", False: "no"}.get(row["reached"], row["reached"])  # type: ignore[call-overload]
        lines.append(
            f"| {row['ours']} ({row['workload']}) | {row['against']} | {row['ratio']} | {row['goal']} | {reached} |"
        )
    return "\n".join(lines) + "\n"


def keep(topic: str, results: dict[str, dict[str, float | str]], goals: list[Goal]) -> None:
    """Write the results beside the code, as Markdown for readers and JSON for machines; other workloads stay."""
    folder = HERE / "results"
    folder.mkdir(exist_ok=True)
    kept = folder / f"{topic}.json"
    if kept.exists():
        before = json.loads(kept.read_text())["seconds"]
        known = {c.workload for c in CANDIDATES}
        results = {**{name: seconds for name, seconds in before.items() if name in known}, **results}
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, cwd=HERE, check=False
    )
    about = {"commit": commit.stdout.strip(), "python": platform.python_version(), "machine": platform.machine()}
    body = {"about": about, "seconds": results, "goals": verdicts(results, goals)}
    kept.write_text(json.dumps(body, indent=1) + "\n")
    (folder / f"{topic}.md").write_text(f"## {topic}\n\n{markdown(results, goals)}")
