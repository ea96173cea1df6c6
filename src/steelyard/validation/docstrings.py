"""Parameters that many functions and classes share are described once and completed in their docstrings.

Tested in ``tests/unit/validation/test_docstrings.py``.
"""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

T = TypeVar("T", bound=Callable[..., Any])

HEADER = re.compile(r"^(\w[\w ]*)\n-{3,}\n", re.MULTILINE)

# The words for what most of the public functions take; each value is "type, then what it means".
COMMON: dict[str, tuple[str, str]] = {
    "X": ("array-like or sparse matrix of shape (n, d)", "Rows."),
    "y": ("array-like of shape (n,)", "Labels."),
    "y_true": ("array-like of shape (n,)", "True labels."),
    "y_pred": ("array-like of shape (n,)", "Answers given for the same rows."),
    "costs": (
        "Costs, cost rule, mapping, array-like or None",
        "What mistakes cost, ``C[true, predicted]``; 0/1 costs if None.",
    ),
    "positive": ("label or None", "The positive class; by default the one the costs name, else the last of two."),
    "classes": (
        "sequence of labels or None",
        "All classes; by default those the costs name, else those that occur, sorted.",
    ),
    "sample_weight": ("array-like of shape (n,) or None", "Weight of every row; 1 if None."),
    "random_state": ("int, RandomState or None", "Seed or source of random numbers."),
    "n_jobs": ("int or None", "How many run at the same time; one if None, all cores if -1."),
    "ax": ("matplotlib axes or None", "Where to draw; a new figure if None."),
    "name": ("str or None", "Name in the legend."),
    "line": ("mapping or None", "Passed on to matplotlib's ``plot``."),
    "**line": ("Any", "Passed on to matplotlib's ``plot``."),
    "**given": ("Any", "Further parameters of the measure, such as ``costs`` and ``positive``."),
}

# Of methods that write a file.
WRITTEN: dict[str, tuple[str, str]] = {"path": ("path-like", "Where to write it.")}


def documented(*tables: Mapping[str, tuple[str, str]]) -> Callable[[T], T]:
    """Complete the section Parameters of a docstring, in the order of the signature.

    What the docstring says of a parameter itself stays; the others are taken from the first table that has them,
    and last from ``COMMON``.
    """

    def complete(thing: T) -> T:
        if thing.__doc__:  # python -OO has none
            thing.__doc__ = _completed(thing.__doc__, _names(thing), (*tables, COMMON))
        return thing

    return complete


def _names(thing: Any) -> list[str]:
    parameters = inspect.signature(thing).parameters.values()
    stars: dict[Any, str] = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}
    return [stars.get(one.kind, "") + one.name for one in parameters if one.name != "self"]


def _completed(doc: str, names: list[str], tables: tuple[Mapping[str, tuple[str, str]], ...]) -> str:
    head, sections = split_sections(inspect.cleandoc(doc))
    said = split_entries(sections.pop("Parameters", ""))
    own = {name for entry in said for name in entry.split(", ")}  # "a, b : float" says both
    for name in names:
        entry = next((table[name] for table in tables if name in table), None)
        if name not in own and entry is not None:
            said[name] = f"{name} : {entry[0]}\n{textwrap.indent(entry[1], '    ')}"
    place = {name: at for at, name in enumerate(names)}
    ordered = [said[key] for key in sorted(said, key=lambda key: place.get(key.split(", ")[0], len(place)))]
    sections = {"Parameters": "\n".join(ordered), **sections} if ordered else sections
    parts = [head, *(f"{title}\n{'-' * len(title)}\n{body}" for title, body in sections.items())]
    return "\n\n".join(part.strip("\n") for part in parts) + "\n"


def split_sections(doc: str) -> tuple[str, dict[str, str]]:
    """What stands before the first section, and the sections by their titles."""
    marks = list(HEADER.finditer(doc))
    if not marks:
        return doc, {}
    ends = [*(mark.start() for mark in marks[1:]), len(doc)]
    return doc[: marks[0].start()], {
        mark[1]: doc[mark.end() : end].strip("\n") for mark, end in zip(marks, ends, strict=True)
    }


def split_entries(section: str) -> dict[str, str]:
    """The entries of a section Parameters by name."""
    entries: dict[str, str] = {}
    for line in section.splitlines():
        if line and not line[0].isspace():
            entries[name := line.partition(":")[0].strip()] = line
        elif entries:
            entries[name] += f"\n{line}"
    return {name: entry.rstrip() for name, entry in entries.items()}
