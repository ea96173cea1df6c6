"""Decisions for parts: a whole output part for each input part, and only what is missing is done again."""

import gzip
import io
import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from loan_model import FRAME
from loan_model import MODEL as LOANS

from steelyard import AROW, Balanced, Costs, DataFileError, InvalidInputError, OnlineClassifier, StateError
from steelyard.data import Parts
from steelyard.models.outputs import row_writer
from steelyard.scale import predict_parts

RNG = np.random.default_rng(2)
X = RNG.normal(size=(90, 3))
MODEL = OnlineClassifier(AROW()).fit(X, np.where(X[:, 0] > 0, "yes", "no"))


@pytest.fixture
def parts(tmp_path: Path) -> Path:
    folder = tmp_path / "parts"
    for i in range(3):
        place = folder / f"day={i}"
        place.mkdir(parents=True)
        lines = [",".join(map(repr, map(float, x))) for x in X[30 * i : 30 * i + 30]]
        (place / "rows.csv").write_text("\n".join(["a,b,c", *lines, ""]))
    return folder


def run_predict(parts: Path, out: Path, **given: Any) -> Any:
    with ThreadPoolExecutor(2) as pool:
        manifest = predict_parts(MODEL, parts, out, executor=pool, rows=7, drop=["day"], **given)
    return json.loads(manifest.read_text())


