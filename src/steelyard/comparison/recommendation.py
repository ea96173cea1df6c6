"""What to use, what it will cost, how sure that is: one sentence each."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from .data import ComparisonData
from .evaluation import CandidateRun, Evaluation
from .leaderboard import LeaderboardRow
from .promise import CANNOT_TELL, RARE, Promise

Amount = Callable[[float], str]  # a cost as text, with its currency


def recommend(
    evaluation: Evaluation,
    lines: Sequence[LeaderboardRow],
    winner: CandidateRun,
    promised: Promise,
    rare: dict[int, float],
    size: int | None = None,
) -> list[str]:
    """The hint, the most important sentence first; ``size`` is of the single model beside a blend, in bytes."""
    best = lines[0]
    costs = evaluation.problem.costs

    def amount(value: float) -> str:
        return costs.format(float(f"{value:.4g}"))

    rule = next((line for line in lines if line.family == "current"), None)
    said = _beside_today(best, rule, _fewest(evaluation.data), amount)
    to_use = _what_to_use(best, lines, winner, amount)
    if rule is not None and rule.beats_the_best:
        to_use = f"Of the candidates: {to_use[0].lower()}{to_use[1:]}"
    said += [to_use, _what_it_costs(best, lines, promised, amount)]
    said += _abstaining(best, evaluation.problem, amount)
    said += _rare_classes(evaluation.problem, rare)
    said += _how_sure(best, lines, len(winner.members), size, amount, fewest=_fewest(evaluation.data))
    said += _how_far(evaluation)
    return said


def _beside_today(best: LeaderboardRow, rule: LeaderboardRow | None, fewest: int, amount: Amount) -> list[str]:
    """Whether to keep what is done today, before all that would change it."""
    if rule is None:
        return []
    ours, theirs = f"{amount(best.mean_cost.value)} of {best.name}", amount(rule.mean_cost.value)
    if fewest < RARE:
        return [f"Today's rule cost {theirs}, against the {ours}; {fewest} rows of a class are too few to say more."]
    if rule.beats_the_best:
        return [f"Keep today's rule: it cost {theirs}, less than the {ours} by more than chance."]
    if rule.tied_with_best:
        return [f"Today's rule cost {theirs}, against the {ours}; that differs within chance."]
    return [f"Today's rule cost {theirs}, more than the {ours} by more than chance."]


def _what_to_use(best: LeaderboardRow, lines: Sequence[LeaderboardRow], winner: CandidateRun, amount: Amount) -> str:
    if best.family == "constant":
        label = best.name.removeprefix("always ")
        if all(line.family in ("constant", "current") for line in lines):
            return f"Answer {label!r} whatever the example looks like: no candidate has finished."
        return f"Answer {label!r} whatever the example looks like: at these costs no candidate was cheaper."
    constant = next((s for s in lines if s.family == "constant" and s.tied_with_best), None)
    if constant is not None:
        return (
            f"Nothing is demonstrably cheaper than {constant.name}: the lead of {best.name} over that constant answer "
            "is within chance. More data would tell."
        )
    if winner.members:
        parts = sorted(winner.members, key=lambda member: -member[1])
        shown = "; ".join(f"{weight:.0%} {run.name}" for run, weight in parts[:4])
        more = f"; and {len(parts) - 4} more" if len(parts) > 4 else ""
        return f"Use the blend: a weighted mean of the probabilities of {len(parts)} candidates ({shown}{more})."
    singles = [s for s in lines if s.family not in ("constant", "blend", "current")]
    cheapest = min(singles, key=lambda s: (s.mean_cost.value, s.name))
    if cheapest.mean_cost.value < best.mean_cost.value:
        return (
            f"Use {best.name}: its probabilities fit best, and no blend is better; that {cheapest.name} cost less "
            f"({amount(cheapest.mean_cost.value)} against {amount(best.mean_cost.value)}) is within chance."
        )
    if len(singles) == 1:
        return f"Use {best.name}: no other candidate has finished."
    return f"Use {best.name}: it has the least cost of {len(singles)} candidates."


def _what_it_costs(best: LeaderboardRow, lines: Sequence[LeaderboardRow], promised: Promise, amount: Amount) -> str:
    interval = f"between {amount(promised.low)} and {amount(promised.high)} with {promised.confidence:.0%} confidence"
    expected = f"Expect to pay {amount(promised.value)} per example"
    cost = f"{expected}; the mean of {promised.rows:,} new ones will be {interval}."
    if best.family == "constant":
        return cost
    return f"{cost} On rows it was not fitted on it cost {_beside_constant(best, lines, amount)}."


def _beside_constant(best: LeaderboardRow, lines: Sequence[LeaderboardRow], amount: Amount) -> str:
    """As a share of what the cheapest constant answer costs; as amounts where one of the two gains or is free."""
    cost, saved = best.mean_cost.value, best.savings.value
    constant = min((line.mean_cost.value for line in lines if line.family == "constant"), default=cost)
    if constant <= 0 or cost < 0:
        return f"{amount(cost)}, and the cheapest constant answer {amount(constant)}; below 0 is a gain"
    if saved < 0:
        return f"{-saved:.0%} more than the cheapest constant answer"
    return f"{saved:.0%} less than the cheapest constant answer"


def _abstaining(best: LeaderboardRow, data: ComparisonData, amount: Amount) -> list[str]:
    if data.abstain is None or best.family == "constant":
        return []
    price, label = data.abstain
    return [
        f"All figures are of answers to every row. The saved model answers {label!r}, at {amount(price)} each, where "
        "that is expected to cost less; the page tells what that saves (refer to a person)."
    ]


def _rare_classes(data: ComparisonData, rare: dict[int, float]) -> list[str]:
    said = []
    for k, share in rare.items():
        count, label = int((data.codes == k).sum()), data.classes[k]
        if share >= 0.005:
            said.append(f"{count} rows of class {label!s} carry {share:.0%} of the uncertainty.")
        if count < CANNOT_TELL:
            said.append(f"What class {label!s} will cost: cannot tell from {count} rows.")
    return said


def _fewest(data: ComparisonData) -> int:
    return int(np.bincount(data.codes, minlength=len(data.classes)).min())


def _how_sure(
    best: LeaderboardRow,
    lines: Sequence[LeaderboardRow],
    members: int,
    size: int | None,
    amount: Amount,
    *,
    fewest: int = RARE,
) -> list[str]:
    alike = [s for s in lines[1:] if s.tied_with_best and s.family not in ("constant", "blend", "current")]
    if best.family == "constant" or len(lines) == 1:
        return []
    said = _beside_the_blend(best, alike, members, size, amount) + _instead_of_the_blend(best, lines, amount)
    if not alike and all(s.family in ("constant", "blend", "current") for s in lines[1:]):
        return said
    if not alike and fewest < RARE:
        return [
            *said,
            f"Every other candidate that ran cost more; {fewest} rows of a class are too few to say that it will.",
        ]
    if not alike:
        return [*said, "Every other candidate that ran costs significantly more (paired test, 5% level)."]
    return [f"Not distinguishable from the best on these data: {_listed([s.name for s in alike])}.", *said]


def _beside_the_blend(
    best: LeaderboardRow, alike: Sequence[LeaderboardRow], members: int, size: int | None, amount: Amount
) -> list[str]:
    """Of a single model that would do as well: what it costs, and its size."""
    if best.family != "blend" or not alike:
        return []
    single = min(alike, key=lambda s: (s.mean_cost.value, s.name))
    ours, theirs = best.mean_cost.value, single.mean_cost.value
    saved = "" if size is None else f" ({_bytes_in_words(size)})"
    instead = f"--no-blend gives that one model{saved} in place of the blend's {members}."
    if theirs < ours:
        return [
            f"{single.name} alone cost less ({amount(theirs)}, the blend {amount(ours)}), but by no more than chance, "
            f"and the cheapest of many looks cheaper than it is. {instead}"
        ]
    lead = f"The lead of the blend ({amount(ours)}) over {single.name} alone ({amount(theirs)}) is within chance."
    return [f"{lead} {instead}"]


def _instead_of_the_blend(best: LeaderboardRow, lines: Sequence[LeaderboardRow], amount: Amount) -> list[str]:
    blend = next((s for s in lines if s.family == "blend"), None)
    if blend is None or best.family == "blend":
        return []
    return [f"The blend costs {amount(blend.mean_cost.value)}, more than {best.name} alone by more than chance."]


def _bytes_in_words(size: int) -> str:
    return f"{max(1.0, size / 1024):.0f} kB" if size < 1 << 20 else f"{size / (1 << 20):.1f} MB"


def _how_far(evaluation: Evaluation) -> list[str]:
    said = []
    if evaluation.interrupted:
        said.append("The comparison was interrupted: candidates that had not finished may be better. Resume to know.")
    elif evaluation.cut:
        units = f"{evaluation.units} work units (one setting on one fold each)"
        said.append(f"Cut after {units}: with more effort or time it may do better.")
    failed = [e.name for e in evaluation.entries if e.stopped is not None and e.stopped.startswith(("failed", "stop"))]
    if failed:
        said.append(f"These could not learn from the data: {_listed(failed)}.")
    rows = next((e.rows for e in evaluation.entries if e.rows is not None), None)
    if rows is not None:
        said.append(f"Judged on {rows:,} of {len(evaluation.problem.codes):,} rows; there was no time for more.")
    return said


def _listed(names: Sequence[str]) -> str:
    if len(names) > 6:
        return "; ".join(names[:6]) + f"; and {len(names) - 6} more"
    return "; ".join(names)  # names hold commas
