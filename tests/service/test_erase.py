"""Erased rows: no file holds a byte of them, the rest goes on, and `verify` says what it cannot compute again."""

from __future__ import annotations

import os
import random

import pytest
from service_bench import Bench, HandClock, made_up, settings_of
from service_server import ThreadedServer, call, make_service

from steelyard.errors import StateError
from steelyard.service.commands.log import run_backup, run_verify
from steelyard.service.commands.rows import run_erase
from steelyard.service.database.sqlite import SQLiteStore
from steelyard.service.log.records import pack_cells
from steelyard.service.writer import group_commit
from steelyard.service.writer.group_commit import Writer, wait_for
from steelyard.service.writer.jobs import AnswerJob, DecideJob, EraseJob, EraseReply, RetainJob, RetractJob, SetJob
from steelyard.service.writer.projects import create_project, load_project, rebuilt_tables, replayed
from steelyard.service.writer.verify import verify_project

COLUMNS = {"x": "number", "y": "number", "c": "category", "note": "text"}
DAY = 86400


def hits(folder, needles):
    """How often any of these bytes stand in any file of the folder."""
    found = 0
    for path in folder.rglob("*"):
        if path.is_file():
            raw = path.read_bytes()
            found += sum(needle in raw for needle in needles)
    return found


def secret_row(source, number):
    return {
        "x": source.gauss(0, 1) + 1e6,
        "y": source.gauss(0, 1),
        "c": f"Marlene{number:05d}",
        "note": f"lives in {number:05d}",
    }


def needles_of(bench, record, number):
    """What stands for the row on a disk: its cells, each of its texts, its id, and what the model was given."""
    cells, _, _ = bench.project.reader.read(record)
    found = [
        pack_cells(b"", cells),
        f"Marlene{number:05d}".encode(),
        f"lives in {number:05d}".encode(),
        f"client-{number:05d}".encode(),
    ]
    example = bench.store.example_row(bench.project.id, number)
    return found if example is None else [*found, example]


def filled(folder, rows=120, clock=None, **more):
    """A project whose asked rows are labelled, but for the last; beside it another one, so that pages are shared."""
    bench = Bench(folder, settings_of(columns=COLUMNS, hash_bits=8, budget=60, expected_rows=rows, **more), clock)
    create_project(bench.store, "q", settings_of(columns=COLUMNS, hash_bits=8), at=0)
    beside = load_project(bench.store, bench.store.project("q"))
    source, asked, sent = random.Random(3), [], {}
    for _ in range(rows):
        number = bench.state.seq + 1
        sent[number] = secret_row(source, number)
        (made,) = bench.decide(sent[number], ids=[f"client-{number:05d}"])
        bench.store.begin()
        beside.decide(bench.row(made_up(source, True)), 1)
        beside.flush()
        bench.store.commit()
        if made.ask:
            asked.append(made.id)
            label = bench.labels[source.random() < 0.4]
            assert bench.run(AnswerJob("p", 2, answers=[(made.id, label, 1.0)])).answers[0].learned
        elif len(asked) > 5 and random.Random(number).random() < 0.02:
            bench.restart()
    return bench, asked, sent


def unasked(bench, sent):
    return [item for item in sent if item not in bench.state.questions]


