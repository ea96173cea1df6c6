"""The API: a page for every public name, and a table of all of them, room by room."""

from __future__ import annotations

import importlib
import inspect
import re
from collections import defaultdict
from typing import Any

import steelyard

from .references import escape

PAPER = re.compile(r"\b[Pp]apers? (00[0-4](?:(?:, | and | to |-)00[0-4])*)")
BLANK = "\\ "  # an empty cell of a table
ORDER = (
    *(
        "costs",
        "models",
        "decision",
        "comparison",
        "streaming",
        "online",
        "active",
        "trace",
        "margin",
        "tree",
        "reduction",
    ),
    *("boosting", "search", "scale", "evaluate", "report", "data", "reproduction", "errors"),
)


def pages() -> dict[str, str]:
    """The table and the pages."""
    rooms: dict[str, list[str]] = defaultdict(list)
    for name in public_names():
        rooms[room_of(name)].append(name)
    known = [room for room in ORDER if room in rooms]
    ordered = known + sorted(set(rooms) - set(known))
    found = {f"api/{page_of(name)}.rst": entry(name) for name in public_names()}
    found["api/index.rst"] = index({room: sorted(rooms[room], key=str.lower) for room in ordered})
    return found


def public_names() -> list[str]:
    """Every public name but the version."""
    return [name for name in steelyard.__all__ if not name.startswith("_")]


def room_of(name: str) -> str:
    """The room a name lives in: the first part of its module's path."""
    module = getattr(getattr(steelyard, name), "__module__", "steelyard.costs")
    return module.split(".")[1] if module.startswith("steelyard.") else "costs"


def page_of(name: str) -> str:
    """The file of a name: some file systems do not tell ``Estimate`` from ``estimate``."""
    twins = [other for other in public_names() if other.lower() == name.lower()]
    return f"{name}-function" if len(twins) > 1 and name.islower() else name


def index(rooms: dict[str, list[str]]) -> str:
    """A table per room: name, what it is, papers."""
    parts = ["API\n===\n", "Every public name can be imported from ``steelyard``.\n"]
    toctree = []
    for room, names in rooms.items():
        module = importlib.import_module(f"steelyard.{room}")
        parts.append(f"{room}\n{'-' * len(room)}\n\n{summary(module)}\n")
        parts.append(".. list-table::\n   :widths: 34 54 12\n   :class: api-table\n")
        for name in names:
            thing = getattr(steelyard, name)
            papers = ", ".join(papers_of(thing)) or BLANK
            parts.append(f"   * - :py:obj:`~steelyard.{name}`\n     - {summary(thing)}\n     - {papers}")
            toctree.append(f"   {page_of(name)}")
        parts.append("")
    parts.append(".. toctree::\n   :hidden:\n\n" + "\n".join(sorted(toctree, key=str.lower)) + "\n")
    return "\n".join(parts)


def summary(thing: Any) -> str:
    """The first sentence of a docstring, on one line."""
    text = (inspect.getdoc(thing) or "").strip().split("\n\n")[0]
    words = re.sub(r"\s+", " ", re.sub(r":\w+:`~?([^`]*)`", r"``\1``", text))
    return "".join(part if part.startswith("`") else escape(part) for part in re.split(r"(`+[^`]*`+)", words)) or BLANK


def papers_of(thing: Any) -> list[str]:
    """The papers a docstring names."""
    found: set[str] = set()
    for group in PAPER.findall(inspect.getdoc(thing) or ""):
        numbers = re.findall(r"\d{3}", group)
        if " to " in group or "-" in group:
            numbers = [f"{n:03d}" for n in range(int(numbers[0]), int(numbers[-1]) + 1)]
        found.update(numbers)
    return sorted(found)


def entry(name: str) -> str:
    """One name: its docstring with types, its members, and the examples that use it."""
    thing = getattr(steelyard, name)
    lines = [name, "=" * len(name), "", ".. py:currentmodule:: steelyard", "", f".. {directive(thing)}:: {name}"]
    if inspect.isclass(thing) and not issubclass(thing, BaseException):
        lines.append("")
        for member in own_members(thing):
            kind = "property" if isinstance(inspect.getattr_static(thing, member), property) else "method"
            lines.append(f"   .. auto{kind}:: {member}")
        if hasattr(thing, "get_params") and hasattr(thing, "fit"):
            lines += [
                "",
                "   ``get_params``, ``set_params``, ``score`` and metadata routing are those of scikit-learn.",
            ]
    lines += [
        "",
        f"Defined in ``{source_of(thing)}``.",
        "",
        f".. minigallery:: steelyard.{name}",
        "   :add-heading: Examples",
        "   :heading-level: -",
        "",
    ]
    return "\n".join(lines)


def directive(thing: Any) -> str:
    """The autodoc directive for a thing."""
    if inspect.isclass(thing):
        return "autoexception" if issubclass(thing, BaseException) else "autoclass"
    return "autofunction" if callable(thing) else "autodata"


def own_members(cls: type) -> list[str]:
    """Public members that our own classes define, whichever base they stand on."""
    ours = [base for base in cls.__mro__ if base.__module__.startswith("steelyard")]
    names = dict.fromkeys(name for base in ours for name in vars(base) if not name.startswith("_"))
    return [name for name in names if is_documented(cls, name)]


def is_documented(cls: type, name: str) -> bool:
    """Methods and properties with a docstring; fields and constants stand in the class's own text."""
    try:
        member = inspect.getattr_static(cls, name)
    except AttributeError:
        return False
    if isinstance(member, classmethod | staticmethod):
        member = member.__func__
    if isinstance(member, property):
        return bool(member.__doc__)
    return inspect.isfunction(member) and bool(inspect.getdoc(getattr(cls, name)))


def source_of(thing: Any) -> str:
    """The file a thing stands in, as a path below src/."""
    return getattr(thing, "__module__", "steelyard").replace(".", "/") + ".py"
