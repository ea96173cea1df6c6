"""Rows as learners read them: text hashed, numbers scaled by a pass before, costs of single rows from columns."""

import itertools
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from sklearn.linear_model import SGDClassifier

from steelyard import AROW, CSOGD2, Costs, InvalidInputError, OnlineClassifier, RecordHasher, mean_cost, total_cost
from steelyard.errors import CostsError, DataFileError
from steelyard.scale import fit_parts, predict_parts, score_parts
from steelyard.scale.rows import merge_sums

pytestmark = pytest.mark.filterwarnings("ignore:lanes of about")  # these are short, to be quick
RNG = np.random.default_rng(11)
N = 180
NUMBERS = RNG.normal(3.0, [1.0, 40.0], size=(N, 2))
TOWN = RNG.choice(["Ulm", "Bern", "Graz"], N)
Y = np.where(NUMBERS[:, 0] + (TOWN == "Ulm") + 0.3 * RNG.normal(size=N) > 3.3, "yes", "no")
AMOUNT = np.round(RNG.uniform(1, 50, N), 2)
CUTS = [0, 50, 51, 120, N]


def written(folder: Path, **columns: Any) -> Path:
    folder.mkdir()
    for i, (a, b) in enumerate(itertools.pairwise(CUTS)):
        pd.DataFrame({name: cells[a:b] for name, cells in columns.items()}).to_csv(folder / f"p{i}.csv", index=False)
    return folder


@pytest.fixture
def mixed(tmp_path: Path) -> Path:
    return written(tmp_path / "mixed", a=NUMBERS[:, 0], town=TOWN, b=NUMBERS[:, 1], y=Y)


@pytest.fixture
def priced(tmp_path: Path) -> Path:
    return written(tmp_path / "priced", a=NUMBERS[:, 0], b=NUMBERS[:, 1], amount=AMOUNT, y=Y)


def weights(model: Any) -> bytes:
    return bytes(model.coef_.tobytes() + model.intercept_.tobytes())


def test_text_is_hashed_and_the_model_reads_it_again(mixed: Path, tmp_path: Path) -> None:
    model = OnlineClassifier(AROW(), fit_intercept=True)
    found = fit_parts(model, mixed, target="y", hash_bits=8, rows=7, progress=False)
    frame = pd.DataFrame({"a": NUMBERS[:, 0], "town": TOWN, "b": NUMBERS[:, 1]})
    hashed = RecordHasher(2**8).transform(frame)
    expected = OnlineClassifier(AROW(), fit_intercept=True).fit(hashed, Y)
    assert weights(found) == weights(expected)
    assert fit_parts(model, mixed, target="y", progress=False).n_features_in_ == 2**18  # without being told
    with ThreadPoolExecutor(2) as pool:
        predict_parts(found, mixed, tmp_path / "out", executor=pool, rows=9)
        table = score_parts(found, mixed, [mean_cost], target="y", executor=pool, replicates=20)
    told = [v for i in range(4) for v in pq.read_table(tmp_path / "out" / f"p{i}.parquet")["decision"].to_pylist()]
    assert told == expected.predict(hashed).tolist()
    assert table["mean_cost"].value == pytest.approx(float(np.mean(expected.predict(hashed) != Y)))


def test_hashed_lanes_have_the_same_bits_on_any_executor(mixed: Path) -> None:
    given: Any = {"target": "y", "lanes": 3, "hash_bits": 8, "scale": "standard", "passes": 2, "progress": False}
    bits = set()
    for workers, rows in ((1, 1000), (3, 11)):
        with ThreadPoolExecutor(workers) as pool:
            bits.add(weights(fit_parts(OnlineClassifier(AROW()), mixed, executor=pool, rows=rows, **given)))
    assert len(bits) == 1


def test_numbers_are_scaled_by_sums_over_all_parts(priced: Path, tmp_path: Path) -> None:
    scaled = (NUMBERS - NUMBERS.mean(axis=0)) / NUMBERS.std(axis=0)
    expected = OnlineClassifier(AROW()).fit(scaled, Y)
    given: Any = {"target": "y", "scale": "standard", "drop": ["amount"], "progress": False}
    alone = fit_parts(OnlineClassifier(AROW()), priced, **given)
    np.testing.assert_allclose(alone.coef_, expected.coef_, rtol=1e-9)
    with ThreadPoolExecutor(2) as pool:
        found = fit_parts(OnlineClassifier(AROW()), priced, work=tmp_path / "w", executor=pool, rows=13, **given)
        again = fit_parts(OnlineClassifier(AROW()), priced, work=tmp_path / "w", executor=pool, rows=13, **given)
    assert weights(found) == weights(alone) == weights(again)
    np.testing.assert_array_equal(found.encoder_.scaler.mean_, alone.encoder_.scaler.mean_)
    (priced / "p1.csv").write_text("a,b,amount,y\n,,1,yes\n")  # missing cells become the mean
    missing = fit_parts(OnlineClassifier(AROW()), priced, **given)
    kept = np.r_[0:50, 51:N]
    np.testing.assert_allclose(missing.encoder_.scaler.mean_, NUMBERS[kept].mean(axis=0))
    other = fit_parts(SGDClassifier(shuffle=False, random_state=0), priced, **given)
    np.testing.assert_array_equal(other.encoder_.scaler.mean_, missing.encoder_.scaler.mean_)


