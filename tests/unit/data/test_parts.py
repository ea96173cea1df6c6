"""Many files as one data set: which ones, in which order, with which columns."""

import gzip
import itertools
import os
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard import DataFileError, DataNotFoundError, InvalidInputError, Parts, iter_chunks, read_csv, read_table
from steelyard.data.part_files import natural_order
from steelyard.data.parts import join_labels

pa = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")


def written(folder: Path, **files: str) -> Path:
    for name, text in files.items():
        path = folder / name.replace("__", "/").replace("_csv", ".csv")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def test_a_folder_in_natural_order_without_markers(tmp_path: Path) -> None:
    written(tmp_path, part10_csv="a,y\n10,0\n", part9_csv="a,y\n9,1\n", sub__part1_csv="a,y\n1,1\n")
    for junk in ("_SUCCESS", ".part3.csv.crc", ".hidden.csv", "part11.csv.tmp", "_temporary/part12.csv"):
        (tmp_path / junk).parent.mkdir(exist_ok=True)
        (tmp_path / junk).write_text("junk")
    parts = Parts(tmp_path)
    assert [part.name for part in parts.files] == ["part9.csv", "part10.csv", os.path.join("sub", "part1.csv")]
    assert repr(parts).startswith("Parts(3 csv files: part9.csv, part10.csv, ")
    assert [chunk.X.tolist() for chunk in parts.iter_chunks(target="y")] == [[[9]], [[10]], [[1]]]
    assert read_table(tmp_path, target="y").y.tolist() == [1, 0, 1]


@given(st.lists(st.integers(0, 10**6), unique=True, min_size=1))
def test_natural_order_is_that_of_the_numbers(numbers: list[int]) -> None:
    names = sorted((f"part-{n}.csv" for n in numbers), key=natural_order)
    assert names == [f"part-{n}.csv" for n in sorted(numbers)]


def test_patterns_and_lists(tmp_path: Path) -> None:
    written(tmp_path, p2_csv="a\n2\n", p10_csv="a\n10\n", q1_csv="a\n1\n")
    by_pattern = Parts(str(tmp_path / "p*.csv"))
    by_list = Parts([tmp_path / "p10.csv", str(tmp_path / "p2.csv")])
    assert [part.path for part in by_pattern.files] == [part.path for part in by_list.files]
    assert [chunk.X.item() for chunk in iter_chunks(str(tmp_path / "?*.csv"))] == [2, 10, 1]
    with pytest.raises(InvalidInputError, match="source must name each part once"):
        Parts([tmp_path / "p2.csv", str(tmp_path / "p2.csv")])
    for twice in ([tmp_path, tmp_path / "p2.csv"], [f"{tmp_path}/p2.csv", f"{tmp_path}/./p2.csv"]):
        with pytest.raises(InvalidInputError, match=r"source must name each part once; got .*p2\.csv"):
            Parts(twice)
    with pytest.raises(DataNotFoundError, match="holds no data files"):
        Parts(str(tmp_path / "*.parquet"))
    with pytest.raises(DataNotFoundError, match="does not exist"):
        Parts([tmp_path / "none.csv"])
    with pytest.raises(DataNotFoundError, match="none/ does not exist"):
        iter_chunks(f"{tmp_path}/none/")
    with pytest.raises(InvalidInputError, match="source must be a folder, pattern, URL or list of paths"):
        Parts(3)  # type: ignore[arg-type]


def test_all_parts_have_one_format(tmp_path: Path) -> None:
    written(tmp_path, a_csv="a\n1\n", **{"b.jsonl": '{"a": 1}\n'})
    with pytest.raises(DataFileError, match=r"b.jsonl: expected csv, as .*a.csv is; got another format"):
        Parts(tmp_path)


