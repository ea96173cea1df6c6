"""CostSearchCV: samplers, measures, protocols, storage, answers and errors."""

import multiprocessing
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor
from functools import partial

import numpy as np
import optuna
import pytest
from forked import Forked
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.metrics import balanced_accuracy_score
from sklearn.model_selection import ShuffleSplit
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

from steelyard import (
    AdaC2Classifier,
    AdaC2M1Classifier,
    C45Classifier,
    Costs,
    CostSearchCV,
    f_score,
    g_mean_score,
    get_scorer,
    mean_cost,
    savings_score,
)
from steelyard.errors import ClusterLost, InvalidInputError, MissingDependencyError, StateError
from steelyard.search import study
from steelyard.search.plan import POWERS, SearchPlan, power_family
from steelyard.search.study import history, open_storage


@pytest.fixture(scope="module")
def blobs():
    random = np.random.default_rng(5)
    sizes = [120, 30, 15]
    X = np.concatenate([random.normal(k * 0.9, 1.0, size=(n, 3)) for k, n in enumerate(sizes)])
    return X, np.repeat(["big", "mid", "rare"], sizes)


def searched(blobs, **options):
    options = {"n_trials": 25, "cv": 3, "random_state": 0, **options}
    return CostSearchCV(AdaC2M1Classifier(n_estimators=4), **options).fit(*blobs)


@pytest.mark.parametrize("sampler", ["genetic", "tpe", "cmaes", "random", "power_grid"])
def test_every_sampler_beats_its_own_first_guess(blobs, sampler):
    search = searched(blobs, sampler=sampler)
    values = history(search.study_)
    assert len(values) == (16 if sampler == "power_grid" else 25)
    assert search.validation_fitness_ == values.max() >= values[0]
    assert search.best_costs_.class_costs().max() == pytest.approx(2)  # two other classes, largest cost 1
    assert search.n_rounds_ == 4


def test_the_fitness_is_the_mean_over_the_splits(blobs):
    search = searched(blobs, sampler="power_grid")
    X, y = blobs
    from steelyard.evaluate import g_mean_score
    from steelyard.search.objective import stratified_splits

    random = np.random.RandomState(0)
    random.randint(2**31 - 1)
    cuts = stratified_splits(3, np.unique(y, return_inverse=True)[1], int(random.randint(2**31 - 1)))
    model = AdaC2M1Classifier(n_estimators=4, costs=search.best_costs_)
    values = [g_mean_score(y[v], clone(model).fit(X[t], y[t]).predict(X[v])) for t, v in cuts]
    assert search.validation_fitness_ == pytest.approx(np.mean(values), rel=1e-12)


def test_searches_begin_with_the_power_family(blobs):
    search = searched(blobs, sampler="random", n_trials=5)
    first = [list(t.params.values()) for t in search.study_.trials]
    counts = np.array([120.0, 30.0, 15.0])
    np.testing.assert_allclose(first, [power_family(counts, g) for g in (0, 0.25, 0.5, 0.75, 1)])
    ladder = searched(blobs, sampler="power_grid")
    last = list(ladder.study_.trials[-1].params.values())
    np.testing.assert_allclose(last, power_family(counts, POWERS[-1]))


def test_the_paper_takes_the_mean_of_twenty_normalised_winners(blobs):
    search = searched(blobs, protocol="paper", n_trials=6)
    assert len(search.studies_) == 20
    winners = []
    for each in search.studies_:
        costs = np.array(list(max(each.trials, key=lambda t: (t.value, -t.number)).params.values()))
        winners.append(costs / costs.max())
    mean = np.mean(winners, axis=0)
    np.testing.assert_allclose(search.best_costs_.class_costs() / 2, mean / mean.max())
    assert search.validation_fitness_ == pytest.approx(np.mean([s.best_value for s in search.studies_]))


def test_same_seed_same_search_whatever_the_number_of_workers(blobs):
    one, two = searched(blobs), searched(blobs, n_jobs=2)
    assert [t.params for t in one.study_.trials] == [t.params for t in two.study_.trials]
    np.testing.assert_array_equal(history(one.study_), history(two.study_))


def test_a_stopped_search_goes_on_as_if_it_had_not_stopped(blobs, tmp_path):
    whole = searched(blobs, n_trials=60)
    stored = {"storage": tmp_path / "journal.log", "study_name": "car"}
    searched(blobs, n_trials=40, **stored)
    resumed = searched(blobs, n_trials=60, **stored)
    assert [t.params for t in resumed.study_.trials] == [t.params for t in whole.study_.trials]
    np.testing.assert_array_equal(resumed.best_costs_.class_costs(), whole.best_costs_.class_costs())


