import numpy as np
import pytest

from steelyard import (
    AskAsymmetric,
    AskFirst,
    InvalidInputError,
    OnlineClassifier,
    OnlineCostClassifier,
    Perceptron,
    f_score,
    tune_stream,
)

RNG = np.random.default_rng(0)
X = RNG.normal(size=(120, 4))
Y = (X[:, 0] + 0.5 * RNG.normal(size=120) > 0.7).astype(int)
MODEL = OnlineClassifier(Perceptron(), query=AskAsymmetric(c_pos=0.1, c_neg=0.1), budget=20)
GRID = {"query__c_pos": [0.01, 1.0], "threshold": [-0.5, 0.0, 0.5]}


def test_the_table_is_that_of_passes_by_hand() -> None:
    found = tune_stream(MODEL, GRID, X, Y, runs=3, random_state=4)
    assert len(found.table_) == 6
    known = np.random.default_rng(4).permutation(120)[:80]
    rows = known[np.random.default_rng([4, 1]).permutation(80)]
    for entry in found.table_:
        query = AskAsymmetric(c_pos=entry["params"]["query__c_pos"], c_neg=0.1)
        model = OnlineClassifier(Perceptron(), query=query, budget=20, threshold=entry["params"]["threshold"], seed=5)
        trace = model.run(X[rows], Y[rows])
        assert entry["values"][1] == pytest.approx(f_score(Y[rows], trace.prediction))
        assert entry["mean"] == pytest.approx(np.mean(entry["values"]))
        assert entry["standard_error"] == pytest.approx(np.std(entry["values"], ddof=1) / 3**0.5)
    assert found.best_params_ == max(found.table_, key=lambda entry: entry["mean"])["params"]


def test_the_rest_is_not_looked_at_until_the_choice_is_made() -> None:
    rest = np.random.default_rng(0).permutation(120)[80:]
    poisoned = Y.copy()
    poisoned[rest] = 1 - poisoned[rest]
    found, other = tune_stream(MODEL, GRID, X, Y, runs=2), tune_stream(MODEL, GRID, X, poisoned, runs=2)
    assert [entry["values"] for entry in found.table_] == [entry["values"] for entry in other.table_]
    np.testing.assert_array_equal(found.trace_.y, Y[rest])
    assert len(found.trace_.y) == 40
    assert not np.array_equal(found.trace_.y, other.trace_.y)


def test_push_and_query_and_costs_have_their_own_best() -> None:
    both = {shown: tune_stream(MODEL, GRID, X, Y, runs=2, shown=shown).table_ for shown in ("push", "push_and_query")}
    assert both["push"] != both["push_and_query"]
    costs = tune_stream(
        OnlineClassifier(Perceptron(), costs={0: 1, 1: 5}), {"threshold": [0.0, 9.0]}, X, Y, runs=2, measure="mean_cost"
    )
    assert costs.best_params_ == min(costs.table_, key=lambda entry: entry["mean"])["params"]


def test_rules_themselves_can_be_chosen_and_the_estimator_stays_as_it_was() -> None:
    before = MODEL.get_params()
    found = tune_stream(MODEL, {"query": [AskFirst(), AskAsymmetric(c_pos=0.1, c_neg=0.1)]}, X, Y, runs=1)
    assert set(found.best_params_) == {"query"}
    assert MODEL.get_params() == before
    assert not hasattr(MODEL, "coef_")


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"measure": "auc"}, "measure must be one of"),
        ({"shown": "all"}, "shown must be one of"),
        ({"validation": 1.0}, "validation must be a finite number"),
        ({"runs": 0}, "runs must be a whole number"),
    ],
)
def test_bad_input_is_refused(given: dict[str, object], words: str) -> None:
    with pytest.raises(InvalidInputError, match=words):
        tune_stream(MODEL, GRID, X, Y, **given)  # type: ignore[arg-type]


def test_many_classes_are_told_how_to_be_measured() -> None:
    labels = np.arange(120) % 3
    with pytest.raises(InvalidInputError, match="measure must be 'g_mean' or 'mean_cost' with more than two classes"):
        tune_stream(OnlineCostClassifier(), {"fit_intercept": [True]}, X, labels)
    with pytest.raises(InvalidInputError, match="grid must leave out the seed"):
        tune_stream(MODEL, {"seed": [1, 2]}, X, Y)


def test_a_class_too_rare_for_the_validation_part_is_one() -> None:
    rest = np.random.default_rng(0).permutation(120)[80:]
    labels = np.arange(120) % 2
    labels[rest[0]] = 2
    found = tune_stream(
        OnlineCostClassifier(), {"fit_intercept": [True, False]}, X, labels, runs=1, measure="mean_cost"
    )
    assert found.best_estimator_.classes_.tolist() == [0, 1, 2]
