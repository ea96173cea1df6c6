"""Shadows: as if each had run alone, compared on the same labels, and promoted there and back."""

from __future__ import annotations

import json
import random

import numpy as np
import pytest
from safetensors.numpy import load, save
from service_bench import THREE, Bench, packed_earlier, settings_of, snapshot_of
from service_server import ThreadedServer, call, make_person, make_service, visit

from steelyard import AskAll, OnlineClassifier, OnlineCostClassifier, QueryRule
from steelyard.costs import Costs
from steelyard.models.parsing import update_rule
from steelyard.online import NUMERICS
from steelyard.service.commands.log import run_backup, run_restore
from steelyard.service.database.checkpoints import pack_state, unpack_state
from steelyard.service.database.sqlite import SQLiteStore
from steelyard.service.numbers.live import LEAST_SIZE, effective_size
from steelyard.service.numbers.paired import _shown, mean_difference, shadow_comparisons
from steelyard.service.writer.jobs import AnswerJob, EraseJob, EventReply, PromoteJob, RetractJob, SetJob, ShadowJob
from steelyard.service.writer.projects import replayed
from steelyard.service.writer.verify import verify_project
from steelyard.trace import Trace

MIXED = {"columns": {"x": "number", "y": "number", "c": "category"}, "hash_bits": 8}
PROJECTS = {
    "pace": ({}, "CSOGD2(0.3)"),
    "mixed": (MIXED, "PA1(C=0.5)"),
    "three classes": (THREE, "PA1(C=0.5)"),
    "average": (
        {"after_budget": "average", "budget": 30, "pace": False, "query": "AskAsymmetric(0.05, 0.1)"},
        "CSOGD1()",
    ),
    "second order": ({"update": "CSOGD2(0.1)"}, "SCW1()"),
}


def record(source, fraud):
    return {
        "x": source.gauss(1.2 * fraud, 1.0),
        "y": source.gauss(-0.5 * fraud, 1.0),
        "c": source.choice("ab" if fraud else "bc"),
    }


class AskedThen(QueryRule):
    """Asks at given rounds, whatever the score."""

    def __init__(self, rounds):
        self.rounds = rounds

    def query_probability(self, inputs):
        return float(inputs.t in self.rounds)


class Stream:
    """A project with late labels, and what happened to it: rows by round, labels in the order they came."""

    def __init__(self, folder, settings, *, seed=0):
        self.bench, self.source = Bench(folder, settings), random.Random(seed)
        self.waiting: list[tuple[int, bool]] = []
        self.rows: list[np.ndarray] = []  # encoded, as the learner sees them
        self.acts: list[tuple] = []

    def run(self, count):
        made = []
        for _ in range(count):
            fraud = self.source.random() < 0.4
            one = record(self.source, fraud)
            (reply,) = self.bench.decide({name: one[name] for name in self.bench.state.settings.columns})
            made.append(reply)
            self.acts.append(("row", reply))
            if reply.ask:
                self.rows.append(self.bench.state.open_rows[reply.id])
                self.waiting.append((reply.id, fraud))
            while len(self.waiting) > 3:
                self.answer(*self.waiting.pop(self.source.randrange(3)))
        return made

    def answer(self, item, fraud):
        label = int(fraud) if len(self.bench.labels) == 2 else (2 if fraud else item % 2)
        row = self.bench.state.open_rows[item]
        said = self.bench.run(AnswerJob("p", 2, answers=[(item, self.bench.labels[label], None)]))
        self.acts.append(("label", row, label))
        return said.answers[0].answer


def alone(stream, update):
    """The learner of a shadow by itself: the same rows in their rounds, the same labels when they came."""
    settings = stream.bench.state.settings
    costs = Costs.from_matrix(settings.cost_matrix())
    asked = {reply.t for kind, reply, *_ in stream.acts if kind == "row" and reply.ask}
    kind = OnlineClassifier if len(settings.classes) == 2 else OnlineCostClassifier
    learner = kind(
        update_rule(update),
        query=AskedThen(asked),
        budget=settings.budget,
        costs=costs,
        after_budget=settings.after_budget,
        fit_intercept=settings.fit_intercept,
    )
    learner.start(stream.bench.state.encoder.width, np.arange(len(settings.classes)))
    answers, rows = {}, iter(stream.rows)
    blank = stream.rows[0]
    for act in stream.acts:
        if act[0] == "label":
            learner.learn(act[1], act[2])
        elif act[1].ask:
            answers[act[1].id] = int(learner.decide(next(rows)).prediction)
        else:
            learner.decide(blank)  # the score of a row nobody asked about changes nothing
    return learner, answers


