"""Costs as text and as HTML.

Tested in ``tests/unit/costs/test_costs.py``.
"""

from __future__ import annotations

import html

from ..validation.types import Floats


def format_amount(value: float, currency: str | None = None) -> str:
    """An amount with its currency, if it has one.

    >>> format_amount(12.5, "EUR"), format_amount(-3.0), format_amount(1234567.0)
    ('12.5 EUR', '-3', '1234567')
    """
    text = f"{value:.0f}" if 1e5 <= abs(value) < 1e15 else f"{value:g}"  # six digits, and never fewer than it has
    return text if currency is None else f"{text} {currency}"


def html_table(names: list[str], answers: list[str], matrix: Floats, title: str) -> str:
    """A matrix of costs, the cells that cost most shaded most; all text is escaped."""
    top = float(matrix.max(initial=0.0)) or 1.0
    head = "".join(f"<th>{html.escape(n)}</th>" for n in answers)
    body = "".join(
        f"<tr><th>{html.escape(name)}</th>"
        + "".join(
            f'<td style="text-align:right;background:rgba(200,60,30,{max(0.6 * v / top, 0.0):.2f})">'
            f"{format_amount(v)}</td>"
            for v in row
        )
        + "</tr>"
        for name, row in zip(names, matrix, strict=True)
    )
    return (
        f'<table class="steelyard-costs"><caption>{html.escape(title)} (rows: truth, columns: answer)</caption>'
        f"<thead><tr><th>truth \\ answer</th>{head}</tr></thead><tbody>{body}</tbody></table>"
    )
