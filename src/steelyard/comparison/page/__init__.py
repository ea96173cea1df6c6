"""report.html: what to use, what it will cost, how sure that is, and what if prices change; one file, offline.

Tested in ``tests/unit/comparison/page``.
"""

from __future__ import annotations

import datetime
import json

from ...report.pages import Page, asset
from .fine_print import downloads, method_in_words, versions
from .first_screen import summary
from .levers import embed, levers, ratio_chart
from .refits import refits
from .sections import (
    calibration_part,
    confusion_part,
    importance_part,
    learning_part,
    mistakes_part,
    segments_part,
)
from .source import PageSource

__all__ = ["PageSource", "comparison_page", "comparison_summary", "embed"]


def comparison_page(
    of: PageSource,
    *,
    show_rows: bool = False,
    seconds: float = 10.0,
    date: datetime.date | None = None,
) -> Page:
    """The whole page.

    Parameters
    ----------
    of : PageSource
        The comparison.
    show_rows : bool
        Whether the costliest mistakes are shown with their cells: pages get forwarded.
    seconds : float
        CPU time for fitting the winner again.
    date : date or None
        Printed at the top; today if None.
    """
    again = refits(of.evaluation, of.winner, seconds)
    embedded = embed(of)
    context = summary(of) | {
        "date": (date or datetime.datetime.now(datetime.UTC).date()).strftime("%-d %B %Y"),
        "embedded": embedded,
        "levers": levers(embedded),
        "what_if_chart": ratio_chart(embedded),
        "confusion": confusion_part(of),
        "segments": segments_part(of),
        "mistakes": mistakes_part(of, show_rows),
        "importance": importance_part(of, again),
        "calibration": calibration_part(of),
        "learning": learning_part(of, again),
        "card": json.dumps(of.card, indent=1, default=str, ensure_ascii=False),
        "versions": versions(),
        "method": method_in_words(of.evaluation),
        "chart_licence": asset("uPlot.LICENSE"),
    }
    context["downloads"] = downloads(of, context)
    return Page("comparison.html", context, scripts=("uPlot.iife.min.js", "what_if.js"), styles=("uPlot.min.css",))


def comparison_summary(of: PageSource) -> Page:
    """First screen and leaderboard alone, for notebooks."""
    return Page("summary.html", summary(of))
