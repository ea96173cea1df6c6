"""
A round of boosting
===================

Figures 2 and 3 of paper 003 on generated rows of three classes. A round of AdaBoost.M1 moves half of the weight onto
the rows it got wrong, whatever their class. AdaC2.M1 first gives the rare classes more weight by their costs: among
the wrong rows they count more than the common one.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import make_classification

from steelyard import AdaBoostM1Classifier, AdaC2M1Classifier, C45Classifier, Costs, ResamplingDisplay

X, y = make_classification(
    600, 6, n_informative=4, n_redundant=0, n_classes=3, weights=[0.75, 0.17, 0.08], flip_y=0.05, random_state=3
)
tree = C45Classifier(max_depth=3)
models = {
    "AdaBoost.M1": AdaBoostM1Classifier(tree, n_estimators=5),
    "AdaC2.M1": AdaC2M1Classifier(tree, n_estimators=5, costs=Costs.from_classes({0: 0.3, 1: 0.7, 2: 1.0})),
}
figure, axes = plt.subplots(1, 2, figsize=(11, 4), layout="constrained", sharey=True)
for ax, (name, model) in zip(axes, models.items(), strict=True):
    shown = ResamplingDisplay.from_estimator(model.fit(X, y), X, y, ax=ax)
    ax.set_title(name)
    wrong = shown.shares[2, :, 1]
    print(f"{name:12s} share of the weight on wrong rows after the round, by class: {wrong.round(3).tolist()}")
