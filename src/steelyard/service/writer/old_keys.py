"""Keys of requests are kept for seven days and then forgotten, a few at a time."""

from __future__ import annotations

from ..database.sqlite import SQLiteStore
from ..database.store import RequestKey
from .clock import Clock

KEPT = 7 * 86400 * 1_000_000  # microseconds
PASS_EVERY = 3600.0  # seconds from the end of one pass through the table to the next
PAUSE = 0.1  # seconds between two parts of a pass
PART = 1024  # keys: nobody is answered meanwhile
MOST_PARTS = 64  # made up for at once, where nothing was committed for longer
_FIRST: RequestKey = (-1, -1, "")  # before all others


class OldKeys:
    """Goes through the table of requests again and again, in the order of its key: it has no index by time."""

    def __init__(self, store: SQLiteStore, clock: Clock) -> None:
        self._store, self._clock = store, clock
        self._after, self._looked = _FIRST, clock.boot()
        self._rest = PAUSE

    def forget(self) -> None:
        """In the open transaction: look at the next part if it is time.

        A clock that has jumped ahead would have keys forgotten whose requests may still be sent again.
        """
        passed = self._clock.boot() - self._looked
        if passed < self._rest or not self._clock.trusted():
            return
        parts = 1 + min(MOST_PARTS, int((passed - self._rest) / PAUSE))
        last = self._store.forget_requests(self._clock.now() - KEPT, self._after, parts * PART)
        self._after, self._rest = last or _FIRST, PAUSE if last else PASS_EVERY
        self._looked += passed
