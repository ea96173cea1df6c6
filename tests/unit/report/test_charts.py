"""Axes with round ticks, lines and bands as paths."""

from steelyard.report.charts import Axis, LineChart, Series, axis_of


def test_ticks_are_round_and_lie_on_the_axis() -> None:
    assert [text for _, text in Axis(0.0, 1.5).ticks()] == ["0.0", "0.5", "1.0", "1.5"]
    assert [text for _, text in Axis(0.5, 80.0, log=True).ticks()] == ["0.5", "1", "2", "5", "10", "20", "50"]


def test_few_sizes_are_the_ticks_and_labels_do_not_run_together() -> None:
    sizes = [200.0, 400.0, 800.0, 1520.0, 1600.0]
    chart = LineChart("t", sizes, [Series("a", sizes)], "x", "y", log=True)
    assert chart.plain()["x_ticks"] == sizes
    assert [text for _, text in chart.drawing()["x_ticks"]] == ["200", "400", "800", "1,600"]


def test_an_axis_holds_zero_and_all_values() -> None:
    axis = axis_of([-2.0, 5.0])
    assert axis.low < -2 < 0 < 5 < axis.high
    assert axis_of([3.0, 4.0]).low == 0
    assert 0 <= axis.share(-100.0) < axis.share(1.0) < axis.share(100.0) <= 1


def test_a_line_its_band_and_its_diagonal_are_paths() -> None:
    band = Series("observed", [0.1, 0.9], [0.0, 0.8], [0.2, 1.0], chosen=True, dots=True)
    drawing = LineChart("t", [0.1, 0.9], [band], "x", "y", diagonal=True).drawing()
    assert drawing["lines"][0]["path"].startswith("M")
    assert drawing["lines"][0]["band"].endswith("Z")
    assert len(drawing["lines"][0]["dots"]) == 2
    assert drawing["diagonal"].count("L") == 1


def test_what_goes_beyond_the_top_stays_at_it() -> None:
    drawing = LineChart("t", [1.0, 2.0], [Series("a", [1.0, 100.0])], "x", "y", top=2.0).drawing()
    assert drawing["lines"][0]["path"].endswith(f" {drawing['top']:g}")
