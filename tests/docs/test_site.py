"""README is short; every public name, command and option has its place on the site."""

import inspect
import json
import re
from pathlib import Path

import pytest
from site_pages import api, benchmarks, commands, papers

import steelyard

ROOT = Path(__file__).parents[2]
WRITTEN = "\n".join(path.read_text() for path in sorted((ROOT / "docs").glob("*.md")))
COMMANDS = {" ".join(words): command for words, command in commands.commands()}


def test_readme_is_a_front_page() -> None:
    assert len((ROOT / "README.md").read_text().splitlines()) <= 140


def test_what_readme_links_to_is_there() -> None:
    for target in re.findall(r"\]\((?!https?:)([^)#]+)", (ROOT / "README.md").read_text()):
        assert (ROOT / target).exists(), target


def test_every_public_name_has_a_page_and_a_line_in_the_table() -> None:
    pages = api.pages()
    for name in steelyard.__all__:
        if not name.startswith("_"):
            assert f":: {name}\n" in pages[f"generated/api/{api.page_of(name)}.rst".removeprefix("generated/")]
            assert f"`~steelyard.{name}`" in pages["api/index.rst"]


def test_pages_differ_where_file_systems_ignore_case() -> None:
    names = [name.lower() for name in api.pages()]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("name", api.public_names())
def test_every_public_name_says_itself_what_it_is(name: str) -> None:
    thing = getattr(steelyard, name)
    text = vars(thing).get("__doc__") if inspect.isclass(thing) else inspect.getdoc(thing)
    assert text, "a docstring of its own, not that of its base"
    assert not text.startswith(f"{name}("), "the one that dataclass makes up says nothing"


@pytest.mark.parametrize("title", COMMANDS)
def test_every_command_and_option_is_in_the_reference(title: str) -> None:
    page = commands.pages()["commands.md"]
    section = page.split(f"## `{title}`\n", 1)[1].split("\n## ", 1)[0]
    for option in commands.options(COMMANDS[title]):
        row = next((line for line in section.splitlines() if re.match(rf"\| [^|]*`{option}`", line)), None)
        assert row is not None, option
        assert row.split(" | ")[1].strip(), f"{option} has no help"


@pytest.mark.parametrize("title", COMMANDS)
def test_every_command_is_shown_on_a_page_of_the_guide(title: str) -> None:
    assert title in WRITTEN


def test_options_shown_on_the_pages_exist() -> None:
    known = {option for command in COMMANDS.values() for option in commands.options(command)} | {"--version", "--help"}
    for call in re.findall(r"^steelyard [^#\n]*(?:\\\n[^#\n]*)*", WRITTEN, re.MULTILINE):
        assert set(re.findall(r"(?<!\S)--[a-z-]+", call)) <= known, call


def test_every_page_of_the_guide_is_in_its_contents() -> None:
    linked = (ROOT / "docs" / "guide.md").read_text() + (ROOT / "docs" / "index.md").read_text()
    for path in (ROOT / "docs").glob("*.md"):
        assert path.stem in linked, path.name


def test_every_kept_benchmark_and_verdict_is_on_the_site() -> None:
    shown = benchmarks.pages(ROOT)["benchmarks.md"]
    assert {path.stem for path in (ROOT / "bench" / "results").glob("*.json")} == set(benchmarks.TITLES)
    assert "## One pass over a stream" in shown
    shown_pages = papers.pages(ROOT)
    for folder in sorted((ROOT / "papers").glob("[0-9]*-*")):
        for row in papers.rows_of(folder / "results" / "verdicts.csv"):
            claim = f"{papers.cell(row['claim'])}: **{row['verdict']}**"
            assert claim in shown_pages[f"papers/{folder.name[:3]}.md"]


def test_pages_of_papers_count_both_columns_and_link_to_the_code() -> None:
    shown = papers.pages(ROOT)
    assert "| nothing said | | " in shown["papers/003.md"]
    assert "| undecided | " in shown["papers/003.md"]
    for folder, name in (
        ("000", "CSOGD2"),
        ("001", "AskAsymmetric"),
        ("003", "C45Classifier"),
        ("004", "CSLDMClassifier"),
    ):
        assert f"{{py:obj}}`{name} <steelyard.{name}>`" in shown[f"papers/{folder}.md"]
    judged = [
        {"verdict": "holds", "on other samples": "undecided (conservative)"},
        {"verdict": "fails", "on other samples": ""},
    ]
    assert papers.both_columns(judged)[2:] == [
        "| holds | 1 |  |",
        "| fails | 1 |  |",
        "| undecided |  | 1 |",
        "| nothing said | | 1 |",
    ]


