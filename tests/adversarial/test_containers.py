"""Tricks with zips, descriptions and tensors: each is refused in one line, within memory and time."""

from __future__ import annotations

import io
import json
import os
import resource
import struct
import subprocess
import sys
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from limited import limit_time
from safetensors.numpy import save

from steelyard import OnlineClassifier, StateError, load_model
from steelyard.files import read_container

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
LIMIT = 16 << 20  # what a file may unpack to
SPARE = 200 << 20  # what reading may take beside it
SECONDS = 20  # of processor time: hang protection
JSON, ARRAYS = "model.json", "arrays.safetensors"


def honest() -> tuple[dict[str, Any], bytes]:
    """The two members of a sound file."""
    made = Path(f"/tmp/honest-{os.getpid()}")
    OnlineClassifier().fit(np.eye(3), [0, 1, 0]).save(made)
    try:
        with zipfile.ZipFile(made) as archive:
            return json.loads(archive.read(JSON)), archive.read(ARRAYS)
    finally:
        made.unlink()


SAID, CELLS = honest()
TEXT = json.dumps(SAID).encode()
Members = list[tuple[str | zipfile.ZipInfo, bytes]]


def zipped(members: Members, packing: int = zipfile.ZIP_DEFLATED) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", packing) as archive, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a member twice is what is wanted
        for name, content in members:
            archive.writestr(name, content, packing)
    return made.getvalue()


def described(**changes: Any) -> bytes:
    return zipped([(JSON, json.dumps(SAID | changes).encode()), (ARRAYS, CELLS)])


def with_text(text: bytes) -> bytes:
    return zipped([(JSON, text), (ARRAYS, CELLS)])


def tensors(header: Any, cells: bytes = b"", length: int | None = None) -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    return with_arrays(struct.pack("<Q", len(text) if length is None else length) + text + cells)


def with_arrays(content: bytes) -> bytes:
    return zipped([(JSON, TEXT), (ARRAYS, content)])


def about(dtype: str, shape: list[Any], start: Any, stop: Any) -> dict[str, Any]:
    return {"dtype": dtype, "shape": shape, "data_offsets": [start, stop]}


def linked() -> bytes:
    member = zipfile.ZipInfo(JSON)
    member.create_system, member.external_attr = 3, 0o120777 << 16
    return zipped([(member, b"/etc/passwd"), (ARRAYS, CELLS)])


def patched(offset_of: bytes, at: int, new: bytes, content: bytes | None = None, last: bool = False) -> bytes:
    """A sound file with some bytes of one of its records replaced."""
    raw = bytearray(with_text(TEXT) if content is None else content)
    place = (raw.rindex if last else raw.index)(offset_of) + at
    raw[place : place + len(new)] = new
    return bytes(raw)


def overlapping() -> bytes:
    """Both members of the list begin at the same local header."""
    raw = bytearray(with_text(TEXT))
    second = raw.rindex(b"PK\x01\x02")
    raw[second + 42 : second + 46] = bytes(4)
    return bytes(raw)


