"""The command predict: a file of rows in, decisions out, in memory that does not grow with the rows."""

from __future__ import annotations

import inspect
import json
import os
import shutil
import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, BinaryIO

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from ..costs import Costs
from ..costs._showing import format_amount
from ..costs.spec import ROLES, CostCellError, CostSpec
from ..data.chunks import iter_chunks
from ..data.columns import UnknownColumnError
from ..data.dataset import Dataset
from ..data.digest import NO_ROWS, rows_digest
from ..data.formats import FORMATS
from ..data.parquet import arrow_names
from ..errors import CostsError, CostsWarning, DataFileError, InvalidInputError, StateError
from ..evaluate.capacity import at_most
from ..files import check_new, check_paths, write_atomically
from ..validation.arrays import len_rows
from ..validation.text import printable
from ..validation.values import check_count, check_number, invalid
from .cost_interval import ExpectedCostMean
from .model import Decisions, Model
from .notices import Notices
from .outputs import (
    DECISION,
    EXPECTED,
    REASONS,
    RowWriter,
    check_carried,
    holds_decisions,
    kept_as_text,
    output_format,
    proba_names,
    row_writer,
)
from .parsing import costs_option, plain_costs
from .rows import BadCellError, missing_column
from .storage import load_model
from .stream_state import StreamState
from .tables import named_rows, open_rows


@dataclass(frozen=True)
class PredictOptions:
    """What the options of the command say."""

    format: str | None = None
    out: Path | None = None
    id: str | None = None
    keep: Sequence[str] = ()
    proba: bool = False
    explain: int | None = None
    costs: str | None = None
    cost_columns: dict[str, str] = field(default_factory=dict)
    typical: bool = False
    abstain: float | None = None
    capacity: int | None = None
    chunk: int = 10_000
    as_json: bool = False
    quiet: bool = False
    safe_csv: bool | None = None
    overwrite: bool = False


def run_predict(path: Path, file: str, options: PredictOptions) -> None:
    """Write one line a row: the decision and, where the model knows it, its expected cost."""
    source = None if file == "-" else Path(file)
    check_paths(inputs={"the model": path, "the input": source}, outputs={"--out": options.out})
    kind = output_format(options.out)
    check_new("--out", options.out, overwrite=options.overwrite, earlier=lambda path: holds_decisions(path, kind))
    model = load_model(path)
    check_carried("--id and --keep", _carried(options), _written(model, options))
    job: _Job | _StreamJob
    if isinstance(model, StreamState):
        job = _StreamJob(model, file, options)
    elif isinstance(model, Model):
        job = _Job(model, file, options, _spec(model, options))
    else:
        held = type(model).__name__
        raise StateError(f"{path} must be a model of compare or a state of stream; it holds a {held}.")
    try:
        with _destination(options.out) as lines:
            terminal = options.out is None and sys.stdout.isatty()
            safe = options.out is not None if options.safe_csv is None else options.safe_csv
            writer = row_writer(kind, lines, safe=safe, terminal=terminal)
            try:
                job.run(writer)
            finally:
                job.close()
            writer.close()
    except BrokenPipeError:  # whoever read has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return
    job.summarize()


@contextmanager
def _destination(out: Path | None) -> Iterator[BinaryIO]:
    if out is not None:
        with write_atomically(out) as file:
            yield file
        return
    sys.stdout.flush()
    yield sys.stdout.buffer
    sys.stdout.buffer.flush()


def _spec(model: Model, options: PredictOptions) -> CostSpec | Costs | None:
    """Costs as the options state them; what a column option leaves open is as in training."""
    roles = options.cost_columns
    two = len(model.classes_) == 2
    if roles and not two:
        got = f"{len(model.classes_)} classes"
        raise invalid("cost columns", "be given for two classes", got, error=CostsError)
    plus = model.classes_[model.costs.positive_index()] if two else None
    if roles and options.costs is None:
        usual = CostSpec("fn", "fp", "tp", "tn", positive=plus).mean(replace(model.costs, abstain=None))
        return replace(usual, abstain=None if model.costs.abstain is None else model.costs.mean_price(), **roles)
    stated = costs_option(options.costs, roles)
    if isinstance(stated, str):
        raise invalid("--costs", "be numbers, columns or a file; new rows have no labels to balance", options.costs)
    if isinstance(stated, CostSpec) and stated.positive is None:
        return replace(stated, positive=plus)  # a miss is about the class it was about when the model was compared
    return stated


