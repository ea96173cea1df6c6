"""A comparison shown in a notebook changes nothing outside of its cell."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import steelyard
from steelyard import Costs

nbformat = pytest.importorskip("nbformat")
nbconvert = pytest.importorskip("nbconvert")
Browse = Callable[[list[dict[str, Any]]], list[dict[str, Any]]]
MINE = "# Mine\n\nA paragraph with a [link](#x).\n\n| a | b |\n|---|---|\n| 1 | 2 |\n"
LOOKED_AT = ["body", ".jp-InputPrompt", ".jp-OutputPrompt"]
LOOKED_AT += [f".jp-MarkdownOutput {name}" for name in ("table", "th", "p", "a", "h1")]
# what a longer page changes by itself
NOT_OURS = ("block-size", "height", "perspective-origin", "transform-origin", "inset", "top", "bottom")


def converted(path: Path, html: str | None) -> Path:
    shown = {"text/plain": "Comparison"} | ({} if html is None else {"text/html": html})
    output = nbformat.v4.new_output("execute_result", data=shown, execution_count=1)
    code = nbformat.v4.new_code_cell("result", outputs=[output], execution_count=1)
    about = {"language_info": {"name": "python", "pygments_lexer": "python3"}}
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_markdown_cell(MINE), code], metadata=about)
    exporter = nbconvert.HTMLExporter(mathjax_url="", require_js_url="", jquery_url="", mermaid_js_url="")
    path.write_text(exporter.from_notebook_node(book)[0])
    return path


def test_styles_of_the_users_own_cells_are_equal_with_and_without_our_output(browse: Browse, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 2))
    y = np.where(X[:, 0] + rng.normal(size=150) > 0.5, "bad", "good")
    costs = Costs.binary(fn=5, fp=1, classes=["good", "bad"])
    result = steelyard.compare(X, y, costs=costs, candidates=["logistic"], cv=3)
    shown = [result._repr_html_(), result.model()._repr_html_(), costs._repr_html_(), None]
    tasks = [
        {"file": str(converted(tmp_path / f"{k}.html", html)), "style": LOOKED_AT, "scheme": scheme}
        for scheme in ("light", "dark")
        for k, html in enumerate(shown)
    ]
    seen = browse(tasks)
    for part in (seen[:4], seen[4:]):
        *ours, plain = [_kept(page["styles"]) for page in part]
        assert all(styles for styles in plain.values())
        for styles in ours:
            assert styles == plain
        assert "Cost a row" in part[0]["body"]


def _kept(styles: dict[str, dict[str, str] | None]) -> dict[str, dict[str, str]]:
    return {
        place: {name: value for name, value in (found or {}).items() if not name.startswith(NOT_OURS)}
        for place, found in styles.items()
    }
