"""The first screen in words: what to use, what it costs, and how sure that is."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...costs import ExampleCosts
from ...report.amounts import interval_error, money, percent
from ..data import ComparisonData
from ..leaderboard import LeaderboardRow
from ..promise import Promise
from .what_if import FEW

_CLEARLY_P = 0.005  # one-tailed, as the standard errors of "clearly" are


def costs_in_words(data: ComparisonData) -> str:
    """What mistakes cost, in one clause."""
    costs = data.costs
    if len(data.classes) > 2:
        if isinstance(costs, ExampleCosts):
            return f"{len(data.classes)} classes, costs of each row"
        assert costs.matrix is not None
        return f"{len(data.classes)} classes, mistakes cost up to {costs.format(float(costs.matrix.max()))}"
    plus = data.costs.positive_index()
    matrix = data.mean_costs().matrix
    assert matrix is not None
    fn, fp, tp, tn = matrix[plus, 1 - plus], matrix[1 - plus, plus], matrix[plus, plus], matrix[1 - plus, 1 - plus]
    table = data.cost_table if isinstance(costs, ExampleCosts) else None

    def amount(price: float, truth: int, answer: int) -> str:
        if table is None or np.ptp(table[data.codes == truth, answer]) == 0:  # the same in every row
            return costs.format(float(f"{price:.15g}"))  # not what a mean adds to its digits
        return f"{money(price, abs(price) / 200, costs.currency)} on average"

    said = f"a missed {data.classes[plus]} costs {amount(fn, plus, 1 - plus)}, "
    said += f"a false alarm {amount(fp, 1 - plus, plus)}"
    for what, price, truth in (("a hit", tp, plus), ("a correct pass", tn, 1 - plus)):
        if price:
            said += f", {what} {'earns' if price < 0 else 'costs'} {amount(abs(price), truth, truth)}"
    return said


def how_sure(best: LeaderboardRow, constant: LeaderboardRow | None, fewest: int) -> str:
    """The fixed word for the doubt about the lead over the cheapest constant."""
    if fewest < FEW:
        return "too few to say"
    if constant is None or constant is best or constant.p_value is None or constant.tied_with_best:
        return "not distinguishable"
    return "clearly" if constant.p_value < _CLEARLY_P else "probably"


def first_screen(data: ComparisonData, lines: list[LeaderboardRow], promised: Promise, members: int) -> dict[str, Any]:
    """Heading, sentences and figures; no more than three sentences."""
    best, currency = lines[0], data.costs.currency
    constants = [line for line in lines if line.family == "constant"]
    cheapest = min(constants, key=lambda line: line.mean_cost.value, default=None)
    spread = interval_error(promised.low, promised.high)
    fewest = int(np.bincount(data.codes, minlength=len(data.classes)).min())
    total = spread * promised.rows
    figures = {
        "cost": money(promised.value, spread, currency),
        "low": money(promised.low, spread),
        "high": money(promised.high, spread, currency),
        "total": money(promised.value * promised.rows, total, currency),
        "total_low": money(promised.low * promised.rows, total),
        "total_high": money(promised.high * promised.rows, total, currency),
        "rows": f"{promised.rows:,}",
        "confidence": f"{promised.confidence:.0%}",
    }
    sure = how_sure(best, cheapest, fewest)
    return {
        "heading": _heading(best, members, _cheaper_rule(data, lines)),
        "sentences": _sentences(data, lines, promised, cheapest, figures),
        "figures": figures,
        "cards": _cards(data, best, promised, cheapest, sure),
    }


def _cheaper_rule(data: ComparisonData, lines: list[LeaderboardRow]) -> LeaderboardRow | None:
    """Today's rule, where it is cheaper than what was chosen by more than chance."""
    if np.bincount(data.codes, minlength=len(data.classes)).min() < FEW:
        return None
    return next((line for line in lines if line.beats_the_best), None)


