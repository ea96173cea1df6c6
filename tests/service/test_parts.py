"""The parts by themselves: estimates, leases, pace, checkpoints, chain, settings, answers before their commit."""

from __future__ import annotations

import random
import time

import numpy as np
import pytest
from service_bench import Bench, HandClock, made_up, settings_of
from service_server import make_service

from steelyard import load_dataset
from steelyard.active import AskAsymmetric, AskAtLeast, QueryInput
from steelyard.errors import InvalidInputError, StateError
from steelyard.service.database.sqlite import SQLiteStore
from steelyard.service.log.records import BadRecordError, RecordReader, RowEncoder, pack_cells
from steelyard.service.log.settings import read_settings
from steelyard.service.numbers.live import curve, estimates
from steelyard.service.people import leases as leases_module
from steelyard.service.people.leases import Leases
from steelyard.service.replay.budget_ledger import BudgetLedger
from steelyard.service.replay.pace import scaled_rule
from steelyard.service.writer.clock import Clock
from steelyard.service.writer.group_commit import Writer, wait_for
from steelyard.service.writer.jobs import (
    AnswerJob,
    CloseJob,
    DecideJob,
    ExpireJob,
    RefusedError,
    RetractJob,
    RowToDecide,
    SetJob,
)
from steelyard.service.writer.projects import create_project, load_project, replayed
from steelyard.service.writer.verify import verify_project

# -- estimates -------------------------------------------------------------------------------------------------------


def stream(bench, source, rows, unanswered=0.0):
    """Rows whose truth is answered at once, some never; the true cost a row of those that could be asked."""
    cost, matrix = [], bench.state.settings.cost_matrix()
    for _ in range(rows):
        truth = source.random() < 0.3
        record = {"x": source.gauss(0.6 * truth, 1.0), "y": source.gauss(-0.3 * truth, 1.0)}
        (made,) = bench.decide(record)
        if made.chance > 0:
            cost.append(matrix[int(truth), bench.labels.index(made.decision)])
        if made.ask and source.random() < unanswered:
            bench.run(CloseJob("p", 1, item=made.id))
        elif made.ask:
            bench.run(AnswerJob("p", 2, answers=[(made.id, bench.labels[int(truth)], None)]))
    return float(np.mean(cost))


class SnapshotNumbers:
    """The numbers of a snapshot that estimates read."""

    def __init__(self, state):
        self.seq, self.reach, self.open, self.settings = state.seq, state.reach, len(state.open_rows), state.settings
        self.rounds, budget = state.learner.n_rounds_, state.budget
        self.limit, self.spent, self.reserved = budget.limit, budget.spent, budget.reserved


def shown(bench):
    return estimates(bench.store, bench.project.id, SnapshotNumbers(bench.state))


def test_estimates_hold_the_truth_and_a_naive_number_does_not(folder):
    covered, bands, naive, truths = 0, [], [], []
    for seed in range(6):
        place = folder / str(seed)
        place.mkdir()
        settings = settings_of(budget=250, expected_rows=900, seed=seed, costs={"fn": 3, "fp": 1}, update="CSOGD2(0.1)")
        bench = Bench(place, settings)
        truth = stream(bench, random.Random(seed), 900)
        found = shown(bench)
        assert found.cost.reason is None, found
        covered += found.cost.low <= truth <= found.cost.high
        bands.append(found.cost.value)
        rows = bench.store.tables(bench.project.id)["training_example"]
        naive.append(np.mean([settings.cost_matrix()[y, answer] for _, _, y, _, answer, _ in rows]))
        truths.append(truth)
        bench.store.close()
    assert covered >= 5
    assert abs(np.mean(bands) - np.mean(truths)) < 0.5 * abs(np.mean(naive) - np.mean(truths))


def test_no_number_without_labels_or_costly_mistakes(folder):
    bench = Bench(folder, settings_of(costs={"fn": 10, "fp": 1}, budget=100, query="AskAll", pace=False))
    assert shown(bench).cost.reason == "too few labels to say"
    for _ in range(60):
        for made in bench.decide({"x": 1.0, "y": -1.0}):
            if made.ask:
                bench.run(AnswerJob("p", 2, answers=[(made.id, "fraud", None)]))
    found = shown(bench)
    assert found.effective_size == 60
    assert (found.cost.value, found.cost.reason) == (None, "too few mistakes seen: 0 of 6")