def test_an_executor_judges_as_threads_do(blobs):
    X, y = blobs
    expected = searched(blobs, n_trials=8, sampler="random")
    with ThreadPoolExecutor(2) as threads:
        found = searched(blobs, n_trials=8, sampler="random", executor=threads)
        np.testing.assert_array_equal(history(found.study_), history(expected.study_))
        again = clone(found)
        assert again.executor is threads
        np.testing.assert_array_equal(history(again.fit(X, y).study_), history(expected.study_))
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as processes:
        found = searched(blobs, n_trials=8, sampler="random", executor=processes)
    np.testing.assert_array_equal(history(found.study_), history(expected.study_))
    with pytest.raises(InvalidInputError, match="executor must be"):
        searched(blobs, executor="many")


class Gone(ThreadPoolExecutor):
    """A cluster that went away: whatever it is given is cancelled."""

    address = "tcp://10.0.0.1:8786"

    def submit(self, task, /, *given, **named):
        lost = Future()
        lost.cancel()
        lost.set_running_or_notify_cancel()
        return lost


def test_a_lost_cluster_is_named(blobs):
    with Gone(1) as executor, pytest.raises(ClusterLost, match=r"tcp://10\.0\.0\.1:8786 went away during the search"):
        searched(blobs, n_trials=8, sampler="random", executor=executor)


WORKER = """
import sys
import numpy as np
from steelyard import AdaC2M1Classifier, CostSearchCV
rows = np.load(sys.argv[1], allow_pickle=False)
print("ready", flush=True)
sys.stdin.readline()  # both start at the same time
search = CostSearchCV(
    AdaC2M1Classifier(n_estimators=4), cv=3, random_state=0, n_trials=60, study_name="shared",
    storage=sys.argv[2], sampler=sys.argv[3]
)
search.fit(rows["X"], rows["y"])
print(search.validation_fitness_, len(search.study_.trials))
"""


@pytest.mark.parametrize("sampler", ["genetic", "random", "power_grid"])
def test_two_processes_share_one_study(blobs, tmp_path, sampler):
    rows, journal = tmp_path / "rows.npz", tmp_path / "journal.log"
    np.savez(rows, X=blobs[0], y=blobs[1].astype(str))
    modules = ("optuna", "steelyard.boosting", "steelyard.search")
    workers = [Forked(WORKER, rows, journal, sampler, modules=modules) for _ in range(2)]
    assert [w.stdout.readline() for w in workers] == ["ready\n"] * 2
    for worker in workers:
        worker.stdin.write("go\n")
        worker.stdin.flush()
    answers = [w.communicate()[0].split() for w in workers]
    assert [w.returncode for w in workers] == [0, 0]
    study = optuna.load_study(study_name="shared", storage=open_storage(journal))
    judged = [t for t in study.trials if t.state == optuna.trial.TrialState.COMPLETE]
    assert len(judged) == (16 if sampler == "power_grid" else 60)
    assert [float(fitness) for fitness, _ in answers] == [study.best_value] * 2  # each waits for the other's last
    drawn = {tuple(t.params.values()) for t in judged}
    if sampler == "power_grid":
        assert len(drawn) == 16  # every rung, whoever judged it
    else:
        assert len(drawn) > 0.8 * len(judged)  # they do not repeat each other
    again = searched(blobs, storage=journal, study_name="shared", n_trials=60, sampler=sampler)  # finds all done
    assert len(history(again.study_)) == len(judged)
    assert again.validation_fitness_ == study.best_value
    if sampler == "random":  # together they drew what one draws alone
        alone = searched(blobs, n_trials=60, sampler="random")
        assert drawn == {tuple(t.params.values()) for t in alone.study_.trials}


def test_a_stored_search_for_something_else_is_refused(blobs, tmp_path):
    stored = {"storage": f"sqlite:///{tmp_path}/study.db", "study_name": "car", "n_trials": 5}
    searched(blobs, **stored)
    with pytest.raises(StateError, match="differs in rounds"):
        CostSearchCV(AdaC2M1Classifier(n_estimators=7), cv=3, random_state=0, **stored).fit(*blobs)
    with pytest.raises(InvalidInputError, match="random_state must be a whole number when storage is given"):
        searched(blobs, **{**stored, "random_state": None})


