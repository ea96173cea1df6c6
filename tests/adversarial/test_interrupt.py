"""Ctrl-C in the middle of a fit: every native solver stops long before its end, and the estimator is as it was.

A child process starts a fit that would take minutes and gets SIGINT when it has been at work for a while. The time
limit is there for the case that it does not stop; nothing else is timed.
"""

import os
import pickle
import select
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import public_rules
import pytest
from scipy import sparse

from steelyard import (
    AROW,
    CSOGD2,
    AdaC2M1Classifier,
    C45Classifier,
    Costs,
    CSLDMClassifier,
    CSSVMClassifier,
    OneSidedClassifier,
    OnlineClassifier,
    OnlineCostClassifier,
    StreamScaler,
    UpdateRule,
    read_libsvm,
)
from steelyard import _native as native
from steelyard._native import DeadlineReached, set_deadline
from steelyard.margin.ldm import lapack

pytestmark = [
    pytest.mark.kernel,
    pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="reads the processor time of a child from /proc"),
]
TICK = os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 100
AT_WORK = 0.5  # seconds of processor time in the fit before the signal
LIMIT = 300.0  # seconds: hang protection, on a machine of any load
rng = np.random.default_rng(0)


def noise(n: int, d: int, classes: int = 2) -> tuple[Any, Any]:
    """Labels that nothing explains keep every solver busy."""
    return rng.normal(size=(n, d)), rng.integers(0, classes, n)


def weak(n: int, d: int) -> tuple[Any, Any]:
    """Labels that a tree explains a little, at any depth."""
    X = rng.normal(size=(n, d))
    return X, (X.sum(axis=1) + 3 * rng.normal(size=n) > 0).astype(int)


CASES: dict[str, tuple[Callable[[], Any], Callable[[], tuple[Any, Any]]]] = {
    "SVM": (lambda: CSSVMClassifier(1e4, "rbf", costs=Costs.binary(fn=2, fp=1)), lambda: noise(20_000, 20)),
    "one-sided": (lambda: OneSidedClassifier(kernel="rbf", lam=1e-6), lambda: noise(12_000, 20, 4)),
    "C4.5": (lambda: C45Classifier(), lambda: weak(200_000, 60)),
    "kernel LDM": (lambda: CSLDMClassifier(1e6, kernel="rbf", gamma=0.01, tol=1e-14), lambda: noise(700, 10)),
    "decomposition": (lambda: CSLDMClassifier(kernel="rbf", gamma=0.01), lambda: noise(3_000, 10)),
    "linear LDM": (
        lambda: CSLDMClassifier(solver="sdca", max_iter=1_000_000, tol=1e-14, random_state=0),
        lambda: noise(20_000, 200),
    ),
    "boosting": (lambda: AdaC2M1Classifier(n_estimators=100_000), lambda: weak(20_000, 30)),
}


def processor_seconds(pid: int) -> float:
    user, system = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / TICK


