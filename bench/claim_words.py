"""How often the words of `reproduce` are wrong, on recipes whose truth is known.

A recipe of two learners whose scores are drawn: A beats B by nothing, a little, much, or is the worse one, in standard
deviations of one score. The claim is "A beats B". Three ways to judge it: once, at the recipe's ten runs; `--decide`
after that, with further looks at 20, 40, ... 320 runs; `--decide` from nothing, with those looks alone. They are judged
by the code that judges the papers. The first recipes of each truth are run and kept on disk by `--decide` itself as
well, and must get the same words.
Run: python bench/claim_words.py [recipes of each truth]
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console

from steelyard.reproduction import sequential
from steelyard.reproduction.claims import Evidence, judge
from steelyard.reproduction.decide import Decider
from steelyard.reproduction.protocols import Outcome, Task
from steelyard.reproduction.provenance import provenance
from steelyard.reproduction.recipe import Recipe, read_recipe
from steelyard.reproduction.results import Results, Run
from steelyard.reproduction.runs import PROTOCOLS, Wish, protocol_of, run_recipe
from steelyard.reproduction.sequential import LookSchedule as Looks

RESULTS = Path(__file__).parent / "results" / "claim_words.jsonl"
TRUTHS = {"no difference": 0.0, "small": 0.2, "large": 1.0, "reversed": -0.3}
TRUE_WORDS = {"no difference": (), "small": ("holds",), "large": ("holds",), "reversed": ("fails",)}
WAYS = ("once, 10 runs", "--decide after that", "--decide from nothing")
MOST = 320  # runs at the last look
RUN = 3  # recipes of each truth that are run and kept as well
CLAIM = {"item": "Table 1", "claim": "A beats B", "kind": "better", "better": ["A"], "worse": ["B"]}
RECIPE = """
paper = "000"
item = "Table 1"
claim = "{name}"
data = {{ name = "{name}", generated = true }}
protocol = {{ use = "Drawn", runs = 10, seed = {seed} }}
measure = [{{ use = "f_score", name = "score" }}]

[[learner]]
name = "A"
use = "sklearn.dummy.DummyClassifier"
gain = {gain}

[[learner]]
name = "B"
use = "sklearn.dummy.DummyClassifier"
gain = 0.0
"""


@dataclass(frozen=True)
class Drawn:
    """A protocol whose scores are normal around the learner's gain, a pure function of seed, learner and run."""

    runs: int
    seed: int
    extra_measures: tuple[str, ...] = ()

    def ready(self, task: Task) -> Task:
        """Nothing is shared."""
        return task

    def one(self, task: Task, learner: Mapping[str, Any], run: int) -> Outcome:
        """One of the scores."""
        return Outcome({"score": float(self.scores(learner)[run])}, 1.0)

    def scores(self, learner: Mapping[str, Any]) -> NDArray[np.float64]:
        """Every score of a learner."""
        return learner["gain"] + np.random.default_rng([self.seed, ord(learner["name"])]).normal(size=MOST)


def words_of(recipe: Recipe) -> list[str]:
    """The words by the three ways, given all runs at once: each look sees its own first ones alone."""
    protocol = protocol_of(recipe)
    scores = {spec["name"]: protocol.scores(spec) for spec in recipe.learners}
    runs = [Run(name, r, 1.0, {"score": float(v)}) for name, values in scores.items() for r, v in enumerate(values)]
    evidence = [Evidence.of(recipe, runs)]
    return [judge(CLAIM, evidence, plan=plan).word for plan in (Looks.ONCE, Looks.AFTER, Looks.FRESH)]


def words_run(recipe: Recipe, folder: Path) -> list[str]:
    """The same by running: the declared runs first, further ones as ``--decide`` asks for them, kept on disk."""
    quiet, words = Console(quiet=True), []
    for name in ("declared", "fresh"):
        results = Results(folder / name)
        results.folder.mkdir()
        if name == "declared":
            run_recipe(recipe, results, console=quiet)
        evidence = {recipe.name: Evidence.of(recipe, results.runs(recipe))}
        if name == "declared":
            words.append(judge(CLAIM, list(evidence.values())).word)
        decider = Decider([CLAIM], results, evidence, Wish(), quiet)
        decider.decide()
        words.append(decider.verdict(CLAIM).word)
    return words


def counted(recipes: int) -> list[dict[str, Any]]:
    """Words of so many recipes of each truth: one line for each truth and way."""
    PROTOCOLS["Drawn"] = Drawn
    sequential.MOST = MOST
    lines = []
    for index, (truth, gain) in enumerate(TRUTHS.items()):
        found: list[Counter[str]] = [Counter() for _ in WAYS]
        for k in range(recipes):
            with TemporaryDirectory() as name:
                path = Path(name) / "table1-drawn.toml"
                path.write_text(RECIPE.format(name=truth, gain=gain, seed=k * len(TRUTHS) + index))
                words = words_of(read_recipe(path))
                if k < RUN and words_run(read_recipe(path), Path(name)) != words:
                    raise AssertionError(f"{truth}, recipe {k}: --decide says otherwise")
            for count, word in zip(found, words, strict=True):
                count[word] += 1
        for way, count in zip(WAYS, found, strict=True):
            wrong = sum(n for word, n in count.items() if word not in (*TRUE_WORDS[truth], "undecided"))
            words_found = {word: count[word] for word in ("holds", "fails", "undecided")}
            lines.append({"truth": truth, "way": way, "recipes": recipes, **words_found, "wrong": wrong})
    return lines


def main() -> None:
    """Count, print and keep."""
    lines = counted(int(sys.argv[1]) if len(sys.argv) > 1 else 200)
    about = {"commit": provenance().commit, "dirty": provenance().dirty, "last look": MOST}
    RESULTS.write_text("".join(json.dumps(about | line) + "\n" for line in lines))
    for line in lines:
        print(" ".join(f"{key} {value}" for key, value in line.items()))
    for way in WAYS:
        mine = [line for line in lines if line["way"] == way]
        wrong, recipes = (sum(line[key] for line in mine) for key in ("wrong", "recipes"))
        print(f"{way}: {wrong} of {recipes} wrong, {wrong / recipes:.1%}")


if __name__ == "__main__":
    main()
