"""Compare, predict and stream on a table of texts and numbers, run with an installed wheel: ``python main_job.py``.

Run by scripts/wheel-check and by the workflow that builds the wheels, in an environment that holds the core
dependencies only. It writes into the current folder and needs nothing but the standard library and Steelyard.
"""

from __future__ import annotations

import csv
import json
import random
import subprocess
import sys
from importlib.metadata import metadata
from pathlib import Path


def write_table(path: Path, rows: int, seed: int, *, labelled: bool) -> None:
    """Loans: a text column with missing cells, two numeric ones, and a label that depends on all three."""
    draw = random.Random(seed)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["purpose", "amount", "age"] + ["outcome"] * labelled)
        for _ in range(rows):
            purpose = draw.choice(["car", "home", "boat, used", ""])
            amount, age = draw.lognormvariate(8, 1), draw.randint(18, 80)
            risk = 0.5 * (purpose == "boat, used") + amount / 20_000 + (age < 25) * 0.3
            outcome = ["bad" if draw.random() < min(0.9, risk) else "good"]
            writer.writerow([purpose, f"{amount:.2f}", age] + outcome * labelled)


def steelyard(*arguments: str, feed: str | None = None) -> str:
    """Standard output of a command that must succeed."""
    command = [str(Path(sys.executable).with_name("steelyard")), *arguments]
    done = subprocess.run(command, input=feed, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"steelyard {' '.join(arguments)} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout


def main() -> None:
    """The main job from end to end; the first thing that is not as promised ends it."""
    licences = metadata("steelyard").get_all("License-File") or []
    if len(licences) != 4:
        sys.exit(f"a wheel must hold our licence and those of uPlot, nanobind and its hash table; got {licences}")
    write_table(Path("loans.csv"), 400, seed=1, labelled=True)
    write_table(Path("new.csv"), 50, seed=2, labelled=False)

    told = steelyard(
        *("compare", "loans.csv", "--target", "outcome", "--positive", "bad", "--costs", "fn=5,fp=1"),
        *("--time", "20", "--jobs", "1", "--out", "report", "--json"),
    )
    size = Path("report/report.html").stat().st_size
    print(f"compare: {len(json.loads(told))} entries of JSON, {size} bytes of page")

    steelyard("predict", "report/model.steelyard", "new.csv", "--out", "decided.csv")
    with open("decided.csv", newline="", encoding="utf-8") as file:
        decided = [row["decision"] for row in csv.DictReader(file)]
    if len(decided) != 50 or not set(decided) <= {"good", "bad"}:
        sys.exit(f"predict must decide 50 rows as good or bad; got {decided}")
    piped = steelyard(
        "predict", "report/model.steelyard", "-", "--format", "csv", feed=Path("new.csv").read_text("utf-8")
    )
    if [line.partition(",")[0] for line in piped.splitlines()[1:]] != decided:
        sys.exit("predict must decide rows from a pipe as those of a file")
    print(f"predict: {decided.count('bad')} of {len(decided)} bad")

    steelyard(
        *("stream", "loans.csv", "--target", "outcome", "--classes", "good,bad", "--state", "stream.steelyard"),
        *("--decisions", "log.jsonl", "--quiet"),
    )
    log = [json.loads(line) for line in Path("log.jsonl").read_text(encoding="utf-8").splitlines()]
    if len(log) != 400 or not Path("stream.steelyard").stat().st_size:
        sys.exit(f"stream must decide 400 rows and keep its state; got {len(log)} decisions")
    print(f"stream: {len(log)} decisions")

    steelyard("demo", "--time", "5", "--jobs", "1", "--out", "demo", "--quiet")
    if not Path("demo/model.steelyard").stat().st_size:
        sys.exit("demo must keep its model")
    print("demo: report and model")


if __name__ == "__main__":
    main()
