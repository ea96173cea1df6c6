"""
A stream under a budget
=======================

w8a as a stream: 64,700 pages, 3% of them wanted, and 1,000 labels to spend. Needs the w8a data.
"""

from sklearn.preprocessing import Normalizer

from steelyard import (
    CSOGD2,
    AskAsymmetric,
    AskFirst,
    AskRandom,
    OnlineClassifier,
    f_score,
    load_dataset,
    prequential_score,
)

X, y = load_dataset("w8a")
X = Normalizer().fit_transform(X)

for query in (AskFirst(), AskRandom(rate=1000 / len(y)), AskAsymmetric(c_pos=0.05, c_neg=0.2)):
    learner = OnlineClassifier(CSOGD2(eta=0.1), query=query, budget=1000, fit_intercept=True, seed=0)
    trace = learner.run(X, y)
    found = prequential_score(f_score, trace, positive=1)
    print(f"{type(query).__name__:15s} queried {trace.queried.sum():5d}  F1 {found:.3f}")
