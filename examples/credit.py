"""
Credit: which decision is cheapest?
===================================

A missed bad credit costs five times a refused good one. Which decision is cheapest, and how sure is that?
"""

from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from steelyard import Costs, ExpectedCostClassifier, bootstrap_interval, compare_learners, load_dataset, mean_cost

X, y = load_dataset("german")
costs = Costs.binary(fn=5, fp=1)

plain = make_pipeline(StandardScaler(), LogisticRegression(max_iter=2000))
priced = make_pipeline(StandardScaler(), ExpectedCostClassifier(LogisticRegression(max_iter=2000), costs=costs))
answers = {"plain": cross_val_predict(plain, X, y, cv=5), "expected cost": cross_val_predict(priced, X, y, cv=5)}

for name, answer in answers.items():
    print(f"{name:14s} mean cost {bootstrap_interval(mean_cost, y, answer, costs=costs, random_state=0)}")
print(compare_learners(y, answers["expected cost"], answers["plain"], costs=costs, random_state=0))
