"""Costs from files, nested dicts and frames."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from steelyard import Costs, CostsError

C = np.array([[0.0, 1.0, 2.0], [5.0, 0.0, 3.0], [0.5, 4.0, 0.0]])
LABELS = ["ant", "bee", "cow"]
NESTED = {t: {a: C[i, j] for j, a in enumerate(LABELS)} for i, t in enumerate(LABELS)}


def same(costs: Costs, labels=LABELS) -> None:  # type: ignore[no-untyped-def]
    assert costs.classes.tolist() == labels
    assert costs.matrix.tolist() == C.tolist()


def test_nested_dicts() -> None:
    same(Costs.from_matrix(NESTED))
    same(Costs.from_matrix({t: {a: c for a, c in row.items() if c} for t, row in reversed(NESTED.items())}))


@pytest.mark.parametrize("labels", [LABELS, [3, 5, 9], [0.5, 1.5, 2.5]])
def test_pandas_frames_with_index(labels) -> None:  # type: ignore[no-untyped-def]
    same(Costs.from_matrix(pd.DataFrame(C, index=labels, columns=labels)), labels)
    shuffled = pd.DataFrame(C, index=labels, columns=labels).loc[labels[::-1]]
    same(Costs.from_matrix(shuffled), labels)
    same(Costs.from_matrix(pd.DataFrame(C, index=pd.CategoricalIndex(labels), columns=labels)), labels)


def test_pandas_frames_without_labels_follow_their_columns() -> None:
    same(Costs.from_matrix(pd.DataFrame(C, columns=LABELS)))
    same(Costs.from_matrix(pd.DataFrame(C)), [0, 1, 2])
    swapped = Costs.from_matrix(pd.DataFrame(C)[[1, 0, 2]])  # here the numbers are labels: rows are matched to them
    assert swapped.aligned([0, 1, 2]).matrix.tolist() == C.tolist()


def test_bool_labels() -> None:
    frame = pd.DataFrame([[0, 1], [5, 0]], index=[False, True], columns=[False, True])
    assert Costs.from_matrix(frame).per_example([True, False]).tolist() == [[5, 0], [0, 1]]


@pytest.mark.parametrize("library", [pd, pl])
@pytest.mark.parametrize("truths", [LABELS, ["cow", "ant", "bee"]])
def test_frames_with_a_column_of_truths(library, truths) -> None:  # type: ignore[no-untyped-def]
    rows = [LABELS.index(t) for t in truths]
    columns = {"truth": truths} | {a: C[rows, j] for j, a in enumerate(LABELS)}
    same(Costs.from_matrix(library.DataFrame(columns)))


def test_polars_frames_with_numbers_for_truths_match_numeric_labels() -> None:
    frame = pl.DataFrame({"truth": [1, 0], "0": [5, 0], "1": [0, 1]})
    assert Costs.from_matrix(frame).per_example([1, 0]).tolist() == [[5, 0], [0, 1]]


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame(C, index=["ant", "bee", "dog"], columns=LABELS),
        pl.DataFrame({"truth": ["ant", "ant", "bee"], "ant": [0, 1, 2], "bee": [1, 0, 2], "cow": [1, 2, 0]}),
        pl.DataFrame({"ant": [0, 1, 2], "bee": [1, 0, 2]}),
    ],
)
def test_frames_whose_rows_and_columns_disagree(frame) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(CostsError, match="C must have a row for each column"):
        Costs.from_matrix(frame)


def test_frames_with_holes_or_words() -> None:
    with pytest.raises(CostsError, match="C must be finite; got nan"):
        Costs.from_matrix(pl.DataFrame({"truth": ["a", "b"], "a": [0, None], "b": [1, 0]}))
    with pytest.raises(CostsError, match="C must hold numbers"):
        Costs.from_matrix(pl.DataFrame({"truth": ["a", "b"], "a": [0, 1], "b": ["x", "y"]}))


def test_csv_round_trip(tmp_path) -> None:  # type: ignore[no-untyped-def]
    path = tmp_path / "costs.csv"
    pd.DataFrame(C, index=LABELS, columns=LABELS).to_csv(path)
    same(Costs.from_file(path))
    path.write_text("\ufefftruth, 0, 1\n0, 0, 1\n\n1, 5, 0\n", encoding="utf-8")
    assert Costs.from_file(str(path)).per_example([1, 0]).tolist() == [[5, 0], [0, 1]]


@pytest.mark.parametrize("separator", [";", "\t", "|"])
def test_csv_of_spreadsheets_with_another_separator(tmp_path, separator: str) -> None:  # type: ignore[no-untyped-def]
    path = tmp_path / "costs.csv"
    pd.DataFrame(C, index=LABELS, columns=LABELS).to_csv(path, sep=separator, decimal=",", encoding="utf-8-sig")
    same(Costs.from_file(path))


def test_toml_round_trip(tmp_path) -> None:  # type: ignore[no-untyped-def]
    path = tmp_path / "costs.toml"
    rows = "\n".join(f"{t} = {{ " + ", ".join(f"{a} = {c}" for a, c in row.items()) + " }" for t, row in NESTED.items())
    path.write_text(rows)
    same(Costs.from_file(path))
    path.write_text("[costs]\n" + rows)
    same(Costs.from_file(path))


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("c.csv", "truth,a,b\na,0,1\n", "must have a header of answers and a row per true class"),
        ("c.csv", "truth,a,b\na,0\nb,1,0\n", "line 2: expected 3 cells, got 2"),
        ("c.csv", "truth,a,b\na,0,x\nb,1,0\n", "line 2: expected numbers after the label"),
        ("c.csv", "truth,a,b\na,0,1\nc,1,0\n", "must name the same classes as the header"),
        ("c.csv", "truth,a,b\na,0,1\na,1,0\nb,1,0\n", "line 3: a second row for 'a'"),
        ("c.csv", "truth,a,a\na,0,1\nb,1,0\n", "must name the same classes as the header"),
        ("c.csv", "a,y\n" + "".join(f"{i},0\n" for i in range(1000)), r"the rows \(0, 1, 2, 3, 4 and 995 more\)"),
        ("c.toml", "a = = 1", "is not TOML"),
        ("c.csv", None, "cannot be read"),
    ],
)
def test_files_that_cannot_be_used(tmp_path, name, text, words) -> None:  # type: ignore[no-untyped-def]
    if text is not None:
        (tmp_path / name).write_text(text)
    with pytest.raises(CostsError, match=words):
        Costs.from_file(tmp_path / name)
