"""Several answers to a question: agreement, dispute, an owner's word; and a budget that the clock renews."""

from __future__ import annotations

import random

import pytest
from service_bench import Bench, HandClock, made_up, settings_of, snapshot_of
from service_server import ThreadedServer, call, make_service

from steelyard.client import ServiceError
from steelyard.errors import InvalidInputError
from steelyard.service.numbers.agreement import krippendorff_alpha
from steelyard.service.numbers.live import labelled
from steelyard.service.numbers.overview import overview
from steelyard.service.replay.questions import QuestionState
from steelyard.service.writer.jobs import AdjudicateJob, AnswerJob, CloseJob, RenewJob, RetractJob, SetJob
from steelyard.service.writer.projects import rebuilt_tables, replayed

DAY = 86400
ASK_ALL = {"pace": False, "query": "AskAll()", "budget": 40}


def whole(bench):
    """Replay, tables and live state are one."""
    head = bench.store.project("p")
    state, _ = replayed(bench.store, head)
    assert state.digest() == bench.state.digest()
    assert rebuilt_tables(state) == bench.store.tables(head.id)


@pytest.fixture
def bench(folder):
    made = Bench(folder, settings_of(votes=3, **ASK_ALL))
    made.decide(*(made_up(random.Random(n), n % 2 == 0) for n in range(6)))
    yield made
    whole(made)
    made.store.close()


def say(bench, item, person, label):
    made = bench.run(AnswerJob("p", person, answers=[(item, label, 2.0)]))
    return made.answers[0] if hasattr(made, "answers") else made


def test_equal_answers_settle_and_are_paid_and_learned_once(bench):
    first = say(bench, 2, 7, "good")
    assert (first.settled, first.learned) == (None, False)
    assert bench.state.budget.spent == 0
    assert say(bench, 2, 7, "good").code == "already_answered"
    done = say(bench, 2, 8, "good")
    assert (done.settled, done.learned) == ("good", True)
    assert (bench.state.budget.spent, len(bench.state.training.examples)) == (1, 1)
    assert say(bench, 2, 9, "good").code == "already_answered"


def test_one_vote_too_few_is_a_dispute_that_an_owner_ends(bench):
    bench.run(SetJob("p", 1, changes={"votes": 2, "agree": 2}, expected=1))
    say(bench, 3, 7, "good")
    say(bench, 3, 8, "fraud")
    assert bench.state.questions[3].state is QuestionState.DISPUTED
    assert say(bench, 3, 9, "fraud").code == "disputed"
    assert bench.state.budget.spent == 0
    bench.run(CloseJob("p", 1, item=2))  # the only question before it
    assert labelled(bench.store, bench.project.id, snapshot_of(bench)).end == 2  # estimates wait for the dispute
    assert bench.run(AdjudicateJob("p", 1, item=3, label="neither")).code == "unknown_class"
    bench.run(AdjudicateJob("p", 1, item=3, label="fraud"))
    question = bench.state.questions[3]
    assert (question.label, bench.state.budget.spent) == (1, 1)
    assert bench.run(RetractJob("p", 7, answer=question.vote_of(7)[2])).code == "adjudicated"
    before = float(bench.state.learner.intercept_[0])
    bench.run(AdjudicateJob("p", 1, item=3, label="good"))  # on second thoughts: in the same place, not once more
    assert (bench.state.questions[3].label, bench.state.budget.spent, len(bench.state.training.examples)) == (0, 1, 1)
    assert bench.state.learner.intercept_[0] != before
    assert bench.run(AdjudicateJob("p", 1, item=99, label="good")).code == "never_asked"


def test_a_vote_taken_back_opens_again_unless_the_others_agree(bench):
    for person, label in ((7, "fraud"), (8, "good"), (9, "good")):
        say(bench, 4, person, label)
    votes = {person: seq for person, _, seq in bench.state.questions[4].votes}
    bench.run(RetractJob("p", 7, answer=votes[7]))
    assert bench.state.questions[4].state is QuestionState.SETTLED
    bench.run(RetractJob("p", 8, answer=votes[8]))
    assert bench.state.questions[4].state is QuestionState.OPEN
    assert bench.state.learner.intercept_[0] == 0
    assert say(bench, 4, 8, "good").settled == "good"
    assert bench.state.budget.spent == 1  # the label stays paid, and its next one is free


def test_a_dispute_can_be_closed_and_refunds(bench):
    bench.run(SetJob("p", 1, changes={"votes": 2}, expected=1))
    say(bench, 5, 7, "good")
    say(bench, 5, 8, "fraud")
    reserved = bench.state.budget.reserved
    bench.run(CloseJob("p", 1, item=5))
    assert bench.state.budget.reserved == reserved - 1
    assert bench.run(AdjudicateJob("p", 1, item=5, label="good")).code == "closed"


def test_the_owner_sees_disputes_and_agreement(bench):
    bench.run(SetJob("p", 1, changes={"votes": 2, "agree": 2}, expected=1))
    for item, labels in {2: "gg", 3: "ff", 4: "gf", 5: "gg"}.items():
        for person, label in zip((7, 8), labels, strict=True):
            say(bench, item, person, {"g": "good", "f": "fraud"}[label])
    found = overview(bench.store, "p", snapshot_of(bench), bench.clock.now())
    assert found.disputes == [4]
    assert found.words["disputed"] == "1 disputed"
    assert [line.agreement for line in found.people] == [1.0, 1.0]  # of those that were settled
    assert found.agreement == pytest.approx(krippendorff_alpha([[0, 0], [1, 1], [0, 1], [0, 0]]))
    assert found.words["agreement"] == f"Agreement (Krippendorff's alpha) on 4 questions: {found.agreement:.2f}"