class _Job:
    """One run of the command: chunks in, lines out, and what was noticed on the way."""

    def __init__(self, model: Model, file: str, options: PredictOptions, spec: CostSpec | Costs | None) -> None:
        self.model, self.file, self.options, self.spec = model, file, options, spec
        self.digest = NO_ROWS  # of the rows, for the summary
        self.notices = Notices(model)
        self.decided: Counter[str] = Counter()
        self.expected_mean = ExpectedCostMean(model.judged_rows)
        self.spool: BinaryIO | None = None
        self._held = ExitStack()
        self.said: list[str] = [] if spec is None else self._about_new_costs(spec)

    def _about_new_costs(self, spec: CostSpec | Costs) -> list[str]:
        """What to know before prices are used that the model was not compared with."""
        training, note = self.model.training, self.model.note_on_new_costs()
        known = self.model.costs if training is None or training.cost_spec is None else training.cost_spec
        return [] if note is None or self._prices(spec) == self._prices(known) else [note]

    def _prices(self, costs: CostSpec | Costs) -> Any:
        """Numbers and names of columns, to compare."""
        if isinstance(costs, CostSpec) and costs.columns:
            return {role: getattr(costs, role) for role in ROLES}
        made = costs.costs(classes=self.model.classes_) if isinstance(costs, CostSpec) else costs
        matrix = made.aligned(self.model.classes_).matrix
        return None if matrix is None else matrix.tolist()

    def run(self, writer: RowWriter) -> None:
        """Decide and write chunk by chunk; a limit on actions needs a look at all rows before."""
        limited = None if self.options.capacity is None else self._limited(self.options.capacity)
        first = 0
        for table in self._tables():
            weighed = self._weigh(table, first)
            if limited is not None and weighed is not None:
                weighed = weighed._replace(decided=limited[first : first + len_rows(table)])
            self.notices.look(table)
            writer.write(self._columns(table, weighed))
            first += len_rows(table)
        if first == 0:
            raise invalid("the file", "have rows", self.file)

    def _limited(self, capacity: int) -> NDArray[np.intp]:
        limit, plus = check_count("--capacity", capacity, at_least=0), self.model.limited_class("--capacity")
        found, first = [], 0
        for table in self._tables():
            weighed = self._weigh(table, first)
            if weighed is None:
                raise invalid("--capacity", "come with a model that knows probabilities", self.model.name)
            found.append(weighed.expected)
            first += len_rows(table)
        self.said.append(f"--capacity looks at all rows first: {first:,} expected costs are held in memory.")
        if not found:
            return np.empty(0, dtype=np.intp)
        limited = at_most(np.concatenate(found), limit, action=plus)
        saved = format_amount(limited.next_place, self._currency)
        self.said.append(f"One more place would save {saved}.")
        return limited.decisions

    def _tables(self) -> Iterator[Any]:
        """Frames, or sparse rows, of one chunk each."""
        source, kind = open_rows(self.file, self.options.format)
        if self.file == "-" and self.options.capacity is not None:
            source = self._spooled(source)
        columns = self.model.columns
        if columns.sparse is not (kind == "libsvm"):
            raise invalid("the file", "be LIBSVM, or not, like the one the model was fitted on", self.file)
        numbers = {*columns.numeric, *self.model.cost_columns.values(), *self._cost_columns()}
        carried = kept_as_text(_carried(self.options), numbers, output_format(self.options.out))
        wanted = {
            "nominal": list(dict.fromkeys([*columns.as_written, *carried])),
            "n_features": len(columns.numeric),
        }
        takes = inspect.signature(FORMATS[kind].chunks).parameters
        wanted = {k: v for k, v in wanted.items() if k in takes and (k != "n_features" or columns.sparse)}
        if kind in ("parquet", "arrow") and Path(self.file).is_file():  # what nobody looks at need not be readable
            needed = {*columns.used, *numbers, *_carried(self.options)}
            wanted["drop"] = [name for name in arrow_names(source) if name not in needed]
        chunks = iter_chunks(source, rows=check_count("--chunk", self.options.chunk), format=kind, **wanted)
        self.digest = NO_ROWS
        return (chunk.X if columns.sparse else named_rows(chunk) for chunk in self._noted(chunks))

    @property
    def _currency(self) -> str | None:
        """What the prices are in: as stated here, else as in training."""
        stated = None if self.spec is None else self.spec.currency
        return self.model.costs.currency if stated is None else stated

    def _cost_columns(self) -> list[str]:
        return list(self.spec.columns.values()) if isinstance(self.spec, CostSpec) else []

    def _noted(self, chunks: Iterator[Dataset]) -> Iterator[Dataset]:
        """The chunks; the digest of their rows is for the summary alone."""
        for chunk in _with_columns(chunks, self.options):
            self.digest = rows_digest(self.digest, chunk) if self.options.as_json else self.digest
            yield chunk

    def _spooled(self, pipe: BinaryIO) -> BinaryIO:
        """What came through a pipe, in a file without a name, so that it can be read twice."""
        if self.spool is None:
            self.spool = self._held.enter_context(tempfile.TemporaryFile())  # noqa: SIM115 - the stack closes it
            shutil.copyfileobj(pipe, self.spool)
        self.spool.seek(0)
        return self.spool

    def _weigh(self, table: Any, first: int) -> Decisions | None:
        """None for a model without probabilities."""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", CostsWarning)
            try:
                costs = self._costs(table)
                if self.model.has_probabilities:
                    return self.model.weigh(table, costs=costs, typical=self.options.typical)
                self._decisions = self.model.predict(table, costs=costs, typical=self.options.typical)
            except BadCellError as bad:
                place = f"{self.file}, row {first + bad.row + 1}, column {bad.column!r}"
                raise DataFileError(f"{place}: expected {bad.rule}; got {bad.cell!r}.") from None
            except CostCellError as bad:
                raise bad.in_file(self.file, first) from None
            finally:
                self.said += [s for w in caught if (s := str(w.message)) not in self.said]
        return None

    def _costs(self, table: Any) -> Costs | None:
        if isinstance(self.spec, CostSpec):
            own = self.spec.costs(table, classes=self.model.classes_).aligned(self.model.classes_)
            made: Costs | None = replace(own, abstain_label=self.model.costs.abstain_label)
        else:
            made = self.spec
        if self.options.abstain is None:
            return made
        price = check_number("--abstain", self.options.abstain)
        agreed = self.model.costs if made is None else made
        if made is None:
            agreed = self.model._row_costs(table, None, self.options.typical) or agreed
        return agreed.with_abstain(price, label=self.model.costs.abstain_label)

    def _columns(self, table: Any, weighed: Decisions | None) -> dict[str, Sequence[Any]]:
        found = _kept(table, self.options)
        decisions = self._decisions if weighed is None else weighed.decisions
        found[DECISION] = decisions.tolist()
        self.decided.update(map(str, decisions.tolist()))
        if weighed is not None:
            found[EXPECTED] = weighed.expected_cost.tolist()
            self.expected_mean.add(weighed)
            if self.options.proba:
                names = proba_names(self.model.classes_.tolist())
                found |= {name: weighed.proba[:, k].tolist() for k, name in enumerate(names)}
        if self.options.explain is not None:
            reasons = self.model.explain(table, self.options.explain)
            found[REASONS] = ["; ".join(f"{r['column']} {r['change']:+.3f}" for r in row) for row in reasons]
        return found

    def close(self) -> None:
        """Let go of what came through a pipe."""
        self._held.close()

    def summarize(self) -> None:
        """What was decided and what was unusual, on standard error."""
        if self.options.as_json:
            expected = self.expected_mean.interval() if self.expected_mean.rows else None
            body = {"schema": 1, "model": self.model.name, "rows": self.notices.rows, "decisions": dict(self.decided)}
            body |= {"expected_cost": None if expected is None else expected.value, "currency": self._currency}
            ends = None if expected is None or not np.isfinite(expected.high) else [expected.low, expected.high]
            stated = self.spec or (None if self.model.training is None else self.model.training.cost_spec)
            body |= {"data": self.digest, "costs": plain_costs(stated or self.model.costs)}
            body |= {"expected_cost_interval": ends, "columns": self.notices.as_dict()}
            sys.stderr.write(json.dumps(body | {"notes": self.said}) + "\n")
        elif not self.options.quiet:
            for line in [*self.said, *self.notices.lines()]:
                sys.stderr.write(printable(line) + "\n")


