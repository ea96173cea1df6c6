"""``--skip-seen`` goes on with the input that was begun, and with no other."""

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from steelyard import InvalidInputError
from steelyard.cli import main
from steelyard.data import Dataset
from steelyard.data.digest import NO_ROWS, rows_digest
from steelyard.streaming.columns import slice_rows
from steelyard.streaming.seen_rows import skip_seen

RNG = np.random.default_rng(6)
NUMBERS = RNG.normal(size=(40, 3))
NUMBERS[3, 1] = np.nan
Y = np.array(["no", "yes"] * 20)
TEXTS = pd.DataFrame(NUMBERS, columns=["a", "b", "c"]).assign(city=["Oslo", None, "Rome", "Bonn"] * 10)
CHUNKS = {
    "numbers": Dataset(NUMBERS, Y, ("a", "b", "c")),
    "texts": Dataset(TEXTS, Y, tuple(TEXTS.columns), {"city": ()}),
    "sparse": Dataset(sparse.random(40, 30, 0.2, format="csr", random_state=0), Y),
}


@pytest.mark.parametrize("kind", CHUNKS)
def test_the_digest_does_not_depend_on_chunks_and_sees_every_cell(kind: str) -> None:
    whole = CHUNKS[kind]
    expected = rows_digest(NO_ROWS, whole)
    found = NO_ROWS
    for start in range(0, 40, 7):
        found = rows_digest(found, slice_rows(whole, start, min(start + 7, 40)))
    assert found == expected
    assert rows_digest(NO_ROWS, slice_rows(whole, 0, 39)) != expected
    other = whole.X.copy()
    if kind == "texts":
        other.loc[5, "city"] = "Riga"
    else:
        other[5, 0] += 1.0
    assert rows_digest(NO_ROWS, Dataset(other, Y, whole.features, whole.nominal)) != expected


@pytest.mark.parametrize("rows", [1, 7, 12, 40])
def test_rows_behind_those_seen_come_and_others_are_refused(rows: int) -> None:
    whole = CHUNKS["numbers"]
    seen = rows_digest(NO_ROWS, slice_rows(whole, 0, 12))

    def chunks(end: int = 40) -> Any:
        return (slice_rows(whole, at, min(at + rows, end)) for at in range(0, end, rows))

    left = np.concatenate([chunk.X for chunk in skip_seen(chunks(), 12, seen)])
    np.testing.assert_array_equal(left, NUMBERS[12:])
    assert [chunk.X for chunk in skip_seen(chunks(12), 12, seen)] == []
    with pytest.raises(InvalidInputError, match="begins with the 12 rows already seen; got 'one of 9 rows'"):
        skip_seen(chunks(9), 12, seen)
    with pytest.raises(InvalidInputError, match=r"got 'other rows'\. It is not the input that the state began with"):
        skip_seen(chunks(), 12, rows_digest(NO_ROWS, slice_rows(whole, 1, 13)))
    assert len(list(skip_seen(chunks(), 12, None))) > 0  # a state of before there were digests


def stream(*words: str) -> int:
    before, sys.argv = sys.argv, ["steelyard", "stream", *words, "--target", "y", "--state", "s", "--quiet"]
    try:
        with pytest.raises(SystemExit) as ended:
            main()
    finally:
        sys.argv = before
    return int(ended.value.code or 0)


@pytest.mark.parametrize("length", [25, 40])
def test_another_file_is_an_error_and_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], length: int
) -> None:
    monkeypatch.chdir(tmp_path)
    frame = pd.DataFrame(NUMBERS, columns=["a", "b", "c"]).assign(y=Y)
    frame[:30].to_csv("begun.csv", index=False)
    assert stream("begun.csv", "--decisions", "log.jsonl") == 0
    before = Path("s").read_bytes(), Path("log.jsonl").read_bytes()
    frame[::-1][:length].to_csv("other.csv", index=False)
    assert stream("other.csv", "--skip-seen", "--decisions", "log.jsonl") == 2
    assert "It is not the input that the state began with" in capsys.readouterr().err
    assert (Path("s").read_bytes(), Path("log.jsonl").read_bytes()) == before
    frame.to_csv("begun.csv", index=False)
    assert stream("begun.csv", "--skip-seen", "--decisions", "log.jsonl") == 0
    assert len(Path("log.jsonl").read_text().splitlines()) == 40
