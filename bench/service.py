"""The service against a bare ASGI app on the same server: CPU of the server process for each request, row or event.

Medians of the rounds: how many requests share a commit is a matter of chance, so the least round would be a lucky one.
"""

from __future__ import annotations

import asyncio
import atexit
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path
from statistics import median

from harness import Goal, Measured, candidate

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "tests" / "tools"))
CONNECTIONS = 64
REQUESTS = int(os.environ.get("STEELYARD_BENCH_REQUESTS", "2000"))  # CPU is counted, so a busy machine matters little
ROUNDS = 21  # medians of seven move by a fifth
WORK = "CPU of one request, 64 connections"
FLOOR = "bare ASGI app"
GOALS = [
    Goal(WORK, "steelyard decide, 24 numbers", against=FLOOR, at_most=3.2),
    Goal(WORK, "steelyard answer", against=FLOOR, at_most=3.2),
    Goal(WORK, "steelyard decide, 24 mixed fields", against=FLOOR, at_most=4.0),
    Goal(WORK, "steelyard batch of 1,000, a row", against=FLOOR, at_most=0.6),
    Goal(WORK, "steelyard replay, an event", against=FLOOR, at_most=0.17),
    Goal(WORK, "steelyard decide, 24 numbers", against="FastAPI + sqlite3, a commit a request", at_least=8),
    Goal(WORK, "steelyard decide, 24 numbers", against="FastAPI + sqlite3 in WAL, a commit a request", at_least=8),
]
BARE = """
import socket, sys, uvicorn
async def app(scope, receive, send):
    await receive()
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
    await send({"type": "http.response.body", "body": b"{}"})
sock = socket.socket(); sock.bind(("127.0.0.1", 0)); sock.listen(256)
print("serving at", f"http://127.0.0.1:{sock.getsockname()[1]}", flush=True)
uvicorn.Server(uvicorn.Config(app, lifespan="off", log_config=None, access_log=False)).run(sockets=[sock])
"""
FASTAPI = """
import socket, sqlite3, sys, threading, uvicorn
from fastapi import FastAPI, Header
from pydantic import BaseModel
from steelyard import AROW, Costs, OnlineClassifier, StreamScaler
from steelyard.active import AskAsymmetric
db = sqlite3.connect(sys.argv[1] + "/a.sqlite", check_same_thread=False, isolation_level=None)
db.execute("PRAGMA journal_mode = " + sys.argv[2]); db.execute("PRAGMA synchronous = FULL")
db.execute("CREATE TABLE item (id INTEGER PRIMARY KEY, record TEXT, score REAL, answer TEXT, chance REAL, ask INTEGER)")
db.execute("CREATE TABLE request (key TEXT PRIMARY KEY, reply TEXT)")
columns = ["x%d" % j for j in range(24)]
scaler, lock = StreamScaler(unit_norm=True), threading.Lock()
rules = {"query": AskAsymmetric(0.1, 0.3), "costs": Costs.binary(fn=10, fp=1), "fit_intercept": True}
model = OnlineClassifier(AROW(r=10), budget=0, **rules)
model.start(24, ["good", "fraud"])
class Row(BaseModel):
    row: dict[str, float]
class Decided(BaseModel):
    id: int
    t: int
    decision: str
    score: float
    chance: float
    ask: bool
app = FastAPI()
@app.post("/v1/p/decide")
def decide(sent: Row, idempotency_key: str = Header()) -> Decided:
    with lock:
        known = db.execute("SELECT reply FROM request WHERE key = ?", (idempotency_key,)).fetchone()
        if known is not None:
            return Decided.model_validate_json(known[0])
        db.execute("BEGIN IMMEDIATE")
        made = model.decide(scaler.one([sent.row[name] for name in columns]))
        put = "INSERT INTO item (record, score, answer, chance, ask) VALUES (?, ?, ?, ?, ?)"
        kept = (sent.model_dump_json(), made.score, str(made.prediction), made.query_probability, made.query)
        number = db.execute(put, kept).lastrowid
        said = Decided(
            id=number, t=made.t, decision=kept[2], score=made.score, chance=made.query_probability, ask=made.query
        )
        db.execute("INSERT INTO request VALUES (?, ?)", (idempotency_key, said.model_dump_json()))
        db.execute("COMMIT")
    return said
sock = socket.socket(); sock.bind(("127.0.0.1", 0)); sock.listen(256)
print("serving at", f"http://127.0.0.1:{sock.getsockname()[1]}", flush=True)
uvicorn.Server(uvicorn.Config(app, lifespan="off", log_config=None, access_log=False)).run(sockets=[sock])
"""
SERVE = "from steelyard.cli import main; main()"
NUMBERS = {f"x{j}": "number" for j in range(24)}
MIXED = {f"x{j}": "number" if j % 3 else "category" for j in range(24)}


