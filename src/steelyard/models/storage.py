"""Models as `.steelyard` files: written whole or not at all, and read as if an enemy had written them.

The table of kinds takes more memory than most models, so it is imported when a file is known to be within its limits.

Tested in ``tests/unit/models/test_stream_state.py``.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from .._version import __version__
from ..files import MAX_BYTES, read_container, reading, write_container

__all__ = ["load_model", "save_object"]


def save_object(thing: Any, path: str | os.PathLike[str]) -> Path:
    """Write a fitted object of a known kind; the old file stays until the new one is whole.

    Parameters
    ----------
    thing : object
        A model, learner or state whose class is in the table of kinds.
    path : str or path
        Where to.
    """
    from .kinds import write_node

    return write_container(path, write_node(thing), version=__version__)


def load_model(path: str | os.PathLike[str], *, max_bytes: int = MAX_BYTES) -> Any:
    """The object that a file holds. Nothing in the file is run, and no more than ``max_bytes`` are unpacked.

    Parameters
    ----------
    path : path-like
        A file with the suffix ``.steelyard``.
    max_bytes : int
        The largest size it may unpack to.

    Returns
    -------
    Model, estimator or stream state
        What the file holds.

    Raises
    ------
    StateError
        If the file is broken, too large, or names anything that no Steelyard model contains.
    FileNotFoundError
        If there is no such file.
    """
    node = read_container(path, max_bytes=max_bytes)
    from .kinds import read_node

    with reading(path):
        return read_node(node)
