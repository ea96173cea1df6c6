"""Following a growing file of rows, JSON lines or CSV: each row is decided once, whenever the service is killed.

The place up to which a file was read stands inside the event of each decision, so it is on the disk exactly when the
decision is. ``source`` of that event says which path is followed (8 bytes of the digest of its name), and which file
was there: 4 bytes of the digest of its inode, and 8 of that of its first bytes.
"""

from __future__ import annotations

import asyncio
import csv
import os
import re
import stat
import sys
import time
from hashlib import blake2b
from pathlib import Path
from typing import IO, Any, NamedTuple

import msgspec

from ...validation.values import invalid
from ..database.sqlite import SQLiteStore
from ..http.runtime import Runtime, SentRow
from ..log.guess import is_number
from ..log.records import MOST_BYTES, Cell
from ..log.settings import ProjectSettings
from ..replay.deciding import PATH_BYTES
from ..writer.jobs import DecideJob, Job, RefusedError, RowToDecide, StoreJob

HEAD = 4096  # bytes at the beginning of a file by which it is known again
INODE_BYTES, HEAD_BYTES = 4, 8
CHUNK = 1 << 18  # bytes read at once; a longer line is left out
ROWS = 500  # decided together
LOOK_EVERY = 0.2  # seconds
GRACE = 1.0  # seconds for which a file that was rotated away may still grow
TRY_AGAIN = 1.0  # seconds
SAID = 5  # lines that cannot be decided, of one reading, that are named one by one
_AGAIN = (429, 503, 507)
_ROTATED = re.compile(r"[.-][0-9]+\Z")
_RECORD = msgspec.json.Decoder(dict[str, Cell])


class Line(NamedTuple):
    """A row, or why a line is none, and where it ends."""

    row: dict[str, Cell] | None
    problem: str
    end: int


