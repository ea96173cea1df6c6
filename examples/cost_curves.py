"""
Cost curves
===========

Which learner is cheaper depends on what a miss costs; the curve shows it for every price at once.
"""

import matplotlib.pyplot as plt
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from steelyard import CostCurveDisplay, load_dataset

X, y = load_dataset("german")
learners = {
    "logistic regression": make_pipeline(StandardScaler(), LogisticRegression(max_iter=2000)),
    "random forest": RandomForestClassifier(200, min_samples_leaf=3, random_state=0),
}
figure, ax = plt.subplots(figsize=(6, 4))
for name, learner in learners.items():
    score = cross_val_predict(learner, X, y, cv=5, method="predict_proba")[:, 1]
    CostCurveDisplay.from_predictions(y, score, name=name, ax=ax)
ax.set_title("German credit data")
plt.show()
print("The lower curve is the cheaper learner at that price of a miss.")
