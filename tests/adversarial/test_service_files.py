"""What a server reads at its start may be a backup that somebody sent: states, models and tables that are forged."""

from __future__ import annotations

import io
import json
import os
import random
import resource
import zipfile
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import apsw
import numpy as np
import pytest
from safetensors.numpy import load, save
from service_bench import Bench, made_up, packed_earlier, settings_of

from steelyard.errors import InvalidInputError, StateError
from steelyard.service.commands.log import run_backup, run_restore
from steelyard.service.database.checkpoints import pack_state, unpack_state
from steelyard.service.replay.deciding import decide
from steelyard.service.replay.question_book import QUESTION_FIELDS
from steelyard.service.writer.champion_model import read_champion
from steelyard.service.writer.jobs import AnswerJob

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
SPARE = 200 << 20
FLIPS = 400


def used(folder: Path, **settings: Any) -> Bench:
    """A project with questions that are open, settled and learned from."""
    folder.mkdir(exist_ok=True)
    bench, source = (
        Bench(folder, settings_of(query="AskAll", pace=False, budget=40, **{"scale": "standard"} | settings)),
        random.Random(3),
    )
    for n in range(40):
        (made,) = bench.decide(made_up(source, n % 3 == 0))
        if n % 2:
            bench.run(AnswerJob("p", 2, answers=[(made.id, bench.labels[n % 3 == 1], None)]))
    return bench


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return pack_state(used(tmp_path_factory.mktemp("plain")).state)


