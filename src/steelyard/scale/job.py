"""A job in its folder: what is to be done, by names alone, and the files of what has been done."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import platform
import socket
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from .._version import __version__
from ..data import Parts
from ..data.part_files import PartFile
from ..errors import DataFileError, DataNotFoundError, StateError
from ..files import lock_file, write_atomically
from ..online import NUMERICS, OnlineClassifier, OnlineCostClassifier
from ..validation.values import require

Learner = OnlineClassifier | OnlineCostClassifier
UNREADABLE = (DataFileError, DataNotFoundError)  # what on_bad_part="skip" leaves out
NO_ROOM = (errno.ENOSPC, errno.EDQUOT)
KINDS: dict[str, Any] = {kind.__name__: kind for kind in (OnlineClassifier, OnlineCostClassifier)}


def versions() -> dict[str, str]:
    """What must be the same on all machines for the bits to be the same."""
    return {"steelyard": __version__, "python": platform.python_version(), "numpy": np.__version__}


@dataclass(frozen=True)
class Job:
    """What a fit is asked to do; equal jobs give equal bits.

    Parameters
    ----------
    estimator : dict
        Its kind and parameters, as its state holds them.
    files : list of dict
        The parts, in their order.
    format : str
        Their format.
    fingerprint : str
        Of the parts.
    reading, options : dict
        With which every part is read in the same form, and what the caller said of it.
    n_features : int
        Features of a row.
    classes : list
        All labels.
    lanes, passes, rows : int
        Learners side by side, passes over the rows, rows read at a time.
    skip : bool
        Whether parts that cannot be read are left out.
    encoder : dict or None
        How text is hashed and numbers are scaled; None for numbers as they are.
    costs : dict or None
        Which columns hold the costs of each row.
    first_alone : bool
        Whether the first lane learns before the others, which go on from what it knows.
    """

    estimator: dict[str, Any]
    files: list[dict[str, Any]]
    format: str
    fingerprint: str
    reading: dict[str, Any]
    options: dict[str, Any]
    n_features: int
    classes: list[Any]
    lanes: int
    passes: int
    rows: int
    skip: bool
    encoder: dict[str, Any] | None = None
    costs: dict[str, Any] | None = None
    first_alone: bool = True

    def parts(self) -> Parts:
        """The parts, as they were listed."""
        return Parts.of_files([restore_part(about) for about in self.files], self.format)

    def parts_of(self, lane: int) -> list[int]:
        """The positions of the parts of a lane: by index, never by worker."""
        return list(range(lane, len(self.files), self.lanes))

    def stages(self, epoch: int) -> list[list[int]]:
        """The lanes of a pass that may run side by side, stage after stage.

        In the first pass of AROW the first lane is learned before the others, which go on from what it knows: without
        it each would learn its rows from nothing with large steps, and features with rare large values cost much more.
        """
        every = list(range(self.lanes))
        return [every] if epoch or self.lanes == 1 or not self.first_alone else [every[:1], every[1:]]

    def described(self) -> dict[str, Any]:
        """The job as its file holds it."""
        return {"kind": "steelyard job/4", "versions": versions() | {"numerics": str(NUMERICS)}} | asdict(self)


def restore_part(about: Mapping[str, Any]) -> PartFile:
    """A part from its names."""
    keys = tuple((name, value) for name, value in about["keys"])
    filesystem = None
    if about["protocol"] is not None:
        fsspec = require("fsspec", extra="scale", why="Reading parts at a URL")
        filesystem = fsspec.filesystem(about["protocol"])
    return PartFile(about["path"], about["name"], about["size"], about["modified"], keys, filesystem)


def part_entry(part: PartFile) -> dict[str, Any]:
    """A part by its names alone."""
    protocol = None if part.filesystem is None else part.filesystem.protocol
    protocol = protocol[0] if isinstance(protocol, (tuple, list)) else protocol
    path = os.path.abspath(part.path) if part.filesystem is None else part.path
    return {
        "path": path,
        "name": part.name,
        "size": part.size,
        "modified": part.modified,
        "keys": [list(pair) for pair in part.keys],
        "protocol": protocol,
    }


class WorkFolder:
    """The files of a job. Every one is written under another name first, synced, and renamed: there or not there."""

    def __init__(self, folder: str | os.PathLike[str], *, temporary: bool = False) -> None:
        self.path = Path(folder)
        self.kept = "" if temporary else os.fspath(folder)  # what a later call goes on from

    def __fspath__(self) -> str:
        return os.fspath(self.path)

    @contextmanager
    def held(self) -> Iterator[None]:
        """The folder for this process alone; for a second one the error names the holder."""
        owner = self.path / "_owner.json"
        with ExitStack() as opened:
            try:
                self.path.mkdir(parents=True, exist_ok=True)
                opened.enter_context(lock_file(self.path / "job.json"))
                read_note(owner)  # one that we did not write is refused
                write_note(owner, {"host": socket.gethostname(), "process": os.getpid()})
            except StateError as error:
                if "is in use by" not in str(error):
                    raise
                known = read_note(owner) or {}
                who = f"process {known.get('process', '?')} on {known.get('host', 'another machine')}"
                raise StateError(f"{self.path} is in use by {who}. Wait for it, or give another work=.") from None
            except OSError as error:
                if error.errno in NO_ROOM:
                    raise
                hint = "Give one that you may write to."
                raise StateError(f"{self.path} must be a folder for files; got {error.strerror}. {hint}") from error
            yield

    def begin(self, job: Job) -> None:
        """Write what is to be done, or go on where the same job stopped; another one is refused."""
        wanted = json.loads(json.dumps(job.described()))
        found = read_note(self.path / "job.json")
        if found is None:
            if any(self.path.glob("*.steelyard")):
                raise StateError(f"{self.path} must hold the files of one job; job.json is gone. Give another work=.")
            write_note(self.path / "job.json", wanted)
            return
        differing = [name for name in wanted if found.get(name) != wanted[name]]
        if differing:
            name = differing[0]
            place, was, now = _difference(name, found.get(name), wanted[name])
            raise StateError(
                f"{self.path} must hold this job; {', '.join(differing)} differ ({place} was {was}, is {now}). "
                "Give another work=, or the same arguments as before."
            )

    def job(self) -> Job:
        """What is to be done."""
        found = self.task("job.json")
        written, kind = found.pop("versions", None), found.pop("kind", None)
        if (kind, written) != ("steelyard job/4", versions() | {"numerics": str(NUMERICS)}):
            raise StateError(f"{self.path} must hold a job of {versions()}; it was written by other versions.")
        return Job(**found)

    def task(self, name: str) -> Any:
        """The plain values that whoever gave a task has left for the worker that does it."""
        found = read_note(self.path / name)
        if found is None:
            hint = "Give a folder that all machines see under this name."
            raise StateError(f"{self.path} must hold {name} wherever work is done; it does not. {hint}")
        return found

    def lane(self, epoch: int, lane: int) -> Path:
        """Where a lane leaves what it learned in a pass."""
        return self.path / f"pass-{epoch:03}-lane-{lane:05}.steelyard"

    def beginning(self, epoch: int, job: Job, lane: int) -> Path | None:
        """What a lane goes on from: the pass before, or in the first pass the first lane; None for a new learner."""
        if epoch:
            return self.merged(epoch - 1)
        return None if lane in job.stages(0)[0] else self.lane(0, 0)

    def keep_partial(self, epoch: int, lane: int, learner: Learner, about: Mapping[str, Any]) -> None:
        """Keep what a lane knows after some parts. Their number stands in the name, so the two cannot come apart."""
        path = self.path / f"pass-{epoch:03}-lane-{lane:05}-upto-{about['parts']:06}.steelyard"
        self.note(path, about)
        self.save(learner, path)
        for older in self._partials(epoch, lane)[:-1]:
            older.unlink(missing_ok=True)
            older.with_suffix(".json").unlink(missing_ok=True)

    def partial(self, epoch: int, lane: int) -> Path | None:
        """The last checkpoint of a lane."""
        found = self._partials(epoch, lane)
        return found[-1] if found else None

    def _partials(self, epoch: int, lane: int) -> list[Path]:
        return sorted(self.path.glob(f"pass-{epoch:03}-lane-{lane:05}-upto-*.steelyard"))

    def say_reading(self, epoch: int, lane: int, part: str) -> None:
        """Leave word of the part that a lane is at, for whoever wants to know what ended a worker."""
        path = self.lane(epoch, lane).with_suffix(".reading")
        with _room_in(self.path, len(part.encode())), write_atomically(path) as file:
            file.write(part.encode())

    def reading(self, epoch: int, lane: int) -> str:
        """Which part a lane was at last, as the end of a sentence; empty where nobody knows."""
        try:
            return f", at {self.lane(epoch, lane).with_suffix('.reading').read_text()}"
        except OSError:
            return ""

    def merged(self, epoch: int) -> Path:
        """Where what all lanes know after a pass stands."""
        return self.path / f"pass-{epoch:03}.steelyard"

    def save(self, learner: Learner, path: Path) -> None:
        """Keep a learner."""
        needed = sum(np.asarray(array).nbytes for array in learner.state()["arrays"].values())
        with _room_in(self.path, needed):
            learner.save(path)

    def note(self, path: Path, about: Any) -> None:
        """Plain values beside a file."""
        write_note(path.with_suffix(".json"), about)

    def noted(self, path: Path) -> Any:
        """The plain values beside a file, or None."""
        return read_note(path.with_suffix(".json"))


def write_note(path: Path, about: Any) -> None:
    """Plain values as a file with its own checksum, whole or not there."""
    text = json.dumps(about, indent=1, allow_nan=False)
    digest = hashlib.sha256(text.encode()).hexdigest()
    with _room_in(path.parent, len(text)), write_atomically(path) as file:
        file.write(f'{{"sha256": "{digest}",\n"content": {text}}}\n'.encode())


def read_note(path: Path) -> Any:
    """The content of a file of plain values, None if there is none; a damaged one is an error."""
    try:
        raw = path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None
    try:
        found = json.loads(raw)
        text = json.dumps(found["content"], indent=1, allow_nan=False)
        whole = hashlib.sha256(text.encode()).hexdigest() == found["sha256"]
    except (ValueError, KeyError, TypeError, RecursionError):
        whole = False
    if not whole:
        raise StateError(f"{path} must be whole and unchanged; it is damaged. Remove it and run the same call again.")
    return found["content"]


@contextmanager
def _room_in(folder: Path, needed: int) -> Iterator[None]:
    """A full disk is said with the folder and the bytes that are needed; what is there stays."""
    try:
        yield
    except OSError as error:
        if error.errno not in NO_ROOM:
            raise
        hint = f"{folder} has no room for {needed:,} more bytes. Make some and run the same call again"
        raise OSError(error.errno, hint, error.filename) from error


def _difference(name: str, was: Any, now: Any) -> tuple[str, str, str]:
    """Where two values of a job differ first, and what stands there."""
    if isinstance(was, dict) and isinstance(now, dict) and set(was) == set(now):
        key = next(key for key in now if was[key] != now[key])
        return _difference(f"{name}.{key}", was[key], now[key])
    if isinstance(was, list) and isinstance(now, list) and len(was) == len(now):
        at = next(at for at in range(len(now)) if was[at] != now[at])
        return _difference(f"{name}[{at}]", was[at], now[at])
    return name, _shown(was), _shown(now)


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."


def load_learner(path: Path) -> Learner:
    """A learner from one of the files."""
    for kind in KINDS.values():
        try:
            return kind.load(path)  # type: ignore[no-any-return]
        except StateError as error:
            if "must be a file written by" not in str(error):
                raise
    raise StateError(f"{path} must hold an online learner; it holds something else.")
