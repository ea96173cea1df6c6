"""No class, function, parameter, attribute or module is called by a word that only its authors would understand."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[2] / "src" / "steelyard"
WORDS = """
    Seen Glance Doubt Lack Turn Spread Sheet glance doubt lack stride sheet checked vet meaning_of constant_feature
    teach taught lineup usual checkup climb Form Cases Repeats Machinery begun taken_up spelled Saved Stored Seats
    Ahead complain purse lesson doorway of_pair of_matrix of_rows of_matrices calibrated bound_to n_asked_ stream_value
    cumulative race noticed Standing like_the_best rivals Contender Variant Race Entry Team Watch _Asked _Taught capped
    some_rows without_columns known_before mistake_weights Engine ManyEngine Setting stream_of complaint_about
    always_asked Tally Preparation _among labels_of rest_of Answers Cells counted recalled left_out_of Classified
    Regressed preferring Match Judge stranger StartedSampler RUNGS Pulls bend polished _Drawer steer fault opened
    _Rejoined EngineRefuses Test dear dearer dearest Checked Priced utils helpers misc
    """
PRIVATE = set(WORDS.split())
HERE = {("reproduction/check.py", "checked"): "the state of a check that is handed on"}


def names(source: str) -> Iterator[str]:
    """Classes, functions, parameters and attributes that a module defines."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ClassDef | ast.FunctionDef):
            yield node.name
        elif isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.attr


@pytest.mark.parametrize("path", sorted(SOURCE.rglob("*.py")), ids=lambda path: path.relative_to(SOURCE).as_posix())
def test_names_are_the_words_of_the_field(path: Path) -> None:
    where = path.relative_to(SOURCE).as_posix()
    found = PRIVATE & {*names(path.read_text(encoding="utf-8")), path.stem, path.parent.name}
    assert sorted(word for word in found if (where, word) not in HERE) == []


def test_a_private_word_is_found_wherever_it_names_something() -> None:
    source = "class Seen:\n    def climb(self, glance):\n        self.begun = lack = 1\n"
    assert PRIVATE & set(names(source)) == {"Seen", "climb", "glance", "begun"}