@pytest.fixture(scope="module")
def earlier(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return packed_earlier(used(tmp_path_factory.mktemp("earlier")).state)


@pytest.fixture(scope="module")
def hashed(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return pack_state(used(tmp_path_factory.mktemp("hashed"), hash_bits=12, scale="none").state)


def with_head(raw: bytes, change: Callable[[dict[str, Any]], Any]) -> bytes:
    """The same state with another description."""
    arrays = load(raw)
    head = json.loads(arrays["head"].tobytes())
    change(head)
    return save(arrays | {"head": np.frombuffer(json.dumps(head).encode(), np.uint8)})


def with_text(raw: bytes, text: bytes) -> bytes:
    return save(load(raw) | {"head": np.frombuffer(text, np.uint8)})


def with_arrays(raw: bytes, **changes: Any) -> bytes:
    return save(load(raw) | {name.replace("__", "|").replace("_", "."): a for name, a in changes.items()})


def put(*path: Any) -> Callable[[dict[str, Any]], Any]:
    """Set what stands at a path of names and positions; its last entry is the value."""
    *way, last, value = path

    def change(head: dict[str, Any]) -> None:
        for step in way:
            head = head[step]
        head[last] = value

    return change


def first_row(raw: bytes) -> str:
    return next(name for name in load(raw) if name.startswith("row."))


def with_length(raw: bytes, length: float) -> bytes:
    """A learner of an array that is written by its differences, of any length."""
    arrays = load(raw)
    arrays.pop("learner.weights", None)
    extra = {"at": np.zeros(1, np.int64), "values": np.ones(1), "rest": np.array([0.0, length])}
    return save(arrays | {f"learner.weights|{part}": array for part, array in extra.items()})


PLAIN: dict[str, Callable[[bytes], bytes]] = {
    "nothing": lambda raw: b"",
    "half": lambda raw: raw[: len(raw) // 2],
    "200,000 lists": lambda raw: with_text(raw, b"[" * 200_000),
    "no description": lambda raw: with_text(raw, b"7"),
    "no bytes of text": lambda raw: with_text(raw, b"\xff\xfe"),
    "10**12 weights": lambda raw: with_length(raw, 1e12),
    "infinitely many weights": lambda raw: with_length(raw, np.inf),
    "NaN weights": lambda raw: with_length(raw, np.nan),
    "half a weight": lambda raw: with_length(raw, 2.5),
    "fewer than no weights": lambda raw: with_length(raw, -1.0),
    "many weights that the settings do not need": lambda raw: with_length(raw, 1e6),
    "columns without end": lambda raw: with_head(raw, put("plain", "settings", "hash_bits", 40)),
    "another number of columns": lambda raw: with_head(raw, put("plain", "settings", "columns", {"x": "number"})),
    "other classes": lambda raw: with_head(raw, put("plain", "settings", "classes", ["a", "b", "c"])),
    "a rule that is code": lambda raw: with_head(raw, put("plain", "settings", "update", "__import__('os')")),
    "a learner's rule that is code": lambda raw: with_head(
        raw, put("learner", "params", {"update": {"use": "os.system"}})
    ),
    "a row of another width": lambda raw: save(load(raw) | {first_row(raw): np.zeros(8 * 99, np.uint8)}),
    "a row of no whole number": lambda raw: save(load(raw) | {first_row(raw): np.zeros(13, np.uint8)}),
    "a budget below zero": lambda raw: with_head(raw, put("plain", "budget", [10, -5, 0])),
    "a budget of text": lambda raw: with_head(raw, put("plain", "budget", ["x", 0, 0])),
    "a sequence of text": lambda raw: with_head(raw, put("plain", "seq", "x")),
    "a champion without digest": lambda raw: with_head(raw, put("plain", "champion", ["zz", "x", 0, 0])),
    "a shadow that is not there": lambda raw: with_head(raw, put("plain", "shadows", [[1, "AROW()", 0, 0, False]])),
    "a scaler of another kind": lambda raw: with_head(raw, put("scaler", {"format": "x"})),
    "a scaler of another width": lambda raw: with_arrays(
        raw, **{f"scaler_{name}": np.zeros(9) for name in ("counts", "mean", "squares")}
    ),
}


EARLIER: dict[str, Callable[[bytes], bytes]] = {
    "a question of a class beyond": lambda raw: with_head(raw, put("plain", "questions", 0, 3, 7)),
    "an answer below zero": lambda raw: with_head(raw, put("plain", "questions", 0, 3, -1)),
    "a label beyond": lambda raw: with_head(raw, put("plain", "training", 0, 1, 9)),
    "a label of 2**70": lambda raw: with_head(raw, put("plain", "training", 0, 1, 2**70)),
    "a question that expires at 2**70": lambda raw: with_head(raw, put("plain", "questions", 0, 1, 2**70)),
    "a person of 2**70": lambda raw: with_head(raw, put("plain", "questions", 0, 10, [[2**70, 0, 5]])),
    "an example of round 2**70": lambda raw: with_head(raw, put("plain", "training", 0, 2, 2**70)),
    "a question before the one before it": lambda raw: with_head(raw, put("plain", "questions", 1, 0, 0)),
    "a question that is text": lambda raw: with_head(raw, put("plain", "questions", 0, "evil")),
    "a question of an example that is not there": lambda raw: with_head(raw, put("plain", "questions", 1, 9, 10**6)),
}


def with_field(raw: bytes, name: str, value: Any, place: int = 0) -> bytes:
    """A checkpoint one of whose questions says something else."""
    kinds = np.dtype([(field, kind if kind == "?" else f"<{kind}") for field, kind in QUESTION_FIELDS])
    rows = load(raw)["questions"].view(kinds).copy()
    rows[name][place] = value
    return save(load(raw) | {"questions": rows.view(np.uint8)})


PACKED: dict[str, Callable[[bytes], bytes]] = {
    "an answer beyond": lambda raw: with_field(raw, "answer", 2),
    "an answer below zero": lambda raw: with_field(raw, "answer", -1),
    "a label beyond": lambda raw: with_field(raw, "label", 7, 1),
    "a label below none": lambda raw: with_field(raw, "label", -2, 1),
    "no label of a settled question": lambda raw: with_field(raw, "label", -1, 1),
    "a label of an open question": lambda raw: with_field(raw, "label", 1),
    "a vote beyond": lambda raw: with_field(raw, "voted", 9, 1),
    "a state that is none": lambda raw: with_field(raw, "state", 4),
    "a settled question that waits": lambda raw: with_field(with_field(raw, "label", -1, 1), "state", 0, 1),
    "an open question that is closed": lambda raw: with_field(raw, "state", 2),
    "an example that is not there": lambda raw: with_field(raw, "n", 10**6, 1),
    "an item that comes again": lambda raw: with_field(raw, "item", 2, 1),
    "an item below zero": lambda raw: with_field(raw, "item", -3),
    "a score that is none": lambda raw: with_field(raw, "score", np.nan),
    "a chance of nothing": lambda raw: with_field(raw, "chance", 0.0),
    "a chance above one": lambda raw: with_field(raw, "chance", 1.5),
    "more votes that are not there": lambda raw: with_field(raw, "votes", 2),
    "fewer votes than none": lambda raw: with_field(raw, "votes", -1),
    "half a question": lambda raw: save(load(raw) | {"questions": load(raw)["questions"][:-1]}),
    "half an example": lambda raw: save(load(raw) | {"training": load(raw)["training"][:-1]}),
    "no examples": lambda raw: save(load(raw) | {"training": np.zeros(0, np.uint8)}),
    "an example of a class beyond": lambda raw: save(
        load(raw) | {"training": np.frombuffer(b"\x01" * len(load(raw)["training"]), np.uint8)}
    ),
    "a vote of a class beyond": lambda raw: with_head(raw, put("plain", "more_votes", [[2, [[1, 9, 3], [2, 0, 4]]]])),
    "a shadow's answer beyond": lambda raw: with_head(raw, put("plain", "others", [[2, [[1, 9]]]])),
}


def sparse_row(columns: list[int]) -> Any:
    packed = np.array(columns, "<i4").tobytes() + np.ones(len(columns), "<f8").tobytes()
    return np.frombuffer(packed, np.uint8)


HASHED: dict[str, Callable[[bytes], bytes]] = {
    "a column beyond": lambda raw: save(load(raw) | {first_row(raw): sparse_row([1, 10**9])}),
    "a column below zero": lambda raw: save(load(raw) | {first_row(raw): sparse_row([-5])}),
    "a place beyond": lambda raw: with_arrays(raw, learner_weights__at=np.array([1 << 40] * 2)),
}


def test_forged_states_are_refused_in_one_line(plain: bytes, earlier: bytes, hashed: bytes) -> None:
    limit = resource.getrlimit(resource.RLIMIT_AS)
    size = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (size + SPARE, limit[1]))
    try:
        for raw, attacks in ((plain, PLAIN), (plain, PACKED), (earlier, PLAIN | EARLIER), (hashed, HASHED)):
            assert unpack_state(raw).questions
            for name, attack in attacks.items():
                forged = attack(raw)
                with pytest.raises(StateError, match="a checkpoint must be whole") as caught:
                    unpack_state(forged)
                assert "\n" not in str(caught.value), name
                assert "MemoryError" not in str(caught.value), name
    finally:
        resource.setrlimit(resource.RLIMIT_AS, limit)


def test_a_flipped_bit_is_refused_or_gives_a_state_that_goes_on(plain: bytes, hashed: bytes) -> None:
    """No checksum here, as in a forged store: whatever is let in must be decided with, without a crash."""
    rng = np.random.default_rng(5)
    for raw in (plain, hashed):
        for _ in range(FLIPS // 2):
            changed = bytearray(raw)
            changed[rng.integers(len(raw))] ^= 1 << rng.integers(8)
            try:
                state = unpack_state(bytes(changed))
            except StateError:
                continue
            with np.errstate(all="ignore"):
                try:
                    decide(state, 10**6, [0.5, -0.5], 0)
                except (StateError, InvalidInputError):
                    continue


def test_a_forged_or_swapped_checkpoint_does_not_start_a_project(tmp_path: Path) -> None:
    """With a digest that fits, as whoever writes the table can make it."""
    bench, other = used(tmp_path / "a"), used(tmp_path / "b", columns={"y": "number", "x": "number"})
    digest = bench.state.digest()
    honest = pack_state(bench.state)
    sql = "UPDATE checkpoint SET body = ?, sha256 = ?"
    bench.store.begin()
    bench.project.save_checkpoint()
    bench.store.commit()
    earlier = with_head(honest, put("plain", "seq", bench.state.seq - 1))
    for body in (PLAIN["200,000 lists"](honest), PLAIN["10**12 weights"](honest), earlier, pack_state(other.state)):
        bench.store.connection.execute(sql, (body, sha256(body).digest()))
        with pytest.raises(StateError, match="checkpoint"):
            bench.restart()
    bench.store.connection.execute(sql, (honest, sha256(honest).digest()))
    bench.restart()
    assert bench.state.digest() == digest


EVIL = "CREATE TRIGGER evil AFTER INSERT ON event BEGIN DELETE FROM token; END"


def test_a_backup_of_something_else_is_not_restored(tmp_path: Path) -> None:
    bench = used(tmp_path / "a")
    bench.store.close()
    copy = tmp_path / "copy.sqlite"
    assert run_backup(tmp_path / "a", copy) == 0
    honest = copy.read_bytes()
    forged = {"noise": os.urandom(5000), "nothing": b"", "half": honest[: len(honest) // 2]}
    for name, change in {"trigger": EVIL, "version": "PRAGMA user_version = 99", "table": "DROP TABLE answer"}.items():
        (tmp_path / name).write_bytes(honest)
        connection = apsw.Connection(str(tmp_path / name))
        connection.execute(change)
        connection.close()
        forged[name] = (tmp_path / name).read_bytes()
    for name, content in forged.items():
        copy.write_bytes(content)
        with pytest.raises(StateError, match=r"copy\.sqlite must (be|hold)"):
            run_restore(copy, tmp_path / f"restored-{name}")
        assert not (tmp_path / f"restored-{name}").exists()
    copy.write_bytes(honest)
    assert run_restore(copy, tmp_path / "restored") == 0


def bomb(size: int) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("model.json", b'{"format":2,"kind":"Model/1","params":{},"arrays":{"a":"0"},"parts":[]}')
        with archive.open("arrays.safetensors", "w") as member:
            for _ in range(size >> 20):
                member.write(bytes(1 << 20))
    return made.getvalue()


@pytest.mark.parametrize("model", [b"", b"PK", b"\0" * 100, bomb(300 << 20)], ids=["none", "two", "zeros", "bomb"])
def test_a_champion_that_is_no_model_is_refused(model: bytes) -> None:
    with pytest.raises(InvalidInputError, match="the model must") as caught:
        read_champion(model, settings_of())
    assert "steelyard-" not in str(caught.value)  # the folder it was read from
