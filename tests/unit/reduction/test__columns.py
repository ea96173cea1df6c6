import numpy as np
import pytest
from scipy import sparse

from steelyard import (
    AllPairsClassifier,
    FilterTreeClassifierCV,
    InvalidInputError,
    OneSidedClassifier,
    OneSidedClassifierCV,
)
from steelyard.reduction._learners import Solutions

pytestmark = pytest.mark.kernel

rng = np.random.default_rng(1)
Y = np.repeat([0, 1, 2], 20)
X = rng.normal(size=(60, 2)) + Y[:, None]
COSTS = [[0, 1, 9], [2, 0, 1], [1, 4, 0]]
SMALL = 0.01  # MB: less than the Gram matrix of 60 rows


@pytest.mark.parametrize("cls", [OneSidedClassifier, AllPairsClassifier])
def test_the_same_machines_in_less_memory(cls: type) -> None:
    fine = {"costs": COSTS, "lam": 0.5, "tol": 1e-7, "dtype": "float64", "kernel": "rbf"}
    whole, columns = cls(**fine).fit(X, Y), cls(**fine, cache_mb=SMALL).fit(X, Y)
    assert isinstance(columns.solution_, Solutions)
    np.testing.assert_allclose(whole.solution_.scores(X), columns.solution_.scores(X), atol=1e-5)
    thin = cls(**fine, cache_mb=SMALL).fit(sparse.csr_array(X), Y)
    np.testing.assert_allclose(whole.solution_.scores(X), thin.solution_.scores(sparse.csr_array(X)), atol=1e-5)


@pytest.mark.parametrize("cls", [OneSidedClassifierCV, FilterTreeClassifierCV])
def test_the_same_choice_of_lam(cls: type) -> None:
    settings = {"costs": COSTS, "lams": [100.0, 1.0, 0.01], "tol": 1e-7, "dtype": "float64"}
    if cls is FilterTreeClassifierCV:
        settings["random_state"] = 0
    whole, columns = cls(**settings).fit(X, Y), cls(**settings, cache_mb=SMALL).fit(X, Y)
    np.testing.assert_allclose(whole.cv_costs_, columns.cv_costs_, atol=1e-9)
    assert (whole.predict(X) == columns.predict(X)).all()


def test_cache_must_be_positive() -> None:
    with pytest.raises(InvalidInputError, match="cache_mb must be a finite number > 0"):
        OneSidedClassifier(cache_mb=0).fit(X, Y)