class FollowedFile:
    """One file, opened: what of it was taken, and what has come since."""

    def __init__(self, handle: IO[bytes], offset: int = 0) -> None:
        self.handle, self.offset = handle, offset
        self.inode = _digest(str(os.fstat(handle.fileno()).st_ino).encode(), INODE_BYTES)
        self._names: list[str] | None = None  # of a CSV file, and
        self._problem = ""  # why its lines cannot be used
        self._start = self.head()[: self.offset]

    @property
    def size(self) -> int:
        """Bytes that are there."""
        return os.fstat(self.handle.fileno()).st_size

    def read_bytes(self, first: int, count: int) -> bytes:
        """Bytes from a place on."""
        return os.pread(self.handle.fileno(), count, first)

    def head(self) -> bytes:
        """The first bytes."""
        return self.read_bytes(0, HEAD)

    def name_at(self, offset: int, head: bytes) -> bytes:
        """What the file is known by, once it was taken up to a place."""
        return self.inode + _digest(head[:offset], HEAD_BYTES)

    def was_cut(self) -> bool:
        """Whether it was written anew in its place; then it begins again."""
        if self.size >= self.offset and self.head().startswith(self._start):
            return False
        self.offset, self._names, self._problem, self._start = 0, None, "", b""
        return True

    def take(self, kinds: dict[str, str]) -> list[Line]:
        """Lines that are complete and were not taken yet."""
        if self._is_json():
            found = self._take_json()
        elif self._names is None and not self._take_header(kinds):
            found = []
        else:
            found = self._take_csv(kinds)
        if found:
            self.offset = found[-1].end
        self._start = self.head()[: self.offset]
        return found

    def _is_json(self) -> bool:
        return self.head().lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{")

    def _lines(self, first: int) -> list[tuple[bytes, int]]:
        """Complete lines from a place on, each with its end; one that is too long is empty."""
        raw = self.read_bytes(first, CHUNK)
        end = raw.rfind(b"\n") + 1
        if not end and len(raw) == CHUNK:
            return self._too_long(first)
        found, at = [], first
        for line in raw[:end].splitlines(keepends=True) if b"\r" not in raw else _split(raw[:end]):
            at += len(line)
            found.append((line, at))
        return found

    def _too_long(self, first: int) -> list[tuple[bytes, int]]:
        at = first
        while raw := self.read_bytes(at, CHUNK):
            found = raw.find(b"\n")
            if found >= 0:
                return [(b"", at + found + 1)]
            at += len(raw)
        return []

    def _take_json(self) -> list[Line]:
        found: list[Line] = []
        for line, end in self._lines(self.offset)[:ROWS]:
            if not line:
                found.append(Line(None, f"a line must have at most {CHUNK} bytes", end))
                continue
            text = line.removeprefix(b"\xef\xbb\xbf").strip()
            if not text:
                found.append(Line(None, "", end))
                continue
            try:
                found.append(Line(_RECORD.decode(text), "", end))
            except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
                found.append(Line(None, f"a line must be a JSON object of plain values; {error}", end))
        return found

    def _take_header(self, kinds: dict[str, str]) -> bool:
        """The first line that is not empty; where it cannot be used, no line behind it can."""
        for cells, problem, end in _csv_records(self._lines(0)):
            if problem or cells:
                names = [name.removeprefix("\ufeff") for name in cells]
                self._names, self.offset = names, max(self.offset, end)
                if problem:
                    self._problem = f"the header cannot be read: {problem}"
                elif len(set(names)) < len(names):
                    self._problem = "the header must name each column once"
                elif not kinds.keys() & names:
                    self._problem = "the header must name columns of the project; it names none"
                return True
        return False

    def _take_csv(self, kinds: dict[str, str]) -> list[Line]:
        assert self._names is not None
        found = []
        for cells, problem, end in _csv_records(self._lines(self.offset)):
            if self._problem or problem or not cells:
                found.append(Line(None, self._problem or problem, end))
            elif len(cells) != len(self._names):
                found.append(Line(None, f"a line must have {len(self._names)} cells; it has {len(cells)}", end))
            else:
                row = {name: _cell(cell, kinds.get(name)) for name, cell in zip(self._names, cells, strict=True)}
                found.append(Line(row, "", end))
        return found


def _split(raw: bytes) -> list[bytes]:
    """At line feeds alone: a carriage return may stand in a quoted cell."""
    return [line + b"\n" for line in raw.split(b"\n")[:-1]]


def _csv_records(lines: list[tuple[bytes, int]]) -> list[tuple[list[str], str, int]]:
    """Records of one or more lines: the cells, or what is wrong, and the end; an unfinished one is left for later."""
    found: list[tuple[list[str], str, int]] = []
    first = 0
    while first < len(lines) and len(found) < ROWS:
        last, size = first, len(lines[first][0])
        cells: list[str] = []
        quoted = lines[first][0].count(b'"') % 2
        while quoted and size <= MOST_BYTES and last + 1 < len(lines):
            last += 1  # a quoted cell goes on in the next line
            size += len(lines[last][0])
            quoted = (quoted + lines[last][0].count(b'"')) % 2
        if quoted and size <= MOST_BYTES:
            return found
        if quoted:
            last = first
            problem = f"a quoted cell must end within {MOST_BYTES} bytes"
        elif not size:
            problem = f"a line must have at most {CHUNK} bytes"
        else:
            cells, problem = _csv_cells(b"".join(line for line, _ in lines[first : last + 1]))
        found.append((cells, problem, lines[last][1]))
        first = last + 1
    return found


def _csv_cells(raw: bytes) -> tuple[list[str], str]:
    try:
        text = raw.decode("utf-8").rstrip("\r\n")
        return (next(csv.reader([text], strict=True)) if text else []), ""
    except (UnicodeDecodeError, csv.Error, StopIteration) as error:
        return [], f"a line must be CSV in UTF-8; {error}"


def _cell(text: str, kind: str | None) -> Cell:
    if not text:
        return None
    return float(text) if kind == "number" and is_number(text) else text


def _digest(raw: bytes, size: int) -> bytes:
    return blake2b(raw, digest_size=size).digest()


class Tail:
    """Follows one path for a project, through truncation and rotation, beside a running service."""

    def __init__(self, path: Path, slug: str) -> None:
        self.path, self.slug = path.absolute(), slug
        if self.path.exists() and not stat.S_ISREG(self.path.stat().st_mode):
            raise invalid("--tail", "be a file, or not be there yet", str(path))
        self._name = _digest(os.fsencode(self.path), PATH_BYTES)
        self._file: FollowedFile | None = None
        self._known: tuple[bytes, int] | None = None  # the last file of which a row was decided, and how far
        self._left_at: float | None = None  # since when the file is no longer at its path

    async def run(self, runtime: Runtime) -> None:
        """Until it is cancelled."""
        await runtime.loaded(self.slug)

        def known(store: SQLiteStore, at: int) -> tuple[bytes, int] | None:
            return runtime.writer.projects[self.slug].state.tails.get(self._name)

        self._known = await _carried_out(runtime, StoreJob("", 0, act=known))
        settings: ProjectSettings = runtime.snapshot(self.slug).settings
        try:
            await self._follow(runtime, settings)
        finally:
            if self._file is not None:
                self._file.handle.close()

    async def _follow(self, runtime: Runtime, settings: ProjectSettings) -> None:
        trouble = ""
        while True:
            lines: list[Line] = []
            try:
                lines = await asyncio.to_thread(self.take, dict(settings.columns))
            except OSError as error:  # no right to read it, a disk that is away: it is tried again
                if str(error) != trouble:
                    _say(f"{self.path} cannot be read: {error}")
                trouble = str(error)
            if lines:
                await self._decide(runtime, lines)
            else:
                await asyncio.sleep(LOOK_EVERY)

    # -- files -------------------------------------------------------------------------------------------------------

    def take(self, kinds: dict[str, str]) -> list[Line]:
        """The next complete lines; none while there is nothing new."""
        if self._file is None:
            self._file = self._opened()
            if self._file is None:
                return []
        if self._file.was_cut():
            _say(f"{self.path} was written anew; it is read from its beginning")
        found = self._file.take(kinds)
        if found:
            self._left_at = None
        elif not self._is_at_path():
            self._leave()
        return found

    def _is_at_path(self) -> bool:
        assert self._file is not None
        try:
            return os.path.samestat(os.stat(self.path), os.fstat(self._file.handle.fileno()))
        except FileNotFoundError:
            return False

    def _leave(self) -> None:
        """A file that was moved away is left for its successor once it has not grown for a while."""
        assert self._file is not None
        now, following = time.monotonic(), self._following()
        self._left_at = self._left_at or now
        if following is None or now - self._left_at < GRACE:
            return  # what was moved away may still grow
        if self._file.size > self._file.offset:
            _say(f"{self._file.size - self._file.offset} bytes of an unfinished line were left when {self.path} moved")
        self._file.handle.close()
        self._file, self._left_at = self._open(following), None

    def _following(self) -> Path | None:
        """The file that came after the present one: a rotated one, else that at the path, if it is there."""
        assert self._file is not None
        mine, rotated = os.fstat(self._file.handle.fileno()), self._rotated()
        own = next((at for at, path in enumerate(rotated) if os.path.samestat(path.stat(), mine)), None)
        if own is not None and own + 1 < len(rotated):
            return rotated[own + 1]
        return self.path if self.path.exists() else None

    def _opened(self) -> FollowedFile | None:
        """The file to go on with: the known one, wherever it has been moved to, else that at the path."""
        if self._known is None:
            return self._open(self.path)
        name, offset = self._known
        found = self._open(self.path)
        if found is not None and _is_known(found, name, offset, copied=offset >= HEAD):
            return FollowedFile(found.handle, offset)
        for path in self._rotated():
            older = self._open(path)
            if older is not None and _is_known(older, name, offset, copied=True):
                if found is not None:
                    found.handle.close()
                return FollowedFile(older.handle, offset)
            if older is not None:
                older.handle.close()
        if found is not None:
            _say(f"{self.path} is another file than before, and what was behind byte {offset} of that one is not found")
        return found

    def _open(self, path: Path) -> FollowedFile | None:
        try:
            return FollowedFile(path.open("rb"))
        except FileNotFoundError:
            return None

    def _rotated(self) -> list[Path]:
        """Files beside the path whose names go on with a number, the oldest first."""
        names = [one for one in self.path.parent.iterdir() if one.name.startswith(self.path.name)]
        kept = [one for one in names if _ROTATED.fullmatch(one.name[len(self.path.name) :]) and one.is_file()]
        return sorted(kept, key=lambda one: (one.stat().st_mtime_ns, one.name))

    # -- rows --------------------------------------------------------------------------------------------------------

    async def _decide(self, runtime: Runtime, lines: list[Line]) -> None:
        assert self._file is not None
        rows: list[RowToDecide | RefusedError] = []
        head, said = self._file.head(), 0
        for line in lines:
            problem = line.problem
            if line.row is not None:
                try:
                    row = runtime.row(self.slug, SentRow(line.row))
                    row.source, row.offset = self._name + self._file.name_at(line.end, head), line.end
                    rows.append(row)
                except RefusedError as error:
                    problem = error.message
            if problem:
                said += 1
                if said <= SAID:
                    _say(f"before byte {line.end} of {self.path}: {problem}; it was not decided")
        if said > SAID:
            _say(f"{said - SAID} more lines of {self.path} were not decided")
        if not rows:
            return
        await runtime.weigh(self.slug, rows)
        for reply in await _carried_out(runtime, DecideJob(self.slug, 0, rows=rows, size=len(rows), weight=CHUNK)):
            if isinstance(reply, RefusedError):
                _say(f"a row of {self.path} was refused: {reply.message}")
        self._known = self._file.name_at(lines[-1].end, head), lines[-1].end


async def _carried_out(runtime: Runtime, job: Job) -> Any:
    """What a job did; a full queue or disk is waited for, since the file keeps its rows."""
    while True:
        try:
            return await runtime.run(job)
        except RefusedError as error:
            if error.status not in _AGAIN:
                raise
            await asyncio.sleep(TRY_AGAIN)


def _is_known(file: FollowedFile, name: bytes, offset: int, *, copied: bool) -> bool:
    """Whether this is the file of that name, not shorter than it was; a copy of it has another inode."""
    if file.size < offset:
        return False
    found = file.name_at(offset, file.head())
    return found == name or (copied and found[INODE_BYTES:] == name[INODE_BYTES:])


def _say(what: str) -> None:
    print(f"tail: {what}", file=sys.stderr, flush=True)
