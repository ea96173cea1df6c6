"""The service under a steady load for an hour: latency and memory must stay flat as the log grows.

A real server in a process of its own. First another one is sent as much as it takes for a few seconds; then rows come
at 30% of that rate, at times drawn beforehand, whether or not the earlier ones were answered, and a program answers
what is asked: 100,000 labels in an hour. Every minute one line is written to the folder: rows, labels, p50 and p99 of
the latency from the moment a row was due, memory, CPU seconds, and length of the write-ahead log. What the machine does
by itself stands beside them: the share of its time that its neighbours took, and how long 4 KB took at worst to be
synced to a file that nobody else uses, tried twenty times a second; in a minute in which that stalls, so does every
server that syncs. At the end medians of the first and of the last ten minutes are printed. Stopped, it goes on in the
same folder at the same rate. Requests have keys as the client makes them; with --random-keys they have no order, so
that each is written to a page of its own.
Run: python bench/service_endurance.py MINUTES FOLDER [--random-keys]
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Self

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent / "tests" / "tools")]

from service_bench import settings_of  # noqa: E402
from service_server import make_service  # noqa: E402

from service import CONNECTIONS, MIXED, SERVE, Server, load, post, record  # noqa: E402
from service_memory import megabytes  # noqa: E402
from steelyard.service.database.sqlite import DATABASE  # noqa: E402

SHARE = 0.3  # of the rate at which it is saturated
LOG = f"{DATABASE}-wal"
SUMMARIZED = ("rows", "p50_ms", "p99_ms", "mb", "cpu")
BURST = 40_000  # rows that tell that rate
BUDGET = 100_000  # labels of an hour
SYNC_EVERY = 0.05  # seconds


class Load:
    """Connections that send what is due, and what they have waited for."""

    def __init__(self, server: Server, tokens: dict[str, str], seed: int, random_keys: bool) -> None:
        self.server, self.tokens, self.random_keys = server, tokens, random_keys
        self.source = random.Random(seed)
        self.rows = [record(self.source, MIXED) for _ in range(500)]
        self.waited: list[float] = []
        self.answered = 0
        self.due: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue()
        self.asked: asyncio.Queue[int] = asyncio.Queue()
        self.number = 0

    async def minute(self, rate: float, seconds: float = 60.0) -> None:
        """Rows at this rate on average, for so long."""
        workers = [asyncio.create_task(self._send()) for _ in range(CONNECTIONS)]
        workers.append(asyncio.create_task(self._answer()))
        begin = time.perf_counter()
        for moment in self._moments(rate, seconds):
            await asyncio.sleep(max(0.0, begin + moment - time.perf_counter()))
            key = f"{0 if self.random_keys else time.time_ns():016x}-{self.source.getrandbits(64):016x}"
            body = {"row": self.rows[self.number % len(self.rows)]}
            self.number += 1
            self.due.put_nowait((begin + moment, post(self.server, "/v1/p/decide", body, self.tokens["producer"], key)))
        await self.due.join()
        await self.asked.join()
        for worker in workers:
            worker.cancel()
        await asyncio.gather(*workers, return_exceptions=True)

    def _moments(self, rate: float, seconds: float) -> Iterator[float]:
        moment = self.source.expovariate(rate)
        while moment < seconds:
            yield moment
            moment += self.source.expovariate(rate)

    async def _send(self) -> None:
        reader, writer = await asyncio.open_connection(self.server.host, int(self.server.port))
        try:
            while True:
                due, request = await self.due.get()
                made = await _call(reader, writer, request)
                self.waited.append(time.perf_counter() - due)
                if made["ask"]:
                    self.asked.put_nowait(made["id"])
                self.due.task_done()
        finally:
            writer.close()

    async def _answer(self) -> None:
        """A program that labels at random: what is learned does not matter here, that it is learned does."""
        reader, writer = await asyncio.open_connection(self.server.host, int(self.server.port))
        try:
            while True:
                item = await self.asked.get()
                answer = [{"item": item, "label": self.source.choice(["good", "fraud"])}]
                await _call(
                    reader, writer, post(self.server, "/v1/p/answers", answer, self.tokens["annotator"], f"a{item}")
                )
                self.answered += 1
                self.asked.task_done()
        finally:
            writer.close()


class DiskProbe:
    """How long the disk takes at worst for what has nothing to do with the server."""

    def __init__(self, path: Path) -> None:
        self.worst = 0.0
        self._path, self._stop = path, threading.Event()
        self._thread = threading.Thread(target=self._run)

    def _run(self) -> None:
        handle = os.open(self._path, os.O_RDWR | os.O_CREAT)
        block = bytes(4096)
        os.pwrite(handle, block, 0)
        os.fsync(handle)
        while not self._stop.wait(SYNC_EVERY):
            began = time.perf_counter()
            os.pwrite(handle, block, 0)
            os.fdatasync(handle)
            self.worst = max(self.worst, time.perf_counter() - began)
        os.close(handle)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._stop.set()
        self._thread.join()


async def _call(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, request: bytes) -> Any:
    writer.write(request)
    head = await reader.readuntil(b"\r\n\r\n")
    said = await reader.readexactly(int(head.lower().split(b"content-length:")[1].split(b"\r\n")[0]))
    if not head.startswith(b"HTTP/1.1 200"):
        raise RuntimeError(said.decode())
    return json.loads(said)


def saturated(server: Server, tokens: dict[str, str]) -> float:
    """Rows a second when as many are sent as it takes."""
    source = random.Random(0)
    bodies = [{"row": record(source, MIXED)} for _ in range(BURST)]
    requests = [post(server, "/v1/p/decide", body, tokens["producer"], f"s{n}") for n, body in enumerate(bodies)]
    load(server, requests[: BURST // 4])
    began = time.perf_counter()
    load(server, requests[BURST // 4 :])
    return (BURST - BURST // 4) / (time.perf_counter() - began)


def serving(folder: Path) -> Server:
    """A server of this folder in a process of its own."""
    return Server(SERVE, "serve", "--data", str(folder), "--port", "0")


def prepare(folder: Path) -> dict[str, Any]:
    """A project, its tokens, and the rate of its rows, which is measured on another of the same settings."""
    settings = {"columns": MIXED, "hash_bits": 18, "budget": BUDGET}
    with tempfile.TemporaryDirectory() as scratch:
        tokens = make_service(Path(scratch), settings=settings_of(**settings, expected_rows=20 * BUDGET))
        server = serving(Path(scratch))
        rate = SHARE * saturated(server, tokens)
        server.stop()
    expected = settings_of(**settings, expected_rows=round(3600 * rate))
    return {"rate": rate, "tokens": make_service(folder, settings=expected)}


def main(minutes: int, folder: Path, random_keys: bool) -> None:
    """Write a line a minute."""
    folder.mkdir(parents=True, exist_ok=True)
    kept, lines = folder / "endurance.json", folder / "endurance.jsonl"
    if not kept.exists():
        kept.write_text(json.dumps(prepare(folder)))
    known = json.loads(kept.read_text())
    server = serving(folder)
    done = len(lines.read_text().splitlines()) if lines.exists() else 0
    print(f"{known['rate']:.0f} rows a second, {done} minutes done", flush=True)
    for minute in range(done, minutes):
        sender = Load(server, known["tokens"], seed=minute, random_keys=random_keys)
        before, ticks = server.cpu(), processor_ticks()
        with DiskProbe(folder / "probe") as probe:
            asyncio.run(sender.minute(known["rate"]))
        cuts = statistics.quantiles(sender.waited, n=100)
        line = {"minute": minute + 1, "rows": len(sender.waited), "answers": sender.answered}
        line |= {"p50_ms": round(cuts[49] * 1e3, 2), "p99_ms": round(cuts[98] * 1e3, 2)}
        line |= {"mb": round(megabytes(server), 1), "cpu": round(server.cpu() - before, 2)}
        line |= {"log_mb": round((folder / LOG).stat().st_size / 2**20, 1), "stolen": stolen(ticks, processor_ticks())}
        line |= {"disk_ms": round(probe.worst * 1e3, 1)}
        with lines.open("a") as out:
            out.write(json.dumps(line) + "\n")
        print(json.dumps(line), flush=True)
    server.stop()
    minutes_done = [json.loads(line) for line in lines.read_text().splitlines()]
    for name, part in (("first", minutes_done[:10]), ("last", minutes_done[-10:])):
        told = {key: round(statistics.median(line[key] for line in part), 2) for key in SUMMARIZED}
        print(f"{name} {len(part)} minutes, medians: {json.dumps(told)}")


def processor_ticks() -> list[int]:
    """What all cores have done since the start of the machine, by kind."""
    return [int(ticks) for ticks in Path("/proc/stat").read_text().splitlines()[0].split()[1:9]]


def stolen(before: list[int], after: list[int]) -> float:
    """The share of the time in between in which a core was wanted here and given to another machine."""
    spent = [later - earlier for earlier, later in zip(before, after, strict=True)]
    return round(spent[7] / sum(spent), 3)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("minutes", type=int)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--random-keys", action="store_true")
    options = parser.parse_args()
    main(options.minutes, options.folder, options.random_keys)