@pytest.mark.parametrize("name", PROJECTS)
def test_a_shadow_is_the_same_learner_run_alone(folder, name):
    changes, update = PROJECTS[name]
    stream = Stream(folder, settings_of(**({"budget": 80} | changes)))
    bench = stream.bench
    stream.run(60)  # it begins late, and knows every label that came before
    assert isinstance(bench.run(ShadowJob("p", 1, slot=2, settings={"update": update})), EventReply)
    began = bench.state.seq
    stream.run(100)
    bench.restart()
    stream.run(100)
    for item, fraud in stream.waiting:
        stream.answer(item, fraud)
    learner, answers = alone(stream, update)
    shadow = bench.state.shadows[2].learner
    others = {q.item: dict(q.others) for q in bench.state.questions.values()}
    assert {item: given.get(2) for item, given in others.items() if item > began} == {
        item: answer for item, answer in answers.items() if item > began
    }
    assert all(not given for item, given in others.items() if item < began)
    assert sum(item > began for item in answers) > 5
    # promoted, it goes on as the one that was alone, averages and all
    bench.run(PromoteJob("p", 1, slot=2))
    promoted = bench.state.learner
    assert np.array_equal(promoted.coef_, learner.coef_)
    assert np.array_equal(promoted.intercept_, learner.intercept_)
    assert promoted.n_updates_ == learner.n_updates_
    probe = stream.rows[-1]
    assert promoted.decide(probe)[1] == learner.decide(probe)[1]
    assert shadow is promoted or bench.state.shadows[2].learner is not shadow
    bench.restart()  # the probe was no row of the log
    verify_project(bench.store, bench.store.project("p"))


def test_promoting_there_and_back_is_as_if_it_had_not_been(folder):
    stream = Stream(folder, settings_of(budget=200, expected_rows=500))
    bench = stream.bench
    bench.run(ShadowJob("p", 1, slot=1, settings={"update": "CSOGD2(0.3)"}))
    stream.run(150)
    before, twin = bench.state.learner.state(), bench.state.shadows[1].learner
    twin.set_counts(
        rounds=bench.state.learner.n_rounds_, spent=bench.state.budget.spent, reserved=bench.state.budget.reserved
    )
    other, model = twin.state(), bench.state.model
    assert bench.run(PromoteJob("p", 1, slot=1)).event == bench.state.seq
    assert (bench.state.settings.update, bench.state.shadows[1].update) == ("CSOGD2(0.3)", "AROW(r=10)")
    for name, array in other["arrays"].items():
        assert np.array_equal(bench.state.learner.state()["arrays"][name], array)
    assert bench.state.learner.state()["counts"] == other["counts"]
    bench.run(PromoteJob("p", 1, slot=1))
    assert bench.state.settings.update == "AROW(r=10)"
    assert bench.state.model == model + 2
    for name, array in before["arrays"].items():
        assert np.array_equal(bench.state.learner.state()["arrays"][name], array)
    assert bench.state.learner.state()["counts"] == before["counts"]
    stream.run(50)
    verify_project(bench.store, bench.store.project("p"))


