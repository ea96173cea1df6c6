"""Numbers near the ends of what a computer can hold: every estimator learns something finite or says what is wrong.

No warning of numpy's reaches the user on the way, and nothing hangs.
"""

import inspect
import warnings
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import get_tags

import steelyard
from steelyard import (
    Costs,
    CSLDMClassifier,
    ExpectedCostClassifier,
    FMeasureClassifier,
    OneSidedSVR,
    SteelyardError,
    rho_curves,
)

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 4))
Y = (X[:, 0] + 0.3 * RNG.normal(size=40) > 0).astype(int)
ROWS: dict[str, NDArray[Any]] = {
    "huge": X * 1e200,
    "at the end": np.where(X > 0, 1e308, -1e308),
    "huge for squares": X * 1e150,
    "tiny": X * 1e-200,
    "of all sizes": X * [1e160, 1e-160, 1.0, 1e30],
    "one of them huge": np.vstack([X[:-1], [[1e300] * 4]]),
    "huge for single precision": (X * 1e30).astype(np.float32),
}
WEIGHTS = {
    "huge": np.full(40, 1e300),
    "without a sum": np.full(40, 1.7e308),
    "tiny": np.full(40, 1e-300),
    "of all sizes": 10.0 ** RNG.uniform(-150, 150, 40),
    "all but one zero": np.eye(1, 40, 3)[0],
}
COSTS = {
    "wide": Costs.binary(fn=1e12, fp=1),
    "wider": Costs.binary(fn=1e300, fp=1e-300),
    "tiny": Costs.binary(fn=1e-300, fp=1e-300),
}
SOLVERS = [(solver, "linear") for solver in ("newton", "cd", "sdca", "asgd", "interior", "algorithm1", "greedy")]
SOLVERS += [("interior", "rbf"), ("greedy", "poly")]


def estimators() -> list[Any]:
    """One of each public estimator that predicts, its base learner our own, and one of each LDM solver."""
    public = [getattr(steelyard, name) for name in steelyard.__all__]
    ours = [cls() for cls in public if inspect.isclass(cls) and issubclass(cls, BaseEstimator)]
    foreign = (ExpectedCostClassifier, FMeasureClassifier)  # scikit-learn's logistic regression learns for them
    found = [one for one in ours if hasattr(one, "predict") and not isinstance(one, foreign)]
    return found + [CSLDMClassifier(solver=solver, kernel=kernel) for solver, kernel in SOLVERS]  # type: ignore[arg-type]


def name_of(estimator: Any) -> str:
    kind = type(estimator).__name__
    return f"{kind} {estimator.solver} {estimator.kernel}" if isinstance(estimator, CSLDMClassifier) else kind


def learns(given: Any, rows: Any, **also: Any) -> bool:
    """Whether the estimator learns, something finite then, or refuses, nothing learned then."""
    estimator = clone(given)
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        warnings.simplefilter("ignore", ConvergenceWarning)  # which says itself what to do
        try:
            estimator.fit(rows, Y, **also)
        except SteelyardError:
            assert not hasattr(estimator, "coef_")
            assert not hasattr(estimator, "dual_coef_")
            return False
        for method in {"predict", "decision_function", "predict_proba"} & set(dir(estimator)):
            answers = np.asarray(getattr(estimator, method)(rows))
            assert answers.dtype.kind != "f" or np.isfinite(answers).all(), method
    return True


@pytest.mark.parametrize("wrap", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("rows", ROWS)
@pytest.mark.parametrize("estimator", estimators(), ids=name_of)
def test_rows(estimator: Any, rows: str, wrap: Any) -> None:
    readable = wrap is np.asarray or get_tags(estimator).input_tags.sparse
    assert learns(estimator, wrap(ROWS[rows])) == readable or rows != "tiny"


@pytest.mark.parametrize("costs", COSTS)
@pytest.mark.parametrize("estimator", [e for e in estimators() if "costs" in e.get_params(deep=False)], ids=name_of)
def test_costs(estimator: Any, costs: str) -> None:
    assert learns(clone(estimator).set_params(costs=COSTS[costs]), X) or costs == "wider"


@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize(
    "estimator",
    [
        e
        for e in estimators()
        if "sample_weight" in inspect.signature(e.fit).parameters and not isinstance(e, OneSidedSVR)
    ],
    ids=name_of,
)
def test_weights(estimator: Any, weights: str) -> None:
    assert not (learns(estimator, X, sample_weight=WEIGHTS[weights]) and weights == "without a sum")


@pytest.mark.parametrize("rows", ["huge", "at the end"])
def test_curves_of_the_large_margin_machine(rows: str) -> None:
    with pytest.raises(SteelyardError, match="Scale the features"):
        rho_curves(CSLDMClassifier(), ROWS[rows], Y, rhos=[0.0, 1.0])


def test_a_chunk_that_outgrows_the_stream_leaves_it_as_it_was() -> None:
    model = CSLDMClassifier(solver="asgd", random_state=0).partial_fit(X, Y)
    before = model.decision_function(X)
    with pytest.raises(SteelyardError, match=r"^objective must stay finite; got 'an overflow'. Scale the features"):
        model.partial_fit(ROWS["huge"], Y)
    np.testing.assert_array_equal(model.decision_function(X), before)
    np.testing.assert_array_equal(
        model.partial_fit(X, Y).coef_,
        CSLDMClassifier(solver="asgd", random_state=0).partial_fit(X, Y).partial_fit(X, Y).coef_,
    )