def test_pages_of_papers_show_the_printed_digit_by_digit() -> None:
    """To five digits 94563.580 ± 150.542 was 94564 ± 1.5e+02, and 66.266 ± 2.963 had a deviation of 3."""
    shown = papers.pages(ROOT)
    for folder in sorted((ROOT / "papers").glob("[0-9]*-*")):
        page = shown[f"papers/{folder.name[:3]}.md"]
        cells = {tuple(row[name] for name in papers.CELL) for row in papers.rows_of(folder / "results" / "summary.csv")}
        for row in papers.rows_of(folder / "printed.csv"):
            text = f"{row['mean']} ± {row['spread']}" if row["spread"] else row["mean"]
            wanted = f"| {row['data']} | {row['learner']} | `{row['measure']}` | "
            if tuple(row[name] for name in papers.CELL) in cells:
                assert any(f"| {text}" in line for line in page.splitlines() if line.startswith(wanted)), row
    assert re.findall(r"\| -?\d{7,}\.\d+ \|", "\n".join(shown.values())) == [], "rounding is no standard error"
    same = "| german | CSOGD-I | `weighted_sum_score` | 70.690 ± 0.846 | 20 | 70.690 ± 0.846 | "
    assert same in shown["papers/000.md"]
    assert "| 23.82 ± 5.52 (s.e.) |" in shown["papers/002.md"]
    assert papers.ours_of({"ours": "0.998123456", "std": "0.0012345"}, {"mean": "1"}) == "0.99812 ± 0.001234"
    assert papers.ours_of({"ours": "94357.1234", "std": "6457"}, {}) == "94357 ± 6457"


def test_pages_of_papers_hold_no_pictures_and_show_those_that_are_kept() -> None:
    shown, images = papers.pages(ROOT), papers.pictures(ROOT)
    for name, text in shown.items():
        assert len(text.encode()) < 400_000, name
        for target in re.findall(r"\]\((pictures/[^)]+)\)", text):
            assert f"papers/{target}" in images, target
    front = shown["papers/index.md"]
    for folder in sorted((ROOT / "papers").glob("[0-9]*-*")):
        words = [row["verdict"] for row in papers.rows_of(folder / "results" / "verdicts.csv")]
        counts = " | ".join(str(words.count(word)) for word in papers.WORDS)
        assert f"| [{folder.name[:3]}]({folder.name[:3]}.md) | {counts} |" in front


def test_pages_of_papers_say_what_is_left_to_decide_and_how_often_words_are_wrong(tmp_path: Path) -> None:
    shown = papers.pages(ROOT)
    left = [row for row in papers.rows_of(ROOT / "papers/004-cs-ldm/results/verdicts.csv") if row["to decide it"]]
    assert left
    for row in left:
        assert f" To decide it: {row['to decide it']}." in shown["papers/004.md"]
    claim = {
        "item": "Table 2",
        "claim": "A < B",
        "verdict": "undecided",
        "because": "ranks; more data would",
        "to decide it": "",
    }
    judged = [claim, claim | {"to decide it": "its runs are used up"}, claim | {"verdict": "holds"}]
    why = ["- Table 2: A &lt; B: more data would.", "- Table 2: A &lt; B: its runs are used up."]
    assert papers.undecided(judged).splitlines() == why
    kept = tmp_path / "claim_words.jsonl"
    line = {"commit": "abc", "last look": 320, "way": "once", "recipes": 200, "holds": 5, "fails": 7, "undecided": 188}
    truths = [line | {"truth": "no difference", "wrong": 12}, line | {"truth": "reversed", "wrong": 5}]
    kept.write_text("".join(json.dumps(each) + "\n" for each in truths))
    lines = papers.wrong_words(kept)
    assert "| once | reversed | 5 | 7 | 188 | 5 of 200 |" in lines
    assert lines[-1] == "| once | all four | | | | **17 of 400, 4.2%** |"