def test_undo_erasure_and_new_costs_reach_the_shadows(folder):
    stream = Stream(folder, settings_of(budget=300, pace=False, query="AskAll()"))
    bench = stream.bench
    stream.run(20)
    for slot, update in ((3, "CSOGD2(0.3)"), (1, "PA1(C=0.5)")):
        bench.run(ShadowJob("p", 1, slot=slot, settings={"update": update}))
    stream.run(80)  # more than two copies of the learners
    item, fraud = stream.waiting.pop()
    said = stream.answer(item, fraud)
    bench.run(RetractJob("p", 2, answer=said))
    bench.run(AnswerJob("p", 2, answers=[(item, bench.labels[not fraud], None)]))  # paid for before

    def as_learned_afresh():
        state = bench.state
        examples = [e for e in state.training.examples if e.label is not None]
        for shadow in state.shadows.values():
            fresh = OnlineClassifier(
                update_rule(shadow.update),
                query=AskAll(),
                costs=Costs.from_matrix(state.settings.cost_matrix()),
                fit_intercept=True,
            )
            fresh.start(state.encoder.width, [0, 1])
            for example in examples:
                fresh.learn(bench.project.rows(example.item), example.label)
            assert np.array_equal(fresh.coef_, shadow.learner.coef_), shadow.update
            assert np.array_equal(fresh.intercept_, shadow.learner.intercept_), shadow.update
        found, _ = replayed(bench.store, bench.store.project("p"))
        assert found.digest() == state.digest()
        assert unpack_state(pack_state(state)).digest() == state.digest()
        verify_project(bench.store, bench.store.project("p"))

    as_learned_afresh()
    settled = [q.item for q in bench.state.questions.values() if q.label is not None]
    bench.run(EraseJob("p", 1, items=(settled[3], settled[-1])))
    as_learned_afresh()
    since = bench.state.seq + 1
    bench.run(SetJob("p", 1, changes={"costs": {"fn": 3, "fp": 1}}, expected=bench.state.settings_seq))
    assert {shadow.since for shadow in bench.state.shadows.values()} == {since}
    as_learned_afresh()
    bench.restart()
    stream.run(10)
    as_learned_afresh()
    bench.run(ShadowJob("p", 1, slot=3, settings=None))
    assert list(bench.state.shadows) == [1]
    stream.run(10)
    as_learned_afresh()


def test_what_cannot_be_is_refused_and_changes_nothing(folder):
    stream = Stream(folder, settings_of())
    bench = stream.bench
    stream.run(10)
    bench.run(ShadowJob("p", 1, slot=1, settings={"update": "CSOGD2(0.3)"}))
    before, seq = bench.state.digest(), bench.state.seq
    for job, code in (
        (ShadowJob("p", 1, slot=2, settings={"update": "Nothing()"}), "bad_model"),
        (ShadowJob("p", 1, slot=2, settings={"update": "CSOGD2(-1)"}), "bad_model"),
        (ShadowJob("p", 1, slot=2, settings={"update": "AROW(r=10)", "seed": 1}), "bad_model"),
        (ShadowJob("p", 1, slot=2, settings={}), "bad_model"),
        (ShadowJob("p", 1, slot=4, settings={"update": "AROW(r=10)"}), "bad_model"),
        (ShadowJob("p", 1, slot=2, settings=None), "no_shadow"),
        (PromoteJob("p", 1, slot=2), "no_shadow"),
        (PromoteJob("p", 1, slot=0), "bad_model"),
    ):
        assert bench.run(job).code == code
        assert (bench.state.digest(), bench.state.seq) == (before, seq)


def test_a_shadow_that_leaves_the_range_of_numbers_ends_alone(folder):
    bench = Bench(folder, settings_of(scale="none", update="PA1(C=0.1)", pace=False, query="AskAll()"))
    bench.run(ShadowJob("p", 1, slot=1, settings={"update": "CSOGD2(1e300)"}))
    for n in range(4):
        (made,) = bench.decide({"x": 1e90, "y": float(n)})
        said = bench.run(AnswerJob("p", 2, answers=[(made.id, bench.labels[n % 2], None)]))
        assert said.answers[0].learned
    assert bench.state.shadows[1].ended
    assert bench.run(PromoteJob("p", 1, slot=1)).code == "ended"
    bench.restart()
    assert bench.state.shadows[1].ended
    verify_project(bench.store, bench.store.project("p"))


# -- comparing -------------------------------------------------------------------------------------------------------


def test_the_difference_is_paired_weighted_and_of_rows_behind_the_beginning(folder):
    stream = Stream(folder, settings_of(pace=False, query="AskAll()", budget=2000, costs={"fn": 3, "fp": 1}))
    bench = stream.bench
    stream.run(60)
    bench.run(ShadowJob("p", 1, slot=1, settings={"update": "CSOGD2(0.001)"}))
    look = lambda: shadow_comparisons(bench.store, bench.project.id, snapshot_of(bench)).shadows[0]  # noqa: E731
    assert look().difference.reason == "too few labels to say"
    stream.run(400)
    for item, fraud in stream.waiting:
        stream.answer(item, fraud)
    matrix, since = bench.state.settings.cost_matrix(), bench.state.shadows[1].since
    asked = [q for q in bench.state.questions.values() if q.item > since]
    gaps = np.array([matrix[q.label, dict(q.others)[1]] - matrix[q.label, q.answer] for q in asked])
    found = look()
    assert (found.labels, found.rounds, found.differences) == (len(gaps), len(gaps), int((gaps != 0).sum()))
    assert found.difference.value == pytest.approx(gaps.mean())
    assert found.difference.low <= found.difference.value <= found.difference.high
    trace = Trace(*np.zeros((2, len(gaps))), np.ones(len(gaps), bool), np.ones(len(gaps)), np.zeros(len(gaps)))
    reason = _shown(trace, gaps, 5, len(gaps), 0.0, 3.0).reason
    assert reason == "too few costly mistakes that only one of them made: 5 of 6"
    bench.run(PromoteJob("p", 1, slot=1))  # another model decides: what is known of the two begins anew
    assert (look().labels, look().name) == (0, "AROW(r=10)")


