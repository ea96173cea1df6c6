"""Reports: everything escaped, nothing fetched, the best cells marked."""

import base64
import hashlib
import html
import re
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import polars as pl
import pytest

import steelyard as sy

VOID = {"meta", "img", "br"}
EVIL = '<script>alert("x")</script>&'


class Page(HTMLParser):
    """Tags in balance, all visible text, all links."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.texts: list[str] = []
        self.links: list[str] = []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag, attrs) -> None:  # type: ignore[no-untyped-def]
        self.tags.append(tag)
        self.links += [v for k, v in attrs if k in ("href", "src", "xlink:href", "action", "data")]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs) -> None:  # type: ignore[no-untyped-def]
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag) -> None:  # type: ignore[no-untyped-def]
        assert self.open.pop() == tag

    def handle_data(self, data) -> None:  # type: ignore[no-untyped-def]
        self.texts.append(data)


def section_of(report: sy.Report) -> sy.Section:
    return report.section("Part")


def test_a_line_opens_into_more() -> None:
    shown = section_of(sy.Report("R")).details("Table 2: A is cheaper", "glass\nvehicle", mark="holds").html("s1")
    assert "<summary><b>holds</b> Table 2: A is cheaper</summary>" in shown
    assert '<p class="long">glass\nvehicle</p></details>' in shown


def test_long_texts_of_a_table_are_broken_and_heads_stand_above_their_cells() -> None:
    """A reason of two hundred characters on one line would push every other column off the page."""
    rows = [{"recipe": "one", "short": "yes", "why": "no data " * 25, "runs": 3}]
    shown = section_of(sy.Report("R")).table(rows).html("s1")
    assert '<td class="long">no data' in shown
    assert '<td class="words">yes</td>' in shown
    assert '<th scope="col" class="words">why</th><th scope="col">runs</th>' in shown


def test_large_numbers_are_written_out_and_wide_things_are_reached_by_keyboard() -> None:
    section = section_of(sy.Report("R")).table(
        [{"a": "x", "b": value} for value in (51234.4, -9999.7, 1234.56, 2e17, np.inf)]
    )
    page = section.show("text").html("s1")
    assert re.findall(r"<td>(.*?)</td>", page) == ["51,234", "-10,000", "1235", "2e+17", "inf"]
    assert page.count('class="scroll" tabindex="0" role="region" aria-label=') == 1
    assert '<pre tabindex="0">' in page


def test_everything_is_escaped() -> None:
    report = sy.Report(EVIL, subtitle=EVIL, footer=EVIL)
    section = report.section(EVIL, EVIL).note(EVIL).numbers({EVIL: EVIL}).show(EVIL)
    section.details(EVIL, EVIL, mark=EVIL)
    section.table([{EVIL: EVIL, "b": EVIL}], caption=EVIL).figure(b"png", caption=EVIL, alt=EVIL)
    section.show(sy.confusion_table([EVIL, "b"], [EVIL, "b"])).show(sy.per_class_scores([EVIL, "b"], [EVIL, "b"]))
    section.show(sy.Costs.binary(fn=1, fp=1, classes=[EVIL, "b"]))
    page = Page(report.html())
    assert "script" not in page.tags
    assert "".join(page.texts).count(EVIL) >= 12


def test_nothing_is_fetched_and_it_is_made_for_phones_and_the_dark(tmp_path) -> None:  # type: ignore[no-untyped-def]
    pytest.importorskip("matplotlib").use("Agg")
    report = sy.Report("Credit", subtitle="costs 5 and 1")
    for k in range(3):
        part = report.section(f"Part {k}", "First.\n\nSecond.")
        part.figure(sy.CostCurveDisplay.from_predictions([0, 0, 1, 1], [0.1, 0.6, 0.4, 0.9]), caption="cost <curve>")
    text = report.write(tmp_path / "report.html").read_text(encoding="utf-8")
    page = Page(text)
    assert all(link.startswith(("#", "data:")) for link in page.links)
    assert not re.search(r"@import|url\((?!#)", text)
    assert 'name="viewport"' in text
    assert "prefers-color-scheme: dark" in text
    assert [link for link in page.links if re.fullmatch(r"#s\d", link)] == ["#s1", "#s2", "#s3"]
    assert page.tags.count("svg") == 3
    assert page.tags.count("section") == 3
    assert "<metadata" not in text
    assert "normalised expected cost" in "".join(page.texts)  # letters stay letters
    assert 'aria-label="cost &lt;curve&gt;"' in text
    ids = re.findall(r'<section id="(\w+)"', text)
    assert len(ids) == len(set(ids))


def rows_of(text: str) -> list[list[str]]:
    return [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row) for row in re.findall(r"<tr>(.*?)</tr>", text)]


TABLE = {"learner": ["a", "b", "c"], "cost": [0.5, 0.25, 0.25], "F": [0.123456, float("nan"), 0.9]}


@pytest.mark.parametrize(
    ("rows", "columns"),
    [
        ([dict(zip(TABLE, row, strict=True)) for row in zip(*TABLE.values(), strict=True)], None),
        (list(zip(*TABLE.values(), strict=True)), list(TABLE)),
        (pd.DataFrame(TABLE), None),
        (pl.DataFrame(TABLE), None),
    ],
)
def test_tables_from_every_source_with_the_best_marked(rows, columns) -> None:  # type: ignore[no-untyped-def]
    report = sy.Report("t")
    section_of(report).table(rows, columns=columns, best={"cost": "min", "F": "max"})
    text = report.html()
    assert rows_of(text) == [
        ["learner", "cost", "F"],
        ["a", "0.5", "0.1235"],
        ["b", "0.25", "–"],
        ["c", "0.25", "0.9"],
    ]
    assert re.findall(r'class="best">([^<]*)', text) == ["0.25", "0.25", "0.9"]


def test_intervals_are_judged_by_their_value_and_missing_cells_are_dashes() -> None:
    report = sy.Report("t")
    low, high = sy.Interval(0.5, 0.4, 0.7, 0.95, 0.1), sy.Interval(0.6, 0.3, 0.8, 0.95, 0.1)
    section_of(report).table([{"who": "a", "cost": low, "n": 3}, {"who": "b", "cost": high}], best={"cost": "min"})
    assert rows_of(report.html())[1:] == [["a", "0.5 [0.4, 0.7]", "3"], ["b", "0.6 [0.3, 0.8]", "–"]]
    assert report.html().count('class="best"') == 1


def test_large_drawings_become_pictures() -> None:
    plt = pytest.importorskip("matplotlib.pyplot")
    figure, ax = plt.subplots()
    draw = np.random.default_rng(0)
    ax.scatter(draw.random(10000), draw.random(10000))
    report = sy.Report("t")
    section_of(report).figures({"many": figure, "few": sy.RocHullDisplay.from_predictions([0, 1], [0.1, 0.9])})
    plt.close("all")
    page = Page(report.html())
    assert page.tags.count("img") == 1
    assert page.tags.count("svg") == 1
    assert "data:image/png;base64," in report.html()


def test_foreign_svg_is_an_image_without_power() -> None:
    report = sy.Report("t")
    section_of(report).figure("<svg onload='alert(1)'/>")
    assert "onload" not in report.html()
    assert "data:image/svg+xml;base64," in report.html()


@pytest.mark.parametrize(
    ("add", "words"),
    [
        (lambda s: s.figure(3), "picture must be a matplotlib figure"),
        (lambda s: s.table([[1, 2]]), "columns must name every cell"),
        (lambda s: s.table([[1, 2]], columns=["a"]), "columns must name every cell"),
        (lambda s: s.table([{"a": 1}], best={"b": "min"}), "best must be one of 'a'; got 'b'"),
        (lambda s: s.table([{"a": 1}], best={"a": "low"}), "must be one of 'min', 'max'; got 'low'"),
    ],
)
def test_complaints(add, words) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(sy.InvalidInputError, match=words):
        add(sy.Report("t").section("s"))


def test_an_empty_report_and_empty_tables_are_pages_too() -> None:
    report = sy.Report("t")
    Page(report.html())
    section_of(report).table([], columns=["a", "b"], best={"a": "min"})
    assert rows_of(report.html()) == [["a", "b"]]


class _Script:
    def _repr_html_(self) -> str:
        return "<script>let x = 1 < 2;</script>"


def test_a_page_runs_its_own_scripts_and_loads_nothing() -> None:
    report = sy.Report("Title")
    report.section("One").text("</script><script>alert(1)</script>").show(_Script())
    page = report.html()
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page).group(1)  # type: ignore[union-attr]
    digest = base64.b64encode(hashlib.sha256(b"let x = 1 < 2;").digest()).decode()
    assert f"script-src 'sha256-{digest}';" in policy
    assert policy.startswith("default-src 'none'")
    assert "<script>alert" not in page
    assert "script-src 'none'" in sy.Report("Plain").html()


def test_in_a_notebook_the_page_keeps_its_style_to_itself() -> None:
    report = sy.Report('Ti"tle')
    report.section("One").text("words")
    embedded = report.embedded()
    assert embedded.startswith('<iframe title="Ti&quot;tle" sandbox="allow-scripts" srcdoc="')
    outside = re.sub(r'srcdoc="[^"]*"', "", embedded)
    assert "<style" not in outside
    assert html.unescape(re.search(r'srcdoc="([^"]*)"', embedded).group(1)) == report.html()  # type: ignore[union-attr]
