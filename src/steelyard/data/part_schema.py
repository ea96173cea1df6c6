"""One schema for many parts: kinds of columns from footers or heads, compared before anything is read.

Tested in ``tests/unit/data/test_parts.py``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..errors import DataFileError
from .arrow_columns import is_arrow_number, is_arrow_text
from .columns import is_number
from .files import file_error, open_source
from .formats import FORMATS
from .parquet import damage_reported, open_arrow
from .part_files import PartFile

HEAD = 1000  # rows that show the kinds of a text file's columns
NUMBER, TEXT, EMPTY = "number", "text", "empty"
Kinds = dict[str, tuple[str, str]]  # column -> (number, text or empty; what to call its type)


def part_kinds(part: PartFile, format: str, options: Mapping[str, Any]) -> Kinds:
    """The kind of each column of a part, and its type as the file gives it."""
    if part.size == 0 and part.filesystem is None and format != "jsonl":
        hint = 'Remove it; fit_parts leaves it out with on_bad_part="skip".'
        raise file_error(part.path, None, "the names of columns", "an empty file", hint)
    if format in ("parquet", "arrow"):
        return _arrow_kinds(part, options)
    as_array = {**options, "frame": "array"}
    head = next(iter(FORMATS[format].chunks(part.open(), HEAD, **as_array)), None)
    if head is None:  # names and no rows, or in JSON not even names
        names = () if format == "jsonl" else FORMATS[format].read(part.open(), **as_array).features
        return dict.fromkeys(names, (EMPTY, EMPTY))
    kinds: Kinds = {}
    for j, name in enumerate(head.features):
        if name in head.nominal:
            kind = TEXT if any(cell is not None for cell in head.X[:, j]) else EMPTY
        else:
            kind = EMPTY if np.isnan(head.X[:, j].astype(np.float64)).all() else NUMBER
        kinds[name] = (kind, kind)
    return kinds


def _arrow_kinds(part: PartFile, options: Mapping[str, Any]) -> Kinds:
    with open_source(part.open()) as content, damage_reported(part.path):
        file = open_arrow(part.path, content)
        kept = [name for name in dict.fromkeys(file.names) if name not in options.get("drop", ())]
        types = {name: file.schema([name]).field(0).type for name in kept}
    return {name: (_arrow_kind(part, name, kind), str(kind)) for name, kind in types.items()}


def _arrow_kind(part: PartFile, name: str, kind: Any) -> str:
    if str(kind) == "null":
        return EMPTY
    if not is_arrow_number(kind) and not is_arrow_text(kind):
        hint = "Convert it, or leave it out with drop=."
        raise file_error(part.path, None, f"numbers or text in column {name}", str(kind), hint)
    return NUMBER if is_arrow_number(kind) else TEXT


def merge_kinds(
    parts: Sequence[PartFile], kinds: Sequence[Kinds], nominal: Sequence[str], *, flat: bool
) -> dict[str, str]:
    """The one schema of all parts; a difference names the part, the column and both types.

    ``flat``: every part must have the columns of the first, in their order; otherwise fields may be missing (JSON).
    """
    shown = [(part, found) for part, found in zip(parts, kinds, strict=True) if found]
    if not shown:
        return {}
    first, columns = shown[0]
    decided: dict[str, tuple[PartFile, str, str]] = {}
    for part, found in shown:
        if list(found) != list(columns) and (flat or not set(found) <= set(columns)):
            raise _other_columns(part, list(found), first, list(columns))
        for name, (kind, type_name) in found.items():
            if kind == EMPTY or name in nominal:
                continue
            before = decided.setdefault(name, (part, kind, type_name))
            if before[1] != kind:
                raise _other_type(part, name, type_name, before)
    return {name: TEXT if name in nominal else decided.get(name, (first, NUMBER, ""))[1] for name in columns}


def _other_columns(part: PartFile, found: list[str], first: PartFile, columns: list[str]) -> DataFileError:
    expected = f"the {len(columns)} columns of {first.path} ({', '.join(columns[:20])})"
    missing, more = ([name for name in a if name not in b] for a, b in ((columns, found), (found, columns)))
    differences = [f"{word} {names[0][:60]!r}" for word, names in (("no", missing), ("also", more)) if names]
    if differences:
        return file_error(part.path, None, expected, " and ".join(differences))
    at = next(i for i, name in enumerate(found) if name != columns[i])
    return file_error(part.path, None, expected, f"{found[at][:60]!r} in place of {columns[at][:60]!r}")


def _other_type(part: PartFile, name: str, got: str, before: tuple[PartFile, str, str]) -> DataFileError:
    first, _, type_name = before
    hint = f"If {name} holds categories, name it in nominal=."
    return file_error(part.path, None, f"type {type_name} in column {name}, as in {first.path}", got, hint)


def key_kinds(parts: Sequence[PartFile]) -> dict[str, str]:
    """The kinds of the keys of ``key=value`` folders, which all parts must share: numbers if every value is one."""
    names = [key for key, _ in parts[0].keys]
    for part in parts:
        if [key for key, _ in part.keys] != names or len(set(names)) != len(names):
            expected = f"the folder keys of {parts[0].path} ({', '.join(names) or 'none'}), each once"
            raise file_error(part.path, None, expected, ", ".join(key for key, _ in part.keys) or "none")
    values = {name: [dict(part.keys)[name] for part in parts] for name in names}
    return {n: NUMBER if all(v is None or is_number(v) for v in values[n]) else TEXT for n in names}
