"""report.html: the comparison as one page that works offline and on a phone."""

from __future__ import annotations

import json
import platform
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy
import sklearn
from numpy.typing import NDArray
from sklearn.calibration import calibration_curve

from .._version import __version__
from ..errors import MissingDependencyError
from ..evaluate import ConfusionTable, CostCurveDisplay, ThresholdDisplay, confusion_table, costs_paid
from ..report import Report, Section
from ..validation.values import require
from .data import ComparisonData
from .evaluation import CandidateRun, Evaluation
from .leaderboard import LeaderboardRow
from .promise import Promise
from .refit import refit

_CURVE_ROWS = 20_000  # enough to see where a learning curve goes
_SHOWN = 4  # candidates whose confusion and curves are drawn: the best ones
_SQUARE = 20  # classes up to which a table of truths and answers can be read; of more, the dearest confusions alone


def comparison_page(
    evaluation: Evaluation,
    winner: CandidateRun,
    lines: Sequence[LeaderboardRow],
    said: Sequence[str],
    warnings: Sequence[str],
    promised: Promise,
    *,
    brief: bool = False,
    seconds: float = 10.0,
) -> Report:
    """Everything about a comparison; ``brief`` leaves out what takes time, ``seconds`` limit the learning curve."""
    problem = evaluation.problem
    report = Report(
        "What to use, and what it will cost",
        subtitle=f"{len(problem.y):,} examples, {len(problem.columns.used)} columns, {len(problem.classes)} classes",
        footer=f"Made by steelyard {__version__}.",
    )
    advice = report.section("In short")
    for sentence in said:
        advice.text(sentence)
    advice.numbers(_key_figures(lines[0], promised))
    board = report.section("Leaderboard", _LEADERBOARD_TEXT)
    board.table([_row(s) for s in lines])
    board.text("What it took:").table([_effort(s) for s in lines])
    _prices(report.section("What mistakes cost"), problem)
    if warnings:
        section = report.section("Noticed in the data")
        for sentence in warnings:
            section.note(sentence)
    if not brief:
        shown = [s.name for i, s in enumerate(lines) if i == 0 or s.family != "constant"][:_SHOWN]
        best = [e for name in shown for e in evaluation.entries if e.name == name and e.complete]
        _confusions(report, evaluation, best)
        _pictures(report, evaluation, best, winner, seconds)
    _method(report, evaluation)
    return report


_LEADERBOARD_TEXT = (
    "Mean cost per example on held-out rows, with 95% bootstrap intervals; lower is better. "
    "A candidate marked * is not distinguishable from the best: chance alone could have put it behind; p is how often "
    "it would put it as far behind as this or farther. Saved: against the cheapest constant answer. "
    "sens. and spec.: sensitivity and specificity. Weight: share in the blend."
)


def _key_figures(best: LeaderboardRow, promised: Promise) -> dict[str, Any]:
    return {
        "mean cost per example": f"{promised.value:.4g}",
        f"{promised.confidence:.0%} interval, {promised.rows:,} new rows": f"{promised.low:.4g} to {promised.high:.4g}",
        "saved against the best constant": f"{best.savings.value:.0%}",
        "G-mean": f"{best.g_mean.value:.3f}",
    }


def _row(s: LeaderboardRow) -> dict[str, Any]:
    mark = " *" if s.p_value is not None and s.tied_with_best else ""
    row: dict[str, Any] = {
        "candidate": s.name + mark,
        "mean cost": s.mean_cost,
        "saved %": round(100 * s.savings.value, 1),
        "G-mean": round(s.g_mean.value, 3),
    }
    if s.f1 is not None and s.sensitivity is not None and s.specificity is not None:
        row |= {
            "F1": round(s.f1.value, 3),
            "sens.": round(s.sensitivity.value, 3),
            "spec.": round(s.specificity.value, 3),
        }
    row |= {"weight": None if s.weight is None else round(s.weight, 2)}
    return row | {"p": None if s.p_value is None else round(s.p_value, 3)}


def _effort(s: LeaderboardRow) -> dict[str, Any]:
    return {
        "candidate": s.name,
        "note": "; ".join(_notes(s)),
        "total cost": s.total_cost,
        "fit s": round(s.fit_seconds, 3),
        "predict s": round(s.predict_seconds, 3),
        "kind": s.family,
    }


def _notes(s: LeaderboardRow) -> list[str]:
    judged = [] if s.rows is None else [f"judged on {s.rows:,} rows"]
    return judged + ([] if s.stopped is None else [s.stopped])


def _prices(section: Section, problem: ComparisonData) -> None:
    if len(problem.classes) <= _SQUARE:
        section.show(problem.costs)
        return
    table, truth = problem.costs.per_example(problem.y), problem.costs.encode(problem.y)
    wrong = table[np.arange(table.shape[1]) != truth[:, None]]
    section.text(
        f"{len(problem.classes)} classes, too many for a table: a wrong answer costs {wrong.min():.4g} to "
        f"{wrong.max():.4g}, {wrong.mean():.4g} on average over the rows and the wrong answers."
    )