def test_the_interval_of_the_difference_holds():
    """Two answers to each of 2,000 rows, asked where the score is small: 400 samples of labels."""
    draw = np.random.default_rng(0)
    n, inside, values = 2000, 0, []
    score = draw.normal(size=n)
    y = draw.random(n) < 1 / (1 + np.exp(-2 * score))
    first, second = score > -0.5, score + draw.normal(scale=0.5, size=n) > -0.5
    cost = lambda said: np.where(y & ~said, 3.0, np.where(~y & said, 1.0, 0.0))  # noqa: E731
    gaps, chance = cost(second) - cost(first), np.maximum(0.05, 0.1 / (np.abs(score + 0.5) + 0.1))
    for _ in range(400):
        asked = draw.random(n) < chance
        zeros = np.zeros(asked.sum(), np.int64)
        trace = Trace(score[asked], zeros, np.ones(len(zeros), bool), chance[asked], zeros)
        assert effective_size(trace) > LEAST_SIZE
        found = mean_difference(trace, gaps[asked], n)
        band = found.interval(0.95)
        inside += band.low <= gaps.mean() <= band.high
        values.append(found.value)
    assert 0.92 <= inside / 400 <= 0.98
    assert np.mean(values) == pytest.approx(gaps.mean(), abs=4 * np.std(values) / 20)


def drawn_difference(draw, n, share, fn):
    """Two models on made-up rows of which some were asked about: whether a number is shown, and whether it holds."""
    y = draw.random(n) < share
    score = draw.normal(1.8 * y - 0.6 * np.log((1 - share) / share), 1.0)
    cost = [
        np.where(y & ~said, fn, np.where(~y & said, 1.0, 0.0))
        for said in (score > -0.3, score + draw.normal(scale=0.6, size=n) > -0.3)
    ]
    gaps, chance = cost[1] - cost[0], np.maximum(0.05, 0.1 / (np.abs(score + 0.3) + 0.1))
    asked = draw.random(n) < chance
    zeros = np.zeros(asked.sum(), np.int64)
    trace = Trace(score[asked], zeros, np.ones(len(zeros), bool), chance[asked], zeros)
    costly = int(((cost[0] == fn) != (cost[1] == fn))[asked].sum())
    shown = _shown(trace, gaps[asked], costly, n, 0.0, fn)
    return shown.value is not None, shown.value is not None and shown.low <= gaps.mean() <= shown.high


@pytest.mark.slow
@pytest.mark.parametrize(("share", "fn"), [(0.3, 3.0), (0.1, 10.0), (0.05, 19.0)])
def test_the_interval_of_rare_differences_holds(share, fn):
    draw = np.random.default_rng(2)
    found = [drawn_difference(draw, n, share, fn) for n in (600, 1500) for _ in range(400)]
    shown = [held for is_shown, held in found if is_shown]
    assert len(shown) > 60
    assert np.mean(shown) > 0.91


# -- over HTTP, in backups, on old logs --------------------------------------------------------------------------------


def key(n=[0]):  # noqa: B006
    n[0] += 1
    return {"Idempotency-Key": f"key-{n[0]}"}


