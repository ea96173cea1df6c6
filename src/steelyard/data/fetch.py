"""Finding a file by its checksum: on this machine, or at its public address."""

from __future__ import annotations

import hashlib
import os
import sys
import tempfile
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from http.client import HTTPException
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO
from urllib.parse import quote, urlsplit

from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn

from ..errors import ChecksumError, DataFileError, DataNotFoundError, InvalidInputError
from .files import BLOCK, COMPRESSED_SUFFIXES, open_source

BUNDLED = Path(__file__).parent  # german.numer.gz lies beside this file
SECONDS = 30.0  # without an answer from the other side
SCHEMES = ("http", "https", "file")


@dataclass(frozen=True)
class DataFile:
    """A file the catalogue knows: what it is called, how to recognise it and where it is publicly served."""

    path: str
    sha256: str
    bytes: int
    rows: int
    content_sha256: str = ""
    address: str = ""

    def names(self) -> list[str]:
        """The names it may go by: the same content under another compression is as good."""
        plain = self.path
        for suffix in COMPRESSED_SUFFIXES:
            plain = plain.removesuffix(suffix)
        return list(dict.fromkeys([self.path, plain, *(plain + suffix for suffix in COMPRESSED_SUFFIXES)]))

    def is_genuine(self, path: Path) -> bool:
        """True if the file, or what is in it once uncompressed, has the checksum of the catalogue."""
        state = path.stat()
        return _has_checksum(path, state.st_size, state.st_mtime_ns, self.sha256, self.content_sha256 or self.sha256)


@lru_cache(maxsize=256)  # size and time of change stand for the content within one process
def _has_checksum(path: Path, size: int, changed: int, sha256: str, content_sha256: str) -> bool:
    with open(path, "rb") as file:
        if hashlib.file_digest(file, "sha256").hexdigest() == sha256:
            return True
    digest = hashlib.sha256()
    try:
        with open_source(path) as content:
            while block := content.read(BLOCK):
                digest.update(block)
    except DataFileError:  # cut short or damaged
        return False
    return digest.hexdigest() == content_sha256


def data_folder() -> Path | None:
    """The folder named by ``STEELYARD_DATA``, where files are looked for first."""
    named = os.environ.get("STEELYARD_DATA")
    return Path(named).expanduser() if named else None


def cache_folder() -> Path:
    """Where downloads are kept, by the conventions of the system."""
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or str(Path.home() / "AppData" / "Local")
        return Path(base) / "steelyard" / "Cache"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "steelyard"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "steelyard"


def find(file: DataFile, *, download: bool = True) -> Path:
    """The file on this machine, downloaded if need be. A file of this name with other content is an error."""
    folders = [folder for folder in (BUNDLED, data_folder(), cache_folder()) if folder is not None]
    for path in (folder / name for folder in folders for name in file.names()):
        if path.is_file():
            if file.is_genuine(path):
                return path
            raise ChecksumError(
                f"{path} must have the sha256 {file.sha256} of the catalogue; its content is another. "
                "Remove it or put the right file in its place."
            )
    if not download:
        raise _not_found(file, "and it was not to be downloaded")
    address = _address(file)
    if not address:
        raise _not_found(file, "and no public address serves it")
    return _download(file, address, cache_folder())


def _address(file: DataFile) -> str:
    mirror = os.environ.get("STEELYARD_MIRROR")
    if not mirror:
        return file.address
    if urlsplit(mirror).scheme not in SCHEMES:
        raise InvalidInputError(f"STEELYARD_MIRROR must be an http, https or file address; got {mirror!r}.")
    return mirror.rstrip("/") + "/" + quote(file.path)


def _not_found(file: DataFile, reason: str) -> DataNotFoundError:
    places = " or ".join(str(folder) for folder in (data_folder(), cache_folder()) if folder is not None)
    return DataNotFoundError(
        f"{file.path} ({file.bytes} bytes, sha256 {file.sha256}) is not on this machine, {reason}. "
        f"Put it into {places}, or set STEELYARD_DATA to the folder that holds it."
    )


def _download(file: DataFile, address: str, folder: Path) -> Path:
    """Nothing stands under the final name before it is complete, verified and on disk."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(prefix=f".{file.path}.", suffix=".part", dir=folder)
    except OSError as error:
        raise _not_found(file, f"and there is no place to keep it ({error})") from error
    part, final = Path(name), folder / file.path
    try:
        with os.fdopen(handle, "wb") as out:
            _transfer(file, address, out)
            out.flush()
            os.fsync(out.fileno())
        if not file.is_genuine(part):
            raise ChecksumError(
                f"{address} must serve a file with the sha256 {file.sha256}; its content is another. Nothing was kept."
            )
        part.chmod(0o644)
        os.replace(part, final)
    except (OSError, HTTPException) as error:
        if isinstance(error, ChecksumError):
            raise
        reason = getattr(error, "reason", None) or error
        raise _not_found(file, f"and its download from {address} failed ({reason})") from error
    finally:
        part.unlink(missing_ok=True)
    return final


def _transfer(file: DataFile, address: str, out: BinaryIO) -> None:
    with _opener().open(address, timeout=SECONDS) as answer, _progress(file, answer) as advance:
        announced = answer.headers.get("Content-Length")
        received = 0
        while block := answer.read(BLOCK):
            out.write(block)
            received += len(block)
            advance(len(block))
    if announced is not None and received != int(announced):
        raise OSError(f"the transfer ended after {received} of {announced} bytes")


def _opener() -> urllib.request.OpenerDirector:
    """http, https and file addresses only, redirections included."""
    opener = urllib.request.OpenerDirector()
    for handler in (
        urllib.request.ProxyHandler,
        urllib.request.UnknownHandler,
        urllib.request.HTTPHandler,
        urllib.request.HTTPSHandler,
        urllib.request.HTTPDefaultErrorHandler,
        urllib.request.HTTPRedirectHandler,
        urllib.request.HTTPErrorProcessor,
        urllib.request.FileHandler,
    ):
        opener.add_handler(handler())
    opener.addheaders = [("User-Agent", "steelyard")]
    return opener


@contextmanager
def _progress(file: DataFile, answer: Any) -> Iterator[Any]:
    announced = answer.headers.get("Content-Length")
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
        TimeRemainingColumn(),
    )
    console = Console(stderr=True)
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task(PurePosixPath(file.path).name, total=int(announced) if announced else None)
        yield lambda size: bar.advance(task, size)
