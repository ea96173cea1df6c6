"""Boosted trees over the workers of a cluster: LightGBM's and XGBoost's own training, behind our costs.

Tested in ``tests/cluster/test_trees.py``.

Rows are weighted by what their mistakes cost, probabilities are calibrated on parts that no tree was grown on, and
answers are those of least expected cost. Bits are not kept: they change with the number of workers, and between two
runs on equal ones. ``work`` keeps nothing inside a fit; a lost worker starts it again.
"""

from __future__ import annotations

import importlib
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, contextmanager, suppress
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.frozen import FrozenEstimator

from ..costs import Costs, as_costs
from ..data import Dataset, Parts
from ..decision import ExpectedCostClassifier
from ..decision.blending import BlendClassifier
from ..decision.calibration import CalibratedClassifier
from ..errors import ClusterLost
from ..executors import PATIENCE, naming_loss
from ..validation.values import invalid, require
from .dask import ClusterExecutor
from .job import part_entry, restore_part
from .lanes import chunk_labels
from .rows import numbers_of

Floats = NDArray[np.float64]
LIBRARIES = {"LGBMClassifier": "lightgbm", "XGBClassifier": "xgboost"}
EVERY = 10  # of so many parts one is kept for the calibration
TRIES = 3  # fits that a lost worker may end
LOOK = 0.5  # seconds between two looks at the workers
LATE = 4  # looks after an error
STUCK = 30  # seconds in which a worker that stays must be free again
WAIT = 60  # seconds in which a worker must join where none is left
MOST_ROWS = 1_000_000  # whose probabilities the curves are fitted to


def grows_on_a_cluster(estimator: Any) -> bool:
    """Whether an estimator is one of those that have a training of their own on Dask."""
    return LIBRARIES.get(type(estimator).__name__) == type(estimator).__module__.partition(".")[0]


def fit_trees(
    estimator: Any, parts: Parts, options: dict[str, Any], classes: Sequence[Any], costs: Any, executor: Any, rows: int
) -> Any:
    """The trees as a classifier that decides by expected cost; see the head of this module."""
    if not isinstance(executor, ClusterExecutor):
        advice = "Use `with on_dask(address) as executor:`, or fit on a sample: fit_parts(..., sample=1_000_000)."
        raise invalid("executor", f"be a Dask cluster for {type(estimator).__name__}", executor, advice)
    if parts.format == "libsvm":
        advice = "Fit on a sample: fit_parts(..., sample=1_000_000)."
        raise invalid("parts", f"have named columns for {type(estimator).__name__} on a cluster", "LIBSVM", advice)
    if len(parts) < 2:
        raise invalid("parts", "be two or more, since one is kept for the calibration", len(parts))
    labels = np.asarray(classes)
    agreed = as_costs(costs, None, labels)
    if agreed.matrix is None:
        raise invalid("costs", "be the same for all rows for trees", costs)
    kept = {i for i in range(len(parts)) if i % EVERY == EVERY - 1} or {len(parts) - 1}
    about = {
        "files": [part_entry(part) for part in parts.files],
        "format": parts.format,
        "reading": parts.reading(options),
        "options": options,
        "classes": list(classes),
        "weights": class_weights(agreed, labels).tolist(),
    }
    grown = [i for i in range(len(parts)) if i not in kept]
    fitted = _fit_again(lambda client: _grow(estimator, about, grown, client), executor)
    proba, truths, width = _held_out(fitted, parts, about, sorted(kept), rows)
    calibrated = CalibratedClassifier(fitted)
    calibrated.fit(proba, truths)
    blend = FrozenEstimator(BlendClassifier([(type(estimator).__name__, calibrated)], [1.0], labels))
    made = ExpectedCostClassifier(blend, costs=agreed).with_fitted(blend, np.zeros((1, width)), agreed)
    made.bits_reproducible_ = False
    made.calibrated_on_ = [parts.files[i].name for i in sorted(kept)]
    return made


def class_weights(costs: Costs, classes: NDArray[Any]) -> Floats:
    """What a mistake on each class costs on average, beyond the right answer; their mean is 1."""
    matrix = np.asarray(costs.aligned(classes).matrix)
    excess = (matrix - np.diag(matrix)[:, None]).sum(axis=1)
    if not (excess > 0).all():
        raise invalid("costs", "make every mistake cost more than the right answer for trees", costs)
    return np.asarray(excess / excess.mean())


