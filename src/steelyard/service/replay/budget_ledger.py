"""The labels a project may ask for: how many in all, how many came, how many are awaited."""

from __future__ import annotations

from dataclasses import dataclass

from ...errors import StateError
from ...validation.values import invalid


@dataclass
class BudgetLedger:
    """At every step ``spent + reserved <= limit``.

    Parameters
    ----------
    limit : int
        Labels in all.
    spent, reserved : int
        Labels that came, and labels that were asked for and have not come yet.
    """

    limit: int
    spent: int = 0
    reserved: int = 0

    @property
    def left(self) -> int:
        """Labels that may still be asked for."""
        return self.limit - self.spent - self.reserved

    def reserve(self) -> None:
        """A label is asked for."""
        if self.left <= 0:
            raise StateError(f"the budget must allow a question; {self.spent} + {self.reserved} of {self.limit} used.")
        self.reserved += 1

    def pay(self) -> None:
        """A label that was asked for has come."""
        self._need_reserved()
        self.reserved -= 1
        self.spent += 1

    def refund(self) -> None:
        """A label that was asked for will not come."""
        self._need_reserved()
        self.reserved -= 1

    def _need_reserved(self) -> None:
        if self.reserved <= 0:
            raise StateError("a label must be awaited before it is paid or refunded; none is.")

    def check_limit(self, limit: int) -> None:
        """Raise unless the limit may become this."""
        if limit < self.spent + self.reserved:
            used = f"{self.spent} spent and {self.reserved} awaited"
            raise invalid("budget", f"be at least what is used ({used})", limit)