def test_a_different_type_names_part_column_and_both_types(tmp_path: Path) -> None:
    parquet.write_table(pa.table({"a": [1, 2], "y": ["p", "q"]}), tmp_path / "0.parquet")
    parquet.write_table(pa.table({"a": [1.5], "y": ["p"]}), tmp_path / "1.parquet")
    assert Parts(tmp_path).schema() == {"a": "number", "y": "text"}  # integers and floats may be mixed
    parquet.write_table(pa.table({"a": ["x"], "y": ["p"]}), tmp_path / "2.parquet")
    with pytest.raises(DataFileError, match=r"2.parquet: expected type int64 in column a, as in .*0.parquet; got str"):
        Parts(tmp_path).iter_chunks(target="y")
    parquet.write_table(pa.table({"b": [1], "y": ["p"]}), tmp_path / "2.parquet")
    expected = r"2.parquet: expected the 2 columns of .*0.parquet \(a, y\); got "
    with pytest.raises(DataFileError, match=f"{expected}no 'a' and also 'b'"):
        Parts(tmp_path).iter_chunks(target="y")
    for names, words in ((("a",), "no 'y'"), (("a", "y", "z"), "also 'z'"), (("y", "a"), "'y' in place of 'a'")):
        parquet.write_table(pa.table({name: [1] for name in names}), tmp_path / "2.parquet")
        with pytest.raises(DataFileError, match=expected + words):
            Parts(tmp_path).iter_chunks(target="y")


def test_parts_without_rows(tmp_path: Path) -> None:
    written(tmp_path, p1_csv="a,y\n", p2_csv="a,y\n2,1\n", p3_csv="a,y\n")
    assert [chunk.X.tolist() for chunk in Parts(tmp_path).iter_chunks(target="y")] == [[[2]]]
    written(tmp_path, p3_csv="b,y\n")  # names are compared where no row is
    with pytest.raises(DataFileError, match=r"p3.csv: expected the 2 columns of .*p1.csv \(a, y\); got no 'a'"):
        Parts(tmp_path).iter_chunks(target="y")
    written(tmp_path, p3_csv="")
    with pytest.raises(DataFileError, match=r"p3.csv: expected the names of columns; got an empty file. Remove it"):
        Parts(tmp_path).iter_chunks(target="y")
    written(tmp_path / "json", **{"1.jsonl": "", "2.jsonl": '{"a": 2, "y": 1}\n'})
    assert [chunk.X.tolist() for chunk in Parts(tmp_path / "json").iter_chunks(target="y")] == [[[2]]]


@pytest.mark.parametrize("kind", ["string", "large_string", "string_view"])
def test_strings_of_any_layout_are_text(tmp_path: Path, kind: str) -> None:
    parquet.write_table(pa.table({"t": pa.array(["u", None], kind), "y": [0, 1]}), tmp_path / "0.parquet")
    parquet.write_table(pa.table({"t": pa.array(["v"]), "y": [0]}), tmp_path / "1.parquet")
    assert Parts(tmp_path).schema() == {"t": "text", "y": "number"}
    assert read_table(tmp_path, target="y").nominal == {"t": ("u", "v")}


def test_labels_that_no_double_holds_are_refused_or_text(tmp_path: Path) -> None:
    parquet.write_table(pa.table({"a": [1.0, 2.0], "y": [2**60, -(2**61)]}), tmp_path / "0.parquet")
    hint = r"Read them as text with nominal=\['y'\]"
    with pytest.raises(DataFileError, match=rf"labels within 2\^53 in column y; got -{2**61}\. {hint}"):
        Parts(tmp_path).count_labels("y")
    assert Parts(tmp_path).count_labels("y", nominal=["y"]) == {str(-(2**61)): 1, str(2**60): 1}


def test_a_column_that_is_empty_at_first_takes_the_kind_of_later_parts(tmp_path: Path) -> None:
    written(tmp_path, p1_csv="a,b\n1,\n", p2_csv="a,b\n,x\n", p3_csv="a,b\n3,\n")
    chunks = list(Parts(tmp_path).iter_chunks())
    assert [chunk.nominal for chunk in chunks] == [{"b": ()}] * 3
    whole = read_table(tmp_path)
    assert whole.nominal == {"b": ("x",)}
    assert whole.X["b"].isna().tolist() == [True, False, True]


