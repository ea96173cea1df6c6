"""A frozen model that decides in the place of the learner: what the log and the state know of it."""

from __future__ import annotations

from typing import NamedTuple


class ChampionHead(NamedTuple):
    """The model by the digest of its file, its name, and the event and rounds behind which it is compared."""

    sha256: bytes
    name: str
    since: int = 0
    reach: int = 0


class ChampionNumbers(NamedTuple):
    """What a champion says about a row: facts of the log, since sums differ by a bit between machines.

    ``score`` is the gap of its two cheapest expected costs, which the query rule looks at: of two classes that of the
    negative answer less that of the positive one. ``expected``: the cost of its answer; None if it does not know.
    """

    score: float
    answer: int
    expected: float | None
