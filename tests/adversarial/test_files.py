"""Hostile data and costs files: a result or a typed error, in bounded work, never a crash.

Growth is tested by counted work: bytes taken from the source, never seconds.
"""

import gzip
import io
import json
import os
import tempfile
import tomllib
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from steelyard import (
    CSOGD2,
    Costs,
    CostsError,
    DataFileError,
    Dataset,
    InvalidInputError,
    OnlineClassifier,
    Parts,
    StateError,
    SteelyardError,
    iter_chunks,
    read_table,
)
from steelyard.data import csv_records, files
from steelyard.models.records import RecordEncoder
from steelyard.models.stream_state import StreamState
from steelyard.reproduction.recipe import Recipe, build, read_recipe
from steelyard.streaming.decision_log import LogMark
from steelyard.streaming.session import Session

MAX_BYTES = 1 << 20
EXAMPLES = int(os.environ.get("STEELYARD_EXAMPLES", "60"))
QUICK = settings(max_examples=EXAMPLES, suppress_health_check=[HealthCheck.too_slow])


def outcome(read: Callable[[], Any]) -> Any:
    """The result, or the error if it is one that we word ourselves, in one line."""
    caught: SteelyardError | None = None
    try:
        return read()
    except SteelyardError as error:
        caught = error
    assert "\n" not in str(caught)
    assert len(str(caught)) < 2000
    return caught


def rows_of(result: Any) -> int | None:
    return None if isinstance(result, Exception) else sum(chunk.X.shape[0] for chunk in result)


def check_both_readers(content: bytes, format: str, **options: Any) -> None:
    """Whole and in chunks: each gives rows or a typed error, and where both give rows they give the same number."""
    whole = outcome(lambda: [read_table(io.BytesIO(content), format=format, max_bytes=MAX_BYTES, **options)])
    chunked = outcome(
        lambda: list(iter_chunks(io.BytesIO(content), rows=7, format=format, max_bytes=MAX_BYTES, **options))
    )
    if not isinstance(whole, Exception) and not isinstance(chunked, Exception):
        assert rows_of(whole) == rows_of(chunked)


def damaged(texts: st.SearchStrategy[bytes]) -> st.SearchStrategy[bytes]:
    """Well-formed text with some bytes put in somewhere, or cut off."""
    return st.tuples(texts, st.binary(max_size=4), st.integers(0, 10_000), st.booleans()).map(
        lambda t: (
            t[0][: t[2] % (len(t[0]) + 1)] + t[1] + (b"" if t[3] and len(t[1]) > 2 else t[0][t[2] % (len(t[0]) + 1) :])
        )
    )


cells = st.one_of(
    st.integers(-(10**20), 10**20).map(str),
    st.floats().map(repr),
    st.text(alphabet="ab ,;\"'\\{}%@?\t\x00é\ud7ff", max_size=6),
    st.sampled_from(["", "?", "NA", "1e999", "-1e400", '"x\ny"', "0x10", "1_0", "９", "inf"]),
)
csv_texts = st.lists(st.lists(cells, min_size=1, max_size=4).map(",".join), max_size=8).map("\n".join).map(str.encode)
values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-(10**30), 10**30), st.floats(), st.text(max_size=4)),
    lambda inner: st.one_of(st.lists(inner, max_size=2), st.dictionaries(st.text(max_size=2), inner, max_size=2)),
    max_leaves=3,
)
json_texts = (
    st.lists(st.dictionaries(st.sampled_from(["a", "b", "y", ""]), values, max_size=4).map(json.dumps), max_size=6)
    .map("\n".join)
    .map(str.encode)
)
attributes = st.sampled_from(["real", "{0, 1}", "{'a b', c}", "string", "{", "date", "numeric", "{a,a}"])
arff_texts = (
    st.tuples(
        st.lists(st.tuples(st.sampled_from(["a", "b", "'c d'", "class"]), attributes), max_size=4),
        st.lists(st.one_of(st.lists(cells, min_size=1, max_size=4).map(",".join), st.just("{0 1, 1 c}")), max_size=6),
    )
    .map(lambda t: "@relation r\n" + "".join(f"@attribute {n} {k}\n" for n, k in t[0]) + "@data\n" + "\n".join(t[1]))
    .map(str.encode)
)
pairs = st.tuples(st.integers(0, 10**20), cells).map(lambda t: f"{t[0]}:{t[1]}")
libsvm_texts = (
    st.lists(st.tuples(cells, st.lists(pairs, max_size=3)).map(lambda t: " ".join([t[0], *t[1]])), max_size=6)
    .map("\n".join)
    .map(str.encode)
)


