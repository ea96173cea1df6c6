"""Costs stated as text, TOML and columns of a frame."""

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from steelyard import Costs, CostsError, ExampleCosts
from steelyard.costs.spec import CostSpec

DATA = {"amount": [10.0, 250.0, 3.0], "fee": [2, 2, 5], "name": ["x", "y", "z"], "hole": [1.0, None, 2.0]}


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_numbers_and_columns_mix(make) -> None:  # type: ignore[no-untyped-def]
    costs = Costs.from_columns(
        make(DATA), fn="amount", fp="fee", tp=-1, classes=["good", "bad"], positive="bad", currency="EUR"
    )
    assert isinstance(costs, ExampleCosts)
    assert costs.per_example(["bad", "good", "bad"]).tolist() == [[10, -1], [0, 2], [3, -1]]
    assert costs.currency == "EUR"
    priced = Costs.from_columns(make(DATA), fn="amount", fp=1, abstain="fee", classes=["good", "bad"])
    assert priced.abstain.tolist() == [2, 2, 5]
    assert Costs.from_columns(make(DATA), fn=5, fp=1) == Costs.binary(fn=5, fp=1)


@pytest.mark.parametrize(
    ("stated", "words"),
    [
        (
            {"fn": "amont", "fp": 1},
            r"fn must be a number or one of the columns 'amount', 'fee', 'name', 'hole'; got 'amont'",
        ),
        ({"fn": "hole", "fp": 1}, r"cost column 'hole' must hold finite numbers; got nan. See row 1"),
        ({"fn": 1, "fp": "name"}, r"cost column 'name' must hold numbers; got 'x'. See row 0"),
    ],
)
def test_columns_that_cannot_be_costs(stated, words) -> None:  # type: ignore[no-untyped-def]
    for make in (pd.DataFrame, pl.DataFrame):
        with pytest.raises(CostsError, match=words):
            Costs.from_columns(make(DATA), **stated)


@pytest.mark.parametrize(
    ("text", "matrix"),
    [
        ("fn=5,fp=1", [[0, 1], [5, 0]]),
        ("FN=8, fp=1, Tp=-3", [[0, 1], [8, -3]]),
        ("fp=1,fn=0", [[0, 1], [0, 0]]),
        ("8:1", [[0, 1], [8, 0]]),
        ("fn=1e3,fp=.5,tn=-2", [[-2, 0.5], [1000, 0]]),
    ],
)
def test_text(text, matrix) -> None:  # type: ignore[no-untyped-def]
    assert CostSpec.parse(text).costs(classes=["good", "bad"]).matrix.tolist() == matrix


def test_text_may_name_columns_and_price_abstaining() -> None:
    spec = CostSpec.parse("fn=amount,fp=20,abstain=2.5")
    assert spec.columns == {"fn": "amount"}
    assert spec.costs(pd.DataFrame(DATA)).abstain == 2.5
    with pytest.raises(CostsError, match="come with the data whose columns they name; got 'amount'"):
        spec.costs()
    with pytest.raises(CostsError, match="be a frame with the column 'amount' of costs; got 'list'"):
        spec.costs([[1.0]])  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("fn=8", "state both fn and fp; fp is missing"),
        ("fp=8", "state both fn and fp; fn is missing"),
        ("fn=5,fn=7,fp=1", "state fn once"),
        ("miss=5,fp=1", "look like fn=8,fp=1"),
        ("fn=,fp=1", "look like fn=8,fp=1"),
        ("8:x", "look like fn=8,fp=1"),
        ("8", "look like fn=8,fp=1"),
    ],
)
def test_text_that_is_not_costs(text, words) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(CostsError, match=words):
        CostSpec.parse(text)


def test_columns_given_beside_the_text_may_have_any_name() -> None:
    spec = CostSpec.parse("fp=20, currency=EUR", {"fn": "loan, amount=x"})
    assert (spec.fn, spec.fp, spec.currency) == ("loan, amount=x", 20, "EUR")
    assert CostSpec.parse("", {"fn": "a", "fp": "b"}).columns == {"fn": "a", "fp": "b"}
    for text in ("8:1", "fn=5,fp=1"):
        with pytest.raises(CostsError, match="leave out fn, which a column gives"):
            CostSpec.parse(text, {"fn": "amount"})
    with pytest.raises(CostsError, match="fp is missing; got \"fn from column 'amount'\""):
        CostSpec.parse("", {"fn": "amount"})


def test_means_stand_in_for_columns() -> None:
    spec = CostSpec(fn="amount", fp=20, tp="fee", abstain="fee", positive="bad")
    typical = Costs.binary(fn=7, fp=20, tp=2, classes=["bad", "good"], positive="bad").with_abstain(3)
    assert spec.mean(typical) == CostSpec(fn=7, fp=20, tp=2, abstain=3, positive="bad")


def test_toml_names_columns(tmp_path) -> None:  # type: ignore[no-untyped-def]
    path = tmp_path / "costs.toml"
    path.write_text('[costs]\nfn = "amount"\nfp = 20\ncurrency = "EUR"\nabstain = 2.5\n')
    costs = Costs.from_file(path, pd.DataFrame(DATA))
    assert costs.per_example([1, 0, 1])[:, 0].tolist() == [10, 0, 3]
    assert (costs.currency, costs.abstain) == ("EUR", 2.5)
    with pytest.raises(CostsError, match="come with the data whose columns they name"):
        Costs.from_file(path)
    path.write_text('currency = "EUR"\npositive = "bad"\nabstain = 1\n[bad]\ngood = 5\n[good]\nbad = -1\n')
    matrix = Costs.from_file(path)
    assert matrix.positive == "bad"
    assert matrix.matrix.tolist() == [[0, 5], [-1, 0]]
    assert matrix.abstain == 1


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("fn = 5", "must state fn and fp"),
        ("fn = 5\nfp = 1\nmiss = 3", "must state fn and fp"),
        ("fn = 5\nfp = true", "fp must be a number or the name of a column; got True"),
        ("fn = [5]\nfp = 1", r"fn must be a number or the name of a column; got \[5\]"),
        ("fn = 5\nfp = 1\n[bad]\ngood = 1", "must state fn and fp"),
        ("costs = 3", "must hold a table of costs; got 3"),
        ("", "must state fn and fp .* got nothing"),
        ("currency = 3\nfn = 5\nfp = 1", "currency must be a text"),
    ],
)
def test_toml_that_is_not_costs(tmp_path, text, words) -> None:  # type: ignore[no-untyped-def]
    path = tmp_path / "costs.toml"
    path.write_text(text)
    with pytest.raises(CostsError, match=words):
        Costs.from_file(path)


def test_bytes_that_are_no_text(tmp_path) -> None:  # type: ignore[no-untyped-def]
    path = tmp_path / "costs.csv"
    path.write_bytes(b"\xff\xfe\x00bad")
    with pytest.raises(CostsError, match="must be UTF-8 text"):
        Costs.from_file(path)


def test_a_negative_cell_in_a_file_is_a_gain(tmp_path) -> None:  # type: ignore[no-untyped-def]
    path = tmp_path / "gain.csv"
    path.write_text("truth,good,bad\ngood,0,1\nbad,8,-3\n")
    assert Costs.from_file(path).matrix.tolist() == [[0, 1], [8, -3]]
