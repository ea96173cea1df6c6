"""JSON lines: one flat object a line, numbers and texts mixed, fields and labels allowed to be missing.

Tested in ``tests/unit/data/test_table.py``.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import DTypeLike, NDArray

from ..validation.docstrings import documented
from ..validation.values import invalid
from .columns import EXACT, Column, Table, check_complete_labels, check_frame, check_names, encoded, number_column
from .dataset import READING, Dataset
from .files import Source, file_error, lines_of, name_of, not_utf8, open_source, short_repr

_NESTED = "Records are flat: write what is within it as fields of its own, or leave it out with drop= (--drop)."
_ARRAY = "Each line is to be one object; an array becomes such lines by: jq -c '.[]' OLD > NEW"
_SPREAD = "Each line is to be one whole object; objects over many lines become such lines by: jq -c . OLD > NEW"
NumberedRecord = tuple[int, dict[str, Any]]  # with its line number


@documented(READING)
def read_jsonl(
    source: Source,
    *,
    target: str | None = None,
    features: Sequence[str] | None = None,
    nominal: Sequence[str] = (),
    drop: Sequence[str] = (),
    frame: str = "auto",
    dtype: DTypeLike = np.float64,
    max_bytes: int | None = None,
) -> Dataset:
    """Read JSON lines: one flat object a line; a field that is text anywhere is nominal, a missing one stays missing.

    Parameters
    ----------
    target : str or None
        Field of the labels; every record must have it.
    features : sequence of str or None
        The fields in their order; by default all that occur.

    Returns
    -------
    Dataset
        Rows, labels and names.

    Examples
    --------
    >>> import io
    >>> rows = read_jsonl(io.BytesIO(b'{"n": 1, "y": "a"}\\n{"n": 2.5, "y": "b"}\\n'), target="y")
    >>> rows.X.tolist(), rows.y.tolist()
    ([[1.0], [2.5]], ['a', 'b'])
    """
    check_frame(frame)
    where = name_of(source)
    with open_source(source, max_bytes) as content:
        records = list(_records(where, content))
    if not records:
        raise file_error(where, None, "at least one row", "an empty file")
    table = _table(_Fields(where, records, features, nominal, drop, target), records)
    return check_complete_labels(table, where).dataset(frame, dtype)


def jsonl_chunks(
    source: Source,
    rows: int,
    *,
    target: str | None = None,
    features: Sequence[str] | None = None,
    nominal: Sequence[str] = (),
    drop: Sequence[str] = (),
    frame: str = "auto",
    dtype: DTypeLike = np.float64,
    max_bytes: int | None = None,
) -> Iterator[Dataset]:
    """JSON lines in chunks. The first chunk decides the fields, unless given, and which of them are text."""
    where = name_of(source)
    fields: _Fields | None = None
    with open_source(source, max_bytes) as content:
        records = _records(where, content)
        while part := list(islice(records, rows)):
            fields = fields or _Fields(where, part, features, nominal, drop, target)
            yield _table(fields, part).chunk(frame, dtype)


def _hint(line: bytes) -> str:
    """What to do about one big array, and about objects that are written over many lines."""
    start = line.removeprefix(b"\xef\xbb\xbf").strip()
    return _ARRAY if start.startswith(b"[") else _SPREAD if start == b"{" else ""


def _table(fields: _Fields, part: list[NumberedRecord]) -> Table:
    labels = None if fields.target is None else _labels(fields.where, fields.target, part, as_text=fields.text_labels)
    return Table(fields.columns(part), labels)


def _records(where: str, content: BinaryIO) -> Iterator[NumberedRecord]:
    for number, line in enumerate(lines_of(where, content), start=1):
        if not line.strip():
            continue
        try:
            record = json.loads(line.decode("utf-8-sig" if number == 1 else "utf-8"), parse_constant=_refuse_constant)
            if b"\\u" in line:
                json.dumps(record, ensure_ascii=False).encode()  # half of a surrogate pair is no text
        except UnicodeDecodeError as error:
            raise not_utf8(where, number, error) from error
        except (ValueError, RecursionError) as error:
            raise file_error(where, number, "a JSON object", str(error), _hint(line)) from error
        if not isinstance(record, dict):
            got = "an array" if isinstance(record, list) else short_repr(record)
            raise file_error(where, number, "a JSON object", got, _hint(line))
        yield number, record


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name}, which is no JSON number; use null for a missing value")


def _labels(where: str, target: str, part: list[NumberedRecord], *, as_text: bool) -> NDArray[Any]:
    labels = [record.get(target) for _, record in part]
    for (number, _), label in zip(part, labels, strict=True):
        if label is not None and not _is_label(label):
            raise file_error(where, number, f"text or a finite number as label in field {target}", short_repr(label))
    if as_text:
        labels = [label if label is None or isinstance(label, str) else json.dumps(label) for label in labels]
    kinds = {str if isinstance(v, str) else bool if isinstance(v, bool) else float for v in labels if v is not None}
    if len(kinds) > 1:
        raise file_error(where, part[0][0], f"labels of one type in field {target} from here on", repr(kinds))
    if kinds == {float}:
        labels = [int(v) if isinstance(v, float) and abs(v) < EXACT and v == int(v) else v for v in labels]
    return np.array(labels, dtype=object if None in labels else None)


def _is_label(value: Any) -> bool:
    """Text, a bool, an integer of 64 bits or a finite float."""
    if isinstance(value, int):
        return -(2**63) <= value < 2**63
    return isinstance(value, str) or (isinstance(value, float) and math.isfinite(value))


class _Fields:
    """Which fields the records have, and which of them are text."""

    def __init__(
        self,
        where: str,
        head: list[NumberedRecord],
        features: Sequence[str] | None,
        nominal: Sequence[str],
        drop: Sequence[str],
        target: str | None,
    ) -> None:
        seen = dict.fromkeys(name for _, record in head for name in record)
        self.where, self.target = where, target
        if target is not None and target in drop:
            raise invalid("drop", "leave the column of labels in", target)
        self.ignored = {*drop} if target is None else {*drop, target}
        self.names = [name for name in (seen if features is None else features) if name not in self.ignored]
        texts = {name for name in self.names if any(isinstance(record.get(name), str) for _, record in head)}
        named = check_names("nominal", nominal, [*self.names, *([] if target is None else [target])])
        self.text, self.text_labels = texts.union(named), target in named

    def columns(self, part: list[NumberedRecord]) -> tuple[Column, ...]:
        known = self.ignored.union(self.names)
        for number, record in part:
            for name in record:
                if name not in known:
                    hint = "Give all fields with features=, or leave this one out with drop= (--drop)."
                    raise file_error(
                        self.where, number, f"the fields {', '.join(self.names[:20])}", short_repr(name), hint
                    )
        return tuple(self._column(name, part) for name in self.names)

    def _column(self, name: str, part: list[NumberedRecord]) -> Column:
        if name in self.text:
            return encoded(name, [self._text(number, name, record.get(name)) for number, record in part])
        return number_column(name, [self._number(number, name, record.get(name)) for number, record in part])

    def _text(self, number: int, name: str, value: Any) -> str | None:
        if value is None or isinstance(value, str):
            return value
        if isinstance(value, (int, float)):
            return json.dumps(value)
        raise file_error(self.where, number, f"text in field {name}", short_repr(value), _NESTED)

    def _number(self, number: int, name: str, value: Any) -> float:
        if value is None:
            return np.nan
        if isinstance(value, (int, float)) and abs(value) <= np.finfo(np.float64).max:
            return float(value)
        hint = _NESTED if isinstance(value, (dict, list)) else ""
        raise file_error(self.where, number, f"a finite number in field {name}", short_repr(value), hint)
