"""A champion: a frozen model decides, its numbers are facts of the log, and the learner goes on learning."""

from __future__ import annotations

import random
from hashlib import sha256

import msgspec
import numpy as np
import pandas as pd
import pytest
from service_bench import THREE, Bench, made_up, settings_of, snapshot_of
from service_champion import bytes_of, crowned, fitted
from service_server import ThreadedServer, call, make_person, make_service, visit
from typer.testing import CliRunner

from steelyard import AROW, AskAll, Costs, InvalidInputError, OnlineClassifier, cli, load_model
from steelyard.service.commands.log import run_backup, run_restore, run_verify
from steelyard.service.commands.rows import run_champion
from steelyard.service.database.sqlite import SQLiteStore
from steelyard.service.log.events import unpack
from steelyard.service.numbers.paired import shadow_comparisons
from steelyard.service.replay.reducer import DivergedReplayError
from steelyard.service.writer.champion_model import MOST_BYTES, read_champion
from steelyard.service.writer.jobs import AnswerJob, ChampionJob, EraseJob, PromoteJob, SetJob, ShadowJob
from steelyard.service.writer.projects import replayed
from steelyard.service.writer.verify import check_champions, verify_project

MIXED = {"columns": {"x": "number", "y": "number", "c": "category", "note": "shown"}, "hash_bits": 8}


@pytest.fixture(scope="module")
def model():
    return fitted()


def run(bench, count, seed=0, answered=True):
    source, made = random.Random(seed), []
    for _ in range(count):
        fraud = source.random() < 0.4
        record = made_up(source, fraud) | {"c": source.choice("ab" if fraud else "bc"), "note": 7}
        (one,) = bench.decide({name: record[name] for name in bench.state.settings.columns})
        made.append((record, one))
        if one.ask and answered:
            bench.run(AnswerJob("p", 2, answers=[(one.id, bench.labels[fraud], None)]))
    return made


def test_the_model_decides_and_the_learner_goes_on_learning(folder, model):
    bench = Bench(folder, settings_of(budget=200, expected_rows=400))
    run(bench, 60)
    spent = bench.state.budget.spent
    crowned(bench, bytes_of(model, folder))
    made = run(bench, 120, seed=1)
    weighed = model.weigh(pd.DataFrame([record for record, _ in made])[["x", "y"]])
    assert [one.decision for _, one in made] == weighed.decisions.tolist()
    assert [one.expected_cost for _, one in made] == pytest.approx(weighed.expected_cost, abs=1e-12)
    gaps = weighed.expected[:, 1] - weighed.expected[:, 0]  # good less fraud
    assert [one.score for _, one in made] == pytest.approx(gaps, abs=1e-12)
    assert [one.t for _, one in made] == list(range(60, 180))
    assert {one.model for _, one in made} == {2}
    assert bench.state.budget.spent > spent
    budget, counts = bench.state.budget, bench.state.learner.state()["counts"]
    assert counts[:3] == [180, budget.spent, budget.reserved]  # it counts the questions of the champion, not its own
    # the learner is the one that learned these labels, whoever decided
    fresh = OnlineClassifier(
        AROW(r=10), query=AskAll(), costs=Costs.from_matrix(bench.state.settings.cost_matrix()), fit_intercept=True
    )
    fresh.start(2, [0, 1])
    fresh_examples = list(bench.state.training.examples)
    for example in fresh_examples:
        fresh.learn(bench.project.rows(example.item), example.label)
    assert np.array_equal(fresh.coef_, bench.state.learner.coef_)
    bench.restart()
    run(bench, 20, seed=2)
    found, _ = replayed(bench.store, bench.store.project("p"))
    assert found.digest() == bench.state.digest()
    assert verify_project(bench.store, bench.store.project("p")).weighed == 140
    # taken away, the learner decides as if it had never been
    bench.run(ChampionJob("p", 1))
    assert bench.run(ChampionJob("p", 1)).code == "no_champion"
    learned = len(bench.state.training.examples)
    made = run(bench, 20, seed=3, answered=False)
    for example in list(bench.state.training.examples)[len(fresh_examples) : learned]:
        fresh.learn(bench.project.rows(example.item), example.label)
    asked = [one for _, one in made if one.ask]
    assert asked
    for one in asked:
        assert one.score == fresh.decide(bench.state.open_rows[one.id])[1]
    verify_project(bench.store, bench.store.project("p"))


def test_the_query_rule_looks_at_the_gap_and_keeps_the_budget(folder, model):
    settings = settings_of(budget=30, pace=False, query="AskAsymmetric(c_pos=0.2, c_neg=0.4)")
    bench = Bench(folder, settings)
    crowned(bench, bytes_of(model, folder))
    made = [one for _, one in run(bench, 400)]
    for one in made:
        c = 0.2 if one.decision == "fraud" else 0.4
        assert one.chance in (0.0, pytest.approx(c / (c + abs(one.score))))
    assert bench.state.budget.spent == 30
    assert {one.chance for one in made[-20:]} == {0.0}
    verify_project(bench.store, bench.store.project("p"))


