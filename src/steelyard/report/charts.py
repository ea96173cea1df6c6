"""Geometry of charts that need no script: axes with round ticks, and lines and bands as paths of an SVG."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from .amounts import rounded

WIDTH, HEIGHT = 640.0, 280.0  # of a chart, in its own units
_LEFT, _RIGHT, _TOP, _BOTTOM = 52.0, 12.0, 12.0, 34.0
_TICKS = 5
_MOST_OWN_TICKS = 6
_LETTER = 8.0  # of a label, in the units of a chart


@dataclass(frozen=True)
class Axis:
    """From ``low`` to ``high``, in equal steps or in equal ratios.

    Parameters
    ----------
    low : float
        Where it begins.
    high : float
        Where it ends.
    log : bool
        Whether equal ratios take equal room.
    """

    low: float
    high: float
    log: bool = False

    def share(self, value: float) -> float:
        """How far along the axis a value lies, kept between 0 and 1."""
        low, high, at = (math.log(v) if self.log else v for v in (self.low, self.high, max(value, self._least)))
        return 0.0 if high <= low else min(1.0, max(0.0, (at - low) / (high - low)))

    @property
    def _least(self) -> float:
        return self.low if self.log else -math.inf

    def ticks(self) -> list[tuple[float, str]]:
        """Round values on the axis with their text."""
        values = _log_ticks(self.low, self.high) if self.log else _even_ticks(self.low, self.high)
        decimals = max((_decimals(v) for v in values), default=0)
        texts = [_short(v) if self.log else rounded(v, decimals) for v in values]
        return list(zip(values, texts, strict=True))


def axis_of(values: Sequence[float], *, zero: bool = True) -> Axis:
    """An axis over some values with a little room; with zero by default.

    Parameters
    ----------
    values : sequence of float
        What it is to hold.
    zero : bool
        Whether it holds zero too.

    Returns
    -------
    Axis
        The axis.
    """
    known = [v for v in values if math.isfinite(v)] or [0.0, 1.0]
    low, high = min(known), max(known)
    if zero:
        low, high = min(low, 0.0), max(high, 0.0)
    room = 0.06 * (high - low) or 1.0
    return Axis(low if low == 0 else low - room, high if high == 0 else high + room)


def _even_ticks(low: float, high: float) -> list[float]:
    raw = (high - low) / _TICKS
    if raw <= 0 or not math.isfinite(raw):
        return [low]
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(power * m for m in (1, 2, 5, 10) if power * m >= raw * 0.999)
    first = math.ceil(low / step - 1e-9)
    return [k * step for k in range(first, math.floor(high / step + 1e-9) + 1)]


def _log_ticks(low: float, high: float) -> list[float]:
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    marks = (1, 2, 5) if high / low < 1000 else (1,)
    return [m * 10.0**p for p in powers for m in marks if low * 0.999 <= m * 10.0**p <= high * 1.001]


def _decimals(value: float) -> int:
    return next((d for d in range(7) if abs(value - round(value, d)) < 1e-9 * max(1.0, abs(value))), 6)


def _short(value: float) -> str:
    return rounded(value, _decimals(value))


@dataclass(frozen=True)
class Series:
    """One line of a chart, with a band around it where ``low`` and ``high`` are given.

    Parameters
    ----------
    name : str
        What it shows.
    y : sequence of float
        A value for each x of the chart.
    low : sequence of float or None
        Lower end of the band.
    high : sequence of float or None
        Upper end of the band.
    chosen : bool
        Whether it is the one that the page speaks of.
    dots : bool
        Whether its points are marked.
    """

    name: str
    y: Sequence[float]
    low: Sequence[float] | None = None
    high: Sequence[float] | None = None
    chosen: bool = False
    dots: bool = False


@dataclass(frozen=True)
class LineChart:
    """Lines over one x; ``marks`` are vertical lines with a text.

    Parameters
    ----------
    title : str
        What it shows, for those who do not see it.
    x : sequence of float
        Where the values are.
    series : sequence of Series
        The lines.
    x_name : str
        Below the axis.
    y_name : str
        Above the axis.
    log : bool
        Whether x goes by ratios.
    diagonal : bool
        Whether the line y = x is drawn.
    marks : sequence of (float, str)
        Values of x that are marked.
    zero : bool
        Whether y begins at zero.
    top : float or None
        Where y ends, whatever goes beyond it.
    """

    title: str
    x: Sequence[float]
    series: Sequence[Series]
    x_name: str
    y_name: str
    log: bool = False
    diagonal: bool = False
    marks: Sequence[tuple[float, str]] = field(default_factory=tuple)
    zero: bool = True
    top: float | None = None

    @property
    def x_ticks(self) -> list[tuple[float, str]]:
        """Where x goes by ratios and has few values, these; else round ones."""
        own = self.log and len(self.x) <= _MOST_OWN_TICKS
        return [(v, _short(v)) for v in self.x] if own else self.x_axis.ticks()

    @property
    def x_axis(self) -> Axis:
        """Of the values of x."""
        if self.log:
            return Axis(min(self.x), max(self.x), log=True)
        return axis_of(self.x, zero=self.zero)

    @property
    def y_axis(self) -> Axis:
        """Of all values, and the ends of all bands."""
        bands = [v for s in self.series for v in (*s.y, *(s.low or ()), *(s.high or ()))]
        axis = axis_of(bands, zero=self.zero)
        return axis if self.top is None else Axis(min(axis.low, self.top), self.top)

    def drawing(self) -> dict[str, Any]:
        """Paths, dots and ticks in the units of the SVG."""
        across, up = self.x_axis, self.y_axis
        lines = [self._line(s, across, up) for s in sorted(self.series, key=lambda s: s.chosen)]
        return {
            "width": WIDTH,
            "height": HEIGHT,
            "left": _LEFT,
            "right": WIDTH - _RIGHT,
            "top": _TOP,
            "bottom": HEIGHT - _BOTTOM,
            "lines": lines,
            "x_ticks": _apart([(_x(across, v), text) for v, text in self.x_ticks]),
            "y_ticks": [(_y(up, v), text) for v, text in up.ticks()],
            "diagonal": self._diagonal(across, up),
            "marks": [(_x(across, v), text) for v, text in self.marks],
        }

    def _line(self, s: Series, across: Axis, up: Axis) -> dict[str, Any]:
        points = [(_x(across, a), _y(up, b)) for a, b in zip(self.x, s.y, strict=True) if math.isfinite(b)]
        band = ""
        if s.low is not None and s.high is not None:
            upper = [(_x(across, a), _y(up, b)) for a, b in zip(self.x, s.high, strict=True)]
            lower = [(_x(across, a), _y(up, b)) for a, b in zip(self.x, s.low, strict=True)]
            band = _path([*upper, *reversed(lower)]) + "Z"
        return {
            "name": s.name,
            "chosen": s.chosen,
            "path": _path(points),
            "band": band,
            "dots": points if s.dots else [],
        }

    def _diagonal(self, across: Axis, up: Axis) -> str:
        low, high = max(across.low, up.low), min(across.high, up.high)
        return _path([(_x(across, v), _y(up, v)) for v in (low, high)]) if self.diagonal and high > low else ""

    def plain(self) -> dict[str, Any]:
        """The same for a script that draws it anew."""
        return {
            "x": list(self.x),
            "x_ticks": [v for v, _ in self.x_ticks] if self.log else None,
            "log": self.log,
            "diagonal": self.diagonal,
            "x_name": self.x_name,
            "y_name": self.y_name,
            "zero": self.zero,
            "top": self.top,
            "series": [
                {"name": s.name, "y": list(s.y), "low": _listed(s.low), "high": _listed(s.high), "chosen": s.chosen}
                for s in self.series
            ],
        }


def _apart(ticks: Sequence[tuple[float, str]]) -> list[tuple[float, str]]:
    """Ticks from the right end, but for those whose text would run into the one beside them."""
    kept: list[tuple[float, str]] = []
    free = math.inf
    for x, text in reversed(ticks):
        half = len(text) * _LETTER / 2
        if x + half <= free:
            kept.append((x, text))
            free = x - half - _LETTER
    return kept[::-1]


def _listed(values: Sequence[float] | None) -> list[float] | None:
    return None if values is None else list(values)


def _x(axis: Axis, value: float) -> float:
    return round(_LEFT + axis.share(value) * (WIDTH - _LEFT - _RIGHT), 1)


def _y(axis: Axis, value: float) -> float:
    return round(HEIGHT - _BOTTOM - axis.share(value) * (HEIGHT - _TOP - _BOTTOM), 1)


def _path(points: Sequence[tuple[float, float]]) -> str:
    return "M" + "L".join(f"{x:g} {y:g}" for x, y in points) if points else ""
