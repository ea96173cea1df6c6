"""Carrying out one request: look at its key, then have its family of tasks do it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..jobs import (
    AdjudicateJob,
    AnswerJob,
    ChampionJob,
    CloseJob,
    DecideJob,
    EraseJob,
    ExpireJob,
    Job,
    OutcomeJob,
    PromoteJob,
    RefusedError,
    RenewJob,
    RetainJob,
    RetractJob,
    SetJob,
    ShadowJob,
)
from ..projects import Project
from .answer import answer_all, expire, fitted, one_event
from .change import change_models, renew, set_settings
from .decide import decide_rows
from .erase import erase_rows, retain
from .resent import said_before


def carry_out(project: Project, job: Job) -> Any:
    """Do it once; raises RefusedError if it cannot be done, and then nothing has changed."""
    if job.key is not None:
        stored = project.request(job.actor, job.key)
        if stored is not None:
            if stored.digest != job.digest:
                hint = "Make a new key for each request."
                raise RefusedError(409, "key_reused", f"the key must stand for one request; it does not. {hint}")
            job.replayed = True
            return said_before(project, job, stored)
    return _TASKS[type(job)](project, job)


_TASKS: dict[type[Job], Callable[[Project, Any], Any]] = {
    Job: lambda project, job: None,  # only that the project be loaded
    DecideJob: decide_rows,
    AnswerJob: lambda project, job: fitted(project, answer_all(project, job)),
    RetractJob: lambda project, job: fitted(project, one_event(project, job)),
    AdjudicateJob: lambda project, job: fitted(project, one_event(project, job)),
    CloseJob: lambda project, job: fitted(project, one_event(project, job)),
    OutcomeJob: lambda project, job: fitted(project, one_event(project, job)),
    ExpireJob: lambda project, job: expire(project),
    SetJob: set_settings,
    ShadowJob: change_models,
    PromoteJob: change_models,
    ChampionJob: change_models,
    EraseJob: erase_rows,
    RetainJob: lambda project, job: retain(project),
    RenewJob: lambda project, job: renew(project),
}
