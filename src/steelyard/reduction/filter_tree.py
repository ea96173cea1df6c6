"""Filter tree: the classes play a knock-out tournament."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..costs import Costs
from ..errors import InvalidInputError
from ..margin.kernels import KERNEL
from ..validation.arrays import check_random
from ..validation.docstrings import documented
from ..validation.types import RandomState
from ..validation.values import invalid
from .base import PARAMETERS, ReductionClassifier, ReductionClassifierCV
from .scheme import CostExamples, Floats, ReductionScheme, ScoreSome, SolvedProblems, SubProblem

ADVICE = 'Use "random", "balanced" or nested pairs with every class once, e.g. (("a", "b"), "c").'


@dataclass(frozen=True)
class TournamentNode:
    """A node of the tournament: the classes that can reach it from either side, and its height above the leaves."""

    left: tuple[int, ...]
    right: tuple[int, ...]
    height: int


def matches(tree: Any) -> list[TournamentNode]:
    """The matches of nested pairs of class codes, lower rounds first."""
    found: list[TournamentNode] = []

    def visit(node: Any) -> tuple[tuple[int, ...], int]:
        if not isinstance(node, tuple):
            return (node,), 0
        (left, low), (right, high) = visit(node[0]), visit(node[1])
        found.append(TournamentNode(left, right, max(low, high) + 1))
        return tuple(sorted(left + right)), max(low, high) + 1

    visit(tree)
    return sorted(found, key=lambda match: match.height)


def balanced(codes: list[int]) -> Any:
    """Nested pairs in which both sides of every match are equally large, but for one."""
    if len(codes) == 1:
        return codes[0]
    middle = (len(codes) + 1) // 2
    return balanced(codes[:middle]), balanced(codes[middle:])


class FilterTree(ReductionScheme):
    """One weighted two-class problem for each match, between the winners of the rounds below."""

    def __init__(self, tree: Any) -> None:
        self.matches = matches(tree)
        self.n_classes = len(self.matches) + 1
        self.n_stages = self.matches[-1].height

    def problems(self, stage: int, cases: CostExamples, scores: Floats) -> list[SubProblem]:
        """For every match of a round: which of the two that come up for this example is cheaper, and by how much?"""
        costs = cases.regret()
        so_far = self.preference(scores)
        every = np.arange(len(cases))

        def cost_of_winner(side: tuple[int, ...]) -> Floats:
            return np.asarray(costs[every, np.asarray(side)[so_far[:, side].argmax(axis=1)]])

        return [
            SubProblem.comparing(cost_of_winner(match.left), cost_of_winner(match.right), cases.weight)
            for match in self.matches
            if match.height == stage + 1
        ]

    def preference(self, scores: Floats) -> Floats:
        """How clearly each class wins the closest of its matches: the champion alone loses none."""
        worst = np.full((len(scores), self.n_classes), np.inf)
        for match, score in zip(self.matches, scores.T, strict=False):  # early rounds only while training
            for side, margin in ((match.left, score), (match.right, -score)):
                worst[:, side] = np.minimum(worst[:, side], margin[:, None])
        return worst

    def predict(self, solution: SolvedProblems, X: Any) -> NDArray[np.intp]:
        """The champion of every row, from the final downwards: as many decisions as the tree is high, not K - 1."""
        answers = np.empty(X.shape[0], dtype=np.intp)
        for block, score in solution.on_demand(X):
            answers[block] = self._walk(score, block.stop - block.start)
        return answers

    def _walk(self, score: ScoreSome, n: int) -> NDArray[np.intp]:
        """The class at which each row ends; a drawn match is followed on both sides, and the first class wins."""
        node = {tuple(sorted(match.left + match.right)): k for k, match in enumerate(self.matches)}
        champion = np.full(n, self.n_classes, dtype=np.intp)
        open_ = [(tuple(range(self.n_classes)), np.arange(n))]
        while open_:
            side, rows = open_.pop()
            if len(rows) == 0:
                continue
            if len(side) == 1:
                champion[rows] = np.minimum(champion[rows], side[0])
                continue
            match = self.matches[node[tuple(sorted(side))]]
            margin = score(node[tuple(sorted(side))], rows)
            open_ += [(match.left, rows[margin >= 0]), (match.right, rows[margin <= 0])]
        return champion


def read_tournament(tournament: Any, classes: NDArray[Any], random_state: Any) -> Any:
    """The tournament as nested pairs of class codes."""
    codes = list(range(len(classes)))
    if isinstance(tournament, str) and tournament == "random":
        return balanced(check_random(random_state).permutation(codes).tolist())
    if isinstance(tournament, str) and tournament == "balanced":
        return balanced(codes)
    seen: list[int] = []

    def visit(node: Any) -> Any:
        if isinstance(node, (tuple, list)):
            if len(node) != 2:
                raise invalid("tournament", "pair two sides in every match", node, ADVICE)
            return visit(node[0]), visit(node[1])
        try:
            seen.append(int(Costs.zero_one(classes).encode([node])[0]))
        except InvalidInputError:
            raise invalid("tournament", f"name the classes {classes.tolist()}", node, ADVICE) from None
        return seen[-1]

    tree = visit(tournament)
    if sorted(seen) != codes:
        raise invalid("tournament", f"name each of the classes {classes.tolist()} once", tournament, ADVICE)
    return tree


@dataclass(eq=False, repr=False, kw_only=True)
class _FilterTreeParameters:
    tournament: Any = "random"
    random_state: RandomState = None

    def _plan(self, classes: NDArray[Any]) -> FilterTree:
        return FilterTree(read_tournament(self.tournament, classes, self.random_state))


@documented(PARAMETERS, KERNEL)
@dataclass(eq=False, repr=False)
class FilterTreeClassifier(_FilterTreeParameters, ReductionClassifier):
    """Filter tree (FT): K - 1 weighted two-class problems in a knock-out tournament of the classes.

    A match is trained on which of the two classes that its lower rounds let through for an example is cheaper, with
    weight |c[left] - c[right]|; so lower rounds come first. A drawn match goes to the first class.
    Paper 002, sec. 5.2 (FT-SVM).

    Parameters
    ----------
    tournament : {"random", "balanced"} or nested pairs of labels
        A balanced tree of shuffled classes, or of classes in sorted order.
    random_state : int, RandomState or None
        Seed of the random tournament.

    Examples
    --------
    >>> from sklearn.naive_bayes import GaussianNB
    >>> costs = Costs.from_matrix([[0, 1, 9], [1, 0, 1], [1, 1, 0]], classes=["a", "b", "c"])
    >>> model = FilterTreeClassifier(GaussianNB(), costs=costs, tournament=(("a", "b"), "c"))
    >>> model.fit([[0.0], [0.2], [1.0], [1.2], [2.0], [2.2]], list("aabbcc")).predict([[0.1], [2.1]])
    array(['a', 'c'], dtype='<U1')
    """


@documented(PARAMETERS, KERNEL)
@dataclass(eq=False, repr=False)
class FilterTreeClassifierCV(_FilterTreeParameters, ReductionClassifierCV):
    """:class:`FilterTreeClassifier` as a support vector machine whose ``lam`` is chosen by cross-validated cost.

    Every lam grows its own tree, over one tournament. Paper 002, sec. 5.2 (FT-SVM). Attributes are those of
    :class:`OneSidedClassifierCV`.

    Parameters
    ----------
    tournament : {"random", "balanced"} or nested pairs of labels
        As for :class:`FilterTreeClassifier`.
    random_state : int, RandomState or None
        Seed of the random tournament.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = FilterTreeClassifierCV(lams="paper", random_state=0).fit(X, y)
    >>> bool(model.score(X, y) > 0.95)
    True
    """
