"""Which person works on which question: in memory only, so an absent person holds nothing."""

from __future__ import annotations

import time
from collections.abc import Iterable

LEASE = 120.0  # seconds
SEEN = 300.0  # seconds for which a person counts as being there
DAY = 86400.0


class Leases:
    """Hands out open questions, the oldest first, each to one person at a time."""

    def __init__(self) -> None:
        self._held: dict[tuple[str, int], tuple[int, float]] = {}  # (project, item) to person and end
        self._seen: dict[str, dict[int, float]] = {}

    def see(self, project: str, person: int) -> None:
        """A person is there."""
        self._seen.setdefault(project, {})[person] = time.monotonic()

    def present(self, project: str) -> frozenset[int]:
        """People seen within a day."""
        return self.seen_within(project, DAY)

    def seen_within(self, project: str, seconds: float) -> frozenset[int]:
        """People who were handed questions, or answered, within so many seconds."""
        since = time.monotonic() - seconds
        return frozenset(person for person, at in self._seen.get(project, {}).items() if at >= since)

    def share(self, project: str, count: int, waiting: int) -> int:
        """How many of the waiting questions one person may be handed."""
        people = len(self.seen_within(project, SEEN))
        return max(1, min(count, waiting // max(1, people)))

    def take(self, project: str, person: int, items: Iterable[int], count: int, share: int | None = None) -> list[int]:
        """Up to ``count`` of the items: those one holds, then those nobody does, the oldest first.

        With a ``share``, nobody holds more than that: what one has beyond it is given back, and somebody who finds too
        little takes the newest of what others have beyond it. A lost lease only means one more answer.
        """
        now, waiting = time.monotonic(), list(items)
        if len(self._held) > 100_000:
            self._held = {key: held for key, held in self._held.items() if held[1] > now}
        held: dict[int, list[int]] = {}
        free: list[int] = []
        for item in waiting:
            holder, end = self._held.get((project, item), (0, 0.0))
            if end > now:
                held.setdefault(holder, []).append(item)
            else:
                free.append(item)
        mine = held.pop(person, [])
        taken = (mine + free)[:count]
        if share is not None:
            for item in mine[share:]:
                self.drop(project, item)
            for theirs in held.values():
                taken += theirs[share:][::-1][: count - len(taken)]
        for item in taken:
            self._held[project, item] = (person, now + LEASE)
        return taken

    def renew(self, project: str, person: int, item: int) -> bool:
        """Hold a question longer; False if somebody else has it."""
        return bool(self.take(project, person, [item], 1))

    def drop(self, project: str, item: int) -> None:
        """A question is answered."""
        self._held.pop((project, item), None)
