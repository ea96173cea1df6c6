"""What makes numbers of dates, categories of many values, and texts."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...files import LARGEST, Fields, Node, write_labels
from ..cells import DateParts, TargetMeans, TextWords
from .kind import Kind, State, Write, fitted_features

__all__ = ["KINDS"]


def _write_dates(model: DateParts, write: Write) -> Node:
    first_days, order = np.asarray(model.first_days_, dtype=np.float64), np.asarray(model.month_first_, dtype=np.int64)
    return Node("DateParts/1", {}, {"first_days": first_days, "month_first": order})


def _check_dates(fields: Fields) -> State:
    first_days = fields.floats("first_days", None)
    order = fields.integers("month_first", len(first_days), low=0, high=1)
    fields.done(parts=0)
    return {"first_days_": first_days, "month_first_": order, "n_features_in_": len(first_days)}


def _write_means(model: TargetMeans, write: Write) -> Node:
    arrays: dict[str, Any] = {"prior": np.asarray(model.prior_, dtype=np.float64)}
    for j, (levels, means) in enumerate(zip(model.levels_, model.means_, strict=True)):
        arrays |= write_labels(f"levels.{j}", list(levels)) | {f"means.{j}": np.asarray(means, dtype=np.float64)}
    return Node("TargetMeans/1", {"columns": len(model.levels_)}, arrays)


def _check_means(fields: Fields) -> State:
    prior = fields.floats("prior", "classes")
    count = fields.integer("columns", 1, 1 << 16)
    levels = [fields.labels(f"levels.{j}") for j in range(count)]
    means = [fields.floats(f"means.{j}", len(levels[j]), "classes") for j in range(count)]
    fields.done(parts=0)
    named = [[str(level) for level in each.tolist()] for each in levels]
    return {"prior_": prior, "levels_": named, "means_": means, "n_features_in_": count}


def _write_words(model: TextWords, write: Write) -> Node:
    words = list(model.words_) or np.empty(0, dtype="U1")
    return Node("TextWords/1", {}, write_labels("words", words) | {"idf": np.asarray(model.idf_, dtype=np.float64)})


def _check_words(fields: Fields) -> State:
    words = fields.labels("words")
    idf = fields.floats("idf", len(words), low=1.0 / LARGEST)
    fields.done(parts=0)
    return {"words_": [str(word) for word in words.tolist()], "idf_": idf, "n_features_in_": 1}


KINDS = (
    Kind("DateParts/1", (DateParts,), _write_dates, _check_dates, lambda s, parts: fitted_features(DateParts(), s)),
    Kind("TargetMeans/1", (TargetMeans,), _write_means, _check_means, lambda s, _: fitted_features(TargetMeans(), s)),
    Kind("TextWords/1", (TextWords,), _write_words, _check_words, lambda s, parts: fitted_features(TextWords(), s)),
)
