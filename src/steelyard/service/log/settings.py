"""The settings of a project: read, checked, and turned into the learner they describe."""

from __future__ import annotations

import math
import re
from typing import Any

import msgspec
import numpy as np

from ...active import AskAll, AskAsymmetric, AskAtLeast, AskRandom, AskSymmetric, QueryRule
from ...costs import Costs
from ...models.parsing import query_rule, update_rule
from ...online import AROW, CSOGD1, OnlineClassifier, OnlineCostClassifier, UpdateRule
from ...validation.values import check_choice, check_count, check_flag, check_number, invalid

Learner = OnlineClassifier | OnlineCostClassifier
KINDS = ("number", "category", "text", "url", "shown", "ignored")
SLUG = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,38}[a-z0-9])?\Z")
MOST_COLUMNS = 1000
MOST_CLASSES = 50
MOST_LABELS = 10_000_000
LONGEST_TEXT = 10_000  # characters of a question or a guide
DEFAULT_QUERY = "AskAsymmetric(c_pos=0.1, c_neg=0.3)"
FIXED = (
    "classes",
    "positive",
    "columns",
    "scale",
    "hash_bits",
    "fit_intercept",
    "after_budget",
    "seed",
)  # need a new project
RELEARNED = ("costs", "update")
DAY = 86400  # seconds
PERIODS = {"hour": 3600, "day": DAY, "week": 7 * DAY}
_DAYS = re.compile(r"([1-9][0-9]{0,3})d\Z")
_RENEW = re.compile(r"([1-9][0-9]{0,6})/(hour|day|week)\Z")


class ProjectSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What a project is: its question, rows, costs, learner and budget.

    Parameters
    ----------
    question, guide : str
        What a person is asked, and the plain text beside it.
    classes : list of str
        All labels; of two, ``positive`` names the positive one, otherwise the last.
    columns : dict
        Name to kind: number, category, text, url, shown (kept and shown, not learned from) or ignored.
    costs : dict or list
        ``{"fn": 10, "fp": 1}``, or the matrix C[true, predicted] in the order of ``classes``.
    update, query : str or None
        Rules as ``steelyard stream`` writes them. The update is AROW(r=10) unless it is given, CSOGD1() for more than
        two classes.
    pace : bool
        Whether the query rule is scaled to spend the budget over the expected rows.
    floor_share : float
        Least chance of a row, as a share of the mean chance the budget allows.
    budget, expected_rows : int
        Labels in all, and the rows they should last for.
    renew : str or None
        Labels that a timer adds to the budget, as ``"50/day"`` (hour, day or week); the rows they should last for are
        then those of the period before.
    votes, agree : int
        Answers a question may get, and equal ones that settle it (None: more than half of them). All votes in without
        that: an owner decides.
    skips : int
        People who must skip a question before it is closed.
    expire, undo : int
        Seconds after which an open question is closed, and within which an annotator may take an answer back.
    keep_payloads, keep_training_rows : str or None
        How long rows are kept, as ``"90d"``: all that no open question needs, and what the model has learned from.
        None: for ever.
    show_decision : bool
        Whether an annotator sees the decision after the answer.
    threshold, fit_intercept, after_budget, seed, scale, hash_bits
        As for ``steelyard stream``, but an intercept is learned unless it is switched off.
    """

    classes: list[str]
    columns: dict[str, str]
    budget: int
    expected_rows: int
    question: str = ""
    guide: str = ""
    positive: str | None = None
    costs: dict[str, float] | list[list[float]] | None = None
    update: str | None = None
    query: str = DEFAULT_QUERY
    pace: bool = True
    floor_share: float = 0.5
    renew: str | None = None
    votes: int = 1
    agree: int | None = None
    skips: int = 2
    expire: int = 14 * 86400
    undo: int = 600
    keep_payloads: str | None = None
    keep_training_rows: str | None = None
    show_decision: bool = False
    threshold: float = 0.0
    fit_intercept: bool = (
        True  # scaled rows lie around the origin: without it no learner can lean to the costlier class
    )
    after_budget: str = "last"
    scale: str = "auto"
    hash_bits: int | None = None
    seed: int = 0

    def validate(self) -> None:
        """Raise unless a project can run with these settings."""
        _check_classes(self)
        _check_columns(self)
        check_count("budget", self.budget, at_least=0, at_most=MOST_LABELS)
        check_count("expected_rows", self.expected_rows, at_most=2**53)
        check_number("floor_share", self.floor_share, at_least=0, at_most=1)
        check_count("skips", self.skips, at_most=1000)
        check_count("votes", self.votes, at_most=100)
        if self.agree is not None:
            check_count("agree", self.agree, at_most=self.votes)
        self.renewal()
        for name in ("keep_payloads", "keep_training_rows"):
            self.kept_seconds(name)
        check_count("expire", self.expire, at_least=1, at_most=3650 * 86400)
        check_count("undo", self.undo, at_least=0, at_most=3650 * 86400)
        check_count("seed", self.seed, at_least=0, at_most=2**32 - 1)
        check_choice("scale", self.scale, ("auto", "none", "standard", "unit-norm"))
        check_choice("after_budget", self.after_budget, ("last", "average"))
        check_flag("fit_intercept", self.fit_intercept)
        if self.hash_bits is not None:
            check_count("hash_bits", self.hash_bits, at_most=24)
        for name in ("question", "guide"):
            if len(getattr(self, name)) > LONGEST_TEXT:
                raise invalid(name, f"have at most {LONGEST_TEXT} characters", f"{len(getattr(self, name))} of them")
        self.make_learner(self.first_query()).start(1, np.arange(len(self.classes)))

    def check_new(self) -> None:
        """Raise unless a project may begin, or go on, with these settings; older logs may hold them all the same."""
        if self.after_budget == "average" and self.renew is not None:
            hint = "Once the budget is spent the average of all weights answers, and learns no more."
            raise invalid("renew", 'be left out where after_budget is "average"', self.renew, hint)

    # -- what follows from them --------------------------------------------------------------------------------------

    @property
    def equal_answers(self) -> int:
        """Equal answers that settle a question."""
        return self.agree or self.votes // 2 + 1

    def renewal(self) -> tuple[int, int] | None:
        """Labels and seconds of ``renew``; None without."""
        if self.renew is None:
            return None
        found = _RENEW.match(self.renew)
        if found is None:
            raise invalid("renew", 'be labels a period, as "50/day" (hour, day or week)', self.renew)
        return int(found[1]), PERIODS[found[2]]

    def kept_seconds(self, name: str) -> int | None:
        """How long rows are kept by this setting, in seconds; None: for ever."""
        text = getattr(self, name)
        if text is None:
            return None
        found = _DAYS.match(text)
        if found is None:
            raise invalid(name, 'be a number of days, as "90d"', text)
        return int(found[1]) * DAY

    @property
    def labels(self) -> tuple[str, ...]:
        """The classes as the learner counts them: of two the positive one last."""
        if len(self.classes) == 2 and self.positive == self.classes[0]:
            return self.classes[1], self.classes[0]
        return tuple(self.classes)

    def cost_matrix(self) -> np.ndarray[Any, np.dtype[np.float64]]:
        """C[true, predicted] in the order of :attr:`labels`."""
        if self.costs is None:
            return np.asarray(1.0 - np.eye(len(self.classes)))
        if isinstance(self.costs, dict):
            return np.array([[0.0, self.costs["fp"]], [self.costs["fn"], 0.0]])
        order = [self.classes.index(label) for label in self.labels]
        return np.array(self.costs, dtype=np.float64)[np.ix_(order, order)]

    def query_rule(self) -> QueryRule:
        """The rule by which labels are asked for, before any pace."""
        return query_rule(self.query)

    def asks_by_score(self) -> bool:
        """Whether the rule asks rather about rows near the boundary; others ask about every row alike."""
        return not isinstance(self.query_rule(), (AskAll, AskRandom))

    def first_query(self) -> QueryRule:
        """The rule of the first rows: with pace, one that keeps the floor of what the budget allows."""
        rule = self.query_rule()
        if not self.pace:
            return rule
        if not isinstance(rule, (AskAsymmetric, AskSymmetric)):
            hint = 'Set "pace": false, or take one of the two.'
            raise invalid("query", "be AskAsymmetric or AskSymmetric where pace is on", self.query, hint)
        floor = min(0.5, self.budget / self.expected_rows)
        return AskAtLeast(floor, rule) if floor > 0 else rule

    def update_rule(self) -> UpdateRule:
        """What a label does to the weights."""
        if self.update is not None:
            return update_rule(self.update)
        return AROW(r=10) if len(self.classes) == 2 else CSOGD1()

    def make_learner(self, query: QueryRule) -> Learner:
        """A learner that has seen nothing yet."""
        costs = Costs.from_matrix(self.cost_matrix())
        shared: dict[str, Any] = {"query": query, "budget": self.budget, "costs": costs, "seed": self.seed}
        shared |= {"after_budget": self.after_budget, "fit_intercept": self.fit_intercept}
        if len(self.classes) == 2:
            return OnlineClassifier(self.update_rule(), threshold=self.threshold, **shared)
        if self.threshold != 0:
            raise invalid("threshold", "be 0 where there are more than two classes", self.threshold)
        return OnlineCostClassifier(self.update_rule(), **shared)


def _check_classes(settings: ProjectSettings) -> None:
    classes = settings.classes
    if not 2 <= len(classes) <= MOST_CLASSES or len(set(classes)) < len(classes):
        raise invalid("classes", f"be 2 to {MOST_CLASSES} different labels", classes)
    if not all(label and len(label) <= 100 and label.isprintable() for label in classes):
        raise invalid("classes", "be printable texts of 1 to 100 characters", classes)
    if settings.positive is not None and (len(classes) != 2 or settings.positive not in classes):
        raise invalid("positive", "be one of two classes", settings.positive)
    costs = settings.costs
    if costs is None:
        return
    if isinstance(costs, dict):
        if set(costs) != {"fn", "fp"} or len(classes) != 2:
            raise invalid("costs", "be fn and fp for two classes, or a matrix C[true, predicted]", costs)
        values = list(costs.values())
    else:
        if len(costs) != len(classes) or any(len(row) != len(classes) for row in costs):
            raise invalid("costs", f"be a matrix of {len(classes)} x {len(classes)}, C[true, predicted]", costs)
        values = [value for row in costs for value in row]
    if not all(math.isfinite(value) and 0 <= value <= 1e12 for value in values):
        raise invalid("costs", "be numbers from 0 to 1e12", values)
    Costs.from_matrix(settings.cost_matrix())


def _check_columns(settings: ProjectSettings) -> None:
    columns = settings.columns
    if not 1 <= len(columns) <= MOST_COLUMNS:
        raise invalid("columns", f"be 1 to {MOST_COLUMNS} columns", len(columns))
    for name, kind in columns.items():
        if not name or len(name) > 200 or not name.isprintable():
            raise invalid("columns", "have printable names of 1 to 200 characters", name)
        check_choice(f"columns.{name}", kind, KINDS)
    if not any(kind in KINDS[:4] for kind in columns.values()):
        raise invalid("columns", "have at least one column to learn from", columns)


def read_settings(raw: bytes) -> ProjectSettings:
    """Settings from JSON; raises InvalidInputError, naming the place of a mistake."""
    try:
        settings = msgspec.json.decode(raw, type=ProjectSettings)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise invalid("settings", "be a JSON object of the known settings", _place(error)) from None
    settings.validate()
    return settings


def changed_settings(settings: ProjectSettings, changes: dict[str, Any]) -> ProjectSettings:
    """The settings after a change; raises InvalidInputError if a running project cannot take it."""
    for name in changes:
        if name in FIXED:
            raise invalid(name, "stay as it began", changes[name], "Begin a new project to change it.")
    if not changes:
        raise invalid("settings", "hold a change", changes)
    try:
        made = msgspec.convert(msgspec.to_builtins(settings) | changes, ProjectSettings)
    except msgspec.ValidationError as error:
        raise invalid("settings", "be of the known names and kinds", _place(error)) from None
    made.validate()
    return made


def check_slug(slug: str) -> str:
    """A project's name as it stands in addresses."""
    if not SLUG.match(slug):
        raise invalid("project", "be 1 to 40 small letters, digits and inner hyphens", slug)
    return slug


def _place(error: Exception) -> str:
    return str(error)[:300]
