"""The page of a paper: tables, pictures and verdicts in one HTML file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from .claims import Verdict
from .recipe import Recipe
from .tables import Line


def write_page(
    folder: Path,
    recipes: Sequence[Recipe],
    lines: Sequence[Line],
    verdicts: Sequence[Verdict],
    skipped: Mapping[str, str],
) -> Path:
    """Write ``results/index.html`` of a paper."""
    return folder / "results" / "index.html"
