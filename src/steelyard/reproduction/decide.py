"""``steelyard reproduce --decide``: more runs for what is undecided, the cheapest first, until a look decides it.

Tested in ``tests/unit/reproduction/test_command.py``.
"""

from __future__ import annotations

import json
import math
import time
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rich.console import Console

from ..files import write_atomically
from .claims import UNJUDGED, Evidence, Verdict, claim_key, claim_recipes, judge
from .comparisons import UNDECIDED, Need
from .results import Results, Run
from .runs import Wish, most_runs, run_recipe
from .sequential import FIRST, MOST, SPENT, LookSchedule, look_sizes
from .verdicts import LOOKED_AT

RULE = (
    f"Looks at {', '.join(f'{n:,}' for n in look_sizes()[:3])}, ... {MOST:,} runs; look k is significant below "
    f"{SPENT:g} / (k (k + 1)) on its side, {SPENT:g} over all looks."
)


def read_plans(results: Results) -> dict[str, LookSchedule]:
    """Read which claims of a folder of results are looked at more than once."""
    path = results.folder / "plans.toml"
    if not path.exists():
        return {}
    return {str(k): LookSchedule[str(v)] for k, v in tomllib.loads(path.read_text(encoding="utf-8")).items()}


def write_plans(results: Results, plans: Mapping[str, LookSchedule]) -> None:
    """Declare how often each claim is looked at, before the runs are made."""
    lines = [f"# {RULE}", "# AFTER: the first test was at the recipe's own number of runs. FRESH: there was none."]
    lines += [f"{json.dumps(key, ensure_ascii=False)} = {json.dumps(plan.name)}" for key, plan in sorted(plans.items())]
    with write_atomically(results.folder / "plans.toml") as file:
        file.write(("\n".join(lines) + "\n").encode())


@dataclass(frozen=True)
class Remaining:
    """What an undecided claim still takes, in seconds, if further runs last as long as those at hand did."""

    needs: list[Need]  # of its next look; empty where there is none
    soon: float  # to that look
    whole: float  # to the look that would decide at the difference seen, or else to the last one
    enough: bool = True  # whether there is a look that would decide
    limit: str = ""  # why there is no further look

    def __str__(self) -> str:
        if not self.needs:
            return f"its runs are used up: {self.limit}"
        sizes = sorted({need.runs for need in self.needs})
        at = f"{sizes[0]:,}" if len(sizes) == 1 else f"{sizes[0]:,} to {sizes[-1]:,}"
        if not self.soon:
            return f"its next look is at {at} runs; how long they take is not known"
        text = f"{about(self.soon / 3600)} to its next look, at {at} runs"
        if self.enough:
            most = max(need.expected or 0 for need in self.needs)
            return f"{text}; {about(self.whole / 3600)} until decided, at {most:,} runs and the difference seen"
        return f"{text}; {about(self.whole / 3600)} to the last look, which would not decide at the difference seen"


