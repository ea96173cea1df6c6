"""A `.steelyard` file as a champion: read, checked against a project, and asked about rows.

Models take libraries that a server without a champion does not need, so they are imported when there is one.
"""

from __future__ import annotations

import tempfile
import threading
import warnings
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import narwhals as nw
import numpy as np

from ...costs import Costs
from ...errors import InvalidInputError, StateError
from ...files import write_atomically
from ...validation.values import invalid
from ..log.records import Cell
from ..log.settings import ProjectSettings
from ..replay.champion import ChampionNumbers

if TYPE_CHECKING:
    from ...models.model import Model
    from ...models.stream_state import StreamState

MOST_BYTES = 16 * 2**20  # of a file
MOST_UNPACKED = 256 * 2**20
_BROKEN = (ArithmeticError, LookupError, TypeError, ValueError)  # what estimators raise; our own errors are ValueErrors
_PROBE: dict[str, Cell] = {"number": 0.0, "category": "a", "text": "a", "url": "a", "shown": None}


def read_champion(raw: bytes, settings: ProjectSettings) -> Champion:
    """The champion of these bytes; raises InvalidInputError unless it can decide the rows of the project."""
    from ...models.storage import load_model

    if len(raw) > MOST_BYTES:
        raise invalid("the model", f"have at most {MOST_BYTES} bytes", len(raw))
    with tempfile.TemporaryDirectory(prefix="steelyard-") as folder:
        path = Path(folder) / "model.steelyard"
        with write_atomically(path) as file:
            file.write(raw)
        try:
            model = load_model(path, max_bytes=MOST_UNPACKED)
        except StateError as error:
            raise InvalidInputError(f"the model {str(error).removeprefix(str(path)).strip()}") from None
    made = Champion(model, settings)
    made.weigh([[_PROBE[kind] for kind in settings.columns.values() if kind != "ignored"]])
    return made


class Champion:
    """A model of `compare`, or a state of `stream`, that decides the rows of a project at the project's costs."""

    def __init__(self, model: Any, settings: ProjectSettings) -> None:
        from ...models.model import Model
        from ...models.stream_state import StreamState

        if not isinstance(model, (Model, StreamState)):
            hint = "Take model.steelyard of `compare`, or a state of `stream`."
            raise invalid("the model", "know its columns and classes", type(model).__name__, hint)
        self.model, self.name = model, str(model.name)
        self._kinds = {name: kind for name, kind in settings.columns.items() if kind != "ignored"}
        self._used = [str(name) for name in model.columns.used]
        self._check_columns(model.columns.used, model.columns.numeric if isinstance(model, Model) else None)
        theirs = [str(label) for label in (model.classes_ if isinstance(model, Model) else model.labels)]
        if sorted(theirs) != sorted(settings.labels):
            raise invalid("the classes of the model", f"be those of the project ({', '.join(settings.labels)})", theirs)
        self._order = [theirs.index(label) for label in settings.labels]  # our classes among the model's
        self._weigh: Callable[[Any], list[ChampionNumbers]]
        if isinstance(model, Model):
            self._weigh = partial(self._weigh_model, _priced(model, settings, theirs))
        else:
            self._weigh = partial(self._weigh_stream, model)
        self._one_at_a_time = threading.Lock()

    def _check_columns(self, used: Iterable[Any], numeric: Collection[Any] | None) -> None:
        """Raise unless the project has the columns; where the model knows which are numbers, as such."""
        for name in used:
            kind = self._kinds.get(name) if isinstance(name, str) else None
            if kind is None:
                raise invalid("the columns of the model", "be columns of the project", name)
            if numeric is not None and (name in numeric) != (kind == "number"):
                needed = "a number" if name in numeric else "no number"
                raise invalid(f"column {name!r}", f"be {needed}, as the model needs it", kind)

    def weigh(self, rows: Sequence[Sequence[Cell]]) -> list[ChampionNumbers]:
        """What it says about rows, given as the cells of the project's columns; InvalidInputError where it cannot."""
        columns: dict[str, Any] = {}
        for at, (name, kind) in enumerate(self._kinds.items()):
            if name in self._used:
                cells = [row[at] for row in rows]
                columns[name] = (
                    np.array(cells, dtype=np.float64) if kind == "number" else [_text(cell) for cell in cells]
                )
        from ...models.frames import frame_library

        frame = nw.from_dict({name: columns[name] for name in self._used}, backend=frame_library()).to_native()
        try:
            with self._one_at_a_time, warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found = self._weigh(frame)
        except _BROKEN as error:
            raise InvalidInputError(f"the champion must be able to decide the row; {error}") from None
        for one in found:
            if not np.isfinite([one.score, one.expected or 0.0]).all():
                raise invalid("what the champion expects", "be finite", one.score)
        return found

    def _weigh_model(self, model: Model, frame: Any) -> list[ChampionNumbers]:
        weighed = model.weigh(frame)
        ours = {theirs: code for code, theirs in enumerate(self._order)}
        expected = np.asarray(weighed.expected)[:, self._order]
        answers = [ours[position] for position in weighed.decided.tolist()]
        return [
            ChampionNumbers(_gap(row), answer, float(row[answer]))
            for row, answer in zip(expected, answers, strict=True)
        ]

    def _weigh_stream(self, model: StreamState, frame: Any) -> list[ChampionNumbers]:
        scores = model.learner.decision_function(model.encoder.transform(frame))
        labels = [str(label) for label in model.predict(frame)]
        theirs = [str(label) for label in model.labels]
        ours = {theirs[position]: code for code, position in enumerate(self._order)}
        if scores.ndim == 1:
            sign = 1.0 if self._order == [0, 1] else -1.0
            return [
                ChampionNumbers(sign * float(s), ours[label], None) for s, label in zip(scores, labels, strict=True)
            ]
        return [ChampionNumbers(_gap(-row), ours[label], None) for row, label in zip(scores, labels, strict=True)]


def _priced(model: Model, settings: ProjectSettings, theirs: list[str]) -> Model:
    """The model at the project's costs; one that has them already decides as it always did."""
    if not model.has_probabilities:
        raise invalid("the model", "know probabilities, to tell what its answers cost", model.name)
    matrix, at = settings.cost_matrix(), [settings.labels.index(label) for label in theirs]
    costs = Costs.from_matrix(matrix[np.ix_(at, at)], classes=model.classes_.tolist())
    known = model.costs.matrix
    fixed = known is not None and not model.cost_columns and model.costs.abstain is None
    if fixed and np.array_equal(np.asarray(known), np.asarray(costs.matrix)):
        return model
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that it was fitted to other costs
        return model.with_costs(costs)


def _text(cell: Cell) -> str | None:
    return None if cell is None else str(cell)


def _gap(costs: Any) -> float:
    """Of two answers the cost of the first less that of the second; of more, of the two cheapest."""
    if len(costs) == 2:
        return float(costs[0] - costs[1])
    cheapest = np.sort(costs)
    return float(cheapest[1] - cheapest[0])
