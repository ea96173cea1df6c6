"""The lazy door: what it lists, and what it does not import."""

import subprocess
import sys

import pytest

import steelyard

HEAVY = ("sklearn", "scipy.stats", "pandas", "lightgbm", "matplotlib")


def imported_after(code: str) -> set[str]:
    program = f"{code}\nimport sys\nprint(*sys.modules)"
    answer = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return set(answer.stdout.split())


@pytest.mark.parametrize(
    "code",
    ["import steelyard; steelyard.Costs; steelyard.AskAll; steelyard.read_csv", "import steelyard.cli"],
)
def test_light_names_import_nothing_heavy(code: str) -> None:
    assert not imported_after(code) & set(HEAVY)


def test_the_command_line_starts_without_numpy() -> None:
    assert "numpy" not in imported_after("import steelyard.cli")


@pytest.mark.parametrize("name", steelyard.__all__)
def test_every_public_name_is_there_and_says_what_it_is(name: str) -> None:
    found = getattr(steelyard, name)
    own = vars(found).get("__doc__") if isinstance(found, type) else found.__doc__
    assert own, f"{name} has no docstring of its own"


def test_names_that_are_not_there_are_an_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Kosten'"):
        steelyard.Kosten  # noqa: B018
    assert steelyard.evaluate.measures.mean_cost is steelyard.mean_cost
    assert {"Costs", "compare", "load_model"} <= set(dir(steelyard))