def interrupted(work: Callable[[], Any], unchanged: Callable[[], bool]) -> str:
    """What became of ``work`` in a child that got SIGINT while at it."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        os.write(writing, b"+")
        try:
            work()
            said = "finished"
        except KeyboardInterrupt:
            said = "stopped" if unchanged() else "changed"
        except BaseException as error:
            said = f"{type(error).__name__}: {error}"
        os.write(writing, said.encode())
        os._exit(0)
    os.close(writing)
    try:
        os.read(reading, 1)
        started, end = processor_seconds(pid), time.monotonic() + LIMIT
        while processor_seconds(pid) < started + AT_WORK and not select.select([reading], [], [], 0.02)[0]:
            assert time.monotonic() < end, "the child does not run"
        os.kill(pid, signal.SIGINT)
        heard = select.select([reading], [], [], LIMIT)[0]
        return os.read(reading, 1000).decode() if heard else "did not stop"
    finally:
        os.close(reading)
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


@pytest.mark.parametrize("case", CASES)
def test_a_fit_stops_and_the_estimator_is_as_it_was(case: str) -> None:
    make, data = CASES[case]
    model, (X, y) = make(), data()
    before = dict(vars(model))
    assert interrupted(lambda: model.fit(X, y), lambda: vars(model) == before) == "stopped"


def test_an_endless_call_of_lapack_is_left_alone() -> None:
    """A decomposition looks at no signal itself: only its being left alone can end this one."""
    assert interrupted(lambda: lapack.abandonable(busy_for_ever, 1_000), lambda: True) == "stopped"


def busy_for_ever() -> None:
    while True:
        rng.normal(size=100_000)


@pytest.mark.parametrize("bits", [32, 64])
@pytest.mark.usefixtures("no_time_left")
def test_the_steps_of_the_svm_solver_look_at_the_clock_themselves(bits: int) -> None:
    """The kernel is there already and the examples are few: no other loop on the way has enough work to look."""
    n, dtype = 192, {32: np.float32, 64: np.float64}[bits]
    X, codes = noise(n, 3)
    sign = 2.0 * codes - 1.0
    gram = np.exp(-0.5 * ((X[:, None] - X) ** 2).sum(axis=2)).astype(dtype)
    box = -sign, np.where(sign > 0, 0.0, -1e6), np.where(sign > 0, 1e6, 0.0)
    solver = getattr(native, f"svm_on_gram{bits}")(gram, np.arange(n), *box, 1e-6)
    with pytest.raises(DeadlineReached):
        solver.run(10**9)
    with pytest.raises(RuntimeError, match="was interrupted and holds no solution"):
        solver.run(1)


STREAMS: dict[str, tuple[Callable[[], Any], Callable[[], tuple[Any, Any]]]] = {
    "full covariance": (lambda: OnlineClassifier(AROW(full=True)), lambda: noise(4_000, 1_500)),
    "many classes": (lambda: OnlineCostClassifier(CSOGD2(1e-6)), lambda: noise(20_000, 250, 1_000)),
}


@pytest.mark.parametrize("case", STREAMS)
def test_a_pass_stops_and_the_stream_is_as_it_was(case: str) -> None:
    make, data = STREAMS[case]
    X, y = data()
    y[: len(np.unique(y))] = np.unique(y)
    model = make().partial_fit(X[:20], y[:20], classes=np.unique(y))
    before = pickle.dumps(model.state())
    said = interrupted(lambda: model.partial_fit(X, y), lambda: pickle.dumps(model.state()) == before)
    assert said == "stopped"


@pytest.fixture
def no_time_left() -> Iterator[None]:
    set_deadline(0.0)
    yield
    set_deadline(float("inf"))


@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("rule", public_rules.public(UpdateRule), ids=lambda cls: cls.__name__)
def test_no_rule_changes_the_stream_when_stopped(
    rule: type[UpdateRule], kind: Callable[[Any], Any], fit_intercept: bool
) -> None:
    X, y = noise(4_000, 100)  # more numbers than there are between two looks at the clock
    model = OnlineClassifier(rule(), fit_intercept=fit_intercept and not rule.has_bias).fit(X[:50], y[:50])
    before = pickle.dumps(model.state())
    set_deadline(0.0)
    try:
        with pytest.raises(DeadlineReached):
            model.partial_fit(kind(X), y)
        with pytest.raises(DeadlineReached):
            model.decision_function(kind(X))
    finally:
        set_deadline(float("inf"))
    assert pickle.dumps(model.state()) == before
    assert model.partial_fit(kind(X), y).n_rounds_ == 4_050


@pytest.mark.parametrize("case", [*CASES, "many classes"])
@pytest.mark.usefixtures("no_time_left")
def test_a_deadline_stops_every_solver(case: str) -> None:
    make, data = {**CASES, **STREAMS}[case]
    model, (X, y) = make(), data()
    before = dict(vars(model))
    with pytest.raises(DeadlineReached):
        model.fit(X, y)
    assert vars(model) == before


@pytest.mark.usefixtures("no_time_left")
def test_a_scaler_and_a_reader_stop_too(tmp_path: Path) -> None:
    X, y = noise(4_000, 100)
    scaler = StreamScaler()
    with pytest.raises(DeadlineReached):
        scaler.fit(X)
    assert not hasattr(scaler, "mean_")
    path = tmp_path / "rows.libsvm"
    path.write_text("\n".join(f"{label} " + " ".join(f"{k + 1}:0.5" for k in range(100)) for label in y))
    with pytest.raises(DeadlineReached):
        read_libsvm(path)