@QUICK
@given(damaged(csv_texts), st.sampled_from(["csv", "tsv", "whitespace"]), st.sampled_from([None, "a", 0]))
@example(b'a,y\n"\n' + b"1,2\n" * 3, "csv", None)
@example(b"a,b\n1,2\r3,4\n", "csv", None)
@example(b"\xef\xbb\xbf\n\x00", "csv", None)
@example(b"\xef\xbb\xbf \n \n", "whitespace", 0)
@example(b"\xef\xbb\xbf\r", "tsv", "a")
@example(b'"x\ny",b\n1,2\n', "csv", "a")
@example(b'"x\ny",b\n' + b"1,2\n" * 2000 + b"1e999,2\n", "csv", None)
def test_delimited_text(text: bytes, format: str, target: Any) -> None:
    check_both_readers(text, format, target=target)


@QUICK
@given(damaged(json_texts), st.sampled_from([None, "y"]))
@example(b'{"a": ' + b"[" * 900 + b"]" * 900 + b"}", None)
@example(b'{"a": ' + b"9" * 5000 + b"}", None)
@example(b'{"a": "\\ud800", "y": 1}', "y")
@example(b'{"y": 1e400}', "y")
@example(b'{"y": 100000000000000000000000}', "y")
def test_json_lines(text: bytes, target: str | None) -> None:
    check_both_readers(text, "jsonl", target=target)


@QUICK
@given(damaged(arff_texts))
def test_arff(text: bytes) -> None:
    check_both_readers(text, "arff")


@QUICK
@given(damaged(libsvm_texts), st.sampled_from([None, 5]))
@example(b"1 999999999999999999:1\n", None)
@example(b"1 4000000000:1\n", None)
def test_libsvm(text: bytes, n_features: int | None) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.svm"
        path.write_bytes(text)
        whole = outcome(lambda: read_table(path, n_features=n_features, max_bytes=MAX_BYTES))
        chunked = outcome(lambda: list(iter_chunks(path, rows=7, n_features=n_features, max_bytes=MAX_BYTES)))
    if isinstance(whole, Dataset):
        assert whole.X.shape[1] <= 2**31 - 1
        assert rows_of(chunked) == whole.X.shape[0]
    else:
        assert isinstance(chunked, Exception)


def parquet_file(kind: str) -> bytes:
    pa = pytest.importorskip("pyarrow")
    rng = np.random.default_rng(0)
    table = pa.table(
        {
            "a": rng.normal(size=300),
            "b": rng.integers(0, 9, 300),
            "t": pa.array(["u", None, "w"] * 100).dictionary_encode(),
            "y": ["p", "q", "q"] * 100,
        }
    )
    out = io.BytesIO()
    if kind == "arrow":
        with pa.ipc.new_file(out, table.schema) as file:
            file.write_table(table, 50)
    else:
        pytest.importorskip("pyarrow.parquet").write_table(table, out, write_page_checksum=True, row_group_size=100)
    return out.getvalue()


WHOLE = {kind: parquet_file(kind) for kind in ("parquet", "arrow")}


@QUICK
@given(
    st.sampled_from(["parquet", "arrow"]),
    st.lists(st.tuples(st.integers(0, 10**6), st.integers(1, 255)), min_size=1, max_size=3),
    st.integers(0, 40),
)
def test_damaged_parquet_and_arrow(kind: str, flips: list[tuple[int, int]], cut: int) -> None:
    content = bytearray(WHOLE[kind])
    for at, bits in flips:
        content[at % len(content)] ^= bits
    check_both_readers(bytes(content[: len(content) - cut]), kind, target="y")


@pytest.mark.parametrize("packed", [bytes, gzip.compress])
@pytest.mark.parametrize("format", ["csv", "jsonl", "arff", "libsvm"])
def test_no_more_is_read_than_max_bytes(format: str, packed: Callable[[bytes], bytes]) -> None:
    line = {"csv": b"1,2\n", "jsonl": b'{"a": 1}\n', "arff": b"1,2\n", "libsvm": b"1 1:1\n"}[format]
    head = {"csv": b"a,b\n", "arff": b"@relation r\n@attribute a real\n@attribute b real\n@data\n"}.get(format, b"")
    content = packed(head + line * 2_000_000)
    options = {"n_features": 1} if format == "libsvm" else {}
    for read in (read_table, lambda *args, **named: list(iter_chunks(*args, **named))):
        with pytest.raises(DataFileError, match="expected at most 100,000 bytes of uncompressed content"):
            read(io.BytesIO(content), format=format, max_bytes=100_000, **options)


