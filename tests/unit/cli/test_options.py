"""The shell completes the columns of the file named before; limits hold for every command."""

from pathlib import Path

import pytest
from forked import Forked

from steelyard.cli.options import MOST_SEED


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def completed(words: str) -> list[str]:
    asked = {"_STEELYARD_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(len(words.split()) - 1)}
    return Forked("from steelyard.cli import main; main()", **asked).communicate()[0].split()


def test_columns_of_the_file_and_nothing_of_one_that_is_not_there(tmp_path: Path) -> None:
    (tmp_path / "loans.csv").write_text("amount,age,status\n1,2,bad\n")
    assert completed("steelyard compare loans.csv --target a") == ["amount", "age"]
    assert completed("steelyard compare nothing.csv --target a") == []


def test_every_option_that_names_columns_completes_them_and_a_model_before_the_file_is_passed_over(
    tmp_path: Path,
) -> None:
    (tmp_path / "loans.csv").write_text("amount,age,status\n1,2,bad\n")
    (tmp_path / "m.steelyard").write_bytes(b"PK\x03\x04 a model")
    assert completed("steelyard predict m.steelyard loans.csv --keep a") == ["amount", "age"]
    assert completed("steelyard compare loans.csv --fn-cost-column am") == ["amount"]
    assert completed("steelyard compare loans.csv --weight ag") == ["age"]


def test_a_seed_beyond_the_limit_is_refused_before_any_work(tmp_path: Path) -> None:
    (tmp_path / "loans.csv").write_text("amount,age,status\n1,2,bad\n")
    words = ["compare", "loans.csv", "--target", "status", "--seed", str(MOST_SEED + 1)]
    process = Forked("from steelyard.cli import main; main()", *words)
    complaint = process.communicate()[1]
    assert process.returncode == 2
    assert str(MOST_SEED) in complaint
    assert len(complaint.splitlines()) == 1
