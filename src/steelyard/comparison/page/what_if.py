"""Other prices for what a page embeds: who is cheapest, by how much, and how sure that is.

The script of the page does the same in the same order; a browser test holds the two together, digit by digit.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

PROBABLY, CLEARLY = 1.645, 2.576  # standard errors of a difference
FEW = 20  # rows of a class below which nothing is said
Matrix = Sequence[Sequence[float]]


class PricedCandidate(NamedTuple):
    """What one entry costs at some prices.

    ``counts`` and ``money`` are by truth and answer, the last answer being to refer; ``next_place`` is what one more
    alarm would save, 0 where there is room.
    """

    mean: float
    error: float
    total: float
    alarms: float
    referred: float
    next_place: float
    counts: list[list[float]]
    money: list[list[float]]


def priced(
    entry: dict[str, Any],
    prices: Matrix,
    rows: float,
    *,
    abstain: float | None = None,
    capacity: float | None = None,
    positive: int | None = None,
) -> PricedCandidate:
    """Decide every bin by its expected cost and pay for its rows.

    Parameters
    ----------
    entry : dict
        A candidate as the page embeds it.
    prices : K x K
        Price of each truth and answer, or a multiplier of each row's own.
    rows : float
        Judged rows, or the sum of their weights.
    abstain : float or None
        Price of referring a row to a person.
    capacity : float or None
        Most rows that may be answered with ``positive``.
    positive : int or None
        Position of the positive class of two.
    """
    k = len(prices)
    taken = _shares(entry, prices, abstain, capacity, positive)
    counts, sums, ones, crosses, squares = ([[0.0] * (k + 1) for _ in range(k)] for _ in range(5))
    for b, (count, shares) in enumerate(zip(entry["counts"], taken.shares, strict=True)):
        weight = entry["count_squares"][b] if "count_squares" in entry else count
        for j, share in shares:
            for i in range(k):
                counts[i][j] += share * count[i]
                ones[i][j] += share * weight[i]
                if j < k:
                    sums[i][j] += share * _cell(entry, "sums", b, i, j, count[i])
                    plain = _cell(entry, "sums", b, i, j, weight[i])
                    crosses[i][j] += share * _cell(entry, "crosses", b, i, j, plain)
                    squares[i][j] += share * _cell(entry, "squares", b, i, j, weight[i])
    price = abstain or 0.0
    money = [[prices[i][j] * sums[i][j] for j in range(k)] + [price * counts[i][k]] for i in range(k)]
    total, one, cross, square = 0.0, 0.0, 0.0, 0.0
    for i in range(k):
        for j in range(k + 1):
            total += money[i][j]
            one += ones[i][j]
            cross += prices[i][j] * crosses[i][j] if j < k else price * ones[i][k]
            square += prices[i][j] ** 2 * squares[i][j] if j < k else price**2 * ones[i][k]
    mean = total / rows
    error = math.sqrt(max(square - 2 * mean * cross + mean * mean * one, 0.0)) / rows
    alarms = 0.0 if positive is None else sum(counts[i][positive] for i in range(k))
    return PricedCandidate(mean, error, total, alarms, sum(row[k] for row in counts), taken.next_place, counts, money)


class _Taken(NamedTuple):
    shares: list[list[tuple[int, float]]]  # of each bin: answers with the share of its rows
    next_place: float


def _shares(
    entry: dict[str, Any], prices: Matrix, abstain: float | None, capacity: float | None, positive: int | None
) -> _Taken:
    k = len(prices)
    fixed = entry.get("answers")
    shares: list[list[tuple[int, float]]] = []
    acting: list[tuple[float, int, float, int]] = []  # saving of a row, bin, its rows, the next best answer
    for b, count in enumerate(entry["counts"]):
        n = sum(count)
        expected = [
            sum(prices[i][j] * _cell(entry, "expected", b, i, j, entry["proba"][b][i]) for i in range(k))
            for j in range(k)
        ]
        if abstain is not None and fixed is None:
            expected.append(abstain * n)
        answer = _least(expected) if fixed is None else int(fixed[b])
        shares.append([(answer, 1.0)])
        if answer == positive and capacity is not None:
            other = _least(expected, positive)
            acting.append(((expected[other] - expected[answer]) / n, b, n, other))
    if capacity is None or positive is None:
        return _Taken(shares, 0.0)
    acting.sort(key=lambda a: (-a[0], a[1]))
    room, next_place = float(capacity), 0.0
    for saving, b, n, other in acting:
        share = min(n, room) / n
        if share < 1.0:
            shares[b] = [(positive, share), (other, 1.0 - share)]
            if next_place == 0.0 and fixed is None:
                next_place = saving
        room -= min(n, room)
    return _Taken(shares, next_place)


def _cell(entry: dict[str, Any], what: str, b: int, i: int, j: int, plain: float) -> float:
    return float(entry[what][b][i][j]) if what in entry else float(plain)


def _least(values: Sequence[float], without: int | None = None) -> int:
    """Position of the least value, the first of equal ones."""
    best = -1
    for j, value in enumerate(values):
        if j != without and (best < 0 or value < values[best]):
            best = j
    return best


def word(gap: float, error: float, fewest: int) -> str:
    """How sure it is that something costs ``gap`` less.

    Parameters
    ----------
    gap : float
        Difference of two mean costs.
    error : float
        Its standard error.
    fewest : int
        Rows of the rarest class.

    Examples
    --------
    >>> word(0.1, 0.02, 300), word(0.1, 0.05, 300), word(0.1, 0.1, 300), word(0.1, 0.01, 4)
    ('clearly', 'probably', 'not distinguishable', 'too few to say')
    """
    if fewest < FEW:
        return "too few to say"
    if gap > CLEARLY * error:
        return "clearly"
    return "probably" if gap > PROBABLY * error else "not distinguishable"


def gap_error(first: PricedCandidate, second: PricedCandidate, likeness: float) -> float:
    """Standard error of the difference of two means over the same rows, by the correlation at the given prices."""
    both = first.error**2 + second.error**2 - 2 * likeness * first.error * second.error
    return math.sqrt(max(both, 0.0))


class Answer(NamedTuple):
    """All entries at some prices, which of them to use, and how sure that is against the first one."""

    entries: list[PricedCandidate]
    chosen: int
    cheapest: int
    word: str


def what_if(
    embedded: dict[str, Any],
    prices: Matrix | None = None,
    *,
    abstain: float | None = None,
    capacity: float | None = None,
) -> Answer:
    """Price all entries; the winner stays unless another is probably or clearly cheaper.

    Parameters
    ----------
    embedded : dict
        What the page holds.
    prices : K x K or None
        As given if None.
    abstain, capacity : see :func:`priced`
    """
    asked = embedded["prices"] if prices is None else prices
    rows, positive = embedded["rows"], embedded["positive"]
    found = [
        priced(entry, asked, rows, abstain=abstain, capacity=capacity, positive=positive)
        for entry in embedded["entries"]
    ]
    usable = [j for j, entry in enumerate(embedded["entries"]) if entry["family"] != "current"]
    cheapest = min(usable, key=lambda j: (found[j].mean, j))
    if cheapest == 0:
        return Answer(found, 0, 0, "")
    error = gap_error(found[0], found[cheapest], embedded["likeness"][0][cheapest])
    said = word(found[0].mean - found[cheapest].mean, error, embedded["fewest"])
    return Answer(found, cheapest if said in ("clearly", "probably") else 0, cheapest, said)


def threshold(prices: Matrix, positive: int) -> float | None:
    """The probability from which the positive class is the cheaper answer; None where no threshold decides.

    Parameters
    ----------
    prices : 2 x 2
        Costs, the same for all rows.
    positive : int
        Position of the positive class.
    """
    other = 1 - positive
    fp, fn = prices[other][positive] - prices[other][other], prices[positive][other] - prices[positive][positive]
    return fp / (fp + fn) if fp > 0 and fn > 0 else None
