"""The files behind a folder, pattern, list or URL, in natural order.

Tested in ``tests/unit/data/test_parts.py``.
"""

from __future__ import annotations

import glob
import io
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from ..errors import DataFileError, DataNotFoundError
from ..validation.values import invalid, require
from .files import Source, file_error

NO_VALUE = "__HIVE_DEFAULT_PARTITION__"  # how Hive and Spark write a missing key
_MAGIC = re.compile(r"[*?\[]")


@dataclass(frozen=True)
class PartFile:
    """One file of several: where it lies, how it was when listed, and the keys of its ``key=value`` folders."""

    path: str
    name: str
    size: int
    modified: str
    keys: tuple[tuple[str, str | None], ...] = ()
    filesystem: Any = None

    def open(self) -> Source:
        """The file as a source for a reader; an error if it has changed since it was listed."""
        self.check_unchanged()
        if self.filesystem is None:
            return self.path
        with _named(self.path):
            return io.BufferedReader(_RemoteFile(self.path, self.filesystem.open(self.path, "rb")))

    def check_unchanged(self) -> None:
        """Raise if the file is another one than was listed, as far as its filesystem tells."""
        if self._has_changed():
            raise file_error(self.path, None, "a file as it was when the parts were listed", "a changed one")

    def _has_changed(self) -> bool:
        if self.filesystem is None:
            return _status(self.path) != (self.size, self.modified)
        with _named(self.path):
            size, modified = _size_and_change(self.filesystem.info(self.path))
        if size and self.size and size != self.size:
            return True
        listed, now = self.modified.partition(" "), modified.partition(" ")
        comparable = listed[0] == now[0] and now[0] in ("ETag", "mtime")  # listings may tell less, or in other words
        return comparable and listed != now


class _RemoteFile(io.RawIOBase):
    """A file of another filesystem, with the name that messages give it."""

    def __init__(self, name: str, file: Any) -> None:
        self.name, self._file = name, file

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return bool(self._file.seekable())

    def readinto(self, buffer: Any) -> int:
        block = self._file.read(len(buffer))
        buffer[: len(block)] = block
        return len(block)

    def seek(self, offset: int, whence: int = 0) -> int:
        return int(self._file.seek(offset, whence))

    def tell(self) -> int:
        return int(self._file.tell())

    def close(self) -> None:
        self._file.close()
        super().close()


def is_several(source: Any) -> bool:
    """Whether a source is a list, URL, folder or pattern instead of one file or stream."""
    if isinstance(source, (list, tuple)):
        return True
    if not isinstance(source, (str, os.PathLike)):
        return False
    path = os.fspath(source)
    if path.endswith(os.sep):  # a folder, even one that does not exist
        return True
    return "://" in path or os.path.isdir(path) or (_MAGIC.search(path) is not None and not os.path.exists(path))


def find_parts(source: Any) -> tuple[PartFile, ...]:
    """All files of a source in natural order of their names; hidden, temporary and marker files are left out."""
    found: Iterable[PartFile]
    if isinstance(source, (list, tuple)):
        found = _of_list(list(source))
    elif isinstance(source, (str, os.PathLike)):
        path = os.fspath(source)
        found = _remote(path) if "://" in path else _local(path)
    else:
        raise invalid("source", "be a folder, pattern, URL or list of paths", source)
    parts = tuple(sorted(found, key=lambda part: natural_order(part.name)))
    places = Counter(part.path if part.filesystem is not None else os.path.abspath(part.path) for part in parts)
    if twice := [place for place, count in places.items() if count > 1]:
        raise invalid("source", "name each part once", twice[0])
    if not parts:
        raise DataNotFoundError(f"{_shown(source)} holds no data files. Check the path or pattern.")
    return parts


def natural_order(name: str) -> tuple[Any, ...]:
    """A key by which part-2 comes before part-10."""
    pieces = re.split(r"([0-9]+)", name)
    return (*((piece, 0) if i % 2 == 0 else ("", int(piece[:4000])) for i, piece in enumerate(pieces)), (name, 0))


def _shown(source: Any) -> str:
    return f"the list of {len(source)} paths" if isinstance(source, (list, tuple)) else os.fspath(source)


