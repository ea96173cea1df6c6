"""
The balance point
=================

The rho of CS-LDM at which both classes are found equally often. Needs the pima data.
"""

from sklearn.model_selection import train_test_split
from sklearn.preprocessing import MinMaxScaler

from steelyard import CSLDMClassifier, g_mean_score, load_dataset, sensitivity_score, specificity_score

X, y = load_dataset("pima")
X = MinMaxScaler().fit_transform(X)
X_fit, X_test, y_fit, y_test = train_test_split(X, y, train_size=0.5, stratify=y, random_state=0)
for name, learner in {
    "LDM": CSLDMClassifier(rho=0.0),
    "CS-LDM at the balance point": CSLDMClassifier(balance="train"),
}.items():
    answer = learner.fit(X_fit, y_fit).predict(X_test)
    found = sensitivity_score(y_test, answer), specificity_score(y_test, answer), g_mean_score(y_test, answer)
    print(f"{name:28s} TPR {found[0]:.3f}  TNR {found[1]:.3f}  G-mean {found[2]:.3f}")
