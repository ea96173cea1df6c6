"""What a kind may say of its state: every parameter and array of a node is asked for by name, checked, and used up.

Tested in ``tests/unit/files/test_atomic.py``.
"""

from __future__ import annotations

import inspect
import math
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from ..errors import StateError
from .container import Node

__all__ = ["LARGEST", "MOST_FEATURES", "Fields", "Labels", "Room", "plain_settings", "write_labels", "write_rows"]

MOST_FEATURES = 1 << 24  # columns a model may claim to read: buffers of that width are made for it
MOST_LABELS = 1 << 20  # of one field; their values are looked at one by one
MOST_OBJECTS = 1 << 27  # bytes of all texts and labels of a file as Python has them
_TEXT, _NUMBER = 64, 32  # bytes that a text, beside its characters, and a number take in a list
_BLOCK = 1 << 20  # cells looked at at once: a truth for each cell of a large array would take as much as the array
LARGEST = 1e150  # of a number that is computed with: sums of products of two of them stay finite
_LONGEST = 1 << 16  # characters of a text among the parameters
Size = int | str | None
Labels = NDArray[Any]


class Room:
    """What the objects made of one file may still take: a text of a few bytes is a far larger object."""

    def __init__(self, left: int = MOST_OBJECTS) -> None:
        self.left = left

    def take(self, n_bytes: int) -> bool:
        """Whether there was so much left, which is now taken."""
        self.left -= n_bytes
        return self.left >= 0


