"""A history is learned before the first row, costs no label, and every replay begins with it."""

from __future__ import annotations

import random
from hashlib import sha256

import pytest
from service_bench import THREE, HandClock, made_up, settings_of

from steelyard.errors import InvalidInputError, StateError
from steelyard.service.commands.log import run_verify
from steelyard.service.commands.project import run_new
from steelyard.service.database.sqlite import SQLiteStore
from steelyard.service.log.records import RecordReader, pack_cells
from steelyard.service.replay.history import learned_from
from steelyard.service.writer.clock import Clock
from steelyard.service.writer.jobs import AnswerJob, DecideJob, RetractJob, RowToDecide, SetJob
from steelyard.service.writer.projects import create_project, load_project
from steelyard.service.writer.tasks.carry_out import carry_out
from steelyard.service.writer.verify import verify_project

CASES = {
    "numbers": settings_of(),
    "mixed": settings_of(columns={"x": "number", "y": "number", "c": "category"}, hash_bits=8),
    "three": settings_of(**THREE),
    "average": settings_of(after_budget="average", update="CSOGD2(eta=0.2)", scale="standard"),
}


def history(settings, n, seed=0):
    source = random.Random(seed)
    for _ in range(n):
        y = source.random() < 0.4
        label = settings.labels[-1] if y else settings.labels[0]
        yield made_up(source, y) | {"c": source.choice("uvw"), "label": label}


@pytest.mark.parametrize("name", CASES)
def test_a_project_goes_on_from_its_history(folder, name):
    settings = CASES[name]
    start, learned = learned_from(settings, history(settings, 200), "label")
    assert learned == 200
    weights = start.learner.state()["arrays"]
    assert any(array.any() for array in weights.values())
    assert (start.learner.n_rounds_, start.learner.n_spent_, start.learner.n_reserved_) == (0, 0, 0)
    store, clock = SQLiteStore(folder), HandClock()
    create_project(store, "p", settings, at=clock.now(), start=start)
    project, source = load_project(store, store.project("p")), random.Random(3)
    reader, answered = RecordReader(settings), []
    for n in range(120):
        clock.advance(1)
        project.note_time(clock.now())
        store.begin()
        cells, _, _ = reader.read(made_up(source, n % 3 == 0) | {"c": "u"})
        (made,) = carry_out(project, DecideJob("p", 1, rows=[RowToDecide(cells, pack_cells(bytes(16), cells))]))
        if made.ask:
            label = settings.labels[n % 3 == 0]
            said = carry_out(project, AnswerJob("p", 2, answers=[(made.id, label, None)])).answers[0]
            answered.append(said.answer)
            if len(answered) % 7 == 0:
                carry_out(project, RetractJob("p", 2, answer=said.answer))
        project.flush()
        store.commit()
    assert len(answered) > 10
    live = project.state.digest()
    assert load_project(store, store.project("p")).state.digest() == live
    assert verify_project(store, store.project("p")).digest == live
    store.begin()
    matrix = [[0, 2, 2], [2, 0, 2], [2, 2, 0]] if name == "three" else [[0, 3], [1, 0]]
    job = SetJob("p", 1, changes={"costs": matrix}, expected=project.state.settings_seq)
    carry_out(project, job)
    with pytest.raises(Exception, match="stay as it began"):
        carry_out(project, SetJob("p", 1, changes={"update": "PA1(C=1)"}, expected=project.state.settings_seq))
    project.flush()
    store.commit()
    assert verify_project(store, store.project("p")).digest == project.state.digest()
    store.close()


def test_taking_the_only_answer_back_leaves_the_history(folder):
    settings = CASES["numbers"]
    start, _ = learned_from(settings, history(settings, 50), "label")
    kept = start.learner.state()["arrays"]
    store = SQLiteStore(folder)
    create_project(store, "p", settings, at=1, start=start)
    project = load_project(store, store.project("p"))
    store.begin()
    asked = None
    while asked is None:
        cells = [0.1, 0.2]
        (made,) = carry_out(project, DecideJob("p", 1, rows=[RowToDecide(cells, pack_cells(bytes(16), cells))]))
        asked = made.id if made.ask else None
    said = carry_out(project, AnswerJob("p", 2, answers=[(asked, "fraud", None)])).answers[0]
    carry_out(project, RetractJob("p", 2, answer=said.answer))
    project.flush()
    store.commit()
    now = project.state.learner.state()["arrays"]
    assert all((now[name] == kept[name]).all() for name in kept)
    store.close()


def test_a_changed_start_is_noticed(folder):
    settings = CASES["numbers"]
    store = SQLiteStore(folder)
    create_project(store, "p", settings, at=1, start=learned_from(settings, history(settings, 50), "label")[0])
    other = learned_from(settings, history(settings, 50, seed=9), "label")[0]
    from steelyard.service.database.checkpoints import pack_state

    other.seq = 1
    store.begin()
    raw = pack_state(other)
    sql = "UPDATE checkpoint SET body = ?, sha256 = ? WHERE upto = 1"
    store.connection.execute(sql, (raw, sha256(raw).digest()))
    store.commit()
    with pytest.raises(StateError, match="state it began with"):
        verify_project(store, store.project("p"))
    store.close()


def test_by_command(folder, tmp_path, capsys):
    settings = CASES["mixed"]
    file = tmp_path / "labelled.csv"
    rows = list(history(settings, 60))
    lines = [",".join(rows[0]), *(",".join(map(str, row.values())) for row in rows), "0.1,0.2,u,"]
    file.write_text("\n".join(lines) + "\n")
    run_new(folder, "p", settings, False, file, "label")
    assert "60 labelled rows learned" in capsys.readouterr().err
    assert run_verify(folder, None, None) == 0
    with pytest.raises(InvalidInputError, match="--target"):
        run_new(folder, "q", settings, False, file, None)
    with pytest.raises(InvalidInputError, match="be a column"):
        run_new(folder, "q", settings, False, file, "nothing")
    file.write_text("x,y,c,label\n1,2,u,neither\n")
    with pytest.raises(InvalidInputError, match="row 2 of the history"):
        run_new(folder, "q", settings, False, file, "label")
    store = SQLiteStore(folder)
    assert store.project("q") is None
    assert Clock().now() > 0
    store.close()


def test_settings_changed_before_the_first_row_leave_the_start_alone(folder):
    settings = CASES["numbers"]
    store = SQLiteStore(folder)
    create_project(store, "p", settings, at=1, start=learned_from(settings, history(settings, 50), "label")[0])
    for n in range(5):
        project = load_project(store, store.project("p"))
        store.begin()
        project.note_time(n + 2)
        expected = project.state.settings_seq
        carry_out(project, SetJob("p", 1, changes={"budget": 500 + n}, expected=expected))
        project.flush()
        store.commit()
    verify_project(store, store.project("p"))
    store.close()
