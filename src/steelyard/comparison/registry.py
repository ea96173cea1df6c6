"""Everyone who can take part in a comparison: the portfolio, read from its file, and constant answers."""

from __future__ import annotations

import importlib.util
import tomllib
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np

from ..validation.values import invalid, require
from .baselines import BASELINES
from .candidates import Candidate, Kind
from .data import ComparisonData
from .learners import LEARNERS
from .schedule import is_expensive

MOST_CONSTANTS = 5  # the cheapest ones; of hundreds of classes nobody wants to see them all
FIRST = 3  # of the portfolio, before the user's own
KINDS: dict[str, Kind] = BASELINES | LEARNERS


@cache
def _portfolio() -> dict[str, list[Any]]:
    return tomllib.loads(files(__package__).joinpath("portfolio.toml").read_text(encoding="utf-8"))


def _candidate(setting: dict[str, Any]) -> Candidate:
    return Candidate(setting["name"], KINDS[setting["kind"]], dict(setting["params"]), setting.get("weighted", False))


def portfolio() -> list[Candidate]:
    """The settings that are tried, in their order."""
    return [_candidate(setting) for setting in _portfolio()["setting"]]


def everyone() -> list[Candidate]:
    """The portfolio and all that join when asked for, of those that can be saved and are installed."""
    found = [*portfolio(), *(_candidate(setting) for setting in _portfolio()["optional"])]
    return [c for c in found if c.kind.savable and _installed(c.kind)]


def _installed(kind: Kind) -> bool:
    return kind.requires is None or importlib.util.find_spec(kind.requires) is not None


def candidates(wanted: Sequence[str] | str | None = None) -> list[Candidate]:
    """The portfolio, or those asked for.

    Parameters
    ----------
    wanted : name or names, optional
        Names of candidates or of kinds; ``+catboost`` and ``+xgboost`` join the portfolio when installed.
    """
    wanted = [wanted] if isinstance(wanted, str) else wanted
    core, extra = portfolio(), [_candidate(setting) for setting in _portfolio()["optional"]]
    if not wanted:
        return core
    named = {c.name.lower(): [c] for c in [*core, *extra]}
    for kind in KINDS:
        named.setdefault(kind, [c for c in [*core, *extra] if c.kind is KINDS[kind]])
    chosen = core if all(name.startswith("+") for name in wanted) else []
    requested: set[str] = set()
    for name in wanted:
        found = named.get(name.removeprefix("+").lower())
        if not found:
            raise invalid("candidates", f"be among {'; '.join(sorted(named))}", name)
        chosen = [*chosen, *(c for c in found if c not in chosen)]
        requested |= {c.name for c in found}
    for each in chosen:
        if each.kind.requires is not None and not _installed(each.kind):
            require(each.kind.requires, why=f"the candidate {each.name}")
    return [replace(each, requested=each.name in requested) for each in chosen]


def in_turn(everyone: Sequence[Candidate], data: ComparisonData) -> list[Candidate]:
    """The order in which candidates are tried: where time may allow few of them, the strongest for their time first.

    What the user named comes behind the first :data:`FIRST`, which suffice for a leaderboard if it takes long.
    """
    ordered = list(everyone)
    if is_expensive(len(data.codes), len(data.classes)):
        first = _portfolio()["expensive"]
        ordered.sort(key=lambda each: first.index(each.name) if each.name in first else len(first))
    others = [each for each in ordered if not each.requested]
    return [*others[:FIRST], *(each for each in ordered if each.requested), *others[FIRST:]]


def constants(data: ComparisonData) -> list[int]:
    """Codes of the cheapest constant answers, in the order of the classes."""
    costs = data.row_weights @ data.cost_table
    return sorted(int(k) for k in np.argsort(costs, kind="stable")[:MOST_CONSTANTS])