def test_measures(blobs):
    X, y = blobs
    cheap = searched(blobs, scoring=Costs.from_classes({"big": 1.0, "mid": 1.0, "rare": 50.0}), sampler="power_grid")
    assert cheap.validation_fitness_ < 0
    best_f = searched(blobs, scoring="f:rare", sampler="power_grid")
    assert 0 < best_f.validation_fitness_ <= 1
    accuracy = searched(blobs, scoring="accuracy", sampler="power_grid")
    by_hand = searched(blobs, scoring=lambda m, X, y: float(np.mean(m.predict(X) == y)), sampler="power_grid")
    assert accuracy.validation_fitness_ == pytest.approx(by_hand.validation_fitness_)
    # what is searched for is what is got
    assert np.mean(cheap.predict(X)[y == "rare"] == "rare") >= np.mean(accuracy.predict(X)[y == "rare"] == "rare")


def test_any_estimator_with_costs_and_any_splitter(blobs):
    X, y = blobs

    class Weighted(GaussianNB):
        """A learner that reads class costs its own way, under another name."""

        def __init__(self, price=None, **kwargs):
            super().__init__(**kwargs)
            self.price = price

        def get_params(self, deep=True):
            return {"price": self.price}

        def fit(self, X, y):
            c = dict(zip(self.price.classes, self.price.class_costs(), strict=True))
            return super().fit(X, y, sample_weight=[c[k] for k in y])

    search = CostSearchCV(
        Weighted(), parameter="price", sampler="power_grid", cv=ShuffleSplit(3, random_state=0), random_state=0
    ).fit(X, y)
    assert search.n_rounds_ is None
    assert search.predict_proba(X).shape == (165, 3)
    two = CostSearchCV(
        AdaC2Classifier(DecisionTreeClassifier(max_depth=2), 2), sampler="power_grid", cv=2, random_state=0
    )
    assert set(two.fit(X, y == "rare").predict(X)) == {True, False}


def test_answers_are_those_of_the_refitted_estimator(blobs):
    X, y = blobs
    search = searched(blobs, n_trials=5)
    again = AdaC2M1Classifier(n_estimators=4, costs=search.best_costs_).fit(X, y)
    np.testing.assert_array_equal(search.predict(X), again.predict(X))
    np.testing.assert_array_equal(search.decision_function(X), again.decision_function(X))
    np.testing.assert_array_equal(search.predict_proba(X), again.predict_proba(X))
    assert search.n_features_in_ == 3
    with pytest.raises(NotFittedError):
        CostSearchCV().predict(X)


def test_time_can_be_the_limit(blobs):
    search = searched(blobs, sampler="random", n_trials=100_000, time_limit=0.05)
    assert 1 <= len(history(search.study_)) < 100_000


def test_no_vector_begins_after_the_time_and_those_left_over_wait(monkeypatch):
    """A batch of 20 vectors once began as a whole, however long each of them took."""
    plan = SearchPlan("random", ["a", "b"], np.array([9.0, 3.0]), True, 0, 30, 5.0)
    found = study.open_study(plan, None, None, {})
    clock, judged = [0.0], []

    def objective(vectors):
        judged.append(len(vectors))
        clock[0] += 2.0
        return np.array([float(vector[0]) for vector in vectors])

    monkeypatch.setattr(study.time, "monotonic", lambda: clock[0])
    study.run(found, plan, objective, lambda n: None, at_once=2)
    assert judged == [2, 2, 2]
    left_over = [trial.params for trial in found.trials if trial.state.name == "FAIL"]
    assert len(left_over) == 14
    study.run(found, plan._replace(time_limit=None), objective, lambda n: None)
    values = [trial.params for trial in found.trials if trial.state.name == "COMPLETE"]
    assert len(values) == 30
    assert [params for params in left_over if params not in values] == []


def test_the_searches_of_the_paper_share_the_time(blobs, monkeypatch):
    """Each of the twenty once had all of it."""
    limits = []
    run = study.run

    def short(found, plan, objective, advance, at_once):
        limits.append(plan.time_limit)
        run(found, plan._replace(n_trials=1, time_limit=None), objective, advance)

    monkeypatch.setattr(study, "run", short)
    searched(blobs, protocol="paper", time_limit=40.0)
    assert len(limits) == 20
    assert 0 < limits[0] <= 2.0
    assert all(limit <= 40.0 / (20 - number) for number, limit in enumerate(limits))


def test_a_measure_that_is_no_number_ends_the_search(blobs):
    """A trial that is told NaN is never done: the search went on for ever."""
    with pytest.raises(InvalidInputError, match=r"scoring must give a number for every cost vector .*; got nan"):
        searched(blobs, scoring=lambda model, X, y: float("nan"), n_trials=5)


