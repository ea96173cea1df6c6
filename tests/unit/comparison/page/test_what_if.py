"""Other prices from bins: exact at the told prices, and near to what the rows themselves give elsewhere."""

from typing import Any

import numpy as np
import pytest

from steelyard import Costs
from steelyard.comparison.data import ComparisonData, read_data
from steelyard.comparison.evaluation import CandidateRun
from steelyard.comparison.page.bins import MOST_BINS, binned, likeness, units_of
from steelyard.comparison.page.what_if import priced, threshold, what_if, word
from steelyard.evaluate.capacity import at_most


def question(costs: Any, n: int = 1200, n_classes: int = 2) -> tuple[ComparisonData, np.ndarray]:
    """Rows with probabilities that hold."""
    rng = np.random.default_rng(0)
    score = rng.normal(size=(n, n_classes)) + np.arange(n_classes) * -1.0
    proba = np.exp(score) / np.exp(score).sum(axis=1, keepdims=True)
    y = np.array([rng.choice(n_classes, p=p) for p in proba])
    return read_data(rng.normal(size=(n, 2)), y, costs), proba


def entry_of(data: ComparisonData, proba: np.ndarray) -> tuple[CandidateRun, dict[str, Any]]:
    answers = data.decide(proba)
    run = CandidateRun("a", "baseline", proba=proba.astype(np.float32), answers=answers, paid=data.paid(answers))
    return run, binned(run, data, units_of(data))


@pytest.mark.parametrize("n_classes", [2, 3])
def test_told_prices_come_out_exactly(n_classes: int) -> None:
    matrix = np.arange(n_classes**2, dtype=float).reshape(n_classes, -1)
    np.fill_diagonal(matrix, 0)
    data, proba = question(Costs.from_matrix(matrix, classes=list(range(n_classes))), n_classes=n_classes)
    run, entry = entry_of(data, proba)
    found = priced(entry, matrix.tolist(), 1200, positive=None)
    assert len(entry["counts"]) <= MOST_BINS
    assert found.mean == pytest.approx(run.cost, rel=1e-12)
    assert found.error == pytest.approx(np.std(run.paid) / np.sqrt(1200), rel=1e-9)
    assert np.sum(found.counts) == 1200


def test_row_costs_come_out_exactly_and_multipliers_nearly() -> None:
    rng = np.random.default_rng(1)
    fn = rng.lognormal(3, 1, 1200)
    data, proba = question(Costs.binary(fn=fn, fp=10.0, classes=[0, 1]))
    run, entry = entry_of(data, proba)
    assert priced(entry, [[0, 1], [1, 0]], 1200).mean == pytest.approx(run.cost, rel=1e-5)
    costlier, _ = question(Costs.binary(fn=3 * fn, fp=10.0, classes=[0, 1]))
    exact = costlier.paid(costlier.decide(proba)).mean()
    assert priced(entry, [[0, 1], [3, 0]], 1200).mean == pytest.approx(exact, rel=0.02)


def test_abstaining_and_capacity_agree_with_the_rows() -> None:
    costs = Costs.binary(fn=5, fp=1, classes=[0, 1])
    data, proba = question(costs)
    _, entry = entry_of(data, proba)
    expected = costs.expected(proba)
    referred = (expected.min(axis=1) > 0.3).sum()
    found = priced(entry, [[0, 1], [5, 0]], 1200, abstain=0.3, positive=1)
    assert found.referred == pytest.approx(referred, abs=12)
    limited = at_most(expected, 100)
    exact = data.paid(limited.decisions).mean()
    found = priced(entry, [[0, 1], [5, 0]], 1200, capacity=100, positive=1)
    assert found.alarms == pytest.approx(100)
    assert found.mean == pytest.approx(exact, rel=0.03)
    assert found.next_place == pytest.approx(limited.next_place, rel=0.05)


def test_the_winner_stays_unless_another_is_more_than_chance_cheaper() -> None:
    data, proba = question(Costs.binary(fn=5, fp=1, classes=[0, 1]))
    run, entry = entry_of(data, proba)
    noise = np.random.default_rng(2).normal(size=proba.shape) * 0.02
    twin, other = entry_of(data, np.clip(proba + noise, 0.001, 0.999))
    always = CandidateRun("always 1", "constant", answers=np.ones(1200, dtype=int), paid=data.paid(np.ones(1200, int)))
    runs, fixed = [twin, run, always], binned(always, data, units_of(data))
    embedded = {
        "prices": [[0, 1], [5, 0]],
        "rows": 1200,
        "positive": 1,
        "fewest": 300,
        "likeness": likeness(runs),
        "entries": [{"family": r.family} | e for r, e in zip(runs, (other, entry, fixed), strict=True)],
    }
    assert what_if(embedded).chosen == 0
    assert what_if(embedded, [[0, 1], [1000, 0]]).word in ("", "not distinguishable")
    assert word(1.0, 0.1, 10) == "too few to say"


def test_a_threshold_is_there_where_one_decides() -> None:
    assert threshold([[0, 1], [5, 0]], 1) == pytest.approx(1 / 6)
    assert threshold([[0, 1], [8, -3]], 1) == pytest.approx(1 / 12)
    assert threshold([[0, -1], [5, 0]], 1) is None