class _StreamJob:
    """The same for the state of a stream: decisions by the weights it has; nothing is learned."""

    def __init__(self, state: StreamState, file: str, options: PredictOptions) -> None:
        self.state, self.file, self.options = state, file, options
        self.digest = NO_ROWS
        self.decided: Counter[str] = Counter()
        asked = {
            "--costs": options.costs,
            "--abstain": options.abstain,
            "--capacity": options.capacity,
            "--explain": options.explain,
            "--proba": options.proba or None,
            "cost columns": options.cost_columns or None,
        }
        for name, value in asked.items():
            if value is not None:
                raise invalid(name, "be left out for the state of a stream, which knows scores only", value)

    def run(self, writer: RowWriter) -> None:
        """Decide and write chunk by chunk."""
        source, kind = open_rows(self.file, self.options.format)
        columns = self.state.encoder.columns
        takes = inspect.signature(FORMATS[kind].chunks).parameters
        wide = {"n_features": columns} if isinstance(columns, int) and "n_features" in takes else {}
        numbers = columns if isinstance(columns, tuple) else ()
        texts = self.state.encoder.nominal  # also where all of them look like numbers here
        carried = [*texts, *(c for c in _carried(self.options) if c not in numbers)]
        nominal = {"nominal": list(dict.fromkeys(carried))} if "nominal" in takes else {}
        rows = check_count("--chunk", self.options.chunk)
        for chunk in _with_columns(iter_chunks(source, rows=rows, format=kind, **wide, **nominal), self.options):
            self.digest = rows_digest(self.digest, chunk) if self.options.as_json else self.digest
            table = named_rows(chunk)
            decisions = self.state.predict(table)
            self.decided.update(map(str, decisions.tolist()))
            writer.write(_kept(table, self.options) | {DECISION: decisions.tolist()})
        if not self.decided:
            raise invalid("the file", "have rows", self.file)

    def close(self) -> None:
        """Nothing is held."""

    def summarize(self) -> None:
        """What was decided, on standard error, for machines."""
        if self.options.as_json:
            body = {"schema": 1, "rows": self.decided.total(), "decisions": dict(self.decided), "data": self.digest}
            body["costs"] = plain_costs(self.state.costs)
            sys.stderr.write(json.dumps(body) + "\n")