def test_closed_questions_widen_the_band_and_open_ones_end_it(folder):
    settings = settings_of(budget=300, expected_rows=600, costs={"fn": 3, "fp": 1}, update="CSOGD2(0.1)")
    bench = Bench(folder, settings)
    stream(bench, random.Random(1), 600, unanswered=0.1)
    found = shown(bench)
    closed = sum(row[1] == 2 for row in bench.store.tables(bench.project.id)["question"])
    assert found.unanswered == pytest.approx(closed / (closed + found.labels))
    assert found.cost.high - found.cost.value > found.unanswered
    # what nobody answered has cost the most and would have cost the constant answer nothing; or the reverse
    constant = (1 - found.unanswered) * found.cost.value / (1 - found.saved.value)
    assert found.saved.low == pytest.approx(1 - found.cost.high / constant, abs=0.05)
    assert found.saved.high == pytest.approx(1 - found.cost.low / (constant + 3 * found.unanswered), abs=0.05)
    points = curve(bench.store, bench.project.id, SnapshotNumbers(bench.state))
    assert (points.low[-1], points.high[-1]) == pytest.approx((found.cost.low, found.cost.high))
    first = bench.store.tables(bench.project.id)["training_example"][5]
    answer = next(row[3] for row in bench.store.tables(bench.project.id)["answer"] if row[0] == first[1])
    bench.run(RetractJob("p", 2, answer=answer))
    assert shown(bench).upto == first[1] - 1


# -- leases, pace, settings ------------------------------------------------------------------------------------------


def test_a_lease_is_for_one_person_and_ends(monkeypatch):
    moment = [1000.0]
    monkeypatch.setattr(leases_module.time, "monotonic", lambda: moment[0])
    leases = Leases()
    assert leases.take("p", 1, [5, 6], 1) == [5]
    assert leases.take("p", 2, [5, 6], 2) == [6]
    assert not leases.renew("p", 2, 5)
    assert leases.take("q", 2, [5], 1) == [5]
    moment[0] += 121
    assert leases.take("p", 2, [5, 6], 2) == [5, 6]
    leases.see("p", 1)
    leases.see("p", 2)
    assert leases.share("p", 20, 7) == 3
    assert leases.present("p") == {1, 2}


def test_nobody_holds_more_than_their_share(monkeypatch):
    moment = [1000.0]
    monkeypatch.setattr(leases_module.time, "monotonic", lambda: moment[0])
    leases, queue = Leases(), list(range(1, 11))
    assert leases.take("p", 1, queue, 10, 10) == queue  # alone
    assert leases.take("p", 2, queue, 5, 5) == [10, 9, 8, 7, 6]  # the newest of what the other has too much
    assert leases.take("p", 1, queue, 5, 5) == [1, 2, 3, 4, 5]
    assert leases.take("p", 3, queue, 3, 3) == [5, 4, 10]
    assert leases.take("p", 2, queue, 3, 3) == [6, 7, 8]  # and gives back what is beyond it
    assert leases.take("p", 1, queue, 3, 3) == [1, 2, 3]
    assert leases.take("p", 3, queue, 3, 3) == [4, 5, 10]
    assert leases.take("q", 1, queue, 10, 10) == queue
    assert leases.take("q", 1, queue, 4, 4) == [1, 2, 3, 4]
    assert leases.take("q", 2, queue, 10) == [5, 6, 7, 8, 9, 10]  # what was given back is free for anybody
    leases.see("p", 1)
    assert leases.share("p", 20, 0) == 1


def test_pace_finds_the_mean_chance():
    source = random.Random(0)
    scores = [source.gauss(0, 2) for _ in range(500)]
    rule = scaled_rule(AskAsymmetric(0.1, 0.3), scores, 0.2, 0.1)
    assert isinstance(rule, AskAtLeast)
    assert rule.floor == 0.1
    assert rule.rule.c_neg == pytest.approx(3 * rule.rule.c_pos)
    assert np.mean([rule.query_probability(QueryInput(s, s >= 0, 0)) for s in scores]) == pytest.approx(0.2, abs=1e-6)


def test_german_asks_for_nearly_all_labels(folder):
    """With pace the budget lasts for the rows and is spent; without, the paper's rule asks for far fewer."""
    rows, labels = load_dataset("german")
    columns = {f"x{j}": "number" for j in range(rows.shape[1])}
    bench = Bench(folder, settings_of(columns=columns, budget=300, expected_rows=1000, costs={"fn": 5, "fp": 1}))
    order = np.random.default_rng(0).permutation(len(labels))
    for i in order:
        (made,) = bench.decide(dict(zip(columns, map(float, rows[i]), strict=True)))
        if made.ask:
            bench.run(AnswerJob("p", 2, answers=[(made.id, bench.labels[int(labels[i] == labels.max())], None)]))
    assert 280 <= bench.state.budget.spent <= 300
    assert shown(bench).effective_size > 100


