"""Stream measures: every prefix against the plain measure, push and push-and-query."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import metrics
from sklearn.metrics import accuracy_score, balanced_accuracy_score

import steelyard as sy
from steelyard.evaluate import streams
from steelyard.evaluate._measure_forms import MEASURES

OURS = list(MEASURES.values())
FORMS = [*OURS, accuracy_score, balanced_accuracy_score]

few = settings(max_examples=25)


def make_trace(y, prediction, queried) -> sy.Trace:  # type: ignore[no-untyped-def]
    n = len(y)
    return sy.Trace(np.zeros(n), np.asarray(prediction), np.asarray(queried, dtype=bool), np.ones(n), np.asarray(y))


@st.composite
def traces(draw, labels=(-1, 1)):  # type: ignore[no-untyped-def]
    n = draw(st.integers(1, 20))
    column = st.lists(st.sampled_from(labels), min_size=n, max_size=n)
    queried = draw(st.lists(st.booleans(), min_size=n, max_size=n))
    return make_trace(draw(column), draw(column), queried)


@pytest.mark.filterwarnings("ignore:y_pred contains classes not in y_true", "ignore:A single label was found")
@pytest.mark.parametrize("measure", FORMS, ids=lambda m: m.__name__)
@few
@given(traces())
def test_every_prefix_is_the_measure_of_the_prefix(measure, trace) -> None:
    more = {"classes": [-1, 1]} if measure in OURS else {}
    expected = [measure(trace.y[:t], trace.prediction[:t], **more) for t in range(1, len(trace.y) + 1)]
    assert sy.prequential_curve(measure, trace, classes=[-1, 1]) == pytest.approx(expected)
    assert sy.prequential_score(measure, trace, classes=[-1, 1]) == pytest.approx(expected[-1])


@few
@given(traces(), st.sampled_from([-1, 1]))
def test_push_and_query_shows_the_asked_as_positive(trace, positive) -> None:
    shown = np.where(trace.queried, positive, trace.prediction)
    theirs = [
        metrics.f1_score(trace.y[:t], shown[:t], pos_label=positive, labels=[-1, 1], zero_division=0)
        for t in range(1, len(shown) + 1)
    ]
    ours = sy.prequential_curve(sy.f_score, trace, shown="push_and_query", positive=positive, classes=[-1, 1])
    assert ours == pytest.approx(theirs)
    push = sy.prequential_curve(sy.f_score, trace, positive=positive, classes=[-1, 1])
    assert push[-1] == pytest.approx(sy.f_score(trace.y, trace.prediction, positive=positive, classes=[-1, 1]))
    recall = [
        sy.prequential_score(sy.sensitivity_score, trace, shown=s, classes=[-1, 1]) for s in ("push", "push_and_query")
    ]
    assert recall[1] >= recall[0]


def test_costs_per_example_and_weights_of_measures() -> None:
    trace = make_trace(["n", "p", "p"], ["p", "n", "p"], [False] * 3)
    costs = sy.Costs.binary(fn=[5.0, 7.0, 9.0], fp=[1.0, 2.0, 3.0], classes=["n", "p"])
    assert sy.prequential_curve(sy.total_cost, trace, costs=costs).tolist() == [1, 8, 8]
    assert sy.prequential_curve(sy.mean_cost, trace, costs=costs) == pytest.approx([1, 4, 8 / 3])
    assert sy.prequential_curve(sy.weighted_sum_score, trace, eta_pos=0.8) == pytest.approx([0, 0, 0.4])


def test_rounds_can_be_chosen_and_chunks_do_not_show(monkeypatch) -> None:  # type: ignore[no-untyped-def]
    draw = np.random.default_rng(0)
    trace = make_trace(draw.integers(0, 2, 100), draw.integers(0, 2, 100), draw.random(100) < 0.3)
    whole = sy.prequential_curve(sy.f_score, trace)
    monkeypatch.setattr(streams, "_CELLS", 7 * 4)
    assert sy.prequential_curve(sy.f_score, trace).tolist() == whole.tolist()
    assert sy.prequential_curve(sy.f_score, trace, at=[1, 7, 8, 50, 100]).tolist() == whole[[0, 6, 7, 49, 99]].tolist()


@pytest.mark.parametrize("at", [[0], [4], [2, 1], [1.5], [], [[1]]])
def test_rounds_that_are_not_there(at) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(sy.InvalidInputError, match="at must be rising whole numbers from 1 to 3"):
        sy.prequential_curve(sy.total_cost, make_trace([0, 1, 1], [0, 1, 0], [True] * 3), at=at)


def test_complaints() -> None:
    trace = make_trace([0, 1, 1], [0, 1, 0], [True] * 3)
    with pytest.raises(sy.InvalidInputError, match="shown must be one of 'push', 'push_and_query'; got 'PE'"):
        sy.prequential_curve(sy.total_cost, trace, shown="PE")
    with pytest.raises(sy.InvalidInputError, match="measure must be one of the functions"):
        sy.prequential_curve(max, trace)
