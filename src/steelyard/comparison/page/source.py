"""A comparison as its page needs it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from numpy.typing import NDArray

from ..evaluation import CandidateRun, Evaluation
from ..leaderboard import LeaderboardRow
from ..promise import Promise


@dataclass(frozen=True)
class PageSource:
    """A comparison as its page needs it."""

    evaluation: Evaluation
    winner: CandidateRun
    lines: Sequence[LeaderboardRow]
    said: Sequence[str]
    warnings: Sequence[str]
    promised: Promise
    card: Mapping[str, Any]
    source: str | None = None
    target: str | None = None
    segments: Mapping[str, NDArray[Any]] = field(default_factory=dict)

    @property
    def runs(self) -> list[CandidateRun]:
        """The run of every line, in their order."""
        by_name = {run.name: run for run in self.evaluation.entries if run.complete}
        return [by_name[line.name] for line in self.lines]
