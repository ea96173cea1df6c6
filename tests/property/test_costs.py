"""Laws of costs: one meaning in many forms."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steelyard import Costs

few = settings(max_examples=40)
COST = st.floats(0.01, 1e3).map(lambda v: round(v, 3))
LABEL_TYPES = [["ant", "bee", "cow", "dog"], [-1, 1, 3, 7], [-2.0, 1.0, 2.0, 9.0]]


@st.composite
def cost_matrices(draw, min_classes=2):  # type: ignore[no-untyped-def]
    """A labelled matrix with a free diagonal."""
    K = draw(st.integers(min_classes, 4))
    cells = draw(st.lists(COST, min_size=K * K, max_size=K * K))
    labels = draw(st.sampled_from(LABEL_TYPES))[:K]
    return np.array(cells).reshape(K, K) * (1 - np.eye(K)), labels


@st.composite
def labelled(draw):  # type: ignore[no-untyped-def]
    C, labels = draw(cost_matrices())
    return C, labels, draw(st.lists(st.sampled_from(labels), min_size=1, max_size=12))


@few
@given(COST, COST)
def test_pair_matrix_classes_and_dict_agree(fn, fp) -> None:
    y = [1, 0, 0, 1]
    pair = Costs.binary(fn=fn, fp=fp, classes=[0, 1])
    for other in (
        Costs.from_matrix([[0, fp], [fn, 0]], classes=[0, 1]),
        Costs.from_classes({1: fn, 0: fp}),
        Costs.from_matrix({0: {1: fp}, 1: {0: fn}}),
        Costs.binary(fn=fp, fp=fn, classes=[0, 1], positive=0),
        Costs.binary(fn=np.full(4, fn), fp=fp, classes=[0, 1]),
        Costs.binary(fn=fn, fp=np.full(4, fp)),
    ):
        assert other.per_example(y).tolist() == pair.per_example(y).tolist()
    assert pair.ratio() == pytest.approx(fn / fp)


@few
@given(labelled())
def test_rows_are_the_table(case) -> None:
    C, labels, y = case
    costs = Costs.from_matrix(C, classes=labels)
    assert costs.per_example(y).tolist() == [C[labels.index(v)].tolist() for v in y]
    rows = Costs.from_rows(costs.per_example(y), classes=labels)
    assert rows.per_example(y).tolist() == costs.per_example(y).tolist()


@few
@given(labelled(), st.randoms(use_true_random=False))
def test_order_of_classes_changes_nothing(case, random) -> None:
    C, labels, y = case
    order = list(range(len(labels)))
    random.shuffle(order)
    moved = [labels[k] for k in order]
    costs = Costs.from_matrix(C, classes=labels)
    per_example = Costs.binary(fn=np.arange(1.0, len(y) + 1), fp=2, classes=labels) if len(labels) == 2 else None
    for before in filter(None, (costs, Costs.from_rows(costs.per_example(y), classes=labels), per_example)):
        after = before.aligned(moved)
        assert after.classes.tolist() == moved
        assert after.per_example(y).tolist() == before.per_example(y)[:, order].tolist()
        assert after.aligned(labels).per_example(y).tolist() == before.per_example(y).tolist()
        if len(labels) == 2:
            assert moved[after.positive_index()] == labels[before.positive_index()]
    if len(labels) == 2:
        assert costs.aligned(moved).ratio() == costs.ratio()


@few
@given(cost_matrices(), st.data())
def test_cheapest_is_the_least_expected_cost_and_calibration_keeps_it(case, data) -> None:
    C, labels = case
    K = len(labels)
    weights = data.draw(st.lists(st.integers(1, 50), min_size=3 * K, max_size=3 * K))
    proba = np.reshape(weights, (3, K)) / np.reshape(weights, (3, K)).sum(axis=1, keepdims=True)
    expected = [[sum(p[i] * C[i, j] for i in range(K)) for j in range(K)] for p in proba]
    offset = np.asarray(data.draw(st.lists(st.floats(0, 9), min_size=K, max_size=K)))
    costs = Costs(np.array(labels), C + offset[:, None])  # the same decisions: each truth's costs shifted by a constant
    assert costs.expected(proba) == pytest.approx(np.array(expected) + (proba @ offset)[:, None])
    for answer, regret, options in zip(costs.decide(proba), costs.regret().decide(proba), expected, strict=True):
        for choice in (answer, regret):
            assert options[labels.index(choice)] == pytest.approx(min(options))
    assert costs.regret().matrix.min(axis=1).tolist() == [0] * K
    assert costs.scaled(3).expected(proba) == pytest.approx(3 * costs.expected(proba))


@few
@given(st.lists(st.tuples(COST, COST, st.floats(0.01, 0.99)), min_size=1, max_size=8))
def test_cheapest_with_costs_per_example(rows) -> None:
    fn, fp, p = np.array(rows).T
    answers = Costs.binary(fn=fn, fp=fp, classes=["no", "yes"]).decide(np.column_stack([1 - p, p]))
    for answer, m, a, chance in zip(answers, fn, fp, p, strict=True):
        costly, cheap = (chance * m, (1 - chance) * a) if answer == "no" else ((1 - chance) * a, chance * m)
        assert costly <= cheap * (1 + 1e-12)


@few
@given(cost_matrices())
def test_class_costs_are_row_sums(case) -> None:
    C, labels = case
    assert Costs.from_matrix(C, classes=labels).class_costs() == pytest.approx(C.sum(axis=1))


@few
@given(cost_matrices(), st.randoms(use_true_random=False))
def test_every_written_form_reads_back(tmp_path_factory, case, random) -> None:
    C, labels = case
    K = len(labels)
    order = list(range(K))
    random.shuffle(order)
    frame = pd.DataFrame(C, index=labels, columns=labels)
    nested = {t: {a: float(C[i, j]) for j, a in enumerate(labels) if C[i, j]} for i, t in enumerate(labels)}
    folder = tmp_path_factory.mktemp("costs")
    frame.iloc[order].to_csv(folder / "c.csv")
    tables = "\n".join(
        f'["{t}"]\n' + "\n".join(f'"{a}" = {c!r}' for a, c in answers.items()) for t, answers in nested.items()
    )
    (folder / "c.toml").write_text(tables)
    truths = {"truth": [labels[k] for k in order]} | {str(a): C[order, j] for j, a in enumerate(labels)}
    for costs in (
        Costs.from_matrix(nested),
        Costs.from_matrix(frame.iloc[order]),
        Costs.from_matrix(pl.DataFrame(truths)),
        Costs.from_file(folder / "c.csv"),
        Costs.from_file(folder / "c.toml"),
    ):
        assert costs.per_example(labels)[:, np.argsort([str(c) for c in costs.classes])] == pytest.approx(
            C[:, np.argsort([str(c) for c in labels])]
        )


@few
@given(st.lists(st.booleans(), min_size=2, max_size=9).filter(lambda v: len(set(v)) == 2), COST, COST)
def test_labels_of_any_type_mean_the_same(truth, fn, fp) -> None:
    costs = Costs.binary(fn=fn, fp=fp)
    expected = costs.per_example(np.array(truth)).tolist()
    words = np.where(truth, "yes", "no")
    for y in (
        np.array(truth).astype(int),
        np.where(truth, 1.0, -1.0),
        words,
        words.astype(object),
        pd.Categorical(words),
        pd.Series(words, dtype="category"),
        pd.Series(words, index=np.arange(len(words)) + 7),
        pl.Series(words.tolist()),
        words.tolist(),
        words[:, None][:, 0],
    ):
        assert costs.per_example(y).tolist() == expected
