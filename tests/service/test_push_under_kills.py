"""`service push` of a file of mixed rows while the server is killed: every row once, and as `steelyard stream` says."""

from __future__ import annotations

import csv
import io
import json
import os
import random
import signal
import threading
import time

from service_bench import Bench, recount, settings_of
from service_server import ServerProcess, free_port
from typer.testing import CliRunner

from steelyard import cli
from steelyard.service.commands.rows import run_push
from steelyard.service.log.guess import parse_cell
from steelyard.service.people.access import make_token
from steelyard.service.writer.clock import Clock
from steelyard.service.writer.jobs import AnswerJob

ROWS = int(os.environ.get("STEELYARD_SERVICE_PUSHED", "1500"))  # 10,000 with 10 kills by hand
KILLS = int(os.environ.get("STEELYARD_SERVICE_PUSH_KILLS", "3"))
BUDGET = 60
COLUMNS = {"a": "number", "c": "category", "b": "number", "note": "text"}
RULES = {"update": "AROW(r=10)", "query": "AskAsymmetric(c_pos=0.3, c_neg=0.6)"}
STREAM = "--target label --classes good,fraud --costs fn=10,fp=1 --seed 7 --quiet --decisions - --fit-intercept"


def made_up_rows() -> tuple[list[dict[str, str]], list[str]]:
    source = random.Random(11)
    rows, labels = [], []
    for _ in range(ROWS):
        truth = source.random() < 0.3
        rows.append(
            {
                "a": f"{source.gauss(2.0 * truth, 1.0):.6f}",
                "c": source.choice("xyz" if truth else "xyw"),
                "b": "" if source.random() < 0.1 else f"{source.gauss(-1.0 * truth, 2.0):.6f}",
                "note": " ".join(source.choices(["pay", "fee", "now", "rent", "lunch"][2 * (not truth) :], k=4)),
            }
        )
        labels.append("fraud" if truth else "good")
    return rows, labels


def write_csv(path, rows, **more):
    with path.open("w", newline="") as handle:
        writer = csv.writer(handle)
        writer.writerow([*rows[0], *more])
        writer.writerows([*row.values(), *(column[n] for column in more.values())] for n, row in enumerate(rows))
    return path


def test_push_under_kills(folder):
    rows, labels = made_up_rows()
    command = [
        "stream",
        str(write_csv(folder / "all.csv", rows, label=labels)),
        *STREAM.split(),
        "--budget",
        str(BUDGET),
    ]
    command += ["--update", RULES["update"], "--query", RULES["query"], "--text", "note"]
    ended = CliRunner().invoke(cli.app, command, catch_exceptions=False)
    assert ended.exit_code == 0
    expected = [json.loads(line) for line in ended.stdout.splitlines()]

    # Until the budget is spent labels come at once, as they do in a stream; nothing is learned behind it.
    bench = Bench(folder, settings_of(columns=COLUMNS, budget=BUDGET, seed=7, pace=False, **RULES), Clock())
    answered = 0
    while bench.state.budget.spent < BUDGET:
        row, label = rows[answered], labels[answered]
        (made,) = bench.decide({name: parse_cell(cell) for name, cell in row.items()})
        if made.ask:
            bench.run(AnswerJob("p", 2, answers=[(made.id, label, None)]))
        answered += 1
    assert answered < ROWS // 2
    token = make_token(bench.store, "p", "producer", at=bench.clock.now())
    bench.store.close()

    rest = write_csv(folder / "rest.csv", rows[answered:], id=[f"row {n}" for n in range(answered, ROWS)])
    source, server = random.Random(0), ServerProcess(folder, free_port())
    said, ended = io.StringIO(), []

    def push() -> None:
        texts = ["c", "note"]
        ended.append(
            run_push(
                str(rest),
                url=server.url,
                token=token,
                project="p",
                id_column="id",
                texts=texts,
                out=said,
                patience=300.0,
            )
        )

    assert server.start()
    pushing = threading.Thread(target=push)
    pushing.start()
    for _ in range(KILLS):
        time.sleep(source.uniform(0.02, 0.2))
        assert server.kill() == -signal.SIGKILL
        assert server.start()
    pushing.join()
    assert server.kill(signal.SIGTERM) == 0
    server.close()
    assert ended == [0]

    replies = [json.loads(line) for line in said.getvalue().splitlines()]
    for reply, line in zip(replies, expected[answered:], strict=True):
        found = (reply["score"], reply["decision"], reply["ask"], reply["chance"])
        assert found == (line["score"], line["decision"], line["queried"], line["query_probability"])
    decisions, settled, externals = recount(folder)  # verifies the log
    assert len(decisions) == ROWS
    assert len(settled) == BUDGET
    assert externals == {f"row {n}": reply["id"] for n, reply in enumerate(replies, answered)}