def test_text_against_number_is_an_error_unless_it_is_named_nominal(tmp_path: Path) -> None:
    written(tmp_path, p1_csv="a\nx\n", p2_csv="a\n1\n")
    with pytest.raises(DataFileError, match=r"p2.csv: expected type text in column a, as in .*p1.csv; got number"):
        Parts(tmp_path).iter_chunks()
    assert [chunk.X["a"].tolist() for chunk in Parts(tmp_path).iter_chunks(nominal=["a"])] == [["x"], ["1"]]


def test_folders_give_columns(tmp_path: Path) -> None:
    written(tmp_path, **{"year=2023__kind=a%20b__x_csv": "n,y\n1,0\n", "year=2024__kind=c__x_csv": "n,y\n2,1\n3,0\n"})
    first, second = Parts(tmp_path).iter_chunks(target="y")
    assert first.features == ("n", "year", "kind")
    assert (first.X["year"].tolist(), second.X["kind"].tolist()) == ([2023], ["c", "c"])
    by_year = read_table(str(tmp_path / "year=*" / "kind=*" / "*.csv"), target="year", drop=["kind"])
    assert (by_year.X.tolist(), by_year.y.tolist()) == ([[1, 0], [2, 1], [3, 0]], [2023, 2024, 2024])
    assert Parts(tmp_path).count_labels("year") == {2023: 1, 2024: 2}
    assert Parts(tmp_path).count_levels(["kind"]) == {"kind": {"a b": 1, "c": 2}}
    written(tmp_path, **{"year=2025__x_csv": "n,y\n1,0\n"})
    with pytest.raises(DataFileError, match="expected the folder keys of"):
        Parts(tmp_path)


def test_labels_and_levels_are_counted_by_one_pass(tmp_path: Path) -> None:
    written(tmp_path, p1_csv="a,t,y\n1,u,1\n2,v,0\n", p2_csv="a,t,y\n3,u,1\n4,,1\n")
    parts = Parts(tmp_path)
    assert parts.count_labels("y") == {0: 1, 1: 3}
    assert parts.count_labels(-1) == {0: 1, 1: 3}
    assert parts.count_levels(["t", "y"]) == {"t": {"u": 2, "v": 1}, "y": {"0": 1, "1": 3}}
    with pytest.raises(InvalidInputError, match="must name columns that exist"):
        parts.count_levels(["z"])


@given(st.lists(st.sampled_from(["a", "b", 1, None]), min_size=1), st.data())
def test_counts_do_not_depend_on_how_rows_are_cut(labels: list[Any], data: st.DataObject) -> None:
    texts = [None if label is None else str(label) for label in labels]
    cuts = sorted(data.draw(st.lists(st.integers(0, len(labels)), max_size=4)))
    pieces = [np.array(texts[a:b], dtype=object) for a, b in itertools.pairwise([0, *cuts, len(texts)])]
    assert Counter(join_labels(pieces).tolist()) == Counter(texts)


