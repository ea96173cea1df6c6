"""Changing settings and models, and renewing the budget."""

from __future__ import annotations

from typing import Any

import msgspec

from ...._version import __version__
from ....errors import InvalidInputError, SteelyardError
from ....online import NUMERICS
from ....validation.values import invalid
from ...log.events import Promote, Set, SetChampion, SetShadow
from ...log.settings import MOST_LABELS, ProjectSettings, changed_settings
from ...replay.changing import change, promote, renewal, set_champion, set_shadow
from ...replay.questions import ConflictError
from ..jobs import ChampionJob, EventReply, PromoteJob, RefusedError, SetJob, SettingsReply, ShadowJob
from ..projects import Project


def set_settings(project: Project, job: SetJob) -> SettingsReply:
    """Change settings, unless somebody else has changed them meanwhile."""
    state = project.state
    if job.expected != state.settings_seq:
        message = f"If-Match must be {state.settings_seq}, the event of the present settings; got {job.expected}."
        raise RefusedError(409, "changed_meanwhile", message, "If-Match")
    try:
        settings = changed_settings(state.settings, job.changes)
        settings.check_new()
        _check_average(project, settings)
        made = msgspec.to_builtins(settings)
    except (SteelyardError, TypeError, ValueError, OverflowError) as error:
        raise RefusedError(422, "bad_settings", str(error), "settings") from None
    try:  # as they were read: what was sent may hold numbers that the log cannot
        seq = _change(project, {name: made[name] for name in job.changes}, job.actor)
    except InvalidInputError as error:
        raise RefusedError(422, "bad_settings", str(error), "settings") from None
    return SettingsReply(seq, msgspec.to_builtins(state.settings))


def _check_average(project: Project, settings: ProjectSettings) -> None:
    """Raise if labels would be learned from an average that answers for good."""
    budget = project.state.budget
    if settings.after_budget == "average" and 0 < budget.limit <= budget.spent and settings.budget > budget.limit:
        hint = "The average of all weights answers now, and learns no more. Begin a new project."
        raise invalid("budget", "stay as it is once all of it is spent", settings.budget, hint)


def _change(project: Project, changes: dict[str, Any], actor: int) -> int:
    """Change settings that were checked, and log it; the event. Nobody (0) renews the budget."""
    state = project.state
    project.flush()
    project.save_checkpoint()
    change(state, changes, project.rows, state.seq + 1, project.at, renews=actor == 0)
    seq = project.emit(Set(changes=changes, library=__version__, numerics=NUMERICS), item=None, actor=actor)
    project.note_budget()
    return seq


def change_models(project: Project, job: ShadowJob | PromoteJob | ChampionJob) -> EventReply:
    """Begin, end or promote a shadow; have a champion decide, or the learner again."""
    state = project.state
    project.flush()
    project.save_checkpoint()
    body: SetShadow | Promote | SetChampion
    try:
        if isinstance(job, ShadowJob):
            set_shadow(state, job.slot, job.settings, project.rows, state.seq + 1)
            body = SetShadow(slot=job.slot, settings=job.settings)
        elif isinstance(job, ChampionJob):
            set_champion(state, job.sha256, job.name, state.seq + 1)
            body = SetChampion(sha256=job.sha256, name=job.name)
            if job.sha256 is not None:
                project.store.save_model(job.sha256, job.body)
        else:
            promote(state, job.slot, state.seq + 1)
            body = Promote(slot=job.slot)
    except ConflictError as error:
        raise RefusedError(409, error.code, str(error), "slot") from None
    except InvalidInputError as error:
        raise RefusedError(422, "bad_model", str(error), "settings") from None
    reply = EventReply(project.emit(body, item=None, actor=job.actor), state.budget.left)
    project.save_request(job, reply.event, 1, [], msgspec.msgpack.encode(reply))
    return reply


def renew(project: Project) -> int:
    """Renew the budget if it is time by the clock, or by events that are ahead of it; by how many labels."""
    state = project.state
    changes = renewal(state, project.now if project.now >= state.renewed[0] else project.at)
    if changes is None or changes["budget"] > MOST_LABELS:
        return 0
    before = state.budget.limit
    _change(project, changes, 0)
    return state.budget.limit - before
