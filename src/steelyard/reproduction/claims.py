"""What a paper claims, as data, and whether our numbers bear it out.

Tested in ``tests/unit/reproduction/test_tables.py``.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import nan
from pathlib import Path
from typing import Any

from ..validation.values import check_choice
from .claim_result import needs_of
from .comparisons import UNDECIDED, Bounded, Need, Pair
from .recipe import Recipe
from .results import Run
from .runs import full_runs, measures_of
from .sequential import LookSchedule
from .tables import Line, Source, lines_of, read_printed
from .verdicts import AVERAGE, KINDS, LOOKED_AT, weigh_lines

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
    bounded: tuple[Bounded, ...] = ()
    kind: str = ""
    left: str = ""  # what it would still take to decide it

    @property
    def reasons(self) -> list[str]:
        """What the words rest on, a comparison each, and what it would still take to decide."""
        return [*self.reason.split("; "), *([f"to decide it: {self.left}"] if self.left else [])]

    @property
    def needs(self) -> tuple[Need, ...]:
        """The runs that the next looks of all undecided comparisons need."""
        return needs_of(self.pairs, self.bounded)


def claim_key(claim: Mapping[str, Any]) -> str:
    """Name a claim by its place and its words."""
    return f"{claim['item']}: {claim['claim']}"


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
        """Join runs with what the paper prints; each line knows how many runs its recipe declares."""
        declared = {} if recipe.skip is not None else full_runs(recipe)
        marks = None if recipe.paired is None else str(recipe.paired["item"])
        lines = [
            replace(
                line,
                source=Source(recipe.name, line.learner, None if line.item == marks else declared.get(line.learner)),
            )
            for line in lines_of(recipe, runs)
        ]
        return cls(recipe, runs, lines)


def judge(
    claim: Mapping[str, Any],
    evidence: Sequence[Evidence],
    *,
    quick: bool = False,
    plan: LookSchedule = LookSchedule.ONCE,
) -> Verdict:
    """Weigh one claim: the kinds are those of :mod:`.verdicts`, the looks those of its plan.

    A claim whose data, learners or runs are incomplete is not judged on the rest: what is missing is said instead,
    or, of a ``quick`` part, how much of the experiment was run.
    """
    kind = check_choice("kind", str(claim["kind"]), tuple(KINDS))
    item, words = str(claim["item"]), str(claim["claim"])
    sequential = plan is LookSchedule.FRESH and kind in LOOKED_AT and not quick
    gap = _gap(claim, evidence)
    if kind != "untestable" and gap.missing and not (sequential and gap.runnable):
        reason = f"missing: {'; '.join(gap.missing)}"
        return Verdict(item, words, f"quick: {gap.have} of {gap.wanted} runs" if quick else UNJUDGED, reason, kind=kind)
    lines = [line for each in evidence for line in each.lines]
    if claim.get("average") and evidence:
        lines += _printed_averages(evidence[0].recipe.path.parent)
    found = weigh(claim, lines, plan)
    if sequential and gap.missing and found.word == "not testable here":  # no look was taken yet
        return replace(found, word=UNDECIDED)
    return found


def weigh(claim: Mapping[str, Any], lines: Sequence[Line], plan: LookSchedule = LookSchedule.ONCE) -> Verdict:
    """Weigh one claim by all the lines it rests on."""
    kind = check_choice("kind", str(claim["kind"]), tuple(KINDS))
    found = weigh_lines(claim, [line for line in lines if _concerns(claim, line)], plan)
    item, words = str(claim["item"]), str(claim["claim"])
    return Verdict(item, words, found.word, found.reason, found.elsewhere, found.pairs, found.bounded, kind)


def _printed_averages(folder: Path) -> list[Line]:
    """Lines that hold nothing but a printed average over data sets."""
    rows = [p for p in read_printed(folder) if p.data == AVERAGE]
    return [Line(p.item, p.data, p.learner, p.measure, nan, nan, 0, p) for p in rows]


@dataclass(frozen=True)
class _Gap:
    """What a claim lacks, and the fewest runs of a learner against those of the experiment."""

    missing: list[str]
    have: int
    wanted: int
    runnable: bool = True


def claim_recipes(claim: Mapping[str, Any], evidence: Sequence[Evidence]) -> list[tuple[Evidence, tuple[str, ...]]]:
    """Name the recipes that a claim rests on, and those of their learners that it speaks of."""
    return [
        (each, tuple(str(spec["name"]) for spec in each.recipe.learners if _speaks_of(claim, str(spec["name"]))))
        for each in _concerned(claim, evidence)
    ]


def _concerned(claim: Mapping[str, Any], evidence: Sequence[Evidence]) -> list[Evidence]:
    items = set(map(str, claim.get("numbers", [claim["item"]])))
    measures = set(claim.get("measure", []))
    return [
        each
        for each in evidence
        if items & set(each.recipe.items)
        and _on(claim, each.recipe)
        and (not measures or not each.recipe.measures or measures & set(measures_of(each.recipe)))
    ]


def _gap(claim: Mapping[str, Any], evidence: Sequence[Evidence]) -> _Gap:
    """Tell which data, learners and runs a claim rests on and does not have."""
    concerned = _concerned(claim, evidence)
    there = {each.recipe.data_name for each in concerned}
    missing = [f"{name} (no recipe)" for name in claim.get("data", []) if name not in there]
    fewest: list[tuple[int, int]] = []
    runnable = not missing and bool(concerned)
    for each in concerned:
        if each.recipe.skip is not None:
            runnable = False
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
    return _Gap(missing, have, full, runnable)


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
        and line.data in [*claim.get("data", [line.data]), AVERAGE]
        and line.measure in claim.get("measure", [line.measure])
    )
