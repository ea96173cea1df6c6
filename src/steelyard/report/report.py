"""A report: one HTML file with tables and figures that needs nothing else to be read, also on a phone."""

from __future__ import annotations

import base64
import html
import io
import re
from collections.abc import Mapping, Sequence
from typing import Any, Self

import narwhals as nw
import numpy as np

from ..validation.values import check_choice, invalid, require
from .pages import HtmlFile, content_policy
from .style import STYLE

_SCRIPT = re.compile(r"<script>(.*?)</script>", re.DOTALL)
_LARGEST_SVG = 500_000  # characters; a drawing with more points than that is embedded as PNG
_LONG = 40  # characters of a cell beyond which its text is broken into lines


class Report(HtmlFile):
    """A page made of sections, written as one self-contained HTML file. Every text put in is escaped.

    Parameters
    ----------
    title : str
        Heading of the page.
    subtitle : str
        Below it.
    footer : str
        At the end of the page.

    Examples
    --------
    >>> report = Report("Credit", subtitle="cost of a miss 5, of an alarm 1")
    >>> section = report.section("Leaderboard", "Lower is better.")
    >>> _ = section.table([{"learner": "tree", "cost": 0.61}, {"learner": "svm", "cost": 0.52}], best={"cost": "min"})
    >>> report.html().count("<td")
    2
    """

    def __init__(self, title: str, *, subtitle: str = "", footer: str = "") -> None:
        self.title = title
        self.subtitle = subtitle
        self.footer = footer
        self.sections: list[Section] = []

    def section(self, title: str, text: str = "") -> Section:
        """Start a new section; add to it through what is returned.

        Parameters
        ----------
        title : str
            Its heading.
        text : str
            First paragraphs.

        Returns
        -------
        Section
            Add to it.
        """
        self.sections.append(Section(title))
        return self.sections[-1].text(text) if text else self.sections[-1]

    def html(self) -> str:
        """The whole page."""
        body = "".join(section.html(f"s{k}") for k, section in enumerate(self.sections, start=1))
        return (
            '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
            f'<meta http-equiv="Content-Security-Policy" content="{content_policy(_SCRIPT.findall(body))}">'
            '<meta name="viewport" content="width=device-width, initial-scale=1">'
            f"<title>{html.escape(self.title)}</title><style>{STYLE}</style></head>\n<body><header>"
            f"<h1>{html.escape(self.title)}</h1>{_paragraph(self.subtitle)}{self._contents()}</header>\n"
            f"<main>{body}</main>\n<footer>{html.escape(self.footer)}</footer></body></html>\n"
        )

    def embedded(self) -> str:
        """The page inside a frame of its own, for notebooks: its style reaches nothing outside of it."""
        page = html.escape(self.html(), quote=True)
        style = "width:100%;height:40rem;border:1px solid #d9dee4;border-radius:6px"
        frame = f'<iframe title="{html.escape(self.title)}" sandbox="allow-scripts" srcdoc="{page}"'
        return f'{frame} style="{style}"></iframe>'

    def _contents(self) -> str:
        if len(self.sections) < 3:
            return ""
        links = (f'<a href="#s{k}">{html.escape(s.title)}</a>' for k, s in enumerate(self.sections, start=1))
        return f'<nav aria-label="Contents">{"".join(links)}</nav>'