@pytest.mark.parametrize("format", ["csv", "jsonl", "libsvm", "arff", "parquet"])
def test_parts_add_up_to_the_whole(format: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 3)).round(3), rng.integers(0, 2, 30)
    for i in range(3):
        text, rows = "", list(zip(X[10 * i : 10 * i + 10].tolist(), y[10 * i : 10 * i + 10].tolist(), strict=True))
        if format == "csv":
            text = "a,b,c,y\n" + "".join(f"{','.join(map(str, x))},{label}\n" for x, label in rows)
        elif format == "jsonl":
            text = "".join(f'{{"a": {x[0]}, "b": {x[1]}, "c": {x[2]}, "y": {label}}}\n' for x, label in rows)
        elif format == "libsvm":
            text = "".join(f"{label} {' '.join(f'{j}:{v}' for j, v in enumerate(x, 1))}\n" for x, label in rows)
        elif format == "arff":
            text = "@relation r\n" + "".join(f"@attribute {c} real\n" for c in "abc") + "@attribute y {0,1}\n@data\n"
            text += "".join(f"{','.join(map(str, x))},{label}\n" for x, label in rows)
        if format == "parquet":
            columns = {c: [x[j] for x, _ in rows] for j, c in enumerate("abc")} | {"y": [label for _, label in rows]}
            parquet.write_table(pa.table(columns), tmp_path / f"{i}.parquet")
        else:
            (tmp_path / f"{i}.{format}.gz").write_bytes(gzip.compress(text.encode()))
    options: dict[str, Any] = {} if format == "libsvm" else {"target": "y"}
    whole = read_table(tmp_path, **options)
    assert (whole.X.toarray() if format == "libsvm" else np.asarray(whole.X)).tolist() == X.tolist()
    assert whole.y.tolist() == y.tolist()
    chunks = list(iter_chunks(tmp_path, rows=4, **options))
    assert [chunk.X.shape[0] for chunk in chunks] == [4, 4, 2] * 3
    assert [label for chunk in chunks for label in chunk.y.tolist()] == y.tolist()
    assert Parts(tmp_path).count_labels(**options) == {0: int((y == 0).sum()), 1: int((y == 1).sum())}


def test_json_fields_of_later_parts_may_be_missing_but_not_new(tmp_path: Path) -> None:
    written(tmp_path, **{"0.jsonl": '{"a": 1, "b": "x"}\n', "1.jsonl": '{"a": 2}\n'})
    assert read_table(tmp_path).X["b"].isna().tolist() == [False, True]
    written(tmp_path, **{"2.jsonl": '{"a": 2, "z": 1}\n'})
    with pytest.raises(DataFileError, match=r"2.jsonl: expected the 2 columns of .*0.jsonl"):
        read_table(tmp_path)


def test_labels_of_json_lines_may_be_texts_and_fields_named(tmp_path: Path) -> None:
    written(tmp_path, **{"0.jsonl": '{"b": 7, "a": 1, "y": "no"}\n', "1.jsonl": '{"a": 2, "y": "01"}\n'})
    for fields in ({}, {"features": ["a", "b"]}):
        whole = read_table(tmp_path, target="y", **fields)
        assert sorted(whole.features) == ["a", "b"]
        assert whole.y.tolist() == ["no", "01"]
        assert Parts(tmp_path).count_labels("y", **fields) == {"01": 1, "no": 1}
    written(tmp_path, **{"2.jsonl": '{"a": 3, "y": 5}\n'})
    with pytest.raises(DataFileError, match=r"type text in column y, as in .*0.jsonl; got number. .* nominal="):
        read_table(tmp_path, target="y")
    assert read_table(tmp_path, target="y", nominal=["y"]).y.tolist() == ["no", "01", "5"]


def test_the_fingerprint_changes_with_any_part(tmp_path: Path) -> None:
    for i in range(2):
        parquet.write_table(pa.table({"a": [i]}), tmp_path / f"{i}.parquet")
    before = Parts(tmp_path).fingerprint()
    assert Parts(tmp_path).fingerprint() == before
    os.utime(tmp_path / "1.parquet", ns=(1, 1))
    changed = Parts(tmp_path).fingerprint()
    assert changed != before
    status = (tmp_path / "1.parquet").stat()
    parquet.write_table(pa.table({"a": [7]}), tmp_path / "1.parquet")
    os.utime(tmp_path / "1.parquet", ns=(status.st_atime_ns, status.st_mtime_ns))
    assert Parts(tmp_path).fingerprint() != changed  # same size and time, another footer


