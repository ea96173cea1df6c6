"""Numbers in README.md, from kept results, never typed: ``python docs/site_pages/readme_numbers.py`` writes them."""

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
PEERS = {"catboost": "CatBoost", "lightgbm": "LightGBM", "xgboost": "XGBoost", "flaml": "FLAML"}
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


def quality(results: Path) -> str:
    """What the model that `compare` names costs on the reporting half, and how often its promise held."""
    text = (results / "reporting-60s.txt").read_text(encoding="utf-8")
    tables = re.match(r"(\d+) tables", text)
    ratios = {
        name: [float(number) for number in numbers]
        for name, *numbers in re.findall(r"cost ratio to (\w+) +([\d.]+) \(95% ([\d.]+) to ([\d.]+)\)", text)
    }
    kept = re.search(r"promise kept on (\d+ of \d+)", text)
    assert tables is not None
    assert kept is not None
    costs = [f"{ratios[name][0]:.2f} of {title}'s" for name, title in PEERS.items()]
    chance = all(low <= 1 <= high for _, low, high in (ratios[name] for name in PEERS))
    return (
        f"On {tables[1]} tables kept apart for it, the model that `compare` names costs on new rows "
        f"{', '.join(costs[:-1])} and {costs[-1]}\n(tuned, 60 CPU seconds a method; geometric means"
        f"{', and each 95% interval contains 1' if chance else ''}). Of the costs it promised {kept[1]} held."
    )


def ratio(results: Path, which: Ratio) -> float:
    """The kept ratio of a goal."""
    kept = json.loads((results / f"{which.topic}.json").read_text(encoding="utf-8"))["goals"]
    return float(next(g["ratio"] for g in kept if (g["workload"], g["ours"], g["against"]) == which[1:]))


def with_numbers(text: str, root: Path = ROOT) -> str:
    """README's text with its sentences about quality and speed filled in between their marks."""
    written = {"quality": quality(root / "bench" / "quality" / "results"), "speed": speed(root / "bench" / "results")}
    for name, sentences in written.items():
        block = re.compile(rf"(<!-- {name}: .*? -->\n).*?(<!-- end -->)", re.DOTALL)
        text = block.sub(lambda found, sentences=sentences: f"{found[1]}{sentences}\n{found[2]}", text)
    return text


if __name__ == "__main__":
    readme = ROOT / "README.md"
    readme.write_text(with_numbers(readme.read_text(encoding="utf-8")), encoding="utf-8")
