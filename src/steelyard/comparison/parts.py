"""A comparison on more rows than memory holds: a comparison of a sample, then what learns from parts on all of them."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from .._native import draw
from ..data import Parts
from ..data.parts import as_parts
from ..evaluate import mean_cost
from ..evaluate.intervals import Interval
from ..online import AROW, CSOGD1, CSOGD2, OnlineClassifier, OnlineCostClassifier
from ..scale.fit import fit_parts
from ..scale.predict import as_state
from ..scale.rows import read_spec
from ..scale.sample import sample_table
from ..scale.score import score_parts
from ..validation.docstrings import WRITTEN, documented
from ..validation.values import check_count, check_number, invalid
from . import Comparison, compare
from .candidates import Candidate
from .registry import KINDS


@dataclass(frozen=True)
class PartsLine:
    """What one finalist costs on the held-out parts, and which rows it was fitted on.

    Parameters
    ----------
    name : str
        Of the finalist.
    rows : int
        Rows it was fitted on.
    sampled : bool
        Whether these were the sample that was compared, or all rows of the training parts.
    cost : Interval
        Mean cost a row of the held-out parts.
    """

    name: str
    rows: int
    sampled: bool
    cost: Interval

    def __str__(self) -> str:
        seen = f"a sample of {self.rows:,} rows" if self.sampled else f"all {self.rows:,} rows of the training parts"
        low, high = self.cost.low, self.cost.high
        return f"{self.name}, fitted on {seen}, costs {self.cost.value:.4g} a row there ({low:.4g} to {high:.4g})."


@dataclass(frozen=True)
class PartsComparison:
    """The result of a comparison on parts.

    Parameters
    ----------
    compared : Comparison
        On the sample; its page and sentences say which rows each line saw.
    lines : list of PartsLine
        The finalists, the cheapest on the held-out parts first.
    held_out : list of str
        The parts that nothing was fitted on.
    models : dict
        The finalists, fitted; each has ``save``.
    """

    compared: Comparison
    lines: list[PartsLine]
    held_out: list[str]
    models: dict[str, Any]

    @property
    def winner(self) -> str:
        """Name of the finalist that costs least on the held-out parts."""
        return self.lines[0].name

    @documented(WRITTEN)
    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the winner without pickle.

        Returns
        -------
        Path
            The file.
        """
        return Path(self.models[self.winner].save(path))


def compare_parts(
    parts: Parts | str | os.PathLike[str] | Sequence[Any],
    target: str | None,
    *,
    costs: Any = None,
    sample: int = 100_000,
    held_out: float = 0.2,
    lanes: int = 1,
    work: str | os.PathLike[str] | None = None,
    executor: Executor | None = None,
    random_state: int = 0,
    candidates: Sequence[str] | None = None,
    drop: Sequence[str] = (),
    **settings: Any,
) -> PartsComparison:
    """Compare on parts: a comparison of a sample, finalists on all training parts, costs from parts that were held out.

    Parameters
    ----------
    parts : Parts, folder, pattern, URL or list of files
        Rows with labels, in two parts or more.
    target : str or None
        The column of labels; not needed for LIBSVM.
    costs : Costs, array-like, str or None
        As for :func:`compare`; text such as ``"fn=amount,fp=2"`` names columns with a cost a row.
    sample : int
        Rows of the sample, about: drawn by (seed, part, row) from the training parts.
    held_out : float in (0, 1)
        Share of the parts that nothing is fitted on; drawn by (seed, part).
    lanes : int
        Of the finalists that learn from parts and can be merged.
    work : path or None
        A folder that all workers share; needed on a cluster.
    executor : Executor or None
        Where everything runs; see :func:`steelyard.scale.on_dask`.
    random_state : int
        Seed of sample, split, folds and learners.
    candidates : sequence of str or None
        As for :func:`compare`; by default its portfolio and the learners that learn from parts.
    drop : sequence of str
        Columns to leave out.
    **settings : Any
        Further arguments of :func:`compare`.

    Returns
    -------
    PartsComparison
        The comparison of the sample, and the finalists with their costs on the held-out parts.
    """
    listed = as_parts(parts)
    training, kept = split_parts(listed, check_number("held_out", held_out, above=0, below=1), random_state)
    options: dict[str, Any] = {} if listed.format == "libsvm" else {"target": target, "drop": list(drop)}
    X, y = sample_table(training, options, count=check_count("sample", sample), seed=random_state)
    classes = np.unique(y)
    spec = read_spec(costs)
    if spec is not None and not spec.columns:
        costs, spec = spec.costs(classes=classes.tolist()), None
    named = [] if spec is None else list(dict.fromkeys(spec.columns.values()))
    priced = costs if spec is None else spec.costs(X, classes=classes.tolist())
    wanted = list(candidates) if candidates else [f"+{name}" for name in (TWO if len(classes) == 2 else MANY)]
    features = X.drop(columns=named) if named else X
    given: dict[str, Any] = {"executor": executor, "random_state": random_state, "candidates": wanted}
    compared = compare(features, y, costs=priced, **given, **settings)
    models: dict[str, Any] = {compared.winner: compared.refit()}
    seen = {compared.winner: (len(y), True)}
    place = None if work is None else Path(work).absolute()
    for candidate in finalists(compared):
        learner = online_learner(candidate, None if spec is not None else priced, random_state)
        fitted = fit_parts(
            learner,
            training,
            target=target,
            costs=costs if spec is not None else None,
            lanes=lanes if candidate.kind is KINDS["arow"] else 1,
            scale="none" if listed.format == "libsvm" else "standard",
            work=None if place is None else place / candidate.name.replace(" ", "-"),
            executor=executor,
            progress=False,
            **{name: value for name, value in options.items() if name != "target"},
        )
        name = f"{candidate.name}, all parts"
        encoder = getattr(fitted, "encoder_", None)
        models[name] = fitted if encoder is None else as_state(fitted, encoder, fitted.classes_.tolist())
        seen[name] = (fitted.n_rounds_, False)
    lines: list[PartsLine] = []
    for name, model in models.items():
        scored = score_parts(
            model,
            kept,
            [mean_cost],
            target=target,
            costs=costs,
            seed=random_state,
            executor=executor,
            work=None if place is None else place / f"score-{len(lines)}",
            **{key: value for key, value in options.items() if key != "target"},
        )
        lines.append(PartsLine(name, *seen[name], scored["mean_cost"]))
    lines.sort(key=lambda line: (line.cost.value, line.name))
    names = [part.name for part in kept.files]
    said = [*sentences(lines, names, len(listed)), *compared.recommendation]
    return PartsComparison(replace(compared, recommendation=said), lines, names, models)


