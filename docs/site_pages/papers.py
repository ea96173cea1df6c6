"""A page per paper: what it says, what holds, ours beside the printed, what is missing, what we read into it."""

from __future__ import annotations

import csv
import json
import re
import subprocess
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path

from steelyard.reproduction.page import MOST_ERRORS

from .api import public_names
from .forest import forest
from .headlines import headlines

Row = dict[str, str]
WORDS = ("holds", "fails", "undecided", "not testable here", "not judged")
CELL = ("item", "data", "learner", "measure")  # what a number of a table is known by
SAID = {"holds": "hold", "fails": "fail"}  # of several
CALLS = (
    "Five papers, reproduced table by table: `steelyard reproduce 000` runs one. A claim *holds*, *fails*, is "
    "*undecided*, *not testable here* or, where runs are missing, *not judged*; what fails is said as plainly as what "
    "holds."
)
NUMBERS = (
    "Ours: mean ± standard deviation over our runs, in the pictures with its standard error; printed: as in the paper, "
    "digit by digit, and where its ± is a standard error that is said, in the pictures a red stroke; gap: the "
    "difference in standard errors of the difference."
)
FOREST = (
    "Each line of a picture is one comparison, in spreads of the difference from run to run: the thick bar is its 95% "
    "interval in this experiment, the thin one on other samples of this size; right of the middle is as the paper "
    "says. Arrows leave the picture. Beside an undecided claim stands how long further runs would take, one after "
    "another, if each lasts as long as the kept ones did."
)


def pages(root: Path) -> dict[str, str]:
    """The overview and one page per paper."""
    folders = sorted((root / "papers").glob("[0-9]*-*"))
    checks_of = checks(root)
    found = {f"papers/{folder.name[:3]}.md": paper(folder, checks_of.get(folder.name[:3], {})) for folder in folders}
    found["papers/index.md"] = overview(folders)
    return found


def pictures(root: Path) -> dict[str, Path]:
    """The pictures that the pages show, by the name they get on the site."""
    return {
        f"papers/pictures/{path.parents[1].name[:3]}-{path.name}": path
        for path in sorted((root / "papers").glob("[0-9]*-*/results/*.png"))
    }


def overview(folders: list[Path]) -> str:
    """Verdicts per paper, in both columns."""
    lines = ["# Papers\n", f"{CALLS}\n"]
    lines += [f"- [{title_of(folder)}]({folder.name[:3]}.md)" for folder in folders]
    lines += ["", "## What holds", "", "In this experiment: would more runs change the sign?\n"]
    lines += verdict_counts(folders, "verdict", WORDS)
    lines += ["", "On other samples of this size, where the protocol says anything about them:\n"]
    lines += verdict_counts(folders, "on other samples", WORDS[:3])
    lines += ["", "## Some numbers", "", "Means ± their standard errors.", "", headlines(folders[0].parent)]
    lines += ["", *wrong_words(folders[0].parents[1] / "bench" / "results" / "claim_words.jsonl")]
    return "\n".join([*lines, "", "```{toctree}", ":hidden:", "", *[folder.name[:3] for folder in folders], "```", ""])


def wrong_words(path: Path) -> list[str]:
    """How often the words are wrong where the truth is known, as ``bench/claim_words.py`` counted it."""
    kept = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    lines = [
        "## How often a word is wrong",
        "",
        f"`python bench/claim_words.py`, commit {kept[0]['commit']}: recipes whose truth is known, judged by the "
        "code that judges the papers. Learner A is said to beat B; it is ahead by nothing, 0.2, 1 or -0.3 standard "
        f"deviations of a score. `--decide` looks at 20, 40, ... {kept[0]['last look']} runs. Where nothing differs "
        "both *holds* and *fails* count as wrong, and one test at 5% on each side says one of them in a tenth of the "
        "cases: who has not run the experiment yet is better served by `--decide` from nothing.",
        "",
        "| how it is judged | A is ahead by | holds | fails | undecided | wrong |",
        "|---|---|---|---|---|---|",
    ]
    for way in dict.fromkeys(line["way"] for line in kept):
        mine = [line for line in kept if line["way"] == way]
        for line in mine:
            counts = " | ".join(str(line[word]) for word in ("holds", "fails", "undecided"))
            lines.append(f"| {way} | {line['truth']} | {counts} | {line['wrong']} of {line['recipes']} |")
        wrong, recipes = (sum(line[key] for line in mine) for key in ("wrong", "recipes"))
        lines.append(f"| {way} | all four | | | | **{wrong} of {recipes}, {wrong / recipes:.1%}** |")
    return lines


