"""One value for many tasks of an executor: sent once, not with each task; and an error where the executor is gone.

It imports little: commands ask a cluster whether it is there before they load what they need to work with it.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from concurrent.futures import CancelledError, Executor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing import shared_memory
from typing import Any, NamedTuple

from .errors import ClusterLost
from .validation.values import invalid, require

PATIENCE = 7  # seconds that a scheduler has to answer
_loaded: dict[str, Any] = {}  # the value that this process read last


class InMemory(NamedTuple):
    """Where a value lies for the other processes of this machine."""

    name: str
    size: int


def check_executor(executor: Any) -> Executor | None:
    """An executor as ``executor=`` takes it, or None."""
    if executor is not None and not (hasattr(executor, "submit") and hasattr(executor, "shutdown")):
        raise invalid("executor", "be a concurrent.futures.Executor or None", executor)
    return executor  # type: ignore[no-any-return]


def check_address(address: str) -> None:
    """Ask the scheduler at an address who it is: a client that finds none takes twice its patience more to be closed.

    Parameters
    ----------
    address : str
        Such as ``"tcp://127.0.0.1:8786"``.

    Raises
    ------
    ClusterLost
        If nothing answers in time, or something that is no scheduler.
    """
    import asyncio

    distributed = require("distributed", extra="scale", why="A Dask cluster")

    async def identify() -> Any:
        security = distributed.Security().get_connection_args("client")
        async with distributed.rpc(address, timeout=PATIENCE, connection_args=security) as scheduler:
            return await scheduler.identity()

    try:
        with ThreadPoolExecutor(1) as thread:  # here, in a notebook, a loop of asyncio may already run
            thread.submit(asyncio.run, asyncio.wait_for(identify(), PATIENCE)).result()
    except Exception as error:  # of any kind: what is no scheduler answers anything
        said = f"{type(error).__name__}: {error}".rstrip(":. \n")[:200]
        raise ClusterLost(
            f"the cluster at {address} must answer within {PATIENCE} s; got {said}. "
            "Check the address, and that `dask scheduler` runs there."
        ) from error


def workers_of(executor: Any) -> int:
    """How many tasks an executor runs side by side, as far as it tells; 2 otherwise."""
    known = getattr(executor, "workers", None) or getattr(executor, "_max_workers", None)
    return max(1, int(known)) if known else 2


def is_loss(error: BaseException) -> bool:
    """Whether an error says that the executor went away, and not that a task found something wrong.

    What is wrong with a file or disk has a number; of the errors of connections only those of the system have one.

    Parameters
    ----------
    error : BaseException
        What came instead of a result.

    Returns
    -------
    bool
        True for lost connections, processes that ended and tasks that were taken back.
    """
    if isinstance(error, (CancelledError, BrokenProcessPool, ConnectionError)):
        return True
    return isinstance(error, OSError) and error.errno is None


@contextmanager
def naming_loss(executor: Executor, doing: str, hint: str) -> Iterator[None]:
    """Raise ClusterLost, which says where and at what, if the executor goes away while a result is waited for."""
    try:
        yield
    except (CancelledError, BrokenProcessPool, OSError) as error:
        if not is_loss(error):
            raise
        where = getattr(executor, "address", "the executor")
        raise ClusterLost(f"the cluster at {where} went away during {doing}. {hint}") from error


@contextmanager
def shared(executor: Executor, value: Any) -> Iterator[Any]:
    """What to give to tasks in place of a large value; :func:`unwrap` makes it the value again, where they run.

    A cluster sends it to its workers, threads take it as it is, and processes of this machine find it in memory
    that they share. It is there for the length of the block.

    Parameters
    ----------
    executor : Executor
        Where the tasks run.
    value : object
        What all of them need.

    Yields
    ------
    object
        For :func:`unwrap`.
    """
    if hasattr(executor, "share"):
        yield executor.share(value)
        return
    if isinstance(executor, ThreadPoolExecutor):
        yield value
        return
    content = pickle.dumps(value)
    block = shared_memory.SharedMemory(create=True, size=len(content))
    try:
        assert block.buf is not None
        block.buf[: len(content)] = content
        yield InMemory(block.name, len(content))
    finally:
        block.close()
        block.unlink()


def unwrap(handle: Any) -> Any:
    """The value behind a handle; a process that has read it does not read it again."""
    if not isinstance(handle, InMemory):
        return handle
    if handle.name not in _loaded:
        block = shared_memory.SharedMemory(name=handle.name)
        try:
            assert block.buf is not None
            value = pickle.loads(bytes(block.buf[: handle.size]))  # written by the process that gave the task
        finally:
            block.close()
        _loaded.clear()
        _loaded[handle.name] = value
    return _loaded[handle.name]
