"""Learning from parts: in lanes side by side, or one after the other; the bits depend on the job alone."""

from __future__ import annotations

import os
import tempfile
import warnings
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone

from ..costs.rules import CostsLike
from ..costs.spec import CostSpec
from ..data import Parts
from ..data.parts import as_parts
from ..executors import workers_of
from ..files import reading
from ..online._saving import params_written
from ..validation.values import check_choice, check_count, invalid
from .dask import ClusterExecutor
from .job import KINDS, Job, WorkFolder, load_learner, part_entry
from .lanes import learn_alone, new_learner, readable_parts, run_lane, with_encoder
from .lbfgs import finish_lbfgs
from .merge import check_lanes, merge_lanes
from .progress import Progress
from .rows import encoder_for, first_chunk, join_sums, needs_scaling, read_spec, reader_in, scale_part, spec_entry
from .sample import fit_sample
from .tasks import executor_or_pool, run_tasks, say_nothing
from .trees import fit_trees, grows_on_a_cluster

__all__ = ["fit_parts"]

LONG = 5_000  # rows of a lane from which on lanes cost little, see bench/scale/lanes.md


def fit_parts(
    estimator: Any,
    parts: Parts | str | os.PathLike[str] | Sequence[Any],
    *,
    target: str | int | None = None,
    costs: CostsLike | CostSpec | str | None = None,
    classes: Sequence[Any] | None = None,
    lanes: int = 1,
    passes: int = 1,
    finish: str | None = None,
    max_passes: int = 20,
    work: str | os.PathLike[str] | None = None,
    executor: Executor | None = None,
    on_bad_part: str = "raise",
    scale: str = "none",
    hash_bits: int | None = None,
    sample: int | None = None,
    seed: int = 0,
    rows: int = 10_000,
    progress: bool = True,
    **options: Any,
) -> Any:
    """Fit an estimator on more rows than memory holds, here or on a cluster, with the same bits.

    Parts go to lanes by their index; a lane is one sequential pass. In the first pass of AROW the first lane learns
    alone and the others go on from what it knows; lanes are merged by a binary tree in their order. So the bits depend
    on the parts, ``lanes``, ``passes`` and the estimator, and on nothing else. ``lanes=1`` is ``fit`` on the
    concatenated rows, bit for bit.

    Parameters
    ----------
    estimator : OnlineClassifier, OnlineCostClassifier, LGBMClassifier, XGBClassifier or any with partial_fit
        It stays as it is; a fitted copy is returned. Trees need a Dask cluster and come back as an
        ExpectedCostClassifier, calibrated on every tenth part, with ``bits_reproducible_`` False.
    parts : Parts, folder, pattern, URL or list of files
        Columns of numbers and text, or LIBSVM. Where there is text, all columns are hashed together.
    target : str, int or None
        The column of labels; not needed for LIBSVM.
    costs : Costs, mapping, array-like, str or None
        In place of those of the estimator. Text such as ``"fn=amount,fp=2"`` names columns that hold a cost a row;
        they are no features.
    classes : sequence of labels or None
        All labels; found by a pass over the labels alone if None.
    lanes : int
        Learners side by side; more than one for AROW and SCW1 only. Lanes below 5,000 rows are warned of.
    passes : int
        Passes over the rows.
    finish : {None, "lbfgs"}
        After the online passes, L-BFGS on the cost-weighted logistic loss, of many classes the multinomial one.
    max_passes : int
        Passes of ``finish`` at most.
    work : path or None
        The folder of the job, which a later call goes on from; needed on a cluster, whose machines share it.
    executor : Executor or None
        A pool of processes if None; see :func:`on_dask`.
    on_bad_part : {"raise", "skip"}
        Whether a part that cannot be read is an error, or is left out as a whole and listed in ``skipped_parts_``.
    scale : {"none", "standard"}
        "standard" brings columns of numbers to mean 0 and deviation 1 by a pass before the first: sums of each part,
        added up in the order of the parts. Missing cells become the mean.
    hash_bits : int or None
        Hash all columns into 2^hash_bits features; 18 where there is text and None.
    sample : int or None
        Fit on about so many rows, drawn by (seed, part, row); for estimators that do not learn from parts.
    seed : int
        Of the sample.
    rows : int
        Rows read at a time.
    progress : bool
        Show a line on a terminal.
    **options : Any
        Of the reader: ``drop``, ``n_features``, ...

    Returns
    -------
    estimator
        The fitted copy. Where rows were encoded ``encoder_`` does it; :func:`predict_parts` and :func:`score_parts`
        know it, and so does the file that ``steelyard fit`` writes.
    """
    listed, model = as_parts(parts), clone(estimator)
    spec = read_spec(costs)
    if spec is not None and not spec.columns:
        costs, spec = spec.costs(), None
    if costs is not None and spec is None and not grows_on_a_cluster(model):
        model.set_params(costs=costs)
    check_count("passes", passes)
    check_choice("on_bad_part", on_bad_part, ("raise", "skip"))
    if finish is not None:
        check_choice("finish", finish, ("lbfgs",))
    reading_options = options if listed.format == "libsvm" else {**options, "target": target}
    skip, trees = on_bad_part == "skip", grows_on_a_cluster(model)
    at_a_time = {
        "scale": None if scale == "none" else scale,
        "hash_bits": hash_bits,
        "lanes": None if lanes == 1 else lanes,
        "passes": None if passes == 1 else passes,
        "finish": finish,
    }
    if sample is not None:
        _check_left_out("with sample=", at_a_time | {"costs": costs if trees else spec})
        listed, unreadable = readable_parts(listed, reading_options) if skip else (listed, [])
        count = check_count("sample", sample)
        drawn = fit_sample(model, listed, reading_options, count=count, seed=seed, rows=rows, skip=skip)
        return _finished(*drawn, unreadable)
    if trees:
        if spec is not None:
            raise invalid("costs", "be the same for all rows for trees", spec)
        _check_left_out("for trees", at_a_time | {"on_bad_part": on_bad_part if skip else None})
        found = list(listed.count_labels(**reading_options)) if classes is None else sorted(classes)
        return fit_trees(model, listed, reading_options, found, costs, executor, check_count("rows", rows))
    if not hasattr(model, "partial_fit"):
        hint = "Fit it on a sample: fit_parts(..., sample=1_000_000)."
        raise invalid("estimator", "learn from parts (have partial_fit)", estimator, hint)
    check_lanes(model, check_count("lanes", lanes))
    listed, unreadable = readable_parts(listed, reading_options) if skip else (listed, [])
    job = _job(model, listed, reading_options, classes, lanes, passes, check_count("rows", rows), skip)
    begin = first_chunk(listed, job.reading, reading_options)
    encoder = encoder_for(begin, spec, scale, hash_bits)
    width = begin.X.shape[1] if encoder is None else encoder.width
    job = replace(job, n_features=width, encoder=None if encoder is None else encoder.state(), costs=spec_entry(spec))
    if job.estimator["kind"] not in KINDS:
        if spec is not None:
            raise invalid("costs", f"name no columns for {job.estimator['kind']}", spec)
        return _finished(*learn_alone(model, job), unreadable)
    if work is None and isinstance(executor, ClusterExecutor):
        raise invalid("work", "be a folder that all workers share", None)
    if lanes == 1 and finish is None and work is None and executor is None:
        return _finished(*learn_alone(model.start(job.n_features, np.asarray(job.classes)), job), unreadable)
    with _folder(work) as folder, folder.held():
        folder.begin(job)
        _find_scale(folder, job, executor)
        fitted, skipped = _run(folder, job, executor, Progress(progress))
        if finish == "lbfgs":
            fitted = finish_lbfgs(fitted, folder, job, executor, max_passes=check_count("max_passes", max_passes))
        return _finished(with_encoder(fitted, reader_in(folder)), skipped, unreadable)


