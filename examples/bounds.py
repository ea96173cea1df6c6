"""
Bounds: what is guaranteed, and what happens
============================================

Every paper proves a bound. Drawn here on the german credit data over one pass, over boosting rounds and over
applicants, with what was measured below (or, for the weighted sum, above). Lemma 1 of paper 000 as printed is broken
by the very experiment of its Table II: the dashed line of the first picture lies below the loss. The bound that can
be proven holds. The data come with the library.
"""

# sphinx_gallery_thumbnail_path = "stories/bounds/bounds.png"

import matplotlib.pyplot as plt
import numpy as np
from sklearn.preprocessing import MinMaxScaler, StandardScaler, normalize

from steelyard import (
    CSOGD2,
    AdaBoostM1Classifier,
    AskAsymmetric,
    Balanced,
    C45Classifier,
    Costs,
    CSLDMClassifier,
    OneSidedClassifier,
    OnlineClassifier,
    Perceptron,
    cost_bound,
    error_bound,
    load_dataset,
    mistake_bound,
    one_sided_bound,
    regret_bound,
    sum_bound,
)

COSTS = Costs.binary(fn=0.95, fp=0.05)


def main(quick: bool = False) -> tuple[plt.Figure, dict]:
    """Six bounds over time, and the one of paper 004 by class."""
    X, y = load_dataset("german")
    rows = normalize(StandardScaler().fit_transform(X))
    unit = MinMaxScaler().fit_transform(X)
    if quick:
        rows, unit, X, y = rows[:300], unit[:300], X[:300], y[:300]
    priced = OnlineClassifier(CSOGD2(0.1), costs=COSTS)
    balanced = OnlineClassifier(CSOGD2(0.1), costs=Balanced())
    asking = OnlineClassifier(Perceptron("margin"), query=AskAsymmetric(0.1, 0.1), budget=200)
    boosted = AdaBoostM1Classifier(C45Classifier(min_obj=20), n_estimators=20).fit(X, y)
    one_sided = OneSidedClassifier(costs=Costs.binary(fn=5, fp=1, classes=[-1, 1]), lam=1.0).fit(unit, y)
    bounds = {
        "000, Lemma 1: loss": regret_bound(priced, rows, y),
        "000, Theorem 2: cost": cost_bound(priced, rows, y),
        "000, Theorem 1: sum": sum_bound(balanced, rows, y),
        "001, Theorem 2: mistakes": mistake_bound(asking, rows, y, runs=3 if quick else 20),
        "002, Theorem 2: cost": one_sided_bound(one_sided, unit, y),
        "003, eq. (16): error": error_bound(boosted, X, y),
    }
    figure, axes = plt.subplots(2, 4, figsize=(14, 7), layout="constrained")
    numbers: dict = {}
    for ax, (name, bound) in zip(axes.flat, bounds.items(), strict=False):
        bound.plot(ax)
        ax.set_title(f"{name}{'' if bound.printed_holds is not False else ' (printed: broken)'}")
        ax.get_legend().remove()
        numbers[name] = {"measured": round(bound.measured, 3), "guaranteed": round(bound.value, 3)}
        if bound.printed is not None and bound.printed != bound.value:
            numbers[name]["as printed"] = round(bound.printed, 3)
        assert bound.holds, name
    figure.delaxes(axes[1, 3])
    margin = axes[1, 2]
    model = CSLDMClassifier(rho=0.5).fit(unit, y)
    wrong = np.array([(model.predict(unit)[y == label] != label).mean() for label in model.classes_])
    place = np.arange(2)
    margin.bar(place - 0.2, model.bounded_share_, width=0.4, color="#8a8f98", label="guaranteed")
    margin.bar(place + 0.2, wrong, width=0.4, color="#c0392b", label="measured")
    margin.set_xticks(place, ["good credits", "bad credits"])
    margin.set(title="004, eq. (21): error by class", ylabel="share", ylim=(0, 1))
    lines, names = axes[0, 0].get_legend_handles_labels()
    figure.legend(lines, names, loc="center", bbox_to_anchor=(0.87, 0.3), frameon=False, fontsize="large")
    numbers["004, eq. (21): error of bad credits"] = {
        "measured": round(float(wrong[1]), 3),
        "guaranteed": round(float(model.bounded_share_[1]), 3),
    }
    return figure, numbers


if __name__ == "__main__":
    figure, numbers = main(quick=True)
    print(numbers)
