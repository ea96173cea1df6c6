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
        while not self.wish.over():
            ready = sorted(self._undecided(), key=lambda each: each[0])
            if not ready:
                return
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

    def _undecided(self) -> list[tuple[float, str, list[Need]]]:
        """List what can still be decided in the time left: expected cost, claim, and the runs of its next look."""
        found, self.left = [], {}
        rest = math.inf if self.wish.deadline is None else self.wish.deadline - time.monotonic()
        for claim in self.claims:
            key = claim_key(claim)
            if key not in self.plans or (verdict := self.verdict(claim)).word != UNDECIDED:
                continue
            looked = verdict.pairs or verdict.bounded  # where the last look was taken nothing is needed any more
            needs = _merged(verdict.needs if looked else self._first_look(claim))
            soon = sum(self._seconds(need, need.runs) for need in needs)
            tried = (key, *needs) in self._tried  # runs without a value: the look cannot be taken
            possible = needs and not tried and all(need.runs <= self._most(need) for need in needs)
            if not possible or soon > rest:
                self.left[key] = soon / 3600 if possible else math.inf
                continue
            found.append((sum(self._seconds(need, need.expected or MOST) for need in needs), key, needs))
        return found

    def _first_look(self, claim: Mapping[str, Any]) -> list[Need]:
        return [Need(e.recipe.name, learners, FIRST) for e, learners in claim_recipes(claim, self._all())]

    def _concerned(self, claim: Mapping[str, Any]) -> list[Evidence]:
        return [each for each, _ in claim_recipes(claim, self._all())]

    def _all(self) -> list[Evidence]:
        return list(self.evidence.values())

    def _most(self, need: Need) -> float:
        return most_runs(self.evidence[need.recipe].recipe) or math.inf

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