def test_alpha_of_krippendorffs_example():
    table = (
        "1 2 3 3 2 1 4 1 2 . . .",
        "1 2 3 3 2 2 4 1 2 5 . 3",
        ". 3 3 3 2 3 4 2 2 5 1 .",
        "1 2 3 3 2 4 4 1 2 5 1 .",
    )
    units = [[int(cell) for cell in unit if cell != "."] for unit in zip(*(row.split() for row in table), strict=True)]
    assert krippendorff_alpha(units) == pytest.approx(0.743, abs=5e-4)
    assert krippendorff_alpha([[1], [2]]) is None
    assert krippendorff_alpha([[1, 1], [1, 1]]) is None


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"votes": 0}, "votes"),
        ({"votes": 2, "agree": 3}, "agree"),
        ({"renew": "50 a day"}, "renew"),
        ({"renew": "0/day"}, "renew"),
        ({"keep_payloads": "90"}, "keep_payloads"),
        ({"keep_training_rows": "0d"}, "keep_training_rows"),
    ],
)
def test_settings_that_cannot_be(changes, named):
    with pytest.raises(InvalidInputError, match=named):
        settings_of(**changes).validate()


# -- a budget that is renewed ----------------------------------------------------------------------------------------


def test_a_budget_is_renewed_by_an_event_and_a_replay_reads_no_clock(folder):
    clock = HandClock()
    bench = Bench(folder, settings_of(renew="50/day", budget=20, expected_rows=200), clock)
    source = random.Random(1)
    asked = []
    for day in range(4):
        made = bench.decide(*(made_up(source, n % 5 == 0) for n in range(300)))
        asked.append(sum(m.ask for m in made))
        clock.advance(DAY - 10)
        assert bench.run(RenewJob("p", 0)) == 0
        clock.advance(10 + day)  # a timer that comes late does not move the days
        assert bench.run(RenewJob("p", 0)) == 50
        clock.advance(-day)
    assert bench.state.budget.limit == 20 + 4 * 50
    assert bench.state.settings.expected_rows == 1500
    assert all(count > 25 for count in asked[1:]), asked  # it is spent again, at a pace of its own
    clock.advance(7 * DAY)
    assert bench.run(RenewJob("p", 0)) == 0  # no row came: nothing is saved up
    bench.decide(made_up(source, True))
    assert bench.run(RenewJob("p", 0)) == 50  # missed days are not made up for
    assert bench.run(RenewJob("p", 0)) == 0
    digest = bench.state.digest()
    bench.restart()
    assert bench.state.digest() == digest
    whole(bench)
    bench.store.close()


def test_renewal_begins_when_it_is_set(folder):
    clock = HandClock()
    bench = Bench(folder, settings_of(), clock)
    bench.decide(made_up(random.Random(0), True))
    clock.advance(30 * DAY)
    assert bench.run(RenewJob("p", 0)) == 0
    bench.run(SetJob("p", 1, changes={"renew": "10/week"}, expected=1))
    bench.decide(made_up(random.Random(0), True))
    assert bench.run(RenewJob("p", 0)) == 0
    clock.advance(7 * DAY)
    assert bench.run(RenewJob("p", 0)) == 10
    whole(bench)
    bench.store.close()


def test_over_http(folder):
    tokens = make_service(folder, settings=settings_of(votes=2, **ASK_ALL))
    with ThreadedServer(folder) as server:
        made = server.client(tokens["producer"]).decide({"x": 1, "y": 2})
        owner = server.client(tokens["owner"])
        annotator = server.client(tokens["annotator"])
        assert annotator.answer(made["id"], "good")["settled"] is None
        assert owner.answer(made["id"], "fraud")["settled"] is None
        assert annotator.questions() == []
        with pytest.raises(ServiceError, match="owner decides"):
            server.client(tokens["owner"]).answer(made["id"], "fraud")
        assert owner.adjudicate(made["id"], "fraud")["event"]
        status, _, said = call(server.url, "GET", f"/v1/p/decisions/{made['id']}", token=tokens["reader"])
        assert (status, said["label"]) == (200, "fraud")


def test_an_average_that_answers_for_good_is_not_learned_on_from(folder):
    """It answers once the budget is spent; an undo would learn another model than the one that went on from it."""
    average = {"after_budget": "average", "update": "CSOGD2(eta=0.1)", **ASK_ALL, "budget": 3}
    with pytest.raises(InvalidInputError, match="renew must be left out where after_budget"):
        Bench(folder, settings_of(**average, renew="5/day"))
    bench = Bench(folder, settings_of(**average))
    assert "renew must be left out" in bench.run(SetJob("p", 1, changes={"renew": "5/day"}, expected=1)).message
    seq = bench.run(SetJob("p", 1, changes={"budget": 4}, expected=1)).seq  # nothing has answered by the average yet
    for n in range(4):
        (made,) = bench.decide(made_up(random.Random(n), n % 2 == 0))
        bench.run(AnswerJob("p", 2, answers=[(made.id, "fraud" if n % 2 == 0 else "good", None)]))
    refused = bench.run(SetJob("p", 1, changes={"budget": 9}, expected=seq))
    assert refused.status == 422
    assert refused.message.startswith("budget must stay as it is once all of it is spent")
    assert bench.run(SetJob("p", 1, changes={"question": "Which?"}, expected=seq)).settings["budget"] == 4
    whole(bench)
