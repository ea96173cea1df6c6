"""Opening files: compression is recognised by content, and every fault of a file says where it is."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from ..errors import DataFileError, DataNotFoundError, SteelyardError
from ..validation.values import invalid

Source = str | os.PathLike[str] | BinaryIO
COMPRESSIONS: dict[bytes, Callable[[Any], Any]] = {b"\x1f\x8b": gzip.open, b"BZh": bz2.open, b"\xfd7zXZ\x00": lzma.open}
COMPRESSED_SUFFIXES = (".gz", ".bz2", ".xz")
BLOCK = 1 << 20  # bytes read at a time


def fault(where: str, line: int | None, expected: str, got: str = "", advice: str = "") -> DataFileError:
    """Word what is wrong with a file; the caller raises it."""
    place = where if line is None else f"{where}, line {line}"
    return DataFileError(f"{place}: expected {expected}{f'; got {got}' if got else ''}. {advice}".rstrip())


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


@contextmanager
def opened(source: Source) -> Iterator[BinaryIO]:
    """The uncompressed bytes of a path or binary stream. A given stream stays open; damage becomes a DataFileError."""
    where = name_of(source)
    try:
        if isinstance(source, (str, os.PathLike)):
            with open(source, "rb") as raw, _uncompressed(raw) as content:
                yield content
        elif hasattr(source, "read") and not isinstance(source, io.TextIOBase):
            with _peekable(source) as raw:
                yield _uncompressed(raw)
        else:
            raise invalid("source", "be a path or a binary stream", source, "Pass sys.stdin.buffer for standard input.")
    except SteelyardError:
        raise
    except FileNotFoundError as error:
        raise DataNotFoundError(f"{where} does not exist. Check the path.") from error
    except (gzip.BadGzipFile, lzma.LZMAError, zlib.error, EOFError) as error:
        raise fault(
            where, None, "a whole compressed file", str(error), "It may be cut short; fetch it again."
        ) from error
    except OSError as error:
        raise fault(where, None, "a readable file", error.strerror or str(error)) from error


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


def _uncompressed(raw: Any) -> Any:
    start = raw.peek(6)[:6]
    for magic, reader in COMPRESSIONS.items():
        if start.startswith(magic):
            return reader(raw)
    return raw


def blocks(content: BinaryIO) -> Iterator[bytes]:
    """Blocks as they come: a live stream is not held back until a whole block has arrived."""
    read = getattr(content, "read1", content.read)
    while block := read(BLOCK):
        yield block
