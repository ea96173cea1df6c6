"""Threads, forked and spawned processes: shared learners answer as one alone does, and lose no count."""

import multiprocessing
import os
import pickle
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from steelyard import CSOGD2, C45Classifier, Costs, CSSVMClassifier, OnlineClassifier, load_model
from steelyard.errors import StateError
from steelyard.files import lock_file, write_atomically

RNG = np.random.default_rng(4)
X = RNG.normal(size=(400, 5))
Y = (X[:, 0] + 0.5 * RNG.normal(size=400) > 0).astype(int)
THREADS = 4
MODELS = {
    "tree": lambda: C45Classifier(),
    "machine": lambda: CSSVMClassifier(costs=Costs.binary(fn=5, fp=1)),
    "online": lambda: OnlineClassifier(CSOGD2(0.1), costs=Costs.binary(fn=5, fp=1)),
}


def together(job: Callable[[int], Any]) -> list[Any]:
    """The job in several threads that start at the same moment; an error in any is raised here."""
    gate = threading.Barrier(THREADS)

    def started(k: int) -> Any:
        gate.wait()
        return job(k)

    with ThreadPoolExecutor(THREADS) as pool:
        return list(pool.map(started, range(THREADS)))


@pytest.mark.parametrize("name", MODELS)
def test_threads_that_fit_and_predict_agree_with_one(name: str) -> None:
    alone = MODELS[name]().fit(X, Y)
    expected = alone.predict(X)
    for found in together(lambda k: MODELS[name]().fit(X, Y).predict(X)):
        np.testing.assert_array_equal(found, expected)
    for found in together(lambda k: alone.predict(X)):
        np.testing.assert_array_equal(found, expected)


def test_threads_on_one_online_learner_lose_no_row() -> None:
    model = OnlineClassifier(CSOGD2(0.1)).start(5, [0, 1])

    def learn(k: int) -> None:
        for start in range(0, len(X), 20):
            model.partial_fit(X[start : start + 20], Y[start : start + 20])

    together(learn)
    assert model.n_rounds_ == THREADS * len(X)
    assert np.isfinite(model.coef_).all()


def test_threads_that_write_one_file_leave_one_of_their_contents(tmp_path: Path) -> None:
    path = tmp_path / "shared"

    def write(k: int) -> None:
        for _ in range(20):
            with write_atomically(path) as file:
                file.write(bytes([k]) * 5000)
            content = path.read_bytes()
            assert len(content) == 5000
            assert len(set(content)) == 1

    together(write)
    assert [p.name for p in tmp_path.iterdir()] == ["shared"]


def test_of_threads_that_want_one_lock_one_has_it(tmp_path: Path) -> None:
    inside: list[int] = []

    def take(k: int) -> bool:
        try:
            with lock_file(tmp_path / "s"):
                inside.append(k)
                assert len(inside) == 1
                inside.remove(k)
                return True
        except StateError:
            return False

    assert any(together(take))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
@pytest.mark.parametrize("name", MODELS)
def test_a_forked_child_goes_on_with_the_same_bits(name: str) -> None:
    model = MODELS[name]().fit(X, Y)  # kernels and their threads are in use before the fork
    expected = model.predict(X), MODELS[name]().fit(X[:200], Y[:200]).predict(X)
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            found = model.predict(X), MODELS[name]().fit(X[:200], Y[:200]).predict(X)
            with open(writing, "wb") as out:
                pickle.dump(found, out)
        finally:
            os._exit(0)
    os.close(writing)
    with open(reading, "rb") as answers:
        found = pickle.load(answers)
    assert os.waitpid(child, 0)[1] == 0
    for ours, theirs in zip(expected, found, strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_a_spawned_process_reads_what_was_saved(tmp_path: Path) -> None:
    model = OnlineClassifier(CSOGD2(0.1)).fit(X, Y)
    model.save(tmp_path / "m.steelyard")
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        found = pool.apply(load_model, (tmp_path / "m.steelyard",))
    np.testing.assert_array_equal(found.coef_, model.coef_)
    assert found.n_rounds_ == model.n_rounds_
