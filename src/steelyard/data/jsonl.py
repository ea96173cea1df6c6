"""JSON lines: one flat object a line, numbers and texts mixed, fields and labels allowed to be missing."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from .columns import Column, Table, check_names, encoded, number_column
from .dataset import Dataset
from .files import Source, fault, name_of, opened

Record = tuple[int, dict[str, Any]]  # with its line number


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
) -> Iterator[Dataset]:
    """JSON lines in chunks. The first chunk decides the fields, unless given, and which of them are text."""
    where = name_of(source)
    fields: _Fields | None = None
    ignored = {*drop} if target is None else {*drop, target}
    with opened(source) as content:
        records = _records(where, content)
        while part := list(islice(records, rows)):
            fields = fields or _Fields(where, part, features, nominal, ignored)
            labels = None if target is None else _labels(where, target, part)
            yield Table(fields.columns(part), labels).chunk(frame, dtype)


def _records(where: str, lines: Iterable[bytes]) -> Iterator[Record]:
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            record = json.loads(line.decode("utf-8-sig" if number == 1 else "utf-8"), parse_constant=_refuse_constant)
        except (ValueError, RecursionError) as error:
            raise fault(where, number, "a JSON object", str(error)) from error
        if not isinstance(record, dict):
            raise fault(where, number, "a JSON object", repr(record)[:40])
        yield number, record


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name}, which is no JSON number; use null for a missing value")


def _labels(where: str, target: str, part: list[Record]) -> NDArray[Any]:
    labels = [record.get(target) for _, record in part]
    for (number, _), label in zip(part, labels, strict=True):
        if label is not None and not isinstance(label, (str, int, float)):
            raise fault(where, number, f"a label in field {target}", repr(label)[:40])
    kinds = {str if isinstance(v, str) else bool if isinstance(v, bool) else float for v in labels if v is not None}
    if len(kinds) > 1:
        raise fault(where, part[0][0], f"labels of one type in field {target} from here on", repr(kinds))
    if kinds == {float}:
        labels = [int(v) if v is not None and v == int(v) else v for v in labels]
    return np.array(labels, dtype=object if None in labels else None)


class _Fields:
    """Which fields the records have, and which of them are text."""

    def __init__(
        self,
        where: str,
        head: list[Record],
        features: Sequence[str] | None,
        nominal: Sequence[str],
        ignored: set[str],
    ) -> None:
        seen = dict.fromkeys(name for _, record in head for name in record)
        self.where, self.ignored = where, ignored
        self.names = [name for name in (seen if features is None else features) if name not in ignored]
        texts = {name for name in self.names if any(isinstance(record.get(name), str) for _, record in head)}
        self.text = texts.union(check_names("nominal", nominal, self.names))

    def columns(self, part: list[Record]) -> tuple[Column, ...]:
        known = self.ignored.union(self.names)
        for number, record in part:
            for name in record:
                if name not in known:
                    advice = "Give all fields with features=, or leave this one out with drop=."
                    raise fault(self.where, number, f"the fields {', '.join(self.names)}", repr(name), advice)
        return tuple(self._column(name, part) for name in self.names)

    def _column(self, name: str, part: list[Record]) -> Column:
        if name in self.text:
            return encoded(name, [self._text(number, name, record.get(name)) for number, record in part])
        return number_column(name, [self._number(number, name, record.get(name)) for number, record in part])

    def _text(self, number: int, name: str, value: Any) -> str | None:
        if value is None or isinstance(value, str):
            return value
        if isinstance(value, (int, float)):
            return json.dumps(value)
        raise fault(self.where, number, f"text in field {name}", repr(value)[:40])

    def _number(self, number: int, name: str, value: Any) -> float:
        if value is None:
            return np.nan
        if isinstance(value, (int, float)) and abs(value) <= np.finfo(np.float64).max:
            return float(value)
        raise fault(self.where, number, f"a finite number in field {name}", repr(value)[:40])
