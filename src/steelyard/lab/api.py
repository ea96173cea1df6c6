"""docs/api.md from the docstrings: ``python -m steelyard.lab.api`` writes it anew."""

from __future__ import annotations

import importlib
import inspect
from pathlib import Path
from types import ModuleType
from typing import Any

ROOMS = (
    "costs",
    "trace",
    "data",
    "evaluate",
    "active",
    "online",
    "margin",
    "tree",
    "reduction",
    "boosting",
    "search",
    "errors",
)


def api_page() -> str:
    """Every public name, room by room, with its call and its docstring."""
    parts = ["# API\n\nEvery public name, from its docstring. All can be imported from `steelyard`.\n"]
    for name in ROOMS:
        room = importlib.import_module(f"steelyard.{name}")
        summary = (inspect.getdoc(room) or "").splitlines()[0]
        parts.append(f"## {name}\n\n{summary}\n")
        parts += [_entry(room, public) for public in sorted(room.__all__)]
    return "\n".join(parts)


def _entry(room: ModuleType, name: str) -> str:
    thing = getattr(room, name)
    text = inspect.getdoc(thing) or ""
    return f"### `{name}`\n\n```text\n{name}{_call(thing)}\n\n{text}\n```\n"


def _call(thing: Any) -> str:
    """The signature without annotations, which the docstring explains in words."""
    if inspect.isclass(thing) and issubclass(thing, BaseException):
        return ""
    try:
        parameters = inspect.signature(thing).parameters.values()
    except (TypeError, ValueError):
        return ""
    bare = [p.replace(annotation=inspect.Parameter.empty) for p in parameters]
    shown = inspect.Signature([p for p in bare if not _is_object_default(p)])
    return str(shown)


def _is_object_default(parameter: inspect.Parameter) -> bool:
    """Defaults whose text holds an address would differ from run to run."""
    return " at 0x" in repr(parameter.default)


def main() -> None:
    """Write docs/api.md beside the sources."""
    (Path(__file__).parents[3] / "docs" / "api.md").write_text(api_page())


if __name__ == "__main__":
    main()
