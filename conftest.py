"""For every test, and every example in a docstring: what it drew is closed, or the next ones are warned of too many."""

import sys

import pytest


def pytest_runtest_teardown(item: pytest.Item) -> None:
    """Close the figures, where anything has drawn one."""
    pyplot = sys.modules.get("matplotlib.pyplot")
    if pyplot is not None:  # None: a test that hides it
        pyplot.close("all")
