"""Trees over the workers of a cluster, behind our costs."""

import itertools
import os
import signal
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from lightgbm import LGBMClassifier
from sklearn.base import clone

from steelyard import ClusterLost, Costs, InvalidInputError, executors, mean_cost
from steelyard.data import Parts
from steelyard.scale import dask as dask_module
from steelyard.scale import fit_parts, on_dask, trees
from steelyard.scale.trees import class_weights, grows_on_a_cluster

distributed = pytest.importorskip("distributed", reason="distributed is not installed (extra scale)")
pytest.importorskip("dask.dataframe", reason="dask.dataframe is not installed (extra scale-trees)")

RNG = np.random.default_rng(8)
X = RNG.normal(size=(900, 3))
Y = np.where(X[:, 0] * X[:, 1] + 0.3 * RNG.normal(size=900) > 0.3, "bad", "good")
COSTS = Costs.binary(fn=5, fp=1, classes=["good", "bad"], positive="bad")
MODEL = LGBMClassifier(n_estimators=20, min_child_samples=5, verbose=-1, random_state=0)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("parts")
    for i in range(3):
        rows = zip(X[300 * i : 300 * i + 300], Y[300 * i : 300 * i + 300], strict=True)
        lines = [",".join([*map(repr, map(float, x)), y]) for x, y in rows]
        (made / f"part-{i}.csv").write_text("\n".join(["a,b,c,y", *lines, ""]))
    (made / "part-1b.csv").write_text("a,b,c,y\n")  # of an hour in which nothing came
    return made


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    options: Any = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": "127.0.0.1:0", "processes": True}
    with (
        distributed.LocalCluster(host="127.0.0.1", **options) as cluster,
        distributed.Client(cluster, set_as_default=False) as made,  # as a cluster that is given by its address
    ):
        yield made


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A cluster that is there answers at last, and its nannies start workers, however slow or loaded the machine is."""
    for module, name in ((executors, "PATIENCE"), (dask_module, "PATIENCE"), (trees, "PATIENCE"), (trees, "WAIT")):
        monkeypatch.setattr(module, name, 300)


@pytest.mark.filterwarnings("ignore")  # of the libraries and dask, about each other
@pytest.mark.parametrize("library", ["lightgbm", "xgboost"])
def test_trees_on_two_workers_decide_by_expected_cost(folder: Path, client: Any, library: str) -> None:
    model = MODEL if library == "lightgbm" else xgboost_model()
    with on_dask(client) as executor:
        found = fit_parts(model, folder, target="y", costs=COSTS, executor=executor)
    assert found.bits_reproducible_ is False
    assert found.calibrated_on_ == ["part-2.csv"]
    paid = mean_cost(Y, found.predict(X), costs=COSTS)
    constant = min(mean_cost(Y, np.full(900, label), costs=COSTS) for label in ("good", "bad"))
    assert paid < 0.7 * constant
    proba = found.predict_proba(X[600:])[:, list(found.classes_).index("bad")]
    assert proba.mean() == pytest.approx(np.mean(Y[600:] == "bad"), abs=0.05)  # calibrated, though rows were weighted
    assert (found.predict(X, costs=Costs.binary(fn=1, fp=50, classes=["good", "bad"])) == "bad").sum() < 300


def xgboost_model() -> Any:
    found = pytest.importorskip("xgboost", reason="xgboost is not installed (extra scale-trees)")
    return found.XGBClassifier(n_estimators=20, max_depth=4, random_state=0)


@pytest.mark.filterwarnings("ignore")
def test_what_trees_cannot_use_is_refused(folder: Path, client: Any) -> None:
    with on_dask(client) as executor:
        with pytest.raises(InvalidInputError, match="costs must be the same for all rows for trees"):
            fit_parts(MODEL, folder, target="y", costs="fn=a,fp=1", executor=executor)
        with pytest.raises(InvalidInputError, match="be two or more, since one is kept for the calibration"):
            fit_parts(MODEL, folder / "part-0.csv", target="y", executor=executor)


@pytest.mark.filterwarnings("ignore")
def test_parts_without_named_columns_are_refused(tmp_path: Path, client: Any) -> None:
    for i in range(2):
        (tmp_path / f"{i}.svm").write_text("1 1:1\n-1 1:2\n" * 20)
    words = r"parts must have named columns for LGBMClassifier on a cluster; got 'LIBSVM'\. Fit on a sample"
    with on_dask(client) as executor, pytest.raises(InvalidInputError, match=words):
        fit_parts(MODEL, tmp_path, executor=executor)


class Sure:
    """Fitted trees that are sure of the first class."""

    def predict_proba(self, rows: Any) -> Any:
        return np.tile([0.9, 0.1], (len(rows), 1))


def test_labels_that_calibration_does_not_know_are_named(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between two classes or behind both they would have been taken for one of them."""
    parts = Parts(folder)
    about: Any = {"reading": parts.reading({"target": "y"}), "options": {"target": "y"}, "classes": ["bad", "good"]}
    proba, truths, width = trees._held_out(Sure(), parts, about, [0, 3], 100)
    assert (proba.shape, width) == ((600, 2), 3)
    assert truths.tolist() == (np.concatenate([Y[:300], Y[600:]]) == "good").astype(int).tolist()
    for classes in (["aft", "good"], ["bad", "fair"]):
        with pytest.raises(InvalidInputError, match=r"y must hold the classes .*; got .* See .*part-0\.csv"):
            trees._held_out(Sure(), parts, about | {"classes": classes}, [0], 100)
    monkeypatch.setattr(trees, "MOST_ROWS", 100)
    assert len(trees._held_out(Sure(), parts, about, [0, 3], 60)[1]) == 120  # of the first part alone