def test_over_http(folder):
    tokens = make_service(folder)
    with ThreadedServer(folder) as server:
        post = lambda path, body, **more: call(  # noqa: E731
            server.url, "POST", f"/v1/p/{path}", token=tokens["owner"], body=body, headers=more or key()
        )
        producer = server.client(tokens["producer"])
        producer.decide({"x": 1, "y": 2})
        once = key()
        first = post("shadows", {"slot": 1, "update": "CSOGD2(0.1)"}, **once)
        assert first[0] == 200, first
        again = post("shadows", {"slot": 1, "update": "CSOGD2(0.1)"}, **once)
        assert (again[2], again[1]["replayed"]) == (first[2], "true")
        assert post("shadows", {"slot": 2, "update": "PA1(C=1)"}, **once)[0] == 409
        for body in (
            {"slot": 4, "update": "AROW(r=1)"},
            {"slot": 1},
            {"slot": 1, "update": "x" * 1001},
            {"slot": 1, "update": "os"},
        ):
            assert post("shadows", body)[0] == 422, body
        assert post("shadows", {"slot": 2, "update": None})[0] == 409
        producer.decide({"x": 1, "y": 2})
        reader = server.client(tokens["reader"])
        assert reader.summary()["shadows"] == 1
        _, _, said = call(server.url, "GET", "/v1/p/shadows", token=tokens["reader"])
        assert (said["deciding"], said["most"]) == ("AROW(r=10)", 3)
        (shadow,) = said["shadows"]
        assert (shadow["slot"], shadow["name"]) == (1, "CSOGD2(0.1)")
        assert shadow["difference"]["reason"] == "too few labels to say"
        _, _, settings = call(server.url, "GET", "/v1/p/settings", token=tokens["owner"])
        status, _, made = post("promote", {"slot": 1})
        assert status == 200
        assert producer.decide({"x": 1, "y": 2})["model"] == 2
        _, _, now = call(server.url, "GET", "/v1/p/settings", token=tokens["owner"])
        assert (now["seq"], now["settings"]["update"]) == (made["event"], "CSOGD2(0.1)")
        stale = {"If-Match": str(settings["seq"])}
        assert (
            call(server.url, "PATCH", "/v1/p/settings", token=tokens["owner"], body={"budget": 60}, headers=stale)[0]
            == 409
        )
        owner = visit(server, folder, make_person(folder, "owner", {"p": "owner"}))
        assert b"shadow 1 became the learner" in owner.page("/p/p/settings")[2]
        assert post("shadows", {"slot": 1, "update": None})[0] == 200
        assert reader.summary()["shadows"] == 0


def test_a_backup_holds_the_shadows(folder, capsys):
    stream = Stream(folder, settings_of())
    stream.bench.run(ShadowJob("p", 1, slot=1, settings={"update": "CSOGD2(0.3)"}))
    stream.run(60)
    digest = stream.bench.state.digest()
    assert run_backup(folder, folder / "copy.sqlite") == 0
    assert run_restore(folder / "copy.sqlite", folder / "restored") == 0
    assert f"state {digest}" in capsys.readouterr().out
    store = SQLiteStore(folder / "restored")
    stream.bench.store.close()
    assert verify_project(store, store.project("p")).digest == digest
    store.close()


def test_logs_and_checkpoints_of_an_earlier_version_go_on(folder):
    bench = Bench(folder, settings_of())
    source = random.Random(1)
    for n in range(40):
        (made,) = bench.decide({"x": source.gauss(0, 1), "y": source.gauss(0, 1)})
        if made.ask and n % 2:
            bench.run(AnswerJob("p", 2, answers=[(made.id, "good", None)]))
    digest = bench.state.digest()
    arrays = load(packed_earlier(bench.state))
    head = json.loads(arrays["head"].tobytes())
    del head["shadows"], head["plain"]["shadows"]
    head["plain"]["questions"] = [values[:-1] for values in head["plain"]["questions"]]
    arrays["head"] = np.frombuffer(json.dumps(head).encode(), dtype=np.uint8)
    bench.store.save_checkpoint(1, bench.state.seq, NUMERICS, save(arrays))
    bench.store.connection.execute(
        "DROP TABLE shadow_answer; DROP TABLE model; DROP INDEX event_change; PRAGMA user_version = 2"
    )
    verify_project(bench.store, bench.store.project("p"))  # which writes nothing, so it reads the earlier schema
    bench.store.close()
    bench.store = SQLiteStore(folder)
    bench.restart()
    assert bench.state.digest() == digest
    bench.run(ShadowJob("p", 1, slot=1, settings={"update": "CSOGD2(0.3)"}))
    bench.decide({"x": 1, "y": 2})
    bench.restart()
    verify_project(bench.store, bench.store.project("p"))
    assert (folder / "service.sqlite.schema-2").exists()
