"""Random acts on a project: the live state, its replay and its tables stay one, and the budget is kept at each step."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from service_bench import THREE, Bench, settings_of
from sklearn.base import clone

from steelyard.service.replay.questions import QuestionState
from steelyard.service.writer.jobs import (
    AdjudicateJob,
    AnswerJob,
    AnswersReply,
    CloseJob,
    EraseJob,
    EraseReply,
    EventReply,
    ExpireJob,
    OutcomeJob,
    PromoteJob,
    RefusedError,
    RetractJob,
    SetJob,
    SettingsReply,
    ShadowJob,
)
from steelyard.service.writer.projects import rebuilt_tables, replayed

STEPS = int(os.environ.get("STEELYARD_SERVICE_STEPS", "2000"))
KINDS = (
    {},
    {"pace": False, "query": "AskAsymmetric(0.5, 1.0)", "budget": 12},
    THREE | {"expected_rows": 100},
    {"columns": {"x": "number", "y": "number", "c": "category"}, "hash_bits": 6, "update": "CSOGD2(0.3)"},
    {"votes": 3, "pace": False, "query": "AskAll()", "budget": 30},
)
numbers = st.floats(-5, 5, width=16)


class ServiceMachine(RuleBasedStateMachine):
    @initialize(kind=st.sampled_from(KINDS))
    def start(self, kind):
        place = "/dev/shm" if Path("/dev/shm").is_dir() else None
        self.folder = Path(tempfile.mkdtemp(prefix="service-machine-", dir=place))
        self.bench = Bench(self.folder, settings_of(**kind))
        self.answers: list[tuple[int, int]] = []  # (number, person) of answers that stand
        self.keys = 0

    def teardown(self):
        if hasattr(self, "bench"):
            self.check_whole()
            self.bench.store.close()
            shutil.rmtree(self.folder, ignore_errors=True)

    def open_items(self):
        return sorted(self.bench.state.open_rows)

    @rule(rows=st.lists(st.tuples(numbers, numbers, st.sampled_from("uvw")), min_size=1, max_size=20))
    def decide(self, rows):
        before = self.bench.state.seq
        made = self.bench.decide(*({"x": x, "y": y, "c": c} for x, y, c in rows))
        assert [m.id for m in made] == list(range(before + 1, before + 1 + len(rows)))

    @rule(x=numbers, y=numbers)
    def decide_twice(self, x, y):
        self.keys += 1
        first = self.bench.decide({"x": x, "y": y}, {"x": "text"}, key=f"k{self.keys}")
        seq = self.bench.state.seq
        again = self.bench.decide({"x": x, "y": y}, {"x": "text"}, key=f"k{self.keys}")
        assert first[0] == again[0]
        assert isinstance(again[1], RefusedError)
        assert self.bench.state.seq == seq
        assert self.bench.decide({"x": x}, key=f"k{self.keys}", digest=b"other").code == "key_reused"

    @precondition(lambda self: self.open_items())
    @rule(data=st.data(), person=st.integers(2, 4), skip=st.booleans())
    def answer(self, data, person, skip):
        item = data.draw(st.sampled_from(self.open_items()))
        label = None if skip else data.draw(st.sampled_from(self.bench.labels))
        job = AnswerJob("p", person, answers=[(item, label, 1.5)], present=frozenset({2, 3, 4}))
        made = self.bench.run(job)
        if isinstance(made, AnswersReply):
            self.answers.append((made.answers[0].answer, person))
        else:
            question = self.bench.state.questions[item]
            assert made.code == ("disputed" if question.state is QuestionState.DISPUTED else "already_answered")

    @precondition(lambda self: self.answers)
    @rule(data=st.data())
    def retract(self, data):
        answer, person = data.draw(st.sampled_from(self.answers))
        made = self.bench.run(RetractJob("p", person, answer=answer))
        assert isinstance(made, EventReply) or made.code in (
            "closed",
            "not_yours",
            "too_late",
            "adjudicated",
            "erased",
        )
        self.answers.remove((answer, person))

    @precondition(lambda self: self.open_items())
    @rule(data=st.data())
    def close(self, data):
        assert isinstance(
            self.bench.run(CloseJob("p", 1, item=data.draw(st.sampled_from(self.open_items())))), EventReply
        )

    @precondition(lambda self: self.bench.state.questions)
    @rule(data=st.data())
    def adjudicate(self, data):
        item = data.draw(st.sampled_from(sorted(self.bench.state.questions)))
        question = self.bench.state.questions[item]
        may = question.state is not QuestionState.CLOSED and not question.erased
        made = self.bench.run(AdjudicateJob("p", 1, item=item, label=data.draw(st.sampled_from(self.bench.labels))))
        assert isinstance(made, EventReply) == may, made

    @precondition(lambda self: self.bench.state.learner.n_rounds_ > 3)
    @rule(data=st.data())
    def erase(self, data):
        items = data.draw(st.sets(st.integers(2, self.bench.state.seq), min_size=1, max_size=3))
        stored = self.bench.store.payloads(self.bench.project.id, items)
        made = self.bench.run(EraseJob("p", 1, items=tuple(items)))
        assert isinstance(made, EraseReply) == all(stored.get(item) is not None for item in items)
        if isinstance(made, EraseReply):
            assert not items & self.bench.state.open_rows.keys()
            assert not items & {e.item for e in self.bench.state.training.examples if e.label is not None}

    @rule(item=st.integers(1, 60))
    def close_or_answer_whatever(self, item):
        seq, question = self.bench.state.seq, self.bench.state.questions.get(item)
        known = question is not None and question.state is QuestionState.OPEN and question.vote_of(9) is None
        made = self.bench.run(AnswerJob("p", 9, answers=[(item, self.bench.labels[0], None)]))
        assert isinstance(made, AnswersReply) == known
        assert known or self.bench.state.seq == seq

    @precondition(lambda self: self.bench.state.learner.n_rounds_)
    @rule(data=st.data())
    def outcome(self, data):
        label = data.draw(st.sampled_from(self.bench.labels))
        self.bench.run(OutcomeJob("p", 1, item=data.draw(st.integers(1, self.bench.state.seq)), label=label))

    @rule(hours=st.integers(0, 400))
    def expire(self, hours):
        self.bench.clock.advance(3600 * hours)
        self.bench.run(ExpireJob("p", 0))

    @rule(budget=st.integers(0, 80), fn=st.integers(1, 9), relearn=st.booleans())
    def set(self, budget, fn, relearn):
        changes = {"budget": budget} | (
            {"costs": {"fn": fn, "fp": 1}} if relearn and len(self.bench.labels) == 2 else {}
        )
        state = self.bench.state
        allowed = budget >= state.budget.spent + state.budget.reserved
        made = self.bench.run(SetJob("p", 1, changes=changes, expected=state.settings_seq))
        assert isinstance(made, SettingsReply) == allowed, made

    @rule(slot=st.integers(1, 3), update=st.sampled_from([None, "CSOGD1(eta=0.2)", "PA1(C=0.5)"]))
    def set_shadow(self, slot, update):
        known = slot in self.bench.state.shadows
        made = self.bench.run(ShadowJob("p", 1, slot=slot, settings=None if update is None else {"update": update}))
        assert isinstance(made, EventReply) == (known or update is not None), made

    @rule(slot=st.integers(1, 3))
    def promote(self, slot):
        known = slot in self.bench.state.shadows
        assert isinstance(self.bench.run(PromoteJob("p", 1, slot=slot)), EventReply) == known

    @rule()
    def restart(self):
        before = self.bench.state.digest()
        self.bench.restart()
        assert self.bench.state.digest() == before

    @invariant()
    def budget_law(self):
        if not hasattr(self, "bench"):
            return
        state = self.bench.state
        questions = state.questions.values()
        assert state.budget.spent == sum(q.paid for q in questions)
        assert state.budget.reserved == sum(q.waits and not q.paid for q in questions)
        for q in questions:
            votes = [label for _, label, _ in q.votes if label is not None]
            assert q.ruled or q.state is not QuestionState.DISPUTED or len(votes) == state.settings.votes
            if q.state is QuestionState.SETTLED and not q.ruled:
                assert votes.count(q.label) >= state.settings.equal_answers
        assert state.budget.spent + state.budget.reserved <= state.budget.limit
        counts = state.learner.state()["counts"]
        assert counts[1:3] == [state.budget.spent, state.budget.reserved]

    @invariant()
    def relearning_is_learning_afresh(self):
        if hasattr(self, "bench") and self.bench.state.seq % 7 == 0:
            state, project = self.bench.state, self.bench.project
            examples = [e for e in state.training.examples if e.label is not None]
            for learner in (state.learner, *(shadow.learner for shadow in state.shadows.values())):
                fresh = clone(learner).set_params(budget=None)
                fresh.start(state.encoder.width, learner.classes_)
                for example in examples:
                    fresh.learn(project.rows(example.item), example.label)
                assert np.array_equal(fresh.coef_, learner.coef_)
                assert np.array_equal(fresh.intercept_, learner.intercept_)

    def check_whole(self):
        live = self.bench.state
        head = self.bench.store.project("p")
        assert replayed(self.bench.store, head)[0].digest() == live.digest()
        assert rebuilt_tables(live) == self.bench.store.tables(head.id)


TestServiceMachine = pytest.mark.filterwarnings("ignore::hypothesis.errors.NonInteractiveExampleWarning")(
    ServiceMachine.TestCase
)
TestServiceMachine.settings = settings(
    max_examples=max(1, STEPS // 40),
    stateful_step_count=40,
    suppress_health_check=list(HealthCheck),
)
