"""The papers' data sets: what they are, where they come from and what the papers do to them (catalogue.toml)."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray
from scipy import sparse

from ..costs import Costs
from ..validation.arrays import is_sparse
from ..validation.docstrings import documented
from ..validation.values import check_choice, invalid
from .dataset import READING, Dataset
from .fetch import DataFile, find
from .files import file_error, open_source
from .formats import FORMATS

_KNOWN = {
    "name": ("str", "What it is called."),
    "about": ("str", "What the paper did."),
    "rows": ("int", "How many rows."),
    "features": ("int or None", "How many columns."),
    "classes": ("mapping of str to int", "Rows of each class."),
    "papers": ("tuple of str", "The papers that use it."),
    "read": ("mapping", "Options for the reader."),
}


@documented(_KNOWN)
@dataclass(frozen=True)
class DatasetTask:
    """A paper's preparation of a data set.

    Parameters
    ----------
    positive : tuple of labels
        These labels become 1 and all others -1.
    merge : mapping of str to sequence of str
        Labels that get a new common name.
    files : tuple of str
        The files to take; all if empty.

    Examples
    --------
    >>> from steelyard import list_datasets
    >>> {d.name: [t.name for t in d.tasks] for d in list_datasets()}["covtype"]
    ['binary', 'cov1', 'cov2', 'cov3']
    """

    name: str
    about: str
    rows: int
    papers: tuple[str, ...] = ()
    classes: Mapping[str, int] = field(default_factory=dict)
    features: int | None = None
    files: tuple[str, ...] = ()
    read: Mapping[str, Any] = field(default_factory=dict)
    positive: tuple[Any, ...] = ()
    merge: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def labels(self, y: NDArray[Any]) -> NDArray[Any]:
        """The labels of the task.

        Parameters
        ----------
        y : ndarray of shape (n,)
            Labels of the data set.

        Returns
        -------
        ndarray of shape (n,)
            Labels of the task.
        """
        if self.positive:
            return np.where(np.isin(y, self.positive), 1, -1)
        if self.merge:
            renamed = {old: new for new, olds in self.merge.items() for old in olds}
            kinds, codes = np.unique(y, return_inverse=True)
            return np.array([renamed.get(kind, kind) for kind in kinds.tolist()])[codes]
        return y


@documented(_KNOWN)
@dataclass(frozen=True)
class DatasetInfo:
    """What the catalogue knows about a data set.

    Parameters
    ----------
    format : str
        Of its files, as :func:`read_table` calls it.
    target : str
        What the labels are.
    nominal : str
        How many of the columns are nominal.
    origin : str
        Where it comes from.
    files : tuple of DataFile
        Its files with their checksums and addresses.
    tasks : tuple of DatasetTask
        The papers' preparations of it.
    dense : bool
        Whether its sparse file is read as an array.
    nominal_features : tuple of str
        Columns of numbers that are categories.
    note : str
        How it differs from the papers' tables.
    no_address : str
        Why it cannot be downloaded.

    Examples
    --------
    >>> from steelyard import list_datasets
    >>> info = next(d for d in list_datasets() if d.name == "german")
    >>> info.rows, info.features, info.papers
    (1000, 24, ('000',))
    """

    name: str
    format: str
    rows: int
    features: int
    classes: Mapping[str, int]
    target: str
    nominal: str
    papers: tuple[str, ...]
    origin: str
    files: tuple[DataFile, ...]
    tasks: tuple[DatasetTask, ...] = ()
    read: Mapping[str, Any] = field(default_factory=dict)
    dense: bool = False
    nominal_features: tuple[str, ...] = ()
    note: str = ""
    no_address: str = ""

    def task(self, name: str) -> DatasetTask:
        """The task of this name.

        Parameters
        ----------
        name : str
            Name of a task.

        Returns
        -------
        DatasetTask
            The task.
        """
        check_choice(f"task of {self.name}", name, [t.name for t in self.tasks])
        return next(t for t in self.tasks if t.name == name)


def list_datasets() -> list[DatasetInfo]:
    """The data sets of the papers, in the order of the catalogue.

    Returns
    -------
    list of DatasetInfo
        Every data set of the catalogue, by name.

    Examples
    --------
    >>> [d.name for d in list_datasets() if "003" in d.papers]
    ['car', 'new-thyroid', 'nursery']
    """
    return list(_catalogue().values())


@documented(READING)
def load_dataset(
    name: str,
    *,
    task: str | None = None,
    download: bool = True,
    frame: str = "auto",
    dtype: DTypeLike = np.float64,
) -> Dataset:
    """Load a data set of the papers by name.

    Files are looked for in ``STEELYARD_DATA``, then in the user's cache, then at their public address (or under
    ``STEELYARD_MIRROR``), and held against the catalogue's checksums. The german credit data come with the library.

    Parameters
    ----------
    name : str
        See :func:`list_datasets`.
    task : str or None
        A paper's preparation, such as "cov1" of covtype; the data as they are if None.
    download : bool
        False to stay off the network.

    Returns
    -------
    Dataset
        Rows, labels and where they come from.

    Examples
    --------
    >>> load_dataset("german").counts
    {-1: 700, 1: 300}
    """
    info = dataset_info(name)
    chosen = None if task is None else info.task(task)
    wanted = [f for f in info.files if chosen is None or not chosen.files or f.path in chosen.files]
    parts = [_read(info, chosen, file, download, frame, dtype) for file in wanted]
    whole = parts[0] if len(parts) == 1 else _joined(parts)
    if chosen is not None and whole.y is not None:
        whole = replace(whole, y=chosen.labels(whole.y))
    about = [info.origin, info.note] if chosen is None else [info.origin, f"Task {chosen.name}: {chosen.about}"]
    title = name if task is None else f"{name}/{task}"
    return replace(whole, name=title, about=". ".join(text for text in about if text))


def fetch_dataset(name: str) -> list[str]:
    """Make sure that the files of a data set are on this machine and genuine; where they lie.

    Parameters
    ----------
    name : str
        A name that ``list_datasets`` knows.

    Returns
    -------
    list of Path
        Where the files lie.

    Examples
    --------
    >>> from pathlib import Path
    >>> [Path(path).name for path in fetch_dataset("german")]
    ['german.numer.gz']
    """
    return [str(find(file)) for file in dataset_info(name).files]


def load_orders(name: str) -> NDArray[np.int64]:
    """The row permutations behind a printed table, one a row: "german" or "w8a" of Table II in paper 000.

    Parameters
    ----------
    name : str
        A name that ``list_datasets`` knows.

    Returns
    -------
    ndarray
        One permutation of the rows for each run.

    Examples
    --------
    >>> load_orders("german").shape  # doctest: +SKIP
    (20, 1000)
    """
    orders = {entry["name"]: entry for entry in _read_catalogue()["orders"]}
    check_choice("name", name, list(orders))
    path = find(DataFile(**orders[name]["file"]))
    with open_source(path) as content:
        lines = [np.array(line.split(b","), dtype=np.int64) for line in content if line.strip()]
    for number, line in enumerate(lines, start=1):
        if not (np.bincount(line, minlength=len(lines[0])) == 1).all():
            raise file_error(str(path), number, "every row number once")
    return np.stack(lines)


def load_costs(name: str) -> Costs:
    """A published cost matrix C[true, predicted]: "kdd99" of the KDD Cup 1999, used by paper 002.

    Parameters
    ----------
    name : str
        A name that ``list_datasets`` knows.

    Returns
    -------
    Costs
        The published costs of the data set.

    Examples
    --------
    >>> load_costs("kdd99").matrix[:, 0].tolist()
    [0.0, 1.0, 2.0, 3.0, 4.0]
    """
    matrices = {entry["name"]: entry for entry in _read_catalogue()["costs"]}
    check_choice("name", name, list(matrices))
    return Costs.from_matrix(matrices[name]["matrix"], classes=matrices[name]["classes"])


def dataset_info(name: str) -> DatasetInfo:
    """The catalogue's entry of this name."""
    known = _catalogue()
    if name not in known:
        raise invalid("name", f"be one of {', '.join(known)}", name, "See list_datasets().")
    return known[name]


