"""The decision log: append-only, tied to a state by a stream id, its length and its digest."""

from __future__ import annotations

import csv
import errno
import hashlib
import io
import json
import os
import re
import stat
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import StateError
from ..files import sync_folder, write_atomically
from ..trace import Trace
from ..validation.text import safe_cell
from ..validation.values import invalid

COLUMNS = ("t", "score", "decision", "query_probability", "queried")
_EMPTY = hashlib.sha256().hexdigest()
_STAMP = "user.steelyard.stream"  # the stream's id as an attribute of the file, where the file system has such
_STREAM, _SHA256 = re.compile("[0-9a-f]{1,64}"), re.compile("[0-9a-f]{64}")
_LONGEST_NAME = 4096
_BLOCK = 1 << 20


@dataclass(frozen=True)
class LogMark:
    """What a state knows of its log: the stream both belong to, the log's name, its length and digest.

    A state that never had a log has no ``name``.
    """

    stream: str
    name: str = ""
    bytes: int = 0
    sha256: str = _EMPTY

    def to_dict(self) -> dict[str, Any]:
        """Plain values for the state."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: Any, path: Path) -> LogMark:
        """The mark of a state; raises StateError unless it is whole."""
        texts = ("stream", "name", "sha256")
        whole = isinstance(values, dict) and set(values) == {*texts, "bytes"}
        if not whole or any(type(values[name]) is not str for name in texts) or type(values["bytes"]) is not int:
            raise StateError(f"{path} must say which decision log belongs to it; it does not.")
        known = _STREAM.fullmatch(values["stream"]) and _SHA256.fullmatch(values["sha256"])
        if not known or not 0 <= values["bytes"] < 1 << 62 or len(values["name"]) > _LONGEST_NAME:
            raise StateError(f"{path} must name its decision log by an id, a name, a length and a digest; one is none.")
        return cls(**values)


class DecisionLog:
    """JSON lines, or CSV where the name ends so; ``-`` is standard output.

    Bytes are only ever added. An existing file is taken if its beginning is what the state wrote (``mark``); lines
    behind that were never learned and are cut, which :attr:`notes` says. Anything else is refused at once, unless
    ``existing`` allows to append or overwrite. The file itself is not touched before :meth:`open`, which the first
    :meth:`write` calls: a run that ends before it has decided a row leaves it as it was.

    Parameters
    ----------
    path : str or None
        Where to; None writes nothing.
    mark : LogMark
        What the state knows of its log; a new one for a new stream.
    rounds : int
        Rows decided so far.
    existing : {"refuse", "append", "overwrite"}
        What to do with a file that the state does not know.
    id : str or None
        Name of the column that names the rows; it follows the round.
    """

    def __init__(
        self, path: str | None, mark: LogMark, *, rounds: int = 0, existing: str = "refuse", id: str | None = None
    ) -> None:
        self.columns = COLUMNS if id is None else ("t", id, *COLUMNS[1:])
        self._named = id is not None
        self.as_csv = path is not None and path.lower().endswith(".csv")
        self.safe_csv = False  # whether a label that a spreadsheet would take for a formula gets a '
        self.mark = mark
        self.notes: list[str] = []
        self._handle: int | None = None
        self._path = None if path in (None, "-") else Path(str(path))
        self._to_stdout = path == "-"
        self._regular = self._path is not None and _is_regular(self._path)
        self._new = self._path is not None and not self._path.exists()  # so that its name is to be synced, too
        self._digest = hashlib.sha256()
        self._rounds, self._size, self._keep, self._cut = rounds, 0, 0, False
        if self._path is not None:
            self._look(self._path, existing)

    # -- opening -----------------------------------------------------------------------------------------------------

    def _look(self, path: Path, existing: str) -> None:
        """Decide what will be done with the file, or refuse it; nothing is changed yet."""
        if path.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
        if not os.access(path if path.exists() else path.absolute().parent, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
        if not self._regular:  # a pipe or a device: nothing to go on from
            return
        self._size = path.stat().st_size if path.exists() else 0
        self._keep, self._cut = self._plan(path, self._size, self._rounds, existing)
        self._digest = _digest_of(path, self._keep)
        self.mark = LogMark(self.mark.stream, path.name, self._keep, self._digest.hexdigest())

    def open(self) -> None:
        """Open the file, and cut what is to be cut; does nothing where it is open or where there is none."""
        if self._path is None or self._handle is not None:
            return
        if not self._regular:
            self._handle = os.open(self._path, os.O_WRONLY | os.O_APPEND)
            return
        if self._cut:
            self._say_cut(self._path, self._keep, self._size, self._rounds)
        self._handle = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o666)
        if self._keep < self._size:
            os.ftruncate(self._handle, self._keep)
        _stamp(self._handle, self.mark.stream)

    def _plan(self, path: Path, size: int, rounds: int, existing: str) -> tuple[int, bool]:
        """How many bytes of the file stay, and whether what is cut behind them was never learned."""
        mark = self.mark
        if size == 0:
            if mark.bytes:
                self.notes.append(f"{path} starts anew at row {rounds}: the log of {mark.bytes:,} bytes is not there.")
            return 0, False
        if existing == "overwrite":
            return 0, False
        if not mark.name:
            if existing == "append":
                return self._whole_lines(path, size), False
            hint = "Give another file, --append to add to it, or --overwrite."
            raise _refusal(path, "be a new file, since no state knows what it holds", f"{size:,} bytes", hint)
        stamp = _stamp_of(path)
        unproven = mark.bytes == 0 and stamp is None  # no byte that a digest could vouch for
        if unproven and not (path.name == mark.name and self._are_decisions(_tail(path, 0), rounds)):
            raise _refusal(path, f"be the log of stream {mark.stream}", "other content")
        if stamp not in (None, mark.stream):
            raise _refusal(path, f"be the log of stream {mark.stream}", f"the log of stream {stamp}")
        if size < mark.bytes or _digest_of(path, mark.bytes).hexdigest() != mark.sha256:
            begin = f"begin with the {mark.bytes:,} bytes that its state wrote"
            raise _refusal(path, begin, "other content" if size >= mark.bytes else f"{size:,} bytes")
        self._check_tail(path, rounds)
        return mark.bytes, size > mark.bytes

    def _whole_lines(self, path: Path, size: int) -> int:
        first = (_header(self.columns) + "\n" if self.as_csv else '{"t": ').encode()
        with path.open("rb") as file:
            if file.read(len(first)) != first:
                hint = "It begins with something else. Give another file, or --overwrite."
                raise invalid("--append", "find a decision log of the same format", str(path), hint)
            file.seek(-1, io.SEEK_END)
            if file.read(1) != b"\n":
                raise invalid("--append", "find whole lines in the log", str(path), "Its last line has no end.")
        return size

    def _check_tail(self, path: Path, rounds: int) -> None:
        """A last line without an end must be what a killed run leaves: the beginning of a decision."""
        *whole, torn = _tail(path, self.mark.bytes).split(b"\n")
        if not torn:
            return
        t = rounds + len(whole)
        starts = [f"{t},", f"{t - 1},", _header(self.columns)] if self.as_csv else [f'{{"t": {t}, ']
        if not any(torn.startswith(start.encode()) or start.encode().startswith(torn) for start in starts):
            raise _refusal(path, "end in decisions", f"{torn[:40]!r} behind them")

    def _say_cut(self, path: Path, keep: int, size: int, rounds: int) -> None:
        """Decisions can be made again; lines of another kind are put aside before they are cut."""
        tail = _tail(path, keep)
        said = f"cut {size - keep:,} bytes from {path} that its state never learned"
        if not self._are_decisions(tail, rounds):
            aside = path.with_name(f"{path.name}.cut-{time.strftime('%Y%m%dT%H%M%S')}-{os.getpid()}")
            with write_atomically(aside) as file:
                file.write(tail)
            said += f"; they are in {aside}"
        self.notes.append(said + ".")

    def _are_decisions(self, tail: bytes, rounds: int) -> bool:
        """Whether whole lines are decisions from row ``rounds`` on; a torn last one was checked before."""
        lines = tail.split(b"\n")[:-1]
        if self.as_csv and lines and lines[0] == _header(self.columns).encode():
            lines = lines[1:]
        starts = (f"{t}," if self.as_csv else f'{{"t": {t}, ' for t in range(rounds, rounds + len(lines)))
        return all(line.startswith(start.encode()) for line, start in zip(lines, starts, strict=True))

    # -- writing -----------------------------------------------------------------------------------------------------

    @property
    def is_file(self) -> bool:
        """Whether decisions go to a file that a state can vouch for."""
        return self._regular

    def write(self, start: int, trace: Trace, labels: tuple[Any, ...], ids: Sequence[str | None] = ()) -> None:
        """Append the rounds from ``start`` on; after a failure the file ends where it ended before."""
        if self._path is None and not self._to_stdout:
            return
        self.open()
        content = self._lines(start, trace, labels, ids)
        if self._to_stdout:
            sys.stdout.buffer.write(content)
            sys.stdout.buffer.flush()
            return
        assert self._handle is not None
        digest = self._digest.copy()
        digest.update(content)
        mark = replace(self.mark, bytes=self.mark.bytes + len(content), sha256=digest.hexdigest())
        try:
            _write_all(self._handle, content)
        except BaseException as error:
            with suppress(OSError):
                self.rewind()
            if isinstance(error, OSError) and error.filename is None:
                error.filename = str(self._path)
            raise
        self.mark = mark  # first: an interrupt in between ends the run, and nothing is added to the digest any more
        self._digest = digest

    def rewind(self) -> None:
        """Cut what an interrupted :meth:`write` has left behind the mark."""
        if self._handle is not None and self._regular:
            os.ftruncate(self._handle, self.mark.bytes)

    def _lines(self, start: int, trace: Trace, labels: tuple[Any, ...], ids: Sequence[str | None]) -> bytes:
        answers = [labels[int(answer)] for answer in np.asarray(trace.prediction).tolist()]
        columns = (
            *([list(ids)] if self._named else []),
            trace.score.tolist(),
            answers,
            np.asarray(trace.query_probability).tolist(),
            np.asarray(trace.queried).tolist(),
        )
        rows: Iterator[tuple[Any, ...]] = ((start + i, *cells) for i, cells in enumerate(zip(*columns, strict=True)))
        text = io.StringIO()
        if self.as_csv:
            if self.safe_csv:
                rows = (tuple(safe_cell(cell) if isinstance(cell, str) else cell for cell in row) for row in rows)
            writer = csv.writer(text, lineterminator="\n")
            if self.mark.bytes == 0:
                writer.writerow(self.columns)
            writer.writerows(rows)
        else:
            text.writelines(json.dumps(dict(zip(self.columns, row, strict=True))) + "\n" for row in rows)
        return text.getvalue().encode()

    def sync(self) -> None:
        """Return when what was written would survive a loss of power."""
        if self._handle is not None and self._regular:
            os.fsync(self._handle)
            if self._new:
                sync_folder(Path(os.path.realpath(str(self._path))).parent)
                self._new = False

    def close(self) -> None:
        """Close the file; standard output stays open."""
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None


def _header(columns: Sequence[str]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="").writerow(columns)
    return text.getvalue()


def _refusal(path: Path, rule: str, got: str, hint: str = "Give another file, or --overwrite.") -> StateError:
    return StateError(f"--decisions {path} must {rule}; got {got}. Nothing was written. {hint}")


def _is_regular(path: Path) -> bool:
    return not path.exists() or stat.S_ISREG(path.stat().st_mode)


def _blocks(path: Path, length: int) -> Iterator[bytes]:
    with path.open("rb") as file:
        while length and (block := file.read(min(_BLOCK, length))):
            length -= len(block)
            yield block


def _digest_of(path: Path, length: int) -> Any:
    """SHA-256 of the first bytes of a file."""
    digest = hashlib.sha256()
    if length:
        for block in _blocks(path, length):
            digest.update(block)
    return digest


def _tail(path: Path, start: int) -> bytes:
    with path.open("rb") as file:
        file.seek(start)
        return file.read()


def _write_all(handle: int, content: bytes) -> None:
    view = memoryview(content)
    while view:
        view = view[os.write(handle, view) :]


def _stamp(handle: int, stream: str) -> None:
    """Write the stream's id on the file; without such attributes length and digest are all there is."""
    if hasattr(os, "setxattr"):
        with suppress(OSError):
            os.setxattr(handle, _STAMP, stream.encode())


def _stamp_of(path: Path) -> str | None:
    if not hasattr(os, "getxattr"):
        return None
    try:
        return os.getxattr(path, _STAMP).decode("ascii", "replace")
    except OSError:
        return None