def _fit_again(grow: Callable[[Any], Any], executor: ClusterExecutor) -> Any:
    """What ``grow`` makes with a client, made again if workers were lost meanwhile."""
    for attempt in range(TRIES):
        with _own_client(executor) as client, ThreadPoolExecutor(1) as thread:
            try:
                before = _workers_of(client, executor)
                growing = thread.submit(grow, client)
                gone = _lost_while(growing, before, client, executor)
            except BaseException:
                client.close(timeout=2)  # what the thread waits for is cancelled with it
                raise
        error = growing.exception()
        if error is None:
            return growing.result()
        if not gone:
            raise error
        if attempt + 1 == TRIES:
            raise ClusterLost(
                f"the cluster at {executor.address} lost workers in each of {TRIES} fits of trees. Run the same "
                "call again on workers that stay."
            ) from error
        warnings.warn(f"workers were lost ({', '.join(sorted(gone))}); the trees are grown anew", stacklevel=4)
    raise AssertionError("unreachable")


@contextmanager
def _own_client(executor: ClusterExecutor) -> Iterator[Any]:
    """A client for one fit: to close it takes back all that the fit has started, and nothing else."""
    distributed: Any = require("distributed", extra="scale-trees", why="Trees on a cluster")
    known = executor.client
    with _naming_loss(executor):
        made = distributed.Client(executor.address, security=known.security, timeout=PATIENCE, set_as_default=False)
    try:
        yield made
    finally:
        made.close(timeout=2)


def _workers_of(client: Any, executor: ClusterExecutor) -> set[str]:
    """The workers there are; if none is left, the next one that joins."""
    with _naming_loss(executor), suppress(TimeoutError):
        client.wait_for_workers(1, timeout=WAIT)
    with _naming_loss(executor):
        found = set(client.nthreads())
    if not found:
        raise ClusterLost(
            f"the cluster at {executor.address} must have a worker; got none for {WAIT} s. Start `dask worker`."
        )
    return found


def _lost_while(growing: Future[Any], before: set[str], client: Any, executor: ClusterExecutor) -> set[str]:
    """The workers that were lost until a fit ended; with the first of them it is taken back.

    Both libraries bind the share of a worker to its address: once that is gone they wait for it, for ever if all are.
    """
    looks = LATE
    while looks:
        ended = bool(wait([growing], timeout=LOOK).done)
        if ended and growing.exception() is None:
            return set()
        if ended:  # by what a worker felt of the loss, perhaps before the scheduler knows of it
            time.sleep(LOOK)
            looks -= 1
        with _naming_loss(executor):
            gone = before - set(client.nthreads())
        if gone:
            client.close(timeout=2)
            wait([growing])
            _forget_peers(executor)
            return gone
    return set()


def _naming_loss(executor: ClusterExecutor) -> AbstractContextManager[None]:
    return naming_loss(executor, "a fit of trees", "Run the same call again; nothing of the fit is kept.")


def _forget_peers(executor: ClusterExecutor) -> None:
    """Have every thread of the workers that stay forget whom it trained with; those that cannot are restarted.

    LightGBM keeps the connections of a fit that failed, and would use them when the thread next trains alone. A thread
    that was about to connect to a lost worker goes on trying, for minutes or for ever.
    """
    distributed: Any = require("distributed", extra="scale-trees", why="Trees on a cluster")
    client = executor.client
    stuck: set[str] = set()
    with _naming_loss(executor), client.as_current():
        threads = [worker for worker, count in client.nthreads().items() for _ in range(count)]
        asked = {client.submit(_free_network, workers=[worker], pure=False): worker for worker in threads}
        with suppress(TimeoutError):
            distributed.wait(list(asked), timeout=STUCK)
        stuck = {worker for one, worker in asked.items() if not one.done()} & set(client.nthreads())
        client.cancel(list(asked))
    if stuck and not _restarted(client, sorted(stuck)):
        raise ClusterLost(
            f"the workers {', '.join(sorted(stuck))} still wait for one that was lost in a fit of trees. End them and "
            "start others (workers with a nanny, which `dask worker` has by default, are restarted "
            "without that); then run the same call again."
        )


def _restarted(client: Any, workers: list[str]) -> bool:
    try:
        return set(client.restart_workers(workers, timeout=WAIT).values()) <= {"OK", "removed"}
    except Exception:  # a worker without a nanny, or one that does not end
        return False


def _free_network() -> None:
    with suppress(ImportError):  # a worker for XGBoost alone
        lightgbm = importlib.import_module("lightgbm")
        lightgbm.Booster.free_network(SimpleNamespace())
    time.sleep(0.1)  # so that the next one comes to another thread