def test_no_file_holds_an_erased_row_and_the_rest_goes_on(folder):
    bench, asked, sent = filled(folder)
    gone = [asked[7], asked[-1], unasked(bench, sent)[3]]
    needles = [needle for item in gone for needle in needles_of(bench, sent[item], item)]
    kept = [needle for item in asked[8:10] for needle in needles_of(bench, sent[item], item)]
    bench.store.begin()
    bench.project.save_checkpoint()
    bench.store.commit()
    (folder / "service.sqlite.schema-1").write_bytes(b"".join(needles))  # as a start by a newer version leaves it
    assert hits(folder, needles) >= len(needles)
    before, scores = bench.state.learner.coef_.copy(), bench.store.tables(bench.project.id)["training_example"]
    found = bench.run(EraseJob("p", 1, items=tuple(gone[:2]), ids=(f"client-{gone[2]:05d}",)))
    assert isinstance(found, EraseReply)
    assert found.items == sorted(gone)
    assert bench.store.unclean
    assert bench.store.clean()
    assert not bench.store.unclean
    assert hits(folder, needles) == 0
    states = bench.store.connection.execute("SELECT upto FROM checkpoint WHERE project = ?", (bench.project.id,))
    assert states.fetchall() == [(found.event,)]  # none of the states before, in which rows are packed
    assert hits(folder, kept) >= len(kept) - 2  # nothing else has gone (two of their texts are not stored apart)
    assert bench.store.tables(bench.project.id)["training_example"] == scores  # what estimates need stays
    assert (bench.state.learner.coef_ != before).any()
    digest = bench.state.digest()
    bench.restart()
    assert bench.state.digest() == digest
    verified = verify_project(bench.store, bench.store.project("p"))
    assert (verified.digest, verified.gap, verified.why) == (digest, (min(gone), found.event), "rows were erased")
    # the model is the one that never saw them, and stays so through whatever is learned again
    learned = [e for e in bench.state.training.examples if e.label is not None]
    assert {e.item for e in learned} == set(asked) - set(gone)
    fresh = bench.state.learner.relearned(
        (bench.project.rows(e.item) for e in learned), [e.label for e in learned], [e.round for e in learned]
    )
    assert (fresh.coef_ == bench.state.learner.coef_).all()
    changed = SetJob("p", 1, changes={"costs": {"fn": 3, "fp": 1}}, expected=bench.state.settings_seq)
    assert bench.run(changed).settings["costs"]["fn"] == 3
    bench.decide(*(secret_row(random.Random(9), n) for n in range(900, 960)))
    state, _ = replayed(bench.store, bench.store.project("p"))
    assert state.digest() == bench.state.digest()
    assert rebuilt_tables(state) == bench.store.tables(bench.project.id)


def test_an_erased_row_is_unknown_and_cannot_be_judged_again(folder):
    bench, asked, sent = filled(folder, rows=60)
    item = asked[0]
    answer = bench.state.questions[item].vote_of(2)[2]
    assert bench.run(EraseJob("p", 1, items=(item,), key="e", digest=b"1")).items == [item]
    assert bench.run(EraseJob("p", 1, items=(item,), key="e", digest=b"1")).items == [item]  # the same request again
    assert bench.run(EraseJob("p", 1, items=(item,))).code == "erased"
    assert bench.run(EraseJob("p", 1, items=(1,))).code == "unknown_item"
    assert bench.run(EraseJob("p", 1, ids=("nobody",))).code == "unknown_item"
    assert bench.run(RetractJob("p", 2, answer=answer)).code == "erased"
    seq = bench.state.seq
    (again,) = bench.decide(sent[item], ids=[f"client-{item:05d}"])
    assert again.id == seq + 1  # its id was erased, too


def test_an_open_question_is_closed_before_its_row_goes(folder):
    bench = Bench(folder, settings_of())
    made = next(m for m in iter(lambda: bench.decide(made_up(random.Random(0), True))[0], None) if m.ask)
    assert bench.state.budget.reserved == 1
    assert bench.run(EraseJob("p", 1, items=(made.id,))).items == [made.id]
    assert (bench.state.budget.reserved, bench.state.open_rows) == (0, {})
    assert bench.run(AnswerJob("p", 2, answers=[(made.id, "good", None)])).code == "closed"


def test_a_batch_with_erased_rows_is_not_answered_with_others_decisions(folder):
    bench = Bench(folder, settings_of())
    rows = [made_up(random.Random(n), False) for n in range(3)]
    first = bench.decide(*rows, ids=["a", None, "c"], key="k")
    bench.run(EraseJob("p", 1, ids=("a",)))
    assert bench.decide(*rows, ids=["a", None, "c"], key="k").code == "erased"
    plain = bench.decide(*rows, key="plain")
    bench.run(EraseJob("p", 1, items=(plain[1].id,)))
    assert bench.decide(*rows, key="plain") == plain
    assert first[0].id == 2


def test_a_row_that_another_request_decided_and_that_was_erased_cannot_be_answered_again(folder):
    bench = Bench(folder, settings_of())
    row = made_up(random.Random(0), False)
    first = bench.decide(row, ids=["a"], key="first")
    assert bench.decide(row, row, ids=["a", "b"], key="second", digest=b"2")[0] == first[0]
    bench.run(EraseJob("p", 1, ids=("a",)))
    seq = bench.state.seq
    assert bench.decide(row, row, ids=["a", "b"], key="second", digest=b"2").code == "erased"
    assert bench.state.seq == seq


