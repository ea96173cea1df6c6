"""What several commands share: options of the same words, limits of their values, completion of columns."""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from typing import Annotated

import typer

MOST_ROWS = 1_000_000_000
MOST_SEED = 2**32 - 1


def complete_column(incomplete: str) -> list[str]:
    """Names of columns of the file that the line names before; none where it cannot be read."""
    from ..data import iter_chunks

    line = os.environ.get("_TYPER_COMPLETE_ARGS") or os.environ.get("COMP_WORDS", "")
    try:
        files = [Path(word) for word in shlex.split(line)[2:] if Path(word).is_file()]
    except ValueError:  # a quote that is still open
        return []
    for file in files:
        try:
            names = next(iter(iter_chunks(file, rows=1))).features
        except Exception:  # a model, say; completion must print no errors
            continue
        return [str(name) for name in names if str(name).startswith(incomplete)]
    return []


Target = Annotated[
    str | None, typer.Option(help="The column of labels; not needed for LIBSVM.", autocompletion=complete_column)
]
Category = Annotated[
    list[str] | None, typer.Option(help="A column of categories; may be repeated.", autocompletion=complete_column)
]
Drop = Annotated[
    list[str] | None, typer.Option(help="A column to leave out; may be repeated.", autocompletion=complete_column)
]
FnCostColumn = Annotated[
    str | None, typer.Option(help="Column with the cost of missing each row.", autocompletion=complete_column)
]
FpCostColumn = Annotated[
    str | None, typer.Option(help="Column with the cost of a false alarm on each row.", autocompletion=complete_column)
]
TpCostColumn = Annotated[
    str | None, typer.Option(help="Column with the cost of a hit; below 0 a gain.", autocompletion=complete_column)
]
TnCostColumn = Annotated[
    str | None, typer.Option(help="Column with the cost of a correct pass.", autocompletion=complete_column)
]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace an existing --out file.")]
KeepCostColumns = Annotated[
    bool, typer.Option("--keep-cost-columns", help="Learn from the columns that hold costs, too.")
]
Costs = Annotated[
    str | None, typer.Option(help="fn=5,fp=1, 5:1, balanced, or a CSV or TOML file with C[true, predicted].")
]
Format = Annotated[
    str | None, typer.Option(help="csv, tsv, whitespace, jsonl, libsvm, arff, parquet or arrow; else from the name.")
]
Cluster = Annotated[str | None, typer.Option(help="A Dask scheduler, e.g. tcp://127.0.0.1:8786.")]


def check_reachable(cluster: str | None) -> None:
    """A wrong address is said before what a command needs is loaded and its files are read, which takes longer."""
    if cluster is not None:
        from ..executors import check_address

        check_address(cluster)
