"""
Malicious addresses, a thousand labels
======================================

A filter sees every address of a stream and may send a thousand of them to an analyst. Two in a hundred are malicious,
one label in a hundred is wrong, and a missed one costs as much as twenty false alarms. At half time a family appears
that looks like news. Which query rule spends the labels best, and does the filter know how well it is doing?

The addresses are generated (``make_urls``) and their tokens hashed, so there is nothing to fetch and nothing to fit.
The settings were chosen by looking at such streams: the order of the rules here illustrates, it proves nothing.
"""

# sphinx_gallery_thumbnail_path = "stories/malicious-urls/malicious-urls.png"

import matplotlib.pyplot as plt
import numpy as np
from sklearn.feature_extraction.text import HashingVectorizer

from steelyard import (
    CSOALPA,
    AskAsymmetric,
    AskAtLeast,
    AskFirst,
    AskSymmetric,
    Costs,
    CSOALHinge,
    OnlineClassifier,
    Perceptron,
    estimate,
    f_score,
    make_urls,
    mean_cost,
    prequential_curve,
)

COSTS = Costs.binary(fn=20, fp=1)
C = 0.005  # half of what paper 001 uses on its rarest class, so that the labels last beyond half time
FLOOR = 0.01  # of AskAtLeast: every address may be asked about, so the asked ones speak for all


def learners(budget: int) -> dict[str, OnlineClassifier]:
    """The five of paper 001: three ways to ask by a Perceptron, and CSOAL with two steps."""
    plain = {"budget": budget, "costs": COSTS}
    perceptron = Perceptron("margin")
    return {
        "QA": OnlineClassifier(perceptron, query=AskAsymmetric(0.0025, 0.005), **plain),
        "QS": OnlineClassifier(perceptron, query=AskSymmetric(C), **plain),
        "QF": OnlineClassifier(perceptron, query=AskFirst(), **plain),
        "CSOAL, gradient": OnlineClassifier(CSOALHinge(0.1), query=AskSymmetric(C), **plain),
        "CSOAL, PA": OnlineClassifier(CSOALPA(1.0), query=AskSymmetric(C), **plain),
    }


def main(quick: bool = False) -> tuple[plt.Figure, dict]:
    """Run the five over one stream; draw cost and labels over time, and what the filter itself can know."""
    n, budget = (10_000, 200) if quick else (200_000, 1000)
    urls, y = make_urls(n, rate=0.02, drift=0.5, random_state=0)
    hashed = HashingVectorizer(n_features=2**16, token_pattern=r"[a-z]+", alternate_sign=False, norm="l2")
    X = hashed.transform(urls)
    at = np.unique(np.linspace(n / 100, n, 100).astype(int))
    figure, (costs, labels, live) = plt.subplots(1, 3, figsize=(13, 4), layout="constrained")
    numbers: dict = {"addresses": n, "malicious": int(y.sum()), "budget": budget, "learners": {}}
    for name, learner in learners(budget).items():
        trace = learner.run(X, y)
        curve = prequential_curve(mean_cost, trace, at=at, costs=COSTS)
        costs.plot(at, curve, label=name)
        labels.plot(at, np.cumsum(trace.queried)[at - 1], label=name)
        second = y[n // 2 :], trace.prediction[n // 2 :]
        numbers["learners"][name] = {
            "mean cost": round(float(curve[-1]), 4),
            "mean cost, second half": round(mean_cost(*second, costs=COSTS), 4),
            "F1": round(f_score(y, trace.prediction, positive=1), 3),
            "labels": int(trace.queried.sum()),
        }
    constant = mean_cost(y, np.zeros_like(y), costs=COSTS)
    costs.axhline(constant, color="black", linestyle=":", label="always benign")
    numbers["always benign"] = round(constant, 4)

    audited = OnlineClassifier(CSOALPA(1.0), query=AskAtLeast(FLOOR, AskSymmetric(C)), budget=4 * budget, costs=COSTS)
    trace = audited.run(X, y)
    shown = at[at > n // 20]
    truth = prequential_curve(mean_cost, trace, at=shown, costs=COSTS)
    heads = [estimate(mean_cost, type(trace)(*(column[:t] for column in trace)), costs=COSTS) for t in shown]
    value, error = (np.array([getattr(head, part) for head in heads]) for part in ("value", "standard_error"))
    naive = mean_cost(y[trace.queried], trace.prediction[trace.queried], costs=COSTS)
    live.plot(shown, truth, color="black", label="truth")
    live.plot(shown, value, color="C3", label="estimated from the labels, weighted")
    live.fill_between(shown, value - 2 * error, value + 2 * error, color="C3", alpha=0.2)
    live.axhline(naive, color="C7", linestyle="--", label="from the labels, not weighted")
    numbers["live"] = {
        "labels": int(trace.queried.sum()),
        "truth": round(float(truth[-1]), 4),
        "weighted estimate": round(float(value[-1]), 4),
        "standard error": round(float(error[-1]), 4),
        "unweighted": round(naive, 4),
    }
    costs.set(title="what it costs", ylabel="mean cost so far", ylim=(0, 1.1 * constant))
    labels.set(title="labels spent", ylabel="labels")
    live.set(title="what a live filter can know", ylabel="mean cost so far", ylim=(0, None))
    for ax in (costs, labels, live):
        ax.axvline(n // 2, color="black", linewidth=0.6)
        ax.xaxis.set_major_formatter(lambda value, _: f"{value / 1000:g}")
        ax.set_xlabel("addresses, in thousands")
    costs.text(n / 2, 0.02, " a new family", fontsize="small")
    costs.legend(fontsize="small", frameon=False, loc="center", bbox_to_anchor=(0.5, 0.7), ncols=2)
    live.legend(fontsize="small", framealpha=0.9, edgecolor="none")
    return figure, numbers


if __name__ == "__main__":
    figure, numbers = main(quick=True)
    print(numbers)
