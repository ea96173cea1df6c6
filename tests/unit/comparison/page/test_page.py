"""The page of a comparison: its words, its parts, and that nothing from the data can act on it."""

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import steelyard
from steelyard import Costs, InvalidInputError
from steelyard.comparison.data import read_data
from steelyard.comparison.page.evidence import segment_costs
from steelyard.comparison.page.levers import embed, price_curve
from steelyard.comparison.page.refits import importances, refits
from steelyard.comparison.page.what_if import what_if
from steelyard.comparison.page.words import costs_in_words
from steelyard.comparison.side_columns import read_segments


def loans(n: int = 160) -> tuple[pd.DataFrame, Any]:
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {"size": rng.normal(size=n), "kind": rng.choice(["red", "green"], n), "age": rng.integers(20, 70, n)}
    )
    return X, np.where(X["size"] + rng.normal(size=n) > 0.6, "bad", "good")


def compared(**settings: Any) -> Any:
    X, y = loans()
    costs = settings.pop("costs", Costs.binary(fn=5, fp=1, classes=["bad", "good"], positive="bad", currency="EUR"))
    return steelyard.compare(X, y, costs=costs, **{"candidates": ["logistic"], "cv": 3, **settings})


@pytest.fixture(scope="module")
def plain() -> Any:
    """A comparison that several tests look at and none changes."""
    return compared()


@pytest.fixture(scope="module")
def priced_by_row() -> Any:
    """The same rows, where each has its own price of a miss."""
    amounts = np.linspace(1, 20, 160)
    return compared(costs=Costs.binary(fn=amounts, fp=3.0, classes=["bad", "good"], positive="bad", currency="EUR"))


@pytest.fixture(scope="module")
def page_with_todays_rule(tmp_path_factory: pytest.TempPathFactory) -> str:
    X, _ = loans()
    result = compared(segments=["kind", "age"], current=np.where(X["size"] > 0, "bad", "good"))
    page: Path = result.report(tmp_path_factory.mktemp("page") / "report.html")
    return page.read_text()


def test_first_screen_parts_and_size(page_with_todays_rule: str) -> None:
    html = page_with_todays_rule
    assert len(html) < 700_000
    for part in (
        "what-if",
        "leaderboard",
        "confusion",
        "segments",
        "mistakes",
        "importance",
        "calibration",
        "learning",
    ):
        assert f'id="{part}"' in html
    assert "today&#39;s rule" in html
    assert "doing nothing (always good)" in html
    assert " EUR a row" in html
    assert not re.search(r"https?://(?!github.com/leeoniya)", html)
    lead = html[html.index("<h1>") : html.index('class="scale"')]
    assert 1 <= lead.count('class="lead"') <= 3
    assert re.search(
        r"% less than always \w+, the cheapest answer without a model, and \d+% less than today&#39;s", lead
    )
    assert "G-mean" not in lead


def test_rows_are_numbers_unless_their_cells_are_asked_for(plain: Any, tmp_path: Path) -> None:
    head = '<th scope="col">size</th>'
    assert head not in plain.report(tmp_path / "a.html").read_text()
    assert head in plain.report(tmp_path / "b.html", show_rows=True).read_text()


def test_cells_of_shown_rows_read_as_in_the_table(tmp_path: Path) -> None:
    X, y = loans()
    X["age"] = X["age"].where(X["age"] > 40).astype(float)
    html = (
        steelyard.compare(X, y, candidates=["logistic"], cv=3).report(tmp_path / "r.html", show_rows=True).read_text()
    )
    cells = html[html.index('id="mistakes"') : html.index('id="importance"')]
    assert "nan" not in cells
    assert re.search(r"<td>\d\d</td><td>", cells)
    assert "<td>–</td><td>" in cells


def test_a_price_that_is_the_same_in_every_row_is_no_average(priced_by_row: Any) -> None:
    said = costs_in_words(priced_by_row.runs.data)
    assert re.fullmatch(r"a missed bad costs [\d.]+ EUR on average, a false alarm 3 EUR", said)