def test_one_output_part_for_each_input_part(parts: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    manifest = run_predict(parts, out, columns=["b"])
    assert [(p["out"], p["rows"]) for p in manifest["parts"]] == [(f"day={i}/rows.parquet", 30) for i in range(3)]
    for i in range(3):
        table = pq.read_table(out / f"day={i}" / "rows.parquet", partitioning=None).to_pydict()
        mine = X[30 * i : 30 * i + 30]
        assert table["decision"] == MODEL.predict(mine).tolist()
        assert table["b"] == mine[:, 1].tolist()
        assert table["score"] == MODEL.decision_function(mine).tolist()


def test_columns_that_go_along_keep_their_digits_and_take_no_name_that_is_written(tmp_path: Path) -> None:
    frame = FRAME.assign(amount=12345678 + np.arange(len(FRAME)))
    (tmp_path / "in").mkdir()
    frame.to_csv(tmp_path / "in" / "a.csv", index=False)
    with ThreadPoolExecutor(2) as pool:
        made: dict[str, Any] = {"format": "csv", "executor": pool, "columns": ["amount"]}
        predict_parts(LOANS, tmp_path / "in", tmp_path / "out", **made)
    lines = (tmp_path / "out" / "a.csv").read_text().splitlines()
    assert [line.split(",")[0] for line in lines] == ["amount", *map(str, frame["amount"])]
    with pytest.raises(InvalidInputError, match="columns must name no column that is written anyway"):
        predict_parts(LOANS, tmp_path / "in", tmp_path / "other", columns=["decision"])
    assert not (tmp_path / "other").exists()


CODES = [f"{i:03}" for i in range(60)]  # as numbers they would be others


@pytest.fixture
def loans(tmp_path: Path) -> Path:
    folder = tmp_path / "loans"
    folder.mkdir()
    for i, rows in enumerate((FRAME[:30], FRAME[30:60])):
        own = {"code": CODES[30 * i : 30 * i + 30], "account": range(1_234_567, 1_234_567 + len(rows))}
        rows.assign(**own).to_csv(folder / f"part-{i}.csv", index=False)
    return folder


@pytest.mark.parametrize("format", ["parquet", "csv", "jsonl"])
def test_columns_that_go_along_are_written_as_they_were_read(loans: Path, tmp_path: Path, format: str) -> None:
    wanted = ["code", "account", "amount", "age"]
    with ThreadPoolExecutor(1) as pool:
        predict_parts(LOANS, loans, tmp_path / "out", columns=wanted, format=format, executor=pool)
        with pytest.raises(InvalidInputError, match=r"columns must name columns of the parts \(age, .*\); got 'none'"):
            predict_parts(LOANS, loans, tmp_path / "other", columns=["none"], executor=pool)
    files = [tmp_path / "out" / f"part-{i}.{format}" for i in range(2)]
    found: Any
    if format == "parquet":
        found = pd.concat([pd.read_parquet(file) for file in files], ignore_index=True)
    elif format == "csv":
        found = pd.concat([pd.read_csv(file, dtype={"code": str}) for file in files], ignore_index=True)
    else:
        lines = [json.loads(line, parse_constant=refuse) for file in files for line in file.read_text().splitlines()]
        found = pd.DataFrame(lines)
    assert found.code.tolist() == CODES
    assert found.account.astype(str).tolist() == [str(1_234_567 + i % 30) for i in range(60)]
    assert found.amount.tolist() == FRAME.amount[:60].tolist()  # every digit
    np.testing.assert_array_equal(found.age.astype(float), FRAME.age[:60])


def refuse(constant: str) -> None:
    raise AssertionError(f"{constant} is no JSON")


def test_names_of_columns_are_no_formulas_either() -> None:
    file = io.BytesIO()
    row_writer("csv", file, safe=True).write({"=1+1": ["a"], "decision": ["=2"]})
    assert file.getvalue() == b"'=1+1,decision\na,'=2\n"


@pytest.mark.parametrize("form", ["matrix", "mapping", "costs", "text"])
def test_other_costs_in_every_form(loans: Path, tmp_path: Path, form: str) -> None:
    costs = Costs.binary(fn=1, fp=90, classes=["bad", "good"], positive="bad")
    forms: Any = {"matrix": [[0, 1], [90, 0]], "mapping": {"bad": 1, "good": 90}, "costs": costs, "text": "fn=1,fp=90"}
    expected = LOANS.predict(FRAME[:30], costs=costs).tolist()
    assert expected != LOANS.predict(FRAME[:30]).tolist()
    with ThreadPoolExecutor(1) as pool:
        predict_parts(LOANS, loans, tmp_path / "out", costs=forms[form], executor=pool)
        for wrong in (Balanced(), Costs.from_rows(np.ones((30, 2)), classes=["bad", "good"])):
            with pytest.raises(InvalidInputError, match="costs must"):
                predict_parts(LOANS, loans, tmp_path / "out", costs=wrong, executor=pool)  # type: ignore[arg-type]
    assert pq.read_table(tmp_path / "out" / "part-0.parquet")["decision"].to_pylist() == expected


def test_parts_that_would_be_written_to_one_file_are_refused(parts: Path, tmp_path: Path) -> None:
    files = [parts / f"day={i}" / "rows.csv" for i in range(2)]
    packed = files[0].with_suffix(".csv.gz")
    packed.write_bytes(gzip.compress(files[0].read_bytes()))
    for given in (files, [files[0], packed]):
        with pytest.raises(InvalidInputError, match=r"out must get a file for each part; got .rows\.parquet for both"):
            predict_parts(MODEL, given, tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("format", ["parquet", "csv"])
def test_a_part_without_rows_gives_a_file_that_can_be_read(parts: Path, tmp_path: Path, format: str) -> None:
    (parts / "day=1" / "rows.csv").write_text("a,b,c\n")
    out = tmp_path / "out"
    assert [part["rows"] for part in run_predict(parts, out, columns=["b"], format=format)["parts"]] == [30, 0, 30]
    decided = Parts(out).read(drop=["day"])
    assert (decided.X.shape, decided.features) == ((60, 3), ("b", "decision", "score"))
    if format == "parquet":
        empty, full = (pq.read_schema(out / f"day={i}" / "rows.parquet") for i in (1, 0))
        assert empty.equals(full)


def test_only_what_is_missing_or_changed_is_done_again(parts: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    run_predict(parts, out, format="csv")
    times = {p: p.stat().st_mtime_ns for p in out.rglob("rows.csv")}
    (out / "day=1" / "rows.csv").unlink()
    (parts / "day=2" / "rows.csv").write_text("a,b,c\n1,2,3\n")
    run_predict(parts, out, format="csv")
    again = {p: p.stat().st_mtime_ns for p in out.rglob("rows.csv")}
    changed = {p.parent.name for p in times if again[p] != times[p]}
    assert changed == {"day=1", "day=2"}


def test_a_bad_part_leaves_no_output_and_no_manifest(parts: Path, tmp_path: Path) -> None:
    rows = (parts / "day=1" / "rows.csv").read_text()
    (parts / "day=1" / "rows.csv").write_text(rows + "1,2\n")
    with pytest.raises(DataFileError, match="day=1"):
        run_predict(parts, tmp_path / "out")
    assert not (tmp_path / "out" / "day=1" / "rows.parquet").exists()
    assert not (tmp_path / "out" / "_manifest.json").exists()
    with pytest.raises(InvalidInputError, match="format must be one of"):
        run_predict(parts, tmp_path / "out", format="xls")


@pytest.mark.parametrize("name", ["day=1/rows.csv", "_manifest.json", "_owner.json", "_job.json"])
def test_files_of_others_in_the_folder_stay_as_they_are(parts: Path, tmp_path: Path, name: str) -> None:
    out = tmp_path / "out"
    (out / name).parent.mkdir(parents=True)
    (out / name).write_text("mine")
    with pytest.raises((InvalidInputError, StateError), match=name):
        run_predict(parts, out, format="csv")
    assert (out / name).read_text() == "mine"
    assert not (out / "day=0" / "rows.csv").exists()


def test_decisions_are_never_written_over_the_parts(parts: Path, tmp_path: Path) -> None:
    before = {path: path.read_bytes() for path in parts.rglob("*.csv")}
    with pytest.raises(InvalidInputError, match="without files of the names to write"):
        run_predict(parts, parts, format="csv")
    assert {path: path.read_bytes() for path in parts.rglob("*.csv")} == before
    (tmp_path / "link").symlink_to(parts)
    with pytest.raises(InvalidInputError, match="without files of the names to write"):
        run_predict(parts, tmp_path / "link", format="csv")
    assert {path: path.read_bytes() for path in parts.rglob("*.csv")} == before