def test_a_part_that_changed_or_vanished_is_named(tmp_path: Path) -> None:
    written(tmp_path, p1_csv="a\n1\n", p2_csv="a\n2\n")
    parts = Parts(tmp_path)
    chunks = parts.iter_chunks()
    next(chunks)
    (tmp_path / "p2.csv").write_text("a\n2\n3\n")
    with pytest.raises(DataFileError, match=r"p2.csv: expected a file as it was when the parts were listed"):
        next(chunks)
    (tmp_path / "p2.csv").unlink()
    with pytest.raises(DataNotFoundError, match=r"p2.csv does not exist"):
        list(parts.iter_chunks())


@pytest.mark.parametrize("length", [2 * 10_000, 2 * 40_000])
def test_a_part_that_is_cut_at_the_end_of_a_line_while_it_is_read_is_named(tmp_path: Path, length: int) -> None:
    written(tmp_path, p1_csv="a\n" + "1\n" * 1_000_000)  # larger than what is read ahead
    chunks = Parts(tmp_path).iter_chunks(rows=1000)
    next(chunks)
    os.truncate(tmp_path / "p1.csv", length)
    with pytest.raises(DataFileError, match=r"p1.csv: expected a file as it was when the parts were listed"):
        list(chunks)


def test_urls_are_read_through_fsspec() -> None:
    fsspec = pytest.importorskip("fsspec")
    memory = fsspec.filesystem("memory")
    for i, text in enumerate([b"a,y\n1,0\n", b"a,y\n2,1\n"]):
        with memory.open(f"/rows/day={i}/part.csv", "wb") as file:
            file.write(text)
    with memory.open("/rows/_SUCCESS", "wb") as file:
        file.write(b"")
    try:
        for url in ("memory://rows", "memory://rows/day=*/part.csv"):
            whole = read_table(url, target="y")
            assert (whole.X.tolist(), whole.y.tolist(), whole.features) == ([[1, 0], [2, 1]], [0, 1], ("a", "day"))
        assert len(Parts("memory://rows").fingerprint()) == 64
        listed = Parts("memory://rows")
        with memory.open("/rows/day=0/part.csv", "wb") as file:
            file.write(b"a,y\n1,0\n2,0\n")
        with pytest.raises(DataFileError, match=r"/rows/day=0/part.csv: expected a file as it was when"):
            listed.read(target="y")
        memory.rm("/rows/day=0/part.csv")
        with pytest.raises(DataNotFoundError, match=r"/rows/day=0/part.csv does not exist"):
            listed.read(target="y")
        with memory.open("/bad/part.csv", "wb") as file:
            file.write(b"a,b\n1\n")
        with pytest.raises(DataFileError, match=r"part.csv, line 2: expected 2 cells"):
            read_table("memory://bad")
    finally:
        memory.rm("/", recursive=True)


def test_one_file_is_one_part(tmp_path: Path) -> None:
    written(tmp_path, only_csv="a\n1\n")
    assert len(Parts(tmp_path / "only.csv")) == 1
    assert read_csv(tmp_path / "only.csv").X.tolist() == [[1]]


def test_parts_say_whether_single_precision_loses_nothing(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")
    single = pa.table({"a": pa.array([1.0], type="float32"), "n": pa.array([1.0], type="float64"), "y": [0]})
    for i in range(2):
        pq.write_table(single, tmp_path / f"p{i}.parquet")
    assert Parts(tmp_path).holds_singles(target="y", drop=["n"])
    assert not Parts(tmp_path).holds_singles(target="y")
    pq.write_table(single.set_column(0, "a", pa.array([1.0])), tmp_path / "p2.parquet")
    assert not Parts(tmp_path).holds_singles(target="y", drop=["n"])
    (tmp_path / "c").mkdir()
    (tmp_path / "c" / "p.csv").write_text("a,y\n1,0\n")
    assert not Parts(tmp_path / "c").holds_singles(target="y")