def test_trees_need_a_cluster(folder: Path) -> None:
    assert grows_on_a_cluster(MODEL)
    with pytest.raises(InvalidInputError, match=r"executor must be a Dask cluster for LGBMClassifier.*sample="):
        fit_parts(MODEL, folder, target="y")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("killed", [1, 2])
def test_a_fit_is_begun_anew_when_workers_are_killed(
    folder: Path, client: Any, killed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One of two, whose peer waits for it or keeps broken connections, or both, whose shares no other may take."""
    monkeypatch.setattr(trees, "STUCK", 2)
    monkeypatch.setattr(trees, "_grow", first_without_end(trees._grow))
    client.wait_for_workers(2, timeout=300)
    with ThreadPoolExecutor(1) as thread:
        killing = thread.submit(kill_while_training, client, killed)
        with (
            on_dask(client) as executor,
            pytest.warns(UserWarning, match="workers were lost .* the trees are grown anew"),
        ):
            found = fit_parts(MODEL, folder, target="y", costs=COSTS, executor=executor)
        assert len(killing.result()) == killed
    assert found.bits_reproducible_ is False


def first_without_end(grow: Any) -> Any:
    """The fit, of which the first one takes minutes: it cannot end before its workers are killed."""
    sizes = itertools.chain([{"n_estimators": 100_000, "learning_rate": 1e-6}], itertools.repeat({}))
    return lambda estimator, *given: grow(clone(estimator).set_params(**next(sizes)), *given)


def kill_while_training(client: Any, count: int) -> list[str]:
    running = client.run(os.getpid)
    until = time.monotonic() + 300
    while time.monotonic() < until:
        training = [where for where, keys in client.processing().items() if any("_train" in str(key) for key in keys)]
        if len(training) == 2:
            for worker in training[:count]:
                os.kill(running[worker], signal.SIGKILL)
            return training[:count]
        time.sleep(0.01)
    raise TimeoutError("no two workers trained at once for 300 s")


class ClusterOf:
    """A cluster as trees see it, of workers that get fewer by one with each fit."""

    address, security = "tcp://here", None

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *, losing: bool, workers: int = 9) -> None:
        self.client, self.left, self.losing, self.fits = self, workers, losing, 0
        monkeypatch.setattr(distributed, "Client", lambda *_, **__: self)
        monkeypatch.setattr(trees, "_forget_peers", lambda _: None)
        monkeypatch.setattr(trees, "LOOK", 0.001)

    def close(self, timeout: int) -> None: ...

    def wait_for_workers(self, _: int, timeout: int) -> None:
        if not self.left:
            raise TimeoutError

    def nthreads(self) -> dict[str, int]:
        return {f"worker {i}": 1 for i in range(self.left)}

    def fit(self, failing: int) -> str:
        self.fits += 1
        if self.fits <= failing:
            self.left -= self.losing
            raise OSError(104, "connection reset")
        return "fitted"


def fitted_again(cluster: Any, failing: int) -> Any:
    return trees._fit_again(lambda client: client.fit(failing), cluster)


def test_a_fit_that_keeps_losing_workers_ends_in_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.warns(UserWarning, match="the trees are grown anew"):
        assert fitted_again(ClusterOf(monkeypatch, losing=True), 1) == "fitted"
    with pytest.raises(ClusterLost, match="in each of 3 fits"), pytest.warns(UserWarning, match="grown anew"):
        fitted_again(ClusterOf(monkeypatch, losing=True), trees.TRIES)
    with pytest.raises(OSError, match="connection reset"):
        fitted_again(ClusterOf(monkeypatch, losing=False), 1)
    with pytest.raises(ClusterLost, match="must have a worker; got none for 300 s"):
        fitted_again(ClusterOf(monkeypatch, losing=True, workers=0), 0)


def test_weights_are_what_mistakes_cost() -> None:
    np.testing.assert_allclose(class_weights(COSTS, np.array(["bad", "good"])), [10 / 6, 2 / 6])
    with pytest.raises(InvalidInputError, match="make every mistake cost more"):
        class_weights(Costs.binary(fn=5, fp=0, classes=[0, 1]), np.array([0, 1]))