LOCAL, CENTRAL, END = b"PK\x03\x04", b"PK\x01\x02", b"PK\x05\x06"
ATTACKS: dict[str, Callable[[], bytes]] = {
    "a member twice": lambda: zipped([(JSON, TEXT), (ARRAYS, CELLS), (JSON, TEXT)]),
    "two descriptions, no arrays": lambda: zipped([(JSON, TEXT), (JSON, TEXT)]),
    "a third member": lambda: zipped([(JSON, TEXT), (ARRAYS, CELLS), ("sitecustomize.py", b"boom")]),
    "a member by another path": lambda: zipped([("./model.json", TEXT), (ARRAYS, CELLS)]),
    "a member above the folder": lambda: zipped([("../model.json", TEXT), (ARRAYS, CELLS)]),
    "a member from the root": lambda: zipped([("/model.json", TEXT), (ARRAYS, CELLS)]),
    "another case": lambda: zipped([("MODEL.JSON", TEXT), (ARRAYS, CELLS)]),
    "a name with a null": lambda: patched(JSON.encode(), 5, b"\0"),
    "a symbolic link": linked,
    "bzip2": lambda: zipped([(JSON, TEXT), (ARRAYS, CELLS)], zipfile.ZIP_BZIP2),
    "lzma": lambda: zipped([(JSON, TEXT), (ARRAYS, CELLS)], zipfile.ZIP_LZMA),
    "an encrypted member": lambda: patched(CENTRAL, 8, b"\x01\0"),
    "an unknown packing": lambda: patched(CENTRAL, 10, b"\x63\0"),
    "another checksum": lambda: patched(CENTRAL, 16, b"\1\2\3\4"),
    "an offset behind the end": lambda: patched(CENTRAL, 42, b"\xff\xff\xff\x7f"),
    "members that overlap": overlapping,
    "something before the zip": lambda: b"#!/bin/sh\ntouch canary\n" + with_text(TEXT),
    "something behind the zip": lambda: with_text(TEXT) + b"\0" * 50,
    "a comment": lambda: patched(END, 20, b"\x05\0") + b"hello",
    "a zip in the zip": lambda: zipped([(JSON, with_text(TEXT)), (ARRAYS, CELLS)]),
    "a name twice in JSON": lambda: with_text(TEXT[:-1] + b', "kind": "Model/1"}'),
    "a parameter twice in JSON": lambda: with_text(TEXT.replace(b'"params": {', b'"params": {"x": 1, "x": 2, ', 1)),
    "NaN in JSON": lambda: with_text(TEXT.replace(b'"params": {', b'"params": {"x": NaN, ', 1)),
    "infinity in JSON": lambda: with_text(TEXT.replace(b'"params": {', b'"params": {"x": 1e999, ', 1)),
    "5,000 digits in JSON": lambda: with_text(
        TEXT.replace(b'"params": {', b'"params": {"x": ' + b"9" * 5000 + b", ", 1)
    ),
    "half a surrogate in JSON": lambda: described(kind="\ud800"),
    "half a surrogate in a parameter": lambda: described(params=SAID["params"] | {"labels": "\ud800"}),
    "half a surrogate in a name of a column": lambda: described(
        params=SAID["params"] | {"feature_names": ["a", "b", "\udfff"]}
    ),
    "half a surrogate in a name of a parameter": lambda: described(params=SAID["params"] | {"\ud800": 1}),
    "UTF-16": lambda: with_text(json.dumps(SAID).encode("utf-16")),
    "a mark of byte order": lambda: with_text(b"\xef\xbb\xbf" + TEXT),
    "a list for the description": lambda: with_text(b"[1, 2]"),
    "a kind that is a list": lambda: described(kind=["OnlineClassifier/1"]),
    "a kind of a later version": lambda: described(kind="OnlineClassifier/999"),
    "a kind by its module": lambda: described(kind="steelyard.online.OnlineClassifier"),
    "a kind with a control character": lambda: described(kind="\x1b[2J"),
    "format true": lambda: described(format=True),
    "format 2.0 as text": lambda: described(format="2"),
    "a name it does not know": lambda: described(__reduce__=["os.system", "true"]),
    "the same part for ever": lambda: described(parts=[SAID]),
    "an array used twice": lambda: described(arrays=dict.fromkeys(SAID["arrays"], "0")),
    "an array that is not there": lambda: described(arrays={"weights": "99"}),
    "an array by a number": lambda: described(arrays={"weights": 0}),
    "no arrays at all": lambda: with_arrays(b""),
    "a header of all bytes": lambda: with_arrays(b"\xff" * 64),
    "a header longer than the file": lambda: tensors({}, length=1 << 62),
    "a header that is a list": lambda: tensors([]),
    "an array twice in the header": lambda: tensors(b'{"0": 1, "0": 2}'),
    "an unknown dtype": lambda: tensors({"0": about("O", [1], 0, 8)}, bytes(8)),
    "a dtype of half precision": lambda: tensors({"0": about("BF16", [4], 0, 8)}, bytes(8)),
    "arrays that overlap": lambda: tensors({"0": about("U8", [8], 0, 8), "1": about("U8", [8], 4, 12)}, bytes(12)),
    "a hole between arrays": lambda: tensors({"0": about("U8", [4], 0, 4), "1": about("U8", [4], 8, 12)}, bytes(12)),
    "an end before its start": lambda: tensors({"0": about("U8", [4], 4, 0)}, bytes(4)),
    "a shape below zero": lambda: tensors({"0": about("U8", [-1, -4], 0, 4)}, bytes(4)),
    "a shape that overflows": lambda: tensors({"0": about("F64", [1 << 39, 1 << 39], 0, 0)}),
    "a shape of 2**39 and nothing": lambda: tensors({"0": about("F64", [1 << 39, 0], 0, 0)}),
    "a shape of fractions": lambda: tensors({"0": about("U8", [4.0], 0, 4)}, bytes(4)),
    "a shape of truths": lambda: tensors({"0": about("U8", [True] * 4, 0, 1)}, bytes(1)),
    "ten dimensions": lambda: tensors({"0": about("U8", [1] * 10, 0, 1)}, bytes(1)),
    "truths that are neither": lambda: tensors({"0": about("BOOL", [4], 0, 4)}, b"\0\1\2\xff"),
    "20,000 arrays": lambda: with_arrays(save({str(k): np.zeros(0) for k in range(20_000)})),
    "a bomb of spaces": lambda: with_text(b" " * (40 << 20)),
    "a bomb of cells": lambda: tensors({"0": about("U8", [40 << 20], 0, 40 << 20)}, bytes(40 << 20)),
    "a bomb of names": lambda: with_text(b'{"' + b'a":{"' * 1_000_000),
    "a bomb of texts": lambda: with_text(b'{"a": [' + b'"",' * 3_000_000 + b'""]}'),
    "nothing": lambda: b"",
    "an end alone": lambda: END + bytes(18),
}