def _check_left_out(where: str, given: dict[str, Any]) -> None:
    """Raise where an option would change nothing."""
    for name, value in given.items():
        if value is not None:
            raise invalid(name, f"be left out {where}", value)


def _find_scale(folder: WorkFolder, job: Job, executor: Executor | None) -> None:
    """The scaling pass, unless it has been."""
    if not needs_scaling(job) or (folder.path / "scaler.json").exists():
        return
    with executor_or_pool(executor, len(job.files)) as used:
        run_tasks(
            used,
            scale_part,
            [(os.fspath(folder), i) for i in range(len(job.files))],
            names=[about["name"] for about in job.files],
            kind="parts",
            work=folder.kept,
            on_done=say_nothing,
        )
    join_sums(folder, job)


def _job(
    model: Any,
    parts: Parts,
    options: dict[str, Any],
    classes: Sequence[Any] | None,
    lanes: int,
    passes: int,
    rows: int,
    skip: bool,
) -> Job:
    reading = parts.reading(options)
    if "dtype" not in options and isinstance(options.get("target"), str) and parts.holds_singles(**options):
        reading = {**reading, "dtype": "float32"}  # the kernel reads it as it is, and no digit is lost
    kind = type(model).__name__
    params = params_written(model) if kind in KINDS else {}
    found = list(parts.count_labels(**options)) if classes is None else np.unique(np.asarray(classes)).tolist()
    if len(found) < 2:
        raise invalid("parts", "hold two labels or more", found, "Is target right?")
    files = [part_entry(part) for part in parts.files]
    estimator = {"kind": kind, "params": params}
    about = (files, parts.format, parts.fingerprint(), reading, options)
    first_alone = bool(getattr(getattr(model, "update", None), "first_alone", True))
    return Job(estimator, *about, 0, found, lanes, passes, rows, skip, first_alone=first_alone)