class Fields:
    """The parameters and arrays of one node. Sizes that bear the same name must be equal.

    Parameters
    ----------
    node : Node
        What a file holds.
    room : Room, optional
        What all nodes of the file share.
    """

    def __init__(self, node: Node, room: Room | None = None) -> None:
        self.kind = node.kind
        self._room = Room() if room is None else room
        self.parts = len(node.parts)
        self._params, self._arrays = dict(node.params), dict(node.arrays)
        self.sizes: dict[str, int] = {}

    def refuse(self, name: str, rule: str, got: Any) -> NoReturn:
        """Raise about a field of this kind."""
        raise StateError(f"must hold {name} of {self.kind} that {rule}; got {str(got)[:80]!r}.")

    # -- parameters --------------------------------------------------------------------------------------------------

    def has(self, name: str) -> bool:
        """Whether there is such a parameter or array that has not been asked for."""
        return name in self._params or name in self._arrays

    def param(self, name: str) -> Any:
        """A parameter as it stands there."""
        if name not in self._params:
            self.refuse(name, "is there", "nothing")
        return self._params.pop(name)

    def number(self, name: str, low: float = -math.inf, high: float = math.inf, *, or_none: bool = False) -> Any:
        """A finite number within bounds, which belong to it; or None where that is allowed."""
        value = self.param(name)
        if value is None and or_none:
            return None
        if type(value) not in (int, float) or not abs(value) <= 1.7e308 or not low <= value <= high:
            self.refuse(name, f"is a number in [{low}, {high}]", value)
        return float(value)

    def integer(self, name: str, low: int = 0, high: int = (1 << 63) - 1) -> int:
        """A whole number within bounds, which belong to it."""
        value = self.param(name)
        if type(value) is not int or not low <= value <= high:
            self.refuse(name, f"is a whole number in [{low}, {high}]", value)
        return int(value)

    def flag(self, name: str) -> bool:
        """True or False."""
        value = self.param(name)
        if not isinstance(value, bool):
            self.refuse(name, "is true or false", value)
        return value

    def choice(self, name: str, *options: Any) -> Any:
        """One of the values given."""
        value = self.param(name)
        if not any(type(value) is type(option) and value == option for option in options):
            self.refuse(name, f"is one of {options}", value)
        return value

    def text(self, name: str) -> str:
        """A text of sensible length."""
        value = self.param(name)
        if not isinstance(value, str) or len(value) > _LONGEST:
            self.refuse(name, "is a text", value)
        return value

    def texts(self, name: str, length: int) -> list[str]:
        """So many texts."""
        value = self.param(name)
        if not isinstance(value, list) or len(value) != length or not all(isinstance(v, str) for v in value):
            self.refuse(name, f"names {length} things", value)
        return value

    def settings(self, estimator: type) -> dict[str, Any]:
        """The parameters that are left, all of them plain values for the constructor of the class."""
        known = inspect.signature(estimator).parameters
        for name, value in self._params.items():
            if name not in known:
                self.refuse(name, "its class knows", value)
            if not (value is None or isinstance(value, (bool, int, float, str))):
                self.refuse(name, "is a plain value", value)
        given, self._params = self._params, {}
        return given

    # -- arrays ------------------------------------------------------------------------------------------------------

    def array(self, name: str, dtypes: str, *shape: Size) -> NDArray[Any]:
        """An array of one of the dtypes (characters of numpy) and this shape."""
        if name not in self._arrays:
            self.refuse(name, "is there", "nothing")
        array = self._arrays.pop(name)
        if array.dtype.char not in _chars(dtypes):
            self.refuse(name, f"has dtype {' or '.join(dtypes)}", array.dtype)
        if array.ndim != len(shape):
            self.refuse(name, f"has {len(shape)} dimensions", f"shape {array.shape}")
        for given, wanted in zip(array.shape, shape, strict=True):
            size = self.sizes.setdefault(wanted, given) if isinstance(wanted, str) else wanted
            if size is not None and size != given:
                self.refuse(name, f"has shape {tuple(map(self._size, shape))}", f"shape {array.shape}")
        return array

    def _size(self, wanted: Size) -> Any:
        return self.sizes.get(wanted, wanted) if isinstance(wanted, str) else ("any" if wanted is None else wanted)

    def floats(
        self, name: str, *shape: Size, low: float = -LARGEST, high: float = LARGEST, nan: bool = False
    ) -> NDArray[Any]:
        """Finite numbers within bounds, which belong to them; NaN where it is allowed.

        Numbers that rows are multiplied with keep the bounds; costs, sums, and values of the data that are only
        compared or passed on may be as large as numbers get.
        """
        array = self.array(name, "fd", *shape)
        cells = array.reshape(-1)
        for start in range(0, len(cells), _BLOCK):
            block = cells[start : start + _BLOCK]
            sound = np.isfinite(block) & (block >= low) & (block <= high)
            if nan:
                sound |= np.isnan(block)
            if not sound.all():
                self.refuse(name, f"is finite and within [{low}, {high}]", block[~sound][0])
        return array

    def integers(self, name: str, *shape: Size, low: int, high: int, dtypes: str = "il") -> NDArray[Any]:
        """Whole numbers within bounds, which belong to them."""
        array = self.array(name, dtypes, *shape)
        if array.size and not low <= int(array.min()) <= int(array.max()) <= high:
            self.refuse(name, f"lies within [{low}, {high}]", (int(array.min()), int(array.max())))
        return array

    def labels(self, name: str, length: int | None = None, *, distinct: bool = True) -> Labels:
        """Labels or categories: numbers, texts, or a mixture with missing values."""
        if f"{name}.text" in self._arrays:
            labels = self._texts(name)
        else:
            labels = self.array(name, "?bBhHiIlLqQfd", None)
            self._make_room(name, len(labels), _NUMBER * len(labels))
        if length is not None and len(labels) != length:
            self.refuse(name, f"has {length} entries", len(labels))
        if distinct and len(set(labels.tolist())) != len(labels):
            self.refuse(name, "differ", labels[:5].tolist())
        return labels

    def classes(self, at_least: int = 2, at_most: int | None = None) -> Labels:
        """The class labels of a classifier; their number is the size ``classes``."""
        found = self.labels("classes")
        if not at_least <= len(found) <= (len(found) if at_most is None else at_most):
            self.refuse("classes", f"are {at_least} or more (at most {at_most})", len(found))
        if any(label is None or label != label for label in found.tolist()):
            self.refuse("classes", "are no missing values", found[:5].tolist())
        self.sizes["classes"] = len(found)
        return found

    def _make_room(self, name: str, count: int, n_bytes: int) -> None:
        """Refuse more labels than are looked at one by one, or than there is room for."""
        if count > MOST_LABELS:
            self.refuse(name, f"has at most {MOST_LABELS:,} entries", f"{count:,}")
        if not self._room.take(n_bytes):
            self.refuse(name, f"fits, with all other labels, into {MOST_OBJECTS:,} bytes", f"{count:,} entries")

    def _texts(self, name: str) -> Labels:
        text, cuts = self.array(f"{name}.text", "B", None), self.array(f"{name}.ends", "lq", None)
        self._make_room(name, len(cuts), len(text) + _TEXT * len(cuts))
        raw, ends = text.tobytes(), cuts.tolist()
        if ends and not 0 <= min(ends) <= max(ends) <= len(raw):
            self.refuse(f"{name}.ends", f"lies within [0, {len(raw)}]", (min(ends), max(ends)))
        if sorted(ends) != ends or (ends[-1] if ends else 0) != len(raw):
            self.refuse(f"{name}.ends", "cuts its text into pieces", ends[-3:])
        cells = [raw[a:b].decode("utf-8") for a, b in zip([0, *ends[:-1]], ends, strict=True)]
        if f"{name}.kinds" not in self._arrays:
            self._make_room(name, len(cells), 4 * max(map(len, cells), default=0) * len(cells))  # all of one width
            return np.array(cells, dtype=str if cells else "U1")
        kinds = self.integers(f"{name}.kinds", len(cells), low=0, high=len(_KINDS) - 1, dtypes="B").tolist()
        found = np.empty(len(cells), dtype=object)
        found[:] = [_KINDS[kind][1](cell) for kind, cell in zip(kinds, cells, strict=True)]
        return found

    def rows(self, name: str, *shape: Size, widest: int = MOST_FEATURES, largest: float = LARGEST) -> Any:
        """Rows of numbers up to ``largest``, dense or sparse; sparse ones no wider than ``widest``."""
        if f"{name}.indptr" not in self._arrays:
            return self.floats(name, *shape, low=-largest, high=largest)
        width = self.integer(f"{name}.columns", 1, widest)
        data = self.floats(f"{name}.data", None, low=-largest, high=largest)
        indices = self.integers(f"{name}.indices", len(data), low=0, high=width - 1)
        indptr = self.integers(f"{name}.indptr", None, low=0, high=len(data))
        if len(indptr) == 0 or indptr[0] != 0 or indptr[-1] != len(data) or (np.diff(indptr) < 0).any():
            self.refuse(f"{name}.indptr", "cuts its cells into rows", indptr[:5])
        for given, wanted in zip((len(indptr) - 1, width), shape, strict=True):
            size = self.sizes.setdefault(wanted, given) if isinstance(wanted, str) else wanted
            if size is not None and size != given:
                self.refuse(name, f"has shape {tuple(map(self._size, shape))}", (len(indptr) - 1, width))
        from scipy import sparse

        return sparse.csr_matrix((data, indices, indptr), shape=(len(indptr) - 1, width))

    def features(self) -> dict[str, Any]:
        """``n_features_in_``, and ``feature_names_in_`` where there are names; their number is ``features``."""
        found: dict[str, Any] = {}
        if "n_features_in_" in self._params:
            width = found["n_features_in_"] = self.integer("n_features_in_", 0, MOST_FEATURES)
            if self.sizes.setdefault("features", width) != width:
                self.refuse("n_features_in_", f"is {self.sizes['features']}", width)
            if "feature_names_in_.text" in self._arrays:
                found["feature_names_in_"] = self.labels("feature_names_in_", width).astype(object)
        return found

    def done(self, *, parts: int | None = None) -> None:
        """Refuse what nobody asked for, and another number of parts."""
        for name in (*self._params, *self._arrays):
            self.refuse(name, "is known", "a field of another kind")
        if parts is not None and self.parts != parts:
            self.refuse("parts", f"are {parts}", self.parts)