def split_parts(parts: Parts, share: float, seed: int) -> tuple[Parts, Parts]:
    """Training parts and held-out ones; which, depends on the seed and the positions alone."""
    if len(parts) < 2:
        raise invalid("parts", "be two or more, since some are held out", len(parts), "Cut the file into parts.")
    count = min(len(parts) - 1, max(1, math.ceil(share * len(parts))))
    order = sorted(range(len(parts)), key=lambda i: (draw(seed, (1 << 50) + i), i))
    held = set(order[:count])
    cut = [[part for i, part in enumerate(parts.files) if (i in held) is kept] for kept in (False, True)]
    return Parts.of_files(cut[0], parts.format), Parts.of_files(cut[1], parts.format)


TWO, MANY = ("arow", "csogd"), ("online_costs",)  # kinds of candidates that learn from parts


def finalists(compared: Comparison) -> list[Candidate]:
    """Of each kind that learns from parts, the candidate that answered every fold at least cost."""
    found = []
    for kind in (KINDS[name] for name in (*TWO, *MANY)):
        runs = [run for run in compared.runs.complete() if run.candidate is not None and run.candidate.kind is kind]
        if runs:
            found.append(min(runs, key=lambda run: (run.cost, run.name)).candidate)
    return [candidate for candidate in found if candidate is not None]


def online_learner(candidate: Candidate, costs: Any, seed: int) -> OnlineClassifier | OnlineCostClassifier:
    """The candidate as a learner that goes on from part to part."""
    given: dict[str, Any] = {"costs": costs, "fit_intercept": True, "seed": seed}
    if candidate.kind is KINDS["online_costs"]:
        return OnlineCostClassifier(CSOGD1(**candidate.params), **given)
    rule = AROW if candidate.kind is KINDS["arow"] else CSOGD2
    return OnlineClassifier(rule(**candidate.params), **given)


def sentences(lines: Sequence[PartsLine], held_out: Sequence[str], parts: int) -> list[str]:
    """What the page says of the finalists, and on which rows."""
    names = ", ".join(held_out if len(held_out) <= 4 else [*held_out[:3], "..."])
    said = [f"{len(held_out)} of {parts} parts were held out ({names}); nothing was fitted on them."]
    said += [str(line) for line in lines]
    said.append(
        f"Use {lines[0].name}. The held-out parts chose it among {len(lines)}, so its cost flatters a little; the "
        "leaderboard below is of the sample alone."
    )
    return said
