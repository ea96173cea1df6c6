"""The `.steelyard` container: a zip of exactly `model.json` and `arrays.safetensors`, read as if an enemy wrote it.

`model.json` is a tree of nodes `{"kind", "params", "arrays", "parts"}`; `arrays` maps a node's own names to tensors.
Nothing here knows what a kind means, and no name of the file is ever looked up in Python. Every limit is
held against bytes that were really there, before anything is made of them. Tensors are written by the safetensors
library and read here: each number of the header must be checked before it is believed, and after that one
``frombuffer`` is all that is left to do.
"""

from __future__ import annotations

import json
import math
import os
import stat
import struct
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from ..errors import StateError
from .atomic import write_atomically

__all__ = ["MAX_BYTES", "Node", "read_container", "reading", "write_container"]

FORMAT = 2
MAX_BYTES = 1 << 30  # unpacked
JSON_BYTES = 1 << 24
JSON_DEPTH = 64
JSON_CONTAINERS = 200_000  # lists and objects: each takes far more memory than the two bytes it is written with
JSON_VALUES = 1_000_000
MOST_ARRAYS = 10_000
MOST_SIDE = 1 << 24  # of an array without cells: its shape costs no bytes, what is made of it would
_JSON, _ARRAYS = "model.json", "arrays.safetensors"
_SPARE = 1 << 20  # bytes beside those of arrays while they are written
_HEADER_BYTES = 1 << 24
_DIRECTORY_BYTES = 4096  # of the zip; two members need about 120
_END = struct.Struct("<4s4H2LH")  # the zip's end record, without a comment
_END64 = b"PK\x06\x07"  # what would stand before it in a zip64 file, and overrule it
_CHUNK = 1 << 20
_LEVEL = 6
DTYPES = {
    "BOOL": np.dtype(np.bool_),
    "U8": np.dtype(np.uint8),
    "I8": np.dtype(np.int8),
    "U16": np.dtype(np.uint16),
    "I16": np.dtype(np.int16),
    "U32": np.dtype(np.uint32),
    "I32": np.dtype(np.int32),
    "F32": np.dtype(np.float32),
    "U64": np.dtype(np.uint64),
    "I64": np.dtype(np.int64),
    "F64": np.dtype(np.float64),
}
_BROKEN = (
    ArithmeticError,
    AttributeError,
    EOFError,
    LookupError,
    MemoryError,
    NotImplementedError,
    OSError,
    RecursionError,
    TypeError,
    ValueError,
    zipfile.BadZipFile,
    zlib.error,
)


@dataclass(frozen=True)
class Node:
    """One part of a saved object: its kind, plain parameters, named arrays, and the parts it is made of."""

    kind: str
    params: dict[str, Any] = field(default_factory=dict)
    arrays: dict[str, NDArray[Any]] = field(default_factory=dict)
    parts: list[Node] = field(default_factory=list)


@contextmanager
def reading(path: str | os.PathLike[str]) -> Iterator[None]:
    """Turn whatever a broken or hostile file brings about into a StateError that names the file."""
    name = os.fspath(path)
    try:
        yield
    except FileNotFoundError:
        raise
    except _BROKEN as error:
        if isinstance(error, StateError):
            message = str(error)
            raise (error if message.startswith(str(name)) else StateError(f"{name} {message}")) from error
        said = f"{type(error).__name__}: {error}".strip(": ")[:300]
        raise StateError(f"{name} must be a whole file written by Steelyard; reading it gave {said}.") from error


# -- writing ---------------------------------------------------------------------------------------------------------


