"""Shared parameters are completed in docstrings, in the order of the signature."""

from steelyard.validation.docstrings import documented, split_entries, split_sections


def test_a_docstring_keeps_its_own_words_and_takes_the_others_from_the_tables() -> None:
    @documented({"tol": ("float", "When to stop.")})
    def solve(X: object, y: object, *, tol: float = 0.1, depth: int = 3) -> None:
        """Solve it.

        Parameters
        ----------
        depth : int
            How deep.
            Very.
        y : targets
            What to reach.

        Examples
        --------
        >>> solve([], [])
        """

    head, sections = split_sections(str(solve.__doc__))
    entries = split_entries(sections["Parameters"])
    assert head.strip() == "Solve it."
    assert list(entries) == ["X", "y", "tol", "depth"]
    assert entries["y"] == "y : targets\n    What to reach."
    assert entries["depth"] == "depth : int\n    How deep.\n    Very."
    assert entries["tol"] == "tol : float\n    When to stop."
    assert sections["Examples"] == ">>> solve([], [])"


def test_a_docstring_without_sections_gets_one() -> None:
    @documented()
    def score(y_true: object, *rest: object, **params: object) -> None:
        """A score."""

    assert score.__doc__ == (
        "A score.\n\nParameters\n----------\ny_true : array-like of shape (n,)\n    True labels.\n"
    )


def test_a_thing_of_no_parameters_stays_as_it_was() -> None:
    @documented()
    def nothing() -> None:
        """Nothing."""

    assert str(nothing.__doc__).strip() == "Nothing."
