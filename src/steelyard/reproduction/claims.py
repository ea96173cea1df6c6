"""What a paper claims, as data, and whether our numbers bear it out."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..validation.values import check_choice
from .recipe import Recipe
from .results import Run
from .runs import full_runs
from .tables import Line, lines_of
from .verdicts import KINDS, Pair, weigh_lines

UNJUDGED = "not judged"


@dataclass(frozen=True)
class Verdict:
    """One claim of a paper, what we say of it, and the numbers behind that.

    ``word`` is about this experiment: would more runs of its protocol change the sign? ``elsewhere`` is about other
    samples of this size, where the protocol lets us say anything about them.
    """

    item: str
    claim: str
    word: str
    reason: str
    elsewhere: str = ""
    pairs: tuple[Pair, ...] = ()


def read_claims(folder: Path) -> list[Mapping[str, Any]]:
    """The claims of a paper, from its folder's ``claims.toml``."""
    return list(tomllib.loads((folder / "claims.toml").read_text(encoding="utf-8"))["claim"])


@dataclass(frozen=True)
class Evidence:
    """What is known of one recipe: its runs, and a line for each cell they fill."""

    recipe: Recipe
    runs: Sequence[Run]
    lines: Sequence[Line]

    @classmethod
    def of(cls, recipe: Recipe, runs: Sequence[Run]) -> Evidence:
        """Join runs with what the paper prints."""
        return cls(recipe, runs, lines_of(recipe, runs))


def judge(claim: Mapping[str, Any], evidence: Sequence[Evidence], *, quick: bool = False) -> Verdict:
    """Weigh one claim: the kinds are those of :mod:`.verdicts`.

    A claim whose data, learners or runs are incomplete is not judged on the rest: what is missing is said instead,
    or, of a ``quick`` part, how much of the experiment was run.
    """
    kind = check_choice("kind", str(claim["kind"]), tuple(KINDS))
    item, words = str(claim["item"]), str(claim["claim"])
    if kind != "untestable" and (gap := _gap(claim, evidence)).missing:
        reason = f"missing: {'; '.join(gap.missing)}"
        return Verdict(item, words, f"quick: {gap.have} of {gap.wanted} runs" if quick else UNJUDGED, reason)
    return weigh(claim, [line for each in evidence for line in each.lines])


def weigh(claim: Mapping[str, Any], lines: Sequence[Line]) -> Verdict:
    """Weigh one claim by all the lines it rests on."""
    check_choice("kind", str(claim["kind"]), tuple(KINDS))
    found = weigh_lines(claim, [line for line in lines if _concerns(claim, line)])
    return Verdict(str(claim["item"]), str(claim["claim"]), found.word, found.reason, found.elsewhere, found.pairs)


@dataclass(frozen=True)
class _Gap:
    """What a claim lacks, and the fewest runs of a learner against those of the experiment."""

    missing: list[str]
    have: int
    wanted: int


def _gap(claim: Mapping[str, Any], evidence: Sequence[Evidence]) -> _Gap:
    """Tell which data, learners and runs a claim rests on and does not have."""
    items = set(map(str, claim.get("numbers", [claim["item"]])))
    concerned = [e for e in evidence if items & set(e.recipe.items) and _on(claim, e.recipe)]
    there = {each.recipe.data_name for each in concerned}
    missing = [f"{name} (no recipe)" for name in claim.get("data", []) if name not in there]
    fewest: list[tuple[int, int]] = []
    for each in concerned:
        if each.recipe.skip is not None:
            missing.append(f"{each.recipe.data_name} ({each.recipe.skip})")
            continue
        wanted = {name: n for name, n in full_runs(each.recipe).items() if _speaks_of(claim, name)}
        done = {name: sum(run.learner == name for run in each.runs) for name in wanted}
        short = {name: n - done[name] for name, n in wanted.items() if done[name] < n}
        if short:
            what = "all" if len(short) == len(wanted) else ", ".join(short)
            missing.append(f"{each.recipe.data_name} ({what}: {max(short.values())} of {max(wanted.values())} runs)")
            fewest += [(done[name], wanted[name]) for name in short]
    if not concerned:
        missing.append("everything: nothing was run")
    have, full = min(fewest, default=(0, 0))
    return _Gap(missing, have, full)


def _speaks_of(claim: Mapping[str, Any], learner: str) -> bool:
    """Whether a claim rests on a learner; one that names none rests on all."""
    named = [*claim.get("better", []), *claim.get("worse", []), *claim.get("order", [])]
    for key in ("of", "to"):
        named += [claim[key]] if isinstance(claim.get(key), str) else claim.get(key, [])
    return not named or learner in named


def _on(claim: Mapping[str, Any], recipe: Recipe) -> bool:
    """Whether a claim speaks of a recipe's data; where it names none, of all that can be run."""
    return recipe.data_name in claim["data"] if "data" in claim else recipe.skip is None


def _concerns(claim: Mapping[str, Any], line: Line) -> bool:
    return (
        line.item in claim.get("numbers", [claim["item"]])
        and line.data in claim.get("data", [line.data])
        and line.measure in claim.get("measure", [line.measure])
    )