class Server:
    """A server process, and the CPU seconds it has used."""

    def __init__(self, code: str, *arguments: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", code, *arguments], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        atexit.register(self.process.terminate)
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            raise OSError("its server did not start")
        self.host, self.port = line.split()[-1].removeprefix("http://").split(":")

    def stop(self) -> None:
        """End it as systemd would."""
        self.process.terminate()
        self.process.wait()

    def cpu(self) -> float:
        """Of all its threads, in nanoseconds as the scheduler counts them."""
        threads = Path(f"/proc/{self.process.pid}/task").iterdir()
        return sum(int((thread / "schedstat").read_text().split()[0]) for thread in threads) / 1e9


async def _send(server: Server, requests: list[bytes], answers: list[bytes]) -> None:
    reader, writer = await asyncio.open_connection(server.host, int(server.port))
    for request in requests:
        writer.write(request)
        head = await reader.readuntil(b"\r\n\r\n")
        length = int(head.lower().split(b"content-length:")[1].split(b"\r\n")[0])
        answers.append(await reader.readexactly(length))
        if not head.startswith(b"HTTP/1.1 200"):
            raise RuntimeError(answers[-1].decode())
    writer.close()


def load(server: Server, requests: list[bytes], connections: int = CONNECTIONS) -> tuple[float, list[bytes]]:
    """CPU seconds of the server for these requests, and what it answered."""
    answers: list[bytes] = []

    async def together() -> None:
        await asyncio.gather(*(_send(server, requests[n::connections], answers) for n in range(connections)))

    before = server.cpu()
    asyncio.run(together())
    return server.cpu() - before, answers


def post(server: Server, path: str, body: object, token: str = "none", key: str = "") -> bytes:
    sent = json.dumps(body).encode()
    head = f"POST {path} HTTP/1.1\r\nHost: {server.host}:{server.port}\r\nAuthorization: Bearer {token}\r\n"
    head += f"Content-Type: application/json\r\nIdempotency-Key: {key}\r\nContent-Length: {len(sent)}\r\n\r\n"
    return head.encode() + sent


def service(columns: dict[str, str], **changes: object) -> tuple[Server, dict[str, str], Path]:
    from service_bench import settings_of
    from service_server import make_service

    folder = Path(tempfile.mkdtemp(prefix="bench-service-"))
    settings = {"budget": 0, "expected_rows": 10**6, "columns": columns} | changes
    tokens = make_service(folder, settings=settings_of(**settings))
    return Server(SERVE, "serve", "--data", str(folder), "--port", "0"), tokens, folder


def record(source: random.Random, columns: dict[str, str]) -> dict[str, object]:
    return {n: source.gauss(0, 1) if k == "number" else source.choice("abcdefgh") for n, k in columns.items()}


@candidate(WORK, FLOOR, rounds=ROUNDS, summary=median)
def _():
    server = Server(BARE)
    body = {"row": record(random.Random(0), NUMBERS)}
    return lambda: Measured(load(server, [post(server, "/v1/p/decide", body)] * REQUESTS)[0] / REQUESTS)


def deciding(columns: dict[str, str]):
    server, tokens, _ = service(columns)
    source, keys = random.Random(0), iter(range(10**9))
    rows = [record(source, columns) for _ in range(500)]

    def once() -> Measured:
        requests = [
            post(server, "/v1/p/decide", {"row": rows[n % 500]}, tokens["producer"], f"k{next(keys)}")
            for n in range(REQUESTS)
        ]
        return Measured(load(server, requests)[0] / REQUESTS)

    return once


@candidate(WORK, "steelyard decide, 24 numbers", rounds=ROUNDS, summary=median)
def _():
    return deciding(NUMBERS)


@candidate(WORK, "steelyard decide, 24 mixed fields", rounds=ROUNDS, summary=median)
def _():
    return deciding(MIXED)


@candidate(WORK, "steelyard answer", rounds=ROUNDS, summary=median)
def _():
    server, tokens, _ = service(NUMBERS, budget=10**6, query="AskAll", pace=False)
    source, keys = random.Random(0), iter(range(10**9))

    def once() -> Measured:
        rows = [{"row": record(source, NUMBERS)} for _ in range(1000)]
        asked: list[int] = []
        for _ in range(REQUESTS // 1000):
            body = post(server, "/v1/p/decide/batch", {"rows": rows}, tokens["producer"], f"b{next(keys)}")
            asked += [made["id"] for made in json.loads(load(server, [body], 1)[1][0])]
        answers = [
            post(server, "/v1/p/answers", [{"item": i, "label": "good"}], tokens["annotator"], f"a{next(keys)}")
            for i in asked
        ]
        return Measured(load(server, answers)[0] / len(answers))

    return once


def batches(server: Server, rows: list[dict[str, object]], tokens: dict[str, str], keys: Iterable[int]) -> list[bytes]:
    return [post(server, "/v1/p/decide/batch", {"rows": rows}, tokens["producer"], f"k{key}") for key in keys]


@candidate(WORK, "steelyard batch of 1,000, a row", rounds=ROUNDS, summary=median)
def _():
    server, tokens, _ = service(NUMBERS)
    source, keys = random.Random(0), iter(range(10**9))
    rows = [{"row": record(source, NUMBERS)} for _ in range(1000)]

    def once() -> Measured:
        body = [
            post(server, "/v1/p/decide/batch", {"rows": rows}, tokens["producer"], f"k{next(keys)}") for _ in range(20)
        ]
        return Measured(load(server, body, 4)[0] / 20_000)

    return once


@candidate(WORK, "steelyard replay, an event", rounds=ROUNDS, summary=median)
def _():
    from steelyard.service.database.sqlite import SQLiteStore
    from steelyard.service.writer.projects import replayed

    server, tokens, folder = service(NUMBERS)
    source = random.Random(0)
    rows = [{"row": record(source, NUMBERS)} for _ in range(1000)]
    load(
        server, [post(server, "/v1/p/decide/batch", {"rows": rows}, tokens["producer"], f"k{n}") for n in range(20)], 4
    )
    server.process.terminate()
    server.process.wait()
    size = sum(path.stat().st_size for path in folder.iterdir())
    print(f"disk: {size / 20_000:.0f} bytes an event of 24 numbers", file=sys.stderr)
    store = SQLiteStore(folder, readonly=True)

    def once() -> Measured:
        before = time.process_time()
        state, _ = replayed(store, store.project("p"))
        return Measured((time.process_time() - before) / state.seq)

    return once


def committing_each(journal: str):
    """What one would write with FastAPI: the same learner and key, everything it answers on the disk, no group."""
    import fastapi  # noqa: F401

    server = Server(FASTAPI, tempfile.mkdtemp(prefix="bench-fastapi-"), journal)
    source, keys = random.Random(0), iter(range(10**9))
    rows = [record(source, NUMBERS) for _ in range(500)]

    def once() -> Measured:
        requests = [post(server, "/v1/p/decide", {"row": rows[n % 500]}, key=f"k{next(keys)}") for n in range(REQUESTS)]
        return Measured(load(server, requests)[0] / REQUESTS)

    return once


@candidate(WORK, "FastAPI + sqlite3, a commit a request", rounds=5, summary=median)
def _():
    return committing_each("delete")


@candidate(WORK, "FastAPI + sqlite3 in WAL, a commit a request", rounds=5, summary=median)
def _():
    return committing_each("wal")