def _read(
    info: DatasetInfo, task: DatasetTask | None, file: DataFile, download: bool, frame: str, dtype: DTypeLike
) -> Dataset:
    options: dict[str, Any] = {**info.read, **(task.read if task else {}), "dtype": dtype}
    options |= {"n_features": info.features} if info.format == "libsvm" else {"frame": frame}
    rows = FORMATS[info.format].read(find(file, download=download), **options)
    return _dense(rows, info.nominal_features) if info.dense else rows


def _dense(rows: Dataset, nominal: Sequence[str]) -> Dataset:
    X = rows.X.toarray()
    features = tuple(f"x{j}" for j in range(1, X.shape[1] + 1))
    values = {name: tuple(f"{v:g}" for v in np.unique(X[:, features.index(name)])) for name in nominal}
    return replace(rows, X=X, features=features, nominal=values)


def _joined(parts: list[Dataset]) -> Dataset:
    rows = [part.X for part in parts]
    X = sparse.vstack(rows, format="csr") if is_sparse(rows[0]) else np.vstack(rows)
    return replace(parts[0], X=X, y=np.concatenate([part.y for part in parts if part.y is not None]))


@cache
def _read_catalogue() -> dict[str, Any]:
    return tomllib.loads(files(__package__).joinpath("catalogue.toml").read_text(encoding="utf-8"))


@cache
def _catalogue() -> dict[str, DatasetInfo]:
    return {entry["name"]: _info(dict(entry)) for entry in _read_catalogue()["dataset"]}


def _info(entry: dict[str, Any]) -> DatasetInfo:
    data_files = tuple(DataFile(**file) for file in entry.pop("file"))
    tasks = tuple(DatasetTask(**_tuples(task)) for task in entry.pop("task", []))
    names = entry.pop("names", None)
    read = {**entry.pop("read", {}), **({"names": names} if names else {})}
    return DatasetInfo(**_tuples(entry), files=data_files, tasks=tasks, read=read)


def _tuples(entry: dict[str, Any]) -> dict[str, Any]:
    return {key: tuple(value) if isinstance(value, list) else value for key, value in entry.items()}