@pytest.mark.parametrize(
    "raw",
    [
        b"{",
        b"[]",
        b'{"classes": ["a"], "columns": {"x": "number"}, "budget": 1, "expected_rows": 1}',
        b'{"classes": ["a", "b"], "columns": {"x": "numeric"}, "budget": 1, "expected_rows": 1}',
        b'{"classes": ["a", "b"], "columns": {"x": "number"}, "budget": -1, "expected_rows": 1}',
        b'{"classes": ["a", "b"], "columns": {"x": "number"}, "budget": 1, "expected_rows": 1, "more": 2}',
        b'{"classes": ["a", "b"], "columns": {"x": "number"}, "budget": 1, "expected_rows": 1, "update": "open()"}',
        b'{"classes": ["a", "b"], "columns": {"x": "number"}, "budget": 1, "expected_rows": 1, "query": "AskAll"}',
        b'{"classes": ["a", "b"], "columns": {"x": "shown"}, "budget": 1, "expected_rows": 1}',
        b'{"classes": ["a", "b"], "columns": {"x": "number"}, "budget": 1, "expected_rows": 1, "costs": {"fn": 1}}',
    ],
)
def test_settings_that_cannot_be_used_are_refused(raw):
    with pytest.raises(InvalidInputError, match="must"):
        read_settings(raw)


def test_a_budget_is_kept_to_the_label():
    ledger = BudgetLedger(2)
    ledger.reserve()
    ledger.reserve()
    with pytest.raises(StateError, match="must allow"):
        ledger.reserve()
    ledger.pay()
    ledger.refund()
    with pytest.raises(StateError, match="must be awaited"):
        ledger.pay()
    assert (ledger.spent, ledger.reserved, ledger.left) == (1, 0, 1)


def test_a_rule_that_cannot_take_the_rows_makes_no_project(folder):
    store = SQLiteStore(folder)
    settings = settings_of(columns={"c": "category"}, update="AROW(r=1.0, full=True)")
    with pytest.raises(InvalidInputError, match="full"):
        create_project(store, "p", settings, at=1)
    assert store.project("p") is None


@pytest.mark.parametrize(
    "changes", [{"update": "AROW(r='x')"}, {"query": "AskAll"}, {"budget": 10**30}, {"skips": 0}, {}]
)
def test_changes_that_cannot_be_made_change_nothing(folder, changes):
    bench = Bench(folder, settings_of())
    before = bench.state.digest()
    found = bench.run(SetJob("p", 1, changes=changes, expected=1))
    assert isinstance(found, RefusedError)
    assert found.status == 422
    assert bench.state.digest() == before


@pytest.mark.parametrize("number", [2**70, -(2**63) - 1])
def test_a_number_the_log_cannot_hold_is_logged_as_it_was_read(folder, number):
    bench = Bench(folder, settings_of())
    assert bench.run(SetJob("p", 1, changes={"threshold": number}, expected=1)).settings["threshold"] == float(number)
    assert replayed(bench.store, bench.store.project("p"))[0].digest() == bench.state.digest()


# -- the log ---------------------------------------------------------------------------------------------------------


def used(folder):
    bench, source = Bench(folder, settings_of()), random.Random(3)
    for n in range(80):
        (made,) = bench.decide(made_up(source, n % 3 == 0))
        if made.ask and n % 2:
            bench.run(AnswerJob("p", 2, answers=[(made.id, "fraud", 1.0)]))
    return bench


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE item SET payload = zeroblob(40) WHERE id = 20",
        "UPDATE budget SET spent = spent - 1",
        "UPDATE question SET expires = expires + 1 WHERE item = (SELECT min(item) FROM question)",
        "UPDATE training_example SET y = 1 - y WHERE n = 2",
        "DELETE FROM answer WHERE item = (SELECT min(item) FROM answer)",
        "UPDATE project SET head = head - 1 WHERE id > 0",
        "DROP TRIGGER event_stays; UPDATE event SET at = at + 1 WHERE seq = 30",
        "DROP TRIGGER event_remains; DELETE FROM event WHERE seq = 30",
    ],
)
def test_verify_sees_damage(folder, damage):
    bench = used(folder)
    head = bench.store.project("p")
    assert verify_project(bench.store, head).digest == bench.state.digest()
    bench.store.connection.execute(damage)
    with pytest.raises(StateError):
        verify_project(bench.store, bench.store.project("p"))