class Endless(io.RawIOBase):
    """A stream without end that counts what was taken from it."""

    def __init__(self, head: bytes, body: bytes) -> None:
        self._blocks: Iterator[bytes] = iter([head])
        self._body, self.taken = body * (1 + (1 << 16) // len(body)), 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        block = next(self._blocks, None) or self._body
        size = min(len(buffer), len(block))
        buffer[:size] = block[:size]
        self.taken += size
        return size


@pytest.mark.parametrize(
    ("format", "head", "body", "most"),
    [
        ("csv", b'a,b\n1,"x\n', b"1,x\n", 3 << 20),  # an open quote
        ("csv", b"a,b\n1,2\n", b"x", 67 << 20),  # one line without an end
        ("jsonl", b'{"a": 1}\n', b" ", 67 << 20),
        ("arff", b"@relation r\n@attribute a real\n@data\n", b"1", 67 << 20),
        ("libsvm", b"1 1:1\n", b" ", 67 << 20),
    ],
)
def test_an_endless_stream_is_given_up(format: str, head: bytes, body: bytes, most: int) -> None:
    stream = Endless(head, body)
    options = {"n_features": 1} if format == "libsvm" else {}
    with pytest.raises(DataFileError, match=r"expected (a closing quote|lines of at most)"):
        list(iter_chunks(stream, rows=1000, format=format, **options))  # type: ignore[arg-type]
    assert stream.taken <= most


@pytest.mark.parametrize("rows", [40_000, 400_000])
@pytest.mark.parametrize("at", [20, 30_000])
def test_a_stray_quote_names_its_line(rows: int, at: int) -> None:
    lines = [b"a,b\n"] + [b"1,x\n"] * rows
    lines[at - 1] = b'1,"x\n'
    content = io.BytesIO(b"".join(lines))
    with pytest.raises(DataFileError, match=f"line {at}: expected a closing quote within 1,000 lines"):
        list(iter_chunks(content, rows=1000, format="csv"))
    read_after = content.tell() - sum(map(len, lines[:at]))
    assert read_after <= csv_records.MAX_RECORD_BYTES + files.BLOCK


def test_a_bomb_is_refused_before_it_is_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "SMALL_TEXT", 1 << 20)
    path = tmp_path / "bomb.csv.gz"
    path.write_bytes(gzip.compress(b"a\n" + b"1\n" * (8 << 20)))
    assert path.stat().st_size * 200 < 16 << 20
    with pytest.raises(DataFileError, match=r"bytes of uncompressed content; got more. Pass max_bytes="):
        read_table(path)


@pytest.mark.parametrize("text", ["1" * 200_000 + "x", " " * 200_000 + "'", "'" * 50_001, "1," * 50_000 + "'"])
@pytest.mark.parametrize("format", ["csv", "arff", "whitespace"])
def test_long_cells_take_linear_work(format: str, text: str) -> None:
    """No pattern here backtracks: with one that does, each of these would take hours."""
    head = "@relation r\n@attribute a real\n@data\n" if format == "arff" else "a\n1\n"
    outcome(lambda: read_table(io.BytesIO((head + text + "\n").encode()), format=format))


costs_texts = st.one_of(
    st.binary(max_size=60),
    csv_texts,
    st.text(alphabet='[]{}=".,ab01\n#', max_size=60).map(str.encode),
    st.integers(1, 5000).map(lambda n: b"a = " + b"[" * n),
    st.integers(1, 3000).map(lambda n: b"a = " + b"[" * n + b"]" * n),
    st.integers(1, 3000).map(lambda n: b".".join([b"a"] * n) + b" = 1"),
)


