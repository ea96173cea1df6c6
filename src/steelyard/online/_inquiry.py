"""Rounds, budget and draws of a stream whose weights are kept elsewhere."""

from __future__ import annotations

import copy
from typing import Any, Self

from .._checks import check_count, complain
from ..active import Budget, Glance, QueryRule
from ._engine import Setting, chance_of, stream_of
from .adaptive import ClassCosts


class Inquiry:
    """Which labels to ask for, and what was asked so far: a native stream without features of its own."""

    def __init__(self, query: QueryRule, budget: Budget, seed: int) -> None:
        self.query, self.budget, self.seed = query, budget, seed
        self.native = query.kernel() is not None
        setting = Setting(0, budget, ClassCosts(), threshold=0.0, averaging=False, constant_feature=False, seed=seed)
        self.stream = stream_of(setting, query)

    @classmethod
    def begun(cls, query: Any, budget: Any, seed: Any) -> Self:
        """At round 0, from the parameters of an estimator."""
        if not isinstance(query, QueryRule):
            raise complain("query", "be a QueryRule", query, "Give an object, e.g. query=AskSymmetric(0.1).")
        query.checked()
        return cls(query, Budget.of(budget), check_count("seed", seed, at_least=0) & (2**64 - 1))

    def always(self) -> bool:
        """Whether every label is asked for."""
        return self.native and bool(self.stream.always_asks)

    def enter(self, score: float, positive: bool, draws: Any = None, i: int = 0) -> tuple[float, bool]:
        """The next round: chance and whether its label is asked for."""
        chance = chance_of(self.query, Glance(score, positive, self.stream.t))
        return self.stream.enter(chance, draws, i)  # type: ignore[no-any-return]

    @property
    def counts(self) -> list[int]:
        """All that changes along the stream."""
        return [int(count) for count in self.stream.arrays()[3]]

    def resume(self, counts: list[int]) -> None:
        """Go on from :attr:`counts`."""
        self.stream.restore(*self.stream.arrays()[:3], counts)

    def __copy__(self) -> Inquiry:
        twin = object.__new__(type(self))
        twin.__dict__ = self.__dict__ | {"stream": copy.copy(self.stream)}
        return twin

    def __getstate__(self) -> dict[str, Any]:
        return {"made_of": (self.query, self.budget, self.seed), "counts": self.counts}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(*state["made_of"])  # type: ignore[misc]
        self.resume(state["counts"])