def write_container(path: str | os.PathLike[str], root: Node, *, version: str) -> Path:
    """Write a tree of nodes; the old file stays until the new one is whole.

    Parameters
    ----------
    path : str or path
        Where to.
    root : Node
        What to write; parameters must be plain data.
    version : str
        Of the library, for people who read the file.
    """
    arrays: dict[str, NDArray[Any]] = {}
    head = {"format": FORMAT, "steelyard": version} | _described(root, arrays)
    text = json.dumps(head, allow_nan=False, ensure_ascii=False, separators=(",", ":")).encode()
    tensors = write_tensors(arrays)
    if len(text) > JSON_BYTES or len(arrays) > MOST_ARRAYS or len(text) + len(tensors) >= 1 << 31:
        size = f"{len(text) + len(tensors):,} bytes in {len(arrays):,} arrays"
        raise StateError(f"a model must fit into a file of 2 GB and {MOST_ARRAYS:,} arrays; got {size}.")
    with write_atomically(path) as file, zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=_LEVEL) as out:
        for name, content in ((_JSON, text), (_ARRAYS, tensors)):
            out.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), content, zipfile.ZIP_DEFLATED, _LEVEL)
    return Path(path)


def write_tensors(arrays: dict[str, NDArray[Any]]) -> bytes:
    """Contiguous arrays as safetensors bytes; raises MemoryError where there is no memory for two copies of them.

    The library ends the whole process there, so as much as it takes is asked for beforehand and given back untouched.
    """
    from safetensors.numpy import save

    np.empty(2 * sum(array.nbytes for array in arrays.values()) + _SPARE + 256 * len(arrays), dtype=np.uint8)
    return bytes(save(arrays))


def _described(node: Node, arrays: dict[str, NDArray[Any]]) -> dict[str, Any]:
    """A node in JSON; its arrays go to the common table under numbers."""
    places = {}
    for name, array in node.arrays.items():
        places[name] = str(len(arrays))
        arrays[places[name]] = np.ascontiguousarray(array)
    parts = [_described(part, arrays) for part in node.parts]
    return {"kind": node.kind, "params": node.params, "arrays": places, "parts": parts}


# -- reading ---------------------------------------------------------------------------------------------------------


def read_container(path: str | os.PathLike[str], *, max_bytes: int = MAX_BYTES) -> Node:
    """Read the tree of nodes from a file. Nothing in it is run, and no more than ``max_bytes`` are unpacked.

    Parameters
    ----------
    path : str or path
        A file that may come from anywhere.
    max_bytes : int
        The most that its two members may unpack to.

    Raises
    ------
    StateError
        If the file is not exactly what :func:`write_container` would write, or is too large.
    FileNotFoundError
        If there is no such file.
    """
    with reading(path), _regular(path) as file:
        with zipfile.ZipFile(_small_directory(file)) as archive:
            names = archive.namelist()
            text = _member(archive, _JSON, JSON_BYTES) if _JSON in names else bytearray(b"{}")
            head = _read_json(text)
            if sorted(names) != sorted((_JSON, _ARRAYS)):
                _refuse_members(names)
            _check_format(head)
            data = _member(archive, _ARRAYS, max(0, max_bytes - len(text)), " Raise max_bytes if you trust it.")
        return _tree(head, read_tensors(data))


def _regular(path: str | os.PathLike[str]) -> IO[bytes]:
    """The opened file; a pipe would be waited for, and a device has no end."""
    if not stat.S_ISREG(os.stat(path).st_mode):
        raise StateError("must be a file written by Steelyard; it is a folder, a pipe or a device.")
    return open(path, "rb")


def _small_directory(file: IO[bytes]) -> IO[bytes]:
    """The file itself, if its list of members is as short as ours: a long one would be read into memory whole."""
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - _END.size - 20))
    tail = file.read(_END.size + 20)
    if len(tail) < _END.size or tail[-_END.size :][:4] != b"PK\x05\x06":
        raise StateError("must be a file written by Steelyard; it is no zip, or has something behind its end.")
    _, disk, start_disk, here, entries, directory, offset, _ = _END.unpack(tail[-_END.size :])
    plain = disk == start_disk == 0 and here == entries and offset + directory + _END.size == size
    if not plain or directory > _DIRECTORY_BYTES or tail[: -_END.size][:4] == _END64:
        raise StateError("must be a zip of two members written by Steelyard; its list of members is another.")
    file.seek(0)
    return file


