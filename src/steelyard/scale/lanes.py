"""A lane: one learner, one sequential pass over its parts, and the file that it leaves behind."""

from __future__ import annotations

import copy
import queue
import re
import threading
import time
import warnings
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..data import Dataset, Parts
from ..data.part_files import PartFile
from ..errors import InvalidInputError, SteelyardError
from ..validation.values import invalid
from .job import KINDS, UNREADABLE, Job, Learner, WorkFolder, load_learner
from .merge import begin_lane
from .rows import RowReader, merge_sums, needs_scaling, reader_in, row_reader, scaler_entry, sums_of_part

AHEAD = 2  # chunks decoded while one is learned from
BETWEEN = 10.0  # seconds between checkpoints of a lane


def run_lane(folder: str, epoch: int, lane: int) -> dict[str, Any]:
    """Learn one lane of one pass, or go on where it stopped; what it learned stands in the folder afterwards.

    The task of a worker: it gets names alone, and doing it twice does no harm.
    """
    work = WorkFolder(folder)
    job, done = work.job(), work.lane(epoch, lane)
    noted = work.noted(done)
    if noted is not None and done.exists():
        return dict(noted)
    learner, skipped, began, rows = _resumed(work, job, epoch, lane)
    positions, reader = job.parts_of(lane), reader_in(work)
    saved = time.monotonic()
    for at in range(began, len(positions)):
        work.say_reading(epoch, lane, job.files[positions[at]]["path"])
        before = learner.n_rounds_
        learner, bad = learn_part(learner, job, positions[at], reader)
        skipped, rows = skipped + bad, rows + learner.n_rounds_ - before
        if time.monotonic() - saved > BETWEEN and at + 1 < len(positions):
            work.keep_partial(epoch, lane, learner, {"parts": at + 1, "rows": rows, "skipped": skipped})
            saved = time.monotonic()
    work.save(learner, done)
    about = {"lane": lane, "rows": rows, "skipped": skipped}
    work.note(done, about)
    return about


def _resumed(work: WorkFolder, job: Job, epoch: int, lane: int) -> tuple[Learner, list[str], int, int]:
    """The learner of a lane as its last checkpoint left it, or at its start; parts left out, parts and rows read."""
    partial = work.partial(epoch, lane)
    if partial is not None:
        noted = work.noted(partial)
        return load_learner(partial), list(noted["skipped"]), int(noted["parts"]), int(noted["rows"])
    before = work.beginning(epoch, job, lane)
    if before is None:
        return new_learner(job), [], 0, 0
    return begin_lane(load_learner(before), len(job.stages(epoch)[-1])), [], 0, 0


def new_learner(job: Job) -> Learner:
    """A learner before its first row."""
    from ..online._saving import params_read

    kind = KINDS[job.estimator["kind"]]
    made = kind(**params_read(job.estimator["params"], {}))
    return made.start(job.n_features, np.asarray(job.classes))  # type: ignore[no-any-return]


def learn_part(learner: Any, job: Job, position: int, reader: RowReader) -> tuple[Any, list[str]]:
    """The learner after one part, and the part's name if it could not be read and is left out as a whole."""
    parts = job.parts()
    part = parts.files[position]
    before = copy.deepcopy(learner) if job.skip else None
    start = 0
    try:
        for chunk in ahead(parts.part_chunks(part, job.rows, job.reading, job.options)):
            y = chunk_labels(chunk, job.classes)
            costs = reader.costs(chunk)
            given = {} if costs is None else {"costs": costs}
            learner.partial_fit(reader.rows(chunk), y, classes=np.asarray(job.classes), **given)
            start += len(y)
    except UNREADABLE as error:
        if before is None:
            raise
        warnings.warn(f"{part.path} is left out as a whole: {error}", stacklevel=2)
        return before, [part.path]
    except SteelyardError as error:
        raise named_error(error, part, start) from error
    return learner, []


def learn_alone(learner: Any, job: Job) -> tuple[Any, list[str]]:
    """All parts, one after the other, as many times as there are passes; no file is written."""
    skipped: list[str] = []
    scaler = None
    if needs_scaling(job):
        found = [sums for i in range(len(job.files)) if (sums := sums_of_part(job, i)) is not None]
        scaler = scaler_entry(merge_sums([list(one.state()["arrays"].values()) for one in found]))
    reader = row_reader(job, scaler)
    for epoch in range(job.passes):
        for position in range(len(job.files)):
            learner, bad = learn_part(learner, job, position, reader)
            skipped += bad if epoch == 0 else []
    with_encoder(learner, reader)
    return learner, skipped


def with_encoder(learner: Any, reader: RowReader) -> Any:
    """The learner, and beside it what encodes its rows, if anything does."""
    if reader.encoder is not None:
        learner.encoder_ = reader.encoder
    return learner


def readable_parts(parts: Parts, options: dict[str, Any]) -> tuple[Parts, list[str]]:
    """The parts whose columns and labels can be read from end to end, and the paths of the others.

    What is wrong with features alone is found when they are learned from.
    """
    kept, left_out = [], []
    for part in parts.files:
        try:
            Parts.of_files([part], parts.format).count_labels(**options)
        except UNREADABLE:
            left_out.append(part.path)
        else:
            kept.append(part)
    if not kept:
        raise invalid("parts", "hold a part that can be read", f"{len(left_out)} damaged ones")
    return Parts.of_files(kept, parts.format), left_out


def named_error(error: SteelyardError, part: PartFile, start: int) -> SteelyardError:
    """The usual sentence about rows of a chunk, which begins at row ``start`` of a part, about those of the part."""
    message = re.sub(r"\brow (\d+)\b", lambda found: f"row {start + int(found[1])}", str(error), count=1)
    message = f"{message} Rows are those of {part.path}, counted from 0."
    kind = type(error)
    try:
        return kind(message)
    except TypeError:
        return InvalidInputError(message)


def chunk_labels(chunk: Dataset, classes: Sequence[Any]) -> NDArray[Any]:
    """The labels of a chunk, as text if any label of any part is."""
    found = complete_labels(chunk)
    if isinstance(classes[0], str) and found.dtype.kind != "U":
        found = np.array([str(label) for label in found.tolist()])
    return found


def complete_labels(chunk: Dataset) -> NDArray[Any]:
    """The labels of a chunk as they were read, none of them missing."""
    if chunk.y is None:
        raise invalid("target", "name the column of labels", None)
    found = np.asarray(chunk.y)
    if found.dtype.kind == "O":
        missing = np.flatnonzero([label is None for label in found.tolist()])
        if len(missing):
            raise invalid("y", "have a label for every row", None, f"See row {int(missing[0])}.")
        found = np.array(found.tolist())
    return found


def ahead(chunks: Iterable[Dataset], depth: int = AHEAD) -> Iterator[Dataset]:
    """The same chunks, decoded by another thread while those before are learned from; kernels leave it the machine."""
    waiting: queue.Queue[Any] = queue.Queue(depth)
    stopped = threading.Event()

    def put(item: Any) -> bool:
        while not stopped.is_set():
            try:
                waiting.put(item, timeout=0.1)
                return True
            except queue.Full:
                continue
        return False

    def decode() -> None:
        try:
            for chunk in chunks:
                if not put((chunk, None)):
                    return
            put((None, None))
        except BaseException as error:  # handed over to whoever waits for the chunk
            put((None, error))

    thread = threading.Thread(target=decode, daemon=True, name="steelyard-decode")
    thread.start()
    try:
        while True:
            chunk, error = waiting.get()
            if error is not None:
                raise error
            if chunk is None:
                return
            yield chunk
    finally:
        stopped.set()
        thread.join()
