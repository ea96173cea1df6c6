"""The numbers in README.md: taken from results, never typed. ``python docs/tools/fill_numbers.py`` writes them."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path
from typing import NamedTuple

from steelyard.reproduction.recipe import papers_folder
from steelyard.reproduction.tables import read_printed, read_summary


class Headline(NamedTuple):
    """One telling cell of a table, and what the paper says by it."""

    claim: str
    folder: str
    item: str
    data: str
    learner: str
    measure: str


HEADLINES = [
    Headline(
        "the best weighted sum on german", "000-csogd", "Table II (sum)", "german", "CSOGD-I", "weighted_sum_score"
    ),
    Headline("the best weighted sum on w8a", "000-csogd", "Table II (sum)", "w8a", "CSOGD-II", "weighted_sum_score"),
    Headline("the lowest cost on w8a", "000-csogd", "Table II (cost)", "w8a", "CSOGD-II", "total_cost"),
    Headline("RED costs less ...", "002-one-sided-svr", "Table 2", "glass", "RED-OSSVR", "mean_cost"),
    Headline("... than one-vs-all", "002-one-sided-svr", "Table 2", "glass", "OVA-SVM", "mean_cost"),
    Headline("searched costs raise G-mean ...", "003-adac2m1", "Table 4", "car", "AdaC2.M1", "g_mean"),
    Headline("... over plain boosting", "003-adac2m1", "Table 4", "car", "AdaBoost.M1", "g_mean"),
    Headline("and on nursery", "003-adac2m1", "Table 12", "nursery", "AdaC2.M1", "g_mean"),
    Headline("costs in the margin distribution ...", "004-cs-ldm", "Table 2", "pima", "CS-LDM", "g_mean"),
    Headline("... against none", "004-cs-ldm", "Table 2", "pima", "LDM", "g_mean"),
]


def papers_table(papers: Path) -> str:
    """Verdicts per paper, and some printed numbers beside ours."""
    lines = ["| paper | claims that hold | do not hold | not testable here | all of it |", "|---|---|---|---|---|"]
    for folder in sorted(papers.glob("[0-9]*-*")):
        path = folder / "results" / "verdicts.csv"
        with path.open(newline="") as file:
            words = [row["verdict"] for row in csv.DictReader(file)]
        counts = [words.count(word) for word in ("holds", "does not hold", "not testable here")]
        where = f"[papers/{folder.name}](papers/{folder.name})"
        lines.append(f"| {folder.name[:3]} | {counts[0]} | {counts[1]} | {counts[2]} | {where} |")
    lines += [
        "",
        "Means ± their standard errors:",
        "",
        "| paper, table, data | claim | learner, measure | printed | ours (runs) |",
        "|---|---|---|---|---|",
    ]
    for head in HEADLINES:
        folder, cell = papers / head.folder, head[2:]
        printed = next(p for p in read_printed(folder) if (p.item, p.data, p.learner, p.measure) == cell)
        for row in read_summary(folder):
            if (row["item"], row["data"], row["learner"], row["measure"]) == cell:
                ours = _mean(float(row["ours"]), float(row["std"]) / int(row["runs"]) ** 0.5, printed.decimals)
                lines.append(
                    f"| {head.folder[:3]}, {head.item}, {head.data} | {head.claim} | {head.learner}, {head.measure} "
                    f"| {_mean(printed.mean, printed.standard_error, printed.decimals)} | {ours} ({row['runs']}) |"
                )
    return "\n".join(lines)


def _mean(mean: float, error: float, decimals: int) -> str:
    return f"{mean:.{decimals}f}" + (f" ± {error:.{decimals}f}" if error else "")


def bench_table(bench: Path) -> str:
    """Every goal of every kept benchmark, with the ratio of its run."""
    lines = ["| workload | ours | against | ratio | goal | reached |", "|---|---|---|---|---|---|"]
    for path in sorted((bench / "results").glob("*.json")):
        for row in json.loads(path.read_text())["goals"]:
            reached = {True: "yes", False: "no", None: "not run"}.get(row["reached"], row["reached"])
            ratio = "-" if row["ratio"] is None else row["ratio"]
            lines.append(
                f"| {row['workload']} | {row['ours']} | {row['against']} | {ratio} | {row['goal']} | {reached} |"
            )
    return "\n".join(lines)


def with_numbers(text: str, root: Path) -> str:
    """README's text with both tables filled in between their marks."""
    for mark, table in (("papers", papers_table(root / "papers")), ("bench", bench_table(root / "bench"))):
        block = re.compile(rf"(<!-- {mark}: .*? -->\n).*?(<!-- end -->)", re.DOTALL)
        text = block.sub(lambda found, table=table: f"{found.group(1)}{table}\n{found.group(2)}", text)  # type: ignore[misc]
    return text


def main() -> None:
    """Rewrite README.md."""
    root = papers_folder().resolve().parent
    readme = root / "README.md"
    readme.write_text(with_numbers(readme.read_text(), root))


if __name__ == "__main__":
    main()
