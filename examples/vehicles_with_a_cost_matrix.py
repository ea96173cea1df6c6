"""
Vehicles with a cost matrix
===========================

Four vehicles and a cost for every confusion: one-sided regression against one-vs-all. Needs the vehicle data.
"""

from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler

from steelyard import Costs, OneSidedClassifierCV, OneVsAllClassifierCV, confusion_table, load_dataset, mean_cost

X, y = load_dataset("vehicle")
costs = Costs.from_matrix(
    {
        "bus": {"opel": 8, "saab": 8, "van": 2},
        "opel": {"bus": 8, "saab": 1, "van": 4},
        "saab": {"bus": 8, "opel": 1, "van": 4},
        "van": {"bus": 2, "opel": 4, "saab": 4},
    }
)
X_fit, X_test, y_fit, y_test = train_test_split(X, y, stratify=y, random_state=0)
for learner in (OneVsAllClassifierCV(), OneSidedClassifierCV(costs=costs)):
    answer = make_pipeline(MinMaxScaler(), learner).fit(X_fit, y_fit).predict(X_test)
    print(f"\n{type(learner).__name__}: mean cost {mean_cost(y_test, answer, costs=costs):.3f}")
    print(confusion_table(y_test, answer, costs=costs))