def test_a_key_stands_for_one_request(folder):
    bench = Bench(folder, settings_of())
    first = bench.decide({"x": 1.0}, key="k", digest=b"one")
    assert bench.decide({"x": 1.0}, key="k", digest=b"one") == first
    other = bench.decide({"x": 2.0}, key="k", digest=b"two")
    assert isinstance(other, RefusedError)
    assert (other.status, other.code) == (409, "key_reused")
    assert bench.state.learner.n_rounds_ == 1


def test_the_log_is_append_only(folder):
    bench = used(folder)
    for change in ("UPDATE event SET at = 1", "DELETE FROM event"):
        with pytest.raises(Exception, match="append-only"):
            bench.store.connection.execute(change)


def test_a_checkpoint_is_the_state_and_a_damaged_one_is_not_used(folder):
    bench = used(folder)
    digest = bench.state.digest()
    bench.store.begin()
    bench.project.save_checkpoint()
    bench.store.commit()
    kept = bench.store.newest_checkpoint(bench.project.id, 1)
    assert kept.upto == bench.state.seq
    bench.restart()
    assert bench.state.digest() == digest
    bench.store.connection.execute("UPDATE checkpoint SET body = zeroblob(length(body))")
    bench.restart()
    assert bench.state.digest() == digest


def test_labels_are_learned_with_the_row_of_the_decision_in_the_order_they_came(folder):
    """Late, in another order than they were asked, and equal to a learner that is told the same."""
    bench, source = Bench(folder, settings_of(pace=False, query="AskAll", budget=30)), random.Random(9)
    made = [bench.decide(made_up(source, n % 2 == 0))[0] for n in range(30)]
    rows = dict(bench.state.open_rows)
    order = list(made)
    source.shuffle(order)
    twin = bench.state.learner
    twin = type(twin).from_state(twin.state())
    for n, one in enumerate(order):
        label = bench.labels[n % 2]
        bench.run(AnswerJob("p", 2, answers=[(one.id, label, None)]))
        twin.learn(rows[one.id], n % 2)
    assert np.array_equal(twin.coef_, bench.state.learner.coef_)
    answers = [e.seq for e in bench.store.events(bench.project.id, 0) if e.kind == 4]
    bench.run(RetractJob("p", 2, answer=answers[3]))
    kept = [(one, n % 2) for n, one in enumerate(order) if n != 3]
    again = twin.relearned([rows[o.id] for o, _ in kept], [y for _, y in kept], [30] * 29)
    assert np.array_equal(again.coef_, bench.state.learner.coef_)
    assert replayed(bench.store, bench.store.project("p"))[0].digest() == bench.state.digest()


def test_labels_that_are_taken_back_and_given_again_behind_a_copy_do_not_keep_others_from_being_taken_back(folder):
    """They are paid for once, so more labels are learned since the copy than were paid for since then."""
    bench, source = Bench(folder, settings_of(pace=False, query="AskAll", budget=60)), random.Random(3)
    items = [bench.decide(made_up(source, n % 2 == 0))[0].id for n in range(40)]

    def answer(n):
        (said,) = bench.run(AnswerJob("p", 2, answers=[(items[n], bench.labels[n % 2], None)])).answers
        return said.answer

    answers = [answer(n) for n in range(30)]
    for n in (28, 29):
        bench.run(RetractJob("p", 2, answer=answers[n]))
    for n in (30, 31, 28, 29):  # a copy of the learner is kept behind the second
        answer(n)
    last = answer(32)
    taken_back = bench.run(RetractJob("p", 2, answer=last))
    assert taken_back.event == bench.state.seq
    assert items[32] in bench.state.open_rows
    assert replayed(bench.store, bench.store.project("p"))[0].digest() == bench.state.digest()
    live = bench.state.digest()
    bench.restart()
    assert bench.state.digest() == live


def test_no_answer_before_its_commit(folder, monkeypatch):
    make_service(folder)
    store = SQLiteStore(folder)
    writer = Writer(store, Clock())
    reader = SQLiteStore(folder, readonly=True)
    found, commit = [], store.commit

    def slow_commit():
        time.sleep(0.2)
        commit()

    monkeypatch.setattr(store, "commit", slow_commit)
    project = writer.projects["p"]
    cells, _, _ = project.reader.read({"x": 1})
    job = DecideJob("p", 1, key="k", digest=b"d", rows=[RowToDecide(cells, pack_cells(bytes(16), cells))])
    writer.start()
    (made,) = wait_for(writer, job)
    found = reader.event(project.id, made.id)
    assert found is not None, "answered before it was committed"
    writer.stop()
    reader.close()
    store.close()


