"""Labels that come days after their rows were decided: found in a file, matched with what is awaited, and learned."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any, NamedTuple

import narwhals as nw

from ..data.chunks import iter_chunks
from ..data.files import can_be_read_again, open_source
from ..errors import InvalidInputError
from ..models.tables import named_rows, open_rows
from ..validation.values import invalid
from .session import Session, is_missing

__all__ = ["LateLabel", "match_labels", "read_labels"]

ROUND, LABEL = "t", "label"
_ROWS = 10_000
_NAMED = 5  # of the entries that cannot be used


class LateLabel(NamedTuple):
    """One line of a file of labels.

    Parameters
    ----------
    key : str
        The id of the row, or its round, as text.
    label : object
        What the file says.
    """

    key: str
    label: Any


def read_labels(
    path: str, *, key: str | None, target: str | None, format: str | None = None, header: bool | None = None
) -> tuple[str, list[LateLabel]]:
    """The name of the column that says which row is meant, and the labels; lines without a label are left out.

    Parameters
    ----------
    path : str
        A table in any format; ``-`` is standard input.
    key : str or None
        The column of ids of the stream; where the file has none, or the stream, the rounds ``t`` count.
    target : str or None
        The column of labels; else the only other one, or the one called ``label``.
    format : str or None
        Of the file; else from its name.
    header : bool or None
        False: the file has no names of columns.
    """
    source, kind = open_rows(path, format)
    content = None if path != "-" and can_be_read_again(path) else _whole(source)  # it is read twice
    if kind == "libsvm":
        raise invalid("--labels", "be a table with named columns", "LIBSVM")
    options: dict[str, Any] = {} if header is None else {"header": header}
    first = next(iter_chunks(source if content is None else io.BytesIO(content), rows=1, format=kind, **options), None)
    names = [] if first is None else list(first.features)
    by = key if key in names else ROUND
    if by not in names:
        wanted = f"{ROUND!r}" if key is None else f"{key!r} or {ROUND!r}"
        raise invalid("--labels", f"have a column {wanted} that says which row is meant", ", ".join(names) or "nothing")
    column = _label_column(names, [by, ROUND], target)
    found: list[LateLabel] = []
    before = 0
    source = source if content is None else io.BytesIO(content)
    for chunk in iter_chunks(source, rows=_ROWS, format=kind, nominal=[by, column], **options):
        frame = nw.from_native(named_rows(chunk), eager_only=True)
        cells = zip(frame[by].to_list(), frame[column].to_list(), strict=True)
        for at, (row, label) in enumerate(cells, start=before + 1):
            if is_missing(row):
                raise invalid("--labels", f"say in column {by!r} which row is meant", None, f"See row {at}.")
            if not is_missing(label):
                found.append(LateLabel(str(row).strip(), label))
        before += len(frame)
    return by, found


def _whole(source: Any) -> bytes:
    with open_source(source) as content:
        return content.read()


def _label_column(names: list[str], keys: list[str], target: str | None) -> str:
    if target is not None:
        if target not in names or target in keys[:1]:
            raise invalid("--target", f"be the column of labels ({', '.join(names)})", target)
        return target
    others = [name for name in names if name not in keys]
    if len(others) == 1 or LABEL in others:
        return LABEL if LABEL in others else others[0]
    raise invalid("--target", "name the column of labels", ", ".join(others) or "no other column")


def match_labels(session: Session, by: str, found: list[LateLabel]) -> dict[int, int]:
    """Round and position of every label, in the order of the file; raises and names entries that cannot be used.

    Parameters
    ----------
    session : Session
        The stream.
    by : str
        The column of the file that said which rows are meant.
    found : list of LateLabel
        The labels.
    """
    rounds = _rounds_by_id(session) if by == session.side.id else None
    matched: dict[int, int] = {}
    wrong: dict[str, list[str]] = {}
    for key, label in found:
        code = session.code_of(label)
        named = _named_rounds(key, rounds)
        if code is None:
            wrong.setdefault(f"is no label of the stream ({_listed(map(repr, session.labels))})", []).append(
                repr(label)
            )
        elif len(named) > 1:
            twice = f"names the rows t = {_listed(map(str, named))}; say which with a column {ROUND!r}"
            wrong.setdefault(twice, []).append(key)
        elif not named or (named[0] not in session.awaited and named[0] not in session.settled):
            wrong.setdefault("is not awaited: unknown, not asked for, or given up", []).append(key)
        elif named[0] in session.settled:
            had = session.settled[named[0]].label
            says = "has its label already" if had == code else f"has another label already, {session.labels[had]!r}"
            wrong.setdefault(says, []).append(key)
        elif named[0] in matched:
            same = matched[named[0]] == code
            wrong.setdefault("comes twice" if same else "comes twice with different labels", []).append(key)
        else:
            matched[named[0]] = code
    if wrong:
        raise _unusable(by, wrong)
    return matched


def _rounds_by_id(session: Session) -> dict[str, list[int]]:
    """Rounds of every id: those that are awaited, or those that were, if none is."""
    found: dict[str, list[int]] = {}
    for t, entry in session.awaited.items():
        if entry.id is not None:
            found.setdefault(entry.id, []).append(t)
    for t, settled in session.settled.items():
        if settled.id is not None and settled.id not in found:
            found[settled.id] = [t]
    return found


def _named_rounds(key: str, rounds: dict[str, list[int]] | None) -> list[int]:
    if rounds is not None:
        return rounds.get(key, [])
    return [int(key)] if key.isascii() and key.isdigit() and len(key) < 20 else []


def _listed(texts: Any) -> str:
    words = list(texts)
    return ", ".join(words[:_NAMED]) + (f" and {len(words) - _NAMED} more" if len(words) > _NAMED else "")


def _unusable(by: str, wrong: dict[str, list[str]]) -> InvalidInputError:
    said = "; ".join(f"{_listed(keys)} {why}" for why, keys in wrong.items())
    return InvalidInputError(
        f"--labels must name rows whose label is awaited, by {by}, once each; {said}. Nothing was learned."
    )


def learn_labels(session: Session, path: Path | str, **reading: Any) -> int:
    """Learn every label of a file, or none; how many there were.

    Parameters
    ----------
    session : Session
        The stream.
    path : path
        The file.
    **reading : Any
        As for :func:`read_labels`.
    """
    by, found = read_labels(str(path), key=session.side.id, **reading)
    if not found:
        raise invalid("--labels", "hold a label", "none")
    matched = match_labels(session, by, found)
    session.learn_late(matched)
    return len(matched)
