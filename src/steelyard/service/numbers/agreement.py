"""How far people agree who answered the same questions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable


def krippendorff_alpha(answers: Iterable[list[int]]) -> float | None:
    """Krippendorff's alpha of nominal labels: 1 where all agree, 0 where they agree as often as by chance.

    Parameters
    ----------
    answers : iterable of lists
        The labels of each question; those with fewer than two say nothing.

    Returns
    -------
    float or None
        None where all labels are the same, or no question has two.
    """
    total: Counter[int] = Counter()
    observed = 0.0
    for labels in answers:
        if len(labels) < 2:
            continue
        counts = Counter(labels)
        total.update(counts)
        differing = len(labels) ** 2 - sum(n * n for n in counts.values())
        observed += differing / (len(labels) - 1)
    size = total.total()
    expected = size**2 - sum(n * n for n in total.values())
    return 1 - (size - 1) * observed / expected if expected else None
