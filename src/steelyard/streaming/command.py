"""What the command ``steelyard stream`` does."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from ..costs import Costs
from ..data import Dataset, iter_chunks
from ..data.formats import FORMATS
from ..models.parsing import label_budget, query_rule, stream_costs, update_rule
from ..models.records import Preparation
from ..online import CSOGD1, CSOGD2, OnlineClassifier, OnlineCostClassifier
from ..validation.values import check_choice, invalid
from .decision_log import DecisionFile
from .session import Session

WIDE_BITS = 24  # from here on the memory that hashed columns need is said
SAVING_SHARE = 0.05  # of the time at most; so even a stream that waits for rows is saved up to its last ones


@dataclass(frozen=True)
class Settings:
    """What the user asked for, still as it was spelled."""

    update: str | None = None
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
    if source == "-" and "format" not in reader:
        raise invalid("--format", f"be one of {', '.join(FORMATS)} where rows come from standard input", None)
    for option, place in (
        ("--state", state),
        ("--decisions", Path(decisions) if decisions and decisions != "-" else None),
    ):
        if place is not None and not place.absolute().parent.is_dir():
            raise invalid(option, "lie in a folder that exists", str(place))
    resumed = state is not None and state.exists()
    session = begun(settings)
    if state is not None and resumed:
        session = taken_up(Session.load(state), settings, state)
    skip = session.rounds if again else 0
    chunks = rest_of(iter_chunks(sys.stdin.buffer if source == "-" else source, rows=chunk, **reader), skip)
    file = DecisionFile(decisions, session.written if resumed else 0)
    console = Console(stderr=True, quiet=quiet)
    if settings.hash_bits is not None and settings.hash_bits >= WIDE_BITS:
        size = f"{8 * 2**settings.hash_bits / 1e9:.1f} GB"
        console.print(f"--hash-bits {settings.hash_bits} needs {size} of memory for each vector of weights.")
    settled = True  # false while decisions are learned from and not yet written
    try:
        with Progress(
            SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn(), console=console
        ) as progress:
            task = progress.add_task("waiting for the first rows", total=None)
            saved, saving = time.monotonic(), 0.0
            for part in chunks:
                start = session.rounds
                trace = session.take(part, settings.positive)
                settled = False
                session.written = file.write(start, trace, session.labels)
                settled = True
                progress.update(task, description=described(session))
                began = time.monotonic()
                if state is not None and saving <= SAVING_SHARE * (began - saved):
                    session.save(state)
                    saved = time.monotonic()
                    saving = saved - began
    except KeyboardInterrupt:
        kept = "" if state is None else f" What was learned is in {state}."
        console.print(f"stopped after {session.rounds:,} rows.{kept}", highlight=False, markup=False)
        raise
    finally:
        file.close()
        if state is not None and session.rounds and settled:
            session.save(state)
    if session.rounds == 0:
        raise invalid("the stream", "hold at least one row", "none")
    tell(session, as_json, to_stderr=decisions == "-", quiet=quiet)


def begun(settings: Settings) -> Session:
    """A new stream. Everything the user spelled is read at once, the learner is built when the labels are known."""
    classes = None if settings.classes is None else _named_labels(settings.classes, settings.positive)
    update = None if settings.update is None else update_rule(settings.update)
    query, budget, costs = query_rule(settings.query), label_budget(settings.budget), stream_costs(settings.costs)
    after_budget = check_choice("--after-budget", settings.after_budget, ("last", "average"))
    shared = {"query": query, "budget": budget, "after_budget": after_budget, "seed": settings.seed}

    def make(labels: tuple[Any, ...]) -> OnlineClassifier | OnlineCostClassifier:
        rest: Any = shared | {"costs": _among(costs, labels), "fit_intercept": settings.intercept}
        if len(labels) == 2:
            return OnlineClassifier(CSOGD2() if update is None else update, threshold=settings.threshold, **rest)
        if settings.threshold != 0:
            raise invalid("--threshold", "be left out where there are more than two labels", settings.threshold)
        return OnlineCostClassifier(CSOGD1() if update is None else update, **rest)

    return Session(make, Preparation(settings.scale, settings.hash_bits), classes)


def taken_up(session: Session, settings: Settings, state: Path) -> Session:
    """A stream that goes on. What is spelled again must be as it was: a state is not the place to change one's mind."""
    had, queried, silent = (
        _told(model) for model in (_model(session), *(begun(s).make(session.labels) for s in (settings, Settings())))
    )
    labels = list(map(str, session.labels))
    had |= {"classes": labels, "positive": labels[-1]}
    silent |= {"classes": None, "positive": None}
    queried |= {
        "classes": settings.classes and list(_named_labels(settings.classes, settings.positive)),
        "positive": settings.positive,
    }
    for name, value in queried.items():
        if value not in (silent[name], had[name]):
            option = "--" + ("intercept" if name == "fit_intercept" else name.replace("_", "-"))
            advice = "Leave the option out, or begin another --state."
            raise invalid(option, f"stay {had[name]}, as {state} was begun", value, advice)
    return session