def _run(folder: WorkFolder, job: Job, executor: Executor | None, progress: Progress) -> tuple[Any, list[str]]:
    """All passes; a pass whose merged file is there is not done again."""
    skipped: list[str] = []
    fitted: Any = None
    with executor_or_pool(executor, job.lanes) as used, progress:
        progress.workers = workers_of(used)
        for epoch in range(job.passes):
            merged = folder.merged(epoch)
            noted = folder.noted(merged)
            if noted is None or not merged.exists():
                noted = _run_pass(folder, job, epoch, used, progress)
            skipped = sorted({*skipped, *noted["skipped"]})
            fitted = load_learner(merged)
            if epoch == 0:
                _warn_of_short_lanes(job.lanes, noted["rows"])
    return fitted, skipped


def _warn_of_short_lanes(lanes: int, rows: int) -> None:
    """Lanes that see few rows are the ones that cost more than a sequential pass: that must not happen quietly."""
    if lanes == 1 or rows >= LONG * lanes:
        return
    warnings.warn(
        f"lanes of about {rows // lanes:,} rows are short: below {LONG:,} decisions may cost more than those of one "
        f"lane. Use lanes={max(1, rows // LONG)} here, or compare the two with score_parts.",
        stacklevel=4,
    )


def _run_pass(folder: WorkFolder, job: Job, epoch: int, executor: Executor, progress: Progress) -> dict[str, Any]:
    names = [f"lane {lane} ({_named(job, lane)})" for lane in range(job.lanes)]
    progress.begin(f"pass {epoch + 1} of {job.passes}, lanes", job.lanes)
    done: list[dict[str, Any]] = []
    for stage in job.stages(epoch):
        done += run_tasks(
            executor,
            run_lane,
            [(os.fspath(folder), epoch, lane) for lane in stage],
            names=[names[lane] for lane in stage],
            kind="lanes",
            work=folder.kept,
            on_done=progress.step,
            before=len(done),
            total=job.lanes,
            detail=lambda i, stage=stage: folder.reading(epoch, stage[i]),  # type: ignore[misc]
        )
    beginning = folder.beginning(epoch, job, job.lanes - 1)
    before = new_learner(job) if beginning is None else load_learner(beginning)
    learned = [load_learner(folder.lane(epoch, lane)) for lane in job.stages(epoch)[-1]]
    folder.save(merge_lanes(learned, before), folder.merged(epoch))
    with reading(folder):
        skipped = sorted({str(part) for one in done for part in one["skipped"]})
        about = {"rows": sum(int(one["rows"]) for one in done), "skipped": skipped}
    folder.note(folder.merged(epoch), about)
    return about


def _named(job: Job, lane: int) -> str:
    names = [job.files[i]["name"] for i in job.parts_of(lane)]
    return ", ".join(names if len(names) <= 3 else [*names[:2], f"... {len(names)} parts"])


@contextmanager
def _folder(work: str | os.PathLike[str] | None) -> Iterator[WorkFolder]:
    if work is not None:
        yield WorkFolder(Path(work).absolute())
        return
    # Where a task fails others may still write: what is wrong is said all the same.
    with tempfile.TemporaryDirectory(prefix="steelyard-", ignore_cleanup_errors=True) as made:
        yield WorkFolder(made, temporary=True)


def _finished(fitted: Any, found: list[str], unreadable: list[str]) -> Any:
    skipped = sorted({*found, *unreadable})
    fitted.skipped_parts_ = skipped
    if skipped:
        warnings.warn(f"{len(skipped)} parts could not be read and are left out: {', '.join(skipped)}", stacklevel=3)
    return fitted
