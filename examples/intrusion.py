"""
Intrusion: five classes and a published price list
==================================================

Connections are normal, probes, floods (dos), or one of two break-ins that are rare and costly (u2r, r2l). The KDD Cup
of 1999 published what every confusion costs. One online pass that estimates costs, the one-sided reduction of paper
002, all pairs, one-vs-all (which does not know the prices) and the best constant. Needs the ``kdd99-10pct`` data.
"""

# sphinx_gallery_thumbnail_path = "stories/intrusion/intrusion.png"

import matplotlib.pyplot as plt
import numpy as np
from sklearn.compose import make_column_transformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, MinMaxScaler, Normalizer, OneHotEncoder

from steelyard import (
    CSOGD1,
    AllPairsClassifier,
    OneSidedClassifier,
    OneVsAllClassifier,
    OnlineCostClassifier,
    bootstrap_interval,
    confusion_table,
    load_costs,
    load_dataset,
    mean_cost,
)

COSTS = load_costs("kdd99")


def encoder(frame):
    """Categories one-hot, numbers by their logarithm on [0, 1]: counts and bytes span six orders of magnitude."""
    nominal = [name for name in frame.columns if not np.issubdtype(frame[name].to_numpy().dtype, np.number)]
    numeric = [name for name in frame.columns if name not in nominal]
    return make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), nominal),
        (make_pipeline(FunctionTransformer(np.log1p), MinMaxScaler()), numeric),
    )


def main(quick: bool = False) -> tuple[plt.Figure, dict]:
    """Fit on a sample, price the answers to others."""
    data = load_dataset("kdd99-10pct", task="categories", frame="pandas")
    frame, y = data.X, data.y
    order = np.random.default_rng(0).permutation(len(y))
    n_fit, n_test = (400, 4000) if quick else (3000, 40_000)
    few, test = order[:n_fit], order[-n_test:]
    stream = order[: 5000 if quick else 100_000]
    encode = encoder(frame).fit(frame.iloc[stream])
    X_few, X_test, X_stream = (encode.transform(frame.iloc[rows]) for rows in (few, test, stream))
    online = make_pipeline(Normalizer(), OnlineCostClassifier(CSOGD1(0.05), costs=COSTS, fit_intercept=True))
    answers = {"online, one pass": online.fit(X_stream, y[stream]).predict(X_test)}
    reductions = {
        "RED": OneSidedClassifier(costs=COSTS, lam=0.01),
        "all pairs (WAP)": AllPairsClassifier(costs=COSTS, lam=0.01),
        "one-vs-all": OneVsAllClassifier(lam=0.01),
    }
    for name, model in reductions.items():
        answers[name] = model.fit(X_few, y[few]).predict(X_test)
    table = COSTS.per_example(y[stream])
    cheapest = np.asarray(COSTS.classes)[table.mean(axis=0).argmin()]
    answers[f"always {cheapest}"] = np.full(n_test, cheapest)

    figure, (left, right) = plt.subplots(1, 2, figsize=(13, 5), layout="constrained")
    numbers: dict = {"fitted on": {"online": len(stream), "reductions": n_fit}, "tested on": n_test, "mean cost": {}}
    for place, (name, answer) in enumerate(answers.items()):
        found = bootstrap_interval(mean_cost, y[test], answer, costs=COSTS, random_state=0, n_resamples=500)
        error = [[found.value - found.low], [found.high - found.value]]
        left.errorbar([found.value], [place], xerr=error, fmt="o", color="black", capsize=3)
        numbers["mean cost"][name] = [round(part, 5) for part in (found.value, found.low, found.high)]
    left.set_yticks(range(len(answers)), list(answers))
    left.set(xscale="log", xlabel="cost per connection, with 95% intervals", title="what each costs")
    left.tick_params(axis="x", which="minor", labelbottom=False)
    best = min(numbers["mean cost"], key=lambda name: numbers["mean cost"][name][0])
    paid = confusion_table(y[test], answers[best], costs=COSTS)
    drawn = right.imshow(np.log1p(paid.costs), cmap="Reds")
    for (i, j), count in np.ndenumerate(paid.counts):
        if count:
            dark = np.log1p(paid.costs[i, j]) > 0.7 * np.log1p(paid.costs).max()
            colour = "white" if dark else "black"
            right.text(j, i, f"{count:.0f}\n({paid.costs[i, j]:.0f})", ha="center", va="center", color=colour)
    right.set_xticks(range(len(paid.answers)), paid.answers)
    right.set_yticks(range(len(paid.classes)), paid.classes)
    right.set(title=f"{best}: connections (and what they cost)", xlabel="answer", ylabel="truth")
    figure.colorbar(drawn, ax=right, label="log of one plus cost")
    numbers["cheapest"] = best
    return figure, numbers


if __name__ == "__main__":
    figure, numbers = main(quick=True)
    print(numbers)
