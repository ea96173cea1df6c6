"""Pages from templates: one file that loads nothing and runs only the scripts written into it."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from ..files import write_atomically

_STYLES = ("tokens.css", "page.css")


@cache
def _environment() -> Environment:
    """All text from data is escaped; a name that a template misses is an error."""
    made = Environment(
        loader=PackageLoader("steelyard.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters["json"] = script_json
    return made


@cache
def asset(name: str) -> str:
    """The text of a style sheet or script of the package.

    Parameters
    ----------
    name : str
        Its file name.

    Returns
    -------
    str
        Its text.
    """
    return files(__package__).joinpath("assets", name).read_text(encoding="utf-8")


def script_json(value: Any) -> Markup:
    """JSON that may stand inside a script element: no text in it can end the element.

    Parameters
    ----------
    value : plain values
        What to write.

    Returns
    -------
    Markup
        JSON without ``<``, ``>`` and ``&``.

    Examples
    --------
    >>> print(script_json({"class": "</script>"}))
    {"class":"\\u003c/script\\u003e"}
    """
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    for letter in "<>&\u2028\u2029":
        text = text.replace(letter, f"\\u{ord(letter):04x}")
    return Markup(text)


def content_policy(scripts: Sequence[str]) -> str:
    """What a browser may do for the page: run the scripts written into it, by their checksums, and load nothing."""
    digests = [base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in scripts]
    allowed = " ".join(f"'sha256-{digest}'" for digest in digests) or "'none'"
    rules = ("default-src 'none'", "img-src data:", "style-src 'unsafe-inline'", f"script-src {allowed}")
    return "; ".join((*rules, "base-uri 'none'", "form-action 'none'"))


class HtmlFile:
    """A page that can be written to a file."""

    def html(self) -> str:
        """The page as text."""
        raise NotImplementedError

    def write(self, path: str | Path) -> Path:
        """Write the page and return where it is.

        Parameters
        ----------
        path : str or Path
            Where to write the page.

        Returns
        -------
        Path
            The file.
        """
        path = Path(path)
        with write_atomically(path) as file:
            file.write(self.html().encode())
        return path


@dataclass(frozen=True)
class Page(HtmlFile):
    """A template with its values, and the scripts and styles of the package that are written into it.

    Parameters
    ----------
    template, context : str and mapping
        File name of the template, and its values.
    scripts, styles : sequence of str
        Names of scripts, in their order, and of style sheets beside the shared ones.
    """

    template: str
    context: Mapping[str, Any]
    scripts: Sequence[str] = ()
    styles: Sequence[str] = field(default_factory=tuple)

    def html(self) -> str:
        """The page as text."""
        scripts = [asset(name) for name in self.scripts]
        return (
            _environment()
            .get_template(self.template)
            .render(
                **self.context,
                policy=content_policy(scripts),
                style=Markup("\n".join(asset(name) for name in (*_STYLES, *self.styles))),
                scripts=[Markup(text) for text in scripts],
            )
        )