def test_a_class_of_one_row_is_trained_on_only(blobs):
    X, y = blobs
    y = y.astype("U8")
    y[0] = "lonely"
    search = CostSearchCV(AdaC2M1Classifier(n_estimators=3), sampler="power_grid", random_state=0).fit(X, y)
    assert search.validation_fitness_ > 0


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"sampler": "grid"}, "sampler must be one of 'genetic'"),
        ({"protocol": "honest"}, "protocol must be one of None, 'paper'"),
        ({"n_trials": 0}, "n_trials must be a whole number >= 1"),
        ({"cv": 1}, "cv must be a whole number >= 2"),
        ({"scoring": "f:nobody"}, "name one of the classes big, mid, rare"),
        ({"scoring": "beauty"}, "scoring must be"),
        ({"time_limit": 0}, "time_limit must be"),
        ({"parameter": "wishes"}, "have a parameter 'wishes'"),
        ({"cv": "x"}, "cv must be a whole number >= 2; got 'x'"),
        ({"n_jobs": 0}, "n_jobs must be None or a whole number other than 0; got 0"),
    ],
)
def test_what_cannot_be_used_is_named(blobs, options, match):
    with pytest.raises(InvalidInputError, match=match):
        searched(blobs, **options)


@pytest.mark.parametrize("estimator", ["forest", AdaC2M1Classifier])
def test_what_is_no_estimator_is_named(blobs, estimator):
    with pytest.raises(InvalidInputError, match="estimator must be an estimator with get_params and fit, or None"):
        CostSearchCV(estimator).fit(*blobs)


def test_errors_of_the_estimator_come_through_and_the_study_knows(blobs, tmp_path):
    stored = {"storage": tmp_path / "j.log", "study_name": "s", "n_trials": 5}
    with pytest.raises(InvalidInputError, match="n_estimators"):
        CostSearchCV(AdaC2M1Classifier(DecisionTreeClassifier(), 0), random_state=0, **stored).fit(*blobs)


def test_without_optuna_the_extra_is_named(blobs, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "optuna", None)
    with pytest.raises(MissingDependencyError, match=r"steelyard\[search\]"):
        searched(blobs)


def test_progress_and_convergence_can_be_seen(blobs, capsys):
    pytest.importorskip("matplotlib").use("Agg")
    search = searched(blobs, progress=True)
    assert "searching costs" in capsys.readouterr().out
    axes = search.plot_convergence()
    (line,) = axes.get_lines()
    assert line.get_ydata()[-1] == search.validation_fitness_
    __import__("matplotlib.pyplot").pyplot.close(axes.figure)


def test_quick_and_general_path_judge_alike(blobs):
    class Same(C45Classifier):
        """A subclass, so that nothing is shared between cost vectors."""

    quick = CostSearchCV(AdaC2M1Classifier(C45Classifier(), 5), n_trials=25, cv=3, random_state=0).fit(*blobs)
    general = CostSearchCV(AdaC2M1Classifier(Same(), 5), n_trials=25, cv=3, random_state=0).fit(*blobs)
    np.testing.assert_array_equal(history(quick.study_), history(general.study_))


def test_names_of_columns_are_those_of_the_frame(blobs):
    pd = pytest.importorskip("pandas")
    X, y = blobs
    search = searched((pd.DataFrame(X, columns=["a", "b", "c"]), y), sampler="power_grid")
    assert search.feature_names_in_.tolist() == ["a", "b", "c"]
    assert not hasattr(searched(blobs, sampler="power_grid"), "feature_names_in_")
    assert not hasattr(CostSearchCV(), "feature_names_in_")


def test_its_score_is_what_it_searched_for(blobs):
    X, y = blobs
    weight = np.random.default_rng(2).integers(0, 3, len(y))
    costs = Costs.from_classes({"big": 1, "mid": 3, "rare": 9})
    for scoring, measure in (
        ("g_mean", g_mean_score),
        ("f:rare", partial(f_score, positive="rare")),
        (costs, lambda *pair, **more: -mean_cost(*pair, costs=costs, **more)),
        ("balanced_accuracy", balanced_accuracy_score),
        (get_scorer("savings_score", costs=costs), partial(savings_score, costs=costs)),
    ):
        search = searched(blobs, sampler="power_grid", scoring=scoring)
        answers = search.predict(X)
        assert search.score(X, y) == pytest.approx(measure(y, answers))
        assert search.score(X, y, sample_weight=weight) == pytest.approx(measure(y, answers, sample_weight=weight))
        assert search.score(X, y, costs=costs) == pytest.approx(-mean_cost(y, answers, costs=costs))
        some = y != "mid"  # a fold may lack a class
        assert np.isfinite(search.score(X[some], y[some]))
