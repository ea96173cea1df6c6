"""The loop of a search: draw a batch of cost vectors, judge them, tell the study. Needs Optuna.

Tested in ``tests/unit/search/test_cost_search.py``.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import optuna
from numpy.typing import NDArray
from optuna.trial import TrialState
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from ..errors import StateError
from ..validation.values import invalid
from .plan import SearchPlan, batch_size
from .reservations import Reservations
from .samplers import distributions, make_sampler

Floats = NDArray[np.float64]
WAIT = 0.05  # seconds between two looks at what others are judging


def open_study(plan: SearchPlan, storage: Any, name: str | None, about: Mapping[str, Any]) -> Any:
    """A new study, or the stored one of that name if it searches for the same thing."""
    with _quiet():
        study = optuna.create_study(
            direction="maximize", storage=open_storage(storage), study_name=name, load_if_exists=True
        )
    known = study.user_attrs.get("about")
    if known is None:
        study.set_user_attr("about", dict(about))
    elif known != dict(about):
        different = sorted(k for k in {*known, *about} if known.get(k) != about.get(k))
        raise StateError(
            f"the stored study {study.study_name!r} must be of the same search; "
            f"it differs in {', '.join(different)}. Choose another study_name."
        )
    study.sampler = make_sampler(plan)
    return study


def open_storage(storage: Any) -> Any:
    """None, an Optuna storage and a database URL as they are; any other text or path is a journal file."""
    if isinstance(storage, Path) or (isinstance(storage, str) and "://" not in storage):
        backend = optuna.storages.journal.JournalFileBackend(str(storage))
        return optuna.storages.JournalStorage(backend)
    return storage


def run(
    study: Any,
    plan: SearchPlan,
    objective: Callable[[list[Floats]], Floats],
    advance: Callable[[int], None],
    at_once: int | None = None,
) -> None:
    """Go on until the study holds ``n_trials`` judged vectors, whoever judged them, or the time is over.

    With a time limit ``at_once`` vectors of a batch begin together, and the clock is looked at before the next ones.
    """
    space = distributions(plan)
    batch = batch_size(plan.sampler, len(plan.names))
    end = math.inf if plan.time_limit is None else time.monotonic() + plan.time_limit
    reservations = Reservations(study, plan.n_trials)
    with reservations.alive():
        while n_judged(study) < plan.n_trials:
            if time.monotonic() >= end and n_judged(study):
                return
            trials = reservations.reserve(min(max(reservations.left(), 0), batch), space)
            if trials:
                step = len(trials) if plan.time_limit is None or at_once is None else at_once
                _judge_batch(study, plan, trials, objective, advance, step=step, end=end)
            else:
                time.sleep(WAIT)  # others are judging the last ones; whoever has gone is found out


def _judge_batch(
    study: Any,
    plan: SearchPlan,
    trials: list[Any],
    objective: Callable[[list[Floats]], Floats],
    advance: Callable[[int], None],
    *,
    step: int,
    end: float,
) -> None:
    """Judge trials, ``step`` at a time; those that the time leaves over wait for whoever goes on with the study."""
    for first in range(0, len(trials), step):
        if time.monotonic() >= end and n_judged(study):
            for trial in trials[first:]:
                study.tell(trial, state=TrialState.FAIL)
                study.enqueue_trial(trial.params)
            return
        some = trials[first : first + step]
        try:
            values = _finite(objective([np.array([t.params[name] for name in plan.names]) for t in some]))
        except BaseException:
            for trial in trials[first:]:
                study.tell(trial, state=TrialState.FAIL)
            raise
        for trial, value in zip(some, values.tolist(), strict=True):
            study.tell(trial, value, skip_if_finished=True)  # if we were silent for long, another may have judged it
        advance(len(some))


def _finite(values: Floats) -> Floats:
    """Values that can be compared: a trial with NaN is never complete, and the search would not end."""
    if np.isnan(values).any():
        hint = "A validation part without one of the classes may be why; fewer folds or another measure help."
        raise invalid("scoring", "give a number for every cost vector on the validation rows", math.nan, hint)
    return values


def n_judged(study: Any) -> int:
    """How many cost vectors of the study have a fitness."""
    return len(study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,)))


def history(study: Any) -> Floats:
    """The fitness of every judged vector in the order they were drawn."""
    return np.array([t.value for t in study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,))])


def best_vector(study: Any, names: list[str]) -> tuple[Floats, float]:
    """The fittest cost vector, the first of several, and its fitness."""
    judged = study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,))
    best = max(judged, key=lambda t: (t.value, -t.number))
    return np.array([best.params[name] for name in names]), float(best.value)


@contextmanager
def progress_bar(shown: bool, total: int) -> Iterator[Callable[[int], None]]:
    """A function that advances the bar; without one it does nothing."""
    if not shown:
        yield lambda _: None
        return
    columns = (TextColumn("searching costs"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns) as bar:
        task = bar.add_task("searching costs", total=total)
        yield lambda n: bar.advance(task, n)


@contextmanager
def _quiet() -> Iterator[None]:
    """Optuna announces every study on the error stream."""
    before = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    try:
        yield
    finally:
        optuna.logging.set_verbosity(before)
