"""Every measure against a direct reading of its definition, and against scikit-learn and imbalanced-learn."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import metrics
from sklearn.metrics import accuracy_score, balanced_accuracy_score

import steelyard as sy
from steelyard.evaluate._measure_forms import MEASURES, form_of
from steelyard.evaluate._predictions import read_predictions

OURS = list(MEASURES.values())
FORMS = [*OURS, accuracy_score, balanced_accuracy_score]

imblearn_metrics = pytest.importorskip("imblearn.metrics")

few = settings(max_examples=25)
NAMES = np.array(["ant", "bee", "cow", "dog"])


@st.composite
def answered(draw, min_classes=2, max_classes=4):  # type: ignore[no-untyped-def]
    """(K, truths, answers) as codes, every class among the truths."""
    K = draw(st.integers(min_classes, max_classes))
    n = draw(st.integers(0, 25))
    code = st.integers(0, K - 1)
    truth = [*range(K), *draw(st.lists(code, min_size=n, max_size=n))]
    answer = draw(st.lists(code, min_size=len(truth), max_size=len(truth)))
    return K, np.array(truth), np.array(answer)


def matrices(K: int):  # type: ignore[no-untyped-def]
    cell = st.floats(0.1, 100)
    return st.lists(cell, min_size=K * K, max_size=K * K).map(lambda v: np.array(v).reshape(K, K) * (1 - np.eye(K)))


@few
@given(answered(max_classes=2), st.floats(0, 1), st.floats(0.1, 5))
def test_two_class_measures_are_their_definitions(case, eta, beta) -> None:
    _, y, p = case
    tp, fn = sum((y == 1) & (p == 1)), sum((y == 1) & (p == 0))
    fp, tn = sum((y == 0) & (p == 1)), sum((y == 0) & (p == 0))
    assert sy.sensitivity_score(y, p) == pytest.approx(tp / (tp + fn))
    assert sy.specificity_score(y, p) == pytest.approx(tn / (tn + fp))
    assert sy.precision_score(y, p) == pytest.approx(metrics.precision_score(y, p, zero_division=0))
    assert sy.f_score(y, p, beta=beta) == pytest.approx(metrics.fbeta_score(y, p, beta=beta, zero_division=0))
    expected = eta * tp / (tp + fn) + (1 - eta) * tn / (tn + fp)
    assert sy.weighted_sum_score(y, p, eta_pos=eta) == pytest.approx(expected)
    assert sy.weighted_sum_score(y, p) == pytest.approx(metrics.balanced_accuracy_score(y, p))


@few
@given(answered())
def test_many_classes_against_the_libraries(case) -> None:
    K, y, p = case
    assert sy.g_mean_score(y, p) == pytest.approx(imblearn_metrics.geometric_mean_score(y, p))
    for k in range(K):
        recall = metrics.recall_score(y, p, labels=[k], average="macro", zero_division=0)
        assert sy.sensitivity_score(y, p, positive=k) == pytest.approx(recall)
        specificity = imblearn_metrics.specificity_score(y, p, labels=[k], average="macro")
        assert sy.specificity_score(y, p, positive=k) == pytest.approx(specificity)
    assert sy.mean_cost(y, p) == pytest.approx(1 - metrics.accuracy_score(y, p))


@few
@given(answered().flatmap(lambda case: st.tuples(st.just(case), matrices(case[0]))))
def test_costs_are_sums_of_table_entries(case) -> None:
    (K, y, p), C = case
    paid = np.array([C[t, a] for t, a in zip(y, p, strict=True)])
    always = [sum(C[t, k] for t in y) for k in range(K)]
    assert sy.costs_paid(y, p, costs=C) == pytest.approx(paid)
    assert sy.total_cost(y, p, costs=C) == pytest.approx(paid.sum())
    assert sy.mean_cost(y, p, costs=C) == pytest.approx(paid.mean())
    assert sy.savings_score(y, p, costs=C) == pytest.approx(1 - paid.sum() / min(always))
    assert sy.cost_confusion_matrix(y, p, costs=C) == pytest.approx(metrics.confusion_matrix(y, p) * C)
    rows = sy.Costs.from_rows(C[y])
    for measure in (sy.total_cost, sy.mean_cost, sy.savings_score):
        assert measure(y, p, costs=rows) == pytest.approx(measure(y, p, costs=C))
    assert sy.cost_confusion_matrix(y, p, costs=rows) == pytest.approx(sy.cost_confusion_matrix(y, p, costs=C))


@few
@given(answered().flatmap(lambda case: st.tuples(st.just(case), matrices(case[0]))))
def test_the_cheapest_constant_answer_saves_nothing_and_no_constant_saves(case) -> None:
    (K, y, _), C = case
    saved = [sy.savings_score(y, np.full_like(y, k), costs=C) for k in range(K)]
    assert max(saved) == pytest.approx(0)
    assert sy.savings_score(y, y, costs=C) == 1


@pytest.mark.parametrize("measure", FORMS, ids=lambda m: m.__name__)
@few
@given(answered(), st.permutations(range(4)), st.randoms(use_true_random=False))
def test_names_and_order_of_examples_do_not_matter(measure, case, names, random) -> None:
    K, y, p = case
    order = list(range(len(y)))
    random.shuffle(order)
    renamed = NAMES[list(names)][:K]
    more = {"positive": 1} if measure in OURS else {}
    again = {"positive": renamed[1]} if measure in OURS else {}
    assert measure(renamed[y][order], renamed[p][order], **again) == pytest.approx(measure(y, p, **more))


@pytest.mark.parametrize("measure", FORMS, ids=lambda m: m.__name__)
@few
@given(answered(), st.data())
def test_whole_weights_are_repetitions(measure, case, data) -> None:
    K, y, p = case
    times = np.array(data.draw(st.lists(st.integers(1, 3), min_size=len(y), max_size=len(y))))
    more = {"positive": K - 1} if measure in OURS else {}
    repeated = measure(np.repeat(y, times), np.repeat(p, times), **more)
    assert measure(y, p, sample_weight=times, **more) == pytest.approx(repeated)


@pytest.mark.parametrize("measure", FORMS, ids=lambda m: m.__name__)
@few
@given(answered())
def test_the_formula_agrees_with_the_function(measure, case) -> None:
    _, y, p = case
    more = {"positive": 1} if measure in OURS else {}
    assert form_of(measure).value(read_predictions(y, p, positive=1)) == pytest.approx(measure(y, p, **more))


@pytest.mark.parametrize("measure", OURS, ids=lambda m: m.__name__)
@few
@given(answered())
def test_right_answers_are_best_and_scores_lie_in_range(measure, case) -> None:
    _, y, p = case
    value, best = measure(y, p, positive=0), measure(y, y, positive=0)
    if measure.__name__.endswith("_score"):
        assert best == 1
        assert value <= 1
        assert value >= 0 or measure is sy.savings_score
    else:
        assert best == 0
        assert value >= 0


@few
@given(answered())
def test_per_class_scores_are_scikit_learns(case) -> None:
    K, y, p = case
    ours = sy.per_class_scores(y, p, costs=1 - np.eye(K))
    theirs = metrics.precision_recall_fscore_support(y, p, zero_division=0)
    for mine, their in zip((ours.precision, ours.recall, ours.f, ours.support), theirs, strict=True):
        assert mine == pytest.approx(their)
    assert ours.cost.sum() == sum(y != p)
