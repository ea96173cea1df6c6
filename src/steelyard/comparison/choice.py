"""Which run is named: the blend, unless chance alone does not explain that a single candidate is cheaper."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm

from ..evaluate.weighted import leave_one_out, weighted_mean
from .evaluation import CandidateRun

Floats = NDArray[np.float64]
SAME = 0.05  # a lead that chance gives this often is no lead


def choose_winner(
    singles: Sequence[CandidateRun], constants: Sequence[CandidateRun], blend: CandidateRun | None
) -> CandidateRun:
    """The blend, or the cheapest single where there is none or it is clearly cheaper; a constant wins a tie.

    The cheapest of many singles is flattered by the choice, the blend, which is chosen by log loss, is not: a single
    is named before it only where a paired test says so, at a level shared by all that were tried.
    """
    usable = [run for run in singles if run.candidate is None or run.candidate.kind.savable]
    best = blend if blend is not None else min(usable, key=lambda run: run.cost, default=None)
    if blend is not None and usable:
        paid = np.column_stack([np.asarray(run.paid) for run in usable])
        k = clearly_cheaper(paid, np.asarray(blend.paid), weights=blend.weights)
        best = blend if k is None else usable[k]
    cheapest = min(constants, key=lambda run: run.cost)
    return cheapest if best is None or cheapest.cost <= best.cost else best


def clearly_cheaper(
    paid: Floats, blended: Floats, count: Floats | None = None, weights: Floats | None = None
) -> int | None:
    """The column that pays less than the blend by more than chance, and least of those; None where there is none.

    Parameters
    ----------
    paid : array of shape (n, n_singles)
    blended : array of shape (n,)
        What the blend pays on each row.
    count : array of shape (n,), optional
        How often each row was drawn.
    weights : array of shape (n,), optional
        How much a row counts whenever it was drawn.
    """
    drawn = np.ones(len(blended)) if count is None else count
    weighed = drawn if weights is None else drawn * weights
    n, total = float(drawn.sum()), float(weighed.sum())
    gap = blended[:, None] - paid
    lead = weighed @ gap / total
    pull = np.sqrt(drawn) * leave_one_out(np.divide(weighed, drawn, out=np.zeros(len(drawn)), where=drawn > 0) / total)
    spread = np.sqrt(pull**2 @ (gap - lead) ** 2 * (n - 1.0) / n)
    clear = lead > norm.isf(SAME / paid.shape[1]) * spread
    clear &= lead > 0
    return int(np.where(clear, lead, -np.inf).argmax()) if clear.any() else None


def lead_by_chance(run: CandidateRun, winner: CandidateRun) -> float:
    """One-tailed paired test on the costs paid: how often chance alone would give the winner such a lead."""
    gap = np.asarray(run.paid) - np.asarray(winner.paid)
    lead, spread = weighted_mean(gap, winner.weights)
    if spread == 0:
        return 1.0 if gap[0] <= 0 else 0.0
    return float(norm.sf(lead / spread))