@QUICK
@given(costs_texts, st.sampled_from([".csv", ".toml"]))
@example(b",a,b\na,0,\xff\nb,1,0\n", ".csv")
@example(b"a = " + b"[" * 5000, ".toml")
@example(b"a = " + b"[" * 300 + b"]" * 300, ".toml")
@example(b"fn = " + b"9" * 5000 + b"\nfp = 1\n", ".toml")
@example(b",a\n" + b"x" * 200_000 + b",1\n", ".csv")
@example(b"fn = 1e400\nfp = 1\n", ".toml")
def test_costs_files(text: bytes, suffix: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"costs{suffix}"
        path.write_bytes(text)
        made = outcome(lambda: Costs.from_file(path))
    if isinstance(made, Exception):
        assert isinstance(made, (CostsError, InvalidInputError))
    elif suffix == ".toml":
        tomllib.loads(text.decode("utf-8-sig"))


@QUICK
@given(st.lists(st.tuples(st.sampled_from(["a.csv", "b.csv", "_x", "c.jsonl", "k=1/d.csv"]), damaged(csv_texts))))
def test_folders_of_anything(parts: list[tuple[str, bytes]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        for name, content in parts:
            path = Path(folder) / name
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(content)
        outcome(lambda: list(Parts(folder).iter_chunks(rows=3, max_bytes=MAX_BYTES)))
        outcome(lambda: read_table(folder, max_bytes=MAX_BYTES))


def state_file() -> bytes:
    """A stream state as it is saved."""
    with tempfile.TemporaryDirectory() as folder:
        learner = OnlineClassifier(CSOGD2(0.1)).fit(np.eye(3), [0, 1, 0])
        encoder = RecordEncoder("none").begin(["a", "b", "c"])
        mark = LogMark("0123456789abcdef").to_dict()
        path = StreamState(learner, encoder, ("no", "yes"), np.eye(2, dtype=np.int64), mark).save(f"{folder}/s")
        return path.read_bytes()


STATE = state_file()


@QUICK
@given(
    st.lists(st.tuples(st.integers(0, 10**6), st.binary(max_size=3)), max_size=3),
    st.integers(0, 60),
    st.dictionaries(st.sampled_from(["format", "kind", "params", "arrays", "parts", "x"]), values, max_size=2),
)
def test_stream_states(changes: list[tuple[int, bytes]], cut: int, other: dict[str, Any]) -> None:
    """Bytes changed or cut off, or the description replaced in part: the state as it was, or refused."""
    content = bytearray(STATE)
    for at, new in changes:
        at %= len(content)
        content[at : at + len(new)] = new
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "s"
        path.write_bytes(bytes(content[: len(content) - cut]) if not other else with_description(other))
        found = outcome(lambda: Session.load(path))
    if isinstance(found, Exception):
        assert isinstance(found, StateError)
    else:
        assert found.labels == ("no", "yes")
        assert found.rounds == 3


def with_description(other: dict[str, Any]) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(STATE)) as old, zipfile.ZipFile(made, "w") as new:
        said = json.loads(old.read("model.json"))
        new.writestr("model.json", json.dumps(said | other))
        new.writestr("arrays.safetensors", old.read("arrays.safetensors"))
    return made.getvalue()


uses = st.sampled_from(
    [
        "CSOGD2",
        "OnlineClassifier",
        "mean_cost",
        "sklearn.svm.SVC",
        "Costs.binary",
        "os.system",
        "sklearn.datasets.load_iris",
    ]
)
specs = st.recursive(
    st.one_of(st.integers(), st.text(max_size=3), st.booleans(), st.floats(allow_nan=False)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=2),
        st.dictionaries(st.sampled_from(["eta", "update", "fn", "fp", "memory", "x"]), inner, max_size=2),
        st.tuples(uses, st.dictionaries(st.sampled_from(["eta", "update", "fn"]), inner, max_size=2)).map(
            lambda t: {"use": t[0], **t[1]}
        ),
    ),
    max_leaves=4,
)
KEYS = ["paper", "item", "claim", "data", "protocol", "learner", "measure", "costs", "timed", "skip", "other"]


def as_toml(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key} = {as_toml(inner)}" for key, inner in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(as_toml, value)) + "]"
    return json.dumps(value)


SOUND = {"paper": "000", "item": "t", "claim": "c", "data": {"name": "german"}, "protocol": {}, "learner": []}


@QUICK
@given(st.dictionaries(st.sampled_from(KEYS), specs, max_size=3), st.binary(max_size=2), st.booleans())
@example({}, b"\xff", True)
@example({"learner": "x", "measure": 7}, b"", True)
def test_recipes(changed: dict[str, Any], junk: bytes, sound: bool) -> None:
    text = "".join(f"{key} = {as_toml(value)}\n" for key, value in ((SOUND if sound else {}) | changed).items())
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "r.toml"
        path.write_bytes(text.encode("utf-8", "replace") + junk)
        read = outcome(lambda: read_recipe(path))
    for spec in changed.values():
        outcome(lambda spec=spec: build(spec))
    assert isinstance(read, (Recipe, InvalidInputError))


@pytest.mark.parametrize(
    "text", [b"a = " + b"[" * 5000, b"a = " + b"[" * 900 + b"]" * 900, b".".join([b"a"] * 5000) + b"=1"]
)
def test_a_recipe_nested_too_deeply_is_refused(tmp_path: Path, text: bytes) -> None:
    path = tmp_path / "r.toml"
    path.write_bytes(text)
    with pytest.raises(InvalidInputError, match=r"r\.toml (is not TOML|must state)"):
        read_recipe(path)


def test_objects_within_objects_without_end_are_refused() -> None:
    """Dotted keys make tables of any depth, and none of it is deep for the reader of the text."""
    spec = tomllib.loads(".".join(["update"] * 5_000) + '.use = "CSOGD2"')
    with pytest.raises(InvalidInputError, match="at most 32 deep"):
        build(spec)
