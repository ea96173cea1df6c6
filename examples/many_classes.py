"""
Many classes: what do the reductions cost?
==========================================

Five ways to turn a problem with K classes and a price for every confusion into problems with two: one machine a class
(one-sided regression, one-vs-all), a tournament (filter tree), all pairs, and error-correcting codes. Cost, time to
learn and time to answer as K grows, on letters. Times are CPU time of this machine; their ratios are what to look at.
Needs the ``letter`` data, of which the first 5,000 rows.
"""

# sphinx_gallery_thumbnail_path = "stories/many-classes/many-classes.png"

import time
from functools import partial

import matplotlib.pyplot as plt
import numpy as np
from sklearn.preprocessing import MinMaxScaler

from steelyard import (
    AllPairsClassifier,
    FilterTreeClassifier,
    OneSidedClassifier,
    OneVsAllClassifier,
    SECOCClassifier,
    load_dataset,
    mean_cost,
    random_costs,
)

LAM = 0.125
REDUCTIONS = {
    "one-sided (RED)": OneSidedClassifier,
    "filter tree": partial(FilterTreeClassifier, random_state=0),  # whom each class meets first is drawn
    "SECOC": SECOCClassifier,
    "all pairs (WAP)": AllPairsClassifier,
    "one-vs-all": OneVsAllClassifier,
}


def main(quick: bool = False) -> tuple[plt.Figure, dict]:
    """The first K letters, K doubling; half of the rows to learn from."""
    X, y = load_dataset("letter")
    X, y = MinMaxScaler().fit_transform(X[:5000]), y[:5000]
    counts = (3, 6) if quick else (3, 6, 12, 26)
    figure, (costs_ax, fit_ax, answer_ax) = plt.subplots(1, 3, figsize=(13, 4), layout="constrained")
    found: dict = {name: {"mean cost": [], "fit": [], "answer": []} for name in REDUCTIONS}
    for k in (3, *counts):  # three twice: what a first call loads is not the learner's time
        rows = np.flatnonzero(np.isin(y, np.unique(y)[:k]))[: 300 if quick else 5000]
        fit_on, test_on = rows[::2], rows[1::2]
        costs = random_costs(y[rows], 0, "plain")
        for name, reduction in REDUCTIONS.items():
            model = reduction(costs=costs, lam=LAM)
            start = time.process_time()
            model.fit(X[fit_on], y[fit_on])
            fitted = time.process_time()
            answers = []
            for _ in range(3):  # the least disturbed of three: it is a matter of milliseconds
                before = time.process_time()
                y_pred = model.predict(X[test_on])
                answers.append((time.process_time() - before) / len(test_on))
            found[name]["answer"].append(min(answers))
            found[name]["fit"].append(fitted - start)
            found[name]["mean cost"].append(mean_cost(y[test_on], y_pred, costs=costs))
    found = {name: {part: some[1:] for part, some in values.items()} for name, values in found.items()}
    for name, values in found.items():
        costs_ax.plot(counts, values["mean cost"], marker="o", label=name)
        fit_ax.plot(counts, values["fit"], marker="o", label=name)
        answer_ax.plot(counts, np.array(values["answer"]) * 1e6, marker="o", label=name)
    costs_ax.set(title="cost", xlabel="classes", xticks=counts, ylabel="mean cost of held-out letters")
    fit_ax.set(title="time to learn", xlabel="classes", xticks=counts, ylabel="CPU seconds", yscale="log")
    answer_ax.set(title="time to answer", xlabel="classes", xticks=counts, ylabel="microseconds a row", yscale="log")
    costs_ax.legend(frameon=False, fontsize="small")
    base = found["one-sided (RED)"]
    numbers = {
        "classes": list(counts),
        "mean cost": {name: [round(v, 1) for v in values["mean cost"]] for name, values in found.items()},
        "time to learn over RED's, most classes": {
            name: round(values["fit"][-1] / base["fit"][-1], 1) for name, values in found.items()
        },
        "time to answer over RED's, most classes": {
            name: round(values["answer"][-1] / base["answer"][-1], 1) for name, values in found.items()
        },
    }
    return figure, numbers


if __name__ == "__main__":
    figure, numbers = main(quick=True)
    print(numbers)