def test_new_costs_shadows_and_erasure_under_a_champion(folder, model):
    bench = Bench(folder, settings_of(**MIXED, pace=False, query="AskAll()", budget=500))
    bench.run(ShadowJob("p", 1, slot=1, settings={"update": "CSOGD2(0.001)"}))
    crowned(bench, bytes_of(fitted(category=True), folder))
    made = run(bench, 80)
    compared = shadow_comparisons(bench.store, 1, snapshot_of(bench))
    assert (compared.deciding, [one.slot for one in compared.shadows]) == ("m.steelyard", [0, 1])
    assert {one.labels for one in compared.shadows} == {80}
    assert compared.shadows[0].name == "AROW(r=10)"
    bench.run(SetJob("p", 1, changes={"costs": {"fn": 1, "fp": 1}}, expected=1))
    cheap = run(bench, 80)  # the same rows at other costs
    assert [one.expected_cost for _, one in cheap] != [one.expected_cost for _, one in made]
    assert max(one.expected_cost for _, one in cheap) <= 0.5
    bench.run(PromoteJob("p", 1, slot=1))  # the learner under the champion is another one, and nothing else
    assert bench.state.champion is not None
    run(bench, 20, seed=5)
    bench.run(EraseJob("p", 1, items=(made[3][1].id, cheap[5][1].id)))
    bench.restart()
    run(bench, 10, seed=6)
    found = verify_project(bench.store, bench.store.project("p"))
    assert (found.weighed, found.not_weighed) == (188, 2)
    bench.store.connection.execute("DELETE FROM model")
    found = verify_project(bench.store, bench.store.project("p"))  # facts of the log need no model
    assert (found.weighed, found.not_weighed) == (0, 190)


def test_verify_computes_the_numbers_of_the_champion_again(folder, model):
    bench = Bench(folder, settings_of())
    crowned(bench, bytes_of(model, folder))
    ids = [one.id for _, one in run(bench, 5, answered=False)]
    run_ = bench.store.connection
    run_.execute("DROP TRIGGER event_stays")
    body = unpack(bench.store.event(1, ids[2]))
    forged = msgspec.structs.replace(body, expected=body.expected + 1e-6)
    run_.execute("UPDATE event SET body = ? WHERE seq = ?", (msgspec.msgpack.encode(forged), ids[2]))
    replayed(bench.store, bench.store.project("p"))  # a fact: the replay takes it
    with pytest.raises(DivergedReplayError, match="what the champion said"):
        check_champions(bench.store, bench.store.project("p"))


def test_three_classes_and_the_state_of_a_stream(folder, tmp_path):
    bench = Bench(folder, settings_of(**THREE))
    crowned(bench, bytes_of(fitted(("a", "b", "c")), folder))
    made = [one for _, one in run(bench, 40, answered=False)]
    assert min(one.score for one in made) >= 0
    assert len({one.decision for one in made}) > 1
    verify_project(bench.store, bench.store.project("p"))
    bench.store.close()
    rows = pd.DataFrame(
        [made_up(random.Random(n), n % 3 == 0) | {"label": "fraud" if n % 3 == 0 else "good"} for n in range(80)]
    )
    rows.to_csv(tmp_path / "rows.csv", index=False)
    command = ["stream", str(tmp_path / "rows.csv")]
    command += [
        "--target",
        "label",
        "--classes",
        "good,fraud",
        "--costs",
        "fn=10,fp=1",
        "--quiet",
        "--fit-intercept",
        "--state",
    ]
    ended = CliRunner().invoke(cli.app, [*command, str(tmp_path / "s.steelyard")], catch_exceptions=False)
    assert ended.exit_code == 0
    state = load_model(tmp_path / "s.steelyard")
    (folder / "two").mkdir()
    bench = Bench(folder / "two", settings_of())
    crowned(bench, (tmp_path / "s.steelyard").read_bytes())
    made = run(bench, 40)
    frame = pd.DataFrame([record for record, _ in made])[["x", "y"]]
    assert [one.decision for _, one in made] == state.predict(frame).tolist()
    assert [one.score for _, one in made] == pytest.approx(state.scores(frame).tolist())
    assert {one.expected_cost for _, one in made} == {None}
    assert verify_project(bench.store, bench.store.project("p")).weighed == 40


def test_what_does_not_fit_the_project_is_refused(folder, model):
    settings = settings_of()
    raw = bytes_of(model, folder)
    assert read_champion(raw, settings).name == "logistic regression"
    for changes, what in (
        ({"columns": {"x": "number"}}, "columns of the model"),
        ({"columns": {"x": "number", "y": "ignored"}}, "columns of the model"),
        ({"columns": {"x": "number", "y": "category"}}, "column 'y' must be a number"),
        ({"classes": ["good", "bad"]}, "classes of the model"),
        (THREE, "classes of the model"),
    ):
        with pytest.raises(InvalidInputError, match=what):
            read_champion(raw, settings_of(**changes))
    online = OnlineClassifier(AROW()).start(2, ["good", "fraud"])
    for wrong in (b"", b"PK", raw[:-1], raw[:50] + b"x" + raw[51:], b"\x80\x04K\x01.", bytes_of(online, folder)):
        with pytest.raises(InvalidInputError, match="the model"):
            read_champion(wrong, settings)
    with pytest.raises(InvalidInputError, match="at most"):
        read_champion(bytes(MOST_BYTES + 1), settings)


