"""A Dask cluster as an executor: thin over distributed's client, with errors that say what happened and what to do."""

from __future__ import annotations

import logging
import pickle
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future
from contextlib import contextmanager
from typing import Any
from weakref import WeakSet

from ..errors import ClusterLost, StateError
from ..executors import PATIENCE, check_address
from ..validation.values import check_count, require
from .job import versions


class ClusterExecutor(Executor):
    """The executor of a cluster, which knows its address.

    Not distributed's own, whose futures stay without an answer for ever where the scheduler goes away just as a result
    is fetched: here every future of a task that has ended gets its result or its error.
    """

    def __init__(self, client: Any, retries: int) -> None:
        self.client = client
        self.address = str(client.scheduler.address if client.scheduler is not None else client)
        self._retries = retries
        self._tasks: WeakSet[Any] = WeakSet()
        self._is_shut_down = False
        workers = client.scheduler_info()["workers"].values()
        self.memory_limit = min((w["memory_limit"] for w in workers if w.get("memory_limit")), default=0)

    @property
    def workers(self) -> int:
        """Threads of all workers, as the cluster is now."""
        return max(1, int(sum(self.client.nthreads().values())))

    def share(self, value: Any) -> Any:
        """Send a value once; tasks that are given the result find the value in its place.

        Not scattered: Dask thins scattered copies out to one, and cannot make them again when its worker dies, so that
        tasks wait for ever. The result of a task is made again, from bytes that the scheduler keeps.
        """
        dask = require("dask", extra="scale", why="A Dask cluster")
        by_value = require("distributed.protocol.pickle", extra="scale", why="A Dask cluster")
        with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1 TiB"}):
            return self.client.submit(pickle.loads, by_value.dumps(value), pure=False)

    def submit(self, task: Callable[..., Any], /, *arguments: Any, **named: Any) -> Future[Any]:
        """Hand a task to the cluster."""
        if self._is_shut_down:
            raise RuntimeError("a task must be handed over before shutdown; this executor was shut down.")
        there = self.client.submit(task, *arguments, **named, retries=self._retries, pure=False)
        here: Future[Any] = Future()
        here.add_done_callback(lambda ended: there.cancel() if ended.cancelled() and not there.cancelled() else None)
        there.add_done_callback(lambda ended: pass_on(ended, here))
        self._tasks.add(there)
        return here

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Take back what has not started, unless it is waited for; the cluster itself stays."""
        self._is_shut_down = True
        tasks = list(self._tasks)
        if wait and not cancel_futures:
            require("distributed", extra="scale", why="A Dask cluster").wait(tasks)
        else:
            self.client.cancel(tasks)


def pass_on(there: Any, here: Future[Any]) -> None:
    """What came of a task that has ended there, or what kept it from coming, to the future that is waited for."""
    if there.cancelled():
        here.cancel()
    if not here.set_running_or_notify_cancel():
        return
    try:
        here.set_result(there.result())
    except BaseException as error:
        here.set_exception(error)


@contextmanager
def on_dask(address: Any, *, retries: int = 2) -> Iterator[ClusterExecutor]:
    """A Dask cluster as an executor, for the length of a ``with`` block.

    Dask runs what it is sent: keep the cluster on the loopback interface or a network you trust, or use TLS
    (``tls://`` addresses).

    Parameters
    ----------
    address : str or distributed.Client
        Of the scheduler, such as ``"tcp://127.0.0.1:8786"``; a client stays open afterwards.
    retries : int
        How often a task that failed with its worker is tried again.

    Yields
    ------
    ClusterExecutor
        What ``executor=`` takes.
    """
    check_count("retries", retries, at_least=0)
    distributed = require("distributed", extra="scale", why="A Dask cluster")
    if not isinstance(address, str):
        with _executor(address, retries) as executor:
            yield executor
        return
    check_address(address)
    with _without_log("distributed.client"):  # what it says of a lost scheduler, with a traceback, ClusterLost says
        client = distributed.Client(address, timeout=PATIENCE, set_as_default=False)
        try:
            with _executor(client, retries) as executor:
                yield executor
        finally:
            client.close(timeout=2)


@contextmanager
def _executor(client: Any, retries: int) -> Iterator[ClusterExecutor]:
    _check_versions(client)
    executor = ClusterExecutor(client, retries)
    try:
        yield executor
    finally:
        executor.shutdown(wait=False)


@contextmanager
def _without_log(name: str) -> Iterator[None]:
    log = logging.getLogger(name)
    level = log.level
    log.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        log.setLevel(level)


def _check_versions(client: Any) -> None:
    """Workers with another steelyard, Python or numpy would give other bits, or fail in the middle."""
    ours = versions()
    try:
        workers = client.run(versions)
    except OSError as error:
        raise ClusterLost(
            f"the cluster at {client.scheduler.address} went away while versions were asked. Run the same call again."
        ) from error
    except Exception as error:  # what a worker cannot import comes back as a bare Exception
        raise StateError(
            f"workers must have steelyard {ours['steelyard']}; got {error}. Install it on each."
        ) from error
    if not workers:
        raise ClusterLost(
            f"the cluster at {client.scheduler.address} must have a worker; got none. Start `dask worker`."
        )
    for worker, theirs in workers.items():
        for name, version in ours.items():
            if theirs[name] != version:
                raise StateError(f"{name} must be {version} on every worker; got {theirs[name]} at {worker}.")