class Section:
    """A titled part of a :class:`Report`; every method adds something below the last and returns the section.

    Parameters
    ----------
    title : str
        Its heading.

    Examples
    --------
    >>> Section("Result").text("1 < 2").html("s1")
    '<section id="s1"><h2>Result</h2>\\n<p>1 &lt; 2</p></section>\\n'
    """

    def __init__(self, title: str) -> None:
        self.title = title
        self._parts: list[str] = []

    def html(self, anchor: str) -> str:
        """The section as HTML under an anchor.

        Parameters
        ----------
        anchor : str
            Identifier of the section on the page.

        Returns
        -------
        str
            The section as HTML.
        """
        head = f'<section id="{html.escape(anchor)}"><h2>{html.escape(self.title)}</h2>\n'
        return head + "\n".join(self._parts) + "</section>\n"

    def text(self, text: str) -> Self:
        """Paragraphs, parted by empty lines.

        Parameters
        ----------
        text : str
            Paragraphs, separated by empty lines.

        Returns
        -------
        Self
            The section.
        """
        return self._add("".join(_paragraph(part) for part in re.split(r"\n\s*\n", text.strip())))

    def note(self, text: str) -> Self:
        """A paragraph that stands out.

        Parameters
        ----------
        text : str
            The paragraph.

        Returns
        -------
        Self
            The section.
        """
        return self._add(f'<p class="note">{html.escape(text)}</p>')

    def details(self, summary: str, text: str, *, mark: str = "") -> Self:
        """A line that opens into more.

        Parameters
        ----------
        summary : str
            The line.
        text : str
            What it opens into; line breaks are kept.
        mark : str
            A word in bold before the line.

        Returns
        -------
        Self
            The section.
        """
        word = f"<b>{html.escape(mark)}</b> " if mark else ""
        head = f"<summary>{word}{html.escape(summary)}</summary>"
        return self._add(f'<details>{head}<p class="long">{html.escape(text)}</p></details>')

    def numbers(self, numbers: Mapping[str, Any]) -> Self:
        """Key figures as cards: {what it is: value}.

        Parameters
        ----------
        numbers : mapping of str to value
            What it is, and how much.

        Returns
        -------
        Self
            The section.
        """
        cards = "".join(f"<div><b>{_cell(v)}</b><span>{html.escape(k)}</span></div>" for k, v in numbers.items())
        return self._add(f'<div class="numbers">{cards}</div>')

    def table(
        self,
        rows: Any,
        *,
        columns: Sequence[str] | None = None,
        caption: str = "",
        best: Mapping[str, str] | None = None,
    ) -> Self:
        """A table whose first column names the rows.

        Parameters
        ----------
        rows : list of mappings, list of sequences, or frame
            The rows.
        columns : sequence of str or None
            Names of the columns, for rows that are sequences.
        caption : str
            Below the table.
        best : mapping of column to "min" or "max", or None
            Marks the best cells; an interval is judged by its ``value``.

        Returns
        -------
        Self
            The section.
        """
        heads, cells = _grid(rows, columns)
        marks = _best_cells(heads, cells, best or {})
        head = "".join(_th(name, [row[k] for row in cells]) for k, name in enumerate(heads))
        body = "".join(
            f'<tr><th scope="row">{_cell(row[0])}</th>'
            + "".join(_td(value, (i, k) in marks) for k, value in enumerate(row[1:], start=1))
            + "</tr>"
            for i, row in enumerate(cells)
        )
        title = f"<caption>{html.escape(caption)}</caption>" if caption else ""
        table = f"<table>{title}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
        return self._add(f"<div {_scroll(caption or 'table')}>{table}</div>")

    def figure(self, picture: Any, *, caption: str = "", alt: str = "") -> Self:
        """A matplotlib figure, axes or display, PNG bytes, or the text of an SVG file.

        Parameters
        ----------
        picture : matplotlib figure, axes or display, bytes or str
            PNG bytes, or the text of an SVG file.
        caption : str
            Below the picture.
        alt : str
            For those who do not see it.

        Returns
        -------
        Self
            The section.
        """
        return self._add(_figure(picture, caption, alt))

    def figures(self, pictures: Mapping[str, Any]) -> Self:
        """Several figures side by side where there is room: {caption: picture}.

        Parameters
        ----------
        pictures : mapping of caption to picture
            As for :meth:`figure`.

        Returns
        -------
        Self
            The section.
        """
        inside = "".join(_figure(picture, caption, "") for caption, picture in pictures.items())
        return self._add(f'<div class="figures">{inside}</div>')

    def show(self, value: Any) -> Self:
        """Anything that shows itself in a notebook (its ``_repr_html_`` is trusted); else its text.

        Parameters
        ----------
        value : Any
            The thing to show.

        Returns
        -------
        Self
            The section.
        """
        if hasattr(value, "_repr_html_"):
            return self._add(f"<div {_scroll(type(value).__name__)}>{value._repr_html_()}</div>")
        return self._add(f'<pre tabindex="0">{html.escape(str(value))}</pre>')

    def _add(self, part: str) -> Self:
        self._parts.append(part)
        return self


def _scroll(name: str) -> str:
    """What may be wider than the page is moved sideways, by keyboard too."""
    return f'class="scroll" tabindex="0" role="region" aria-label="{html.escape(name)}"'


def _paragraph(text: str) -> str:
    return f"<p>{html.escape(text)}</p>" if text else ""