def _told(model: OnlineClassifier | OnlineCostClassifier) -> dict[str, Any]:
    """Parameters in a form that can be compared and read, by the names of their options."""
    params = {name: getattr(value, "matrix", value) for name, value in model.get_params(deep=False).items()}
    return {name: value.tolist() if isinstance(value, np.ndarray) else value for name, value in params.items()}


def _named_labels(text: str, positive: str | None) -> tuple[str, ...]:
    """The labels of ``--classes``; of two the positive one last."""
    names = tuple(name.strip() for name in text.split(","))
    if len(names) < 2 or len(set(names)) < len(names) or not all(names):
        raise invalid("--classes", "name two labels or more, the negative one first", text)
    if positive is None:
        return names
    if len(names) > 2 or positive not in names:
        raise invalid("--positive", f"be one of two labels; --classes names {', '.join(names)}", positive)
    return tuple(sorted(names, key=lambda name: name == positive))


def _among(costs: Any, labels: tuple[Any, ...]) -> Any:
    """Costs over the positions of the labels, which is all that the learner sees of them."""
    if isinstance(costs, Costs) and costs.classes is not None:
        return Costs.from_matrix(costs.aligned(labels).matrix)
    if isinstance(costs, Costs) and len(labels) > 2:
        advice = "Give a .csv or .toml file with C[true, predicted]."
        raise invalid("--costs", f"be balanced or a matrix for {len(labels)} labels", "costs of two", advice)
    return costs


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
        f"labels {_model(session).n_queried_:,}"
    )


def summary(session: Session) -> dict[str, Any]:
    """Numbers of the whole stream so far."""
    recalls = session.tally.recalls()
    numbers: dict[str, Any] = {
        "rows": session.rounds,
        "labels_asked": _model(session).n_queried_,
        "updates": _model(session).n_updates_,
        "cost": session.cost(),
        "f1": session.tally.f1(),
    }
    if len(recalls) > 2:
        return numbers | {"recall": {str(k): r for k, r in zip(session.labels, recalls, strict=True)}}
    numbers |= {"sensitivity": recalls[1], "specificity": recalls[0]}
    return numbers | {"negative": session.labels[0], "positive": session.labels[1]}


def _model(session: Session) -> OnlineClassifier | OnlineCostClassifier:
    assert session.model is not None
    return session.model


def tell(session: Session, as_json: bool, *, to_stderr: bool, quiet: bool) -> None:
    """The last words; decisions on standard output keep it to themselves."""
    numbers = summary(session)
    out = sys.stderr if to_stderr else sys.stdout
    if as_json:
        out.write(json.dumps(numbers) + "\n")
    elif not quiet:
        out.write("".join(f"{name:>13}  {_shown(value)}\n" for name, value in numbers.items()))


def _shown(value: Any) -> str:
    if isinstance(value, dict):
        return "  ".join(f"{name} {_shown(inner)}" for name, inner in value.items())
    return f"{value:.6g}" if isinstance(value, float) else str(value)