def _of_list(paths: list[Any]) -> list[PartFile]:
    for path in paths:
        if not isinstance(path, (str, os.PathLike)):
            raise invalid("source", "be a list of paths", path)
    names = list(map(os.fspath, paths))
    remote = any("://" in name for name in names)
    return [part for name in names for part in (_remote(name) if remote else _local(name))]


def _local(path: str) -> Iterator[PartFile]:
    if os.path.isdir(path):
        return (_part(file, path) for file in _files_below(path))
    if _MAGIC.search(path) and not os.path.exists(path):
        root = str(Path(*_fixed_folders(path)))
        matches = (m for match in glob.iglob(path, recursive=True) for m in _files_at(match))
        return (_part(file, root) for file in matches if not _is_skipped(os.path.relpath(file, root)))
    return iter([_part(path, os.path.dirname(path) or ".")])


def _fixed_folders(pattern: str) -> Iterable[str]:
    """The folders before the first one with a wildcard."""
    folders = []
    for folder in Path(pattern).parts[:-1]:
        if _MAGIC.search(folder):
            break
        folders.append(folder)
    return folders or ["."]


def _files_at(path: str) -> Iterator[str]:
    return _files_below(path) if os.path.isdir(path) else iter([path])


def _files_below(root: str) -> Iterator[str]:
    for folder, folders, files in os.walk(root):
        folders[:] = [name for name in folders if not _is_skipped(name)]
        yield from (os.path.join(folder, name) for name in files if not _is_skipped(name))


def _is_skipped(name: str) -> bool:
    """Markers (_SUCCESS), checksums and files that are hidden or still being written."""
    return any(piece.startswith((".", "_")) or piece.endswith((".tmp", ".crc")) for piece in Path(name).parts)


def _part(path: str, root: str) -> PartFile:
    name = os.path.relpath(path, root)
    size, modified = _status(path)
    return PartFile(path, name, size, modified, _keys(name))


def _status(path: str) -> tuple[int, str]:
    with _named(path):
        status = os.stat(path)
    return status.st_size, str(status.st_mtime_ns)


def _size_and_change(info: Mapping[str, Any]) -> tuple[int, str]:
    """The size of a file of another filesystem, and what it tells of the last change, by the name of that."""
    change = next((f"{key} {info[key]}" for key in ("ETag", "mtime", "LastModified", "created") if key in info), "")
    return int(info["size"] or 0), change


@contextmanager
def _named(path: str) -> Iterator[None]:
    """Errors of a filesystem, with the file that they are about."""
    try:
        yield
    except FileNotFoundError as error:
        raise DataNotFoundError(f"{path} does not exist. Check the path.") from error
    except OSError as error:
        raise file_error(path, None, "a readable file", error.strerror or str(error)) from error


def _keys(name: str) -> tuple[tuple[str, str | None], ...]:
    """The keys of Hive-style folders: year=2024/part-0.csv has year 2024."""
    pairs = (folder.partition("=") for folder in Path(name).parts[:-1] if "=" in folder)
    return tuple((unquote(key), None if value == NO_VALUE else unquote(value)) for key, _, value in pairs)


def _remote(url: str) -> list[PartFile]:
    fsspec = require("fsspec", extra="scale", why=f"Reading {url}")
    try:
        filesystem, path = fsspec.core.url_to_fs(url)
        if filesystem.isdir(path):
            root, found = path, filesystem.find(path, detail=True)
        elif _MAGIC.search(path):
            found = {name: info for name, info in filesystem.glob(path, detail=True).items() if info["type"] == "file"}
            root = _MAGIC.split(path)[0].rpartition("/")[0]
        else:
            root, found = path.rpartition("/")[0], {path: filesystem.info(path)}
    except FileNotFoundError as error:
        raise DataNotFoundError(f"{url} does not exist. Check the address.") from error
    except (OSError, ValueError, ImportError) as error:
        raise DataFileError(f"{url} cannot be listed: {error}.") from error
    parts = []
    for name, info in found.items():
        short = name.removeprefix(root).lstrip("/")
        if not _is_skipped(short):
            parts.append(PartFile(name, short, *_size_and_change(info), _keys(short), filesystem))
    return parts
