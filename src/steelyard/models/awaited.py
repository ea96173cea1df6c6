"""Rows whose label was asked for and has not come: all that learning from it later needs."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from ..files import Fields, write_labels, write_rows
from ..validation.arrays import is_sparse

__all__ = ["AwaitedRow", "SettledLabel", "read_awaited", "write_awaited"]

_MOST_ROUNDS = 1 << 53
_WIDEST = 1 << 30  # hashed rows; no vector of that width is made of them


class AwaitedRow(NamedTuple):
    """A decided row that waits for its label.

    Parameters
    ----------
    t : int
        Its round.
    id : str or None
        What the user calls it.
    row : matrix with one row
        What the learner was given.
    answer : int
        Position of the decision.
    costs : tuple of float
        Where costs stand in the row: of a mistake as it is learned from if the truth is negative, and if it is
        positive; then what the decision costs in either case. Empty otherwise.
    """

    t: int
    id: str | None
    row: Any
    answer: int
    costs: tuple[float, ...] = ()


class SettledLabel(NamedTuple):
    """A label that came late.

    Parameters
    ----------
    id : str or None
        What the user calls the row.
    label : int
        Its position among the labels.
    """

    id: str | None
    label: int


def write_awaited(
    awaited: Iterable[AwaitedRow], settled: dict[int, SettledLabel]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Parameters and arrays of a file; nothing where there is nothing."""
    found = list(awaited)
    params: dict[str, Any] = {}
    arrays: dict[str, Any] = {}
    if found:
        rows = [entry.row for entry in found]
        stacked = sparse.vstack(rows, format="csr") if is_sparse(rows[0]) else np.concatenate(rows)
        more, cells = write_rows("awaited", stacked)
        params |= more
        arrays |= cells | write_labels("awaited_ids", _cells(entry.id for entry in found))
        arrays["awaited_rounds"] = np.array([entry.t for entry in found], dtype=np.int64)
        arrays["awaited_answers"] = np.array([entry.answer for entry in found], dtype=np.int64)
        arrays["awaited_costs"] = np.array([entry.costs for entry in found], dtype=np.float64).reshape(len(found), -1)
    if settled:
        arrays["settled_rounds"] = np.array(list(settled), dtype=np.int64)
        arrays["settled_labels"] = np.array([entry.label for entry in settled.values()], dtype=np.int64)
        arrays |= write_labels("settled_ids", _cells(entry.id for entry in settled.values()))
    return params, arrays


def read_awaited(fields: Fields, classes: int) -> tuple[tuple[AwaitedRow, ...], dict[int, SettledLabel]]:
    """What :func:`write_awaited` wrote, checked; the width of the rows is for the learner to compare."""
    awaited: tuple[AwaitedRow, ...] = ()
    if fields.has("awaited_rounds"):
        rows = fields.rows("awaited", "awaited", None, widest=_WIDEST, largest=math.inf)
        rounds = _rounds(fields, "awaited")
        answers = fields.integers("awaited_answers", "awaited", low=0, high=classes - 1).tolist()
        ids = fields.labels("awaited_ids", len(rounds), distinct=False).tolist()
        costs = fields.floats("awaited_costs", "awaited", None, low=-math.inf, high=math.inf)
        if costs.shape[1] not in (0, 4) or (costs[:, :2] < 0).any():
            fields.refuse("awaited_costs", "are four a row, those of mistakes not below 0", costs.shape)
        _check_ids(fields, "awaited_ids", ids)
        awaited = tuple(
            AwaitedRow(t, ids[i], rows[i : i + 1], answers[i], tuple(costs[i].tolist())) for i, t in enumerate(rounds)
        )
    settled: dict[int, SettledLabel] = {}
    if fields.has("settled_rounds"):
        rounds = _rounds(fields, "settled")
        labels = fields.integers("settled_labels", "settled", low=0, high=classes - 1).tolist()
        ids = fields.labels("settled_ids", len(rounds), distinct=False).tolist()
        _check_ids(fields, "settled_ids", ids)
        settled = {t: SettledLabel(id, label) for t, id, label in zip(rounds, ids, labels, strict=True)}
    if settled.keys() & {entry.t for entry in awaited}:
        fields.refuse("awaited_rounds", "have no label yet", sorted(settled)[:3])
    return awaited, settled


def _cells(ids: Iterable[str | None]) -> Any:
    values = list(ids)
    found = np.empty(len(values), dtype=object)
    found[:] = values
    return found


def _rounds(fields: Fields, name: str) -> list[int]:
    rounds: list[int] = fields.integers(f"{name}_rounds", name, low=0, high=_MOST_ROUNDS).tolist()
    if len(set(rounds)) != len(rounds):
        fields.refuse(f"{name}_rounds", "differ", rounds[:5])
    return rounds


def _check_ids(fields: Fields, name: str, ids: list[Any]) -> None:
    if any(id is not None and not isinstance(id, str) for id in ids):
        fields.refuse(name, "are texts", ids[:3])