def test_prices_are_told_in_any_unit() -> None:
    X, y = loans()
    for fn, text in ((2.5e-12, "2.5e-12"), (0.1 + 0.2, "0.3"), (123456789012.0, "123456789012")):
        costs = Costs.binary(fn=fn, fp=fn, classes=["good", "bad"])
        assert costs_in_words(read_data(X, y, costs)) == f"a missed bad costs {text}, a false alarm {text}"


def test_class_names_cannot_act_on_the_page(tmp_path: Path) -> None:
    X, y = loans()
    evil = "</script><script>alert(1)</script><img src=x onerror=alert(1)>"
    y = np.where(y == "bad", evil, "good")
    X = X.rename(columns={"kind": "<b>kind</b>"})
    result = steelyard.compare(
        X, y, costs={evil: 5, "good": 1}, candidates=["logistic"], cv=3, segments=["<b>kind</b>"]
    )
    for html in (result.report(tmp_path / "r.html", show_rows=True).read_text(), result._repr_html_()):
        assert "<script>alert" not in html
        assert "<img" not in html
        assert "<b>kind" not in html


def test_short_repr_and_summary_under_one_class(plain: Any) -> None:
    assert len(repr(plain)) < 400
    assert "EUR a row" in repr(plain)
    assert plain._repr_html_().startswith('<div class="sy">')
    assert "<script" not in plain._repr_html_()


def test_card_and_predictions(plain: Any) -> None:
    card = json.loads(json.dumps(plain.card))
    assert card["rows"] == 160
    assert card["promise"]["value"] == pytest.approx(plain.promise.value)
    assert plain.model().card_["data"] == card["data"]


def test_many_classes_have_a_price_a_cell_or_their_dearest_confusions(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(240, 2))
    for n_classes, cells in ((3, 9), (9, 0)):
        y = np.clip(np.round(X[:, 0] * 1.5 + n_classes / 2), 0, n_classes - 1).astype(int)
        y[: 2 * n_classes] = np.arange(2 * n_classes) % n_classes
        result = steelyard.compare(X, y, candidates=["logistic"], cv=2)
        html = result.report(tmp_path / "r.html").read_text()
        assert len(re.findall(r'id="price-\d-\d"', html)) == cells
        assert ("The costliest confusions" in html) is (n_classes > 8)
        assert ("All confusions as a table" in html) is (n_classes > 8)


def test_what_is_confused_at_no_cost_and_whose_probability_is_shown_of_three_classes(tmp_path: Path) -> None:
    X = np.random.default_rng(1).normal(size=(150, 2))
    X[:, 0] = np.where(X[:, 0] > 0, 6, -6) + X[:, 0]
    y = np.array(["a", "b", "c"])[np.where(X[:, 0] > 0, 2, np.arange(150) % 2)]  # a and b cannot be told apart
    free = np.array([[0.0, 0, 9], [0, 0, 9], [9, 9, 0]])
    costs = Costs.from_matrix(free, classes=["a", "b", "c"])
    result = steelyard.compare(pd.DataFrame(X, columns=["x", "z"]), y, costs=costs, candidates=["logistic"], cv=2)
    assert (result.best.answers != result.runs.data.codes).sum() > 20
    assert result.best.cost == 0
    html = result.report(tmp_path / "r.html").read_text()
    assert "No confusion cost anything." in html
    assert "Nothing was confused." not in html
    assert "predicted probability of the likeliest class" in html
    assert "predicted probability of the answer" not in html  # at these costs it need not be the likeliest


def test_dear_constants_do_not_press_the_others_together_and_who_cannot_take_part_is_not_called_better(
    tmp_path: Path,
) -> None:
    X, _ = loans()
    y = np.resize(["a", "b", "c"], len(X))
    dear = np.array([[0.0, 1, 90], [1, 0, 90], [1, 1, 0]])
    costs = Costs.from_matrix(dear, classes=["a", "b", "c"])
    result = steelyard.compare(X, y, costs=costs, candidates=["logistic", "CS-LDM with costs"], cv=2)
    html = result.report(tmp_path / "r.html").read_text()
    board = html[html.index('class="board"') : html.index('class="boardaxis"')]
    assert board.count('class="beyond"') == 1  # always c
    assert "Not for these data: CS-LDM with costs (for two classes only)." in html
    assert "Not ranked" not in html