def verdict_counts(folders: list[Path], column: str, words: tuple[str, ...]) -> list[str]:
    """A table of how often each word stands in a column, paper by paper and in all."""
    lines = [f"| paper | {' | '.join(words)} |", "|---|" + "---|" * len(words)]
    total = dict.fromkeys(words, 0)
    for folder in folders:
        said = [plain(row[column]) for row in rows_of(folder / "results" / "verdicts.csv")]
        counts = {word: said.count(word) for word in words}
        total = {word: total[word] + counts[word] for word in words}
        lines.append(f"| [{folder.name[:3]}]({folder.name[:3]}.md) | {' | '.join(map(str, counts.values()))} |")
    return [*lines, f"| all | {' | '.join(map(str, total.values()))} |"]


def plain(word: str) -> str:
    """A verdict without what stands in brackets behind it."""
    return word.partition(" (")[0]


def paper(folder: Path, checks_of: dict[str, Row]) -> str:
    """Everything about one paper."""
    text = links_as_code((folder / "README.md").read_text(encoding="utf-8").strip())
    opening, _, readings = text.partition("## What we read into the paper")
    judged = rows_of(folder / "results" / "verdicts.csv")
    words = [plain(row["verdict"]) for row in judged]
    summary = ", ".join(f"{words.count(word)} {SAID.get(word, word)}" for word in WORDS if word in words)
    intro, _, rest = opening.partition("## What it says")
    parts = [intro.strip(), "", f"**{len(judged)} claims: {summary}.** {age(folder, checks_of)}", ""]
    parts += ["## What it says", rest.rstrip(), "", code_links(folder), ""]
    parts += ["## What holds", "", *both_columns(judged), "", FOREST, "", *claims(folder, judged)]
    parts += ["## Numbers", "", NUMBERS, ""]
    cells_of = rows_of(folder / "results" / "summary.csv")
    printed = {tuple(row[name] for name in CELL): row for row in rows_of(folder / "printed.csv")}
    for item in dict.fromkeys(row["item"] for row in cells_of):
        parts += [f"### {item}", "", *item_pictures(folder, item)]
        parts += folded("the numbers", cells([row for row in cells_of if row["item"] == item], printed))
    parts += [
        "## What is undecided",
        "",
        undecided(judged),
        "## What is missing",
        "",
        missing(folder, judged),
        "## What we read into the paper",
        "",
        readings.strip(),
        "",
    ]
    return "\n".join(parts)


def both_columns(judged: list[Row]) -> list[str]:
    """How often each word stands in each of the two columns; of most claims a protocol says nothing elsewhere."""
    columns = [[plain(row[name]) for row in judged] for name in ("verdict", "on other samples")]
    lines = ["| | in this experiment | on other samples of this size |", "|---|---|---|"]
    for word in WORDS:
        here, elsewhere = (str(column.count(word) or "") for column in columns)
        lines += [f"| {word} | {here} | {elsewhere} |"] if here or elsewhere else []
    return [*lines, f"| nothing said | | {columns[1].count('') or ''} |"]


