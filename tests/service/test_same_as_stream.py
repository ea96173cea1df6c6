"""A project without pace and `steelyard stream` over the same rows: equal scores, decisions and asks."""

from __future__ import annotations

import csv
import json
import random

import pytest
from service_bench import Bench, settings_of
from typer.testing import CliRunner

from steelyard import cli
from steelyard.service.log.guess import parse_cell
from steelyard.service.writer.jobs import AnswerJob

WORDS = ["your", "parcel", "is", "held", "pay", "fee", "now", "pin", "thanks", "for", "lunch", "rent", "card", "friend"]
KINDS = {
    "numbers": ({"a": "number", "b": "number"}, []),
    "mixed": ({"a": "number", "c": "category", "b": "number"}, []),
    "text": ({"a": "number", "note": "text", "c": "category"}, ["--text", "note"]),
}


def record(source: random.Random, truth: bool, columns) -> dict[str, str]:
    made = {
        "a": f"{source.gauss(2.0 * truth, 1.0):.6f}",
        "b": "" if source.random() < 0.1 else f"{source.gauss(-1.0 * truth, 2.0):.6f}",
        "c": source.choice("xyz" if truth else "xyw"),
        "note": " ".join(source.choices(WORDS[: 8 + 6 * (not truth)], k=5)),
    }
    return {name: made[name] for name in columns}


@pytest.mark.parametrize("kind", KINDS)
def test_service_and_stream_are_one(kind, folder):
    columns, options = KINDS[kind]
    source = random.Random(5)
    truths = [source.random() < 0.3 for _ in range(400)]
    rows = [record(source, truth, columns) for truth in truths]
    path = folder / "rows.csv"
    with path.open("w", newline="") as handle:
        writer = csv.writer(handle)
        writer.writerow([*columns, "label"])
        writer.writerows([*row.values(), "fraud" if t else "good"] for row, t in zip(rows, truths, strict=True))
    settings = {"update": "AROW(r=10)", "query": "AskAsymmetric(c_pos=0.3, c_neg=0.6)"}
    command = ["stream", str(path), "--target", "label"]
    command += ["--classes", "good,fraud", "--costs", "fn=10,fp=1", "--budget", "60", "--seed", "7", "--quiet"]
    command += [
        "--update",
        settings["update"],
        "--query",
        settings["query"],
        "--decisions",
        "-",
        "--fit-intercept",
        *options,
    ]
    ended = CliRunner().invoke(cli.app, command, catch_exceptions=False)
    assert ended.exit_code == 0
    expected = [json.loads(line) for line in ended.stdout.splitlines()]
    project = settings_of(columns=columns, budget=60, seed=7, pace=False, **settings)
    bench = Bench(folder, project)
    for t, (row, truth) in enumerate(zip(rows, truths, strict=True)):
        (made,) = bench.decide({name: parse_cell(cell) for name, cell in row.items()})
        line = expected[t]
        assert (made.score, made.decision, made.ask) == (line["score"], line["decision"], line["queried"]), t
        assert made.chance == line["query_probability"]
        if made.ask:
            bench.run(AnswerJob("p", 2, answers=[(made.id, "fraud" if truth else "good", None)]))
    assert bench.state.budget.spent == 60
