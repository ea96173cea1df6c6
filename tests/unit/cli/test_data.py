"""``steelyard data``: thin, and what went wrong is one line."""

import pytest
from typer.testing import CliRunner

from steelyard import cli, list_datasets


def test_list_names_every_data_set() -> None:
    answer = CliRunner().invoke(cli.app, ["data", "list"])
    assert answer.exit_code == 0
    assert all(f" {info.name} " in answer.output for info in list_datasets())


def test_fetch_prints_where_the_files_lie() -> None:
    answer = CliRunner().invoke(cli.app, ["data", "fetch", "german"])
    assert answer.output.strip().endswith("german.numer.gz")


def test_a_mistake_is_one_line(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("sys.argv", ["steelyard", "data", "fetch", "nothing"])
    with pytest.raises(SystemExit) as stop:
        cli.main()
    assert stop.value.code == 2
    words = capsys.readouterr().err
    assert words.startswith("steelyard: name must be one of covtype")
    assert words.count("\n") == 1
