"""Every native function with arrays that do not fit: an error of Python or an answer, never a crash.

The calls that work are written once. Each of their arrays is then replaced by others of another length, dtype, layout
or content, and each number by numbers out of range, in a forked child with little memory; a child that is ended by a
signal names what it was given. Under the sanitizers the numbers that claim more memory than there is are left out.
"""

import contextlib
import os
import resource
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import pytest
from limited import limit_time

from steelyard import _native as native

pytestmark = [pytest.mark.kernel, pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")]
EXPECTED = (TypeError, ValueError, IndexError, MemoryError, native.DeadlineReached)
SANITIZED = (
    "ASAN_OPTIONS" in os.environ
)  # which keep a map of all addresses, and end the process when memory is claimed
MEMORY = 256 << 20  # above what the process has
SECONDS = 60  # of processor time: hang protection
F32, F64, I32, I64, U8, U64 = np.float32, np.float64, np.int32, np.int64, np.uint8, np.uint64


class Made(NamedTuple):
    """An argument that a call may change: made anew for each."""

    make: Callable[[], Any]


class Door(NamedTuple):
    """A native function, made anew for each call, and arguments that it takes."""

    function: Callable[[], Callable[..., Any]]
    arguments: tuple[Any, ...] = ()
    named: Mapping[str, Any] = MappingProxyType({})

    def call(self, place: int | str | None = None, other: Any = None) -> Any:
        arguments = [other if k == place else fresh(given) for k, given in enumerate(self.arguments)]
        named = {name: other if name == place else fresh(given) for name, given in self.named.items()}
        return self.function()(*arguments, **named)


def fresh(given: Any) -> Any:
    return given.make() if isinstance(given, Made) else given.copy() if isinstance(given, np.ndarray) else given


def zeros(*shape: int, dtype: Any = F64) -> Any:
    return np.zeros(shape, dtype)


X, Y, FLAGS = np.ones((4, 3)), np.array([0, 1, 0, 1]), np.array([True, False, True, False])
X[:, 1] = [0.1, 0.9, 0.2, 0.8]
ONES, BOX = np.ones(4), (np.array([-1.0, 1, -1, 1]), -np.ones(4), np.ones(4))
AT, ORDER, NOMINAL = np.arange(4), np.arange(4, dtype=I32), np.zeros(3, U8)
VALUES, COLUMNS, STARTS = np.ones(5), np.array([0, 2, 1, 0, 2], I32), np.array([0, 2, 3, 3, 5], I32)
CSR, WIDE = (VALUES, COLUMNS, STARTS), (VALUES, COLUMNS, STARTS.astype(I64))
TREE = (
    np.array([1, 0, 0], U8),
    np.array([1, -1, -1], I32),
    np.array([0.5, 0, 0]),
    np.array([1, -1, -1], I32),
    np.array([2, 0, 0], I32),
    zeros(3),
    np.array([[2.0, 2.0], [2.0, 0.0], [0.0, 2.0]]),
)
FOREST = {
    "column": np.array([1, 0, 0], I32),
    "threshold": np.array([0.5, 0.0, 1.0]),
    "left": np.array([1, 0, 0], I32),
    "right": np.array([2, 0, 0], I32),
    "flags": zeros(3, dtype=U8),
    "tree_ends": np.array([3]),
    "set_ends": zeros(0, dtype=I64),
    "words": zeros(0, dtype=np.uint32),
    "values": np.ones((2, 1)),
    "n_features": 3,
    "n_outputs": 1,
}
TREE_OPTIONS = {
    "min_obj": 1.0,
    "confidence": 0.25,
    "prune": True,
    "collapse": True,
    "raising": True,
    "binary_nominal": False,
    "max_depth": 10,
}
STREAM = {
    "n_features": 3,
    "averaging": False,
    "query": Made(lambda: native.query_kernel("AskAll", [])),
    "floor": 0.0,
    "limit": np.inf,
    "rate": np.inf,
    "threshold": 0.0,
    "seed": 0,
    "cost_neg": 1.0,
    "cost_pos": 1.0,
    "adaptive_odds": 0.0,
    "adaptive_positive": True,
    "fit_intercept": False,
}


def stream(**settings: Any) -> Any:
    made = native.Stream(**{name: fresh(given) for name, given in {**STREAM, **settings}.items()})
    if made.n_features < 1000:
        made.begin_covariance(False)
    return made


COST_STREAM = {
    "stream": Made(lambda: stream(n_features=0)),
    "n_features": 3,
    "rule": Made(lambda: native.class_kernel("PA", [])),
    "costs": 1.0 - np.eye(2),
    "negative": 0,
    "fit_intercept": False,
    "averaging": False,
    "odds": 0.0,
    "positive": 1,
}


def cost_stream() -> Any:
    return native.CostStream(**{name: fresh(given) for name, given in COST_STREAM.items()})


def covariant(full: bool) -> Callable[[int], Any]:
    return lambda n: stream(n_features=n).begin_covariance(full)


def update(name: str, *numbers: float) -> Any:
    return native.update_kernel(name, list(numbers))


def kernel(kind: int = 2) -> Any:
    return native.Kernel(kind, 1.0, 3, 0.0)


def table() -> Any:
    return native.TreeTable(X, NOMINAL, Y.astype(I32), 2)


def options() -> Any:
    return native.TreeOptions(**TREE_OPTIONS)


def first_round() -> Any:
    return native.BoostFirstRound(table(), options(), ONES)


def ldm_rows() -> Any:
    return native.LdmCsr(*WIDE)


def pairs() -> Any:
    return native.LdmPairs(X, ONES, ONES, ORDER, False)


def forest(**changes: Any) -> Any:
    return native.Forest(**{**FOREST, **changes})


def solved(make: Callable[..., Any]) -> Callable[..., Any]:
    """A solver that is made, run and asked."""

    def answers(*given: Any, **named: Any) -> Any:
        solver = make(*given, **named)
        solver.run(1000)
        return solver.coefficients(), solver.gradient(), solver.violation(), solver.objective(), solver.level()

    return answers


def parsed(parser: Any) -> Callable[..., Any]:
    def answers(base: int, width: int, block: Any, row_limit: int) -> Any:
        made = parser(base, width)
        made.feed(block, row_limit)
        made.finish()
        return made.error(), made.rows, made.widest, made.take(), made.take()

    return answers


def online_doors() -> Iterator[tuple[str, Door]]:
    yield "Stream", Door(lambda: native.Stream, named=STREAM)
    yield "Stream averaged", Door(lambda: native.Stream, named={**STREAM, "averaging": True, "fit_intercept": True})
    yield "Stream.begin_covariance", Door(lambda: covariant(False), (3,))
    yield "Stream.begin_covariance full", Door(lambda: covariant(True), (3,))
    for name in ("covariance", "reserve", "arrays"):
        yield f"Stream.{name}", Door(lambda name=name: getattr(stream(), name))
    yield "Stream.cancel_query", Door(lambda: stream().cancel_query, (1,))
    yield "Stream.cost_of", Door(lambda: stream().cost_of, (True, 1.0, False))
    yield "Stream.decide", Door(lambda: stream().decide, (X[0],))
    yield "Stream.enter", Door(lambda: stream().enter, (0.5, zeros(4), 1))
    yield "Stream.restore", Door(lambda: stream().restore, (zeros(3), zeros(0), zeros(5), (0, 0, 0, 0, 0)))
    yield "Stream.restore_covariance", Door(lambda: stream().restore_covariance, (zeros(3),))
    yield "UpdateKernel.learn", Door(lambda: update("PA").learn, (Made(stream), X[0], True, 1.0, False))
    yield "CostStream", Door(lambda: native.CostStream, named=COST_STREAM)
    yield "CostStream.decide", Door(lambda: cost_stream().decide, (X[0],))
    yield "CostStream.learn", Door(lambda: cost_stream().learn, (X[0], 1, ONES[:2], 1.0))
    yield "CostStream.enter", Door(lambda: cost_stream().enter, (0.5, zeros(4), 1))
    for name in ("reserve", "arrays"):
        yield f"CostStream.{name}", Door(lambda name=name: getattr(cost_stream(), name))
    yield "CostStream.cancel_query", Door(lambda: cost_stream().cancel_query, (1,))
    counts = (zeros(6), zeros(2), zeros(0), zeros(0), zeros(2, dtype=U64), (0, 0, 0, 0))
    yield "CostStream.restore", Door(lambda: cost_stream().restore, counts)
    yield "tell_apart", Door(lambda: native.tell_apart, (Y, zeros(4, dtype=bool)))
    yield "scale_rows", Door(lambda: native.scale_rows, (X, zeros(3), zeros(3), zeros(3), zeros(4, 3)))
    yield "draw", Door(lambda: native.draw, (0, 1))
    yield "large_block", Door(lambda: native.large_block, (4096,))
    for name in ("query_kernel", "update_kernel", "class_kernel"):
        yield name, Door(lambda name=name: getattr(native, name), ("PA1", [0.5]))


def record_doors() -> Iterator[tuple[str, Door]]:
    """What takes single records and rows by the buffer protocol."""
    record, words, names = {"a": 1.5, "t": "x y", "n": None}, {"t": ["x", "y"]}, ("a", "n")
    yield "HashedRows", Door(lambda: native.HashedRows, (64,))
    for name in ("add", "one"):
        yield f"HashedRows.{name}", Door(lambda name=name: getattr(native.HashedRows(64), name), (record, words))
    arranged = (record, None, ("a", "t"), b"\x01\x00", np.ones(1), np.ones(1))
    yield "HashedRows.one_arranged", Door(lambda: native.HashedRows(64).one_arranged, arranged)
    yield "HashedRows.arrays", Door(lambda: native.HashedRows(64).arrays)
    yield "gather_numbers", Door(lambda: native.gather_numbers, (record, names, zeros(2)))
    yield "poisson_tables", Door(lambda: native.poisson_tables, (Y, 0, 0, 0, zeros(5, 2, dtype=I64)))
    yield "poisson_costs", Door(lambda: native.poisson_costs, (Y, ONES, 0, 0, 0, zeros(5, 2), zeros(5, 2)))
    yield "murmur3", Door(lambda: native.murmur3, (b"token",))
    yield "scale_row", Door(lambda: native.scale_row, (X[0], zeros(3), zeros(3), zeros(3), zeros(3), True))
    yield "shorten_rows", Door(lambda: native.shorten_rows, (X,))
    for kind, make in (("Stream", stream), ("CostStream", cost_stream)):
        yield f"{kind}.pass_rounds", Door(lambda make=make: make().pass_rounds, (5,))
        yield f"{kind}.set_labels", Door(lambda make=make: make().set_labels, (2, 1))


def row_doors() -> Iterator[tuple[str, Door]]:
    """What takes dense and CSR rows."""
    columns = (zeros(4), zeros(4), zeros(4, dtype=bool), zeros(4, dtype=I64))
    many = (Y, np.ones((4, 2)), ONES, zeros(4), zeros(4), zeros(4, dtype=I64), zeros(4), zeros(4, dtype=bool))
    wide = (VALUES, COLUMNS.astype(I64), STARTS.astype(I64))
    for kind, rows in {"dense": (X,), "dense 32": (X.astype(F32),), "csr": CSR, "csr 64": wide}.items():
        one = (rows[0][:1],) if len(rows) == 1 else (rows[0][:2], rows[1][:2], rows[2][:2])
        run = (Made(stream), *rows, FLAGS, ONES, False, zeros(4), *columns, 0, 1)
        for name in ("CSOGD2", "ROMMA", "AROW") if kind in ("dense", "csr") else ("CSOGD2",):
            yield f"UpdateKernel.run {name} {kind}", Door(lambda name=name: update(name, 0.5).run, run)
        yield (
            f"UpdateKernel.learn_row {kind}",
            Door(lambda: update("PA").learn_row, (Made(stream), *one, True, 1.0, False)),
        )
        for name, extra in {
            "scores": (zeros(4),),
            "look": (1,),
            "apply": (1, True, 1.0, 0.5, 0.0),
            "variance": (1,),
            "second_order_step": (1, True, 0.5, 0.5, True),
            "decide_rows": (zeros(4), zeros(4), zeros(4, dtype=bool)),
        }.items():
            yield f"Stream.{name} {kind}", Door(lambda name=name: getattr(stream(), name), (*rows, *extra))
        yield f"Stream.decide_row {kind}", Door(lambda: stream().decide_row, one)
        for name, extra in {
            "run": many,
            "look": (1, zeros(2)),
            "apply": (1, 1, zeros(2)),
            "estimates": (zeros(4, 2),),
        }.items():
            yield f"CostStream.{name} {kind}", Door(lambda name=name: getattr(cost_stream(), name), (*rows, *extra))
        yield f"CostStream.learn_row {kind}", Door(lambda: cost_stream().learn_row, (*one, 1, ONES[:2], 1.0))
        yield f"CostStream.decide_row {kind}", Door(lambda: cost_stream().decide_row, one)


def tree_doors() -> Iterator[tuple[str, Door]]:
    yield "tree_predict", Door(lambda: native.tree_predict, (*TREE, X, zeros(4, 2)))
    yield (
        "TreeOptions",
        Door(lambda: lambda **named: table().grow(ONES, native.TreeOptions(**named)), named=TREE_OPTIONS),
    )
    yield "TreeTable", Door(lambda: native.TreeTable, (X, NOMINAL, Y.astype(I32), 2))
    yield "TreeTable nominal", Door(lambda: native.TreeTable, (np.rint(X), NOMINAL + 1, Y.astype(I32), 2))
    yield "TreeTable.grow", Door(lambda: table().grow, (ONES, Made(options)))
    yield "BoostFirstRound", Door(lambda: native.BoostFirstRound, (Made(table), Made(options), ONES))
    boosted = (Made(table), Made(options), np.ones((5, 4)), 1.0, ONES, 4.0, 3)
    yield "boost_trees", Door(lambda: native.boost_trees, boosted)
    asked = (Made(table), Made(options), Made(first_round), np.ones((5, 4)), 1.0, 3, AT, zeros(4, dtype=I32))
    yield "boost_answers", Door(lambda: native.boost_answers, asked)
    yield "Forest", Door(lambda: lambda **named: forest(**named).add(X, zeros(4, 1)), named=FOREST)
    for dtype in (F32, F64):
        yield f"Forest.add {dtype.__name__}", Door(lambda: forest().add, (X.astype(dtype), zeros(4, 1)))
        for index in (I32, I64):
            sparse = (VALUES.astype(dtype), COLUMNS.astype(index), STARTS.astype(index), zeros(4, 1))
            yield f"Forest.add_csr {dtype.__name__} {index.__name__}", Door(lambda: forest().add_csr, sparse)


def svm_doors() -> Iterator[tuple[str, Door]]:
    grown = lambda kind, gamma, degree, coef0: native.gram_dense(  # noqa: E731
        native.Kernel(kind, gamma, degree, coef0), X, X, zeros(4, 4)
    )
    for kind in range(4):
        yield f"Kernel {kind}", Door(lambda: grown, (kind, 1.0, 3, 0.0))
        yield f"gram_dense {kind}", Door(lambda: native.gram_dense, (kernel(kind), X, X, zeros(4, 4)))
        sparse = (kernel(kind), 3, *WIDE, *WIDE, 0, zeros(4, 4))
        yield f"gram_csr {kind}", Door(lambda: native.gram_csr, sparse)
    for bits, dtype in ((32, F32), (64, F64)):
        of = lambda name, bits=bits: getattr(native, f"{name}{bits}")  # noqa: E731
        yield f"gram_rows_dense{bits}", Door(lambda of=of: of("gram_rows_dense"), (kernel(), X))
        yield f"gram_rows_csr{bits}", Door(lambda of=of: of("gram_rows_csr"), (kernel(), 3, *WIDE))
        part = (AT, AT, zeros(4, 4, dtype=dtype))
        yield f"GramRows{bits}.part", Door(lambda of=of: of("gram_rows_dense")(kernel(), X).part, part)
        gram = np.eye(4, dtype=dtype)
        yield f"svm_on_gram{bits}", Door(lambda of=of: solved(of("svm_on_gram")), (gram, AT, *BOX, 1e-3))
        yield f"svm_on_gram{bits} small", Door(lambda of=of: solved(of("svm_on_gram")), (gram, AT, *BOX, 1e-3, 2))
        rows = Made(lambda of=of: of("gram_rows_dense")(kernel(), X))
        yield f"svm_on_gram{bits} rows", Door(lambda of=of: solved(of("svm_on_gram")), (rows, AT, *BOX, 1e-3, 4, True))
        yield f"svm_dense{bits}", Door(lambda of=of: solved(of("svm_dense")), (kernel(), X, 1 << 20, *BOX, 1e-3))
        on_csr = (kernel(), 3, *WIDE, 1 << 20, *BOX, 1e-3)
        yield f"svm_csr{bits}", Door(lambda of=of: solved(of("svm_csr")), on_csr)
        for name, extra in {"run": (100,), "rescale": (0.5,), "gap": (0.0,)}.items():
            yield (
                f"SvmSolver{bits}.{name}",
                Door(lambda of=of, g=gram, n=name: getattr(of("svm_on_gram")(g, AT, *BOX, 1e-3), n), extra),
            )
        for name in ("violation", "objective", "level", "coefficients", "gradient"):
            yield (
                f"SvmSolver{bits}.{name}",
                Door(lambda of=of, g=gram, n=name: getattr(of("svm_on_gram")(g, AT, *BOX, 1e-3), n)),
            )


def ldm_doors() -> Iterator[tuple[str, Door]]:
    low, eye = -ONES, np.eye(4)
    yield "ldm_greedy", Door(lambda: native.ldm_greedy, (eye, low, ONES, zeros(4), ONES, 1e-3, 9))
    sweep = (eye, eye, ONES, low, ONES, zeros(4), zeros(4))
    yield "ldm_algorithm1_sweep", Door(lambda: native.ldm_algorithm1_sweep, sweep)
    yield "ldm_metric_pass", Door(lambda: native.ldm_metric_pass, (X, ONES, low, ONES, ORDER, zeros(4), zeros(3)))
    yield "LdmCsr", Door(lambda: native.LdmCsr, WIDE)
    metric = (ONES, np.eye(3), ONES, low, ONES, ORDER, zeros(4), zeros(3))
    sdca = (ONES, ONES, ONES, low, ONES, ORDER, zeros(4), zeros(4), zeros(3), 0.0, 1.0)
    for name, given in {
        "metric_pass": metric,
        "part": (ORDER,),
        "margins": (ONES, np.ones(3), zeros(4)),
        "quadratic_forms": (np.eye(3), zeros(4)),
        "gram": (ONES, zeros(3, 3)),
        "smooth_hinge": (ONES, ONES, zeros(4), 0.5, zeros(3), zeros(3, 3)),
        "sdca_pass": sdca,
    }.items():
        yield f"LdmCsr.{name}", Door(lambda name=name: getattr(ldm_rows(), name), given)
    yield "LdmPairs", Door(lambda: native.LdmPairs, (X, ONES, ONES, ORDER, False))
    yield "LdmPairs csr", Door(lambda: native.LdmPairs, (Made(ldm_rows), 3, ONES, ONES, ORDER, True))
    steps = ([0.1, 1.0, 0.1, 0.01], ORDER, ORDER, 0.1, 0, 0, zeros(3), zeros(3))
    yield "LdmPairs.run", Door(lambda: pairs().run, steps)
    yield "LdmPairs.costs", Door(lambda: pairs().costs, (zeros(4),))
    yield "LdmPairs.margins", Door(lambda: pairs().margins, (np.ones(3), zeros(4)))
    for index in (I32, I64):
        appended = (VALUES, COLUMNS.astype(index), STARTS.astype(index), 3, zeros(9), zeros(9, dtype=index))
        yield f"ldm_append_ones {index.__name__}", Door(lambda: native.ldm_append_ones, appended)
    yield "ldm_shuffle", Door(lambda: native.ldm_shuffle, (np.full(4, 0.5), zeros(4, dtype=I32)))
    hinge = (X, ONES, ONES, zeros(4), 0.5, zeros(3), zeros(3, 3))
    yield "ldm_smooth_hinge", Door(lambda: native.ldm_smooth_hinge, hinge)
    yield "ldm_smooth_hinge_slope", Door(lambda: native.ldm_smooth_hinge_slope, (ONES, ONES, ONES, 0.5, 0.5))
    yield "ldm_hinge_sums", Door(lambda: native.ldm_hinge_sums, (ONES, ONES, 0.5))


def parser_doors() -> Iterator[tuple[str, Door]]:
    for bits in (32, 64):
        parser = getattr(native, f"LibsvmParser{bits}")
        text = np.frombuffer(b"1 1:2 3:4e5\n0 2:1\n1", U8)
        yield f"LibsvmParser{bits}", Door(lambda parser=parser: parsed(parser), (1, -1, text, 9))
        yield f"LibsvmParser{bits}.feed", Door(lambda parser=parser: parser(1, 3).feed, (text, 9))
        for name in ("finish", "take", "error"):
            yield f"LibsvmParser{bits}.{name}", Door(lambda parser=parser, name=name: getattr(parser(1, 3), name))


DOORS = {
    name: door
    for doors in (online_doors, record_doors, row_doors, tree_doors, svm_doors, ldm_doors, parser_doors)
    for name, door in doors()
}


def other_arrays(a: Any) -> Iterator[Any]:
    """Arrays that are not what the function expects in this place, or hold what it cannot use."""
    yield a[:-1].copy()
    yield a[:0].copy()
    yield np.concatenate([a, a])
    yield np.ones((7, *a.shape[1:]), a.dtype)
    yield np.ones((1,) * a.ndim, a.dtype)
    yield a[None].copy()
    yield np.ones((), a.dtype)
    for dtype in (F32, F64, I32, I64, U8, np.uint32, U64, bool, np.complex128, object, ">f8"):
        if a.dtype != dtype:
            yield a.astype(dtype)
    yield np.repeat(a, 2, axis=0)[::2]
    yield np.asfortranarray(np.vstack([a, a])) if a.ndim == 2 else a[::-1]
    yield np.broadcast_to(a.ravel()[:1] if a.size else np.ones(1, a.dtype), a.shape)
    frozen = a.copy()
    frozen.flags.writeable = False
    yield frozen
    yield from (None, "text", [1, 2], object())
    for number in extremes(a.dtype):
        filled, first, last = a.copy(), a.copy(), a.copy()
        filled[...] = number
        first.reshape(-1)[:1] = number
        last.reshape(-1)[-1:] = number
        yield from (filled, first, last)


def extremes(dtype: Any) -> list[Any]:
    if dtype.kind == "f":
        return [np.nan, np.inf, -np.inf, np.finfo(dtype).max, 5e-324, -0.0, 1e9]
    if dtype.kind == "b":
        return [False, True]
    return [np.iinfo(dtype).min, np.iinfo(dtype).max, 0, 3, 5, 100, np.iinfo(dtype).max - 1]


def other_numbers() -> Iterator[Any]:
    yield from (-1, 0, 1, 7, float("nan"), float("inf"), -1e308, None, "text", [], X)
    if not SANITIZED:
        yield from (10**6, 2**31 - 1, 2**31, 2**32, 2**61, 2**62, 2**63 - 1, 2**63, 2**64 - 1, -(2**63), 10**30)


def others(given: Any) -> Iterator[Any]:
    if isinstance(given, np.ndarray):
        yield from other_arrays(given)
    elif isinstance(given, Made):
        yield from (None, 0, "text", X, object())
    elif isinstance(given, (int, float)) and not isinstance(given, bool):
        yield from other_numbers()
    elif isinstance(given, dict):
        yield from (
            None,
            {},
            {1: 2},
            {"a": object()},
            {"a": [1]},
            {"a": "\ud800"},
            {"a": 10**400},
            {"a": np.nan},
            X,
            "text",
        )
        yield from (
            {"t": None},
            {"t": "x"},
            {"t": [1]},
            {"t": [None]},
            {"t": "x" * 100_000},
            {str(k): k for k in range(999)},
        )
    elif isinstance(given, bytes):
        yield from (None, b"", bytes(1), b"\xff" * 100_000, "text", X, 7)
    elif isinstance(given, (tuple, list)):
        yield from (None, [], [-1] * len(given), [2**64] * len(given), [np.nan] * len(given), ["a"], list(given) * 2)
        yield from ((), (1, 2), (None,) * len(given), ("a",) * 100, tuple(given) * 2)


def attack(door: Door, telling: int) -> None:
    """In a child: every argument replaced by each of its others; what is tried is told before it is."""
    places = [*enumerate(door.arguments), *door.named.items()]
    for place, given in places:
        for k, other in enumerate(others(given)):
            os.pwrite(telling, f"argument {place}, other {k}: {other!r}"[:200].ljust(200).encode(), 0)
            native.set_deadline(2.0)
            with contextlib.suppress(*EXPECTED), np.errstate(all="ignore"):
                door.call(place, other)


@pytest.mark.parametrize("name", DOORS)
def test_what_does_not_fit_is_refused_or_harmless(name: str, tmp_path: Path) -> None:
    DOORS[name].call()  # the arguments as they are written fit
    tried = tmp_path / "tried"
    child = os.fork()
    if child == 0:
        telling = os.open(tried, os.O_RDWR | os.O_CREAT)
        try:
            limit_time(SECONDS)
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            if not SANITIZED:
                size = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
                resource.setrlimit(resource.RLIMIT_AS, (size + MEMORY, size + MEMORY))
            attack(DOORS[name], telling)
            os._exit(0)
        except BaseException as error:
            os.pwrite(telling, f" {type(error).__name__}: {error}".encode(), 200)
            os._exit(1)
    _, status = os.waitpid(child, 0)
    assert status == 0, f"status {status}: {tried.read_text(errors='replace')}"


def test_every_native_function_and_method_has_a_door() -> None:
    written = {name.partition(" ")[0] for name in DOORS}
    parts = {"DeadlineReached", "set_deadline", "check_stop", "return_blocks_from"}  # an exception; no array or memory
    parts |= {"QueryKernel", "ClassKernel", "UpdateKernel", "GramRows32", "GramRows64", "SvmSolver32", "SvmSolver64"}
    for name, thing in vars(native).items():
        if name.startswith("_"):
            continue
        assert name in written or name in parts, name
        for method, found in vars(thing).items() if isinstance(thing, type) else ():
            if type(found).__name__ == "nb_method" and not method.startswith("__"):
                assert f"{name}.{method}" in written, f"{name}.{method}"
    for name in ("QueryKernel", "ClassKernel", "UpdateKernel", "GramRows64", "SvmSolver64"):
        with pytest.raises(TypeError, match="no constructor"):
            getattr(native, name)()


BAD_TREES = {
    "a column that X does not have": {1: [10**9, -1, -1]},
    "children out of the tree": {3: [10**9, -1, -1]},
    "a node that is its own child": {3: [0, -1, -1]},
    "no children": {4: [0, 0, 0]},
    "too many children": {4: [2**31 - 1, 0, 0]},
    "an unknown test": {0: [7, 0, 0]},
    "negative children": {4: [-2, 0, 0]},
    "no weight": {6: [[0.0, 0.0], [2.0, 0.0], [0.0, 2.0]]},
    "a weight that is NaN": {6: [[np.nan, 1.0], [2.0, 0.0], [0.0, 2.0]]},
    "a leaf with a column": {1: [1, 2, -1]},
}


@pytest.mark.parametrize("bad", BAD_TREES)
def test_a_tree_that_is_none_is_refused(bad: str) -> None:
    arrays = list(TREE)
    for place, values in BAD_TREES[bad].items():
        arrays[place] = np.array(values, arrays[place].dtype)
    for rows in (X, np.full_like(X, np.nan)):
        with pytest.raises(ValueError, match=r"must|has an unknown|X does not have"):
            native.tree_predict(*arrays, rows, zeros(4, 2))


def test_two_parents_are_refused() -> None:
    """Overlapping children would make a walk with missing values exponential in the number of nodes."""
    n = 60
    test, column = np.ones(n, U8), zeros(n, dtype=I32)
    test[-2:], column[-2:] = 0, -1
    first, count = np.arange(1, n + 1, dtype=I32), np.full(n, 2, I32)
    with pytest.raises(ValueError, match="two parents"):
        native.tree_predict(test, column, zeros(n), first, count, zeros(n), np.ones((n, 2)), X * np.nan, zeros(4, 2))


def test_a_first_round_of_another_table_is_refused() -> None:
    other = native.TreeTable(np.ones((4, 9)), zeros(9, dtype=U8), np.array([0, 9, 5, 7], I32), 10)
    first = native.BoostFirstRound(other, options(), ONES)
    with pytest.raises(ValueError, match="of this table"):
        native.boost_answers(table(), options(), first, np.ones((5, 4)), 1.0, 3, AT, zeros(4, dtype=I32))


def test_wide_sparse_rows_take_no_memory_for_columns_that_are_empty() -> None:
    out, width = zeros(4, 4), 2**28  # two gigabytes if every column had its number
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    native.gram_csr(kernel(0), width, *WIDE, *WIDE, 0, out)
    native.gram_csr(kernel(0), 3, *WIDE, *WIDE, 0, narrow := zeros(4, 4))
    np.testing.assert_array_equal(out, narrow)
    if not SANITIZED:
        assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200_000