def test_rows_are_kept_as_long_as_the_settings_say(folder):
    clock = HandClock()
    bench, asked, sent = filled(folder, rows=80, clock=clock, keep_payloads="90d", keep_training_rows="200d")
    needles = [needle for item in sent for needle in needles_of(bench, sent[item], item)[:4]]
    learned = [bench.store.example_row(bench.project.id, item) for item in asked]
    clock.advance(89 * DAY)
    seq = bench.state.seq
    assert bench.run(RetainJob("p", 0)) == 0
    assert bench.state.seq == seq
    coef = bench.state.learner.coef_.copy()
    clock.advance(2 * DAY)
    assert bench.run(RetainJob("p", 0)) == len(sent)
    assert bench.run(RetainJob("p", 0)) == 0  # one event a day
    assert bench.state.seq == seq + 1
    assert bench.store.clean()
    assert hits(folder, needles) == 0
    assert hits(folder, learned) == len(learned)
    assert (bench.state.learner.coef_ == coef).all()
    clock.advance(110 * DAY)
    assert bench.run(RetainJob("p", 0)) == len(asked)
    assert bench.store.clean()
    assert hits(folder, learned) == 0
    assert not bench.state.learner.coef_.any()
    verify_project(bench.store, bench.store.project("p"))


def test_what_the_model_was_given_can_be_erased_after_its_record_has_gone(folder):
    clock = HandClock()
    bench, asked, _ = filled(folder, rows=60, clock=clock, keep_payloads="90d")
    learned = bench.store.example_row(bench.project.id, asked[0])
    clock.advance(91 * DAY)
    assert bench.run(RetainJob("p", 0)) == 60
    assert bench.store.clean()
    assert hits(folder, [learned]) == 1
    assert bench.run(EraseJob("p", 1, items=(asked[0],))).items == [asked[0]]
    assert bench.store.clean()
    assert hits(folder, [learned]) == 0
    assert bench.run(EraseJob("p", 1, items=(asked[0],))).code == "erased"
    assert asked[0] not in {example.item for example in bench.state.training.examples if example.label is not None}
    digest = bench.state.digest()
    bench.restart()
    assert verify_project(bench.store, bench.store.project("p")).digest == bench.state.digest() == digest


@pytest.fixture
def unbalanced(folder):
    """Labels of which one keeps the weights small enough for the row behind it; and one that is awaited."""
    settings = settings_of(
        columns={"x": "number"}, scale="none", update="CSOGD1(5e207)", pace=False, query="AskAll()", fit_intercept=False
    )
    bench, items = Bench(folder, settings, HandClock()), []
    for x, label in ((10.0, "fraud"), (10.0, "good"), (1e100, "good")):
        (made,) = bench.decide({"x": x})
        assert bench.run(AnswerJob("p", 2, answers=[(made.id, label, None)])).answers[0].learned
        items.append(made.id)
        bench.clock.advance(DAY if len(items) == 1 else 0)
    return bench, [*items, bench.decide({"x": 0.0})[0].id]


def test_a_row_without_which_the_others_cannot_be_learned_is_not_erased(unbalanced):
    bench, items = unbalanced
    seq, digest, tables = bench.state.seq, bench.state.digest(), bench.store.tables(bench.project.id)
    found = bench.run(EraseJob("p", 1, items=(items[1], items[3])))
    assert (found.status, found.code) == (422, "not_learnable")
    assert (bench.state.seq, bench.state.digest()) == (seq, digest)
    assert bench.store.tables(bench.project.id) == tables
    assert bench.run(EraseJob("p", 1, items=(items[0], items[2]))).items == [items[0], items[2]]


def test_rows_are_erased_by_age_also_where_the_model_must_keep_what_it_was_given(unbalanced):
    bench, items = unbalanced
    changes = {"keep_payloads": "1d", "keep_training_rows": "1d"}
    bench.run(SetJob("p", 1, changes=changes, expected=bench.state.settings_seq))
    bench.clock.advance(2 * 3600)  # midnight: the first label is a day old, those behind it are not
    weights = bench.state.learner.coef_.copy()
    assert bench.run(RetainJob("p", 0)) == 1
    assert bench.store.payloads(bench.project.id, items[:1]) == {items[0]: None}
    assert (bench.state.learner.coef_ == weights).all()
    assert bench.store.example_row(bench.project.id, items[0]) is not None
    verify_project(bench.store, bench.store.project("p"))


def test_rows_that_were_kept_too_long_are_looked_for_once_a_day(folder, monkeypatch):
    clock, looks = HandClock(), []
    bench = Bench(folder, settings_of(keep_payloads="1d"), clock)
    find = SQLiteStore.erasable
    monkeypatch.setattr(SQLiteStore, "erasable", lambda *given: looks.append(given) or find(*given))
    bench.decide(*({"x": n, "y": 0.0} for n in range(80)))
    rows = 80 - len(bench.state.open_rows)
    clock.advance(3 * DAY)
    for _ in range(10):
        bench.run(RetainJob("p", 0))
        clock.advance(60)
    assert len(looks) == 1
    bench.decide({"x": 1.0, "y": 0.0})
    changes = {"keep_training_rows": "1d"}
    bench.run(SetJob("p", 1, changes=changes, expected=bench.state.settings_seq))
    bench.run(RetainJob("p", 0))  # other settings are looked at once more
    clock.advance(3 * DAY)
    assert bench.run(RetainJob("p", 0)) == 1 - len(bench.state.open_rows) + 80 - rows
    assert len(looks) == 3


