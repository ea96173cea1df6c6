"""Memory of the service as its log grows: a project of 2^18 features with 10,000 open questions.

A real server in a process of its own, fed batches of 1,000 mixed rows, which repeat after 20,000 (drawing them would
take longer than deciding them); its memory and the bytes on the disk are told at every 100,000 events. Stopped, it
goes on in the folder that it was given. With --labels every row is asked about and answered, and a checkpoint is
written every 4,000 events instead of 50,000: what the labels of an hour do to memory, in a minute.
Run: python bench/service_memory.py EVENTS [FOLDER] [--labels]
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent / "tests" / "tools")]

from service_bench import settings_of  # noqa: E402
from service_server import make_service  # noqa: E402

from service import MIXED, SERVE, Server, load, post, record  # noqa: E402

OPEN = 10_000  # questions that nobody answers
EVERY = 100_000
BATCHES = 20
KEY = "k------------"  # stands for the key of a request
ANSWERS = 100  # of one request
OFTEN = 4_000  # events from one checkpoint to the next
SERVE_AND_PACK = f"""
from steelyard.cli.service import UNUSED
from steelyard.deferred import deferred
with deferred(*UNUSED):  # as the command does it
    from steelyard.service.writer import group_commit
group_commit.CHECKPOINT_EVENTS = {OFTEN}
{SERVE}
"""


def megabytes(server: Server) -> float:
    """Memory that the process has now."""
    status = Path(f"/proc/{server.process.pid}/status").read_text()
    return int(status.partition("VmRSS:")[2].split()[0]) / 1024


def main(events: int, folder: Path, labels: bool) -> None:
    """Send rows until the log is so long."""
    folder.mkdir(parents=True, exist_ok=True)
    kept = folder / "tokens.json"
    if not kept.exists():
        settings = {"budget": events if labels else OPEN, "expected_rows": events, "columns": MIXED, "hash_bits": 18}
        settings |= {"query": "AskAll()", "pace": False}
        kept.write_text(json.dumps([make_service(folder, settings=settings_of(**settings)), 0]))
    tokens, done = json.loads(kept.read_text())
    server, source = serving(folder, labels), random.Random(done)
    print(f"{done:>10,} events: {megabytes(server):.0f} MB", flush=True)
    batches = [{"rows": [{"row": record(source, MIXED)} for _ in range(1000)]} for _ in range(BATCHES)]
    requests = [post(server, "/v1/p/decide/batch", batch, tokens["producer"], KEY) for batch in batches]
    while done < events:
        request = requests[done // 1000 % BATCHES].replace(KEY.encode(), f"k{done:012}".encode(), 1)
        (made,) = load(server, [request], 1)[1]
        done += 1000
        if labels:
            items = [decision["id"] for decision in json.loads(made)]
            load(server, answers(server, items, tokens["annotator"], source), 1)
            done += len(items)
        if done % EVERY == 0:
            kept.write_text(json.dumps([tokens, done]))
            size = sum(path.stat().st_size for path in folder.glob("service.sqlite*"))
            told = f"{megabytes(server):.0f} MB, {size / done:.0f} bytes an event of 24 mixed fields on the disk"
            print(f"{done:>10,} events: {told}", flush=True)
    server.stop()
    server = serving(folder, labels)
    print(f"started anew: {megabytes(server):.0f} MB")
    server.stop()


def serving(folder: Path, labels: bool) -> Server:
    """A server of this folder."""
    return Server(SERVE_AND_PACK if labels else SERVE, "serve", "--data", str(folder), "--port", "0")


def answers(server: Server, items: list[int], token: str, source: random.Random) -> list[bytes]:
    """Requests with a label drawn for each of these items."""
    drawn = [{"item": item, "label": source.choice(["good", "fraud"])} for item in items]
    parts = [drawn[n : n + ANSWERS] for n in range(0, len(drawn), ANSWERS)]
    return [post(server, "/v1/p/answers", part, token, f"a{part[0]['item']}") for part in parts]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("events", type=int)
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("--labels", action="store_true")
    options = parser.parse_args()
    folder = options.folder or Path(tempfile.mkdtemp(prefix="bench-memory-"))
    main(options.events, folder, options.labels)