def test_over_http(folder, model):
    tokens = make_service(folder)
    raw, octets = bytes_of(model, folder), {"Content-Type": "application/octet-stream"}
    with ThreadedServer(folder) as server:
        owner, producer, reader = (server.client(tokens[role]) for role in ("owner", "producer", "reader"))
        before = producer.decide({"x": 2, "y": -2}, id="first")
        send = lambda body, key, **more: call(  # noqa: E731
            server.url,
            "POST",
            "/v1/p/champion",
            token=tokens["owner"],
            body=body,
            headers=octets | {"Idempotency-Key": key} | more,
        )
        summary = reader.summary()
        assert send(raw[:-2], "a")[2]["error"] == "bad_model"
        assert send(bytes(MOST_BYTES + 1), "a")[0] == 413
        assert send(raw, "a", **{"Content-Type": "application/json"})[0] == 415
        assert (
            call(server.url, "DELETE", "/v1/p/champion", token=tokens["owner"], headers={"Idempotency-Key": "d"})[0]
            == 409
        )
        assert reader.summary() == summary
        status, _, first = send(raw, "b")
        assert status == 200
        again = send(raw, "b")
        assert (again[2], again[1]["replayed"]) == (first, "true")
        assert reader.summary()["champion"] == "logistic regression"
        made = producer.decide({"x": 2, "y": -2})
        assert made["expected_cost"] == pytest.approx(model.expected_cost({"x": 2, "y": -2})[0])
        assert producer.decide({"x": 2, "y": -2}, id="first") == before
        many = list(producer.decide_many([{"x": n, "y": None} for n in range(20)] + [{"x": "no number"}]))
        assert [row["decision"] for row in many[:-1]] == model.predict(
            [{"x": n, "y": None} for n in range(20)]
        ).tolist()
        assert many[-1]["error"] == "bad_row"
        _, _, said = call(server.url, "GET", "/v1/p/shadows", token=tokens["reader"])
        assert (said["deciding"], said["shadows"][0]["slot"]) == ("logistic regression", 0)
        person = visit(server, folder, make_person(folder, "owner", {"p": "owner"}))
        assert b"by the champion" in person.page(f"/p/p/decisions/{made['id']}")[2]
        assert b"logistic regression decides as champion" in person.page("/p/p/settings")[2]
        assert owner.set_champion(raw, name="second")["event"] > first["event"]
        assert owner.end_champion()["event"]
        assert reader.summary()["champion"] is None
        assert producer.decide({"x": 2, "y": -2})["expected_cost"] is None
        waiting = server.service.runtime.writer.projects["p"]
        assert waiting.state.champion is None
    assert run_verify(folder, None, None) == 0


def test_by_command_and_in_a_backup(folder, model, tmp_path, capsys):
    make_service(folder)
    raw = bytes_of(model, folder)
    (tmp_path / "m.steelyard").write_bytes(raw)
    (tmp_path / "broken.steelyard").write_bytes(raw[:-5])
    given = {"url": None, "token": None, "end": False}
    with pytest.raises(InvalidInputError, match="the model"):
        run_champion(folder, "p", tmp_path / "broken.steelyard", **given)
    with pytest.raises(InvalidInputError, match="FILE"):
        run_champion(folder, "p", None, **given)
    assert run_champion(folder, "p", tmp_path / "m.steelyard", **given) == 0
    store = SQLiteStore(folder)
    assert store.model(sha256(raw).digest()) == raw
    store.close()
    assert run_backup(folder, tmp_path / "copy.sqlite") == 0
    assert run_restore(tmp_path / "copy.sqlite", tmp_path / "restored") == 0
    store = SQLiteStore(tmp_path / "restored")
    assert store.model(sha256(raw).digest()) == raw
    store.close()
    with ThreadedServer(folder) as server:
        assert server.service.runtime.snapshot("p").champion.name == "m.steelyard"
    assert run_champion(folder, "p", None, **(given | {"end": True})) == 0
    assert "the learner decides from event" in capsys.readouterr().out


def test_rows_weighed_by_another_champion_are_weighed_again(folder, model):
    """Between the look at a row and its turn in the queue another model, or other costs, may have come."""
    bench = Bench(folder, settings_of())
    raw = bytes_of(model, folder)
    crowned(bench, raw)
    row = bench.row({"x": 1.0, "y": -1.0})
    bench.project.weigh([row])
    first = row.weighed
    bench.run(SetJob("p", 1, changes={"costs": {"fn": 2, "fp": 1}}, expected=1))
    bench.project.weigh([row])
    assert row.weighed != first
    crowned(bench, bytes_of(fitted(fn=2), folder))
    now = row.weighed_by
    bench.project.weigh([row])
    assert row.weighed_by != now
