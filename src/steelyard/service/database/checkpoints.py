"""A project's state as bytes that hold no code, and the start from the newest of them.

The bytes come from the store, and a store may be a backup that somebody sent: whatever they say is held against the
settings they begin with before it is used.
"""

from __future__ import annotations

import json
from typing import Annotated, Any

import msgspec
import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load

from ...errors import StateError
from ...files import write_tensors
from ...online import SparseRow, StreamScaler
from ..log.records import Row
from ..log.settings import ProjectSettings
from ..replay.champion import ChampionHead
from ..replay.expected import FittedPair
from ..replay.question_book import QuestionBook
from ..replay.questions import Question, QuestionState
from ..replay.shadows import Shadow
from ..replay.state import State
from ..replay.training import Examples

MOST_CELLS = 1 << 27  # that arrays may have beyond what the settings need; one rule keeps a square of its columns
_BROKEN = (ArithmeticError, AttributeError, LookupError, MemoryError, RecursionError, TypeError, ValueError)
_SHORT = 1024  # arrays below this length are written whole
_FILLS = (0.0, 1.0)  # what most of a wide array that has learned little consists of


def pack_state(state: State) -> bytes:
    """The state as one block: arrays as safetensors, everything else as JSON beside them."""
    learner = state.learner.state()
    arrays: dict[str, NDArray[Any]] = {}
    for name, array in learner.pop("arrays").items():
        _put(arrays, f"learner.{name}", array)
    shadows = {slot: shadow.learner.state() for slot, shadow in state.shadows.items()}
    for slot, known in shadows.items():
        for name, array in known.pop("arrays").items():
            _put(arrays, f"shadow{slot}.{name}", array)
    scaler = state.encoder.scaler
    if scaler is not None:
        for name, array in scaler.state()["arrays"].items():
            _put(arrays, f"scaler.{name}", array)
    scaling = None if scaler is None else {k: v for k, v in scaler.state().items() if k != "arrays"}
    rows = {str(item): state.encoder.pack(row) for item, row in state.open_rows.items()}
    for item, raw in rows.items():
        arrays[f"row.{item}"] = np.frombuffer(raw, dtype=np.uint8)
    arrays["questions"] = np.frombuffer(state.questions.to_bytes(), dtype=np.uint8)
    arrays["training"] = np.frombuffer(state.training.examples.to_bytes(), dtype=np.uint8)
    more = {"more_votes": list(state.questions.more_votes.items()), "others": list(state.questions.others.items())}
    head = {"learner": learner, "shadows": shadows, "scaler": scaling, "plain": state.plain() | more}
    arrays["head"] = np.frombuffer(json.dumps(head).encode(), dtype=np.uint8)
    return write_tensors({name: np.ascontiguousarray(array) for name, array in arrays.items()})


Whole = Annotated[int, msgspec.Meta(ge=0, le=(1 << 63) - 1)]
Long = Annotated[int, msgspec.Meta(ge=-(1 << 63), le=(1 << 63) - 1)]
Class = Annotated[int, msgspec.Meta(ge=0, lt=1 << 16)]


_Vote = tuple[Long, Class | None, Whole]


class _Plain(msgspec.Struct):
    """The types of what :meth:`State.plain` gives, and more; what earlier versions had not may be missing."""

    settings: ProjectSettings
    seq: Whole
    settings_seq: Whole
    model: Whole
    reach: Whole
    outcomes: Whole
    pace: tuple[list[float], int]
    budget: tuple[Whole, Whole, Whole]
    questions: list[list[Any]] = []  # of earlier versions, and
    training: list[tuple[Whole, Class | None, Long]] = []  # which had no arrays of them
    more_votes: list[tuple[Whole, list[_Vote]]] = []
    others: list[tuple[Whole, list[tuple[Whole, Class]]]] = []
    fits: list[tuple[Whole, float | None, float, Whole, list[list[float]]]] = []
    fit_after: tuple[Whole, Whole] = (0, 0)
    renewed: tuple[Whole, Whole] = (0, 0)
    shadows: list[tuple[Whole, str, Whole, Whole, bool]] = []
    tails: list[tuple[str, str, Whole]] = []
    champion: tuple[str, str, Whole, Whole] | None = None


_Question = tuple[Whole, Long, float, Class, float, Whole, QuestionState, bool, Class | None, Whole | None, list[_Vote]]
_Marks = tuple[bool, bool, list[tuple[Whole, Class]]]


def unpack_state(raw: bytes) -> State:
    """The state as it was; raises StateError if the bytes are not one."""
    try:
        arrays = load(raw)
        head = json.loads(arrays.pop("head").tobytes())
        plain = msgspec.convert(head["plain"], _Plain)
        plain.settings.validate()
        state = State(plain.settings)
        room = _Cells(MOST_CELLS + 4 * (state.encoder.width + 2) * len(state.labels))
        state.learner = _learner(state, head["learner"], _taken(arrays, "learner.", room))
        state.query = state.learner.query or state.query
        for slot, update, since, reach, ended in plain.shadows:
            learner = _learner(state, head["shadows"][str(slot)], _taken(arrays, f"shadow{slot}.", room))
            state.shadows[slot] = Shadow(slot, update, learner, since, reach, ended)
        if head["scaler"] is not None:
            scaler = StreamScaler.from_state(head["scaler"] | {"arrays": _taken(arrays, "scaler.", room)})
            numbers = list(plain.settings.columns.values()).count("number")
            if scaler.n_features_in_ != numbers:
                raise StateError(f"it must scale {numbers} columns of numbers; got {scaler.n_features_in_}")
            state.encoder.records.scaler = scaler
        for name, raw_row in _taken(arrays, "row.", room).items():
            state.open_rows[int(name)] = _row(state, raw_row.tobytes())
        _restore_plain(state, plain)
        if "questions" in arrays:
            _restore_labels(state, plain, arrays["questions"].tobytes(), arrays["training"].tobytes())
        else:
            _restore_written_labels(state, plain)
        if set(state.questions.waiting()) != set(state.open_rows):
            raise StateError("it must hold the row of each question that waits, and no other")
    except StateError as error:
        raise StateError(f"a checkpoint must be whole; {error}.".replace("..", ".")) from error
    except (SafetensorError, msgspec.MsgspecError, *_BROKEN) as error:
        raise StateError(f"a checkpoint must be whole; {type(error).__name__}: {error}.") from error
    return state


