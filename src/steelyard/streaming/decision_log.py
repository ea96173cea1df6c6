"""Decisions on file, as they are made."""

from __future__ import annotations

import csv
import io
import json
import sys
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from ..trace import Trace

COLUMNS = ("t", "score", "decision", "query_probability", "queried")


class DecisionFile:
    """JSON lines, or CSV where the name ends so; ``-`` is standard output."""

    def __init__(self, path: str | None, keep: int) -> None:
        """Open ``path``; the first ``keep`` bytes of an earlier run stay, what comes after them was never learned."""
        self.as_csv = path is not None and path.lower().endswith(".csv")
        self._file: BinaryIO | None = None
        self._own = path not in (None, "-")
        if path == "-":
            self._file = sys.stdout.buffer
        elif path is not None:
            file = Path(path)
            self._file = file.open("r+b" if keep and file.exists() else "wb")
            self._file.seek(min(keep, self._file.seek(0, io.SEEK_END)))
            self._file.truncate()

    def write(self, start: int, trace: Trace, labels: tuple[Any, ...]) -> int:
        """Write the rounds from ``start`` on; how many bytes the file has after them."""
        if self._file is None:
            return 0
        answers = [labels[int(answer)] for answer in np.asarray(trace.prediction).tolist()]
        columns = (
            trace.score.tolist(),
            answers,
            np.asarray(trace.query_probability).tolist(),
            np.asarray(trace.queried).tolist(),
        )
        text = io.StringIO()
        if self.as_csv:
            writer = csv.writer(text, lineterminator="\n")
            if start == 0:
                writer.writerow(COLUMNS)
            writer.writerows((start + i, *cells) for i, cells in enumerate(zip(*columns, strict=True)))
        else:
            for i, cells in enumerate(zip(*columns, strict=True)):
                text.write(json.dumps(dict(zip(COLUMNS, (start + i, *cells), strict=True))) + "\n")
        self._file.write(text.getvalue().encode())
        self._file.flush()
        return self._file.tell() if self._own else 0

    def close(self) -> None:
        """Close the file; standard output stays open."""
        if self._file is not None and self._own:
            self._file.close()
