"""Carrying out one request: look at its key, then have its family of tasks do it."""

from __future__ import annotations

from typing import Any

from ..jobs import (
    AnswerJob,
    ChampionJob,
    DecideJob,
    EraseJob,
    ExpireJob,
    Job,
    PromoteJob,
    RefusedError,
    RenewJob,
    RetainJob,
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
    if type(job) is Job:
        return None  # only that the project be loaded
    if isinstance(job, DecideJob):
        return decide_rows(project, job)
    if isinstance(job, AnswerJob):
        return fitted(project, answer_all(project, job))
    if isinstance(job, ExpireJob):
        return expire(project)
    if isinstance(job, SetJob):
        return set_settings(project, job)
    if isinstance(job, (ShadowJob, PromoteJob, ChampionJob)):
        return change_models(project, job)
    if isinstance(job, EraseJob):
        return erase_rows(project, job)
    if isinstance(job, RetainJob):
        return retain(project)
    if isinstance(job, RenewJob):
        return renew(project)
    return fitted(project, one_event(project, job))
