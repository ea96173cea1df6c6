"""A record of JSON values as the cells of a project's columns, and those as a row of the learner."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from ...errors import InvalidInputError, StateError
from ...models.records import RecordEncoder
from ...online import SparseRow, StreamScaler
from ...validation.values import invalid
from .settings import ProjectSettings

Cell = str | int | float | bool | None
Row = Any  # a vector of numbers, or one sparse row
MOST_FIELDS = 1000
MOST_BYTES = 64 * 1024  # of a record
LARGEST = 1e100  # of a number; squares of larger ones overflow
SALT_BYTES = 16
_CELLS = msgspec.msgpack.Decoder(list[Cell])


class BadRecordError(InvalidInputError):
    """A record that cannot be decided; ``where`` is the place in it."""

    def __init__(self, error: InvalidInputError, where: str) -> None:
        super().__init__(str(error))
        self.where = where


class RecordReader:
    """From JSON objects to the cells of the project's columns, in their order.

    Unknown fields are dropped and missing ones are None; both are counted.
    """

    def __init__(self, settings: ProjectSettings) -> None:
        self.columns = {name: kind for name, kind in settings.columns.items() if kind != "ignored"}
        self._ignored = {name for name, kind in settings.columns.items() if kind == "ignored"}
        self._kinds, self._names = list(self.columns.items()), list(self.columns)
        self._all_numbers = set(self.columns.values()) == {"number"}
        self._floats = [float] * len(self._names)

    def read(self, record: dict[str, Cell]) -> tuple[list[Cell], int, int]:
        """Cells, number of missing ones, number of unknown fields."""
        if len(record) > MOST_FIELDS:
            raise BadRecordError(invalid("row", f"have at most {MOST_FIELDS} fields", len(record)), "row")
        cells: list[Cell] = []
        if self._all_numbers and len(record) == len(self._kinds):
            names = list(record)
            if names == self._names:  # most senders keep to the order of the columns, and then no name is looked up
                self._names = names  # a decoder makes the same texts again, which are equal at the first glance
                cells = list(record.values())
            else:
                cells = [record.get(name) for name in self._names]
            if list(map(type, cells)) == self._floats and math.hypot(*cells) < LARGEST:  # type: ignore[arg-type]
                return cells, 0, 0  # as most rows are: each lies within the range where the length of all does
            cells = []
        missing = found = 0
        for name, kind in self._kinds:
            cell = record.get(name)
            if cell is None:
                missing += 1
                found += name in record
                cells.append(None)
                continue
            found += 1
            if kind == "number":
                cells.append(_number(name, cell))
            elif kind == "shown" or type(cell) is str:
                cells.append(cell if type(cell) is str else _shown(name, cell))
            else:
                cells.append(_text(name, cell))
        return cells, missing, len(record) - found - len(self._ignored & record.keys() if self._ignored else ())

    def record(self, payload: bytes | None) -> dict[str, Cell] | None:
        """The record of a stored payload; None if it was erased."""
        if payload is None:
            return None
        return dict(zip(self.columns, unpack_cells(payload), strict=True))


def _number(name: str, cell: Cell) -> float | int:
    if type(cell) is float:
        if -LARGEST <= cell <= LARGEST:
            return cell
    elif type(cell) is int and -(2**53) <= cell <= 2**53:
        return cell
    raise BadRecordError(invalid(f"column {name!r}", "be a number between -1e100 and 1e100", cell), f"row.{name}")


def _shown(name: str, cell: Cell) -> Cell:
    if isinstance(cell, (int, float)) and not isinstance(cell, bool):
        return _number(name, cell)
    return cell


def _text(name: str, cell: Cell) -> str:
    """A category that came as a number or truth value, as JSON writes it."""
    return msgspec.json.encode(_shown(name, cell)).decode()


def cell_text(cell: Cell) -> str:
    """A cell as every page shows it: whole numbers without a point, as the label page's script writes them."""
    if cell is None:
        return ""
    if isinstance(cell, bool):
        return "true" if cell else "false"
    return str(int(cell)) if isinstance(cell, float) and cell.is_integer() and abs(cell) <= 2**53 else str(cell)


