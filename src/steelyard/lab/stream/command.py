"""What the command ``steelyard stream`` does."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from ..._checks import check_choice, complain
from ...data import Dataset, iter_chunks
from ...online import OnlineClassifier
from .decisions import DecisionFile
from .preparation import Preparation
from .session import Session
from .spelled import label_budget, query_rule, stream_costs, update_rule

SECONDS_BETWEEN_SAVES = 5.0


@dataclass(frozen=True)
class Settings:
    """What the user asked for, still as it was spelled."""

    update: str = "CSOGD2"
    query: str = "AskAll"
    budget: str | None = None
    costs: str | None = None
    classes: str | None = None
    positive: str | None = None
    threshold: float = 0.0
    after_budget: str = "last"
    intercept: bool = False
    seed: int = 0
    scale: str = "auto"
    hash_bits: int | None = None


def run_stream(
    source: str,
    settings: Settings,
    *,
    reader: dict[str, Any],
    chunk: int,
    decisions: str | None,
    state: Path | None,
    again: bool,
    quiet: bool,
    as_json: bool,
) -> None:
    """One pass: decide, perhaps ask, perhaps learn, chunk by chunk; ``-`` reads standard input."""
    resumed = state is not None and state.exists()
    session = Session.load(state) if state is not None and resumed else begun(settings)
    skip = session.rounds if again else 0
    chunks = rest_of(iter_chunks(sys.stdin.buffer if source == "-" else source, rows=chunk, **reader), skip)
    file = DecisionFile(decisions, session.written if resumed else 0)
    console = Console(stderr=True, quiet=quiet)
    settled = True  # false while decisions are learned from and not yet written
    try:
        with Progress(
            SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn(), console=console
        ) as progress:
            task = progress.add_task("waiting for the first rows", total=None)
            saved = time.monotonic()
            for part in chunks:
                start = session.rounds
                trace = session.take(part, settings.positive)
                settled = False
                assert session.labels is not None
                session.written = file.write(start, trace, session.labels)
                settled = True
                progress.update(task, description=described(session))
                if state is not None and time.monotonic() - saved > SECONDS_BETWEEN_SAVES:
                    session.save(state)
                    saved = time.monotonic()
    finally:
        file.close()
        if state is not None and session.rounds and settled:
            session.save(state)
    if session.rounds == 0:
        raise complain("the stream", "hold at least one row", "none")
    tell(session, as_json, to_stderr=decisions == "-", quiet=quiet)


def begun(settings: Settings) -> Session:
    """A new stream."""
    classes = None
    if settings.classes is not None:
        names = [name.strip() for name in settings.classes.split(",")]
        if len(names) != 2 or names[0] == names[1] or settings.positive not in (None, *names):
            raise complain("--classes", "name two labels, the negative one first", settings.classes)
        classes = (names[0], names[1]) if settings.positive in (None, names[1]) else (names[1], names[0])
    model = OnlineClassifier(
        update_rule(settings.update),
        query=query_rule(settings.query),
        budget=label_budget(settings.budget),
        costs=stream_costs(settings.costs),
        threshold=settings.threshold,
        after_budget=check_choice("--after-budget", settings.after_budget, ("last", "average")),
        fit_intercept=settings.intercept,
        seed=settings.seed,
    )
    return Session(model, Preparation(settings.scale, settings.hash_bits), classes)


def rest_of(chunks: Iterator[Dataset], skip: int) -> Iterator[Dataset]:
    """Leave out rows that were decided before."""
    for chunk in chunks:
        n = chunk.X.shape[0]
        if skip >= n:
            skip -= n
            continue
        if skip:
            rows = chunk.X.iloc[skip:] if hasattr(chunk.X, "iloc") else chunk.X[skip:]
            chunk = replace(chunk, X=rows, y=None if chunk.y is None else chunk.y[skip:])
            skip = 0
        yield chunk


def described(session: Session) -> str:
    """The live line."""
    return (
        f"{session.rounds:,} rows  cost {session.cost():,.6g}  F1 {session.tally.f1():.4f}  "
        f"labels {session.model.n_asked_:,}"
    )


def summary(session: Session) -> dict[str, Any]:
    """Numbers of the whole stream so far."""
    t = session.tally
    return {
        "rows": session.rounds,
        "labels_asked": session.model.n_asked_,
        "updates": session.model.n_updates_,
        "cost": session.cost(),
        "f1": t.f1(),
        "sensitivity": t.hits / (t.hits + t.misses) if t.hits + t.misses else None,
        "specificity": t.passes / (t.passes + t.alarms) if t.passes + t.alarms else None,
        "negative": session.labels[0] if session.labels else None,
        "positive": session.labels[1] if session.labels else None,
    }


def tell(session: Session, as_json: bool, *, to_stderr: bool, quiet: bool) -> None:
    """The last words; decisions on standard output keep it to themselves."""
    numbers = summary(session)
    out = sys.stderr if to_stderr else sys.stdout
    if as_json:
        out.write(json.dumps(numbers) + "\n")
    elif not quiet:
        out.write("".join(f"{name:>13}  {_shown(value)}\n" for name, value in numbers.items()))


def _shown(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)