def code_links(folder: Path) -> str:
    """Links to the reference, and from there to the source, of everything that the recipes of a paper use."""
    public, used = set(public_names()), set[str]()

    def collect(value: object) -> None:
        for each in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
            collect(each)
        if isinstance(value, dict) and value.get("use") in public:
            used.add(str(value["use"]))

    for path in folder.glob("*.toml"):
        collect(tomllib.loads(path.read_text(encoding="utf-8")))
    links = ", ".join(f"{{py:obj}}`{name} <steelyard.{name}>`" for name in sorted(used, key=str.lower))
    return f"What its recipes use, with the source of each: {links}."


def age(folder: Path, checks_of: dict[str, Row]) -> str:
    """When kept runs were last computed again, oldest recipe first."""
    kept = [path.stem for path in sorted(folder.glob("*.toml")) if (folder / "results" / f"{path.stem}.csv").exists()]
    never = [name for name in kept if name not in checks_of]
    dates = sorted({date_of(folder, row["commit"]) for name, row in checks_of.items() if name in kept})
    if not dates:
        return "Kept runs were not computed again yet."
    since = dates[0] if len(dates) == 1 else f"{dates[0]} to {dates[-1]}"
    also = f"; not yet: {', '.join(f'`{name}`' for name in never)}" if never else ""
    partly = [f"`{name}` ({checks_of[name]['without']})" for name in kept if "without" in checks_of.get(name, {})]
    also += f"; without some learners: {', '.join(partly)}" if partly else ""
    done = f"{len(kept) - len(never)} of {len(kept)} recipes"
    return f"Kept runs of {done} were computed again, every digit equal, on {since}{also}."


def date_of(folder: Path, commit: str) -> str:
    """The day of a commit, or its name where there is no history."""
    call = ["git", "-C", str(folder), "show", "-s", "--format=%cs", commit]
    try:
        done = subprocess.run(call, capture_output=True, text=True, check=False)
    except OSError:
        return commit
    return done.stdout.strip() or commit


def checks(root: Path) -> dict[str, dict[str, Row]]:
    """What ``papers/CHECKED.toml`` records."""
    path = root / "papers" / "CHECKED.toml"
    return tomllib.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


def claims(folder: Path, judged: list[Row]) -> Iterable[str]:
    """Every claim with both words, its picture and, folded, its numbers."""
    compared, item = rows_of(folder / "results" / "comparisons.csv"), ""
    for row in sorted(judged, key=lambda row: [r["item"] for r in judged].index(row["item"])):
        if row["item"] != item:
            item = row["item"]
            yield f"### On {item}\n"
        mine = [c for c in compared if (c["item"], c["claim"]) == (row["item"], row["claim"])]
        other = f"; on other samples: {row['on other samples']}" if row["on other samples"] else ""
        left = f" To decide it: {row['to decide it']}." if row["to decide it"] else ""
        yield f"{cell(row['claim'])}: **{row['verdict']}**{other}.{left}\n"
        if any(c["spreads"] for c in mine):
            yield "```{raw} html"
            yield forest(mine)
            yield "```\n"
        yield from folded("why", cell(row["because"]).replace("; ", ";\n") + "\n")


def folded(title: str, text: str) -> list[str]:
    """Text behind a summary that opens it."""
    return [f"<details><summary>{title}</summary>", "", text, "</details>", ""]


def item_pictures(folder: Path, item: str) -> Iterable[str]:
    """The pictures of a table or figure: ours with its noise, and the printed."""
    for path in sorted(folder.glob("*.toml")):
        text = path.read_text(encoding="utf-8")
        picture = folder / "results" / f"{path.stem}.png"
        if f'item = "{item}"' in text and picture.exists():
            claim = re.search(r'^claim = "(.*)"$', text, re.MULTILINE)
            yield f"![{cell(claim[1]) if claim else path.stem}](pictures/{folder.name[:3]}-{picture.name})"
            yield ""