def _cell(value: Any) -> str:
    """A value as text: numbers to four digits, and all of those before the point; everything else as it prints."""
    if isinstance(value, (float, np.floating)):
        number = float(value)
        return "–" if np.isnan(number) else f"{number:,.0f}" if 9999.5 <= abs(number) < 1e15 else f"{number:.4g}"
    return html.escape("–" if value is None else str(value))


def _th(name: str, below: Sequence[Any]) -> str:
    """The head of a column, on the side on which its cells stand."""
    words = ' class="words"' if any(isinstance(value, str) for value in below) else ""
    return f'<th scope="col"{words}>{html.escape(name)}</th>'


def _td(value: Any, is_best: bool) -> str:
    kind = "best" if is_best else "" if not isinstance(value, str) else "long" if len(value) > _LONG else "words"
    return f'<td class="{kind}">{_cell(value)}</td>' if kind else f"<td>{_cell(value)}</td>"


def _grid(rows: Any, columns: Sequence[str] | None) -> tuple[list[str], list[list[Any]]]:
    """Column names and cells of a list of dicts, a list of sequences or a frame."""
    frame = nw.from_native(rows, pass_through=True)
    if isinstance(frame, nw.DataFrame):
        rows, columns = list(frame.iter_rows()), columns or [str(name) for name in frame.columns]
    rows = list(rows)
    if rows and all(isinstance(row, Mapping) for row in rows):
        names = list(columns or dict.fromkeys(name for row in rows for name in row))
        return [str(name) for name in names], [[row.get(name) for name in names] for row in rows]
    if columns is None or any(len(row) != len(columns) for row in rows):
        raise invalid("columns", "name every cell of each row", columns, "Give one name per cell, or rows as dicts.")
    return [str(name) for name in columns], [list(row) for row in rows]


def _best_cells(heads: list[str], cells: list[list[Any]], best: Mapping[str, str]) -> set[tuple[int, int]]:
    """Positions of the best cells of each judged column; equals share the mark."""
    marks = set()
    for name, which in best.items():
        check_choice(f"best[{name!r}]", which, ("min", "max"))
        k = heads.index(check_choice("best", name, heads))
        values = np.array([_judged(row[k]) for row in cells], dtype=np.float64)
        if np.isfinite(values).any():
            top = np.nanmin(values) if which == "min" else np.nanmax(values)
            marks |= {(int(i), k) for i in np.flatnonzero(values == top)}
    return marks


def _judged(value: Any) -> float:
    number = getattr(value, "value", value)
    return float(number) if isinstance(number, (int, float, np.number)) else float("nan")


def _figure(picture: Any, caption: str, alt: str) -> str:
    title = f"<figcaption>{html.escape(caption)}</figcaption>" if caption else ""
    return f"<figure>{_picture(picture, alt or caption)}{title}</figure>"


def _picture(picture: Any, alt: str) -> str:
    if isinstance(picture, bytes):
        return _image("image/png", picture, alt)
    if isinstance(picture, str):
        return _image("image/svg+xml", picture.encode(), alt)  # as an image its scripts and links are dead
    drawing = getattr(picture, "figure_", None) or getattr(picture, "figure", None) or picture
    if not hasattr(drawing, "savefig"):
        raise invalid("picture", "be a matplotlib figure, a display, PNG bytes or SVG text", type(picture).__name__)
    svg = _svg(drawing, alt)
    return svg if len(svg) <= _LARGEST_SVG else _image("image/png", _drawn(drawing, format="png", dpi=150), alt)


def _image(kind: str, content: bytes, alt: str) -> str:
    return f'<img alt="{html.escape(alt)}" src="data:{kind};base64,{base64.b64encode(content).decode()}">'


def _svg(drawing: Any, alt: str) -> str:
    """The figure as an SVG element: text stays text, no metadata, no fixed size."""
    matplotlib = require("matplotlib", why="A figure in a report")
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": "steelyard"}):
        text = _drawn(drawing, format="svg", metadata={"Date": None}).decode()
    text = re.sub(r"<metadata>.*?</metadata>", "", text[text.index("<svg") :], flags=re.DOTALL)
    text = re.sub(r'(<svg[^>]*?) width="[^"]*"', r"\1", text, count=1)
    text = re.sub(r'(<svg[^>]*?) height="[^"]*"', r"\1", text, count=1)
    return text.replace("<svg", f'<svg role="img" aria-label="{html.escape(alt)}"', 1).strip()


def _drawn(drawing: Any, **how: Any) -> bytes:
    target = io.BytesIO()
    drawing.savefig(target, **how)
    return target.getvalue()
