"""What readers beside the writer may know of a project: its state after the last commit, which never changes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from ..replay.champion import ChampionHead
from ..replay.expected import FittedPair
from ..replay.state import State


@dataclass(frozen=True)
class Snapshot:
    """What readers may know of a project: the state after the last commit."""

    seq: int
    rounds: int
    reach: int
    limit: int
    spent: int
    reserved: int
    open: int
    model: int
    settings_seq: int
    settings: Any
    outcomes: int
    missing: int
    unknown: int
    fits: tuple[FittedPair, ...] = ()
    shadows: tuple[ShadowHead, ...] = ()
    champion: ChampionHead | None = None
    replaced: int = 0  # the event since which one and the same model decides


class ShadowHead(NamedTuple):
    """A model that does not decide: its slot, what it is called, since when it is compared, whether it has ended."""

    slot: int
    name: str
    since: int
    reach: int
    ended: bool = False


def shadow_heads(state: State) -> tuple[ShadowHead, ...]:
    """What does not decide: where there is a champion the learner, in slot 0, and the shadows."""
    found = [ShadowHead(*shadow.to_list()) for shadow in state.shadows.values()]
    if state.champion is not None:
        update = state.settings.update or str(state.settings.update_rule())
        found.insert(0, ShadowHead(0, update, state.champion.since, state.champion.reach))
    return tuple(found)