def undecided(judged: list[Row]) -> str:
    """Why each undecided claim is so: its runs are used up, the rest takes too long, or no run would help."""
    lines = []
    for row in judged:
        if plain(row["verdict"]) == "undecided":
            why = row["to decide it"] or row["because"].rpartition("; ")[2]
            lines.append(f"- {row['item']}: {cell(row['claim'])}: {cell(why)}.")
    return "\n".join(lines or ["Nothing."]) + "\n"


def missing(folder: Path, judged: list[Row]) -> str:
    """What could not be run or judged, and why."""
    raw = {path.name: tomllib.loads(path.read_text(encoding="utf-8")) for path in sorted(folder.glob("*.toml"))}
    lines = [f"- {r['claim']} (`{name}`): {r['skip']}" for name, r in raw.items() if "skip" in r]
    unrun = [
        name for name, r in raw.items() if "protocol" in r and not (folder / "results" / f"{name[:-5]}.csv").exists()
    ]
    lines += [f"- {raw[name]['claim']} (`{name}`): a recipe without kept runs" for name in unrun]
    open_ones = [row for row in judged if plain(row["verdict"]) in WORDS[3:]]
    lines += [f"- {row['item']}: {cell(row['claim'])}: {cell(row['because'])}" for row in open_ones]
    return "\n".join(lines or ["Nothing."]) + "\n"


def title_of(folder: Path) -> str:
    """The first heading of the folder's README."""
    return (folder / "README.md").read_text(encoding="utf-8").splitlines()[0].lstrip("# ")


def rows_of(path: Path) -> list[Row]:
    """A CSV file's rows; none where there is no file."""
    if not path.exists():
        return []
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def links_as_code(text: str) -> str:
    """Links into the repository are file names on the site; links elsewhere stay, marks of numbers go."""
    text = re.sub(r"<!-- .*?-->", "", text, flags=re.DOTALL)
    return re.sub(r"\[([^\]]+)\]\((?!https?:|#)[^)]+\)", r"`\1`", text)


def cells(summary: list[Row], printed: Mapping[tuple[str, ...], Row]) -> str:
    """Ours beside the printed, data set by data set."""
    lines = ["| data | learner | measure | ours | runs | printed | gap |", "|---|---|---|---|---|---|---|"]
    for row in summary:
        theirs = printed.get(tuple(row[name] for name in CELL), {})
        named = f"{cell(row['data'])} | {cell(row['learner'])} | `{row['measure']}`"
        gap = row.get("gap", "")
        if gap and abs(float(gap)) >= MOST_ERRORS:
            gap = "no spread"
        lines.append(f"| {named} | {ours_of(row, theirs)} | {row['runs']} | {printed_of(theirs)} | {gap} |")
    return "\n".join(lines) + "\n"


def printed_of(theirs: Row) -> str:
    """Mean ± spread in the paper's own digits; nothing where the paper has no such number."""
    unit = " (s.e.)" if theirs.get("spread_kind") == "se" else ""
    return " ± ".join(part for part in (theirs.get("mean", ""), theirs.get("spread", "")) if part) + unit


def ours_of(row: Row, theirs: Row) -> str:
    """Mean ± deviation: five digits of the mean, or as many decimals as the paper prints where these are more."""
    decimals = len(theirs.get("mean", "").partition(".")[2])
    mean = max(plain_digits(float(row["ours"]), 5), f"{float(row['ours']):.{decimals}f}", key=_decimals)
    deviation = plain_digits(float(row["std"]), 4 if theirs else 2)
    if 0 < decimals < _decimals(deviation):
        deviation = f"{float(row['std']):.{decimals}f}"
    return f"{mean} ± {deviation}"


def plain_digits(value: float, digits: int) -> str:
    """So many significant digits, and all those before the point."""
    text = f"{value:.{digits}g}"
    return f"{value:.0f}" if "e+" in text else text


def _decimals(text: str) -> int:
    return len(text.partition(".")[2])


def cell(text: str) -> str:
    """Text that cannot end a cell of a table."""
    return text.replace("|", "\\|").replace("<", "&lt;")
