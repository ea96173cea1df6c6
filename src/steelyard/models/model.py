"""The winner as a file: saved and loaded without pickle, and asked about new rows."""

from __future__ import annotations

import json
import zipfile
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline

from .._version import __version__
from ..costs import Costs
from ..decision import ExpectedCostClassifier
from ..errors import StateError
from ..validation.arrays import is_sparse
from ..validation.values import invalid, require
from .schema import Columns, by_name

_FORMAT = 1  # of model.json; another one is not guessed at
_TRUSTED = ("steelyard.", "sklearn.", "imblearn.")
_TRUSTED_TYPES = ("numpy.dtype", "scipy.sparse._csr.csr_matrix")


def halves(estimator: Any) -> tuple[Any, Any]:
    """What prepares rows, None if nothing does, and what then decides."""
    return (estimator[:-1], estimator[-1]) if isinstance(estimator, Pipeline) else (None, estimator)


def found(estimator: Any) -> Any:
    """A fitted model without its search: the best one stands for all that were tried."""
    if isinstance(estimator, Pipeline):
        return type(estimator)([(name, found(step)) for name, step in estimator.steps])
    return found(estimator.best_estimator_) if hasattr(estimator, "best_estimator_") else estimator


def decide(decider: Any, rows: Any, costs: Costs | None = None) -> Any:
    """Answers for prepared rows; costs of each row count where the decision is by expected cost."""
    if costs is not None and isinstance(decider, ExpectedCostClassifier):
        return decider.predict(rows, costs=costs)
    return decider.predict(rows)


@dataclass(frozen=True)
class Model:
    """A fitted contender with what it needs to meet new data: its columns, classes and costs."""

    name: str
    estimator: Any
    columns: Columns
    costs: Costs

    def predict(self, X: Any, *, costs: Costs | None = None) -> NDArray[Any]:
        """Decisions for new rows; ``costs`` of their own count where the decision is by expected cost.

        Missing cells and categories never seen are treated as in training: imputed, or a level of their own. Columns
        the model does not know are ignored; one that is gone or holds text instead of numbers is an error.
        """
        prepare, decider = halves(self.estimator)
        rows = self._known_columns(X)
        return np.asarray(decide(decider, rows if prepare is None else prepare.transform(rows), costs))

    def expected_costs(self, X: Any, *, costs: Costs | None = None) -> NDArray[np.float64] | None:
        """Expected cost of the decision for each row, where the model knows probabilities."""
        if not hasattr(self.estimator, "predict_proba"):
            return None
        priced = self.costs if costs is None else costs
        expected = priced.expected(self.estimator.predict_proba(self._known_columns(X)))
        chosen = self.costs.encode(self.predict(X, costs=costs))
        return np.asarray(expected[np.arange(len(chosen)), chosen])

    def _known_columns(self, X: Any) -> Any:
        X = by_name(X)
        frame = nw.from_native(X, eager_only=True, pass_through=True)
        if not isinstance(frame, nw.DataFrame):
            return self._known_positions(X)
        missing = [c for c in self.columns.used if c not in frame.columns]
        if missing:
            raise invalid("data", "have every column the model was taught with", f"no column {missing[0]!r}")
        for name in self.columns.numeric:
            if not (frame[name].dtype.is_numeric() or frame[name].dtype == nw.Boolean):
                raise invalid(f"column {name!r}", "hold numbers as in training", f"{frame[name].dtype} cells")
        return frame.select(list(self.columns.used)).to_native()

    def _known_positions(self, X: Any) -> Any:
        if any(isinstance(name, str) for name in self.columns.used):
            raise invalid("data", "be a frame with the columns the model was taught with", type(X).__name__)
        least = max(self.columns.used) + 1
        if X.shape[1] < least or (is_sparse(X) and X.shape[1] != least):
            raise invalid("data", f"have the {least} columns the model was taught with", f"{X.shape[1]} columns")
        return X


def save_model(model: Model, path: str | Path) -> Path:
    """Write a model as one zip file: a skops archive of the estimator and a JSON description. No pickle anywhere."""
    skops = require("skops.io", extra="save", why="saving a model")
    path = Path(path)
    costs = model.costs
    about = {
        "format": _FORMAT,
        "steelyard": __version__,
        "name": model.name,
        "numeric": list(model.columns.numeric),
        "nominal": list(model.columns.nominal),
        "left_out": {str(k): v for k, v in model.columns.left_out.items()},
        "sparse": model.columns.sparse,
        "classes": [] if costs.classes is None else costs.classes.tolist(),
        "costs": None if costs.matrix is None else costs.matrix.tolist(),
        "positive": None if costs.positive is None else costs.classes[costs.positive_index()].item(),  # type: ignore[index]
    }
    partial = path.with_name(path.name + ".partial")
    with zipfile.ZipFile(partial, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("model.json", json.dumps(about, indent=1))
        archive.writestr("estimator.skops", skops.dumps(model.estimator))
    partial.replace(path)
    return path


def load_model(path: str | Path) -> Model:
    """Read a saved model. Beyond arrays only types of steelyard, scikit-learn and imbalanced-learn are let in."""
    try:
        with zipfile.ZipFile(path) as archive:
            about = json.loads(archive.read("model.json"))
            content = archive.read("estimator.skops")
    except (OSError, KeyError, ValueError, EOFError, zlib.error, zipfile.BadZipFile) as error:
        raise StateError(f"{path} must be a model saved by steelyard; it cannot be read ({error}).") from error
    if not isinstance(about, dict) or about.get("format") != _FORMAT:
        written = about.get("steelyard") if isinstance(about, dict) else None
        raise StateError(f"{path} is of another version (steelyard {written}, this is {__version__}); compare again.")
    try:
        return _model_of(about, content, path)
    except (KeyError, TypeError, ValueError, AttributeError, zipfile.BadZipFile) as error:
        raise StateError(f"{path} must be a model saved by steelyard; it cannot be read ({error}).") from error


def _model_of(about: dict[str, Any], content: bytes, path: str | Path) -> Model:
    skops = require("skops.io", extra="save", why="loading a model")
    untrusted = skops.get_untrusted_types(data=content)
    strange = [t for t in untrusted if not t.startswith(_TRUSTED) and t not in _TRUSTED_TYPES]
    if strange:
        raise StateError(
            f"{path} must hold learners of known libraries only; got {strange[0]}. Do not trust this file."
        )
    estimator = skops.loads(content, trusted=untrusted)
    columns = Columns(tuple(about["numeric"]), tuple(about["nominal"]), about["left_out"], about["sparse"])
    classes = np.asarray(about["classes"])
    matrix = None if about["costs"] is None else np.asarray(about["costs"], dtype=float)
    return Model(about["name"], estimator, columns, Costs(classes, matrix, about["positive"]))
