"""Questions as rows of an array are the same as questions as objects."""

from __future__ import annotations

import random

import numpy as np
import pytest
from service_bench import Bench, made_up, settings_of

from steelyard.service.database.checkpoints import pack_state, unpack_state
from steelyard.service.database.sqlite import SQLiteStore
from steelyard.service.replay.growing_rows import GrowingRows
from steelyard.service.replay.question_book import RECENT, TOGETHER, QuestionBook
from steelyard.service.replay.questions import Question, QuestionState
from steelyard.service.writer.jobs import AnswerJob, RetractJob
from steelyard.service.writer.verify import verify_project


def plain(question):
    marks = question.ruled, question.erased, question.others, question.votes
    return question.score, question.chance, question.state, question.paid, question.label, question.n, marks


def act(question, source, n):
    """Something that may happen to a question."""
    kind = source.randrange(6)
    if kind == 0 and question.waits:
        question.votes += ((source.randrange(1, 5), source.choice([None, 0, 1]), n),)
    elif kind == 1 and question.waits:
        question.settle(source.randrange(2))
        question.n = n
    elif kind == 2 and question.waits:
        question.close()
    elif kind == 3 and question.state is QuestionState.SETTLED:
        question.reopen()
        question.votes = question.votes[1:]
    elif kind == 4:
        question.ruled = True
    elif kind == 5:
        question.erased = True


@pytest.mark.parametrize("seed", range(5))
def test_every_question_is_found_as_it_was_left(seed):
    source, book, known = random.Random(seed), QuestionBook(), {}
    item = 0
    for n in range(2 * TOGETHER):
        item += source.randrange(1, 4)
        question = Question(item, n, source.gauss(0, 1), n % 2, source.random(), n + 1)
        if n % 7 == 0:
            question.others = ((0, 1), (2, 0))
        book.add(question)
        known[item] = plain(question)
        for _ in range(4):
            old = book[source.choice(list(known))]
            act(old, source, n)
            book.put(old)
            known[old.item] = plain(old)
    assert list(book) == sorted(known)
    assert {q.item: plain(q) for q in book.values()} == known
    assert {found: plain(book[found]) for found in known} == known
    finished = sum(not q.waits for q in book.values())
    assert len(book._objects) <= len(known) - finished + RECENT + TOGETHER
    again = QuestionBook()
    for values in book.to_lists():
        again.add(Question.from_list(values))
    assert again.to_lists() == book.to_lists()
    assert {q.item: plain(q)[:3] for q in again.values()} == {item: one[:3] for item, one in known.items()}


def test_what_was_never_asked_is_not_there():
    book = QuestionBook()
    assert 3 not in book
    assert book.get(3) is None
    book.add(Question(5, 0, 0.0, 0, 1.0, 1))
    assert 3 not in book
    assert 9 not in book
    assert 5 in book
    assert "5" not in book
    with pytest.raises(KeyError):
        book[4]
    with pytest.raises(ValueError, match="order"):
        book.add(Question(5, 0, 0.0, 0, 1.0, 1))


def test_rows_grow_and_are_copied():
    fields = (("a", "i8"), ("b", "f8"))
    rows = GrowingRows(fields)
    for n in range(100):
        rows.append(n, n / 3)
    other, column = GrowingRows(fields, rows.to_bytes()), rows.column("a", 90)
    other.append(7, 7.0)
    rows.write(0, 50, 0.5)
    assert column.tolist() == list(range(90, 100))
    assert rows.taken("b", np.array([3, 6])).tolist() == [1.0, 2.0]
    assert rows.rows(99) == [(99, 33.0)]
    assert (len(rows), len(other)) == (100, 101)
    assert (rows[0], other[0], rows[99]) == ((50, 0.5), (0, 0.0), (99, 33.0))
    for n in (-1, 100):
        with pytest.raises(IndexError):
            rows[n]
        with pytest.raises(IndexError):
            rows.write(n, 0, 0.0)

    with pytest.raises(ValueError, match="16 bytes each"):
        GrowingRows(fields, b"x" * 17)


def test_labels_far_back_are_undone_and_survive_a_checkpoint(folder):
    bench = Bench(folder, settings_of(budget=1000, query="AskAll", pace=False, undo=10**6))
    source, seqs = random.Random(3), {}

    def answer(item, label, key):
        return bench.run(AnswerJob("p", 1, key, b"", answers=[(item, label, None)])).answers[0].answer

    for _ in range(2 * TOGETHER):
        truth = source.random() < 0.5
        (made,) = bench.decide(made_up(source, truth))
        seqs[made.id] = answer(made.id, "fraud" if truth else "good", f"a{made.id}")
    assert unpack_state(pack_state(bench.state)).digest() == bench.state.digest()
    first = min(seqs)
    assert first not in bench.state.questions._objects
    bench.run(RetractJob("p", 1, "back", b"", answer=seqs[first]))
    assert bench.state.questions[first].state is QuestionState.OPEN
    answer(first, "good", "again")
    assert bench.state.questions[first].label == 0
    bench.store.close()
    store = SQLiteStore(folder, readonly=True)
    assert verify_project(store, store.project("p")).digest == bench.state.digest()
    store.close()
