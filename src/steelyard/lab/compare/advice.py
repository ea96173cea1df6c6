"""The recommendation, in words and with its reason."""

from __future__ import annotations

from collections.abc import Sequence

from .leaderboard import Standing
from .race import Race


def advice(race: Race, lines: Sequence[Standing]) -> list[str]:
    """What to use, what it will cost, how sure that is; one sentence each."""
    best = lines[0]
    said = [_what_to_use(best, lines), _what_it_costs(best)]
    said += _how_far(best, len(race.splits))
    said += _how_sure(best, lines)
    if race.interrupted:
        said.append("The comparison was interrupted: contenders that had not finished may be better. Resume to know.")
    late = [s.name for s in lines if s.stopped is not None and "out of time" in s.stopped]
    never = [e.contender.name for e in race.entries if not e.folds and "out of time" in (e.stopped or "")]
    failed = [e.contender.name for e in race.entries if "failed" in (e.stopped or "")]
    if failed:
        said.append(f"These could not learn from the data: {_listed(failed)}.")
    if late or never:
        said.append(f"Time ran out for {_listed([*late, *never])}; with more time one of them may do better.")
    return said


def _what_to_use(best: Standing, lines: Sequence[Standing]) -> str:
    if best.family == "constant":
        return (
            f"Answer {best.name.removeprefix('always ')!r} whatever the example looks like: "
            "at these costs no contender that ran found anything cheaper."
        )
    constant = next((s for s in lines if s.family == "constant" and s.like_the_best), None)
    if constant is not None:
        return (
            f"Nothing is demonstrably cheaper than {constant.name}: {best.name} has the least cost, "
            "but its lead over that constant answer is within chance. More data would tell."
        )
    if best.stopped is not None:
        return f"Use {best.name}: as far as it came nobody was cheaper."
    finished = sum(line.stopped is None for line in lines)
    return f"Use {best.name}: it has the least cost of the {finished} contenders that finished."


def _how_far(best: Standing, folds: int) -> list[str]:
    said = []
    if best.folds < folds:
        said.append(
            f"It ran {best.folds} of {folds} folds; on those rows it is significantly cheaper than everyone who "
            "finished. With more time that would be surer."
        )
    if best.rows is not None:
        said.append(f"It was taught with {best.rows:,} rows, for time or memory; with more it may do better.")
    return said


def _quick_alike(best: Standing, lines: Sequence[Standing]) -> Standing | None:
    """A contender not distinguishable from the best that is ten times quicker, if there is one."""
    alike = [
        s
        for s in lines[1:]
        if s.like_the_best and s.family != "constant" and s.stopped is None and s.fit_seconds < 0.1 * best.fit_seconds
    ]
    return min(alike, key=lambda s: s.mean_cost.value) if alike else None


def _what_it_costs(best: Standing) -> str:
    cost, savings = best.mean_cost, best.savings
    if best.family == "constant":
        return f"Expect to pay {cost.value:.4g} per example (95% interval {cost.low:.4g} to {cost.high:.4g})."
    return (
        f"Expect to pay {cost.value:.4g} per example (95% interval {cost.low:.4g} to {cost.high:.4g}), "
        f"{savings.value:.0%} less than the cheapest constant answer ({savings.low:.0%} to {savings.high:.0%})."
    )


def _how_sure(best: Standing, lines: Sequence[Standing]) -> list[str]:
    alike = [s.name for s in lines[1:] if s.like_the_best]
    said = []
    if alike:
        said.append(f"Not distinguishable from the best on these data: {_listed(alike)}.")
    else:
        said.append("Every other contender that ran is significantly dearer (paired bootstrap, 5% level).")
    simpler = _quick_alike(best, lines)
    if simpler is not None:
        said.append(
            f"If speed counts, {simpler.name} is as good as far as these data tell, "
            f"and {best.fit_seconds / max(simpler.fit_seconds, 1e-9):.0f} times quicker to fit."
        )
    return said


def _listed(names: Sequence[str]) -> str:
    if len(names) > 6:
        return "; ".join(names[:6]) + f"; and {len(names) - 6} more"
    return "; ".join(names)  # names hold commas
