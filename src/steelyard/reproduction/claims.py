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

HOLDS, FAILS, UNTESTABLE, UNJUDGED = "holds", "does not hold", "not testable here", "not judged"


@dataclass(frozen=True)
class Verdict:
    """One claim of a paper, what we say of it, and the numbers behind that."""

    item: str
    claim: str
    word: str
    reason: str


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
    """Weigh one claim: ``kind`` is equal, within, better, ratio or untestable.

    A claim whose data, learners or runs are incomplete is not judged on the rest: what is missing is said instead,
    or, of a ``quick`` part, how much of the experiment was run.
    """
    kind = check_choice("kind", str(claim["kind"]), tuple(_KINDS))
    item, words = str(claim["item"]), str(claim["claim"])
    if kind != "untestable" and (gap := _gap(claim, evidence)).missing:
        reason = f"missing: {'; '.join(gap.missing)}"
        return Verdict(item, words, f"quick: {gap.have} of {gap.wanted} runs" if quick else UNJUDGED, reason)
    return weigh(claim, [line for each in evidence for line in each.lines])


def weigh(claim: Mapping[str, Any], lines: Sequence[Line]) -> Verdict:
    """Weigh one claim by all the lines it rests on."""
    kind = check_choice("kind", str(claim["kind"]), tuple(_KINDS))
    return Verdict(
        str(claim["item"]), str(claim["claim"]), *_KINDS[kind](claim, [x for x in lines if _concerns(claim, x)])
    )


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
    named = [*claim.get("better", []), *claim.get("worse", []), *(claim[k] for k in ("of", "to") if k in claim)]
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


def _untestable(claim: Mapping[str, Any], lines: Sequence[Line]) -> tuple[str, str]:
    return UNTESTABLE, str(claim["reason"])


def _equal(claim: Mapping[str, Any], lines: Sequence[Line]) -> tuple[str, str]:
    printed = [line for line in lines if line.printed is not None]
    numbers = sum(1 + (line.printed is not None and line.printed.spread is not None) for line in printed)
    off = [line for line in printed if not line.equal]
    if not printed:
        return UNTESTABLE, "nothing was run"
    if off:
        return FAILS, f"{len(off)} of {len(printed)} cells differ, first {_cell(off[0])}"
    return HOLDS, f"{numbers} of {numbers} printed numbers equal"


def _within(claim: Mapping[str, Any], lines: Sequence[Line]) -> tuple[str, str]:
    """Every cell lies within ``se`` standard errors of the difference."""
    limit = float(claim.get("se", 2))
    printed = [line for line in lines if line.gap is not None]
    if not printed:
        return UNTESTABLE, "nothing was run"
    far = [line for line in printed if abs(line.gap or 0) > limit]
    reason = f"{len(printed) - len(far)} of {len(printed)} cells within {limit:g} standard errors"
    if far:
        most = max(abs(line.gap or 0) for line in far)
        reason += f", the others by {f'up to {most:.1f}' if most < 100 else '100 and more'}, first {_cell(far[0])}"
    return (FAILS if far else HOLDS), reason


def _better(claim: Mapping[str, Any], lines: Sequence[Line]) -> tuple[str, str]:
    """Every learner in ``better`` beats every one in ``worse`` on each data set and measure, by its mean."""
    parts, failed = [], False
    for data in dict.fromkeys(line.data for line in lines):
        mean = {(line.learner, line.measure): line for line in lines if line.data == data}
        measures = list(dict.fromkeys(line.measure for line in lines if line.data == data))
        for measure in measures:
            up = [mean[k, measure] for k in claim["better"] if (k, measure) in mean]
            down = [mean[k, measure] for k in claim["worse"] if (k, measure) in mean]
            if up and down:
                sign = -1 if claim.get("lower", False) else 1
                least = min(up, key=lambda line: sign * line.mean)
                most = max(down, key=lambda line: sign * line.mean)
                failed |= sign * least.mean <= sign * most.mean
                where = data if len(measures) == 1 else f"{data} {measure}"
                parts.append(f"{where} {least.learner} {least.mean:.4g} against {most.learner} {most.mean:.4g}")
    if not parts:
        return UNTESTABLE, "nothing was run"
    return (FAILS if failed else HOLDS), "; ".join(parts)


def _ratio(claim: Mapping[str, Any], lines: Sequence[Line]) -> tuple[str, str]:
    """One learner's value is at most ``at_most`` times another's, on each data set."""
    mean = {(line.data, line.learner): line.mean for line in lines}
    both = [d for d in dict.fromkeys(d for d, _ in mean) if (d, claim["of"]) in mean and (d, claim["to"]) in mean]
    if not both:
        return UNTESTABLE, "nothing was run"
    ratios = {d: mean[d, claim["of"]] / mean[d, claim["to"]] for d in both}
    reason = "; ".join(f"{d} {ratio:.2f} times" for d, ratio in ratios.items())
    return (HOLDS if max(ratios.values()) <= float(claim["at_most"]) else FAILS), reason


def _cell(line: Line) -> str:
    printed = "" if line.printed is None else f" against {line.printed.mean:g}"
    return f"{line.data} {line.learner} {line.measure}: {line.mean:.5g}{printed}"


_KINDS = {"equal": _equal, "within": _within, "better": _better, "ratio": _ratio, "untestable": _untestable}
