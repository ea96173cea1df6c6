"""
The amount at stake
===================

Costs that differ from example to example: what is lost when a fraud is missed is its amount.
"""

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split

from steelyard import Costs, ExpectedCostClassifier, mean_cost, savings_score

rng = np.random.default_rng(0)
n = 20_000
amount = rng.lognormal(4, 1.2, n)
X = np.column_stack([np.log(amount), rng.normal(size=(n, 6))])
fraud = (rng.random(n) < 1 / (1 + np.exp(5.5 - 1.3 * X[:, 1] - 0.9 * X[:, 2]))).astype(int)

fit_on, test_on = train_test_split(np.arange(n), stratify=fraud, random_state=0)
costs = Costs.binary(fn=amount, fp=5.0, classes=[0, 1])
model = ExpectedCostClassifier(LogisticRegression()).fit(X[fit_on], fraud[fit_on], costs=costs[fit_on])
for name, answer in {
    "one threshold for all": model.predict(X[test_on]),
    "row by row": model.predict(X[test_on], costs=costs[test_on]),
}.items():
    paid = mean_cost(fraud[test_on], answer, costs=costs[test_on])
    saved = savings_score(fraud[test_on], answer, costs=costs[test_on])
    print(f"{name:22s} mean cost {paid:.3f}, saved against the best constant {saved:.1%}")
