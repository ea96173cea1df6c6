"""
Screening: find both kinds equally often
========================================

A screening must not overlook the ill, and who is well must not be alarmed. The cost-sensitive machine of paper 004
moves between the two by rho; at its balance point both kinds are found equally often. What that point is worth
depends on the price of a missed case. Needs the ``wdbc`` and ``heart`` data.
"""

# sphinx_gallery_thumbnail_path = "stories/screening/screening.png"

import matplotlib.pyplot as plt
import numpy as np
from scipy import sparse
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import MinMaxScaler

from steelyard import (
    Costs,
    CSLDMClassifier,
    MarginDisplay,
    g_mean_score,
    load_dataset,
    mean_cost,
    rho_curves,
    sensitivity_score,
    specificity_score,
)

ILL = {"wdbc": 0, "heart": 1}  # the label of the ill
PRICES = np.array([1, 2, 5, 10, 20, 50])


def split_in_two(name: str) -> list[np.ndarray]:
    """Rows on [0, 1] and 1 for the ill, one half to fit and one to test."""
    X, y = load_dataset(name)
    X = X.toarray() if sparse.issparse(X) else np.asarray(X, dtype=float)
    y = (y == ILL[name]).astype(int)
    X_fit, X_test, y_fit, y_test = train_test_split(X, y, train_size=0.5, stratify=y, random_state=0)
    scaler = MinMaxScaler(clip=True).fit(X_fit)
    return [scaler.transform(X_fit), scaler.transform(X_test), y_fit, y_test]


def main(quick: bool = False) -> tuple[plt.Figure, dict]:
    """For each data set: recalls over rho, margins at the balance point, mean cost over the price of a miss."""
    figure, axes = plt.subplots(2, 3, figsize=(13, 7.5), layout="constrained")
    numbers: dict = {}
    rhos = np.linspace(-0.5, 1.5, 9 if quick else 41)
    for (over_rho, margins, prices), name in zip(axes, ILL, strict=True):
        X_fit, X_test, y_fit, y_test = split_in_two(name)
        curves = rho_curves(CSLDMClassifier(), X_fit, y_fit, X_test=X_test, y_test=y_test, rhos=rhos.tolist())
        over_rho.plot(rhos, curves.test.tpr, color="C3", label="ill found")
        over_rho.plot(rhos, curves.test.tnr, color="C0", label="well left alone")
        over_rho.plot(rhos, curves.test.g_mean, color="black", label="G-mean")
        models = {
            "LDM": CSLDMClassifier(rho=0.0),
            "balance point": CSLDMClassifier(balance="train"),
        }
        answers = {label: model.fit(X_fit, y_fit).predict(X_test) for label, model in models.items()}
        balanced = models["balance point"]
        low, high = balanced.rho_interval_
        over_rho.axvspan(low, high, color="C7", alpha=0.3)
        over_rho.axvline(balanced.rho_, color="C7", label="balance point")
        over_rho.set(title=f"{name}, test half", xlabel="rho", ylabel="share", ylim=(0.5, 1.01))
        MarginDisplay.from_estimator(models["LDM"], X_test, y_test, name="LDM", ax=margins, linestyle=":")
        MarginDisplay.from_estimator(balanced, X_test, y_test, name="balanced", ax=margins)
        margins.set_title(f"margins: 1 is ill; variance {balanced.margin_variance_:.2f}")
        paid: dict[str, list[float]] = {"priced": [], "balance point": [], "LDM": []}
        for price in PRICES.tolist():
            costs = Costs.binary(fn=price, fp=1, classes=[0, 1])
            priced = CSLDMClassifier(rho=0.0, costs=costs).fit(X_fit, y_fit)
            for label, y_pred in {"priced": priced.predict(X_test), **answers}.items():
                paid[label].append(mean_cost(y_test, y_pred, costs=costs))
        for label, values in paid.items():
            prices.plot(PRICES, values, marker="o", label=label)
        prices.set(title="what it costs", xlabel="price of a missed case", ylabel="mean cost", xscale="log")
        for ax in (over_rho, prices):
            ax.legend(frameon=False, fontsize="small")
        y_pred = answers["balance point"]
        numbers[name] = {
            "balance rho": round(balanced.rho_, 3),
            "interval": [round(low, 3), round(high, 3)],
            "ill found": round(sensitivity_score(y_test, y_pred, positive=1), 3),
            "well left alone": round(specificity_score(y_test, y_pred, positive=1), 3),
            "G-mean": {label: round(g_mean_score(y_test, answer), 3) for label, answer in answers.items()},
            "mean cost at 20 to 1": {label: round(values[4], 3) for label, values in paid.items()},
        }
    return figure, numbers


if __name__ == "__main__":
    figure, numbers = main(quick=True)
    print(numbers)
