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

    def take(self, project: str, person: int, items: Iterable[int], count: int) -> list[int]:
        """Up to ``count`` of the items that nobody else holds."""
        now, taken = time.monotonic(), []
        if len(self._held) > 100_000:
            self._held = {key: held for key, held in self._held.items() if held[1] > now}
        for item in items:
            holder, end = self._held.get((project, item), (person, 0.0))
            if holder == person or end <= now:
                self._held[project, item] = (person, now + LEASE)
                taken.append(item)
                if len(taken) == count:
                    break
        return taken

    def renew(self, project: str, person: int, item: int) -> bool:
        """Hold a question longer; False if somebody else has it."""
        return bool(self.take(project, person, [item], 1))

    def drop(self, project: str, item: int) -> None:
        """A question is answered."""
        self._held.pop((project, item), None)
