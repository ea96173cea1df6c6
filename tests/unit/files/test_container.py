import json
import struct
import zipfile

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from safetensors.numpy import load, save

from steelyard.errors import StateError
from steelyard.files import Node, container, read_container, write_container
from steelyard.files.container import read_tensors

TREE = Node(
    "Outer/1",
    {"x": 1.5, "text": "ä", "none": None},
    {"a": np.arange(10.0), "empty": np.zeros((0, 3), np.int32)},
    [Node("Inner/1", {}, {"flags": np.array([True, False])})],
)
UNALIGNED = {
    "a": {"dtype": "U8", "shape": [1], "data_offsets": [0, 1]},
    "b": {"dtype": "F64", "shape": [1], "data_offsets": [1, 9]},
}


def zipped(path, members, **about):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return path


def described(**changes):
    node = {"format": 2, "steelyard": "0", "kind": "A/1", "params": {}, "arrays": {}, "parts": []} | changes
    return json.dumps(node).encode()


def file_of(path, *, text=None, tensors=None):
    text = described() if text is None else text
    return zipped(path, {"model.json": text, "arrays.safetensors": save({}) if tensors is None else tensors})


def same(one, other):
    return (
        (one.kind, one.params, list(one.arrays)) == (other.kind, other.params, list(other.arrays))
        and all(
            a.dtype == b.dtype and np.array_equal(a, b)
            for a, b in zip(one.arrays.values(), other.arrays.values(), strict=True)
        )
        and all(same(a, b) for a, b in zip(one.parts, other.parts, strict=True))
    )


def test_what_is_written_is_read(tmp_path):
    path = write_container(tmp_path / "m.steelyard", TREE, version="0.1")
    assert same(read_container(path), TREE)
    with zipfile.ZipFile(path) as archive:
        assert archive.namelist() == ["model.json", "arrays.safetensors"]
        assert json.loads(archive.read("model.json"))["format"] == 2


def test_the_same_tree_is_the_same_file(tmp_path):
    first, second = (write_container(tmp_path / name, TREE, version="0.1").read_bytes() for name in "ab")
    assert first == second


@given(
    st.dictionaries(
        st.text(max_size=3), st.tuples(st.sampled_from("?bBhHiIfqQd"), st.lists(st.integers(0, 3), max_size=3))
    )
)
def test_tensors_are_read_as_the_library_reads_them(shapes):
    rng = np.random.default_rng(0)
    arrays = {name: np.asarray(rng.random(shape) * 9).astype(code) for name, (code, shape) in shapes.items()}
    ours, theirs = read_tensors(bytearray(save(arrays))), load(save(arrays))
    assert set(ours) == set(theirs)
    assert all(ours[n].dtype == theirs[n].dtype and np.array_equal(ours[n], theirs[n]) for n in theirs)


@pytest.mark.parametrize(
    ("header", "cells", "said"),
    [
        ({"a": {"dtype": "F64", "shape": [10**10], "data_offsets": [0, 8 * 10**10]}}, 8, "cells of array 'a'"),
        ({"a": {"dtype": "F64", "shape": [2], "data_offsets": [0, 8]}}, 8, "cells of array 'a'"),
        ({"a": {"dtype": "F64", "shape": [1], "data_offsets": [8, 16]}}, 16, "cells of array 'a'"),
        ({"a": {"dtype": "F64", "shape": [1], "data_offsets": [0, 8]}}, 16, "nothing else; 8 bytes"),
        ({n: {"dtype": "F64", "shape": [1], "data_offsets": [0, 8]} for n in "ab"}, 8, "cells of array 'b'"),
        ({"a": {"dtype": "O", "shape": [1], "data_offsets": [0, 8]}}, 8, "dtype, shape and offsets that are known"),
        ({"a": {"dtype": "F64", "shape": [-1], "data_offsets": [0, 8]}}, 8, "whole numbers"),
        ({"a": {"dtype": "F64", "shape": [True], "data_offsets": [0, 8]}}, 8, "whole numbers"),
        ({"a": {"dtype": "F64", "shape": [1.0], "data_offsets": [0, 8]}}, 8, "whole numbers"),
        ({"a": {"dtype": "F64", "shape": 1, "data_offsets": [0, 8]}}, 8, "whole numbers"),
        ({"a": {"dtype": "F64", "shape": [1]}}, 8, "dtype, shape and offsets"),
        ({"a": {"dtype": ["F64"], "shape": [1], "data_offsets": [0, 8]}}, 8, "dtype, shape and offsets"),
        ({"a": {"dtype": "F64", "shape": [0, 10**9], "data_offsets": [0, 0]}}, 0, "that its cells justify"),
        (UNALIGNED, 9, "align"),
        ([], 0, "arrays by name"),
    ],
)  # fmt: skip
def test_a_header_that_lies_is_refused(header, cells, said):
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with pytest.raises(StateError, match=said):
        read_tensors(bytearray(struct.pack("<Q", len(text)) + text + bytes(cells)))


