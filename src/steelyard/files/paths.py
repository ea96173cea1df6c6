"""No command writes over what it reads, nor over a file it did not make, before anything is opened."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import BinaryIO

from ..validation.values import invalid

__all__ = ["check_new", "check_paths"]

Place = str | os.PathLike[str] | BinaryIO | None


def check_paths(*, inputs: Mapping[str, Place], outputs: Mapping[str, str | os.PathLike[str] | None]) -> None:
    """Raise if an output is one of the inputs, or another output, by whatever name or link.

    Parameters
    ----------
    inputs, outputs : mapping of str to path
        What the user calls each place, and where it is. None is no place; an input may be an open stream.

    Raises
    ------
    InvalidInputError
        Such as ``--decisions must not be the input``.
    """
    written = [(name, path) for name, path in outputs.items() if path is not None]
    for i, (name, path) in enumerate(written):
        for other, place in (*inputs.items(), *written[:i]):
            if place is not None and _same(path, place):
                raise invalid(name, f"not be {other}", os.fspath(path), "Nothing was written. Give another file.")


def check_new(
    name: str,
    path: str | os.PathLike[str] | None,
    *,
    overwrite: bool,
    earlier: Callable[[Path], bool] = lambda path: False,
) -> None:
    """Raise if there is a file with content where an output is to go, unless it may be replaced.

    Parameters
    ----------
    name : str
        What the user calls the place.
    path : path or None
        Where it is; None is no place.
    overwrite : bool
        Whether the user said that it may be replaced.
    earlier : callable
        Whether such a file is an earlier output of the same command, which a repeated call replaces.

    Raises
    ------
    InvalidInputError
        Such as ``--out must be a new file``.
    """
    if path is None or overwrite or not os.path.isfile(path) or not (size := os.path.getsize(path)):
        return
    if earlier(Path(path)):
        return
    got = f"{os.fspath(path)}, which holds {size:,} bytes"
    raise invalid(name, "be a new file", got, "Nothing was written. Give another file, or --overwrite.")


def _same(path: str | os.PathLike[str], place: str | os.PathLike[str] | BinaryIO) -> bool:
    try:
        there = os.stat(place) if isinstance(place, (str, os.PathLike)) else os.fstat(place.fileno())
        here = os.stat(path)
    except (OSError, ValueError, AttributeError):  # one of them does not exist, or is no file of the system's
        return isinstance(place, (str, os.PathLike)) and os.path.realpath(path) == os.path.realpath(place)
    return os.path.samestat(here, there) and not _is_sink(here)


def _is_sink(status: os.stat_result) -> bool:
    """A terminal or /dev/null is the same file for everybody and keeps nothing."""
    return stat.S_ISCHR(status.st_mode)