def in_child(work: Callable[[], str]) -> tuple[int, str]:
    """What the work says, in a process with little memory and time."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            limit_time(SECONDS)
            size = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
            resource.setrlimit(resource.RLIMIT_AS, (size + LIMIT + SPARE,) * 2)
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            os.write(writing, work().encode("utf-8", "replace"))
            os._exit(0)
        except BaseException as error:
            os.write(writing, f"{type(error).__name__}: {error}"[:2000].encode("utf-8", "replace"))
            os._exit(1)
    os.close(writing)
    with open(reading, "rb") as pipe:
        said = pipe.read().decode()
    return os.waitpid(child, 0)[1], said


def refusal(path: Path) -> str:
    try:
        load_model(path, max_bytes=LIMIT)
    except StateError as error:
        return f"refused: {error}"
    return "loaded"


@pytest.mark.parametrize("attack", ATTACKS)
def test_it_is_refused_in_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, attack: str) -> None:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "evil.steelyard"
    path.write_bytes(ATTACKS[attack]())
    status, said = in_child(lambda: refusal(path))
    assert status == 0, said
    assert said.startswith("refused: ")
    assert "evil.steelyard" in said
    assert "\n" not in said
    assert "\x1b" not in said
    assert [p.name for p in tmp_path.iterdir()] == ["evil.steelyard"]


@pytest.mark.parametrize("field", [20, 24])
def test_a_size_that_is_only_claimed_costs_nothing(tmp_path: Path, field: int) -> None:
    """What is there is read; two gigabytes that are not are neither waited nor asked for."""
    path = tmp_path / "evil.steelyard"
    path.write_bytes(patched(CENTRAL, field, b"\xff\xff\xff\x7f"))
    status, said = in_child(lambda: refusal(path))
    assert status == 0, said
    assert said == "loaded" or said.startswith("refused: ")


PEAK = """
import re, sys
from steelyard import StateError, load_model
try:
    load_model(sys.argv[1], max_bytes=int(sys.argv[2]))
except StateError as error:
    print(re.search(r"VmHWM:\\s*(\\d+)", open("/proc/self/status").read())[1], error)
"""


def bomb_claiming(path: Path, size: int, claimed: int) -> Path:
    """Zeros of a size, and the size that both headers of the member claim."""
    path.write_bytes(tensors({"0": about("U8", [size], 0, size)}, bytes(size)))
    raw = bytearray(path.read_bytes())
    for mark, at in ((LOCAL, 22), (CENTRAL, 24)):
        place = raw.rindex(mark) + at
        raw[place : place + 4] = struct.pack("<L", claimed)
    path.write_bytes(raw)
    return path


@pytest.mark.parametrize("claimed", [1 << 31, (72 << 20) + 72, LIMIT * 4 - len(TEXT), 100])
def test_a_bomb_takes_no_more_memory_than_the_limit(tmp_path: Path, claimed: int) -> None:
    """The whole process, from its start: what is too large by its own claim is not unpacked, and libraries wait."""
    limit = LIMIT * 4
    path = bomb_claiming(tmp_path / "bomb.steelyard", 72 << 20, claimed)
    assert path.stat().st_size < 100_000
    told = subprocess.run([sys.executable, "-c", PEAK, path, str(limit)], capture_output=True, text=True, check=True)
    peak, _, said = told.stdout.partition(" ")
    assert "bomb.steelyard" in said
    assert int(peak) << 10 <= (limit if claimed > limit else limit + (SPARE >> 1)), told.stdout


def test_the_file_that_all_are_made_of_is_sound(tmp_path: Path) -> None:
    path = tmp_path / "m"
    path.write_bytes(with_text(TEXT))
    assert read_container(path).kind == SAID["kind"]
    assert isinstance(load_model(path), OnlineClassifier)


def test_pipes_devices_folders_and_links_to_themselves_are_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "folder").mkdir()
    for path in (tmp_path / "pipe", tmp_path / "loop", tmp_path / "folder", Path("/dev/zero"), Path("/dev/full")):
        status, said = in_child(lambda path=path: refusal(path))
        assert status == 0, said
        assert said.startswith("refused: "), said