def test_the_column_that_drives_the_label_is_looked_at_first_however_little_time_is_left() -> None:
    rng = np.random.default_rng(5)
    X = pd.DataFrame(rng.normal(size=(400, 9)), columns=[f"noise {k}" for k in range(8)] + ["drive"])
    y = np.where((X["drive"] > 0) ^ (rng.random(400) < 0.1), "yes", "no")
    result = steelyard.compare(X, y, costs={"yes": 5, "no": 1}, candidates=["RBF SVM, C=1"], cv=4)
    found = refits(result.runs, result.best, 0.0)
    assert next(iter(found.rises)) == "drive"
    assert len(found.rises) == 5
    assert found.columns_left == 4
    assert importances(found)[0].column == "drive"
    assert importances(found)[0].low > 0


@pytest.mark.parametrize("current", [False, True])
def test_where_answers_gain_amounts_are_told_and_no_shares_of_them(current: bool, tmp_path: Path) -> None:
    X, _ = loans()
    rule = {"current": np.where(X["size"] > 1.5, "bad", "good")} if current else {}
    costs = Costs.binary(fn=5, fp=1, tp=-1, tn=-1, classes=["bad", "good"], positive="bad", currency="EUR")
    html = compared(costs=costs, **rule).report(tmp_path / "report.html").read_text()
    lead = html[html.index("<h1>") : html.index('class="scale"')]
    assert "below 0 is a gain" in lead
    assert re.search(r"That is [\d.]+ EUR a row less than always \w+", lead)
    assert ("EUR a row less than today&#39;s rule" in lead) is current
    money = html[html.index('id="confusion"') : html.index('id="importance"')]
    assert "000" not in money
    assert re.search(r"Most is paid where the truth is \w+ and the answer \w+: [1-9]\d*% of all costs", money)


def test_a_segment_of_few_rows_has_no_interval(tmp_path: Path) -> None:
    parts = np.where(np.arange(160) < 3, "three", "most")
    html = compared(segments={"part": parts}).report(tmp_path / "report.html").read_text()
    shown = html[html.index('id="segments"') : html.index('id="mistakes"')]
    assert "too few to say" in shown
    assert shown.count(" to ") > 0
    assert re.search(r"<td>3</td><td>[\d.]+ EUR</td><td>–</td>", shown)


@pytest.mark.parametrize(
    ("cells", "levels"),
    [
        (np.resize([1012345, 1012346, 1012347], 160), ["1012345", "1012346", "1012347"]),
        (np.resize([0.12345671, 0.12345672], 160), ["0.12345671", "0.12345672"]),
        (202_300_000 + np.arange(160) % 80, 4),
        (pd.array(np.resize([1, 2, None], 160), dtype="Int64"), ["(missing)", "1", "2"]),
        (pd.array(np.resize(["a", None], 160), dtype="string"), ["(missing)", "a"]),
    ],
)
def test_different_segments_have_different_names(plain: Any, cells: Any, levels: Any) -> None:
    found = segment_costs(plain.runs, plain.best, read_segments(None, {"part": cells}, 160))[0]["lines"]
    assert sum(line["rows"] for line in found) == 160
    if isinstance(levels, int):
        assert len(found) == levels
    else:
        assert sorted(line["level"] for line in found) == levels


