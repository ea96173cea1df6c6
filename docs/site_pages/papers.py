"""A page per paper: what we read into it, what holds, and our numbers beside the printed, from papers/*/results."""

from __future__ import annotations

import csv
import re
from pathlib import Path

from .headlines import headlines

Row = dict[str, str]


def pages(root: Path) -> dict[str, str]:
    """The overview and one page per paper."""
    folders = sorted((root / "papers").glob("[0-9]*-*"))
    found = {f"papers/{folder.name[:3]}.md": paper(folder) for folder in folders}
    found["papers/index.md"] = overview(folders)
    return found


def overview(folders: list[Path]) -> str:
    """Verdicts per paper."""
    lines = [
        "# Papers\n",
        "Five papers, reproduced table by table: `steelyard reproduce 000` runs one. A claim *holds*, *fails*, is "
        "*undecided* or *not testable here*; what fails is said as plainly as what holds.\n",
        "| paper | holds | fails | undecided | not testable here |",
        "|---|---|---|---|---|",
    ]
    for folder in folders:
        words = [row["verdict"] for row in rows_of(folder / "results" / "verdicts.csv")]
        counts = " | ".join(str(words.count(word)) for word in ("holds", "fails", "undecided", "not testable here"))
        lines.append(f"| [{title_of(folder)}]({folder.name[:3]}.md) | {counts} |")
    lines += ["", "## Some numbers", "", "Means ± their standard errors.", "", headlines(folders[0].parent)]
    return "\n".join([*lines, "", "```{toctree}", ":hidden:", "", *[folder.name[:3] for folder in folders], "```", ""])


def paper(folder: Path) -> str:
    """The folder's README, the verdicts and the cells."""
    text = (folder / "README.md").read_text(encoding="utf-8").strip()
    parts = [links_as_code(text), "", "## What holds", "", verdicts(folder), "## Numbers", ""]
    parts.append(
        "Ours: mean ± standard deviation over our runs; printed: as in the paper; gap: the difference in standard "
        "errors of the difference.\n"
    )
    summary = rows_of(folder / "results" / "summary.csv")
    for item in dict.fromkeys(row["item"] for row in summary):
        parts += [f"### {item}", "", cells([row for row in summary if row["item"] == item])]
    return "\n".join(parts)


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
    """Links into the repository are file names on the site; links elsewhere stay."""
    return re.sub(r"\[([^\]]+)\]\((?!https?:|#)[^)]+\)", r"`\1`", text)


def verdicts(folder: Path) -> str:
    """Every claim with its verdict and the reason."""
    lines = ["| where | claim | in this experiment | on other samples | because |", "|---|---|---|---|---|"]
    lines += [
        f"| {cell(row['item'])} | {cell(row['claim'])} | {row['verdict']} | {row['on other samples']} "
        f"| {cell(row['because'])} |"
        for row in rows_of(folder / "results" / "verdicts.csv")
    ]
    return "\n".join(lines) + "\n"


def cells(summary: list[Row]) -> str:
    """Ours beside the printed, data set by data set."""
    lines = ["| data | learner | measure | ours | runs | printed | gap |", "|---|---|---|---|---|---|---|"]
    for row in summary:
        ours, printed = spread(row["ours"], row["std"]), spread(row.get("printed", ""), row.get("printed_spread", ""))
        named = f"{cell(row['data'])} | {cell(row['learner'])} | `{row['measure']}`"
        lines.append(f"| {named} | {ours} | {row['runs']} | {printed} | {row.get('gap', '')} |")
    return "\n".join(lines) + "\n"


def spread(mean: str, deviation: str) -> str:
    """Mean ± deviation in five digits; as it stands where it is no number."""
    try:
        told = f"{float(mean):.5g}"
        return f"{told} ± {float(deviation):.2g}" if deviation else told
    except ValueError:
        return mean


def cell(text: str) -> str:
    """Text that cannot end a cell of a table."""
    return text.replace("|", "\\|").replace("<", "&lt;")
