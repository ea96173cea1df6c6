"""Whole-or-nothing writes: a reader sees the old file or the new one, never half of either."""

from __future__ import annotations

import errno
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

__all__ = ["sync_folder", "write_atomically"]


@contextmanager
def write_atomically(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a binary file that replaces ``path`` when the block ends without an error.

    A symbolic link is followed and stays one; the mode of an existing file is kept. The temporary file lies in the
    folder of the real target under a name nobody can guess, is synced before it is renamed, and is removed when
    anything fails. Something that is no regular file (a pipe, ``/dev/stdout``) is written directly.

    Parameters
    ----------
    path : str or path
        The file to replace or create.

    Yields
    ------
    file : binary file
        What is written to it becomes the content of ``path``.
    """
    target = Path(os.path.realpath(path))
    known = _mode(target)
    if known is not None and not stat.S_ISREG(known):
        with _named_errors(path), open(target, "wb") as stream:
            yield stream
        return
    partial = target.with_name(f".{target.name[:40]}.{secrets.token_hex(8)}.tmp")
    with _named_errors(path):
        handle = os.open(partial, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666)  # the user's umask applies
    try:
        with _named_errors(path), os.fdopen(handle, "wb") as file:
            if known is not None:
                os.chmod(partial, stat.S_IMODE(known))
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(partial, target)
    except BaseException:
        with suppress(OSError):
            partial.unlink()
        raise
    sync_folder(target.parent)


@contextmanager
def _named_errors(path: str | os.PathLike[str]) -> Iterator[None]:
    """Name the file in errors of the system, as the user calls it and not by its temporary name."""
    try:
        yield
    except OSError as error:
        if error.filename is None or os.fspath(error.filename).endswith(".tmp"):
            error.filename = os.fspath(path)
        raise


def _mode(target: Path) -> int | None:
    try:
        return target.stat().st_mode
    except FileNotFoundError:
        return None


def sync_folder(folder: Path) -> None:
    """Make the new name last; systems that cannot sync a folder say so by EINVAL or have no such handle."""
    if os.name != "posix":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno != errno.EINVAL:
            raise
    finally:
        os.close(handle)
