"""
Separators and an outlier
=========================

Figures 1 and 2 of paper 004 on generated points. LDM leans towards the rare class, because the many others then have
larger margins; CS-LDM weighs the margins and leans back. A single outlier turns a machine that looks at the smallest
margins only (no margin mean, no variance); one that looks at the distribution hardly notices.
"""

import matplotlib.pyplot as plt
import numpy as np

from steelyard import CSLDMClassifier

random = np.random.default_rng(1)
many = random.normal([-1.6, 0.0], [0.7, 1.0], size=(60, 2))
few = random.normal([1.6, 0.0], [0.4, 0.6], size=(8, 2))
X, y = np.vstack([many, few]), np.r_[np.zeros(60), np.ones(8)]
outlier = np.array([[-0.9, 2.2]])
MACHINES = {
    "smallest margins": CSLDMClassifier(C=100.0, lambda1=0.0, lambda2=0.0, rho=0.0),
    "LDM": CSLDMClassifier(C=0.02, lambda1=4.0, lambda2=64.0, rho=0.0),
    "CS-LDM": CSLDMClassifier(C=0.02, lambda1=4.0, lambda2=64.0, rho=0.6),
}


def crossing(model: CSLDMClassifier) -> float:
    """Where the separator crosses the line between the centres."""
    return float(-model.intercept_[0] / model.coef_[0, 0])


def angle(model: CSLDMClassifier) -> float:
    """How far the separator is turned from the upright, in degrees."""
    return float(np.degrees(np.arctan2(model.coef_[0, 1], model.coef_[0, 0])))


figure, axes = plt.subplots(1, 2, figsize=(11, 4.2), layout="constrained", sharey=True)
turned = {}
for ax, rows, labels in ((axes[0], X, y), (axes[1], np.vstack([X, outlier]), np.r_[y, 1.0])):
    ax.scatter(*rows[labels == 0].T, facecolors="none", edgecolors="C0", label="many")
    ax.scatter(*rows[labels == 1].T, marker="^", color="C3", label="few")
    for style, (name, model) in zip((":", "--", "-"), MACHINES.items(), strict=True):
        model.fit(rows, labels)
        height = np.array([-3.0, 3.0])
        across = -(model.intercept_[0] + model.coef_[0, 1] * height) / model.coef_[0, 0]
        ax.plot(across, height, style, color="black", label=name)
        turned.setdefault(name, []).append((crossing(model), angle(model)))
    ax.set(xlim=(-4, 3.5), ylim=(-3, 3))
axes[0].set_title("Figure 1: separators")
axes[1].set_title("Figure 2: with an outlier")
axes[0].legend(frameon=False, fontsize="small", loc="lower left")
for name, ((plain, upright), (_, leaning)) in turned.items():
    print(f"{name:17s} crosses at {plain:+.2f}; the outlier turns it by {abs(leaning - upright):.0f} degrees")
