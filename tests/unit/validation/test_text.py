import pytest

from steelyard.validation.text import printable, safe_cell


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("bad", "bad"),
        ("\x1b[31mred", r"\x1b[31mred"),
        ("two\nlines\r", r"two\nlines\r"),
        ("\x9b31m", r"\x9b31m"),
        ("a\u202eb", r"a\u202eb"),
        ("\ud800", r"\ud800"),
        ("größe 好 é [bold]", "größe 好 é [bold]"),
        (3, "3"),
    ],
)
def test_what_a_terminal_would_obey_is_shown(text: object, shown: str) -> None:
    assert printable(text) == shown


@pytest.mark.parametrize("text", ["=1+1", "+x", "-x", "@SUM(A1)", "\t=1", "=cmd|' /C calc'!A0", "-"])
def test_formulas_become_text(text: str) -> None:
    assert safe_cell(text) == "'" + text


@pytest.mark.parametrize("cell", ["-1", "+2.5", "-1e9", "good", "", -1, 2.5, None, True])
def test_numbers_and_words_stay(cell: object) -> None:
    assert safe_cell(cell) is cell
