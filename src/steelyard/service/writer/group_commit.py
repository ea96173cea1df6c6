"""The one writer: takes requests from a queue, runs the reducer, commits them together, and only then answers."""

from __future__ import annotations

import os
import sys
import threading
import time
import traceback
from collections import deque
from collections.abc import Callable
from typing import Any, cast

from ...errors import SteelyardError
from ..database.sqlite import SQLiteStore
from .clock import Clock
from .jobs import DecideJob, Job, RefusedError, StoreJob
from .old_keys import OldKeys
from .projects import Project, load_project
from .snapshot import Snapshot, shadow_heads
from .tasks.carry_out import carry_out
from .tasks.decide import decide_singles, single_and_new

GROUP = 512  # rows in one commit
MOST_ROWS = 4096  # in the queue
MOST_BYTES = 64 * 2**20
CHECKPOINT_EVENTS = 50_000
CHECKPOINT_SECONDS = 300
CLEAN_EVERY, CLEAN_REST = 1.0, 20  # between two tries to leave nothing of what was erased: seconds, and their lengths
MOMENT = 0.005  # seconds: as long as the interpreter leaves a thread alone
FATAL = 70  # exit code: a commit failed, memory and disk may differ; a start replays the log

Outcome = Any
Deliver = Callable[[list[tuple[Job, Outcome]]], None]