def test_a_full_queue_refuses(folder):
    make_service(folder)
    writer = Writer(SQLiteStore(folder), Clock())
    writer.submit(DecideJob("p", 1, size=4096))
    with pytest.raises(RefusedError) as refused:
        writer.submit(DecideJob("p", 1, size=1))
    assert refused.value.status == 429


def test_expired_questions_give_their_label_back(folder):
    clock = HandClock()
    bench = Bench(folder, settings_of(expire=100), clock)
    asked = [made for made in bench.decide(*({"x": 1.0},) * 5) if made.ask]
    bench.run(AnswerJob("p", 2, answers=[(asked[0].id, "good", None)]))
    answer = bench.state.seq
    bench.run(RetractJob("p", 2, answer=answer))
    clock.advance(101)
    assert bench.run(ExpireJob("p", 0)) == len(asked)
    assert (bench.state.budget.spent, bench.state.budget.reserved) == (1, 0), "what was paid stays paid"
    assert load_project(bench.store, bench.store.project("p")).state.digest() == bench.state.digest()


@pytest.mark.parametrize("cell", [float("nan"), float("inf"), 1e101, -1e101, "1", True, 2**60])
def test_a_row_of_numbers_alone_is_checked_like_any_other(cell):
    reader = RecordReader(settings_of(columns={"x": "number", "y": "number"}))
    assert reader.read({"x": 1.0, "y": 2.0}) == ([1.0, 2.0], 0, 0)
    assert reader.read({"x": 1, "y": 2.0}) == ([1, 2.0], 0, 0)
    assert reader.read({"x": 1.0, "z": 2.0}) == ([1.0, None], 1, 1)
    with pytest.raises(BadRecordError, match="column 'y' must be a number"):
        reader.read({"x": 1.0, "y": cell})


@pytest.mark.parametrize("scale", ["auto", "none", "unit-norm"])
def test_numbers_alone_are_encoded_as_records_are(scale):
    settings = settings_of(columns={"x": "number", "y": "number"}, scale=scale)
    quick, plain = RowEncoder(settings), RowEncoder(settings)
    plain._all_numbers = False
    for x in range(5):
        np.testing.assert_array_equal(quick.one([float(x), 2.0]), plain.one([float(x), 2.0]))
        np.testing.assert_array_equal(quick.one([None, x]), plain.one([None, x]))


def test_a_key_sent_thrice_in_one_commit_acts_once(tmp_path):
    store, clock = SQLiteStore(tmp_path), HandClock()
    create_project(store, "p", settings_of(), at=clock.now())
    said: list = []
    writer = Writer(store, clock, deliver=lambda outcomes: said.extend(outcome for _, outcome in outcomes))
    cells = [1.0, 2.0]
    row = RowToDecide(cells, pack_cells(bytes(16), cells))
    writer._carry_out([DecideJob("p", 1, "k", b"d", rows=[row], single=True) for _ in range(3)])
    assert said[0] == said[1] == said[2]
    assert writer.projects["p"].state.learner.n_rounds_ == 1
    store.close()


def test_rounds_count_every_decision_once(tmp_path):
    bench = Bench(tmp_path, settings_of())
    source = random.Random(0)
    said = bench.decide(*(made_up(source, False) for _ in range(30)))
    bench.run(SetJob("p", 1, changes={"costs": {"fn": 3, "fp": 1}}, expected=1))
    assert bench.state.model == 2
    said += bench.decide(*(made_up(source, False) for _ in range(30)))
    assert [one.t for one in said] == list(range(60))


def test_fields_may_come_in_any_order():
    reader = RecordReader(settings_of())
    assert reader.read({"x": 1.5, "y": 2.5}) == reader.read({"y": 2.5, "x": 1.5}) == ([1.5, 2.5], 0, 0)
    assert reader.read({"y": 2.5, "z": 1.5}) == ([None, 2.5], 1, 1)


def test_requests_that_come_together_share_a_commit(folder):
    bench = Bench(folder, settings_of())
    writer, rows = Writer(bench.store, Clock()), [bench.row({"x": float(n), "y": 0.5}) for n in range(3)]
    done: list[object] = []
    writer.start()
    for n, row in enumerate(rows):
        job = DecideJob("p", 1, key=f"k{n}", rows=[row], single=True)
        job.deliver = done.append
        writer.submit(job, alone=False)
    time.sleep(0.05)
    assert (writer.batches, done) == (0, [])
    writer.wake()
    writer.stop()
    assert (writer.batches, len(done)) == (1, 3)