def pack_cells(salt: bytes, cells: list[Cell]) -> bytes:
    """The payload of an item: salt and cells."""
    try:
        payload = salt + msgspec.msgpack.encode(cells)
    except UnicodeEncodeError:
        raise BadRecordError(invalid("row", "hold texts that UTF-8 can write", "half of a pair"), "row") from None
    if len(payload) > MOST_BYTES:
        raise BadRecordError(invalid("row", f"have at most {MOST_BYTES} bytes", len(payload)), "row")
    return payload


def unpack_cells(payload: bytes) -> list[Cell]:
    """The cells of a stored payload."""
    try:
        return _CELLS.decode(memoryview(payload)[SALT_BYTES:])
    except msgspec.MsgspecError as error:
        raise StateError(f"a stored row must be a list of cells; {error}.") from None


def unpack_numbers(payloads: Sequence[bytes], width: int) -> NDArray[np.float64]:
    """The cells of payloads that hold numbers alone, as a matrix; NaN where one is missing.

    Where all are floating point numbers, as in most logs, every payload has the same form and none is parsed.
    """
    head = bytes([0x90 | width]) if width < 16 else b"\xdc" + width.to_bytes(2, "big")  # of a list in msgpack
    first = SALT_BYTES + len(head)
    size = first + 9 * width
    if all(len(payload) == size for payload in payloads):
        block = np.frombuffer(b"".join(payloads), np.uint8).reshape(-1, size)
        cells = block[:, first:].reshape(-1, width, 9)
        if (block[:, SALT_BYTES:first] == np.frombuffer(head, np.uint8)).all() and (cells[:, :, 0] == 0xCB).all():
            return np.ascontiguousarray(cells[:, :, 1:]).view(">f8")[:, :, 0].astype(np.float64)
    return np.array([unpack_cells(payload) for payload in payloads], dtype=np.float64)


class RowEncoder:
    """From cells to the learner's row, prepared as ``steelyard stream`` does."""

    def __init__(self, settings: ProjectSettings) -> None:
        kinds = {name: kind for name, kind in settings.columns.items() if kind != "ignored"}
        learned = [name for name, kind in kinds.items() if kind != "shown"]
        texts, urls = ([name for name in learned if kinds[name] == kind] for kind in ("text", "url"))
        self._names = list(kinds)
        self.records = RecordEncoder(settings.scale, settings.hash_bits, text=texts, url=urls)
        self.records.begin(learned, [name for name in learned if kinds[name] != "number"])
        self._sparse = self.records.hashed
        self.all_numbers = not self._sparse and set(kinds.values()) == {"number"}

    @property
    def width(self) -> int:
        """Features of a row."""
        return self.records.width

    @property
    def scaler(self) -> StreamScaler | None:
        """What scales numbers, once a row has come."""
        return self.records.scaler

    def one(self, cells: list[Cell]) -> Row:
        """The row of these cells; the scaler has then seen them."""
        if self.all_numbers and None not in cells:
            return self.records.one_of_numbers(cells)
        return self.records.one(dict(zip(self._names, cells, strict=True)))

    def many(self, numbers: NDArray[np.float64]) -> NDArray[np.float64]:
        """The rows of a project whose columns are all numbers; the scaler has then seen them."""
        return self.records.many_of_numbers(numbers)

    def mark(self) -> Any:
        """What :meth:`restore` needs to forget the rows since. The scaler replaces its sums, so no copy is made."""
        scaler = self.records.scaler
        return None if scaler is None else (scaler.counts_, scaler.mean_, scaler.squares_)

    def restore(self, mark: Any) -> None:
        """Be as at the time of the mark."""
        scaler = self.records.scaler
        if mark is None:
            self.records.scaler = None
        elif scaler is not None:
            scaler.counts_, scaler.mean_, scaler.squares_ = mark

    # -- rows as bytes -----------------------------------------------------------------------------------------------

    def pack(self, row: Row) -> bytes:
        """The bytes of a row, exact."""
        if not self._sparse:
            return np.asarray(row, dtype="<f8").tobytes()
        return bytes(row.columns.astype("<i4").tobytes() + row.values.astype("<f8").tobytes())

    def unpack(self, raw: bytes) -> Row:
        """The row of these bytes."""
        if not self._sparse:
            return np.frombuffer(raw, dtype="<f8").astype(np.float64)
        count = len(raw) // 12
        columns = np.frombuffer(raw, dtype="<i4", count=count).astype(np.int32)
        return SparseRow(np.frombuffer(raw, dtype="<f8", offset=4 * count).astype(np.float64), columns, self.width)
