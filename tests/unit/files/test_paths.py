import io
import os
import sys

import pytest

from steelyard.cli import main
from steelyard.errors import InvalidInputError
from steelyard.files import check_new, check_paths


def test_an_output_is_no_input_by_name_link_or_hard_link(tmp_path):
    data = tmp_path / "in.csv"
    data.write_text("a\n")
    (tmp_path / "soft").symlink_to(data)
    os.link(data, tmp_path / "hard")
    (tmp_path / "sub").mkdir()
    for other in (data, tmp_path / "soft", tmp_path / "hard", tmp_path / "sub" / ".." / "in.csv"):
        with pytest.raises(InvalidInputError, match="--decisions must not be the input"):
            check_paths(inputs={"the input": str(data)}, outputs={"--decisions": other})
    check_paths(inputs={"the input": str(data)}, outputs={"--decisions": tmp_path / "new", "--state": None})


def test_two_outputs_that_do_not_exist_yet_are_compared_by_where_they_would_be(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "new")
    with pytest.raises(InvalidInputError, match="--decisions must not be --state"):
        check_paths(inputs={}, outputs={"--state": tmp_path / "new", "--decisions": tmp_path / "link"})


def test_a_redirected_standard_input_is_an_input(tmp_path):
    data = tmp_path / "in.csv"
    data.write_text("a\n")
    with data.open("rb") as stream, pytest.raises(InvalidInputError, match="must not be the input"):
        check_paths(inputs={"the input": stream}, outputs={"--decisions": data})
    check_paths(inputs={"the input": io.BytesIO()}, outputs={"--decisions": data})
    with open(os.devnull, "rb") as nothing:
        check_paths(inputs={"the input": nothing}, outputs={"--decisions": os.devnull})


def test_a_file_with_content_is_replaced_only_where_that_was_said(tmp_path):
    mine, empty = tmp_path / "mine.csv", tmp_path / "empty"
    mine.write_text("mine")
    empty.touch()
    (tmp_path / "link").symlink_to(mine)
    for path in (mine, tmp_path / "link"):
        with pytest.raises(InvalidInputError, match=r"--out must be a new file; got .* holds 4 bytes.*--overwrite"):
            check_new("--out", path, overwrite=False)
        check_new("--out", path, overwrite=True)
    for path in (None, empty, tmp_path / "new", os.devnull):
        check_new("--out", path, overwrite=False)


def test_rows_that_are_sent_are_not_overwritten_by_their_decisions(tmp_path, monkeypatch, capsys):
    pytest.importorskip("uvicorn")
    data = tmp_path / "in.csv"
    data.write_text("a\n1\n")
    words = ["service", "push", str(data), "--project", "p", "--token", "t", "--out", str(data)]
    monkeypatch.setattr(sys, "argv", ["steelyard", *words])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
    assert "--out must not be the input" in capsys.readouterr().err
    assert data.read_text() == "a\n1\n"
