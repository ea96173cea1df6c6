"""Numbers in README.md, from bench/results, never typed: ``python docs/site_pages/readme_numbers.py`` writes them."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]


class Ratio(NamedTuple):
    """One goal of a benchmark: topic, workload, ours, against."""

    topic: str
    workload: str
    ours: str
    against: str


STREAM = "covtype dense, 581012 x 54"
SHORT_STREAM = "covtype dense, first 100000"
PATH = "satimage, 6 classes x 11 lambdas x 5 folds"
SPEED = (
    (
        "One pass over the 581,012 rows of covtype takes 1/{} of the time of scikit-learn's `SGDClassifier`; over the "
        "first 100,000 of them 1/{} of Vowpal Wabbit's and 1/{} of river's.",
        Ratio("online", STREAM, "steelyard CSOGD2", "scikit-learn SGDClassifier"),
        Ratio("online", SHORT_STREAM, "steelyard CSOGD2", "VW --sgd from cache"),
        Ratio("online", SHORT_STREAM, "steelyard CSOGD2", "river learn_one"),
    ),
    (
        "A path of 11 support vector machines for 6 classes and 5 folds takes 1/{} of the time of scikit-learn's `SVC` "
        "and 1/{} of LIBSVM's, on the same kernel matrix.",
        Ratio("svm", PATH, "steelyard solve_path", "scikit-learn SVC(kernel='precomputed')"),
        Ratio("svm", PATH, "steelyard solve_path", "libsvm, precomputed"),
    ),
    (
        "Fifty rounds of boosted C4.5 trees on nursery take 1/{} of Weka's time.",
        Ratio("boosting", "nursery, 50 rounds", "steelyard AdaBoost.M1 on C4.5", "Weka AdaBoostM1 on J48"),
    ),
)


def speed(results: Path) -> str:
    """Three sentences about speed, with the ratios of the kept runs."""
    return "\n".join(
        sentence.format(*(f"{ratio(results, which):.0f}" for which in ratios)) for sentence, *ratios in SPEED
    )


def ratio(results: Path, which: Ratio) -> float:
    """The kept ratio of a goal."""
    kept = json.loads((results / f"{which.topic}.json").read_text(encoding="utf-8"))["goals"]
    return float(next(g["ratio"] for g in kept if (g["workload"], g["ours"], g["against"]) == which[1:]))


def with_numbers(text: str, root: Path = ROOT) -> str:
    """README's text with its sentences about speed filled in between their marks."""
    block = re.compile(r"(<!-- speed: .*? -->\n).*?(<!-- end -->)", re.DOTALL)
    return block.sub(lambda found: f"{found.group(1)}{speed(root / 'bench' / 'results')}\n{found.group(2)}", text)


if __name__ == "__main__":
    readme = ROOT / "README.md"
    readme.write_text(with_numbers(readme.read_text(encoding="utf-8")), encoding="utf-8")
