"""How far rows of now differ from rows of before: the population stability index of one column."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from numbers import Real

import numpy as np
from numpy.typing import NDArray

from ..validation.values import check_count, invalid, is_missing

BINS = 10
_FAR = 1e300  # where infinities stand, so that quantiles between them and other numbers are numbers
_LEAST = 0.5  # added to each count, so that an empty bin does not make it infinite


def stability_index(reference: Sequence[object], recent: Sequence[object], *, bins: int = BINS) -> float:
    """Population stability index: the sum over bins of (q - p) log(q / p), p and q the shares of both samples.

    Numbers are put into bins of equal shares of the reference; other values into the commonest of it and the rest. None
    and NaN have a bin of their own. Where nothing has changed it is about ``(bins - 1) (1/n + 1/m)`` for n and m rows;
    above 0.1 it is usually worth a look, above 0.25 the rows are others.

    Parameters
    ----------
    reference, recent : sequence
        The values of both times; one kind of value, and None where there was none.
    bins : int
        How many bins; 2 or more.

    Returns
    -------
    float
        0 or more.

    Examples
    --------
    >>> before, now = range(1000), range(500, 1500)
    >>> round(stability_index(before, before), 3), round(stability_index(before, now), 1)
    (0.0, 3.5)
    """
    if not len(reference) or not len(recent):
        raise invalid("reference and recent", "hold a value each", (len(reference), len(recent)))
    check_count("bins", bins, at_least=2)
    reference, recent = ([None if is_missing(value) else value for value in part] for part in (reference, recent))
    values = [value for value in (*reference, *recent) if value is not None]
    if all(isinstance(value, Real) and not isinstance(value, bool) for value in values):
        before, now = _numbers(reference, recent, bins)
    else:
        before, now = _categories(reference, recent, bins)
    p, q = ((counts + _LEAST) / (counts + _LEAST).sum() for counts in (before, now))
    return float(((q - p) * np.log(q / p)).sum())


Counts = NDArray[np.float64]


def _numbers(reference: Sequence[object], recent: Sequence[object], bins: int) -> tuple[Counts, Counts]:
    before, now = (
        np.clip(np.array([np.nan if value is None else value for value in part], dtype=np.float64), -_FAR, _FAR)
        for part in (reference, recent)
    )
    known = before[~np.isnan(before)]
    edges = np.unique(np.quantile(known, np.linspace(0, 1, bins + 1)[1:-1])) if len(known) else np.empty(0)

    def counts(part: Counts) -> Counts:
        missing = np.isnan(part)
        places = np.searchsorted(edges, part[~missing], side="right")
        return np.append(np.bincount(places, minlength=len(edges) + 1), missing.sum()).astype(np.float64)

    return counts(before), counts(now)


def _categories(reference: Sequence[object], recent: Sequence[object], bins: int) -> tuple[Counts, Counts]:
    known = [value for value, _ in Counter(value for value in reference if value is not None).most_common(bins - 1)]

    def counts(part: Sequence[object]) -> Counts:
        found = Counter(part)
        named, missing = [found[value] for value in known], found[None]
        return np.array([*named, len(part) - sum(named) - missing, missing], dtype=np.float64)

    return counts(reference), counts(recent)
