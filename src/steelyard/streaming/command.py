"""What the command ``steelyard stream`` does."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterator
from concurrent.futures import Executor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from ..data import Dataset, iter_chunks
from ..data.columns import UnknownColumnError
from ..data.part_files import is_several
from ..data.parts import as_parts
from ..errors import InvalidInputError, StateError
from ..files import check_paths, lock_file
from ..models.parsing import plain_costs
from ..models.records import other_columns
from ..models.schema import numbers_as_text
from ..models.tables import open_rows
from ..online import AdaptiveBalanced
from ..scale.command import executor_for
from ..scale.reading import chunks_ahead
from ..validation.text import printable
from ..validation.values import check_choice, invalid
from .columns import distinct_texts, id_error, known_columns, reader_options
from .decision_log import DecisionLog
from .late_labels import learn_labels
from .seen_rows import skip_seen
from .session import Session
from .settings import StreamSettings, new_session, resume_session, with_positive

WIDE_BITS = 24  # from here on the memory that hashed columns need is said
SAVING_SHARE = 0.05  # of the time at most; so even a stream that waits for rows is saved up to its last ones
MOST_AWAITED = 10_000  # labels that a state keeps rows for, unless set otherwise
SCHEMA = 1  # of the JSON
SYNC = ("never", "state", "chunk")


@dataclass(frozen=True)
class Places:
    """Where a stream reads from and writes to, and how.

    Parameters
    ----------
    source : str
        A file, or ``-`` for standard input.
    decisions : str or None
        The decision log: a file, or ``-`` for standard output.
    state : path or None
        The state to go on from, and to save to.
    existing : {"refuse", "append", "overwrite"}
        What to do with a log that the state does not know.
    sync : {"never", "state", "chunk"}
        When the log is synced to the disk: never, before each save of the state, or after each chunk.
    safe_csv : bool
        Whether labels in a CSV log that a spreadsheet would take for formulas get a ``'``.
    """

    source: str
    decisions: str | None = None
    state: Path | None = None
    existing: str = "refuse"
    sync: str = "state"
    safe_csv: bool = False

    def check(self, costs: str | None) -> None:
        """Raise unless every path can be used and no two outputs, or an output and an input, are one file."""
        check_choice("--sync", self.sync, SYNC)
        log = None if self.decisions in (None, "-") else Path(str(self.decisions))
        for option, place in (("--state", self.state), ("--decisions", log)):
            if place is not None and not place.absolute().parent.is_dir():
                raise invalid(option, "lie in a folder that exists", str(place))
        check_paths(
            inputs={"the input": sys.stdin.buffer if self.source == "-" else self.source, "the --costs file": costs},
            outputs={"--state": self.state, "--decisions": log},
        )

    def locked(self) -> ExitStack:
        """The locks of state and log, for the length of a ``with`` block."""
        with ExitStack() as held:
            if self.state is not None:
                held.enter_context(lock_file(self.state))
            if self.decisions not in (None, "-") and not _is_device(str(self.decisions)):
                held.enter_context(lock_file(str(self.decisions)))
            return held.pop_all()


def _is_device(path: str) -> bool:
    return os.path.exists(path) and not os.path.isfile(path)


def run_stream(
    places: Places,
    settings: StreamSettings,
    *,
    reader: dict[str, Any],
    chunk: int,
    skip: bool,
    quiet: bool,
    as_json: bool,
    most_awaited: int | None = None,
    cluster: str | None = None,
    n_jobs: int | None = None,
) -> None:
    """One pass: decide, perhaps ask, perhaps learn, chunk by chunk; ``-`` reads standard input."""
    source, format = open_rows(places.source, reader.get("format"))
    if (cluster is not None or n_jobs is not None) and not is_several(source):
        option, given = ("--cluster", cluster) if cluster is not None else ("--jobs", n_jobs)
        raise invalid(option, "come with a folder or pattern of parts, which are decoded ahead", given)
    if most_awaited and places.state is None:
        raise invalid("--await", "come with --state, which keeps the rows", most_awaited)
    places.check(settings.costs)
    settings = with_positive(settings)
    session = new_session(settings)
    console = Console(stderr=True, quiet=quiet)
    if settings.hash_bits is not None and settings.hash_bits >= WIDE_BITS:
        size = f"{8 * 2**settings.hash_bits / 1e9:.1f} GB"
        console.print(f"--hash-bits {settings.hash_bits} needs {size} of memory for each vector of weights.")
    with places.locked(), executor_for(cluster, n_jobs) as executor:
        state = places.state
        if state is not None and state.exists():
            session = resume_session(_load(state), settings, state)
        said = _await(session, most_awaited if state is not None else 0)
        chunks, more = _chunks(session, source, reader | {"format": format}, chunk, skip, executor)
        log = DecisionLog(
            places.decisions, session.mark, rounds=session.rounds, existing=places.existing, id=session.side.id
        )
        log.safe_csv = places.safe_csv
        if session.side.cost_columns and not session.side.keep:
            names = ", ".join(session.side.cost_columns)
            note = f"Not learned from, since they hold costs: {names}. --keep-cost-columns learns from them too."
            console.print(printable(note), highlight=False, markup=False, soft_wrap=True)
        for note in (*said, *more):
            Console(stderr=True).print(printable(note), highlight=False, markup=False, soft_wrap=True)
        _Pass(session, log, places, console).run(chunks, settings.positive)
    if session.rounds == 0:
        raise invalid("the stream", "hold at least one row", "none")
    print_summary(session, as_json, to_stderr=places.decisions == "-", quiet=quiet)


def _load(state: Path) -> Session:
    """The session of a state; an error names the option and what to do."""
    try:
        return Session.load(state)
    except StateError as error:
        raise StateError(f"--state {error} Give a state of steelyard stream, or a new file to begin anew.") from None


def _await(session: Session, most: int | None) -> list[str]:
    """How many labels may be awaited from here on; what is to be said about those that are given up."""
    known = MOST_AWAITED if session.most_awaited is None else session.most_awaited
    gone = session.await_at_most(known if most is None else most)
    return [f"given up: {gone:,} labels that were awaited; their part of the budget is free again."] if gone else []


def _chunks(
    session: Session, source: Any, reader: dict[str, Any], rows: int, skip: bool, executor: Executor | None
) -> tuple[Iterator[Dataset], list[str]]:
    """The rows to come, and what is to be said of them before."""
    side, said = session.side, []
    how = reader | reader_options(side, reader["format"])
    options = known_columns(session.encoder.nominal, session.order, how)
    with _own_words(session):
        if executor is None:
            found = iter_chunks(source, rows=rows, **options)
        else:
            found = chunks_ahead(as_parts(source, options.pop("format")), executor, rows=rows, **options)
    chunks = _named(found, session)
    if skip and session.rounds:
        if session.seen is None:
            said.append(
                "--skip-seen cannot tell whether this is the input that the state began with: it keeps no digest."
            )
        chunks = skip_seen(chunks, session.rounds, session.seen)
    return chunks, said


def _named(chunks: Iterator[Dataset], session: Session) -> Iterator[Dataset]:
    """The chunks, with errors in the words of the command line."""
    with _own_words(session):
        yield from chunks


@contextmanager
def _own_words(session: Session) -> Iterator[None]:
    """A reader that misses the column of ids, or one of texts, says so in the words of the command line."""
    try:
        yield
    except InvalidInputError as error:
        if isinstance(error, UnknownColumnError) and error.column in session.encoder.nominal:
            raise other_columns(session.encoder.columns, f"no column {error.column!r}") from None
        raise id_error(error, session.side) from None


def run_labels(
    labels: str,
    places: Places,
    settings: StreamSettings,
    *,
    target: str | None,
    reader: dict[str, Any],
    quiet: bool,
    as_json: bool,
) -> None:
    """Learn the labels of a file that rows of the state have been waiting for; all of them, or none."""
    state = places.state
    if state is None or not state.exists():
        raise invalid("--state", "be the state whose labels have come", None if state is None else str(state))
    read: Any = sys.stdin.buffer if labels == "-" else labels
    check_paths(inputs={"the --labels file": read}, outputs={"--state": state})
    with places.locked():
        session = resume_session(_load(state), with_positive(settings), state)
        learned = learn_labels(session, labels, target=target, **reader)
        session.save(state)
    if not quiet:
        left = f"{len(session.awaited):,} still awaited" if session.awaited else "none awaited any more"
        Console(stderr=True).print(f"{learned:,} labels learned, {left}.", highlight=False)
    print_summary(session, as_json, to_stderr=False, quiet=quiet)


class _Pass:
    """The loop over the chunks: learned, then logged, then, now and then, saved; the log is on disk before the state.

    So a state never speaks of decisions that the log has not, however the process ends.
    """

    def __init__(self, session: Session, log: DecisionLog, places: Places, console: Console) -> None:
        self.session, self.log, self.console = session, log, console
        self.state, self.sync = places.state, places.sync
        self.rounds = self.saved = session.rounds  # rows that are learned, counted and logged; those of the state
        self.taken = False  # whether there is anything to save that the file has not

    def run(self, chunks: Iterator[Dataset], positive: str | None) -> None:
        """Take every chunk; what is done is kept if one of them fails."""
        session = self.session
        try:
            with Progress(
                SpinnerColumn(),
                TextColumn("{task.description}"),
                TimeElapsedColumn(),
                console=self.console,
                disable=not self.console.is_terminal,  # else its last state would stand before the summary or error
            ) as progress:
                task = progress.add_task("waiting for the first rows", total=None)
                saved, saving = time.monotonic(), 0.0
                for part in chunks:
                    self.take(part, positive)
                    progress.update(task, description=described(session))
                    began = time.monotonic()
                    if saving <= SAVING_SHARE * (began - saved):
                        self.save()
                        saved = time.monotonic()
                        saving = saved - began
        except KeyboardInterrupt:
            said = printable(f"stopped after {self.rounds:,} rows.{self._kept()}")
            self.console.print(said, highlight=False, markup=False)
            raise
        finally:
            try:
                if self.taken and self.is_whole:
                    self.save()
            finally:
                self.log.close()

    @property
    def is_whole(self) -> bool:
        """Whether what the learner has seen is counted and logged, too; an interrupt may come in between."""
        return self.session.rounds == self.rounds

    def _kept(self) -> str:
        if self.state is None:
            return ""
        if self.is_whole:
            return f" What was learned is in {self.state}."
        return f" {self.state} holds the first {self.saved:,}; --skip-seen goes on from there."

    def take(self, part: Dataset, positive: str | None) -> None:
        """Learn a chunk and log it. No file is touched before the first chunk is learned: it may be refused."""
        session, start = self.session, self.session.rounds
        trace, ids = session.take(part, positive)
        if not self.taken:
            self._note_texts(part, start)
            self._open_log(start)
        self.taken = True
        before = self.log.mark
        try:
            self.log.write(start, trace, session.labels, ids)
            if self.sync == "chunk":
                self.log.sync()
        except KeyboardInterrupt:
            if self.log.is_file:  # written all the same: it is learned and soon done
                if self.log.mark == before:
                    self.log.rewind()
                    self.log.write(start, trace, session.labels, ids)
                self.rounds = session.rounds
            raise
        self.rounds = session.rounds

    def _note_texts(self, part: Dataset, start: int) -> None:
        """Say which columns of a new stream are texts although their cells look like numbers."""
        meant = {*self.session.encoder.text, *self.session.encoder.url, *self.session.side.beside}
        for name in part.nominal if start == 0 else ():
            reason = None if name in meant else numbers_as_text(distinct_texts(part, name))
            if reason is not None:
                note = f"Column {name!r} is learned as text: {reason}."
                self.console.print(printable(note), highlight=False, markup=False, soft_wrap=True)

    def _open_log(self, start: int) -> None:
        """Open the log; before its first line the state learns of it, or it would not recognise it afterwards."""
        self.log.open()
        for note in self.log.notes:
            Console(stderr=True).print(printable(note), highlight=False, markup=False, soft_wrap=True)
        if self.state is None or not self.log.is_file:
            return
        if start == 0:
            self.session.newborn(self.log.mark).save(self.state)
        elif self.session.mark != self.log.mark:
            before = Session.load(self.state)  # the chunk is learned already, and the log does not have it yet
            before.mark = self.log.mark
            before.save(self.state)

    def save(self) -> None:
        """Save the state, after the log it speaks of."""
        if self.state is None:
            return
        if self.sync != "never":
            self.log.sync()
        self.session.mark = self.log.mark
        self.session.save(self.state)
        self.saved = self.session.rounds


def described(session: Session) -> str:
    """The live line."""
    judged = "no labels yet"
    if session.counts.total():
        judged = f"cost {session.cost():,.6g}  F1 {session.counts.f1():.4f}"
    return f"{session.rounds:,} rows  {judged}  labels {session.learner.n_queried_:,}"


def summary(session: Session) -> dict[str, Any]:
    """Numbers of the whole stream so far; what no label has shown yet is None."""
    recalls, labelled = session.counts.recalls(), session.counts.total()
    numbers: dict[str, Any] = {
        "rows": session.rounds,
        "labels_asked": session.learner.n_queried_,
        "labels_awaited": len(session.awaited),
        "labels_known": labelled,
        "updates": session.learner.n_updates_,
        "cost": session.cost() if labelled else None,
        "f1": session.counts.f1() if labelled else None,
    }
    if len(recalls) > 2:
        return numbers | {"recall": {str(k): r for k, r in zip(session.labels, recalls, strict=True)}}
    numbers |= {"sensitivity": recalls[1], "specificity": recalls[0]}
    return numbers | {"negative": session.labels[0], "positive": session.labels[1]}


def print_summary(session: Session, as_json: bool, *, to_stderr: bool, quiet: bool) -> None:
    """Print the numbers of the stream, on standard error where decisions go to standard output."""
    numbers = summary(session)
    out = sys.stderr if to_stderr else sys.stdout
    if as_json:
        out.write(json.dumps({"schema": SCHEMA, "data": session.seen, "costs": _costs(session)} | numbers) + "\n")
    elif not quiet:
        out.write("".join(f"{name:>14}  {_shown(value)}\n" for name, value in numbers.items()))


def _costs(session: Session) -> Any:
    """The costs as plain values: by class, or the columns that hold them."""
    spec = session.side.costs
    if spec is not None:
        return plain_costs(spec)
    costs = session.learner.costs
    return "balanced" if isinstance(costs, AdaptiveBalanced) else None if costs is None else plain_costs(costs)


def _shown(value: Any) -> str:
    if isinstance(value, dict):
        return "  ".join(f"{printable(name)} {_shown(inner)}" for name, inner in value.items())
    if value is None:
        return "no labels"
    return f"{value:.6g}" if isinstance(value, float) else printable(value)