@pytest.mark.parametrize("data", [b"", b"1234567", struct.pack("<Q", 2**60) + b"{}", struct.pack("<Q", 3) + b"{}"])
def test_a_header_that_is_not_there_is_refused(data):
    with pytest.raises(StateError):
        read_tensors(bytearray(data))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b"[" * 200_000, "at most 1,000,000 values|RecursionError"),
        (b"[" * 150_000, "RecursionError"),
        (b"[" * 70 + b"]" * 70, "at most 64 deep"),
        (b"[" + b"0," * 1_100_000 + b"0]", "at most 1,000,000 values"),
        (b'{"format": 2, "format": 2}', "a name stands there twice"),
        (b'{"format": NaN}', "finite numbers"),
        (b'{"format": 1e999}', "finite numbers"),
        (b'{"format": 1}', "written by format 1; this version reads 2: run compare again"),
        (b'{"format": 3}', "written by format 3; this version reads 2"),
        (b'{"format": "2"}', "must say its format"),
        (b"[]", "must say its format"),
        (b"\xff\xfe", "UnicodeDecodeError"),
        (b"", "JSONDecodeError"),
        (described(kind=7), "text, names"),
        (described(more=1), "kind, params, arrays and parts"),
        (described(parts=[1]), "kind, params, arrays and parts"),
        (described(arrays={"a": "0"}), "used by it alone"),
        (described(arrays={"a": ["0"]}), "used by it alone"),
        (b" " * (1 << 24) + b"{}", "at most 16,777,216 bytes"),
    ],
)
def test_a_description_that_is_none_is_refused(tmp_path, text, said):
    with pytest.raises(StateError, match=said):
        read_container(file_of(tmp_path / "evil.steelyard", text=text))


def test_every_array_belongs_to_exactly_one_node(tmp_path):
    part = {"kind": "B/1", "params": {}, "arrays": {"b": "0"}, "parts": []}
    twice = described(arrays={"a": "0"}, parts=[part])
    for text, said in ((described(), "1 belong to nothing"), (twice, "used by it alone")):
        with pytest.raises(StateError, match=said):
            read_container(file_of(tmp_path / "m", text=text, tensors=save({"0": np.ones(3)})))


@pytest.mark.parametrize(
    ("members", "said"),
    [
        ({"model.json": b'{"format": 1}', "estimator.skops": b""}, "written by format 1.*run compare again"),
        ({"state.npy": b""}, "written by format 1.*start the stream again"),
        ({"model.json": described()}, "and arrays.safetensors alone"),
        ({"model.json": described(), "arrays.safetensors": save({}), "x": b""}, "alone"),
        ({f"member{i}": b"" for i in range(1000)}, "list of members"),
    ],
)
def test_only_the_two_members_are_let_in(tmp_path, members, said):
    with pytest.raises(StateError, match=said):
        read_container(zipped(tmp_path / "m", members))