@dataclass
class Decider:
    """The undecided claims of a paper, what is known of their recipes, and until when runs may begin."""

    claims: Sequence[Mapping[str, Any]]
    results: Results
    evidence: dict[str, Evidence]
    wish: Wish
    console: Console
    plans: dict[str, LookSchedule] = field(default_factory=dict)
    touched: set[str] = field(default_factory=set)
    left: dict[str, float] = field(default_factory=dict)  # claim -> hours to its next look, infinite if there is none
    _tried: set[tuple[Any, ...]] = field(default_factory=set)

    def decide(self) -> None:
        """Go from look to look of the claim that costs least, until all are decided or the time is up."""
        self.plans = read_plans(self.results)
        self._declare()
        self.console.print(RULE)
        while ready := sorted(self._undecided(), key=lambda each: each[0]):
            _, key, needs = ready[0]
            self._tried.add((key, *needs))
            self.console.print(f"{key}: to {max(need.runs for need in needs):,} runs")
            for need in needs:
                self._run(need)

    def verdict(self, claim: Mapping[str, Any]) -> Verdict:
        """Judge a claim by its plan."""
        return judge(claim, list(self.evidence.values()), plan=self.plans.get(claim_key(claim), LookSchedule.ONCE))

    def _declare(self) -> None:
        for claim in self.claims:
            if str(claim["kind"]) in LOOKED_AT and claim_key(claim) not in self.plans:
                word = self.verdict(claim).word
                if word == UNDECIDED:
                    self.plans[claim_key(claim)] = LookSchedule.AFTER
                elif word == UNJUDGED and all(_untouched(e) for e in self._concerned(claim)):
                    self.plans[claim_key(claim)] = LookSchedule.FRESH
        write_plans(self.results, self.plans)

    def remaining(self, claim: Mapping[str, Any], verdict: Verdict) -> Remaining | None:
        """Tell what an undecided claim still takes; None where runs are of no use to it or no plan asks for any."""
        if claim_key(claim) not in self.plans or verdict.word != UNDECIDED:
            return None
        looked = verdict.pairs or verdict.bounded  # where the last look was taken nothing is needed any more
        needs = _merged(verdict.needs if looked else self._first_look(claim))
        if limit := self._limit(needs):
            return Remaining([], math.inf, math.inf, limit=limit)
        enough = all(need.expected is not None for need in needs)
        soon, whole = (
            sum(self._seconds(need, n) for need, n in zip(needs, counts, strict=True))
            for counts in ([need.runs for need in needs], [need.expected or MOST for need in needs])
        )
        return Remaining(needs, soon, max(soon, whole), enough=enough)

    def _undecided(self) -> list[tuple[float, str, list[Need]]]:
        """List what can still be decided in the time left: expected cost, claim, and the runs of its next look."""
        found, self.left = [], {}
        rest = math.inf if self.wish.deadline is None else self.wish.deadline - time.monotonic()
        for claim in self.claims:
            key = claim_key(claim)
            cost = self.remaining(claim, self.verdict(claim))
            if cost is None:
                continue
            tried = (key, *cost.needs) in self._tried  # runs without a value: the look cannot be taken
            if tried or cost.soon > rest or not cost.needs:
                self.left[key] = math.inf if tried else cost.soon / 3600
                continue
            found.append((cost.whole, key, cost.needs))
        return found

    def _first_look(self, claim: Mapping[str, Any]) -> list[Need]:
        return [Need(e.recipe.name, learners, FIRST) for e, learners in claim_recipes(claim, self._all())]

    def _concerned(self, claim: Mapping[str, Any]) -> list[Evidence]:
        return [each for each, _ in claim_recipes(claim, self._all())]

    def _all(self) -> list[Evidence]:
        return list(self.evidence.values())

    def _limit(self, needs: Sequence[Need]) -> str:
        """Say why there is no further look: the last one was taken, or there are no further orders of the rows."""
        if not needs:
            return f"the last look, at {look_sizes()[-1]:,} runs, did not decide at the difference seen"
        orders = {need.recipe: most_runs(self.evidence[need.recipe].recipe) for need in needs}
        short = [
            f"{orders[need.recipe]:,} orders of {need.recipe}"
            for need in needs
            if need.runs > (orders[need.recipe] or math.inf)
        ]
        return f"no more than {', '.join(dict.fromkeys(short))} were published" if short else ""

    def _seconds(self, need: Need, runs: int) -> float:
        """How long the runs that a look lacks will take, by what those at hand or committed took."""
        known = self.evidence[need.recipe]
        took = seconds_of(known.runs) or seconds_of(Results.committed(known.recipe).runs(known.recipe))
        slowest = max(took.values(), default=0.0)
        done = {name: sum(run.learner == name for run in known.runs) for name in need.learners}
        return sum(max(0, runs - done[name]) * took.get(name, slowest) for name in need.learners)

    def _run(self, need: Need) -> None:
        recipe = self.evidence[need.recipe].recipe
        wish = Wish(need.learners, need.runs, n_jobs=self.wish.n_jobs, deadline=self.wish.deadline)
        for note in run_recipe(recipe, self.results, wish, self.console).notes:
            self.console.print(f"[yellow]note[/] {note}")
        self.evidence[need.recipe] = Evidence.of(recipe, self.results.runs(recipe))
        self.touched.add(need.recipe)


def about(hours: float) -> str:
    """Say how long something takes."""
    if math.isnan(hours):
        return "for how long is not known"
    if hours >= 1:
        return f"about {hours:,.0f} hours" if hours >= 100 else f"about {hours:.1f} hours"
    return f"about {hours * 60:.0f} minutes" if hours * 60 >= 1 else f"about {hours * 3600:.0f} seconds"


def _untouched(evidence: Evidence) -> bool:
    """Tell whether a recipe can be run and has no run yet: an unfinished experiment is completed first."""
    return evidence.recipe.skip is None and not evidence.runs


def seconds_of(runs: Sequence[Run]) -> dict[str, float]:
    """Average what the runs of each learner took."""
    took: dict[str, list[float]] = {}
    for run in runs:
        took.setdefault(run.learner, []).append(run.seconds)
    return {name: sum(some) / len(some) for name, some in took.items()}


def _merged(needs: Sequence[Need]) -> list[Need]:
    """Join what several comparisons of a claim need of one recipe up to the same look."""
    joined: dict[tuple[str, int], Need] = {}
    for need in needs:
        other = joined.get((need.recipe, need.runs))
        learners = need.learners if other is None else tuple(dict.fromkeys((*other.learners, *need.learners)))
        counts = [n.expected for n in (need, *([] if other is None else [other]))]
        expected = None if None in counts else max(n for n in counts if n is not None)
        joined[need.recipe, need.runs] = Need(need.recipe, learners, need.runs, expected)
    return list(joined.values())
