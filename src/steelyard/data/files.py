"""Opening files: compression is recognised by content, sizes are limited while reading, errors name file and line."""

from __future__ import annotations

import bz2
import codecs
import gzip
import io
import lzma
import os
import reprlib
import stat
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from ..errors import DataFileError, DataNotFoundError, SteelyardError
from ..validation.text import printable
from ..validation.values import check_count, invalid, require

Source = str | os.PathLike[str] | BinaryIO
COMPRESSED_SUFFIXES = (".gz", ".bz2", ".xz", ".zst")
BLOCK = 1 << 20  # bytes read at a time
MAX_LINE = 64 << 20  # bytes of one line; beyond that chunks would not be read in constant memory
SMALL_TEXT = 256 << 20  # a compressed file may always unpack to this many bytes,
MAX_EXPANSION = 200  # and beyond that to so many times its size, unless max_bytes allows more
WORKBOOK = "Save the sheet as CSV (in Excel: CSV UTF-8) and pass that file."
ARCHIVE = "Unpack it and pass the table inside; .csv.gz is read as it is."
_SHOWS_KIND = 512  # bytes at the start of a file
_ZIP, _OLD_WORKBOOK = b"PK\x03\x04", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"

_short = reprlib.Repr()
_short.maxstring = _short.maxother = _short.maxlong = 60


def file_error(where: str, line: int | None, expected: str, got: str = "", hint: str = "") -> DataFileError:
    """Word what is wrong with a file; the caller raises it."""
    place = where if line is None else f"{where}, line {line}"
    return DataFileError(printable(f"{place}: expected {expected}{f'; got {got}' if got else ''}. {hint}".rstrip()))


def short_repr(value: object) -> str:
    """The value as shown in a message; bounded work however long or deeply nested it is."""
    return _short.repr(value)


def name_of(source: Source) -> str:
    """What to call a path or stream in messages."""
    if isinstance(source, (str, os.PathLike)):
        return os.fspath(source)
    name = getattr(source, "name", None)
    return name if isinstance(name, str) else "the stream"


def suffix_of(source: Source) -> str:
    """The suffix in lower case that tells the format: ``.csv`` of ``rows.CSV.gz``."""
    name = Path(name_of(source)).name.lower()
    for compressed in COMPRESSED_SUFFIXES:
        name = name.removesuffix(compressed)
    return Path(name).suffix


def can_be_read_again(source: Source) -> bool:
    """False for an open stream, and for the path of a pipe: who opens that a second time waits, or misses rows."""
    if not isinstance(source, (str, os.PathLike)):
        return False
    try:
        return not stat.S_ISFIFO(os.stat(source).st_mode)
    except OSError:  # said by whoever opens it
        return True


@contextmanager
def open_source(source: Source, max_bytes: int | None = None) -> Iterator[BinaryIO]:
    """Open a path or binary stream as uncompressed bytes.

    Parameters
    ----------
    source : path or binary stream
        A given stream stays open.
    max_bytes : int, optional
        Most uncompressed bytes to read. By default a plain file has no limit, and a compressed one may not unpack to
        more than 256 MB and 200 times its size.

    Raises
    ------
    DataFileError
        While reading, if the file is damaged or larger than allowed.
    """
    where = name_of(source)
    if max_bytes is not None:
        check_count("max_bytes", max_bytes)
    try:
        if isinstance(source, (str, os.PathLike)):
            with open(source, "rb") as raw:
                yield _uncompressed(where, raw, max_bytes)
        elif hasattr(source, "read") and not isinstance(source, io.TextIOBase):
            with _peekable(source) as raw:
                yield _uncompressed(where, raw, max_bytes)
        else:
            raise invalid("source", "be a path or a binary stream", source, "Pass sys.stdin.buffer for standard input.")
    except SteelyardError:
        raise
    except FileNotFoundError as error:
        raise DataNotFoundError(f"{where} does not exist. Check the path.") from error
    except (gzip.BadGzipFile, lzma.LZMAError, zlib.error, EOFError) as error:
        hint = "It may be cut short; fetch it again."
        raise file_error(where, None, "a whole compressed file", str(error), hint) from error
    except OSError as error:
        raise file_error(where, None, "a readable file", error.strerror or str(error)) from error


@contextmanager
def _peekable(source: Any) -> Iterator[Any]:
    if hasattr(source, "peek"):
        yield source
        return
    buffered = io.BufferedReader(source)
    try:
        yield buffered
    finally:
        buffered.detach()  # otherwise the caller's stream would be closed along with the buffer


