"""What does answer k cost? One value for pairs, matrices and per-example costs; nothing about learning.

Cost matrices are always ``C[true, predicted]``.
"""

from __future__ import annotations

import html
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import CostsError
from ..validation.arrays import check_finite, check_labels
from ..validation.values import check_number, invalid
from ._reading import (
    ORIENTATION,
    USE_MATRIX,
    USE_TABLE,
    Floats,
    check_values,
    common_shape,
    floats,
    from_csv,
    from_frame,
    from_nested,
    html_table,
    in_order,
    is_frame,
    labels_of,
    listed,
    positions,
    positive_index,
    warn_about_diagonal,
)


@dataclass(frozen=True, eq=False, repr=False)
class Costs:
    """The cost of every answer for every truth: a matrix ``C[true, predicted]`` over ``classes``.

    Build one with :meth:`binary`, :meth:`from_classes`, :meth:`from_matrix`, :meth:`from_rows`, :meth:`zero_one` or
    :meth:`read`. Costs made without labels (``classes`` is None) take the sorted labels of the data they first meet.
    ``positive`` is the class that sensitivity, ``fn`` and ``ratio()`` speak of; by default the last of two classes as
    they were listed (a dict lists its classes sorted).

    >>> costs = Costs.binary(fn=5, fp=1, classes=["good", "bad"], positive="bad")
    >>> costs.per_example(["bad", "good"])
    array([[5., 0.],
           [0., 1.]])
    >>> costs.ratio()
    5.0
    """

    classes: NDArray[Any] | None
    matrix: Floats | None = None
    positive: Any = None

    # -- making ------------------------------------------------------------------------------------------------------

    @staticmethod
    def binary(
        *,
        fn: float | ArrayLike,
        fp: float | ArrayLike,
        classes: Sequence[Any] | None = None,
        positive: Any = None,
    ) -> Costs:
        """Two classes: ``fn`` is paid for a positive answered negative, ``fp`` the other way round.

        Either may be an array with one cost per example; the result is then an :class:`ExampleCosts`.

        >>> Costs.binary(fn=[10.0, 250.0], fp=2.0).per_example([1, 0])
        array([[10.,  0.],
               [ 0.,  2.]])
        """
        labels = labels_of(classes)
        if labels is not None and len(labels) != 2:
            raise invalid("classes", "name two classes for a cost pair", list(labels), USE_MATRIX, CostsError)
        plus = positive_index(labels, positive)
        pair = [np.asarray(floats("fn", fn)), np.asarray(floats("fp", fp))]
        shape = common_shape(pair)
        cube = np.zeros((*shape, 2, 2))
        cube[..., plus, 1 - plus] = pair[0]
        cube[..., 1 - plus, plus] = pair[1]
        check_values("costs", cube)
        if shape:
            return ExampleCosts(labels, positive=positive, matrices=cube)
        return Costs(labels, cube, positive)

    @staticmethod
    def from_classes(cost_of: Mapping[Any, float]) -> Costs:
        """Every mistake on class k costs ``cost_of[k]``, whatever the wrong answer was."""
        if not isinstance(cost_of, Mapping) or len(cost_of) < 2:
            raise invalid("cost_of", "map two or more classes to costs", cost_of, error=CostsError)
        labels = labels_of(in_order(cost_of))
        per_class = floats("cost_of", [cost_of[label] for label in in_order(cost_of)])
        return Costs.from_matrix(np.where(np.eye(len(per_class)), 0.0, per_class[:, None]), classes=labels)

    @staticmethod
    def from_matrix(C: Any, *, classes: Sequence[Any] | NDArray[Any] | None = None, positive: Any = None) -> Costs:
        """A K x K matrix ``C[true, predicted]``: an array, ``{true: {predicted: cost}}`` or a labelled frame.

        >>> Costs.from_matrix({"ham": {"spam": 10}, "spam": {"ham": 1}}).matrix
        array([[ 0., 10.],
               [ 1.,  0.]])
        """
        if isinstance(C, Mapping):
            if classes is None:
                classes = in_order(C)
            C = from_nested(cast("Mapping[Any, Mapping[Any, float]]", C), list(classes))
        elif is_frame(C):
            C, found = from_frame(C)
            classes = found if classes is None else classes
        matrix = floats("C", C)
        if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or matrix.shape[0] < 2:
            raise invalid("C", "be a K x K matrix with K >= 2", f"shape {matrix.shape}", ORIENTATION, CostsError)
        labels = labels_of(classes)
        if labels is not None and len(labels) != len(matrix):
            raise invalid("classes", f"name the {len(matrix)} classes of C", list(labels), error=CostsError)
        check_values("C", matrix)
        warn_about_diagonal(matrix)
        positive_index(labels, positive)
        return Costs(labels, matrix, positive)

    @staticmethod
    def from_rows(c: Any, *, classes: Sequence[Any] | None = None) -> ExampleCosts:
        """Per-example costs: ``c[i, k]`` is the cost of answering class k for example i, its truth being known."""
        rows = floats("c", c)
        if rows.ndim != 2 or rows.shape[1] < 2:
            raise invalid("c", "be an (n, K) array with K >= 2", f"shape {rows.shape}", error=CostsError)
        labels = labels_of(classes)
        if labels is not None and len(labels) != rows.shape[1]:
            raise invalid("classes", f"name the {rows.shape[1]} columns of c", list(labels), error=CostsError)
        check_values("c", rows)
        return ExampleCosts(labels, rows=rows)

    @staticmethod
    def from_matrices(C: Any, *, classes: Sequence[Any] | NDArray[Any] | None = None) -> ExampleCosts:
        """One matrix per example: ``C[i, true, predicted]``, for decisions before the truth is known."""
        cube = floats("C", C)
        if cube.ndim != 3 or cube.shape[1] != cube.shape[2] or cube.shape[1] < 2:
            raise invalid("C", "be an (n, K, K) array with K >= 2", f"shape {cube.shape}", ORIENTATION, CostsError)
        labels = labels_of(classes)
        if labels is not None and len(labels) != cube.shape[1]:
            raise invalid("classes", f"name the {cube.shape[1]} classes of C", list(labels), error=CostsError)
        check_values("C", cube)
        return ExampleCosts(labels, matrices=cube)

    @staticmethod
    def zero_one(classes: Sequence[Any] | NDArray[Any]) -> Costs:
        """Every mistake costs one."""
        labels = labels_of(classes)
        if labels is None or len(labels) < 2:
            raise invalid("classes", "name two or more classes", classes, error=CostsError)
        return Costs(labels, 1.0 - np.eye(len(labels)))

    @staticmethod
    def from_file(path: str | Path) -> Costs:
        """A labelled matrix from a file: CSV (header row of answers, first column of truths) or TOML tables."""
        path = Path(path)
        try:
            text = path.read_text(encoding="utf-8-sig")
        except OSError as error:
            raise CostsError(f"costs file {path} cannot be read: {error.strerror}. Check the path.") from error
        if path.suffix.lower() == ".toml":
            try:
                nested = tomllib.loads(text)
            except tomllib.TOMLDecodeError as error:
                raise CostsError(f"costs file {path} is not TOML: {error}.") from error
            return Costs.from_matrix(nested.get("costs", nested))
        nested, answers = from_csv(path, text)
        return Costs.from_matrix(nested, classes=answers)

    # -- asking ------------------------------------------------------------------------------------------------------

    @property
    def n_classes(self) -> int:
        """Number of answers K."""
        assert self.matrix is not None
        return len(self.matrix)

    def per_example(self, y: Any) -> Floats:
        """Cost of each answer for each example, (n, K), columns in the order of ``classes``. Paper 002, sec. 2."""
        bound = self.bind(y)
        assert bound.matrix is not None
        return bound.matrix[bound.encode(y)]

    def encode(self, y: Any) -> NDArray[np.intp]:
        """Position of every label in ``classes``; a label without costs is an error that names it."""
        assert self.classes is not None
        present, codes = check_labels(y)
        return positions(self.classes, present)[codes]

    def bind(self, y: Any) -> Costs:
        """The same costs with class labels, taken from ``y`` where none were given."""
        return self if self.classes is not None else self.aligned(check_labels(y)[0])

    def aligned(self, classes: Sequence[Any] | NDArray[Any]) -> Costs:
        """The same costs over exactly these classes in this order. Unknown classes are an error that names them."""
        labels = cast("NDArray[Any]", labels_of(classes))
        if self.classes is None:
            if len(labels) != self.n_classes:
                raise invalid(
                    "costs",
                    f"have as many classes as y, which has {len(labels)} ({listed(labels)})",
                    f"{self.n_classes} classes without labels",
                    "Give the labels with classes=; costs may then name more classes than y has.",
                    CostsError,
                )
            return replace(self, classes=labels)
        where = positions(self.classes, labels)
        if len(where) == len(self.classes) and (where == np.arange(len(where))).all():
            return replace(self, classes=labels)
        return replace(self._taken(where), classes=labels, positive=self._positive_among(labels, where))

    def _positive_among(self, labels: NDArray[Any], where: NDArray[np.intp]) -> Any:
        """The positive class under its new label: reordered classes must not change what a false negative is."""
        if self.positive is None and self.n_classes != 2:
            return None
        at = np.flatnonzero(where == positive_index(self.classes, self.positive))
        return labels[at[0]] if len(at) else None

    def _taken(self, where: NDArray[np.intp]) -> Costs:
        assert self.matrix is not None
        return replace(self, matrix=self.matrix[np.ix_(where, where)])

    def positive_index(self) -> int:
        """Position of the positive class; two classes only."""
        self._need_two("the positive class")
        return positive_index(self.classes, self.positive)

    def ratio(self) -> float:
        """rho = C(+,-) / C(-,+): how much worse a miss is than an alarm. Paper 000, prop. 1; two classes only."""
        self._need_two("ratio()")
        assert self.matrix is not None
        rows, plus = self.matrix.tolist(), self.positive_index()
        miss, alarm = rows[plus][1 - plus] - rows[plus][plus], rows[1 - plus][plus] - rows[1 - plus][1 - plus]
        if miss <= 0 or alarm <= 0:
            raise invalid("costs", "make both mistakes dearer than the right answer", (miss, alarm), error=CostsError)
        return float(miss / alarm)  # whoever cannot use an infinite ratio says so

    def class_costs(self) -> Floats:
        """c(i) = sum_j C(i, j): one cost per true class. Paper 003, eq. (25)."""
        assert self.matrix is not None
        return np.asarray(self.matrix.sum(axis=1))

    def regret(self) -> Costs:
        """The same decisions with the cheapest answer of every truth at 0. Paper 002, sec. 2."""
        assert self.matrix is not None
        return replace(self, matrix=self.matrix - self.matrix.min(axis=1, keepdims=True))

    def scaled(self, factor: float) -> Costs:
        """All costs times a positive factor."""
        assert self.matrix is not None
        return replace(self, matrix=self.matrix * check_number("factor", factor, above=0))

    def expected(self, proba: ArrayLike) -> Floats:
        """Expected cost of every answer, (n, K), from class probabilities with columns as in ``classes``."""
        assert self.matrix is not None
        return self._probabilities(proba) @ self.matrix

    def decide(self, proba: ArrayLike) -> NDArray[Any]:
        """The answer with the least expected cost for each row of probabilities; ties go to the first class."""
        answers: NDArray[Any] = self.expected(proba).argmin(axis=1)
        return answers if self.classes is None else self.classes[answers]

    def _probabilities(self, proba: ArrayLike) -> Floats:
        p = floats("proba", proba)
        if p.ndim != 2 or p.shape[1] != self.n_classes:
            raise invalid("proba", f"be an (n, {self.n_classes}) array", f"shape {p.shape}", error=CostsError)
        check_finite("proba", p)
        return p

    def _need_two(self, what: str) -> None:
        if self.n_classes != 2:
            raise invalid("costs", f"be over two classes for {what}", f"{self.n_classes} classes", error=CostsError)

    # -- showing -----------------------------------------------------------------------------------------------------

    def _names(self) -> list[str]:
        return [str(k) for k in (range(self.n_classes) if self.classes is None else self.classes)]

    def __repr__(self) -> str:
        assert self.matrix is not None
        names = self._names()
        lines = [f"{name}: {', '.join(f'{v:g}' for v in row)}" for name, row in zip(names, self.matrix, strict=True)]
        return f"Costs(C[true, predicted] over {', '.join(names)}; " + "; ".join(lines) + ")"

    def _repr_html_(self) -> str:
        assert self.matrix is not None
        return html_table(self._names(), self.matrix, "cost of answering")