def _grow(estimator: Any, about: dict[str, Any], positions: Sequence[int], client: Any) -> Any:
    """The estimator fitted on these parts by all workers, as a local one over the codes of the classes."""
    array: Any = require("dask.array", extra="scale-trees", why="Trees on a cluster")
    dask: Any = require("dask", extra="scale-trees", why="Trees on a cluster")
    require("dask.dataframe", extra="scale-trees", why="Trees on a cluster")
    found = client.gather(client.map(_part_shape, [about] * len(positions), positions, pure=False))
    shapes = [shape for shape in found if shape[0]]  # parts without rows have no columns either
    if not shapes:
        raise invalid("parts", "hold rows to learn from", [about["files"][i]["path"] for i in positions])
    loaded = [dask.delayed(load_part, nout=3)(about, i) for i, shape in zip(positions, found, strict=True) if shape[0]]

    def stacked(which: int, dtype: Any, width: int | None = None) -> Any:
        blocks = [
            array.from_delayed(one[which], shape=(n,) if width is None else (n, width), dtype=dtype)
            for one, (n, _) in zip(loaded, shapes, strict=True)
        ]
        return array.concatenate(blocks)

    X, y, weight = stacked(0, np.float32, shapes[0][1]), stacked(1, np.int64), stacked(2, np.float64)
    library = LIBRARIES[type(estimator).__name__]
    trees: Any = require(f"{library}.dask", extra="scale-trees", why="Trees on a cluster")
    if library == "lightgbm":
        model = trees.DaskLGBMClassifier(**estimator.get_params(), client=client)
        with client.as_current():  # both libraries look for one, whatever client they were given
            return model.fit(X, y, sample_weight=weight).to_local()
    model = trees.DaskXGBClassifier(**estimator.get_params())
    model.client = client
    with client.as_current():
        model.fit(X, y, sample_weight=weight)
    local = type(estimator)(**estimator.get_params())
    local.load_model(bytearray(model.get_booster().save_raw()))
    return local


def load_part(about: dict[str, Any], position: int) -> tuple[Any, Any, Any]:
    """Rows, codes and weights of one part; the task of a worker."""
    part = restore_part(about["files"][position])
    parts = Parts.of_files([part], about["format"])
    rows, codes = [], []
    for chunk in parts.part_chunks(part, 1 << 16, about["reading"], about["options"]):
        rows.append(np.asarray(numbers_of(chunk), dtype=np.float32))
        codes.append(_codes(chunk, about["classes"], part.path))
    if not rows:
        return np.empty((0, 0), dtype=np.float32), np.empty(0, dtype=np.int64), np.empty(0)
    code = np.concatenate(codes).astype(np.int64)
    return np.concatenate(rows), code, np.asarray(about["weights"])[code]


def _codes(chunk: Dataset, labels: Sequence[Any], path: str) -> NDArray[np.intp]:
    """Positions of the labels of a chunk among the classes."""
    classes, y = np.asarray(labels), chunk_labels(chunk, labels)
    found = np.searchsorted(classes, y)
    wrong = (found == len(classes)) | (classes[np.minimum(found, len(classes) - 1)] != y)
    if wrong.any():
        raise invalid("y", f"hold the classes {list(labels)}", y[wrong][0], f"See {path}.")
    return np.asarray(found)


def _part_shape(about: dict[str, Any], position: int) -> tuple[int, int]:
    shape = load_part(about, position)[0].shape
    return int(shape[0]), int(shape[1])


def _held_out(
    fitted: Any, parts: Parts, about: dict[str, Any], positions: Sequence[int], rows: int
) -> tuple[Floats, NDArray[np.intp], int]:
    """Probabilities and codes of parts that no tree was grown on, and the columns of a row."""
    proba, truths, width, done = [], [], 0, 0
    for i in positions:
        part = parts.files[i]
        for chunk in parts.part_chunks(part, rows, about["reading"], about["options"]) if done < MOST_ROWS else ():
            X = np.asarray(numbers_of(chunk), dtype=np.float32)
            width = X.shape[1]
            proba.append(np.asarray(fitted.predict_proba(X), dtype=np.float64))
            truths.append(_codes(chunk, about["classes"], part.path))
            done += len(X)
            if done >= MOST_ROWS:
                break
    if not truths:
        raise invalid("parts", "hold rows to calibrate with", [parts.files[i].name for i in positions])
    return np.concatenate(proba), np.concatenate(truths), width
