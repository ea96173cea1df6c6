"""Packages that are loaded when something of them is used, although what is imported names them at its top."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any


class _Deferred(ModuleType):
    """Stands for a module; the first look at anything in it loads the module itself."""

    def __getattr__(self, name: str) -> Any:
        _withdraw(self)
        return getattr(importlib.import_module(self.__name__), name)


@contextmanager
def deferred(*names: str) -> Iterator[None]:
    """Within the block importing these modules does not load them; what the block imported loads them by using them.

    Behind the block nothing stands in for them in ``sys.modules``, so that every later import is an ordinary one, also
    of what is inside them. Modules that are loaded already, or not installed, are left alone. The block must be run
    by one thread while no other imports them.

    Parameters
    ----------
    names : str
        Full names of modules.
    """
    standing: list[_Deferred] = []
    try:
        for name in names:
            if name not in sys.modules and (spec := importlib.util.find_spec(name)) is not None:
                one = _Deferred(name)
                one.__spec__ = spec
                sys.modules[name] = one
                standing.append(one)
        yield
    finally:
        for one in standing:
            _withdraw(one)


def _withdraw(one: _Deferred) -> None:
    if sys.modules.get(one.__name__) is one:
        del sys.modules[one.__name__]
