"""Answers, skips, what takes them back, closes or erases. Pure: see :mod:`steelyard.service.replay.state`."""

from __future__ import annotations

from collections.abc import Container, Iterable
from typing import NamedTuple

from ...errors import SteelyardError
from .learning import learn, learn_unpaid, relearn
from .questions import ConflictError, Question, QuestionState
from .state import Rows, State


class Answered(NamedTuple):
    """What an answer did: the label it settled, and the number of the training example."""

    settled: int | None
    learned: int | None


def answer(state: State, item: int, person: int, label: int, seq: int) -> Answered:
    """A person's label. Once enough answers agree, the question is settled, and the label paid and learned from."""
    question, settings = state.question(item), state.settings
    question.check_open()
    question.check_new_vote(person)
    settled = label if settings.votes == 1 else question.agreed(settings.equal_answers, (label,))
    learned = None if settled is None else _settle(state, question, settled)
    question.votes += ((person, label, seq),)
    if settled is None and question.answers >= settings.votes:
        question.dispute()
    state.questions.put(question)
    return Answered(settled, learned)


def _settle(state: State, question: Question, label: int) -> int:
    """Learn a label; the number of the training example. What cannot be learned changes nothing."""
    item, row = question.item, state.open_rows[question.item]
    learned = (learn_unpaid if question.paid else learn)(state, item, label, row)
    question.settle(label)
    question.n = learned
    del state.open_rows[item]
    return learned


def skip(state: State, item: int, person: int, seq: int) -> int:
    """A person skips; how many have."""
    question = state.question(item)
    question.check_open()
    question.check_new_vote(person)
    question.votes += ((person, None, seq),)
    state.questions.put(question)
    return sum(label is None for _, label, _ in question.votes)


def retraction(state: State, answer_seq: int, person: int, item: int) -> Question:
    """The question whose answer may be taken back by this person; raises if there is none."""
    question = state.question(item)
    vote = question.vote_of(person)
    if vote is None or vote[2] != answer_seq:
        raise ConflictError("not_yours", f"answer {answer_seq} must stand and be the person's own; it is not.")
    if question.state is QuestionState.CLOSED:
        raise ConflictError("closed", f"item {item} must not be closed; it is.")
    if question.ruled:
        raise ConflictError("adjudicated", f"item {item} must not have been decided by an owner; it was.")
    question.check_row()
    return question


def retract(state: State, answer_seq: int, person: int, item: int, rows: Rows) -> None:
    """Take an answer or a skip back. A settled question is open again, and what was learned is learned again.

    Unless the other answers still agree: then only the vote goes.
    """
    question = retraction(state, answer_seq, person, item)
    votes = question.votes
    question.votes = tuple(vote for vote in votes if vote[0] != person)
    if question.state is QuestionState.DISPUTED:
        question.reopen()
    elif question.state is QuestionState.SETTLED and question.agreed(state.settings.equal_answers) != question.label:
        assert question.n is not None
        try:
            row = state.training.kept_row(item)
            row = rows(item) if row is None else row
            relearn(state, state.training.relabelled(question.n, None), rows)
        except SteelyardError:
            question.votes = votes
            raise
        state.open_rows[item] = row
        question.reopen()
    state.questions.put(question)


def adjudicate(state: State, item: int, label: int, rows: Rows) -> int:
    """An owner's label, whatever the answers say; the number of the training example."""
    question = state.question(item)
    question.check_row()
    if question.state is not QuestionState.SETTLED:
        question.check_open_or_disputed()
        learned = _settle(state, question, label)
    else:
        assert question.n is not None
        learned = question.n
        if question.label != label:
            relearn(state, state.training.relabelled(learned, label), rows)
            question.settle(label)
    question.ruled = True
    state.questions.put(question)
    return learned


def close(state: State, item: int) -> None:
    """No label will come: what was reserved for it is free again, unless a label was paid before."""
    question = state.question(item)
    question.check_open_or_disputed()
    if not question.paid:
        state.learner.cancel_query()
        state.budget.refund()
    question.close()
    state.questions.put(question)
    del state.open_rows[item]


def erase(state: State, items: Iterable[int], rows: Rows, *, kept: Container[int] = ()) -> None:
    """Forget the rows of items: labels and scores stay, and what was learned is learned again without them.

    Of the items in ``kept`` only the record goes; the row that was learned stays.
    """
    asked = [state.questions[item] for item in items if item in state.questions]
    numbers = [q.n for q in asked if q.n is not None and q.item not in kept]
    if any(state.training.examples[n].label is not None for n in numbers):
        relearn(state, state.training.without_rows(numbers), rows)
    for question in asked:
        question.erased = True
        state.questions.put(question)