def test_prices_stand_in_their_fields_with_all_their_digits(tmp_path: Path) -> None:
    two = Costs.binary(fn=1234567.25, fp=0.123456789, classes=["bad", "good"], positive="bad")
    assert re.findall(
        r'id="price-\d-\d"[^>]*value="([^"]*)"', compared(costs=two).report(tmp_path / "a.html").read_text()
    ) == [
        "1234567.25",
        "0.123456789",
        "0",
        "0",
    ]
    X, _ = loans()
    y = np.where(X["size"] > 0.5, "c", np.where(X["size"] > -0.5, "b", "a"))
    three = Costs.from_classes({"a": 1000000, "b": 2345678, "c": 1 / 3})
    html = steelyard.compare(X, y, costs=three, candidates=["logistic"], cv=2).report(tmp_path / "b.html").read_text()
    found = re.findall(r'id="price-\d-\d"[^>]*value="([^"]*)"', html)
    assert set(found) == {"0", "1000000", "2345678", "0.3333333333333333"}


def test_segments_and_current_are_checked() -> None:
    with pytest.raises(InvalidInputError, match="segments must name columns of the data"):
        compared(segments=["nothing"])
    with pytest.raises(InvalidInputError, match="current must hold the classes of the target"):
        compared(current=["ugly"] * 160)
    with pytest.raises(InvalidInputError, match="current must give 160 rows a decision each"):
        compared(current=["bad"])


def test_frames_are_of_the_library_that_came_in(plain: Any) -> None:
    X, y = loans()
    costs = {"bad": 5, "good": 1}
    other = steelyard.compare(pl.from_pandas(X), y, costs=costs, candidates=["logistic"], cv=3)
    for result, library in ((plain, pd), (other, pl)):
        assert isinstance(result.leaderboard, library.DataFrame)
        assert isinstance(result.predictions, library.DataFrame)
        assert list(result.leaderboard["name"]) == [line.name for line in result.lines]
        assert next(iter(result.leaderboard["mean_cost"])) == result.lines[0].mean_cost.value
        assert sum(result.predictions["cost"]) / len(y) == pytest.approx(result.lines[0].mean_cost.value)
        assert set(result.predictions["decision"]) <= {"bad", "good"}


def test_the_best_estimator_goes_into_a_pipeline(plain: Any) -> None:
    X, _ = loans()
    estimator = plain.best_estimator_
    assert make_pipeline(FunctionTransformer(), clone(estimator).fit(X, loans()[1])).predict(X).shape == (160,)
    assert estimator.predict(X).tolist() == plain.model().predict(X).tolist()


def test_plots(plain: Any) -> None:
    pyplot = pytest.importorskip("matplotlib.pyplot")
    assert [label.get_text() for label in plain.plot_costs().get_yticklabels()][-1] == plain.winner
    assert len(plain.plot_what_if().get_lines()) == len(plain.lines)
    pyplot.close("all")


def test_gains_and_free_misses_have_a_page(tmp_path: Path) -> None:
    for fn, tp in ((0.0, -3.0), (2.0, -9.0)):
        costs = Costs.binary(fn=fn, fp=1, tp=tp, classes=["bad", "good"], positive="bad")
        html = compared(costs=costs).report(tmp_path / "r.html").read_text()
        assert "a hit earns" in html


def test_json_names_its_schema_data_and_costs(plain: Any) -> None:
    told = json.loads(plain.to_json())
    assert told["schema"] == 1
    assert len(told["data"]) == 64
    assert told["costs"]["currency"] == "EUR"


def test_classes_stand_in_the_order_of_the_costs_and_their_currency_everywhere(tmp_path: Path) -> None:
    X, _ = loans()
    order = ["large", "tiny", "mid"]
    y = np.array(["tiny", "mid", "large"])[np.digitize(X["size"], [-0.5, 0.7])]
    matrix = [[0, 9, 2], [1, 0, 1], [3, 4, 0]]
    costs = Costs.from_matrix(matrix, classes=order, currency="EUR")
    result = steelyard.compare(X, y, costs=costs, candidates=["logistic"], cv=3)
    html = result.report(tmp_path / "report.html").read_text()
    prices = html[html.index('class="prices"') :]
    assert re.findall(r'scope="col">(\w+)<', prices)[:3] == order
    assert re.findall(r'value="([^"]*)"', prices)[:9] == [str(v) for row in matrix for v in row]
    told = html[html.index('id="confusion"') :]
    assert re.findall(r'scope="col">(\w+)<', told)[:3] == order
    assert re.findall(r'scope="row">(\w+)<', told)[:3] == order
    priced = [sentence for sentence in result.recommendation if " per example" in sentence]
    assert priced
    assert all(" EUR per example" in sentence for sentence in priced)


