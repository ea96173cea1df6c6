"""
Nursery: boosting with class costs
==================================

One of four classes has 2.5% of the rows. C4.5, boosting, boosting with costs. Needs the nursery data.
"""

from sklearn.model_selection import train_test_split

from steelyard import (
    AdaBoostM1Classifier,
    AdaC2M1Classifier,
    C45Classifier,
    g_mean_score,
    load_dataset,
    per_class_scores,
)

X, y = load_dataset("nursery", task="merged")
X_fit, X_test, y_fit, y_test = train_test_split(X, y, stratify=y, random_state=0)
learners = {
    "C4.5": C45Classifier(),
    "AdaBoost.M1": AdaBoostM1Classifier(n_estimators=10),
    "AdaC2.M1": AdaC2M1Classifier(n_estimators=10),
}
for name, learner in learners.items():
    answer = learner.fit(X_fit, y_fit).predict(X_test)
    print(f"{name:12s} G-mean {g_mean_score(y_test, answer):.4f}")
print(per_class_scores(y_test, answer))
