"""
Triage: healthy, a cold, or the flu
===================================

The example that opens paper 002: to send a patient with the flu home as healthy is far worse than to treat a healthy
one for a cold. The first half is generated, so the best possible answers are known; the second asks the same of
thyroid patients and needs the ``new-thyroid`` data (the short form leaves it out). The costs of each half are agreed
in one line.
"""

# sphinx_gallery_thumbnail_path = "stories/triage/triage.png"

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler

from steelyard import Costs, OneSidedClassifierCV, OneVsAllClassifierCV, load_dataset, mean_cost

COLOURS = ["#5b3f8c", "#1f7f7a", "#b5651d"]
ILLNESS = Costs.from_matrix([[0, 1, 5], [2, 0, 3], [100, 20, 0]], classes=["healthy", "cold", "flu"])
THYROID = Costs.from_matrix([[0, 1, 1], [20, 0, 5], [10, 5, 0]], classes=[1, 2, 3])  # normal, hyper, hypo

CENTRES = np.array([[36.8, 1.0], [37.4, 3.0], [38.3, 4.2]])  # temperature, how much it aches
SPREADS = np.array([[0.35, 0.8], [0.45, 1.1], [0.6, 1.2]])
SHARES = np.array([0.7, 0.25, 0.05])


def patients(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Temperature and aches of n patients, and what they have."""
    random = np.random.default_rng(seed)
    kind = random.choice(3, size=n, p=SHARES)
    return CENTRES[kind] + SPREADS[kind] * random.normal(size=(n, 2)), np.array(["healthy", "cold", "flu"])[kind]


def posterior(X: np.ndarray) -> np.ndarray:
    """What is known about a patient before any cost: P(illness | temperature, aches)."""
    z = (X[:, None, :] - CENTRES) / SPREADS
    density = SHARES * np.exp(-0.5 * (z**2).sum(axis=2)) / SPREADS.prod(axis=1)
    return density / density.sum(axis=1, keepdims=True)


def learners(costs: Costs) -> dict:
    """The one-sided reduction, which knows the costs, and one-vs-all, which does not."""
    lams = 2.0 ** np.arange(7.0, -9.0, -2.0)
    return {
        "RED": make_pipeline(MinMaxScaler(), OneSidedClassifierCV(costs=costs, lams=lams, cv=3)),
        "one-vs-all": make_pipeline(MinMaxScaler(), OneVsAllClassifierCV(lams=lams, cv=3)),
    }


def thyroid(runs: int) -> dict[str, list[float]]:
    """Mean cost of held-out thyroid patients, run by run."""
    X, y = load_dataset("new-thyroid")
    found: dict[str, list[float]] = {"RED": [], "one-vs-all": []}
    for run in range(runs):
        X_fit, X_test, y_fit, y_test = train_test_split(X, y, stratify=y, random_state=run)
        for name, model in learners(THYROID).items():
            found[name].append(mean_cost(y_test, model.fit(X_fit, y_fit).predict(X_test), costs=THYROID))
    return found


def main(quick: bool = False) -> tuple[plt.Figure, dict]:
    """Bayes, RED and one-vs-all over the plane of patients, and what each costs."""
    X_fit, y_fit = patients(300 if quick else 1000, seed=0)
    X_test, y_test = patients(5000 if quick else 50_000, seed=1)
    x, y = (part.ravel() for part in np.meshgrid(np.linspace(35.8, 40, 160), np.linspace(-1.5, 8, 160)))
    plane = np.column_stack([x, y])
    models = {name: model.fit(X_fit, y_fit) for name, model in learners(ILLNESS).items()}
    names = np.asarray(ILLNESS.classes)
    answers = {"best possible": (ILLNESS.decide(posterior(X_test)), ILLNESS.decide(posterior(plane)))}
    answers |= {name: (model.predict(X_test), model.predict(plane)) for name, model in models.items()}
    figure, axes = plt.subplots(1, 3 if quick else 4, figsize=(13, 4), layout="constrained")
    numbers: dict = {"mean cost": {}, "flu sent home as healthy": {}}
    for ax, (name, (y_pred, drawn)) in zip(axes, answers.items(), strict=False):
        codes = (drawn[:, None] == names).argmax(axis=1).reshape(160, 160)
        grid = x.reshape(160, 160), y.reshape(160, 160)
        ax.contourf(*grid, codes, levels=[-0.5, 0.5, 1.5, 2.5], colors=COLOURS, alpha=0.3)
        for k, label in enumerate(names):
            shown = X_fit[y_fit == label]
            ax.scatter(*shown.T, s=6, color=COLOURS[k], edgecolors="none", label=label)
        cost = mean_cost(y_test, y_pred, costs=ILLNESS)
        ax.set(
            title=f"{name}: {cost:.3f} a patient",
            xlabel="temperature (°C)",
            ylabel="aches (score)",
            xlim=(35.8, 40),
            ylim=(-1.5, 8),
        )
        numbers["mean cost"][name] = round(cost, 4)
        flu = y_test == "flu"
        numbers["flu sent home as healthy"][name] = round(float((y_pred[flu] == "healthy").mean()), 4)
    axes[0].legend(fontsize="small", loc="upper left", markerscale=2, framealpha=0.9, edgecolor="none")
    if not quick:
        held_out = thyroid(20)
        axes[3].boxplot(list(held_out.values()), tick_labels=list(held_out))
        axes[3].set(title="thyroid patients, 20 splits", ylabel="mean cost a patient")
        numbers["thyroid"] = {name: round(float(np.mean(values)), 4) for name, values in held_out.items()}
    return figure, numbers


if __name__ == "__main__":
    figure, numbers = main(quick=True)
    print(numbers)
