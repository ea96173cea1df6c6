"""One row at a time, as a service needs it: sparse rows and mixed records against a dense row of the same run.

All rows have 24 fields. A mixed record holds twelve numbers and twelve categories; it is scaled by the past, hashed
into 2^18 columns and decided. Every round is the same number of calls, so the ratios are those of single calls.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from harness import Goal, candidate
from steelyard import AROW, OnlineClassifier, RecordHasher, StreamScaler
from steelyard.models.records import RecordEncoder

CALLS = 2_000
ROUNDS = 60
RNG = np.random.default_rng(0)
DENSE = RNG.normal(size=24)
RECORD = {f"n{i}": float(DENSE[i]) for i in range(12)} | {f"c{i}": f"value {i}" for i in range(12)}
CATEGORIES = [name for name in RECORD if name.startswith("c")]


def many(call: Callable[..., object], *arguments: Any) -> Callable[[], None]:
    def round_() -> None:
        for _ in range(CALLS):
            call(*arguments)

    return round_


@cache
def dense() -> OnlineClassifier:
    return OnlineClassifier(AROW()).start(24, [0, 1])


@cache
def sparse() -> OnlineClassifier:
    return OnlineClassifier(AROW()).start(2**18, [0, 1])


@candidate("one row", "dense decide", rounds=ROUNDS)
def _() -> Callable[[], None]:
    return many(dense().decide, DENSE)


@candidate("one row", "dense learn", rounds=ROUNDS)
def _() -> Callable[[], None]:
    return many(dense().learn, DENSE, 1)


@candidate("one row", "SparseRow decide", rounds=ROUNDS)
def _() -> Callable[[], None]:
    return many(sparse().decide, RecordHasher().one(RECORD))


@candidate("one row", "SparseRow learn", rounds=ROUNDS)
def _() -> Callable[[], None]:
    return many(sparse().learn, RecordHasher().one(RECORD), 1)


@candidate("one row", "CSR matrix decide", rounds=ROUNDS)
def _() -> Callable[[], None]:
    return many(sparse().decide, RecordHasher().one(RECORD).to_csr())


@candidate("one row", "CSR matrix learn", rounds=ROUNDS)
def _() -> Callable[[], None]:
    return many(sparse().learn, RecordHasher().one(RECORD).to_csr(), 1)


@candidate("one row", "scaler", rounds=ROUNDS)
def _() -> Callable[[], None]:
    scaler = StreamScaler(unit_norm=True).fit(RNG.normal(size=(10, 24)))
    return many(scaler.one, DENSE)


@candidate("one row", "hasher", rounds=ROUNDS)
def _() -> Callable[[], None]:
    return many(RecordHasher().one, RECORD)


@candidate("one row", "mixed record, scaled, hashed, decided", rounds=ROUNDS)
def _() -> Callable[[], None]:
    encoder, learner = RecordEncoder().begin(list(RECORD), CATEGORIES), sparse()
    encoder.one(dict.fromkeys(RECORD))
    return many(lambda: learner.decide(encoder.one(RECORD)))


GOALS = [
    Goal("one row", "SparseRow decide", against="dense decide", at_most=2.5),
    Goal("one row", "SparseRow learn", against="dense learn", at_most=2.5),
    Goal("one row", "CSR matrix decide", against="dense decide", at_most=2.5),
    Goal("one row", "CSR matrix learn", against="dense learn", at_most=2.5),
    Goal("one row", "mixed record, scaled, hashed, decided", against="dense decide", at_most=7.5),
]
