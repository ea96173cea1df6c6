"""The page of a comparison in Chromium: what it shows at other prices is what Python makes of the same bins."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import steelyard
from steelyard import Costs
from steelyard.comparison.page.what_if import PricedCandidate, gap_error, threshold, what_if, word
from steelyard.report.amounts import decimals_for, money, percent, rounded

Browse = Callable[[list[dict[str, Any]]], list[dict[str, Any]]]
EVIL = "</script><script>alert(1)</script><img src=x onerror=alert(1)>"


def made(path: Path, costs: Any, *, classes: tuple[str, ...] = ("good", "bad"), n: int = 400, **settings: Any) -> Path:
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.normal(size=n), "b": rng.normal(size=n), "kind": rng.choice(["x", "y"], n)})
    cuts = np.quantile(X["a"], np.linspace(0, 1, len(classes) + 1)[1:-1] ** 0.5)
    y = np.array(classes)[np.searchsorted(cuts, X["a"] + 0.8 * rng.normal(size=n))]
    names = ["logistic regression, C=1", "logistic regression, C=0.03"]
    result = steelyard.compare(X, y, costs=costs, candidates=names, cv=3, segments=["kind"], **settings)
    return Path(result.report(path))


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("pages")
    rng = np.random.default_rng(1)
    amount, weights = rng.lognormal(3, 1, 400), rng.lognormal(0, 1, 400)
    two = {"classes": ["good", "bad"], "positive": "bad", "currency": "EUR"}
    three = np.array([[0.0, 1, 4], [2, 0, 1], [9, 3, 0]])
    evil = Costs.binary(fn=5, fp=1, classes=["good", EVIL], positive=EVIL)
    names, turned = ("low", "middle", "top"), [2, 0, 1]
    return {
        "two": made(folder / "two.html", Costs.binary(fn=5, fp=1, **two)),
        "rows": made(folder / "rows.html", Costs.binary(fn=amount, fp=10.0, **two)),
        "weights": made(folder / "weights.html", Costs.binary(fn=5, fp=1, **two), sample_weight=weights),
        "both": made(folder / "both.html", Costs.binary(fn=amount, fp=10.0, **two), sample_weight=weights),
        "three": made(
            folder / "three.html",
            Costs.from_matrix(three[np.ix_(turned, turned)], classes=("top", "low", "middle")),
            classes=names,
        ),
        "evil": made(folder / "evil.html", evil, classes=("good", EVIL)),
    }


def embedded(path: Path) -> dict[str, Any]:
    found = re.search(r'<script type="application/json" id="embedded">(.*?)</script>', path.read_text(), re.DOTALL)
    assert found is not None
    data: dict[str, Any] = json.loads(found[1])["data"]
    return data


def expected_texts(data: dict[str, Any], prices: Any, abstain: float | None, capacity: int | None) -> dict[str, Any]:
    """What the page must show, by Python."""
    answer = what_if(data, prices, abstain=abstain, capacity=capacity)
    mine, rows, currency = answer.entries[answer.chosen], data["rows"], data["currency"]
    texts = {
        "out-cost": money(mine.mean, mine.error, currency, extra=1),
        "out-error": rounded(mine.error, decimals_for(mine.error) + 1),
        "out-total": money(mine.total, mine.error * rows, currency),
        "out-referred": f"{rounded(mine.referred, 0)} ({percent(mine.referred / rows, rows)})",
        "out-next": money(mine.next_place, mine.error, currency, extra=1),
    }
    if data["positive"] is not None:
        texts["out-alarms"] = f"{rounded(mine.alarms, 0)} ({percent(mine.alarms / rows, rows)})"
        if not data["row_costs"]:
            at = threshold(prices, data["positive"])
            texts["out-threshold"] = "–" if at is None else rounded(at, 3)
    return texts | {
        "ranking": ranking(data, answer.entries),
        "verdict": answer.word,
        "confusion": confusion(data, mine, abstain),
    }


def ranking(data: dict[str, Any], found: list[PricedCandidate]) -> list[list[str]]:
    order = sorted(range(len(found)), key=lambda j: (found[j].mean, j))
    best = order[0]
    lines = []
    for j in order:
        error = gap_error(found[j], found[best], data["likeness"][j][best])
        said = "–" if j == best else word(found[j].mean - found[best].mean, error, data["fewest"])
        sure = f"{said} costlier" if said in ("clearly", "probably") else said
        cost = money(found[j].mean, found[j].error, extra=1)
        lines.append(
            [data["entries"][j]["name"], cost, rounded(found[j].error, decimals_for(found[j].error) + 1), sure]
        )
    return lines


def confusion(data: dict[str, Any], mine: PricedCandidate, abstain: float | None) -> list[list[list[str]]]:
    spread = max(abs(mine.total), 1e-9) / 200
    answers = data["order"] + ([] if abstain is None else [len(data["classes"])])
    return [
        [[data["classes"][i]]]
        + [
            [money(mine.money[i][j], spread, data["currency"]), f"{count} row" + "s" * (count != "1")]
            for j in answers
            for count in [rounded(mine.counts[i][j], 0)]
        ]
        for i in data["order"]
    ]


SETTINGS: list[tuple[str, dict[str, str], float | None, int | None]] = [
    ("two", {}, None, None),
    ("two", {"price-1-0": "20", "price-0-1": "1.5"}, None, None),
    ("two", {"price-1-0": "8", "price-1-1": "-3", "price-0-0": "-0.25"}, None, None),
    ("two", {"price-1-0": "0.37"}, None, None),
    ("two", {"abstain": "0.3"}, 0.3, None),
    ("two", {"capacity": "37"}, None, 37),
    ("two", {"price-1-0": "12.5", "abstain": "0.45", "capacity": "60"}, 0.45, 60),
    ("two", {"price-1-0": "1000000", "price-0-1": "0.001"}, None, None),
    ("rows", {}, None, None),
    ("rows", {"price-1-0": "2.5", "capacity": "80"}, None, 80),
    ("rows", {"price-0-1": "3", "abstain": "4"}, 4.0, None),
    ("weights", {}, None, None),
    ("weights", {"price-1-0": "3", "abstain": "0.3", "capacity": "50"}, 0.3, 50),
    ("both", {}, None, None),
    ("both", {"price-1-0": "2.5", "abstain": "4", "capacity": "80"}, 4.0, 80),
    ("three", {}, None, None),
    ("three", {"price-2-0": "30", "price-0-2": "0.5", "abstain": "1.25"}, 1.25, None),
    ("evil", {"price-1-0": "9"}, None, None),
]


def test_each_shown_figure_is_the_one_of_python_to_the_printed_digit(browse: Browse, pages: dict[str, Path]) -> None:
    for name, fields, _, _ in SETTINGS:  # cells are by position; the positive class of two may come first
        assert set(fields) <= {"abstain", "capacity"} | {f"price-{i}-{j}" for i in range(3) for j in range(3)}, name
    shown = browse([{"file": str(pages[name]), "set": swapped(embedded(pages[name]), f)} for name, f, _, _ in SETTINGS])
    for (name, fields, abstain, capacity), seen in zip(SETTINGS, shown, strict=True):
        data = embedded(pages[name])
        prices = [list(row) for row in data["prices"]]
        for cell, value in swapped(data, fields).items():
            if cell.startswith("price"):
                _, i, j = cell.split("-")
                prices[int(i)][int(j)] = float(value)
        wanted = expected_texts(data, prices, abstain, capacity)
        assert [[" ".join(c[:1]) if k == 0 else c[0] for k, c in enumerate(r)] for r in seen["ranking"]] == wanted.pop(
            "ranking"
        )
        assert seen["confusion"] == wanted.pop("confusion"), (name, fields)
        assert wanted.pop("verdict") in seen["texts"]["verdict"]
        assert {key: seen["texts"][key] for key in wanted} == wanted, (name, fields)
        assert seen["said"] == []
        assert seen["asked"] == []


def swapped(data: dict[str, Any], fields: dict[str, str]) -> dict[str, str]:
    """Cells written for a positive class in the second place, where it is in the first."""
    if data["positive"] != 0:
        return fields
    turned = {f"price-{i}-{j}": f"price-{1 - i}-{1 - j}" for i in range(2) for j in range(2)}
    return {turned.get(cell, cell): value for cell, value in fields.items()}


def test_no_page_scrolls_sideways_or_speaks_to_anyone(browse: Browse, pages: dict[str, Path]) -> None:
    tasks = [
        {"file": str(path), "width": width, "scheme": scheme}
        for path in pages.values()
        for width, scheme in ((1200, "light"), (390, "light"), (390, "dark"))
    ]
    for task, seen in zip(tasks, browse(tasks), strict=True):
        assert seen["wide"] == task["width"], task
        assert (seen["asked"], seen["said"], seen["images"], seen["unlabelled"]) == ([], [], 0, 0)
        assert seen["small"] == []
        assert seen["plots"] >= 2


def test_everybody_can_read_the_page(visit_pages: Callable[[Any], Any], pages: dict[str, Path]) -> None:
    for name in ("two", "three"):
        folder = {"url": f"file://{pages[name].parent}", "visits": []}
        for width, scheme in ((1200, "light"), (390, "dark")):
            steps = [
                ["goto", f"/{name}.html"],
                ["axe"],
                ["eval", "[...document.querySelectorAll('details')].map((d) => d.open = true), null"],
                ["axe"],
            ]
            folder["visits"].append({"width": width, "scheme": scheme, "steps": steps})
        for seen in visit_pages(folder):
            assert [result for result in seen["results"] if result] == []
            assert (seen["said"], seen["violations"]) == ([], [])


def test_without_script_all_numbers_and_charts_show(browse: Browse, pages: dict[str, Path]) -> None:
    data = embedded(pages["two"])
    (seen,) = browse([{"file": str(pages["two"]), "script": False}])
    wanted = expected_texts(data, data["prices"], None, None)
    assert wanted["out-cost"] in pages["two"].read_text()
    assert seen["said"] == []
    text = pages["two"].read_text()
    assert text.count('<svg class="chart"') == 3
    assert "Prices can be changed where scripts may run" in text


def test_the_address_keeps_the_prices_and_a_button_returns_to_the_given_ones(
    browse: Browse, pages: dict[str, Path]
) -> None:
    file, data = str(pages["two"]), embedded(pages["two"])
    cell = f"price-{data['positive']}-{1 - data['positive']}"
    first, sent, back, slid, keyed = browse(
        [
            {"file": file, "set": {cell: "11", "capacity": "50"}},
            {"file": file, "hash": f"#what-if&{cell}=11&capacity=50&evil=1"},
            {"file": file, "hash": f"#what-if&{cell}=11", "reset": True},
            {"file": file, "set": {"ratio": "100"}},
            {"file": file, "set": {cell: "11"}, "keys": ["Escape"]},
        ]
    )
    assert first["hash"] == f"#what-if&{cell}=11&capacity=50"
    assert first["texts"] == sent["texts"]
    given_prices = expected_texts(data, data["prices"], None, None)
    assert back["texts"]["out-cost"] == keyed["texts"]["out-cost"] == given_prices["out-cost"]
    costlier = [list(row) for row in data["prices"]]
    costlier[data["positive"]][1 - data["positive"]] = 80.0
    assert slid["texts"]["out-cost"] == expected_texts(data, costlier, None, None)["out-cost"]


def test_a_forwarded_link_shows_what_its_sender_saw(browse: Browse, pages: dict[str, Path]) -> None:
    """Its prices are in sight, alone, and what was cut off on the way does not stop the page."""
    file, data = str(pages["two"]), embedded(pages["two"])
    cell = f"price-{data['positive']}-{1 - data['positive']}"
    other = f"price-{1 - data['positive']}-{data['positive']}"
    plain, sent, second, cut = browse(
        [
            {"file": file, "width": 390},
            {"file": file, "width": 390, "hash": f"#what-if&{cell}=11"},
            {"file": file, "width": 390, "hash": f"#what-if&{other}=3&capacity=9", "then": [f"#what-if&{cell}=11"]},
            {"file": file, "width": 390, "hash": f"#what-if&{cell}=11&capacity=%E2%8"},
        ]
    )
    assert plain["levers"] > 300
    assert abs(sent["levers"]) <= 1
    assert sent["texts"] == second["texts"] == cut["texts"]
    assert sent["texts"] != plain["texts"]
    assert second["hash"] == f"#what-if&{cell}=11"
    assert (second["said"], cut["said"]) == ([], [])


def test_prices_of_millions_stand_in_their_fields_whole(tmp_path: Path, browse: Browse) -> None:
    page = made(tmp_path / "dear.html", Costs.binary(fn=1234567.25, fp=1, classes=["good", "bad"], positive="bad"))
    data = embedded(page)
    (seen,) = browse([{"file": str(page)}])
    assert seen["texts"]["out-cost"] == expected_texts(data, data["prices"], None, None)["out-cost"]
    assert 'value="1234567.25"' in page.read_text()


def test_print_is_short_and_begins_with_the_decision(browse: Browse, pages: dict[str, Path]) -> None:
    (seen,) = browse([{"file": str(pages["two"]), "pdf": True}])
    assert 2 <= seen["pages"] <= 6
