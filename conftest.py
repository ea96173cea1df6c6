"""For every test, and every example in a docstring: none is timed, and what it drew is closed."""

import sys

import pytest
from hypothesis import settings

settings.register_profile("untimed", settings(), deadline=None)  # a busy machine is no failure
settings.load_profile("untimed")


def pytest_runtest_teardown(item: pytest.Item) -> None:
    """Close the figures, where anything has drawn one: or the next tests are warned of too many."""
    pyplot = sys.modules.get("matplotlib.pyplot")
    if pyplot is not None:  # None: a test that hides it
        pyplot.close("all")
