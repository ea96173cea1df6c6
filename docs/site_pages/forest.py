"""A forest plot of comparisons: small, without script, in the colours of the page around it."""

from __future__ import annotations

from html import escape

Row = dict[str, str]
EDGE = 3.0  # spreads; what lies beyond is an arrow
WIDTH, LEFT, LINE = 340, 10, 30
MOST = 16  # lines; of more comparisons the least certain are drawn


def forest(rows: list[Row]) -> str:
    """One line a comparison: a dot for the difference, bars for its intervals, in spreads of the difference."""
    drawn = [row for row in rows if row["spreads"] and float(row["difference"])]
    shown = sorted(drawn, key=lambda row: abs(scaled(row)[0]))[:MOST] if len(drawn) > MOST else drawn
    shown = [row for row in drawn if row in shown]
    height = LINE * len(shown) + 22
    middle = place(0.0)
    parts = [
        f'<svg class="forest" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" role="img" '
        f'aria-label="{len(shown)} comparisons with their intervals" font-size="11" fill="currentColor">',
        f'<path d="M{middle:.0f} 0V{height - 18}" stroke="currentColor" stroke-opacity=".4" stroke-dasharray="2 3"/>',
    ]
    for number, row in enumerate(shown):
        parts += one(row, number * LINE)
    for value in (-3, -2, -1, 0, 1, 2, 3):
        parts.append(f'<text x="{place(value):.0f}" y="{height - 5}" text-anchor="middle" opacity=".7">{value}</text>')
    parts.append("</svg>")
    if len(shown) < len(drawn):
        parts.append(f'<p class="forest-note">The {len(shown)} smallest of {len(drawn)} comparisons.</p>')
    return "\n".join(parts)


def one(row: Row, top: int) -> list[str]:
    """The text and the bars of one comparison."""
    at, low, high = scaled(row)
    better = bool(low > 0)
    y = top + 22
    parts = [
        f'<text x="{LEFT}" y="{top + 12}">{escape(row["where"])} {escape(row["what"])}</text>',
        bar(low, high, y, 4 if better or high < 0 else 2.5),
    ]
    if row["other_low"]:
        factor = float(row["spreads"]) / float(row["difference"]) * direction(row)
        ends = sorted((float(row["other_low"]) * factor, float(row["other_high"]) * factor))
        parts.append(bar(*ends, y, 1))
    parts.append(f'<circle cx="{place(at):.1f}" cy="{y}" r="3.5"/>')
    return parts


def scaled(row: Row) -> tuple[float, float, float]:
    """Difference and interval in spreads, such that right is as the claim says."""
    factor = float(row["spreads"]) / float(row["difference"]) * direction(row)
    low, high = sorted((float(row["low"]) * factor, float(row["high"]) * factor))
    return float(row["difference"]) * factor, low, high


def direction(row: Row) -> int:
    """1 where the difference is as claimed when positive: the side on which its p-value is small."""
    return 1 if (float(row["p"]) < 0.5) == (float(row["difference"]) > 0) else -1


def bar(low: float, high: float, y: float, thick: float) -> str:
    """An interval; where it leaves the picture it ends in an arrow."""
    a, b = place(low), place(high)
    text = f'<path d="M{a:.1f} {y}H{b:.1f}" stroke="currentColor" stroke-width="{thick}"/>'
    for beyond, x, turn in ((low < -EDGE, place(-EDGE), 1), (high > EDGE, place(EDGE), -1)):
        if beyond:
            text += f'<path d="M{x:.1f} {y}l{6 * turn} -4v8z"/>'
    return text


def place(value: float) -> float:
    """Where a value stands, at most at the edge."""
    return LEFT + (min(max(value, -EDGE), EDGE) + EDGE) / (2 * EDGE) * (WIDTH - 2 * LEFT)
