"""One writer at a time: a lock beside the file it protects, free again when its owner ends, however it ends."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ..errors import StateError

__all__ = ["lock_file"]


@contextmanager
def lock_file(path: str | os.PathLike[str]) -> Iterator[None]:
    """Hold the lock of ``path`` for the length of the block; raise at once if another process holds it.

    The lock is the operating system's, so that of a dead process does not block. It lies beside the real target
    (``.NAME.lock``), or within it where that is a folder, and names its owner for whoever comes second.

    Parameters
    ----------
    path : str or path
        The file to protect, which need not exist, or the folder, which must.

    Raises
    ------
    StateError
        If another process, or another block of this one, holds the lock.
    """
    from filelock import FileLock, Timeout

    target = Path(os.path.realpath(path))
    place = target / ".lock" if target.is_dir() else target.with_name(f".{target.name}.lock")
    lock = FileLock(place, thread_local=False)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        _check_usable(place, path)
        raise StateError(f"{os.fspath(path)} is in use by {_owner(place)}.") from None
    try:
        _name_owner(place)
        yield
    finally:
        lock.release()


def _check_usable(place: Path, path: str | os.PathLike[str]) -> None:
    """Raise what the system says if no lock can be made there; the library would wait for that to change."""
    try:
        os.close(os.open(place, os.O_RDWR | os.O_CREAT, 0o666))
    except OSError as error:
        error.filename = os.fspath(path)
        raise


def _name_owner(place: Path) -> None:
    """Write who holds the lock into its file, in place: a new file would be another lock.

    Who may write to the folder may put a link there meanwhile, and what that leads to is not ours to empty.
    """
    handle = os.open(place, os.O_WRONLY | os.O_TRUNC | getattr(os, "O_NOFOLLOW", 0))
    try:
        os.write(handle, f"{os.getpid()} {time.strftime('%H:%M')}\n".encode())
    finally:
        os.close(handle)


def _owner(place: Path) -> str:
    """Who holds a lock, as far as its file tells."""
    try:
        process, since = place.read_text(encoding="utf-8").split()
    except (OSError, ValueError):
        return "another process"
    return f"process {int(process)} since {since}" if process.isdigit() else "another process"