def _heading(best: LeaderboardRow, members: int, rule: LeaderboardRow | None) -> str:
    if rule is not None:
        return f"Keep today's rule: it is cheaper than {_chosen(best)}."
    if best.family == "constant":
        return f"Answer {best.name.removeprefix('always ')!r} whatever the row looks like."
    return f"Use the blend of {members} models." if members else f"Use {best.name}."


def _sentences(
    data: ComparisonData,
    lines: list[LeaderboardRow],
    promised: Promise,
    cheapest: LeaderboardRow | None,
    figures: dict[str, str],
) -> list[str]:
    best, rows, rule = lines[0], len(data.codes), _cheaper_rule(data, lines)
    subject = "It" if rule is None else _capital(_chosen(best))
    said = [
        f"{subject} costs {figures['cost']} a row, {figures['total']} on the next {figures['rows']} rows "
        f"({figures['confidence']} of the time between {figures['total_low']} and {figures['total_high']}"
        f"{'; below 0 is a gain' if promised.low < 0 else ''})."
    ]
    if rule is not None:
        paid = money(rule.mean_cost.value, interval_error(rule.mean_cost.low, rule.mean_cost.high), data.costs.currency)
        return [*said, f"Today's rule costs {paid} a row, which is less by more than chance."]
    if best.family == "constant" or cheapest is None:
        return [*said, "At these costs no candidate was cheaper than that."]

    def less_than(cost: float) -> str:
        """As a share, or as an amount where something gains."""
        if cost > 0 and promised.value >= 0:
            return f"{percent(1 - promised.value / cost, rows)} less"
        spread = interval_error(promised.low, promised.high)
        return f"{money(cost - promised.value, spread, data.costs.currency)} a row less"

    if cheapest.tied_with_best:
        said.append(f"That is not distinguishable from {cheapest.name}: more data would tell.")
    elif cheapest.mean_cost.value > promised.value:
        today = next((line.mean_cost.value for line in lines if line.family == "current"), promised.value)
        too = f", and {less_than(today)} than today's rule" if today > promised.value else ""
        said.append(
            f"That is {less_than(cheapest.mean_cost.value)} than {cheapest.name}, the cheapest answer without a "
            f"model{too}."
        )
    else:
        said.append(f"{cheapest.name.capitalize()} is the cheapest answer without a model.")
    alike = [s for s in lines[1:] if s.tied_with_best and s.family not in ("constant", "current")]
    if not alike and all(s.family in ("constant", "blend", "current") for s in lines[1:]):
        return said
    if not alike:
        counts = np.bincount(data.codes, minlength=len(data.classes))
        if counts.min() < FEW:
            rare = f"{counts.min()} rows of class {data.classes[int(counts.argmin())]}"
            return [*said, f"Every other candidate cost more here; {rare} are too few to say that it will."]
        return [*said, "Every other candidate costs more, beyond chance."]
    more = {1: " is", 2: ", and one other, are"}.get(len(alike), f", and {len(alike) - 1} others, are")
    simpler = ", and one model is simpler to keep than a blend" if best.family == "blend" else ""
    return [*said, f"{_capital(alike[0].name)}{more} not distinguishable from it{simpler}."]


def _chosen(best: LeaderboardRow) -> str:
    return "the blend" if best.family == "blend" else best.name


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _cards(
    data: ComparisonData, best: LeaderboardRow, promised: Promise, cheapest: LeaderboardRow | None, sure: str
) -> list[dict[str, str]]:
    cards = []
    spread = interval_error(promised.low, promised.high) * 1000
    if cheapest is not None and best.family != "constant":
        saved = 1000 * (cheapest.mean_cost.value - promised.value)
        kind = "saves" if saved >= 0 else "costs more"
        shown = money(abs(saved), spread, data.costs.currency)
        cards.append({"what": f"{kind} on 1,000 rows, against {cheapest.name}", "value": shown, "tone": kind})
        cards.append({"what": f"cheaper than {cheapest.name}", "value": sure, "tone": ""})
    return cards