def test_the_limit_is_on_the_bytes_that_are_there_not_on_those_claimed(tmp_path):
    text = json.dumps({"0": {"dtype": "U8", "shape": [1 << 22], "data_offsets": [0, 1 << 22]}}).encode()
    path = file_of(
        tmp_path / "bomb",
        text=described(arrays={"a": "0"}),
        tensors=struct.pack("<Q", len(text)) + text + bytes(1 << 22),
    )
    assert path.stat().st_size < 10_000
    with pytest.raises(StateError, match=r"must unpack to at most 99[0-9,]* bytes of arrays.safetensors.*max_bytes"):
        read_container(path, max_bytes=1_000_000)
    assert len(read_container(path).arrays["a"]) == 1 << 22
    raw = bytearray(path.read_bytes())
    size, at = struct.pack("<L", (1 << 22) + 8 + len(text)), 0
    while (at := raw.find(size, at)) >= 0:  # the sizes claimed, in the member's own header and in the directory
        raw[at : at + 4] = struct.pack("<L", 100)
        at += 4
    path.write_bytes(raw)
    with pytest.raises(StateError):
        read_container(path, max_bytes=1_000_000)


def test_a_member_is_never_unpacked_far_beyond_the_limit(tmp_path, monkeypatch):
    taken = []
    read = zipfile.ZipExtFile.read

    def counting(self, n=-1):
        piece = read(self, n)
        taken.append(len(piece))
        return piece

    monkeypatch.setattr(zipfile.ZipExtFile, "read", counting)
    path = file_of(tmp_path / "bomb", tensors=bytes(1 << 26))
    with pytest.raises(StateError, match="must unpack to at most"):
        read_container(path, max_bytes=1 << 20)
    assert sum(taken) <= 3 * (1 << 20)


def test_a_zip64_record_cannot_overrule_the_short_list_of_members(tmp_path):
    path = file_of(tmp_path / "m")
    raw = path.read_bytes()
    path.write_bytes(raw[:-22] + b"PK\x06\x07" + bytes(16) + raw[-22:])
    with pytest.raises(StateError, match="list of members"):
        read_container(path)


@pytest.mark.parametrize("content", [b"", b"PK", b"a,b\n1,2\n" * 100, bytes(100)])
def test_a_file_of_another_kind_is_refused_in_one_sentence(tmp_path, content):
    path = tmp_path / "data.csv"
    path.write_bytes(content)
    with pytest.raises(StateError, match=r"data\.csv must be a file written by Steelyard") as caught:
        read_container(path)
    assert "pickle" not in str(caught.value)


def test_a_file_cut_short_is_refused(tmp_path):
    whole = write_container(tmp_path / "m", TREE, version="0").read_bytes()
    for length in range(0, len(whole), 7):
        (tmp_path / "cut").write_bytes(whole[:length])
        with pytest.raises(StateError):
            read_container(tmp_path / "cut")


def test_no_such_file_is_no_broken_file(tmp_path):
    with pytest.raises(FileNotFoundError):
        read_container(tmp_path / "none")


def test_what_could_not_be_read_again_is_not_written(tmp_path, monkeypatch):
    monkeypatch.setattr(container, "MOST_ARRAYS", 2)
    with pytest.raises(StateError, match="2 arrays"):
        write_container(tmp_path / "m", TREE, version="0")
    with pytest.raises(ValueError, match="JSON"):
        write_container(tmp_path / "m", Node("A", {"x": float("nan")}), version="0")
    assert list(tmp_path.iterdir()) == []


def test_memory_that_is_short_is_said_of_the_file(tmp_path, monkeypatch):
    path = write_container(tmp_path / "m", TREE, version="0")

    def fail(*_):
        raise MemoryError

    monkeypatch.setattr(container, "read_tensors", fail)
    with pytest.raises(StateError, match="MemoryError"):
        read_container(path)