def _uncompressed(where: str, raw: Any, max_bytes: int | None) -> Any:
    start = raw.peek(_SHOWS_KIND)[:_SHOWS_KIND]
    _refuse_other_kinds(where, start)
    unpack = next((unpack for magic, unpack in COMPRESSIONS.items() if start.startswith(magic)), None)
    if unpack is None:
        return raw if max_bytes is None else _limited(where, raw, lambda: max_bytes)
    packed = CountedReader(raw)
    content = unpack(io.BufferedReader(packed, BLOCK))
    if max_bytes is not None:
        return _limited(where, content, lambda: max_bytes)
    return _limited(where, content, lambda: max(SMALL_TEXT, MAX_EXPANSION * packed.count))


def _refuse_other_kinds(where: str, start: bytes) -> None:
    """Say what to do about a workbook, a zip archive and UTF-16, whatever the file is called."""
    if start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        hint = 'Save it as "CSV UTF-8", or convert it: iconv -f UTF-16 -t UTF-8 OLD > NEW'
        raise file_error(where, None, "UTF-8 text", "UTF-16", hint)
    if start.startswith(_OLD_WORKBOOK) or (start.startswith(_ZIP) and (b"xl/" in start or b"[Content_Types]" in start)):
        raise file_error(where, None, "a table as text or Parquet", "a workbook", WORKBOOK)
    if start.startswith(_ZIP):
        raise file_error(where, None, "a table", "a zip archive", ARCHIVE)


def not_utf8(where: str, line: int, error: UnicodeDecodeError) -> DataFileError:
    """The error for bytes that are no UTF-8; ``line`` is that of the first byte that was decoded."""
    text = bytes(error.object)
    line += text[: error.start].count(b"\n")
    hint = ""
    if b"\0" not in text and text[: error.start].isascii():  # no other character was UTF-8 either
        hint = "It looks like Windows-1252; convert it: iconv -f WINDOWS-1252 -t UTF-8 OLD > NEW"
    return file_error(where, line, "UTF-8 text", repr(text[error.start : error.end]), hint)


def _unpack_zstd(raw: Any) -> Any:
    return require("pyarrow", extra="files", why="A .zst file").CompressedInputStream(raw, "zstd")


COMPRESSIONS: dict[bytes, Callable[[Any], Any]] = {
    b"\x1f\x8b": gzip.open,
    b"BZh": bz2.open,
    b"\xfd7zXZ\x00": lzma.open,
    b"\x28\xb5\x2f\xfd": _unpack_zstd,
}


class CountedReader(io.RawIOBase):
    """The bytes of another reader, counted and looked at while they pass; a live stream is not held back."""

    def __init__(self, content: Any, look: Callable[[bytes], None] = lambda block: None) -> None:
        self._read = getattr(content, "read1", content.read)
        self._look = look
        self.count = 0

    def readable(self) -> bool:
        """Always."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Read what is there, and have it looked at."""
        block = self._next(len(buffer))
        buffer[: len(block)] = block
        return len(block)

    def readall(self) -> bytes:
        """All the rest."""
        return b"".join(iter(lambda: self._next(BLOCK), b""))

    def _next(self, size: int) -> bytes:
        block: bytes = self._read(size)
        self.count += len(block)
        self._look(block)
        return block


def _limited(where: str, content: Any, limit: Callable[[], int]) -> io.BufferedReader:
    def check(block: bytes) -> None:
        if reader.count > limit():
            hint = "Pass max_bytes= if the file is trusted and memory allows."
            raise file_error(where, None, f"at most {limit():,} bytes of uncompressed content", "more", hint)

    reader = CountedReader(content, check)
    return io.BufferedReader(reader, BLOCK)


def seekable(content: Any) -> Any:
    """The same bytes with random access: as they are, or held in memory."""
    return content if content.seekable() else io.BytesIO(content.read())


def blocks(content: BinaryIO) -> Iterator[bytes]:
    """Blocks as they come: a live stream is not held back until a whole block has arrived."""
    read = getattr(content, "read1", content.read)
    while block := read(BLOCK):
        yield block


class LineLimit:
    """Raises once a line is longer than ``MAX_LINE`` bytes; looks at blocks, so that reading lines costs no more."""

    def __init__(self, where: str) -> None:
        self._where, self._lines, self._unfinished = where, 0, 0

    def add(self, block: bytes) -> None:
        """Look at the next block of the text."""
        end = block.rfind(b"\n")
        self._unfinished = self._unfinished + len(block) if end < 0 else len(block) - end - 1
        if end >= 0:
            self._lines += block.count(b"\n")
        if self._unfinished > MAX_LINE:
            expected = f"lines of at most {MAX_LINE >> 20} MB"
            raise file_error(self._where, self._lines + 1, expected, "a longer one", "Is the format right?")


def lines_of(where: str, content: BinaryIO) -> io.BufferedReader:
    """The same bytes; no line of them may be longer than ``MAX_LINE``."""
    return io.BufferedReader(CountedReader(content, LineLimit(where).add), BLOCK)