def _member(archive: zipfile.ZipFile, name: str, limit: int, hint: str = "") -> bytearray:
    """A member of the archive, unpacked piece by piece.

    One that claims to be too large is believed, so that nothing is unpacked for it; one that claims less than it holds
    is cut off by the zip where its claim ends, and its checksum is wrong. The pieces are counted all the same.
    """
    info = archive.getinfo(name)
    if info.flag_bits & 1 or info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise StateError(f"must hold {name} stored or deflated; it is packed in another way.")
    content = bytearray()
    if info.file_size > limit:
        _refuse_size(name, limit, hint)
    with archive.open(info) as member:
        while piece := member.read(_CHUNK):
            if len(content) + len(piece) > limit:
                _refuse_size(name, limit, hint)
            content += piece
    return content


def _refuse_size(name: str, limit: int, hint: str) -> NoReturn:
    raise StateError(f"must unpack to at most {limit:,} bytes of {name}; it holds more.{hint}")


def _refuse_members(names: list[str]) -> NoReturn:
    if "state.npy" in names:
        raise StateError(f"was written by format 1; this version reads {FORMAT}: start the stream again.")
    if "estimator.skops" in names:
        raise StateError(f"was written by format 1; this version reads {FORMAT}: run compare again.")
    raise StateError(f"must be a zip of {_JSON} and {_ARRAYS} alone; it holds {names[:5]}.")


def _check_format(head: Any) -> None:
    written = head.get("format") if isinstance(head, dict) else None
    if written == FORMAT:
        return
    if isinstance(written, int):
        raise StateError(f"was written by format {written}; this version reads {FORMAT}: run compare again.")
    raise StateError(f"must say its format, {FORMAT}; got {str(written)[:40]!r}.")


def _read_json(raw: bytearray) -> Any:
    """JSON of bounded size and depth, without NaN, infinities and names given twice."""
    containers = raw.count(b"[") + raw.count(b"{")
    if containers > JSON_CONTAINERS or raw.count(b",") > JSON_VALUES:
        raise StateError(f"must hold at most {JSON_VALUES:,} values in its description; it holds more.")
    text = raw.decode("utf-8")
    found = json.loads(text, object_pairs_hook=_once, parse_constant=_no_constant, parse_float=_finite)
    _check_depth(found)
    return found


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise StateError("must name everything once in its description; a name stands there twice.")
    return found


def _no_constant(text: str) -> NoReturn:
    raise StateError(f"must hold finite numbers in its description; got {text}.")


def _finite(text: str) -> float:
    value = float(text)
    return value if math.isfinite(value) else _no_constant(text[:20])


def _check_depth(found: Any) -> None:
    level = [found]
    for _ in range(JSON_DEPTH):
        level = [inner for value in level for inner in _inside(value)]
        if not level:
            return
    raise StateError(f"must nest its description at most {JSON_DEPTH} deep; it goes deeper.")


def _inside(value: Any) -> Any:
    """What a value holds; its texts must be such that can be written: half a surrogate cannot be."""
    if isinstance(value, dict):
        for name in value:
            name.encode()
        return value.values()
    if isinstance(value, str):
        value.encode()
    return value if isinstance(value, list) else ()