class Writer:
    """Owns the writing connection and every project's state; runs in a thread of its own.

    ``deliver`` gets the outcomes of a commit after it; what it is given was written to the disk.
    """

    def __init__(self, store: SQLiteStore, clock: Clock, deliver: Deliver | None = None) -> None:
        self.store, self.clock = store, clock
        self.deliver = deliver or _deliver_each
        self.projects: dict[str, Project] = {}
        self.snapshots: dict[str, Snapshot] = {}
        self.batches = self.rows = 0
        self.commit_seconds = 0.0
        self._queue: deque[Job] = deque()
        self._queued_rows = self._queued_bytes = 0
        self._lock = threading.Lock()
        self._wake = threading.Condition(self._lock)
        self._awake = self._stopping = False
        self._computing = threading.Lock()  # given free by the thread when it begins to commit
        self._saved = time.monotonic()
        self._clean_tried, self._clean_from = 0, 0.0
        self._old_keys = OldKeys(store, clock)
        self._thread = threading.Thread(target=self._run, name="writer", daemon=True)
        for head in store.projects():
            self._load(head.slug)
        if store.unclean:
            store.clean()

    def start(self) -> None:
        """Begin to take requests."""
        self._thread.start()

    def submit(self, job: Job, *, alone: bool = True) -> None:
        """Put a request into the queue; raises RefusedError if it is full.

        Unless it comes alone the writer waits for :meth:`wake`, so that requests that come together share a commit.
        """
        with self._lock:
            if self._stopping:
                raise RefusedError(503, "stopping", "the service must be running; it is being stopped. Try again.")
            if self._queued_rows + job.size > MOST_ROWS or self._queued_bytes + job.weight > MOST_BYTES:
                raise RefusedError(429, "busy", "the queue must have room; it is full. Try again in a second.")
            self._queue.append(job)
            self._queued_rows += job.size
            self._queued_bytes += job.weight
            if alone:
                self._awake = True
                self._wake.notify()

    def wake(self) -> bool:
        """No more requests are about to come: carry out those that wait; False if there are none.

        The caller waits until they are being committed, a moment at most: two threads that both compute take the
        interpreter from each other all the time, and computing does not get done earlier by that. (A database that
        lies elsewhere keeps the thread waiting, which needs no interpreter.)
        """
        self._computing.acquire(blocking=False)
        with self._wake:
            self._awake = bool(self._queue)
            if not self._awake:
                return False
            self._wake.notify()
        if not self.store.in_postgres:
            self._computing.acquire(timeout=MOMENT)
        return True

    @property
    def queued(self) -> int:
        """Rows that wait."""
        return self._queued_rows

    def stop(self) -> None:
        """Finish the queue, keep a checkpoint of every project, and end."""
        with self._wake:
            self._stopping = True
            self._wake.notify()
        if self._thread.is_alive():
            self._thread.join()

    # -- the thread --------------------------------------------------------------------------------------------------

    def _run(self) -> None:
        try:
            while batch := self._taken():
                self._carry_out(batch)
            self._save_all()
        except BaseException:  # memory is ahead of the disk: nothing may be answered from here on
            traceback.print_exc()
            sys.stderr.flush()
            os._exit(FATAL)

    def _taken(self) -> list[Job]:
        """Whole requests until enough rows are in hand; empty when it is time to end."""
        with self._wake:
            while not (self._queue and self._awake) and not self._stopping:
                self._wake.wait()
            batch: list[Job] = []
            rows = 0
            while self._queue and (not batch or rows + self._queue[0].size <= GROUP):
                job = self._queue.popleft()
                rows += job.size
                self._queued_bytes -= job.weight
                batch.append(job)
            self._queued_rows -= rows
            self._awake = bool(self._queue)
            return batch

    def _carry_out(self, batch: list[Job]) -> None:
        began = time.perf_counter()
        self.store.begin()
        touched: dict[str, Project] = {}
        outcomes: list[tuple[Job, Outcome]] = []
        self._look_up_keys(batch)
        now = self.clock.now()
        alone = 0  # up to here requests are carried out one by one
        while len(outcomes) < len(batch):
            position = len(outcomes)
            job = batch[position]
            if isinstance(job, StoreJob):
                outcomes.append((job, self._act(job)))
                continue
            project = touched.get(job.project) or self._load(job.project)
            if project is None:
                outcomes.append((job, RefusedError(404, "not_found", "the project must exist; it does not.")))
                continue
            if job.project not in touched:
                touched[job.project] = project
                project.note_time(now)
            if type(job) is DecideJob and position >= alone and single_and_new(project, job):
                singles = _singles(project, batch, position)
                made = decide_singles(project, singles)
                outcomes += zip(singles, made, strict=False)
                self.rows += len(made)
                alone = 0 if made else position + len(singles)
                continue
            try:
                outcome = carry_out(project, job)
            except RefusedError as refused:
                outcome = refused
            outcomes.append((job, outcome))
            self.rows += job.size
        for project in touched.values():
            project.flush()
            if project.since_checkpoint >= CHECKPOINT_EVENTS:
                project.save_checkpoint()
        self._keep_house(touched)
        if self._computing.locked():
            self._computing.release()
        self.store.commit()
        self.batches += 1
        self.commit_seconds += time.perf_counter() - began
        for project in touched.values():
            self._publish(project)
        if self.store.unclean:
            self._clean()
        self.deliver(outcomes)
        self.store.shorten_log()

    def _clean(self) -> None:
        """Leave no byte of what was erased; while somebody is reading, or the disk is full, later commits try again.

        How much later depends on how long the try took, unless what took long, to write the whole database, is done.
        """
        began, tried = time.monotonic(), self.store.erasures
        if (tried == self._clean_tried and began < self._clean_from) or self.store.clean():
            return
        now = time.monotonic()
        short = self.store.rewritten and tried != self._clean_tried
        self._clean_tried, self._clean_from = tried, now + CLEAN_EVERY + (0 if short else CLEAN_REST * (now - began))

    def _look_up_keys(self, batch: list[Job]) -> None:
        keys: dict[str, list[tuple[int, str]]] = {}
        for job in batch:
            if job.key is not None and job.project in self.projects:
                keys.setdefault(job.project, []).append((job.actor, job.key))
        for slug, asked in keys.items():
            self.projects[slug].look_up(asked)

    def _act(self, job: StoreJob) -> Outcome:
        """What it answers, or why it is refused; then nothing of it is in the transaction."""
        try:
            with self.store.connection:  # a savepoint
                return job.act(self.store, self.clock.now())
        except RefusedError as refused:
            return refused
        except SteelyardError as error:
            return RefusedError(422, "refused", str(error))

    def _keep_house(self, touched: dict[str, Project]) -> None:
        """Now and then: checkpoints where there is news, and some of the keys that are too old are forgotten."""
        now = time.monotonic()
        if now - self._saved > CHECKPOINT_SECONDS:
            for project in self.projects.values():
                if project.since_checkpoint:
                    project.save_checkpoint()
            self._saved = now
        self._old_keys.forget()

    def _save_all(self) -> None:
        self.store.begin()
        for project in self.projects.values():
            if project.since_checkpoint:
                project.save_checkpoint()
        self.store.commit()

    def _load(self, slug: str) -> Project | None:
        if slug not in self.projects:
            head = self.store.project(slug)
            if head is None or head.id == 0:
                return None
            self.projects[slug] = load_project(self.store, head)
            self._publish(self.projects[slug])
        return self.projects[slug]

    def _publish(self, project: Project) -> None:
        state, budget = project.state, project.state.budget
        self.snapshots[project.slug] = Snapshot(
            seq=state.seq,
            rounds=state.learner.n_rounds_,
            reach=state.reach,
            limit=budget.limit,
            spent=budget.spent,
            reserved=budget.reserved,
            open=len(state.open_rows),
            model=state.model,
            settings_seq=state.settings_seq,
            settings=state.settings,
            outcomes=state.outcomes,
            missing=project.missing,
            unknown=project.unknown,
            fits=tuple(state.fits),
            shadows=shadow_heads(state),
            champion=state.champion,
            replaced=state.fit_after[0],
        )


def _singles(project: Project, jobs: list[Job], first: int) -> list[DecideJob]:
    """Requests from the first on, as long as they decide one new row of this project each."""
    last = first
    while last < len(jobs) and jobs[last].project == project.slug and single_and_new(project, jobs[last]):
        last += 1
    return cast(list[DecideJob], jobs[first:last])


def _deliver_each(outcomes: list[tuple[Job, Outcome]]) -> None:
    for job, outcome in outcomes:
        if job.deliver is not None:
            job.deliver(outcome)


def wait_for(writer: Writer, job: Job) -> Outcome:
    """Submit a request and wait for its outcome; for callers outside an event loop."""
    done, found = threading.Event(), []

    def deliver(outcome: Outcome) -> None:
        found.append(outcome)
        done.set()

    job.deliver = deliver
    writer.submit(job)
    done.wait()
    if isinstance(found[0], (RefusedError, SteelyardError)):
        raise found[0]
    return found[0]
