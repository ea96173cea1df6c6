"""Many files as one data set: a folder, pattern, list or URL of parts in a fixed order and with one schema."""

from __future__ import annotations

import hashlib
import json
import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..validation.values import check_count, invalid
from .columns import WHOLE, Column, Table, check_complete_labels, encoded, number_column
from .dataset import Dataset
from .files import file_error, open_source, seekable
from .formats import FORMATS, check_options, format_name
from .libsvm import libsvm_width
from .part_files import PartFile, find_parts, is_several
from .part_schema import TEXT, key_kinds, merge_kinds, part_kinds


class Parts:
    """A folder, pattern, list or URL of data files that together are one data set.

    The parts are ordered by name in natural order (part-2 before part-10). Files whose names begin with a dot or
    underscore (``_SUCCESS``) or end in ``.tmp`` or ``.crc`` are left out. ``key=value`` folders become columns.

    Parameters
    ----------
    source : str, path or list of paths
        A folder, a pattern such as ``"parts/*.parquet"``, a list of files, or a URL that fsspec understands.
    format : str, optional
        As for :func:`read_table`; by default from the suffix, which all parts must share.

    Attributes
    ----------
    files : tuple of PartFile
        The files in their order.
    format : str
        Their format.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> for i in (10, 2):
    ...     _ = (folder / f"part-{i}.csv").write_text(f"a,y\\n{i},0\\n")
    >>> parts = Parts(folder)
    >>> [chunk.X.tolist() for chunk in parts.iter_chunks(target="y")]
    [[[2.0]], [[10.0]]]
    """

    def __init__(self, source: str | os.PathLike[str] | Sequence[Any], *, format: str | None = None) -> None:
        self.files = find_parts(source)
        self.format = format_name(self.files[0].path, format)
        for part in self.files:
            if format_name(part.path, format) != self.format:
                raise file_error(part.path, None, f"{self.format}, as {self.files[0].path} is", "another format")
        self._keys = key_kinds(self.files)
        if self._keys and self.format == "libsvm":
            raise file_error(self.files[0].path, None, "no key=value folders for LIBSVM", ", ".join(self._keys))

    @classmethod
    def of_files(cls, files: Sequence[PartFile], format: str) -> Parts:
        """Parts that were listed before.

        Parameters
        ----------
        files : sequence of PartFile
            The parts, in their order.
        format : str
            As for :func:`read_table`.

        Returns
        -------
        Parts
            These parts.
        """
        made = cls.__new__(cls)
        made.files, made.format, made._keys = tuple(files), format, key_kinds(files)
        return made

    def __len__(self) -> int:
        return len(self.files)

    def __repr__(self) -> str:
        shown = [part.name for part in self.files]
        names = ", ".join(shown if len(shown) <= 6 else [*shown[:3], "...", *shown[-2:]])
        return f"Parts({len(self)} {self.format} files: {names})"

    def fingerprint(self) -> str:
        """SHA-256 of position, size and modification time of every part, and of the footers of Parquet files."""
        about = [[i, part.size, part.modified, self._footer(part)] for i, part in enumerate(self.files)]
        return hashlib.sha256(json.dumps([self.format, about]).encode()).hexdigest()

    def _footer(self, part: PartFile) -> str:
        if self.format != "parquet" or part.size < 12:
            return ""
        with open_source(part.open()) as content:
            file = seekable(content)
            file.seek(-8, os.SEEK_END)
            length = int.from_bytes(file.read(4), "little")
            file.seek(-min(part.size, length + 8), os.SEEK_END)
            return hashlib.sha256(file.read(length + 8)).hexdigest()

    def schema(self, **options: Any) -> dict[str, str]:
        """Check that all parts have the same columns, from footers or heads, before anything else is read.

        Parameters
        ----------
        **options
            Those of the reader. Columns named in ``nominal`` are text everywhere.

        Returns
        -------
        dict
            "number" or "text" for each column, those of ``key=value`` folders last. Empty for LIBSVM.

        Raises
        ------
        DataFileError
            Naming the part, the column and both types. Integers and floats of a column may be mixed.
        """
        if self.format == "libsvm":
            return {}
        about_rows = {key: options[key] for key in options if key not in ("target", "dtype", "frame", "drop_missing")}
        names = [name for name in options.get("nominal", ()) if name not in self._keys]
        reading = {**about_rows, "nominal": names, "target": None}
        if options.get("features") is not None and isinstance(options.get("target"), str):
            reading["features"] = list(dict.fromkeys([*options["features"], options["target"]]))
        if "drop" in options:
            reading["drop"] = [name for name in options["drop"] if name not in self._keys]
        kinds = [part_kinds(part, self.format, reading) for part in self.files]
        found = merge_kinds(self.files, kinds, names, flat=self.format != "jsonl")
        for key in self._keys:
            if key in found:
                raise file_error(self.files[0].path, None, f"no column {key}, since a folder gives it", "one")
        as_text = options.get("nominal", ())
        dropped = options.get("drop", ())
        return found | {k: TEXT if k in as_text else kind for k, kind in self._keys.items() if k not in dropped}

    def holds_singles(self, **options: Any) -> bool:
        """Whether every column of features is of single precision in every part, so that such rows lose nothing.

        Parameters
        ----------
        **options
            Those of the reader.

        Returns
        -------
        bool
            False for formats that do not say, and where folders give columns.
        """
        if self.format not in ("parquet", "arrow") or self._keys:
            return False
        left_out = {options.get("target"), *options.get("drop", ())}
        kinds = [part_kinds(part, self.format, {"drop": list(options.get("drop", ()))}) for part in self.files]
        return all(kind[1] == "float" for found in kinds for name, kind in found.items() if name not in left_out)

    def iter_chunks(self, *, rows: int = 10_000, **options: Any) -> Iterator[Dataset]:
        """Read part after part as data sets of ``rows`` rows each (the last of a part may be shorter).

        Parameters
        ----------
        rows : int
            Rows of a chunk.
        **options
            Those of the reader, as for :func:`iter_chunks`.

        Returns
        -------
        iterator of Dataset
            Every chunk has the same columns in the same form. The schema is checked before the first.
        """
        check_count("rows", rows)
        common = self.reading(options)
        return (chunk for part in self.files for chunk in self.part_chunks(part, rows, common, options))

    def reading(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """The options with which every part is read in the same form; the schema is checked on the way.

        Parameters
        ----------
        options : mapping
            As for :meth:`iter_chunks`.

        Returns
        -------
        dict
            Options for the reader of one part.
        """
        check_options(self.format, FORMATS[self.format].chunks, dict(options))
        common = dict(options)
        if self.format == "libsvm":
            if common.get("n_features") is None:
                zero_based = common.get("zero_based", False)
                common["n_features"] = max(self._width(part, zero_based) for part in self.files)
            return common
        schema = self.schema(**options)
        inside = {name: kind for name, kind in schema.items() if name not in self._keys}
        target = options.get("target")
        if isinstance(target, str) and target in self._keys:
            common["target"] = None
        common["nominal"] = [n for n, kind in inside.items() if kind == TEXT or n in options.get("nominal", ())]
        common["drop"] = [name for name in options.get("drop", ()) if name not in self._keys]
        if self.format == "jsonl" and common.get("features") is None:
            common["features"] = list(inside)
        return common

    def _width(self, part: PartFile, zero_based: bool) -> int:
        if part.filesystem is None:
            return libsvm_width(part.open(), zero_based=zero_based)
        raise invalid("n_features", "be given for LIBSVM files at a URL", None, "They would be read twice.")

    def part_chunks(
        self, part: PartFile, rows: int, common: Mapping[str, Any], options: Mapping[str, Any]
    ) -> Iterator[Dataset]:
        """The chunks of one part.

        Parameters
        ----------
        part : PartFile
            The part.
        rows : int
            Rows of a chunk.
        common : mapping
            What :meth:`reading` made of the options.
        options : mapping
            As for :meth:`iter_chunks`.

        Yields
        ------
        Dataset
            Chunks of ``rows`` rows; the last may be shorter.
        """
        for chunk in FORMATS[self.format].chunks(part.open(), rows, **common):
            yield self._with_keys(chunk, part, options) if self._keys else chunk
        part.check_unchanged()  # text that was cut while it was read may end at the end of a line

    def _with_keys(self, chunk: Dataset, part: PartFile, options: Mapping[str, Any]) -> Dataset:
        """The chunk with the columns that its part's folders give."""
        n, y = chunk.X.shape[0], chunk.y
        columns = list(_columns(chunk))
        for name, value in part.keys:
            if name == options.get("target"):
                y = _label_column(value, self.files, name, n)
            elif name not in options.get("drop", ()):
                as_text = self._keys[name] == TEXT or name in options.get("nominal", ())
                columns.append(_constant(name, value, n, as_text=as_text))
        table = Table(tuple(columns), y)
        return table.chunk(options.get("frame", "auto"), options.get("dtype", np.float64))

    def read(self, **options: Any) -> Dataset:
        """Read all parts into one data set.

        Parameters
        ----------
        **options : Any
            As for :meth:`iter_chunks`.

        Returns
        -------
        Dataset
            All rows, in the order of the parts.
        """
        frame, dtype = options.get("frame", "auto"), options.get("dtype", np.float64)
        as_array = {} if self.format == "libsvm" else {"frame": "array"}
        chunks = list(self.iter_chunks(rows=1 << 16, **{**options, **as_array}))
        if not chunks:
            raise file_error(self.files[0].path, None, "at least one row in all parts", "none")
        y = None if chunks[0].y is None else join_labels([np.asarray(chunk.y) for chunk in chunks])
        if self.format == "libsvm":
            return replace(chunks[0], X=sparse.vstack([chunk.X for chunk in chunks], format="csr"), y=y)
        names = chunks[0].features
        rows = np.vstack([chunk.X for chunk in chunks])
        whole = Dataset(rows, y, names, {name: () for chunk in chunks for name in chunk.nominal})
        return check_complete_labels(Table(tuple(_columns(whole)), y), self.files[0].path).dataset(frame, dtype)

    def count_labels(self, target: str | int | None = None, **options: Any) -> dict[Any, int]:
        """How often each label occurs, by one pass over the labels alone; the counts of parts add up.

        Parameters
        ----------
        target : str or int, optional
            The column of labels; not needed for LIBSVM.
        **options
            Those of the reader.

        Returns
        -------
        dict
            Label to count, sorted by label; missing labels are not counted.
        """
        if self.format != "libsvm":
            options = {**options, "target": target}
            schema = self.schema(**options)
            if target in schema and target not in self._keys:  # a position, or a key, is found among all columns
                options["drop"] = [name for name in schema if name != target]
                options["nominal"] = [name for name in options.get("nominal", ()) if name == target]
        counts: Counter[Any] = Counter()
        for chunk in self.iter_chunks(**options):
            if chunk.y is not None:
                counts.update(label for label in chunk.y.tolist() if label is not None)
        return merge_counts(counts)

    def count_levels(self, columns: Sequence[str], **options: Any) -> dict[str, dict[str, int]]:
        """How often each value of nominal columns occurs, by one pass over those columns alone.

        Parameters
        ----------
        columns : sequence of str
            Their names.
        **options
            Those of the reader.

        Returns
        -------
        dict
            For each column its values, sorted, with their counts; missing cells are not counted.
        """
        schema = self.schema(**{**options, "nominal": list(columns)})
        for name in columns:
            if name not in schema:
                raise invalid("columns", f"name columns that exist ({', '.join(list(schema)[:20])})", name)
        others = [name for name in schema if name not in columns]
        if all(name in self._keys for name in columns):
            others = others[1:]  # rows are counted by a column of the files
        reading = {**options, "nominal": list(columns), "drop": others}
        counts: dict[str, Counter[str]] = {name: Counter() for name in columns}
        for chunk in self.iter_chunks(**{**reading, "target": None, "frame": "array"}):
            for j, name in enumerate(chunk.features):
                if name in counts:
                    counts[name].update(cell for cell in chunk.X[:, j] if cell is not None)
        return {name: dict(sorted(counts[name].items())) for name in columns}


def _columns(chunk: Dataset) -> Iterator[Column]:
    """The columns of a chunk whose rows are an array or frame."""
    rows = chunk.X if isinstance(chunk.X, np.ndarray) else chunk.X.to_numpy()
    for j, name in enumerate(chunk.features):
        if name in chunk.nominal:
            yield encoded(name, [cell if isinstance(cell, str) else None for cell in rows[:, j]])
        else:
            yield number_column(name, rows[:, j].astype(np.float64))


def _constant(name: str, value: str | None, rows: int, *, as_text: bool) -> Column:
    if as_text:
        return encoded(name, [value] * rows)
    return number_column(name, np.full(rows, np.nan if value is None else float(value)))


def _label_column(value: str | None, parts: Sequence[PartFile], key: str, rows: int) -> NDArray[Any]:
    """The labels of a part whose folder names them; integers if those of all parts are."""
    values = [dict(part.keys)[key] for part in parts]
    if value is None:
        return np.full(rows, None, dtype=object)
    whole = all(v is None or WHOLE.fullmatch(v) for v in values)
    return np.full(rows, int(value) if whole else value)


def join_labels(labels: Sequence[Any]) -> NDArray[Any]:
    """Labels of several chunks as one array: text if any of them is, since 1 and "1" are the same label."""
    if any(part.dtype.kind == "U" or any(isinstance(label, str) for label in part) for part in labels):
        texts = [None if label is None else str(label) for part in labels for label in part.tolist()]
        return np.array(texts, dtype=object if None in texts else None)
    return np.concatenate(list(labels))


def merge_counts(counts: Mapping[Any, int]) -> dict[Any, int]:
    """Labels and their numbers, sorted: texts if any of them is, since 1 and "1" are the same label."""
    if not any(isinstance(label, str) for label in counts):
        return dict(sorted(counts.items()))
    merged: Counter[str] = Counter()
    for label, count in counts.items():
        merged[str(label)] += count
    return dict(sorted(merged.items()))


def as_parts(source: Any, format: str | None = None) -> Parts:
    """Parts as they are, or those of a folder, pattern, URL or list."""
    return source if isinstance(source, Parts) else Parts(source, format=format)


def source_format(source: Any, format: str | None = None) -> str:
    """The format of a file, or of the parts behind a folder, pattern, URL or list."""
    if isinstance(source, Parts) or is_several(source):
        return as_parts(source, format).format
    return format_name(source, format)