def test_text_alone_has_nothing_to_scale(mixed: Path) -> None:
    given: Any = {"target": "y", "drop": ["a", "b"], "hash_bits": 6, "progress": False}
    found = fit_parts(OnlineClassifier(AROW()), mixed, scale="standard", **given)
    assert weights(found) == weights(fit_parts(OnlineClassifier(AROW()), mixed, **given))


def test_a_damaged_part_is_left_out_of_the_scale_too(priced: Path) -> None:
    (priced / "p1.csv").write_text("a,b,amount,y\n1,2,3\n")
    given: Any = {"target": "y", "scale": "standard", "classes": ["no", "yes"], "progress": False}
    with pytest.raises(DataFileError, match=r"p1\.csv"):
        fit_parts(OnlineClassifier(AROW()), priced, **given)
    with pytest.warns(UserWarning, match="left out"):
        found = fit_parts(OnlineClassifier(AROW()), priced, on_bad_part="skip", **given)
    kept = np.r_[0:50, 51:N]
    np.testing.assert_allclose(found.encoder_.scaler.mean_[:2], NUMBERS[kept].mean(axis=0))


def test_sums_of_parts_are_those_of_all_rows() -> None:
    rows = np.concatenate([RNG.normal(1e6, 1.0, size=(1000, 2)), RNG.normal(-1e6, 3.0, size=(10, 2))])
    cut = [rows[:1], rows[1:700], rows[700:]]
    found = merge_sums([[np.full(2, float(len(r))), r.mean(0), ((r - r.mean(0)) ** 2).sum(0)] for r in cut])
    np.testing.assert_allclose(found.mean_, rows.mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(found.squares_, ((rows - rows.mean(0)) ** 2).sum(0), rtol=1e-9)
    with pytest.raises(InvalidInputError, match="parts must hold at least one row"):
        merge_sums([])


@pytest.mark.parametrize("lanes", [1, 3])
def test_costs_of_single_rows_come_from_columns(priced: Path, lanes: int) -> None:
    costs = Costs.binary(fn=AMOUNT, fp=2.0, classes=["no", "yes"])
    found: Any
    with ThreadPoolExecutor(2) as pool:
        given: Any = {"target": "y", "lanes": lanes, "executor": pool, "rows": 17, "progress": False}
        found = fit_parts(OnlineClassifier(AROW()), priced, costs="fn=amount,fp=2", **given)
        plain = fit_parts(OnlineClassifier(AROW()), priced, costs="fn=3,fp=2", drop=["amount"], **given)
    assert found.n_features_in_ == 2
    assert weights(found) != weights(plain)
    if lanes == 1:
        assert weights(found) == weights(OnlineClassifier(AROW()).fit(NUMBERS, Y, costs=costs))
        assert weights(plain) == weights(OnlineClassifier(AROW(), costs=Costs.binary(fn=3, fp=2)).fit(NUMBERS, Y))
    with ThreadPoolExecutor(2) as pool:
        given = {"target": "y", "executor": pool, "rows": 19, "replicates": 50}
        table = score_parts(found, priced, [mean_cost, total_cost], costs="fn=amount,fp=2", **given)
        one = score_parts(found, priced, [mean_cost, total_cost], costs="fn=amount,fp=2", **{**given, "rows": 1000})
    answers = found.predict(NUMBERS)
    assert table["total_cost"].value == pytest.approx(total_cost(Y, answers, costs=costs), rel=1e-13)
    assert table["mean_cost"].value == pytest.approx(mean_cost(Y, answers, costs=costs), rel=1e-13)
    assert table["mean_cost"].low < table["mean_cost"].value < table["mean_cost"].high
    assert dict(one) == dict(table)


def test_row_costs_that_cannot_be_used_are_named(priced: Path) -> None:
    for costs, model, kind, words in [
        ("fn=nothing,fp=1", OnlineClassifier(), InvalidInputError, "costs must name columns of the parts"),
        ("fn=amount,fp=1,abstain=2", OnlineClassifier(), InvalidInputError, "know no abstaining"),
        ("fn=amount", OnlineClassifier(), CostsError, "state both fn and fp"),
        ("fn=amount,fp=1", SGDClassifier(), InvalidInputError, "costs must name no columns for SGDClassifier"),
    ]:
        with pytest.raises(kind, match=words):
            fit_parts(model, priced, target="y", costs=costs)
    with pytest.raises(InvalidInputError, match="scale must be one of"):
        fit_parts(OnlineClassifier(CSOGD2()), priced, target="y", scale="unit")
    (priced / "p2.csv").write_text("a,b,amount,y\n1,2,,yes\n")
    with pytest.raises(CostsError, match=r"cost column 'amount' must hold finite numbers.*p2\.csv"):
        fit_parts(OnlineClassifier(), priced, target="y", costs="fn=amount,fp=1")