def test_costs_of_rows_keep_their_currency(priced_by_row: Any) -> None:
    assert " EUR per example" in priced_by_row.recommendation[1]
    assert priced_by_row.model().costs.currency == "EUR"


def test_today_is_named_once(page_with_todays_rule: str) -> None:
    html = page_with_todays_rule
    board = html[html.index('class="board"') : html.index('class="boardaxis"')]
    assert board.count("today&#39;s rule") == 1


@pytest.mark.parametrize(
    ("wrong", "said", "heading"),
    [
        (0.02, "Keep today's rule: it cost", "Keep today's rule: it is cheaper than logistic regression, C=1."),
        (0.5, "more than the", "Use logistic regression, C=1."),
    ],
)
def test_a_rule_that_is_better_is_kept(wrong: float, said: str, heading: str) -> None:
    _, y = loans()
    rng = np.random.default_rng(1)
    rule = np.where(rng.random(160) < wrong, np.where(y == "bad", "good", "bad"), y)
    result = compared(current=rule, candidates=["logistic regression, C=1"])
    line = next(line for line in result.lines if line.family == "current")
    assert said in result.recommendation[0]
    assert line.beats_the_best is (wrong < 0.1)
    assert not line.tied_with_best
    html = result._repr_html_()
    assert f"<h1>{heading}</h1>".replace("'", "&#39;") in html
    assert ("which is less by more than chance" in html) is (wrong < 0.1)


def test_a_rule_that_does_as_well_is_no_model_to_put_in_place_of_the_blend() -> None:
    blend = compared(candidates=["logistic", "LightGBM, 4 leaves"])
    assert blend.winner == "blend"
    rule = blend.predictions.sort_values("row")["decision"].to_numpy()
    said = compared(candidates=["logistic", "LightGBM, 4 leaves"], current=rule).recommendation
    assert said[0].endswith("that differs within chance.")
    assert not any("today's rule alone" in sentence or "best on these data: today's" in sentence for sentence in said)


def test_the_learning_curve_has_one_point_a_size_though_folds_differ_by_a_row() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(401, 2))
    y = (X[:, 0] + rng.normal(size=401) > 0.8).astype(int)
    found = steelyard.compare(X, y, candidates=["logistic regression, C=1"], cv=3)
    sizes = refits(found.runs, found.best, 60.0).sizes
    assert {size for size in sizes if size < 200} <= {33, 66, 133}
    assert len(sizes[66]) == len(sizes[133]) == 3


@pytest.mark.parametrize("comparison", ["plain", "priced_by_row"])
def test_the_winner_is_in_what_if_and_curve_and_at_the_given_prices_costs_what_the_leaderboard_says(
    comparison: str, request: pytest.FixtureRequest
) -> None:
    found = request.getfixturevalue(comparison)
    embedded = embed(found._page_source())
    assert embedded["entries"][0]["name"] == found.winner
    shown = {line.name: line.mean_cost.value for line in found.lines}
    for entry, at in zip(embedded["entries"], what_if(embedded).entries, strict=True):
        assert at.mean == pytest.approx(shown[entry["name"]], rel=1e-5)
    curve = price_curve(embedded)
    assert curve is not None
    assert [series.name for series in curve.series if series.chosen] == [found.winner]


def test_after_ctrl_c_the_page_fits_nothing_anew(plain: Any, tmp_path: Path) -> None:
    stopped = replace(plain, runs=replace(plain.runs, interrupted=True))
    assert refits(plain.runs, plain.best, 10.0).sizes
    assert not refits(stopped.runs, stopped.best, 10.0).sizes
    html = stopped.report(tmp_path / "report.html").read_text()
    assert 'id="leaderboard"' in html
    assert 'id="learning"' not in html
