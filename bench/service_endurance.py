"""The service under a steady load for an hour: latency and memory must stay flat as the log grows.

A real server in a process of its own. First it is sent as much as it takes for a few seconds; then rows come at 30% of
that rate, at times drawn beforehand, whether or not the earlier ones were answered, and a program answers what is
asked. Every minute one line is written to the folder: rows, events, p50 and p99 of the latency from the moment a row
was due, memory, CPU. Stopped, it goes on in the same folder at the same rate.
Run: python bench/service_endurance.py MINUTES FOLDER
"""

from __future__ import annotations

import asyncio
import json
import random
import statistics
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent / "tests" / "tools")]

from service_bench import settings_of  # noqa: E402
from service_server import make_service  # noqa: E402

from service import CONNECTIONS, MIXED, SERVE, Server, load, post, record  # noqa: E402
from service_memory import megabytes  # noqa: E402

SHARE = 0.3  # of the rate at which it is saturated
BURST = 4000  # rows that tell that rate
BUDGET, EXPECTED = 100_000, 2_000_000


class Load:
    """Connections that send what is due, and what they have waited for."""

    def __init__(self, server: Server, tokens: dict[str, str], seed: int) -> None:
        self.server, self.tokens = server, tokens
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
            key = f"e{self.source.getrandbits(64):x}"
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


def main(minutes: int, folder: Path) -> None:
    """Write a line a minute."""
    folder.mkdir(parents=True, exist_ok=True)
    kept, lines = folder / "endurance.json", folder / "endurance.jsonl"
    if not kept.exists():
        settings = settings_of(columns=MIXED, hash_bits=18, budget=BUDGET, expected_rows=EXPECTED)
        kept.write_text(json.dumps({"tokens": make_service(folder, settings=settings)}))
    known = json.loads(kept.read_text())
    server = Server(SERVE, "serve", "--data", str(folder), "--port", "0")
    if "rate" not in known:
        known["rate"] = SHARE * saturated(server, known["tokens"])
        kept.write_text(json.dumps(known))
    done = len(lines.read_text().splitlines()) if lines.exists() else 0
    print(f"{known['rate']:.0f} rows a second, {done} minutes done", flush=True)
    for minute in range(done, minutes):
        sender = Load(server, known["tokens"], seed=minute)
        before = server.cpu()
        asyncio.run(sender.minute(known["rate"]))
        cuts = statistics.quantiles(sender.waited, n=100)
        line = {"minute": minute + 1, "rows": len(sender.waited), "answers": sender.answered}
        line |= {"p50_ms": round(cuts[49] * 1e3, 2), "p99_ms": round(cuts[98] * 1e3, 2)}
        line |= {"mb": round(megabytes(server), 1), "cpu": round(server.cpu() - before, 2)}
        with lines.open("a") as out:
            out.write(json.dumps(line) + "\n")
        print(json.dumps(line), flush=True)
    server.process.terminate()
    server.process.wait()


if __name__ == "__main__":
    main(int(sys.argv[1]), Path(sys.argv[2]))