def _confusions(report: Report, evaluation: Evaluation, best: Sequence[CandidateRun]) -> None:
    square = len(evaluation.problem.classes) <= _SQUARE
    said = "Predictions by truth: how many, and what they cost." if square else "The confusions that cost most."
    section = report.section("Where the costs come from", said)
    for entry in best:
        rows, predicted = (evaluation.judged.rows, evaluation.problem.classes[entry.answers])
        subset = evaluation.problem.labels_only().subset(rows)
        found = confusion_table(subset.y, predicted, costs=subset.costs)
        section.text(entry.name)
        section.show(found) if square else section.table(_dearest(found))


def _dearest(found: ConfusionTable) -> list[dict[str, Any]]:
    """The cells of a confusion table that cost most, as lines."""
    order = np.argsort(-found.costs, axis=None, kind="stable")[:_SQUARE]
    whole = float(found.costs.sum())
    return [
        {
            "truth": str(found.classes[i]),
            "answer": str(found.classes[j]),
            "count": float(found.counts[i, j]),
            "cost": float(found.costs[i, j]),
            "% of all": round(100 * float(found.costs[i, j]) / whole, 1),
        }
        for i, j in zip(*np.unravel_index(order, found.costs.shape), strict=True)
        if found.costs[i, j] > 0
    ]


def _pictures(
    report: Report, evaluation: Evaluation, best: Sequence[CandidateRun], winner: CandidateRun, seconds: float
) -> None:
    """Curves; left out where matplotlib is not installed."""
    try:
        pyplot = require("matplotlib.pyplot", why="drawing curves")
    except MissingDependencyError as error:
        report.section("Curves").note(str(error))
        return
    scored = [(e.name, *found) for e in best if (found := _scores(evaluation, e)) is not None]
    if scored and len(evaluation.problem.classes) == 2:
        _curve_section(report, evaluation, scored, pyplot)
        _what_if(report, evaluation, *scored[0])
    problem = evaluation.problem.subsample(winner.rows).subsample(_CURVE_ROWS)
    figure = _learning_curve(problem, winner, seconds, pyplot)
    if figure is not None:
        report.section(
            "More data?", "Mean cost on a held-out quarter when the winner is fitted on more and more rows."
        ).figure(figure, alt="learning curve")
    pyplot.close("all")


def _scores(evaluation: Evaluation, entry: CandidateRun) -> tuple[NDArray[np.intp], NDArray[np.float64]] | None:
    """Rows and out-of-fold probabilities of the positive class, where a candidate gives them."""
    if len(evaluation.problem.classes) != 2 or entry.proba is None:
        return None
    score = np.asarray(entry.proba[:, evaluation.problem.costs.positive_index()], dtype=np.float64)
    return evaluation.judged.rows, score


def _curve_section(report: Report, evaluation: Evaluation, scored: Sequence[tuple[str, Any, Any]], pyplot: Any) -> None:
    section = report.section("Curves", "From out-of-fold probabilities of the best candidates that give them.")
    cost_figure, cost_ax = pyplot.subplots(figsize=(5, 4.4), layout="constrained")
    threshold_figure, threshold_ax = pyplot.subplots(figsize=(5, 4.4), layout="constrained")
    calibration_figure, calibration_ax = pyplot.subplots(figsize=(5, 4.4), layout="constrained")
    for name, rows, score in scored:
        subset = evaluation.problem.labels_only().subset(rows)
        positive = evaluation.problem.positive
        CostCurveDisplay.from_predictions(subset.y, score, name=name, ax=cost_ax, positive=positive)
        ThresholdDisplay.from_predictions(
            subset.y, score, name=name, ax=threshold_ax, costs=subset.costs, positive=positive
        )
        truth = (subset.y == positive).astype(int)
        observed, told = calibration_curve(truth, np.clip(score, 0, 1), n_bins=8, strategy="quantile")
        calibration_ax.plot(told, observed, "o-", ms=4, label=name)
    calibration_ax.plot([0, 1], [0, 1], ":", color="gray")
    calibration_ax.set(xlabel="predicted probability", ylabel="observed fraction")
    for ax in (cost_ax, threshold_ax, calibration_ax):
        _legend_below(ax)
    section.figures(
        {
            "Cost curve: normalised expected cost over operating conditions": cost_figure,
            "Mean cost over the threshold": threshold_figure,
            "Calibration": calibration_figure,
        }
    )


def _legend_below(ax: Any) -> None:
    """One legend under the axes, every label once."""
    handles, labels = ax.get_legend_handles_labels()
    if ax.get_legend() is not None:
        ax.get_legend().remove()
    once = dict(zip(labels, handles, strict=True))
    ax.figure.legend(list(once.values()), list(once), loc="outside lower center", fontsize="small", frameon=False)


