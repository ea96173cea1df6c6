"""kill -9 under load: nothing that was answered is lost or applied twice, and the budget is kept."""

from __future__ import annotations

import os
import random
import signal
import threading
import time

from service_bench import made_up, recount, settings_of
from service_server import ServerProcess, free_port, make_service

from steelyard.client import Client, ServiceError

KILLS = int(os.environ.get("STEELYARD_SERVICE_KILLS", "20"))
THREADS = 4
PATIENCE = 600.0  # seconds: on a busy machine a start takes long


class Load:
    """Sends rows and answers without end, and notes what was answered."""

    def __init__(self, url, tokens):
        self.url, self.tokens = url, tokens
        self.stopping = threading.Event()
        self.decided: dict[str, dict] = {}
        self.answered: dict[int, str] = {}
        self.refused: set[str] = set()
        self.threads = [threading.Thread(target=self._produce, args=(n,)) for n in range(THREADS)]
        self.threads.append(threading.Thread(target=self._annotate))

    def _produce(self, number):
        source, n = random.Random(number), 0
        with Client(self.url, self.tokens["producer"], "p", patience=PATIENCE) as client:
            while not self.stopping.is_set():
                n += 1
                name = f"{number}-{n}"
                if n % 5:
                    self.decided[name] = client.decide(made_up(source, n % 3 == 0), id=name)
                else:
                    rows = [made_up(source, False) for _ in range(7)]
                    names = [f"{name}.{i}" for i in range(7)]
                    self.decided |= dict(zip(names, client.decide_many(rows, ids=names), strict=True))

    def _annotate(self):
        with Client(self.url, self.tokens["annotator"], "p", patience=PATIENCE) as client:
            while not self.stopping.is_set():
                for asked in client.questions(5):
                    label = "fraud" if asked["row"]["x"] > 1 else "good"
                    try:
                        client.answer(asked["item"], label)
                        self.answered[asked["item"]] = label
                    except ServiceError as error:
                        self.refused.add(error.error)
                time.sleep(0.01)

    def wait_for_more(self, count):
        """Until so many more rows were answered: a server that is killed before it answers anything shows nothing."""
        wanted, end = len(self.decided) + count, time.monotonic() + PATIENCE
        while len(self.decided) < wanted and time.monotonic() < end:
            time.sleep(0.002)
        assert len(self.decided) >= wanted

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *error):
        self.stopping.set()
        for thread in self.threads:
            thread.join(180)


def test_kill_minus_nine(folder):
    settings = settings_of(budget=100_000, expected_rows=300_000)
    tokens = make_service(folder, settings=settings)
    source, port = random.Random(0), free_port()
    server = ServerProcess(folder, port)
    assert server.start()
    with Load(server.url, tokens) as load:
        for _ in range(KILLS):
            load.wait_for_more(source.randrange(1, 60))
            time.sleep(source.uniform(0.0, 0.05))
            assert server.kill() == -signal.SIGKILL
            assert server.start()
        time.sleep(0.3)
    assert server.kill(signal.SIGTERM) == 0
    server.close()
    decisions, labels, externals = recount(folder)
    assert len(load.decided) > KILLS
    assert load.refused <= {"already_answered"}
    for name, said in load.decided.items():
        assert externals[name] == said["id"], "answered and lost"
        logged = decisions[said["id"]]
        assert (logged.t, logged.score, logged.chance, logged.ask) == tuple(
            said[key] for key in ("t", "score", "chance", "ask")
        )
    assert {item: ("good", "fraud")[labels[item]] for item in load.answered} == load.answered
    assert [d.t for d in decisions.values()] == list(range(len(decisions)))
