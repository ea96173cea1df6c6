"""
A news desk that reads what it is sent
======================================

A reader wants the stories about money and exchange rates: 6 in 100 of an agency's wire. The learner pushes what it
takes for useful and may ask about 1,000 stories. To the reader a question looks like any other story on the desk,
which is why paper 001 counts twice: what was pushed, and what was pushed or asked. Needs the ``reuters-money-fx``
data. The learner has the settings of the paper's recipe for them, taken after others did worse: an illustration.
"""

# sphinx_gallery_thumbnail_path = "stories/news-desk/news-desk.png"

import matplotlib.pyplot as plt
import numpy as np
from sklearn.preprocessing import normalize

from steelyard import (
    AskAsymmetric,
    AskFirst,
    AskSymmetric,
    OnlineClassifier,
    Perceptron,
    f_score,
    load_dataset,
    prequential_score,
)

PART = 500  # stories between two looks at the desk
COLOURS = {"useful": "#2c7a4b", "useless": "#c0392b"}


def desk(trace, y: np.ndarray) -> dict[str, np.ndarray]:
    """Stories on the desk, per part of the stream: useful and useless ones that were pushed, and those asked about."""
    pushed, asked = trace.prediction == 1, trace.queried
    kinds = {
        "useful": pushed & ~asked & (y == 1),
        "useless": pushed & ~asked & (y != 1),
        "asked, useful": asked & (y == 1),
        "asked, useless": asked & (y != 1),
        "missed": ~pushed & ~asked & (y == 1),
    }
    starts = np.arange(0, len(y), PART)
    return {kind: np.add.reduceat(found.astype(int), starts) for kind, found in kinds.items()}


def main(quick: bool = False) -> tuple[plt.Figure, dict]:
    """Three query rules on one wire, as the reader sees them."""
    X, y = load_dataset("reuters-money-fx")
    order = np.random.default_rng(0).permutation(len(y))[: 3000 if quick else len(y)]
    X, y, budget = normalize(X)[order], y[order], 200 if quick else 1000
    rules = {"QF": AskFirst(), "QS": AskSymmetric(0.1), "QA": AskAsymmetric(c_pos=0.01, c_neg=0.1)}
    figure, axes = plt.subplots(2, 3, figsize=(13, 5.5), layout="constrained", sharex=True, sharey="row")
    numbers: dict = {"stories": len(y), "wanted": int((y == 1).sum()), "budget": budget, "rules": {}}
    for (pushed, asked), (name, query) in zip(axes.T, rules.items(), strict=True):
        model = OnlineClassifier(Perceptron("margin"), query=query, budget=budget, threshold=0.1)
        trace = model.run(X, y)
        seen = desk(trace, y)
        at = (np.arange(len(seen["useful"])) + 1) * PART
        for ax, prefix in ((pushed, ""), (asked, "asked, ")):
            bottom = np.zeros(len(at))
            for kind in ("useful", "useless"):
                values = seen[prefix + kind]
                ax.bar(at, values, width=0.8 * PART, bottom=bottom, color=COLOURS[kind], label=kind)
                bottom = bottom + values
        pushed.step(at, seen["missed"], where="mid", color="black", label="wanted, not shown")
        push, both = (
            prequential_score(f_score, trace, shown=shown, positive=1) for shown in ("push", "push_and_query")
        )
        pushed.set_title(f"{name}: F1 {push:.2f} pushed, {both:.2f} with questions")
        asked.set_xlabel("stories")
        numbers["rules"][name] = {
            "F1, push": round(push, 3),
            "F1, push and query": round(both, 3),
            "labels": int(trace.queried.sum()),
            "useless stories pushed": int(seen["useless"].sum()),
            "wanted stories missed": int(seen["missed"].sum()),
        }
    axes[0, 0].set_ylabel(f"pushed, of {PART} stories")
    axes[1, 0].set_ylabel(f"asked about, of {PART} stories")
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside upper left", ncols=3, frameon=False)
    return figure, numbers


if __name__ == "__main__":
    figure, numbers = main(quick=True)
    print(numbers)
