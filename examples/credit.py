"""
Credit: which decision is cheapest?
===================================

A missed bad credit costs five times a refused good one, and in the second scene what a bank would lose is the amount
of that credit. Everything a bank might use is compared on the same folds, with constants; beside it stand the online
learners of paper 000, which see each applicant once. The german credit data come with the library.
"""

# sphinx_gallery_thumbnail_path = "stories/credit/credit.png"

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler, normalize

from steelyard import (
    CSOGD1,
    CSOGD2,
    PA1,
    Costs,
    OnlineClassifier,
    bootstrap_interval,
    compare,
    load_dataset,
    mean_cost,
)

COSTS = Costs.binary(fn=5, fp=1)
AMOUNT = 3  # the column that holds the amount of the credit, in hundreds of marks
PRICE = 5.0  # of a good credit that was refused, in hundreds of marks


def online(X: np.ndarray, y: np.ndarray) -> dict[str, np.ndarray]:
    """Answers of one pass, each given before its truth was seen."""
    rows = normalize(StandardScaler().fit_transform(X))
    rules = {"online CSOGD-I": CSOGD1(0.2), "online CSOGD-II": CSOGD2(0.1), "online PA-I": PA1(10.0)}
    return {
        name: OnlineClassifier(rule, costs=COSTS, fit_intercept=True).run(rows, y).prediction
        for name, rule in rules.items()
    }


def by_amount(X: np.ndarray, y: np.ndarray, quick: bool) -> dict[str, float]:
    """Mean cost where a bad credit costs its amount, and a refused good one the price of having looked at it."""
    amount = X[:, AMOUNT]
    costs = Costs.binary(fn=amount, fp=PRICE, classes=[-1, 1])
    base = make_pipeline(StandardScaler(), LogisticRegression(max_iter=2000))
    probability = cross_val_predict(base, X, y, cv=3 if quick else 10, method="predict_proba")
    answers = {
        "by its own amount": costs.decide(probability),
        "by the mean amount": Costs.binary(fn=amount.mean(), fp=PRICE, classes=[-1, 1]).decide(probability),
        "refuse all": np.ones(len(y), dtype=int),
        "lend to all": -np.ones(len(y), dtype=int),
    }
    return {name: round(mean_cost(y, answer, costs=costs), 3) for name, answer in answers.items()}


def main(quick: bool = False) -> tuple[plt.Figure, dict]:
    """Compare, then the online learners, then amounts."""
    X, y = load_dataset("german")
    found = compare(X, y, costs=COSTS, effort=12 if quick else "quick", cv=3 if quick else 5, random_state=0)
    shown = {row.name: (row.mean_cost.value, row.mean_cost.low, row.mean_cost.high) for row in found.lines}
    for name, answer in online(X, y).items():
        interval = bootstrap_interval(mean_cost, y, answer, costs=COSTS, random_state=0, n_resamples=500)
        shown[name] = (interval.value, interval.low, interval.high)
    figure, (left, right) = plt.subplots(1, 2, figsize=(13, 5.5), layout="constrained", width_ratios=(3, 2))
    order = sorted(shown, key=lambda name: shown[name][0], reverse=True)
    value, low, high = np.array([shown[name] for name in order]).T
    left.errorbar(value, np.arange(len(order)), xerr=(value - low, high - value), fmt="o", color="black", capsize=3)
    left.set_yticks(np.arange(len(order)), order)
    left.set(title="a missed bad credit costs 5, a refused good one 1", xlabel="mean cost, with 95% intervals")
    amounts = by_amount(X, y, quick)
    right.barh(list(amounts), list(amounts.values()), color="#8a8f98")
    right.set(
        title="a bad credit costs its amount,\na refused good one 500 marks", xlabel="mean cost, hundreds of marks"
    )
    numbers = {
        "mean cost": {name: round(float(shown[name][0]), 4) for name in reversed(order)},
        "recommended": found.best.name,
        "by amount": amounts,
    }
    return figure, numbers


if __name__ == "__main__":
    figure, numbers = main(quick=True)
    print(numbers)