@dataclass(frozen=True, eq=False, repr=False)
class ExampleCosts(Costs):
    """Costs that differ from example to example: ``rows`` (n, K) for known truths, or full ``matrices`` (n, K, K).

    Has a length and can be indexed by rows, so scikit-learn slices it along with X in folds and pipelines.
    """

    rows: Floats | None = None
    matrices: Floats | None = None

    @property
    def n_classes(self) -> int:
        """Number of answers K."""
        return self.shape[-1]

    @property
    def shape(self) -> tuple[int, ...]:
        """(n, K) or (n, K, K)."""
        return self._cells.shape

    @property
    def _cells(self) -> Floats:
        return cast("Floats", self.rows if self.rows is not None else self.matrices)

    def __len__(self) -> int:
        return len(self._cells)

    def __getitem__(self, key: Any) -> ExampleCosts:
        rows = key[0] if isinstance(key, tuple) else key  # scikit-learn asks for costs[indices, ...]
        if isinstance(rows, (int, np.integer)):
            rows = [rows]
        return self._with(self._cells[rows])

    def _with(self, cells: Floats) -> ExampleCosts:
        return replace(self, rows=cells) if self.rows is not None else replace(self, matrices=cells)

    def per_example(self, y: Any) -> Floats:
        """Cost of each answer for each example, (n, K)."""
        bound = self.bind(y)
        codes = bound.encode(y)
        if len(codes) != len(self):
            raise invalid(
                "costs",
                f"have one row per example ({len(codes)})",
                f"{len(self)} rows",
                "Pass them as fit(..., costs=) so that they are cut along with X.",
                CostsError,
            )
        if isinstance(bound, ExampleCosts) and bound.rows is not None:
            return bound.rows
        return bound._cells[np.arange(len(codes)), codes]  # type: ignore[attr-defined, no-any-return]

    def _taken(self, where: NDArray[np.intp]) -> Costs:
        cells = self._cells[..., where]
        return self._with(cells if self.rows is not None else cells[:, where, :])

    def ratio(self) -> float:
        """Not defined: the ratio differs from example to example."""
        raise invalid("costs", "be the same for all examples for ratio()", repr(self), USE_TABLE, CostsError)

    def class_costs(self) -> Floats:
        """Not defined: the costs differ from example to example."""
        raise invalid("costs", "be the same for all examples for class_costs()", repr(self), USE_TABLE, CostsError)

    def regret(self) -> ExampleCosts:
        """The same decisions with the cheapest answer of every example at 0."""
        return self._with(self._cells - self._cells.min(axis=-1, keepdims=True))

    def scaled(self, factor: float) -> ExampleCosts:
        """All costs times a positive factor."""
        return self._with(self._cells * check_number("factor", factor, above=0))

    def expected(self, proba: ArrayLike) -> Floats:
        """Expected cost of every answer, (n, K); needs full matrices, since rows already know the truth."""
        p = self._probabilities(proba)
        if self.matrices is None:
            raise invalid(
                "costs",
                "hold a matrix per example to weigh answers before the truth is known",
                "rows of known truths",
                "Use Costs.binary(fn=array, fp=array) or a class-level matrix.",
                CostsError,
            )
        if len(p) != len(self):
            raise invalid("proba", f"have {len(self)} rows like costs", f"{len(p)} rows", error=CostsError)
        return cast("Floats", np.einsum("ni,nij->nj", p, self.matrices))

    def __repr__(self) -> str:
        kind = "rows c[i, answer]" if self.rows is not None else "matrices C[i, true, predicted]"
        mean = f"; mean {self._cells.mean():g}" if len(self) else ""
        return f"Costs({len(self)} {kind} over {', '.join(self._names())}{mean})"

    def _repr_html_(self) -> str:
        if self.matrices is not None and len(self):
            return html_table(self._names(), self.matrices.mean(axis=0), f"mean cost over {len(self)} examples")
        return f"<p>{html.escape(repr(self))}</p>"