def _written(model: Any, options: PredictOptions) -> list[str]:
    """Names of the columns beside those that go along."""
    if not isinstance(model, Model):
        return [DECISION]
    proba = proba_names(model.classes_.tolist()) if options.proba else []
    return [DECISION, EXPECTED, *proba, *([] if options.explain is None else [REASONS])]


def _carried(options: PredictOptions) -> list[str]:
    return list(dict.fromkeys([*([] if options.id is None else [options.id]), *options.keep]))


def _with_columns(chunks: Iterator[Dataset], options: PredictOptions) -> Iterator[Dataset]:
    """The chunks; a column that is missing is named as the user knows it."""
    try:
        yield from chunks
    except UnknownColumnError as unknown:
        if unknown.column in _carried(options):
            raise _not_carried(unknown.known, unknown.column) from None
        raise missing_column(unknown.column) from None


def _not_carried(known: str, name: str) -> InvalidInputError:
    return invalid("--id and --keep", f"name columns of the file ({known})", name)


def _kept(table: Any, options: PredictOptions) -> dict[str, Sequence[Any]]:
    """The columns of the input that go along with the decisions."""
    frame = nw.from_native(table, eager_only=True, pass_through=True)
    found: dict[str, Sequence[Any]] = {}
    for name in _carried(options):
        if not isinstance(frame, nw.DataFrame) or name not in frame.columns:
            known = ", ".join(frame.columns) if isinstance(frame, nw.DataFrame) else "none"
            raise _not_carried(known, name)
        found[name] = frame[name].to_list()
    return found