def _chars(dtypes: str) -> str:
    """Platforms name their 8-byte integers differently."""
    return dtypes + ("q" if "l" in dtypes else "") + ("Q" if "L" in dtypes else "")


def _truth(cell: str) -> bool:
    if cell not in ("True", "False"):
        raise StateError(f"must hold labels that are true or false where it says so; got {cell[:40]!r}.")
    return cell == "True"


# How a label among other things than numbers is written: its type, and how it is read back.
_KINDS: tuple[tuple[type, Any], ...] = (
    (str, str),
    (float, float),
    (int, int),
    (bool, _truth),
    (type(None), lambda cell: None),
)


def write_labels(name: str, labels: Any) -> dict[str, NDArray[Any]]:
    """Labels as arrays: numbers as they are; texts end to end, with the type of each where they are mixed."""
    labels = np.asarray(labels)
    if labels.dtype.kind in "biuf" and labels.dtype.itemsize <= 8 and labels.dtype != np.float16:
        return {name: labels}
    values = [value.item() if isinstance(value, np.generic) else value for value in labels.tolist()]
    kinds = [next((k for k, (known, _) in enumerate(_KINDS) if type(value) is known), None) for value in values]
    if None in kinds:
        strange = values[kinds.index(None)]
        raise StateError(f"labels and categories must be numbers or texts to be saved; got {strange!r}.")
    pieces = [value.encode() if isinstance(value, str) else repr(value).encode() for value in values]
    found: dict[str, NDArray[Any]] = {
        f"{name}.text": np.frombuffer(b"".join(pieces), dtype=np.uint8),
        f"{name}.ends": np.cumsum([len(piece) for piece in pieces], dtype=np.int64),
    }
    if labels.dtype.kind != "U":
        found[f"{name}.kinds"] = np.array(kinds, dtype=np.uint8)
    return found


def write_rows(name: str, rows: Any) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Rows as parameters and arrays, dense or sparse."""
    if not hasattr(rows, "tocsr"):
        return {}, {name: np.asarray(rows)}
    csr = rows.tocsr()
    arrays = {f"{name}.data": csr.data, f"{name}.indices": csr.indices, f"{name}.indptr": csr.indptr}
    return {f"{name}.columns": int(csr.shape[1])}, arrays


def plain_settings(estimator: Any, *left_out: str) -> dict[str, Any]:
    """The constructor's parameters that are plain values; others belong to the fit, which is over."""
    found = {}
    for name, value in estimator.get_params(deep=False).items():
        value = value.item() if isinstance(value, np.generic) else value
        plain = (
            value is None or isinstance(value, (bool, int, str)) or (isinstance(value, float) and math.isfinite(value))
        )
        if plain and name not in left_out:
            found[name] = value
    return found
