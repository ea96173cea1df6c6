"""For every test, and every example in a docstring: none is timed, what it drew is closed, what it set is unset."""

import os
import sys
from collections.abc import Iterator

import pytest
from hypothesis import settings

settings.register_profile("untimed", settings(), deadline=None)  # a busy machine is no failure
settings.load_profile("untimed")


def pytest_runtest_teardown(item: pytest.Item) -> None:
    """Close the figures, where anything has drawn one: or the next tests are warned of too many."""
    pyplot = sys.modules.get("matplotlib.pyplot")
    if pyplot is not None:  # None: a test that hides it
        pyplot.close("all")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """Give the environment back: `reproduce` sets which instructions NumPy uses, and later processes inherit it."""
    before = dict(os.environ)
    try:
        yield
    finally:
        if dict(os.environ) != before:
            os.environ.clear()
            os.environ.update(before)
