"""Costs that depend on the labels, and the one door for costs."""

import numpy as np
import pytest

from steelyard import Balanced, CostRule, Costs, CostsError, InvalidInputError, InverseFrequency, as_costs

CLASSES = np.array(["no", "yes"])
C = np.array([[0.0, 1.0], [5.0, 0.0]])


@pytest.mark.parametrize(
    "costs",
    [
        C,
        C.tolist(),
        {"yes": 5, "no": 1},
        {"no": {"yes": 1}, "yes": {"no": 5}},
        Costs.binary(fn=5, fp=1),
        Costs.binary(fn=5, fp=1, classes=["yes", "no"], positive="yes"),
    ],
)
def test_one_door_for_every_way_to_state_costs(costs) -> None:  # type: ignore[no-untyped-def]
    assert as_costs(costs, ["no", "yes"], CLASSES).matrix.tolist() == C.tolist()


def test_no_costs_are_zero_one_and_metadata_win() -> None:
    assert as_costs(None, ["no", "yes"], CLASSES).matrix.tolist() == [[0, 1], [1, 0]]
    rows = as_costs(C, ["no", "yes"], CLASSES, per_example=[[0, 7], [8, 0]])
    assert rows.per_example(["no", "yes"]).tolist() == [[0, 7], [8, 0]]
    pair = as_costs(None, ["no", "yes"], CLASSES, per_example=Costs.binary(fn=[3.0, 4.0], fp=1))
    assert pair.per_example(["yes", "yes"]).tolist() == [[3, 0], [4, 0]]


def test_balanced_is_proposition_1() -> None:
    y = ["n"] * 6 + ["p"] * 2
    assert Balanced(eta_pos=0.8).costs_for(y).ratio() == pytest.approx(0.8 * 6 / (0.2 * 2))
    assert Balanced(eta_pos=0.8, positive="n").costs_for(y).ratio() == pytest.approx(0.8 * 2 / (0.2 * 6))
    many = Balanced().costs_for(["a", "b", "b", "c", "c", "c"])
    assert many.matrix[:, 0].tolist() == pytest.approx([0, 1.5, 1])  # every class weighs 3 in all


@pytest.mark.parametrize("rule", [Balanced(), Balanced(0.3), InverseFrequency(0.5), InverseFrequency(1, "rarest")])
def test_known_counts_stand_for_labels(rule) -> None:  # type: ignore[no-untyped-def]
    from_labels = rule.costs_for(["no"] * 12 + ["yes"] * 3)
    assert from_labels.aligned(CLASSES).matrix.tolist() == rule.costs_for({"yes": 3, "no": 12}).matrix.tolist()
    with pytest.raises(InvalidInputError, match=r"count of 'no' must be a finite number > 0; got 0"):
        rule.costs_for({"yes": 3, "no": 0})
    with pytest.raises(CostsError, match="two or more classes"):
        rule.costs_for({"yes": 3})


def test_inverse_frequency() -> None:
    y = [0] * 8 + [1] * 2
    assert InverseFrequency(0.5).costs_for(y).class_costs() == pytest.approx([0.5, 2])
    assert InverseFrequency(0).costs_for(y).class_costs() == pytest.approx([1, 1])
    rarest = InverseFrequency(1, relative_to="rarest").costs_for([0] * 8 + [1] * 2 + [2] * 4)
    assert rarest.matrix.max(axis=1) == pytest.approx([0.25, 1, 0.5])


@pytest.mark.parametrize("rule", [Balanced(), InverseFrequency()])
def test_rules_are_rules_and_need_two_classes(rule) -> None:  # type: ignore[no-untyped-def]
    assert isinstance(rule, CostRule)
    with pytest.raises(CostsError, match="y must hold two or more classes"):
        rule.costs_for([1, 1, 1])


@pytest.mark.parametrize(
    "rule", [Balanced(eta_pos=0), Balanced(eta_pos=1.5), InverseFrequency(power="x"), InverseFrequency(1, "best")]
)
def test_parameters_out_of_range(rule) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(InvalidInputError, match=r"(eta_pos|power|relative_to) must be"):
        rule.costs_for([0, 1])


def test_a_matrix_at_fit_is_told_from_rows() -> None:
    C, classes = 1.0 - np.eye(2), np.array([0, 1])
    with pytest.raises(CostsError, match=r"^costs must hold a row per example at fit; got .*Costs\.from_matrix\(C\)"):
        as_costs(None, [0, 1, 1], classes, per_example=C)
    np.testing.assert_array_equal(as_costs(None, [0, 1], classes, per_example=C).per_example([0, 1]), C)