def _what_if(
    report: Report, evaluation: Evaluation, name: str, rows: NDArray[np.intp], score: NDArray[np.float64]
) -> None:
    """A slider over thresholds with what each would have cost; a few lines of script, no network."""
    subset = evaluation.problem.labels_only().subset(rows)
    positive, other = (
        evaluation.problem.positive,
        evaluation.problem.classes[1 - evaluation.problem.costs.positive_index()],
    )
    steps = []
    for threshold in np.unique(np.quantile(score, np.linspace(0, 1, 101))):
        answer = np.where(score >= threshold, positive, other)
        found = (answer == positive) & (subset.y == positive)
        steps.append(
            [
                round(float(threshold), 4),
                round(float(costs_paid(subset.y, answer, costs=subset.costs).mean()), 5),
                round(float(found.sum() / max((subset.y == positive).sum(), 1)), 4),
                int((answer == positive).sum()),
            ]
        )
    best = int(np.argmin([step[1] for step in steps]))
    report.section("What if the threshold moved?", f"{name}: answer {positive} from this probability on.").show(
        _Slider(steps, best)
    )


class _Slider:
    """An HTML range input over precomputed thresholds."""

    def __init__(self, steps: list[list[float]], start: int) -> None:
        self._steps = steps
        self._start = start

    def _repr_html_(self) -> str:
        return (
            f'<div class="whatif"><input type="range" min="0" max="{len(self._steps) - 1}" value="{self._start}" '
            'style="width:100%" aria-label="threshold"><p><output></output></p></div><script>(()=>{'
            f"const s={json.dumps(self._steps)};const d=document.currentScript.previousElementSibling;"
            "const i=d.querySelector('input'),o=d.querySelector('output');"
            "const show=()=>{const [t,c,r,n]=s[+i.value];o.textContent="
            "`threshold ${t}: mean cost ${c}, sensitivity ${r}, ${n} answered positive`};"
            "i.addEventListener('input',show);show()})()</script>"
        )


def _learning_curve(problem: ComparisonData, winner: CandidateRun, seconds: float, pyplot: Any) -> Any:
    """Mean cost on a fixed quarter after an eighth, a quarter, half and all of the rest, as far as time allows.

    None for a constant, and where there are not two points.
    """
    if winner.family == "constant":
        return None
    end, taken = time.monotonic() + seconds, 0.0
    order = np.random.default_rng(problem.seed).permutation(len(problem.y))
    quarter = len(order) // 4
    held_out, rest = problem.subset(np.sort(order[:quarter])), order[quarter:]
    sizes, means = [], []
    for share in (0.125, 0.25, 0.5, 1.0):
        training = problem.subset(np.sort(rest[: int(share * len(rest))]))
        if len(np.unique(training.y)) < len(problem.classes) or np.unique(training.y, return_counts=True)[1].min() < 6:
            continue
        if time.monotonic() + 2 * taken > end:
            break
        start = time.monotonic()
        answers = refit(winner, training).predict(held_out.X, costs=held_out.costs_at_predict())
        taken = time.monotonic() - start
        sizes.append(len(training.y))
        means.append(costs_paid(held_out.y, answers, costs=held_out.costs).mean())
    if len(sizes) < 2:
        return None
    figure, ax = pyplot.subplots(figsize=(5, 3.2), layout="constrained")
    ax.plot(sizes, means, "o-")
    ax.set(xlabel="training rows", ylabel="mean cost", xscale="log")
    return figure


def _method(report: Report, evaluation: Evaluation) -> None:
    problem = evaluation.problem
    absent = "; ".join(f"{e.name}: {e.stopped}" for e in evaluation.entries if not e.complete and e.stopped)
    report.section(
        "How it was done",
        f"{evaluation.judged.n_folds}-fold cross-validation on {len(evaluation.judged.rows):,} rows, the same folds "
        f"for all, seed {problem.seed}; {evaluation.units} work units (one setting, one fold) in "
        f"{evaluation.cpu_seconds:.1f} s of CPU time. Preparation and early stopping were fitted inside the training "
        "part of each fold. Probabilities were calibrated out of fold, each fold on the others, and blended greedily "
        "by log loss; the answer is the one of least expected cost. Intervals of the leaderboard: 95% bootstrap within "
        "classes. Differences: one-tailed paired test of the costs paid. The promise bootstraps the whole choice and "
        "draws a new sample, so it counts both the selection and the noise of new rows."
        + (f"\n\nWithout a line above: {absent}." if absent else ""),
    ).table(
        [
            {"what": "steelyard", "version": __version__},
            {"what": "Python", "version": platform.python_version()},
            {"what": "numpy", "version": np.__version__},
            {"what": "scipy", "version": scipy.__version__},
            {"what": "scikit-learn", "version": sklearn.__version__},
        ]
    )
