"""Displays draw the curve they are given, into the axes they are given."""

import subprocess
import sys

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

import steelyard as sy

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
from matplotlib import pyplot as plt  # noqa: E402

DRAW = np.random.default_rng(0)
X = DRAW.normal(size=(200, 2))
Y = np.where(X[:, 0] + DRAW.normal(size=200) > 1, "bad", "good")
COSTS = sy.Costs.binary(fn=5, fp=1, classes=["good", "bad"])
MODEL = LogisticRegression().fit(X, Y)
SCORE = MODEL.predict_proba(X)[:, 0]  # of "bad", the first class
DISPLAYS = [sy.CostCurveDisplay, sy.BrierCurveDisplay, sy.RocHullDisplay, sy.ThresholdDisplay]


@pytest.fixture(autouse=True)
def _closed_figures():  # type: ignore[no-untyped-def]
    yield
    plt.close("all")


def drawn(display):  # type: ignore[no-untyped-def]
    display.figure_.canvas.draw()
    return np.column_stack(display.line_.get_data())


@pytest.mark.parametrize("cls", DISPLAYS)
def test_from_estimator_is_from_predictions(cls) -> None:  # type: ignore[no-untyped-def]
    one = cls.from_estimator(MODEL, X, Y, costs=COSTS)
    other = cls.from_predictions(Y, SCORE, costs=COSTS, name="LogisticRegression")
    assert drawn(one).tolist() == drawn(other).tolist()
    assert one.line_.get_label() == other.line_.get_label()
    assert one.line_.get_label().startswith("LogisticRegression (")
    assert one.ax_.get_xlabel()
    assert one.ax_.get_ylabel()


@pytest.mark.parametrize("cls", DISPLAYS)
def test_drawn_into_given_axes_with_given_style(cls) -> None:  # type: ignore[no-untyped-def]
    _, ax = plt.subplots()
    display = cls.from_predictions(Y, SCORE, costs=COSTS, ax=ax, line={"color": "#123456", "label": "mine"})
    assert display.ax_ is ax
    assert display.line_.get_color() == "#123456"
    assert "mine" in [text.get_text() for text in ax.get_legend().get_texts()]


def test_the_lines_are_the_curves() -> None:
    cost, brier = sy.cost_curve(Y, SCORE, costs=COSTS), sy.brier_curve(Y, SCORE, costs=COSTS)
    assert drawn(sy.CostCurveDisplay(cost).plot()).tolist() == np.column_stack([cost.x, cost.cost]).tolist()
    assert drawn(sy.BrierCurveDisplay(brier).plot()).tolist() == np.column_stack([brier.c, brier.loss]).tolist()
    curve = sy.threshold_curve(Y, SCORE, costs=COSTS, measure=sy.g_mean_score)
    display = sy.ThresholdDisplay(curve).plot()
    assert drawn(display)[:, 1].tolist() == curve.values.tolist()
    assert display.ax_.get_ylabel() == "g mean"


def test_decision_functions_are_turned_towards_the_positive_class() -> None:
    svm = LinearSVC().fit(X, Y)
    bad, good = (sy.RocHullDisplay.from_estimator(svm, X, Y, positive=label) for label in ("bad", "good"))
    assert bad.curve.area == pytest.approx(good.curve.area)
    assert bad.curve.area > 0.7
    with pytest.raises(sy.InvalidInputError, match="estimator must have predict_proba; got 'LinearSVC'"):
        sy.BrierCurveDisplay.from_estimator(svm, X, Y)


def test_an_upright_iso_cost_line_can_be_drawn() -> None:
    drawn(sy.RocHullDisplay.from_predictions(Y, SCORE, costs=sy.Costs.binary(fn=0, fp=1, classes=["good", "bad"])))


def test_many_classes_are_refused() -> None:
    tree = DecisionTreeClassifier(max_depth=1).fit(X[:3], [0, 1, 2])
    with pytest.raises(sy.InvalidInputError, match="estimator must tell two classes apart"):
        sy.RocHullDisplay.from_estimator(tree, X[:3], [0, 1, 2])


@pytest.mark.parametrize("cls", [sy.ThresholdDisplay, sy.RocHullDisplay, sy.CostCurveDisplay, sy.BrierCurveDisplay])
def test_an_estimator_must_be_fitted(cls) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(NotFittedError, match="estimator must be a fitted classifier; got LogisticRegression"):
        cls.from_estimator(LogisticRegression(), [[0.0], [1.0]], [0, 1])


def test_an_unknown_positive_class_is_named() -> None:
    with pytest.raises(sy.InvalidInputError, match=r"positive must be a class of the estimator .*; got 'ugly'"):
        sy.RocHullDisplay.from_estimator(MODEL, X, Y, positive="ugly")


def test_streams_over_time() -> None:
    answers = MODEL.predict(X)
    trace = sy.Trace(SCORE, answers, SCORE > 0.5, np.ones(200), Y)
    push = sy.StreamDisplay.from_trace(trace, measure=sy.f_score, costs=COSTS, name="PE")
    both = sy.StreamDisplay.from_trace(
        trace, measure=sy.f_score, costs=COSTS, shown="push_and_query", name="PQE", ax=push.ax_, points=50
    )
    assert drawn(push)[:, 1].tolist() == sy.prequential_curve(sy.f_score, trace, costs=COSTS).tolist()
    assert len(drawn(both)) == 50
    assert drawn(both)[-1].tolist() == [
        200,
        sy.prequential_score(sy.f_score, trace, costs=COSTS, shown="push_and_query"),
    ]
    assert [text.get_text() for text in push.ax_.get_legend().get_texts()] == ["PE", "PQE"]
    model = sy.StreamDisplay.from_estimator(MODEL, X, Y, costs=COSTS)
    assert model.values[-1] == pytest.approx(sy.mean_cost(Y, answers, costs=COSTS))
    assert model.ax_.get_ylabel() == "mean cost so far"


def test_matplotlib_is_only_imported_to_draw() -> None:
    code = "import sys, steelyard; sys.exit('matplotlib' in sys.modules or 'scikit_posthocs' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_without_matplotlib_the_extra_is_named(monkeypatch) -> None:  # type: ignore[no-untyped-def]
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(sy.MissingDependencyError, match=r"pip install matplotlib"):
        sy.CostCurveDisplay.from_predictions(Y, SCORE, costs=COSTS)