def test_a_reader_holds_nobody_up_and_does_not_have_the_file_written_again_and_again(folder, monkeypatch):
    monkeypatch.setattr(group_commit, "CLEAN_EVERY", 0.0)
    monkeypatch.setattr(group_commit, "CLEAN_REST", 0.0)
    bench, asked, sent = filled(folder, rows=400)
    needles, log = needles_of(bench, sent[asked[0]], asked[0]), folder / "service.sqlite-wal"
    rows = [bench.row(secret_row(random.Random(9), n)) for n in range(900, 910)]
    bench.store.close()
    store = SQLiteStore(folder)
    running = Writer(store, HandClock())
    running.start()
    reader = SQLiteStore(folder, readonly=True)
    reader.connection.execute("BEGIN")
    reader.project("p")
    wait_for(running, EraseJob("p", 1, items=(asked[0],)))
    assert store.unclean
    size = log.stat().st_size
    for row in rows:
        wait_for(running, DecideJob("p", 1, rows=[row]))
    assert log.stat().st_size < 1.5 * size
    assert hits(folder, needles)
    reader.connection.execute("COMMIT")
    wait_for(running, DecideJob("p", 1, rows=[bench.row(secret_row(random.Random(9), 950))]))
    assert not store.unclean
    assert hits(folder, needles) == 0
    running.stop()
    reader.close()
    store.close()


def test_a_state_behind_an_erasure_that_is_gone_is_said(folder):
    bench, asked, _ = filled(folder, rows=30)
    bench.run(EraseJob("p", 1, items=(asked[0],)))
    bench.store.connection.execute("UPDATE checkpoint SET body = x'00'")
    with pytest.raises(StateError, match="row"):
        bench.restart()
    with pytest.raises(StateError, match="checkpoint"):
        verify_project(bench.store, bench.store.project("p"))


def test_files_are_cleaned_by_the_next_start_if_a_crash_came_between(folder):
    bench, asked, sent = filled(folder, rows=40)
    needles = needles_of(bench, sent[asked[0]], asked[0])
    bench.run(EraseJob("p", 1, items=(asked[0],)))
    assert hits(folder, needles)
    bench.store.close()
    store = SQLiteStore(folder)
    Writer(store, HandClock())
    assert hits(folder, needles) == 0
    store.close()


def test_by_route_and_command_while_it_runs_and_after(folder, capsys):
    tokens = make_service(folder, settings=settings_of(columns=COLUMNS, hash_bits=8))
    secrets = [os.urandom(8).hex() for _ in range(3)]
    with ThreadedServer(folder) as server:
        producer = server.client(tokens["producer"])
        made = [producer.decide({"x": 1.0, "note": text}, id=text) for text in secrets]
        once = {"Idempotency-Key": "1"}
        sent = {"items": [made[0]["id"]]}
        status, _, said = call(server.url, "POST", "/v1/p/erase", token=tokens["owner"], body=sent, headers=once)
        assert (status, said["items"]) == (200, [made[0]["id"]])
        assert hits(folder, [secrets[0].encode()]) == 0
        assert run_erase(folder, "p", [], [secrets[1]], url=server.url, token=tokens["owner"]) == 0
        assert hits(folder, [secrets[1].encode()]) == 0
        assert call(server.url, "GET", f"/v1/p/decisions/{made[1]['id']}", token=tokens["reader"])[2]["row"] is None
        assert hits(folder, [secrets[2].encode()])
        for body in ({}, {"items": [0]}, {"items": [1] * 1001}):
            status = call(server.url, "POST", "/v1/p/erase", token=tokens["owner"], body=body, headers=once)[0]
            assert status == 422
    assert run_erase(folder, "p", [made[2]["id"]], [], url=None, token=None) == 0
    assert "Backups" in capsys.readouterr().out
    assert hits(folder, [text.encode() for text in secrets]) == 0
    assert run_verify(folder, None, None) == 0
    assert "rows were erased" in capsys.readouterr().out
    assert run_backup(folder, folder / "copy.sqlite") == 0
