"""The state of a project and what each event does to it: pure, without clock, file or random number.

The writer and the replay call the same functions; what they change depends on the events alone.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Container, Iterable, Sequence
from hashlib import sha256
from operator import attrgetter
from typing import Any, NamedTuple

import msgspec
import numpy as np

from ..active import AskAtLeast, QueryInput, QueryRule, draw
from ..errors import InvalidInputError, StateError, SteelyardError
from ..online import OnlineClassifier
from ..validation.values import invalid
from .budget_ledger import BudgetLedger
from .champion import ChampionHead, ChampionNumbers
from .events import (
    Adjudicate,
    Answer,
    Begin,
    Close,
    Decide,
    Erase,
    Event,
    Fit,
    Kind,
    Outcome,
    Promote,
    Retract,
    Set,
    SetChampion,
    SetShadow,
    Skip,
    Upgrade,
    payload_digest,
    unpack,
)
from .expected import GROWTH, LEAST_LABELS, MOST_LABELS, FittedPair, fit_pair
from .pace import FIRST, Pace
from .questions import ConflictError, Question, QuestionState
from .records import Cell, Row, RowEncoder, unpack_cells, unpack_numbers
from .settings import RELEARNED, Learner, ProjectSettings, changed_settings
from .shadows import Counts, Shadow, check_slot, new_learner, remade, shadow_update
from .training import Training

SECOND = 1_000_000  # in the units of an event's time
PATH_BYTES = 8  # of a source that say which path is followed; the others say which file was there
BLOCK = 1000  # decisions that are computed again at once
Rows = Callable[[int], Row]


class DivergedReplayError(StateError):
    """A replay that computes something else than the log says."""

    def __init__(self, seq: int, field: str, logged: object, computed: object) -> None:
        super().__init__(f"event {seq} must replay to the same bit; {field} was {logged!r} and is {computed!r} now.")
        self.seq, self.field, self.logged, self.computed = seq, field, logged, computed


class ErasedRowError(StateError):
    """A decision that cannot be computed again: its row is gone."""


class Decided(NamedTuple):
    """What was decided about a row."""

    t: int
    model: int
    score: float
    answer: int
    chance: float
    sampled: bool
    ask: bool
    expected: float | None = None


class Answered(NamedTuple):
    """What an answer did: the label it settled, and the number of the training example."""

    settled: int | None
    learned: int | None


class State:
    """Everything that a replay rebuilds, and nothing else."""

    def __init__(self, settings: ProjectSettings) -> None:
        self.settings = settings
        self.labels = settings.labels  # the classes never change
        self.seq = 0
        self.settings_seq = 1  # the event that said the present settings
        self.model = 1  # rises when costs or update change
        self.reach = 0  # rounds that could have been asked
        self.encoder = RowEncoder(settings)
        self.pace = Pace()
        self.query: QueryRule = settings.first_query()
        self.learner: Learner = new_learner(settings, self.query, self.encoder.width)
        self.shadows: dict[int, Shadow] = {}  # by slot, in their order
        self.champion: ChampionHead | None = None  # what decides in the place of the learner
        self.budget = BudgetLedger(settings.budget)
        self.questions: dict[int, Question] = {}
        self.open_rows: dict[int, Row] = {}  # by item, of questions that may still be learned from
        self.training = Training()
        self.outcomes = 0
        self.fits: list[FittedPair] = []  # what expected costs are derived from, in the order of events
        self.fit_after = (0, 0)  # event and labels spent since which scores are those of one model
        self.tails: dict[bytes, tuple[bytes, int]] = {}  # followed files, by path: which file, and how far it was read
        self.renewed = (0, 0)  # time and rounds at which the budget was renewed last, or the project began

    # -- deciding ----------------------------------------------------------------------------------------------------

    def decide(self, item: int, cells: list[Cell], at: int, weighed: ChampionNumbers | None = None) -> Decided:
        """Prepare, decide, perhaps ask. A row the learner refuses raises and changes nothing.

        Where there is a champion, ``weighed`` is what it says about the row.
        """
        learner, mark = self.learner, self.encoder.mark()
        try:
            row = self.encoder.one(cells)
            t, score, answer, chance, ask = learner.decide(row)
        except SteelyardError:
            self.encoder.restore(mark)
            raise
        answer, expected, own = int(answer), None, None
        if self.champion is not None:
            if weighed is None:
                raise StateError(f"event {item} must hold what the champion said; it does not.")
            own = answer
            score, answer, expected = weighed
            chance, ask = self._asks(t, score, answer)
            learner.set_counts(rounds=t + 1, spent=self.budget.spent, reserved=self.budget.reserved + ask)
        self.pace.note(score if len(self.settings.classes) == 2 or answer != 0 else -score)
        self.reach += chance > 0
        floor = self.query.floor if isinstance(self.query, AskAtLeast) else 0.0
        if ask:
            expires = at + self.settings.expire * SECOND
            self._ask(Question(item, expires, score, answer, chance, self.reach), row, t, own)
        decided = Decided(t, self.model, score, answer, chance, 0 < chance <= floor, ask, expected)
        self._keep_pace(t + 1)
        return decided

    def _asks(self, t: int, score: float, answer: int) -> tuple[float, bool]:
        """Chance and draw of a round that the learner does not decide, as its stream would have them."""
        if self.budget.left <= 0:
            return 0.0, False
        positive = answer != 0
        signed = score if len(self.settings.classes) == 2 or positive else -score
        chance = float(self.query.query_probability(QueryInput(signed, positive, t)))
        return chance, chance >= 1.0 or draw(self.settings.seed, t) < chance

    @property
    def decides_many(self) -> bool:
        """Whether :meth:`decide_many` can be used at all."""
        return self.champion is None and self.encoder.all_numbers and isinstance(self.learner, OnlineClassifier)

    def decide_many(self, item: int, payloads: Sequence[bytes], times: Sequence[int]) -> list[Decided]:
        """:meth:`decide` for the first of many rows, as many as one call of the library can; bit for bit the same.

        Those are the ones up to the next change of the query rule, of a project of two classes whose columns are all
        numbers. None where that is not so, or one of them would be refused: then nothing has changed.
        """
        learner = self.learner
        if not self.decides_many or not isinstance(learner, OnlineClassifier):
            return []
        count = self.pace.rows_before_next(self.settings, learner.n_rounds_)
        mark = self.encoder.mark()
        try:
            rows = self.encoder.many(unpack_numbers(payloads[:count], self.encoder.width))
            t, score, answer, chance, ask = (np.asarray(column).tolist() for column in learner.decide_many(rows))
        except SteelyardError:
            self.encoder.restore(mark)
            return []
        self.pace.scores.extend(score)
        reach = list(itertools.accumulate((one > 0 for one in chance), initial=self.reach))
        self.reach = reach[-1]
        floor = self.query.floor if isinstance(self.query, AskAtLeast) else 0.0
        for i in itertools.compress(range(len(ask)), ask):
            expires = times[i] + self.settings.expire * SECOND
            self._ask(Question(item + i, expires, score[i], answer[i], chance[i], reach[i + 1]), rows[i].copy(), t[i])
        sampled = [0 < one <= floor for one in chance]
        self._keep_pace(t[-1] + 1)
        return list(map(Decided, t, itertools.repeat(self.model), score, answer, chance, sampled, ask))

    def note_source(self, source: bytes | None, offset: int | None) -> None:
        """A row of a followed file was decided: the file is known up to there."""
        if source is not None and offset is not None:
            self.tails[source[:PATH_BYTES]] = (source[PATH_BYTES:], offset)

    def _ask(self, question: Question, row: Row, t: int, own: int | None = None) -> None:
        """``own``: what the learner would have answered, where a champion decides."""
        before = Counts(t, self.budget.spent, self.budget.reserved)
        answers = [(0, own), *((slot, shadow.answer(row, before)) for slot, shadow in self.shadows.items())]
        question.others = tuple((slot, answer) for slot, answer in answers if answer is not None)
        self.budget.reserve()
        self.questions[question.item] = question
        self.open_rows[question.item] = row

    def _keep_pace(self, rounds: int) -> None:
        query = self.pace.adjusted(self.settings, rounds, self.budget.left)
        if query is not None:
            self._ask_by(query)

    def _ask_by(self, query: QueryRule) -> None:
        self.query = query
        self.learner = self.learner.changed(query=query)

    # -- answering ---------------------------------------------------------------------------------------------------

    def question(self, item: int) -> Question:
        """The question of an item; raises if its label was never asked for."""
        found = self.questions.get(item)
        if found is None:
            raise ConflictError("never_asked", f"item {item} must be one whose label was asked for; it was not.")
        return found

    def answer(self, item: int, person: int, label: int, seq: int) -> Answered:
        """A person's label. Once enough answers agree, the question is settled, and the label paid and learned from."""
        question, settings = self.question(item), self.settings
        question.check_open()
        question.check_new_vote(person)
        settled = label if settings.votes == 1 else question.agreed(settings.equal_answers, (label,))
        learned = None if settled is None else self._settle(question, settled)
        question.votes[person] = (label, seq)
        if settled is None and question.answers >= settings.votes:
            question.dispute()
        return Answered(settled, learned)

    def _settle(self, question: Question, label: int) -> int:
        """Learn a label; the number of the training example. What cannot be learned changes nothing."""
        item, row = question.item, self.open_rows[question.item]
        if question.paid:
            learned = self._learn_unpaid(item, label, row)
        else:
            before = self._counts()
            self.learner.learn(row, label)
            self.budget.pay()
            learned = self._learned(item, label, row, before)
        question.settle(label)
        question.n = learned
        del self.open_rows[item]
        return learned

    def _learn_unpaid(self, item: int, label: int, row: Row) -> int:
        """Learn a label in the place of one that was paid for and taken back."""
        state = self.learner.state()
        t, spent, reserved, *rest = state["counts"]
        lent = type(self.learner).from_state(state | {"counts": [t, spent - 1, reserved + 1, *rest]})
        lent.learn(row, label)
        self.learner = lent
        return self._learned(item, label, row, Counts(t, spent - 1, reserved + 1))

    def _counts(self) -> Counts:
        return Counts(self.learner.n_rounds_, self.budget.spent, self.budget.reserved)

    def _learned(self, item: int, label: int, row: Row, before: Counts) -> int:
        """After the learner its shadows learn a label; the number of the training example."""
        for shadow in self.shadows.values():
            shadow.learn(row, label, before)
        learners = {0: self.learner} | {slot: one.learner for slot, one in self.shadows.items() if not one.ended}
        return self.training.add(item, label, row, learners, before.rounds)

    def _relearn(self, training: Training, rows: Rows) -> None:
        """Learn these examples again, in the place of all before; where that cannot be done nothing has changed."""
        self.learner = training.relearned(self.learner, rows)
        self.training = training
        for shadow in self.shadows.values():
            self._relearn_shadow(shadow, rows)

    def _relearn_shadow(self, shadow: Shadow, rows: Rows) -> None:
        if shadow.ended:
            return
        try:
            shadow.learner.set_counts(**self._counts()._asdict())
            shadow.learner = self.training.relearned(shadow.learner, rows, shadow.slot)
        except InvalidInputError:
            shadow.ended = True

    def skip(self, item: int, person: int, seq: int) -> int:
        """A person skips; how many have."""
        question = self.question(item)
        question.check_open()
        question.check_new_vote(person)
        question.votes[person] = (None, seq)
        return sum(label is None for label, _ in question.votes.values())

    def retraction(self, answer_seq: int, person: int, item: int) -> Question:
        """The question whose answer may be taken back by this person; raises if there is none."""
        question = self.question(item)
        vote = question.votes.get(person)
        if vote is None or vote[1] != answer_seq:
            raise ConflictError("not_yours", f"answer {answer_seq} must stand and be the person's own; it is not.")
        if question.state is QuestionState.CLOSED:
            raise ConflictError("closed", f"item {item} must not be closed; it is.")
        if question.ruled:
            raise ConflictError("adjudicated", f"item {item} must not have been decided by an owner; it was.")
        question.check_row()
        return question

    def retract(self, answer_seq: int, person: int, item: int, rows: Rows) -> None:
        """Take an answer or a skip back. A settled question is open again, and what was learned is learned again.

        Unless the other answers still agree: then only the vote goes.
        """
        question = self.retraction(answer_seq, person, item)
        vote = question.votes.pop(person)
        if question.state is QuestionState.DISPUTED:
            question.reopen()
        elif question.state is QuestionState.SETTLED and question.agreed(self.settings.equal_answers) != question.label:
            assert question.n is not None
            try:
                row = self.training.kept_row(item)
                row = rows(item) if row is None else row
                self._relearn(self.training.relabelled(question.n, None), rows)
            except SteelyardError:
                question.votes[person] = vote
                raise
            self.open_rows[item] = row
            question.reopen()

    def adjudicate(self, item: int, label: int, rows: Rows) -> int:
        """An owner's label, whatever the answers say; the number of the training example."""
        question = self.question(item)
        question.check_row()
        if question.state is not QuestionState.SETTLED:
            question.check_open_or_disputed()
            learned = self._settle(question, label)
        else:
            assert question.n is not None
            learned = question.n
            if question.label != label:
                self._relearn(self.training.relabelled(learned, label), rows)
                question.settle(label)
        question.ruled = True
        return learned

    def close(self, item: int) -> None:
        """No label will come: what was reserved for it is free again, unless a label was paid before."""
        question = self.question(item)
        question.check_open_or_disputed()
        if not question.paid:
            self.learner.cancel_query()
            self.budget.refund()
        question.close()
        del self.open_rows[item]

    # -- erasing -----------------------------------------------------------------------------------------------------

    def erase(self, items: Iterable[int], rows: Rows, *, kept: Container[int] = ()) -> None:
        """Forget the rows of items: labels and scores stay, and what was learned is learned again without them.

        Of the items in ``kept`` only the record goes; the row that was learned stays.
        """
        asked = [self.questions[item] for item in items if item in self.questions]
        numbers = [q.n for q in asked if q.n is not None and q.item not in kept]
        if any(self.training.examples[n].label is not None for n in numbers):
            self._relearn(self.training.without_rows(numbers), rows)
        for question in asked:
            question.erased = True

    # -- expected costs ----------------------------------------------------------------------------------------------

    def fit_due(self) -> bool:
        """Whether labels have grown enough for another pair."""
        if len(self.settings.classes) != 2 or self.champion is not None:
            return False
        labels, last = self.budget.spent - self.fit_after[1], self.fits[-1].labels if self.fits else 0
        return labels >= max(LEAST_LABELS, GROWTH * last)

    def fit(self) -> tuple[float, float] | None:
        """The pair of the last labels; None if too few stand."""
        asked = (self.questions[example.item] for example in reversed(self.training.examples))
        first = self.fit_after[0]
        standing = (q for q in asked if q.state is QuestionState.SETTLED and q.item > first)
        used = list(itertools.islice(standing, MOST_LABELS))
        if len(used) < LEAST_LABELS:
            return None
        scores, chances = np.array([q.score for q in used]), np.array([q.chance for q in used])
        return fit_pair(scores, np.array([q.label == 1 for q in used]), chances)

    def note_fit(self, seq: int, a: float, b: float, labels: int) -> None:
        """A pair holds from an event on."""
        self.fits.append(FittedPair(seq, a, b, labels, self.settings.cost_matrix().tolist()))

    # -- settings ----------------------------------------------------------------------------------------------------

    def renewal(self, at: int) -> dict[str, int] | None:
        """The changes that renew the budget at this time; None if it is not due, or no row came since the last time."""
        due, since = self.settings.renewal(), self.learner.n_rounds_ - self.renewed[1]
        if due is None or since == 0 or at < self.renewed[0] + due[1] * SECOND:
            return None
        rows = max(since, (self.settings.expected_rows - self.renewed[1]) // 4)
        return {"budget": self.budget.limit + due[0], "expected_rows": self.learner.n_rounds_ + rows}

    def change(self, changes: dict[str, Any], rows: Rows, seq: int, at: int, *, renews: bool = False) -> None:
        """Change settings; other costs or another update rule learn all examples again. ``renews``: by the timer."""
        settings = changed_settings(self.settings, changes)
        self.budget.check_limit(settings.budget)
        if self.training.start is not None and settings.update != self.settings.update:
            advice = "Begin a new project to change it."
            raise invalid("update", "stay as it began where a history was learned first", settings.update, advice)
        relearn = any(getattr(settings, name) != getattr(self.settings, name) for name in RELEARNED)
        query = self.query
        if settings.query != self.settings.query or settings.pace != self.settings.pace:
            query = settings.first_query()
        counts, width = self._counts(), self.encoder.width
        made = remade(self.learner, new_learner(settings, query, width), afresh=relearn)
        if relearn:
            training = self.training.without_copies()
            made = training.relearned(made, rows)
            self.training = training
        self._note_renewal(settings, at, renews)
        self.learner, self.query, self.settings = made, query, settings
        for shadow in self.shadows.values():
            shadow.learner.set_counts(**counts._asdict())
            fresh = new_learner(shadow.settings(settings), query, width)
            shadow.learner = remade(shadow.learner, fresh, afresh=relearn)
            if relearn:
                self._relearn_shadow(shadow, rows)
        if relearn:
            self._replaced(seq)
        self.budget.limit, self.settings_seq = settings.budget, seq

    def _replaced(self, seq: int) -> None:
        """Another model decides from this event on: what was known about the one before says nothing about it."""
        self.model += 1
        self._forget_fit(seq)
        for shadow in self.shadows.values():
            shadow.since, shadow.reach = seq, self.reach
        if self.champion is not None:
            self.champion = self.champion._replace(since=seq, reach=self.reach)

    def _forget_fit(self, seq: int) -> None:
        """The scores from here on are those of another model: what they mean is not known yet."""
        self.fit_after = (seq, self.budget.spent)
        if self.fits:
            self.fits.append(FittedPair(seq, None, 0.0, 0, []))

    def _note_renewal(self, settings: ProjectSettings, at: int, renews: bool) -> None:
        """Periods follow each other from the time the setting was made; missed ones are not made up for."""
        rounds, due = self.learner.n_rounds_, self.settings.renewal()
        if renews and due is not None:
            period = due[1] * SECOND
            self.renewed = (at - (at - self.renewed[0]) % period, rounds)
            self.pace.due = min(self.pace.due, max(rounds, FIRST))
        elif settings.renew != self.settings.renew:
            self.renewed = (at, rounds)

    # -- shadows -----------------------------------------------------------------------------------------------------

    def set_shadow(self, slot: int, settings: dict[str, Any] | None, rows: Rows, seq: int) -> None:
        """Begin a shadow that knows all labels so far, in the place of one that was there; None ends it."""
        check_slot(slot)
        if settings is None:
            self.shadow(slot)
            del self.shadows[slot]
            self.training.forget(slot)
            return
        if self.training.start is not None:
            advice = (
                "Of a history the state is kept, not the rows: try the rule in a new project with the same history."
            )
            raise invalid("the project", "have no history to have shadows", "a history", advice)
        shadow = Shadow(slot, shadow_update(settings), self.learner, seq, self.reach)
        of_its_own = shadow.settings(self.settings)
        of_its_own.validate()
        fresh = new_learner(of_its_own, self.query, self.encoder.width)
        afresh = self.training.without_copies()
        shadow.learner = afresh.relearned(remade(self.learner, fresh, afresh=True), rows, slot)
        self.training.forget(slot)
        self.shadows = dict(sorted((self.shadows | {slot: shadow}).items()))

    def shadow(self, slot: int) -> Shadow:
        """The shadow of a slot; raises if there is none."""
        found = self.shadows.get(slot)
        if found is None:
            raise ConflictError("no_shadow", f"slot {slot} must hold a shadow; it is empty.")
        return found

    def promote(self, slot: int, seq: int) -> None:
        """The shadow is the learner from here on, and the learner its shadow; promoted again, all is as before."""
        check_slot(slot)
        shadow = self.shadow(slot)
        if shadow.ended:
            raise ConflictError("ended", f"the shadow of slot {slot} must still learn; its weights left all numbers.")
        shadow.learner.set_counts(**self._counts()._asdict())
        before = self.settings.update or str(self.settings.update_rule())
        self.settings = shadow.settings(self.settings)
        self.learner, shadow.learner, shadow.update = shadow.learner, self.learner, before
        self.training.swap(slot)
        self._begin_pace()
        self._replaced(seq)
        self.settings_seq = seq

    def _begin_pace(self) -> None:
        """Scores are on another scale from here on: with pace, the query rule begins as that of a new project."""
        if self.settings.pace:
            self.pace, self.query = Pace(self.learner.n_rounds_ + FIRST), self.settings.first_query()
        self._ask_by(self.query)

    # -- champion ----------------------------------------------------------------------------------------------------

    def set_champion(self, sha256: bytes | None, name: str, seq: int) -> None:
        """A model decides from here on, while the learner goes on learning; None: the learner decides again."""
        if sha256 is None and self.champion is None:
            raise ConflictError("no_champion", "a champion must decide to be taken away; there is none.")
        self.champion = None if sha256 is None else ChampionHead(sha256, name)
        self._begin_pace()
        self._replaced(seq)

    # -- the whole ---------------------------------------------------------------------------------------------------

    def digest(self) -> str:
        """SHA-256 over every bit that decides what happens next."""
        total = sha256()
        learner = self.learner.state()
        for name, array in sorted(learner["arrays"].items()):
            total.update(name.encode() + np.ascontiguousarray(array).tobytes())
        if self.encoder.scaler is not None:
            for name, array in sorted(self.encoder.scaler.state()["arrays"].items()):
                total.update(name.encode() + array.tobytes())
        for shadow in self.shadows.values():
            known = shadow.learner.state()
            for name, array in sorted(known["arrays"].items()):
                total.update(name.encode() + np.ascontiguousarray(array).tobytes())
            total.update(msgspec.msgpack.encode([known["counts"], known["params"]], order="sorted"))
        total.update(msgspec.msgpack.encode([learner["counts"], learner["params"], self.plain()], order="sorted"))
        return total.hexdigest()

    def plain(self) -> dict[str, Any]:
        """All but learner and scaler as plain values."""
        return {
            "settings": msgspec.to_builtins(self.settings),
            "seq": self.seq,
            "settings_seq": self.settings_seq,
            "model": self.model,
            "reach": self.reach,
            "outcomes": self.outcomes,
            "pace": [list(self.pace.scores), self.pace.due],
            "budget": [self.budget.limit, self.budget.spent, self.budget.reserved],
            "questions": [self.questions[item].to_list() for item in sorted(self.questions)],
            "training": [list(example) for example in self.training.examples],
            "fits": [list(fit) for fit in self.fits],
            "fit_after": list(self.fit_after),
            "renewed": list(self.renewed),
            "shadows": [shadow.to_list() for shadow in self.shadows.values()],
            "tails": [[path.hex(), file.hex(), offset] for path, (file, offset) in sorted(self.tails.items())],
            "champion": None if self.champion is None else [self.champion.sha256.hex(), *self.champion[1:]],
        }


# -- replay ----------------------------------------------------------------------------------------------------------


def begin(event: Event) -> State:
    """The state after the first event of a log that began with nothing learned."""
    body = unpack(event)
    if not isinstance(body, Begin):
        raise StateError(f"a log must begin with its settings; event {event.seq} is of kind {event.kind}.")
    if body.start is not None:
        raise StateError("a log that began with a history must have the state it began with; it is not there.")
    settings = msgspec.convert(body.settings, ProjectSettings)
    settings.validate()
    state = State(settings)
    state.seq, state.renewed = event.seq, (event.at, 0)
    return state


def apply(state: State, event: Event, payload: bytes | None, rows: Rows) -> None:
    """One event of a log, by the functions that made it; raises DivergedReplayError where the outcome differs."""
    if event.seq != state.seq + 1:
        raise StateError(f"event {state.seq + 1} must follow event {state.seq}; got {event.seq}.")
    body = unpack(event)
    item = event.item if event.item is not None else -1
    if isinstance(body, Decide):
        _replay_decision(state, event, body, payload)
    elif isinstance(body, Answer):
        done = state.answer(item, event.actor, body.label, event.seq)
        _compare(event.seq, ("settled", "learned"), (body.settled, body.learned), done)
    elif isinstance(body, Skip):
        state.skip(item, event.actor, event.seq)
    elif isinstance(body, Retract):
        state.retract(body.answer, event.actor, item, rows)
    elif isinstance(body, Close):
        state.close(item)
    elif isinstance(body, Adjudicate):
        _compare(event.seq, ("learned",), (body.learned,), (state.adjudicate(item, body.label, rows),))
    elif isinstance(body, Set):
        state.change(body.changes, rows, event.seq, event.at, renews=event.actor == 0)
    elif isinstance(body, Fit):
        state.note_fit(event.seq, body.a, body.b, body.labels)
    elif isinstance(body, SetShadow):
        state.set_shadow(body.slot, body.settings, rows, event.seq)
    elif isinstance(body, Promote):
        state.promote(body.slot, event.seq)
    elif isinstance(body, SetChampion):
        state.set_champion(body.sha256, body.name, event.seq)
    elif isinstance(body, Outcome):
        state.outcomes += 1
    elif isinstance(body, Erase):
        raise StateError(
            f"a replay must begin behind event {event.seq}, which erased rows; its checkpoint is not there."
        )
    elif not isinstance(body, Upgrade):
        raise StateError(f"event {event.seq} must be one of a running project; got kind {Kind(event.kind).name}.")
    state.seq = event.seq


def apply_all(
    state: State,
    history: Iterable[tuple[Event, bytes | None]],
    rows: Rows,
    look: Callable[[Event], None] | None = None,
) -> None:
    """Events of a log in their order; ``look`` sees each that is no decision before it is applied.

    Decisions that follow each other are computed and compared together: between two labels the weights stay.
    """
    waiting: list[tuple[Event, bytes]] = []
    for event, payload in history:
        if event.kind == Kind.DECIDE and payload is not None:
            waiting.append((event, payload))
            if len(waiting) == BLOCK:
                _replay_decisions(state, waiting, rows)
                waiting = []
            continue
        _replay_decisions(state, waiting, rows)
        waiting = []
        if look is not None:
            look(event)
        apply(state, event, payload, rows)
    _replay_decisions(state, waiting, rows)


_OUTCOME = attrgetter(*Decided._fields)


def _replay_decisions(state: State, decisions: Sequence[tuple[Event, bytes]], rows: Rows) -> None:
    """The same as :func:`apply` of each."""
    while decisions:
        first = decisions[0][0].seq
        whole = first == state.seq + 1 and decisions[-1][0].seq == state.seq + len(decisions)
        payloads = [payload for _, payload in decisions]
        found = state.decide_many(first, payloads, [event.at for event, _ in decisions]) if whole else []
        if not found:
            for event, payload in decisions:
                apply(state, event, payload, rows)
            return
        count = len(found)
        bodies = [unpack(event) for event, _ in decisions[:count]]
        digests = [payload_digest(payload) for payload in payloads[:count]]
        if [body.digest for body in bodies] != digests or list(map(_OUTCOME, bodies)) != found:
            for seq, body, digest, computed in zip(itertools.count(first), bodies, digests, found, strict=False):
                _compare_decision(seq, body, digest, computed)
        for body in bodies:
            state.note_source(body.source, body.offset)
        state.seq += count
        decisions = decisions[count:]


def _compare_decision(seq: int, logged: Decide, digest: bytes, found: Decided) -> None:
    if digest != logged.digest:
        raise DivergedReplayError(seq, "the digest of the row", logged.digest.hex(), digest.hex())
    _compare(seq, Decided._fields, _OUTCOME(logged), found)


def _replay_decision(state: State, event: Event, body: Decide, payload: bytes | None) -> None:
    if payload is None:
        raise ErasedRowError(f"event {event.seq} must have its row; it is not there.")
    digest = payload_digest(payload)
    if digest != body.digest:
        raise DivergedReplayError(event.seq, "the digest of the row", body.digest.hex(), digest.hex())
    weighed = None if state.champion is None else ChampionNumbers(body.score, body.answer, body.expected)
    _compare_decision(event.seq, body, digest, state.decide(event.seq, unpack_cells(payload), event.at, weighed))
    state.note_source(body.source, body.offset)


def _compare(seq: int, names: tuple[str, ...], logged: tuple[Any, ...], computed: tuple[Any, ...]) -> None:
    for name, was, now in zip(names, logged, computed, strict=True):
        if was != now:
            raise DivergedReplayError(seq, name, was, now)