def read_tensors(data: bytearray) -> dict[str, NDArray[Any]]:
    """The tensors of safetensors bytes as views of them: an 8-byte length, a JSON header, then the cells back to back.

    Raises
    ------
    StateError
        Unless the tensors cover the bytes behind the header exactly, each aligned to its own kind of number.
    """
    if len(data) < 8:
        raise StateError(f"must hold whole arrays; {_ARRAYS} has {len(data)} bytes.")
    length = int.from_bytes(data[:8], "little")
    if length > min(_HEADER_BYTES, len(data) - 8):
        raise StateError(f"must describe its arrays within {len(data)} bytes; the header claims {length:,}.")
    header = _read_json(data[8 : 8 + length])
    if not isinstance(header, dict) or len(header) > MOST_ARRAYS:
        raise StateError(f"must describe at most {MOST_ARRAYS:,} arrays by name.")
    base, end = 8 + length, 0
    places = sorted(((_place(name, about), name) for name, about in header.items()), key=lambda found: found[0][:2])
    arrays: dict[str, NDArray[Any]] = {}
    for (start, stop, dtype, shape), name in places:
        cells = math.prod(shape)
        if start != end or stop - start != cells * dtype.itemsize or stop > len(data) - base:
            raise StateError(f"must hold the cells of array {name[:40]!r} where its header says; they are not there.")
        if (base + start) % dtype.itemsize:
            raise StateError(f"must align array {name[:40]!r} to its {dtype.itemsize}-byte cells.")
        arrays[name] = np.frombuffer(data, dtype, cells, base + start).reshape(shape)
        if dtype.kind == "b" and cells and arrays[name].view(np.uint8).max() > 1:
            raise StateError(f"must hold 0 and 1 alone in array {name[:40]!r}, which is true or false.")
        end = stop
    if base + end != len(data):
        raise StateError(f"must hold its arrays and nothing else; {len(data) - base - end} bytes are left over.")
    return arrays


def _place(name: str, about: Any) -> tuple[int, int, np.dtype[Any], tuple[int, ...]]:
    """Where a tensor says it lies: first byte, byte behind the last, dtype and shape."""
    whole = isinstance(about, dict) and set(about) == {"dtype", "shape", "data_offsets"}
    dtype = DTYPES.get(about["dtype"]) if whole and isinstance(about["dtype"], str) else None
    if dtype is None:
        raise StateError(f"must describe array {name[:40]!r} by dtype, shape and offsets that are known.")
    shape, offsets = about["shape"], about["data_offsets"]
    listed = isinstance(shape, list) and isinstance(offsets, list) and len(shape) <= 4 and len(offsets) == 2
    if not listed or any(type(n) is not int or not 0 <= n < 1 << 40 for n in [*shape, *offsets]):
        raise StateError(f"must give array {name[:40]!r} whole numbers as shape and offsets.")
    if 0 in shape and max(shape) > MOST_SIDE:
        raise StateError(f"must give array {name[:40]!r} a shape that its cells justify; got {shape}.")
    return offsets[0], offsets[1], dtype, tuple(shape)


def _tree(head: Mapping[str, Any], arrays: dict[str, NDArray[Any]]) -> Node:
    """Nodes of the description, every array of the file used exactly once."""
    about = {name: value for name, value in head.items() if name not in ("format", "steelyard")}
    root = _node(about, arrays)
    if arrays:
        raise StateError(f"must use every array it holds; {len(arrays)} belong to nothing.")
    return root


def _node(about: Any, arrays: dict[str, NDArray[Any]]) -> Node:
    if not isinstance(about, dict) or set(about) != {"kind", "params", "arrays", "parts"}:
        raise StateError("must describe every part by kind, params, arrays and parts.")
    kind, params, places, parts = about["kind"], about["params"], about["arrays"], about["parts"]
    sound = isinstance(kind, str) and isinstance(params, dict) and isinstance(places, dict) and isinstance(parts, list)
    if not sound:
        raise StateError(f"must describe part {str(kind)[:40]!r} by text, names, names and a list.")
    taken: dict[str, NDArray[Any]] = {}
    for name, place in places.items():
        if not isinstance(place, str) or place not in arrays:
            raise StateError(f"must hold array {name[:40]!r} of {kind[:40]!r}, used by it alone; it is not there.")
        taken[name] = arrays.pop(place)
    return Node(kind, params, taken, [_node(part, arrays) for part in parts])
