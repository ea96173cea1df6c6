"""Some telling cells of the papers' tables: the printed number beside ours."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from steelyard.reproduction.tables import read_printed, read_summary


class Headline(NamedTuple):
    """One cell of a table, and what the paper says by it."""

    claim: str
    folder: str
    item: str
    data: str
    learner: str
    measure: str


WEIGHTED_SUM = "weighted_sum_score"
HEADLINES = (
    Headline("the best weighted sum on german", "000-csogd", "Table II (sum)", "german", "CSOGD-I", WEIGHTED_SUM),
    Headline("the best weighted sum on w8a", "000-csogd", "Table II (sum)", "w8a", "CSOGD-II", WEIGHTED_SUM),
    Headline("the lowest cost on w8a", "000-csogd", "Table II (cost)", "w8a", "CSOGD-II", "total_cost"),
    Headline("RED costs less ...", "002-one-sided-svr", "Table 2", "glass", "RED-OSSVR", "mean_cost"),
    Headline("... than one-vs-all", "002-one-sided-svr", "Table 2", "glass", "OVA-SVM", "mean_cost"),
    Headline("searched costs raise G-mean ...", "003-adac2m1", "Table 4", "car", "AdaC2.M1", "g_mean"),
    Headline("... over plain boosting", "003-adac2m1", "Table 4", "car", "AdaBoost.M1", "g_mean"),
    Headline("and on nursery", "003-adac2m1", "Table 12", "nursery", "AdaC2.M1", "g_mean"),
    Headline("costs in the margin distribution ...", "004-cs-ldm", "Table 2", "pima", "CS-LDM", "g_mean"),
    Headline("... against none", "004-cs-ldm", "Table 2", "pima", "LDM", "g_mean"),
)


def headlines(papers: Path) -> str:
    """A table of these cells, means ± their standard errors."""
    lines = ["| paper, table, data | claim | learner, measure | printed | ours (runs) |", "|---|---|---|---|---|"]
    for head in HEADLINES:
        folder, cell = papers / head.folder, head[2:]
        printed = next(p for p in read_printed(folder) if (p.item, p.data, p.learner, p.measure) == cell)
        for row in read_summary(folder):
            if (row["item"], row["data"], row["learner"], row["measure"]) == cell:
                ours = mean(float(row["ours"]), float(row["std"]) / int(row["runs"]) ** 0.5, printed.decimals)
                lines.append(
                    f"| {head.folder[:3]}, {head.item}, {head.data} | {head.claim} | {head.learner}, {head.measure} "
                    f"| {mean(printed.mean, printed.standard_error, printed.decimals)} | {ours} ({row['runs']}) |"
                )
    return "\n".join(lines) + "\n"


def mean(value: float, error: float, decimals: int) -> str:
    """A mean ± its standard error, with the decimals of the paper."""
    return f"{value:.{decimals}f}" + (f" ± {error:.{decimals}f}" if error else "")
