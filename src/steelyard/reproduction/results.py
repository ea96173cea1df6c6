"""Result files: one line a run with its provenance and a checksum; what cannot be trusted is set aside and said."""

from __future__ import annotations

import csv
import hashlib
import io
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from ..errors import StateError
from ..files import lock_file, write_atomically
from .provenance import Provenance, provenance
from .recipe import Recipe

FIXED = ("recipe", "data", *Provenance._fields, "learner", "run", "took", "curve")
Curves = dict[str, dict[int, dict[str, list[float]]]]


@dataclass(frozen=True)
class Run:
    """One learner's finished run as it is kept on disk."""

    learner: str
    run: int
    seconds: float
    values: Mapping[str, float]


@dataclass
class _File:
    """What a result file holds: lines that can be trusted with their cells, the others, and what to tell of them."""

    header: list[str] | None = None
    lines: dict[tuple[str, ...], tuple[int, str, dict[str, str]]] = field(default_factory=dict)
    aside: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    repeated: bool = False


@dataclass(frozen=True)
class Results:
    """The results of a paper's recipes in one folder: ``NAME.csv``, ``NAME.curves.csv`` and what is made of them."""

    folder: Path

    @classmethod
    def committed(cls, recipe: Recipe) -> Results:
        """The results that are part of the source tree."""
        return cls(recipe.path.parent / "results")

    def path(self, recipe: Recipe) -> Path:
        """Where the runs of a recipe are kept."""
        return self.folder / f"{recipe.name}.csv"

    def curve_path(self, recipe: Recipe) -> Path:
        """Where the curves of its runs are kept."""
        return self.folder / f"{recipe.name}.curves.csv"

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Be the only writer of this folder; for a second process the error names the first."""
        self.folder.mkdir(parents=True, exist_ok=True)
        with lock_file(self.folder / "results"):
            yield

    def empty(self) -> bool:
        """Whether no recipe has left anything here."""
        return not any(self.folder.glob("*.csv"))

    def runs(self, recipe: Recipe, data: str | None = None, notes: list[str] | None = None) -> list[Run]:
        """Read the runs that belong to this very recipe (and data).

        Parameters
        ----------
        recipe : Recipe
            Whose results to read; lines of another digest are left out.
        data : str, optional
            Digest of the data; lines of other data are left out.
        notes : list of str, optional
            Gets a sentence for every line that was set aside or counted once.

        Returns
        -------
        runs : list of Run

        Raises
        ------
        StateError
            If two lines hold different numbers for one run, or the file is of another format.
        """
        found = self._read(recipe)
        if notes is not None:
            notes += found.notes
        rows = [cells for _, _, cells in found.lines.values() if cells["recipe"] == recipe.digest]
        return [_run(cells) for cells in rows if data in (None, cells["data"])]

    def curves(self, recipe: Recipe) -> Curves:
        """Read the kept curves: learner -> run -> column -> values."""
        curves: Curves = {}
        header, points = self._points(recipe)
        for (learner, run), lines in points.items():
            columns = curves.setdefault(learner, {}).setdefault(run, {})
            for cells in csv.reader(lines):
                for name, value in zip(header[2:], cells[2:], strict=True):
                    columns.setdefault(name, []).append(float(value))
        return curves

    def repair(self, recipe: Recipe, data: str) -> list[str]:
        """Leave only lines that can be trusted and belong to this recipe and data; return what was said of others.

        Lines set aside go to ``NAME.aside``. Curves of runs that are not kept are dropped: such runs are done again.
        """
        if not self.path(recipe).exists():
            self.curve_path(recipe).unlink(missing_ok=True)
            return []
        found = self._read(recipe)
        good = {key: line for key, line in found.lines.items() if key[:2] == (recipe.digest, data)}
        strangers = [text for key, (_, text, _) in found.lines.items() if key not in good]
        if strangers:
            found.notes.append(
                f"{self.path(recipe).name}: {len(strangers)} lines of another recipe or other data: set aside."
            )
        if found.aside or strangers:
            with self.path(recipe).with_suffix(".aside").open("a", encoding="utf-8") as file:
                file.writelines(f"{line}\n" for line in [*found.aside, *strangers])
        if found.aside or strangers or found.repeated:
            self._rewrite(recipe, found.header or [], [text for _, text, _ in good.values()])
        if not good:  # another recipe may have other columns
            self.path(recipe).unlink()
            self.curve_path(recipe).unlink(missing_ok=True)
        self._keep_curves(recipe, {(key[2], int(key[3])) for key in good})
        return found.notes

    def append(self, recipe: Recipe, data: str, run: Run, curve: Mapping[str, NDArray[Any]]) -> None:
        """Keep a run: its curve first, then its line, each in one write, so that a line vouches for its curve."""
        points = [[run.learner, run.run, *(f"{v:.6g}" for v in at)] for at in zip(*curve.values(), strict=True)]
        if points:
            self._append(self.curve_path(recipe), ["learner", "run", *curve], [_line(point) for point in points])
        path = self.path(recipe)
        header = [*FIXED, *run.values, "checksum"]
        if path.exists() and (kept := _header(path)) != header:
            raise StateError(f"{path} must have the columns {', '.join(header)}; got {', '.join(kept or [])}.")
        fixed = [recipe.digest, data, *provenance(), run.learner, run.run, f"{run.seconds:.4g}"]
        fixed.append(_digest("".join(map(_line, points))) if points else "")
        self._append(path, header, [signed(header, [*fixed, *(repr(round(v, 10)) for v in run.values.values())])])

    def tidy(self, recipe: Recipe) -> None:
        """Sort a recipe's lines and curves by run and learner: the same files whatever order they were done in."""
        if not self.path(recipe).exists():
            return
        rank = {str(spec["name"]): k for k, spec in enumerate(recipe.learners)}
        found = self._read(recipe)
        order = sorted(found.lines, key=lambda key: (int(key[3]), rank.get(key[2], len(rank))))
        self._rewrite(recipe, found.header or [], [found.lines[key][1] for key in order])
        header, points = self._points(recipe)
        if points:
            ranked = sorted(points, key=lambda key: (key[1], rank.get(key[0], len(rank))))
            self._write(self.curve_path(recipe), header, [line for key in ranked for line in points[key]])

    def _append(self, path: Path, header: Sequence[str], lines: Sequence[str]) -> None:
        text = "".join(lines if path.exists() else [_line(header), *lines])
        handle = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
        try:
            left = memoryview(text.encode())
            while left:  # one write, but where a disk that fills up takes a part of it: the next one says so
                left = left[os.write(handle, left) :]
            os.fsync(handle)
        finally:
            os.close(handle)

    def _rewrite(self, recipe: Recipe, header: Sequence[str], lines: Sequence[str]) -> None:
        self._write(self.path(recipe), header, [f"{line}\n" for line in lines])

    def _write(self, path: Path, header: Sequence[str], lines: Sequence[str]) -> None:
        text = "".join([_line(header), *lines]).encode()
        if not path.exists() or path.read_bytes() != text:
            with write_atomically(path) as file:
                file.write(text)

    def _read(self, recipe: Recipe) -> _File:
        path, found = self.path(recipe), _File()
        if not path.exists():
            return found
        text = path.read_text(encoding="utf-8", errors="replace")
        first, *lines = text.split("\n")
        if not lines:  # not even its first line was finished
            found.notes.append(f"{path.name}, line 1 is cut off: the file is started anew.")
            return found
        found.header = next(csv.reader([first]), [])
        if tuple(found.header[: len(FIXED)]) != FIXED or found.header[-1] != "checksum":
            raise StateError(f"{path} is not of this version's format: it must start with {', '.join(FIXED)}.")
        curves = {key: _digest("".join(points)) for key, points in self._points(recipe)[1].items()}
        for number, line in enumerate(lines, start=2):
            if line:
                self._take(found, path.name, number, line, curves, timed=recipe.timed)
        return found

    def _take(
        self, found: _File, name: str, number: int, line: str, curves: Mapping[tuple[str, int], str], *, timed: bool
    ) -> None:
        """Trust a line, or set it aside and say why."""
        header = found.header or []
        cells = next(csv.reader([line]), [])
        row = dict(zip(header, cells, strict=False))
        if len(cells) != len(header) or len(row["checksum"]) < 12:
            reason = "is cut off"
        elif signed(header, cells[:-1]) != f"{line}\n":
            reason = "does not match its checksum"
        elif row["curve"] and curves.get((row["learner"], int(row["run"]))) != row["curve"]:
            reason = "does not match its curve"
        else:
            key = (row["recipe"], row["data"], row["learner"], row["run"])
            earlier = found.lines.setdefault(key, (number, line, row))
            if earlier[0] != number:
                self._compare(found, name, (earlier[0], number), earlier[2], row, timed=timed)
            return
        found.aside.append(line)
        found.notes.append(f"{name}, line {number} {reason}: set aside, its run is done again.")

    @staticmethod
    def _compare(
        found: _File, name: str, at: tuple[int, int], one: Mapping[str, str], other: Mapping[str, str], *, timed: bool
    ) -> None:
        measures = [c for c in one if c not in (*FIXED, "checksum") and not (timed and c == "seconds")]
        which = f"{one['learner']}, run {one['run']}"
        if any(one[c] != other[c] for c in measures):
            raise StateError(
                f"{name}, lines {at[0]} and {at[1]} hold different numbers for {which}. Remove the wrong one."
            )
        found.repeated = True
        found.notes.append(f"{name}, lines {at[0]} and {at[1]} both hold {which}: counted once.")

    def _points(self, recipe: Recipe) -> tuple[list[str], dict[tuple[str, int], list[str]]]:
        """The header of a recipe's curves, and the lines of each run that can be read."""
        path = self.curve_path(recipe)
        points: dict[tuple[str, int], list[str]] = {}
        if not path.exists():
            return [], points
        first, *lines = path.read_text(encoding="utf-8", errors="replace").split("\n")
        header = next(csv.reader([first]), [])
        for line, cells in zip(lines, csv.reader(lines), strict=False):
            if len(cells) == len(header) and cells[1].isdigit() and all(map(_is_number, cells[2:])):
                points.setdefault((cells[0], int(cells[1])), []).append(f"{line}\n")
        return header, points

    def _keep_curves(self, recipe: Recipe, runs: set[tuple[str, int]]) -> None:
        """Leave the curves of these runs alone: a line that a kill cut off must not run into the next curve."""
        header, points = self._points(recipe)
        lines = [point for key, some in points.items() if key in runs for point in some]
        if lines:
            self._write(self.curve_path(recipe), header, lines)
        else:
            self.curve_path(recipe).unlink(missing_ok=True)


def signed(header: Sequence[str], cells: Sequence[object]) -> str:
    """A result line with its checksum, which covers the names of the columns too."""
    text = _line(cells).removesuffix("\n")
    return f"{text},{_digest(_line(header) + text)}\n"


def _run(cells: Mapping[str, str]) -> Run:
    values = {k: float(v) for k, v in cells.items() if k not in (*FIXED, "checksum") and v}
    return Run(cells["learner"], int(cells["run"]), float(cells["took"]), values)


def _header(path: Path) -> list[str] | None:
    with path.open(newline="", encoding="utf-8") as file:
        return next(csv.reader(file), None)


def _line(cells: Sequence[object]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerow(cells)
    return text.getvalue()


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
