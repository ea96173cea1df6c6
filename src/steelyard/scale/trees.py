"""Boosted trees over the workers of a cluster: LightGBM's and XGBoost's own training, behind our costs.

Tested in ``tests/cluster/test_trees.py``.

Rows are weighted by what their mistakes cost, probabilities are calibrated on parts that no tree was grown on, and
answers are those of least expected cost. Bits are not kept: they change with the number of workers, and between two
runs on equal ones. ``work`` keeps nothing inside a fit; a lost worker starts it again.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.frozen import FrozenEstimator

from ..costs import Costs, as_costs
from ..data import Parts
from ..decision import ExpectedCostClassifier
from ..decision.blending import BlendClassifier
from ..decision.calibration import CalibratedClassifier
from ..errors import ClusterLost
from ..validation.values import invalid, require
from .dask import ClusterExecutor
from .job import part_entry, restore_part
from .lanes import chunk_labels
from .rows import numbers_of

Floats = NDArray[np.float64]
LIBRARIES = {"LGBMClassifier": "lightgbm", "XGBClassifier": "xgboost"}
EVERY = 10  # of so many parts one is kept for the calibration
TRIES = 3  # fits that a lost worker may end
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
    fitted = _fit_again(lambda: _grow(estimator, about, grown, executor.client), executor)
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


def _fit_again(fit: Any, executor: ClusterExecutor) -> Any:
    """A fit, started anew if it failed and workers were lost meanwhile."""
    for attempt in range(TRIES):
        before = set(executor.client.nthreads())
        try:
            return fit()
        except Exception as error:
            gone = before - set(executor.client.nthreads())
            if not gone:
                raise
            if attempt + 1 == TRIES:
                raise ClusterLost(
                    f"the cluster at {executor.address} lost workers in each of {TRIES} fits of trees. Run the same "
                    "call again on workers that stay."
                ) from error
            warnings.warn(f"workers were lost ({', '.join(sorted(gone))}); the trees are grown anew", stacklevel=4)
    raise AssertionError("unreachable")


def _grow(estimator: Any, about: dict[str, Any], positions: Sequence[int], client: Any) -> Any:
    """The estimator fitted on these parts by all workers, as a local one over the codes of the classes."""
    array: Any = require("dask.array", extra="scale-trees", why="Trees on a cluster")
    dask: Any = require("dask", extra="scale-trees", why="Trees on a cluster")
    require("dask.dataframe", extra="scale-trees", why="Trees on a cluster")
    shapes = client.gather(client.map(_part_shape, [about] * len(positions), positions, pure=False))
    loaded = [dask.delayed(load_part, nout=3)(about, i) for i in positions]

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
    parts, classes = Parts.of_files([part], about["format"]), np.asarray(about["classes"])
    rows, codes = [], []
    for chunk in parts.part_chunks(part, 1 << 16, about["reading"], about["options"]):
        rows.append(np.asarray(numbers_of(chunk), dtype=np.float32))
        y = chunk_labels(chunk, about["classes"])
        found = np.searchsorted(classes, y)
        wrong = (found == len(classes)) | (classes[np.minimum(found, len(classes) - 1)] != y)
        if wrong.any():
            raise invalid("y", f"hold the classes {about['classes']}", y[wrong][0], f"See {part.path}.")
        codes.append(found)
    code = np.concatenate(codes).astype(np.int64)
    return np.concatenate(rows), code, np.asarray(about["weights"])[code]


def _part_shape(about: dict[str, Any], position: int) -> tuple[int, int]:
    shape = load_part(about, position)[0].shape
    return int(shape[0]), int(shape[1])


def _held_out(
    fitted: Any, parts: Parts, about: dict[str, Any], positions: Sequence[int], rows: int
) -> tuple[Floats, NDArray[np.intp], int]:
    """Probabilities and codes of parts that no tree was grown on, and the columns of a row."""
    proba, truths, width = [], [], 0
    for i in positions:
        for chunk in parts.part_chunks(parts.files[i], rows, about["reading"], about["options"]):
            X = np.asarray(numbers_of(chunk), dtype=np.float32)
            width = X.shape[1]
            proba.append(np.asarray(fitted.predict_proba(X), dtype=np.float64))
            truths.append(np.searchsorted(np.asarray(about["classes"]), chunk_labels(chunk, about["classes"])))
            if sum(map(len, truths)) >= MOST_ROWS:
                break
    if not truths:
        raise invalid("parts", "hold rows to calibrate with", [parts.files[i].name for i in positions])
    return np.concatenate(proba), np.concatenate(truths), width
