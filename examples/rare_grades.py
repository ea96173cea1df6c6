"""
Rare grades: are searched costs worth the search?
=================================================

A few cars are graded good or very good, a few children very recommended. Boosting with class costs (AdaC2.M1, paper
003) raises the recall of such classes. The paper searches the costs by a genetic algorithm; the default here is a
formula. Who is right can only be seen on rows that no search has seen. Needs the ``car`` and ``nursery`` data and
Optuna.
"""

# sphinx_gallery_thumbnail_path = "stories/rare-grades/rare-grades.png"

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import train_test_split

from steelyard import (
    AdaBoostM1Classifier,
    AdaC2M1Classifier,
    C45Classifier,
    CostSearchCV,
    GeneticSampler,
    g_mean_score,
    load_dataset,
    nested_evaluate,
    per_class_scores,
)

DATA = {"car": None, "nursery": "merged"}
ROUNDS = 5


def grades(name: str, most: int, seed: int = 0) -> tuple:
    """Rows and grades, no more than ``most`` of them."""
    data = load_dataset(name, task=DATA[name], frame="pandas")
    kept = np.random.default_rng(seed).permutation(len(data.y))[:most]
    return data.X.iloc[kept], data.y[kept]


def main(quick: bool = False) -> tuple[plt.Figure, dict]:
    """Recall by class of one split, and G-mean of many: no search, genetic search, what the search believed."""
    search = CostSearchCV(
        AdaC2M1Classifier(n_estimators=ROUNDS),
        sampler=GeneticSampler(population=5, generations=2) if quick else GeneticSampler(population=20, generations=5),
        cv=2 if quick else 5,
        random_state=0,
    )
    figure, axes = plt.subplots(2, 2, figsize=(13, 7.5), layout="constrained", width_ratios=(3, 2))
    numbers: dict = {}
    for (left, right), name in zip(axes, DATA, strict=True):
        X, y = grades(name, 800 if quick else 4000)
        X_fit, X_test, y_fit, y_test = train_test_split(X, y, stratify=y, random_state=0)
        models = {
            "C4.5": C45Classifier(),
            "AdaBoost.M1": AdaBoostM1Classifier(n_estimators=ROUNDS),
            "AdaC2.M1, no search": AdaC2M1Classifier(n_estimators=ROUNDS),
            "AdaC2.M1, genetic": search,
        }
        classes, counts = np.unique(y, return_counts=True)
        order = classes[np.argsort(counts)]
        for place, (label, model) in enumerate(models.items()):
            y_pred = model.fit(X_fit, y_fit).predict(X_test)
            scores = per_class_scores(y_test, y_pred, classes=order)
            left.bar(np.arange(len(order)) + 0.2 * place - 0.3, scores.recall, width=0.2, label=label)
            numbers.setdefault(name, {})[label] = {"G-mean, one split": round(g_mean_score(y_test, y_pred), 3)}
        shares = dict(zip(classes.tolist(), counts / len(y), strict=True))
        left.set_xticks(np.arange(len(order)), [f"{grade}\n{shares[grade]:.1%}" for grade in order.tolist()])
        left.set(title=f"{name}: recall by class", ylabel="recall", ylim=(0, 1.05))
        found = nested_evaluate(
            search,
            X,
            y,
            cv=2 if quick else 8,
            random_state=0,
            baselines={"no search": models["AdaC2.M1, no search"], "AdaBoost.M1": models["AdaBoost.M1"]},
        )
        shown = {**found.scores, "what the search\nbelieved": found.validation_fitness}
        right.boxplot(list(shown.values()), tick_labels=["genetic" if key == "search" else key for key in shown])
        right.set(title=f"{name}: G-mean, search inside every split", ylabel="G-mean")
        numbers[name]["nested G-mean"] = {
            key.replace("\n", " "): round(float(np.mean(values)), 3) for key, values in shown.items()
        }
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside upper left", ncols=4, frameon=False)
    return figure, numbers


if __name__ == "__main__":
    figure, numbers = main(quick=True)
    print(numbers)