def _learner(state: State, written: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> Any:
    made = type(state.learner).from_state(written | {"arrays": arrays})
    if made.n_features_in_ != state.encoder.width or len(made.classes_) != len(state.labels):
        got = f"{len(made.classes_)} classes of {made.n_features_in_} numbers"
        raise StateError(f"it must hold a learner of {len(state.labels)} classes of {state.encoder.width}; got {got}")
    return made


def _row(state: State, raw: bytes) -> Row:
    """A row that is learned from once its label comes."""
    row, width = state.encoder.unpack(raw), state.encoder.width
    if isinstance(row, SparseRow):
        row.check()
    elif row.shape != (width,):
        raise StateError(f"it must hold rows of {width} numbers; got {len(row)}")
    return row


def _restore_plain(state: State, plain: _Plain) -> None:
    state.seq, state.model, state.reach = plain.seq, plain.model, plain.reach
    state.outcomes, state.settings_seq = plain.outcomes, plain.settings_seq
    scores, state.pace.due = plain.pace
    state.pace.scores.extend(scores)
    state.budget.limit, state.budget.spent, state.budget.reserved = plain.budget
    if plain.champion is not None:
        sha256, name, since, reach = plain.champion
        state.champion = ChampionHead(bytes.fromhex(sha256), name, since, reach)
    state.tails = {bytes.fromhex(path): (bytes.fromhex(file), end) for path, file, end in plain.tails}
    state.fits = [FittedPair(*values) for values in plain.fits]
    state.fit_after, state.renewed = plain.fit_after, plain.renewed


def _restore_labels(state: State, plain: _Plain, questions: bytes, training: bytes) -> None:
    state.training.examples = Examples(training)
    _check_classes(state, [state.training.examples.most_label()])
    _check_classes(state, [label for _, votes in plain.more_votes for _, label, _ in votes])
    _check_classes(state, [answer for _, answers in plain.others for _, answer in answers])
    state.questions = QuestionBook.from_bytes(
        questions,
        {item: tuple(votes) for item, votes in plain.more_votes},
        {item: tuple(answers) for item, answers in plain.others},
        classes=len(state.labels),
        examples=len(state.training.examples),
    )


def _restore_written_labels(state: State, plain: _Plain) -> None:
    """The same of an earlier version, which wrote questions and examples beside everything else."""
    for values in plain.training:
        state.training.examples.append(*values)
    for written in plain.questions:
        question = Question.from_list([*msgspec.convert(written[:11], _Question), *_marks(written[11:])])
        state.questions.add(question)
        _check_classes(state, [question.answer, question.label, *(label for _, label, _ in question.votes)])
        _check_classes(state, [answer for _, answer in question.others])
        if question.n is not None and question.n >= len(state.training.examples):
            raise StateError(f"it must hold the example of item {question.item}; it does not")
    _check_classes(state, [state.training.examples.most_label()])


def _marks(values: list[Any]) -> _Marks:
    """What a question of an earlier version lacks is as it began."""
    marks: _Marks = msgspec.convert([*values, *[False, False, []][len(values) :]], _Marks)
    return marks


def _check_classes(state: State, codes: list[int | None] | list[int]) -> None:
    """Every answer and label must be a class of the project: native code takes them as positions."""
    largest = max((code for code in codes if code is not None), default=0)
    if largest >= len(state.labels):
        raise StateError(f"it must name one of {len(state.labels)} classes; got number {largest}")


def _put(arrays: dict[str, NDArray[Any]], name: str, array: NDArray[Any]) -> None:
    """Whole, or by index and value where less than half of it differs from what it began as."""
    if array.dtype == np.float64 and len(array) >= _SHORT:
        for fill in _FILLS:
            other = np.flatnonzero(array.view(np.int64) != np.float64(fill).view(np.int64))
            if 2 * len(other) < len(array):
                arrays[f"{name}|at"] = other
                arrays[f"{name}|values"] = array[other]
                arrays[f"{name}|rest"] = np.array([fill, len(array)])
                return
    arrays[name] = array


class _Cells:
    """How many cells arrays that are written by their differences may still become."""

    def __init__(self, left: int) -> None:
        self.left = left

    def take(self, length: float) -> int:
        """A length that is whole and within what is left."""
        if not (0 <= length <= self.left and length == int(length)):
            raise StateError(f"it must hold arrays of at most {self.left:,} cells; got {length}")
        self.left -= int(length)
        return int(length)


def _taken(arrays: dict[str, NDArray[Any]], prefix: str, room: _Cells) -> dict[str, NDArray[Any]]:
    found: dict[str, NDArray[Any]] = {}
    for key in [key for key in arrays if key.startswith(prefix)]:
        name, _, part = key.removeprefix(prefix).partition("|")
        if not part:
            found[name] = arrays[key]
        elif part == "rest":
            fill, length = arrays[key]
            whole = np.full(room.take(length), fill)
            whole[arrays[f"{prefix}{name}|at"]] = arrays[f"{prefix}{name}|values"]
            found[name] = whole
    return found
