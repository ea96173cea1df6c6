"""The uniform number of a round: a pure function, so that a replay asks for the same labels."""

from __future__ import annotations

_MASK = (1 << 64) - 1


def _mixed(z: int) -> int:
    z = (z + 0x9E3779B97F4A7C15) & _MASK
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & _MASK
    return z ^ (z >> 31)


def draw(seed: int, t: int) -> float:
    """The uniform number of round ``t`` in [0, 1): two SplitMix64 finalisers over seed and round.

    Parameters
    ----------
    seed, t : int
        Seed of the stream; the round, from 0.

    Returns
    -------
    float
        In [0, 1); a pure function of both.

    Examples
    --------
    >>> draw(0, 0) == draw(0, 0) != draw(0, 1)
    True
    """
    return (_mixed(_mixed(seed) ^ t) >> 11) * 2.0**-53
