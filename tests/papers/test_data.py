"""Every data set of the catalogue, read from its files, has the rows, features and classes it should have."""

import csv
import os
import tomllib
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from steelyard import Costs, list_datasets, load_costs, load_dataset, load_orders

FOLDER = os.environ.get("STEELYARD_DATA")
pytestmark = [pytest.mark.data, pytest.mark.skipif(not FOLDER, reason="STEELYARD_DATA is not set")]
MANIFEST = Path(FOLDER or ".") / "MANIFEST.toml"
LARGE = {"covtype", "kdd99-10pct", "reuters-money-fx"}
CASES = [(info.name, task) for info in list_datasets() for task in (None, *(t.name for t in info.tasks))]
INFO = {info.name: info for info in list_datasets()}


def label(text: str) -> int | str:
    try:
        return int(text)
    except ValueError:
        return text


def marked(name: str, task: str | None) -> object:
    slow = name in LARGE and (task is None or name == "covtype")
    return pytest.param(name, task, id=f"{name}-{task}", marks=[pytest.mark.slow] if slow else [])


@pytest.mark.parametrize(("name", "task"), [marked(name, task) for name, task in CASES])
def test_counts(name: str, task: str | None) -> None:
    info = INFO[name]
    expected = info if task is None else info.task(task)
    rows = load_dataset(name, task=task, download=False)
    assert rows.X.shape == (expected.rows, expected.features or info.features)
    assert len(rows.y) == expected.rows
    if expected.classes:
        assert rows.counts == {label(k): n for k, n in expected.classes.items()}


@pytest.mark.skipif(not MANIFEST.exists(), reason="the data folder has no MANIFEST.toml")
def test_the_catalogue_is_the_manifest() -> None:
    manifest = {entry["name"]: entry for entry in tomllib.loads(MANIFEST.read_text())["dataset"]}
    assert set(manifest) == set(INFO)
    for name, entry in manifest.items():
        info = INFO[name]
        assert (info.rows, info.features, list(info.papers)) == (entry["rows"], entry["features"], entry["papers"])
        assert {label(k): n for k, n in info.classes.items()} == {label(k): n for k, n in entry["classes"].items()}
        files = [(f.path, f.sha256, f.bytes, f.rows) for f in info.files]
        assert files == [(f["path"], f["sha256"], f["bytes"], f["rows"]) for f in entry["file"]]


def test_breast_cancer_keeps_nominal_columns_and_missing_values() -> None:
    rows = load_dataset("breast-cancer")
    assert len(rows.nominal) == 9
    assert rows.X.isna().any(axis=1).sum() == 9
    assert rows.nominal["menopause"] == ("lt40", "ge40", "premeno")
    assert not load_dataset("breast-cancer", task="complete").X.isna().any(axis=None)


def test_car_keeps_the_declared_order_of_its_values() -> None:
    assert load_dataset("car").nominal["Buying"] == ("vhigh", "high", "med", "low")


def test_w8a_is_sparse_and_has_rows_without_features() -> None:
    X = load_dataset("w8a").X
    assert sparse.issparse(X)
    assert (np.diff(X.indptr) == 0).sum() > 0
    assert set(X.data) == {1.0}
    train = load_dataset("w8a", task="train")
    assert (X[: len(train.y)] != train.X).nnz == 0


def test_vowel_formants() -> None:
    rows = load_dataset("vowel", task="formants")
    assert rows.features == tuple(f"F{i}" for i in range(10))
    assert set(load_dataset("vowel").nominal) == {"TT", "SpeakerNumber", "Sex"}


@pytest.mark.parametrize(("name", "rows"), [("german", 1000), ("w8a", 64700)])
def test_orders_are_permutations(name: str, rows: int) -> None:
    orders = load_orders(name)
    assert orders.shape == (20, rows)
    assert (np.sort(orders, axis=1) == np.arange(rows)).all()


def test_kdd_costs_and_categories_are_those_of_the_contest() -> None:
    published = Costs.from_file(Path(FOLDER or ".") / "kdd99.costs.csv")
    ours = load_costs("kdd99")
    assert (ours.matrix == published.matrix).all()
    assert ours.classes.tolist() == published.classes.tolist()
    with open(Path(FOLDER or ".") / "kdd99.categories.csv", newline="") as file:
        categories = {row["label"] + ".": row["category"] for row in csv.DictReader(file)}
    merge = INFO["kdd99-10pct"].task("categories").merge
    assert {old: new for new, olds in merge.items() for old in olds} == categories
