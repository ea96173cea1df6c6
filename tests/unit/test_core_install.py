"""The core dependencies alone run the main jobs: an environment that holds them and nothing else."""

import csv
import importlib.metadata as metadata
import json
import random
import re
import subprocess
import sys
import venv
from pathlib import Path

import pytest

import steelyard
import steelyard._native

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="links packages into an environment of its own")
SOURCE = Path(steelyard.__file__).parents[1]
PYPROJECT = Path(__file__).parents[2] / "pyproject.toml"


def core() -> set[str]:
    """Names of the distributions that the core dependencies bring, their own included."""
    stated = re.search(r"^dependencies = \[(.*?)^\]", PYPROJECT.read_text(), re.DOTALL | re.MULTILINE)
    assert stated is not None
    found: set[str] = set()
    wanted = re.findall(r'"([\w.-]+)', stated[1])
    while wanted:
        name = wanted.pop().lower().replace("_", "-")
        if name in found:
            continue
        try:
            needs = metadata.requires(name) or []
        except metadata.PackageNotFoundError:  # for another system
            continue
        found.add(name)
        wanted += [match[0] for need in needs if "extra ==" not in need and (match := re.match(r"[\w.-]+", need))]
    return found


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("core")
    venv.create(folder, symlinks=True, with_pip=False)
    packages = next(folder.glob("lib/python*/site-packages"))
    for name in core():
        distribution = metadata.distribution(name)
        tops = {file.parts[0] for file in distribution.files or () if file.parts[0] not in ("..", "__pycache__")}
        for top in tops:
            place = Path(str(distribution.locate_file(top)))
            if place.exists() and not (packages / top).exists():
                (packages / top).symlink_to(place)
    (packages / "steelyard").mkdir()
    compiled = Path(steelyard._native.__file__)  # beside the sources, or where an editable install keeps it
    for entry in {compiled, *(SOURCE / "steelyard").iterdir()}:
        if not (packages / "steelyard" / entry.name).exists():
            (packages / "steelyard" / entry.name).symlink_to(entry)
    return folder / "bin" / "python"


@pytest.fixture
def run(python: Path, tmp_path: Path):  # type: ignore[no-untyped-def]
    def command(*words: str, feed: str | None = None) -> "subprocess.CompletedProcess[str]":
        start = [str(python), "-I", "-c", "from steelyard.cli import main; main()", *words]
        return subprocess.run(start, cwd=tmp_path, input=feed, capture_output=True, text=True, check=False)

    return command


def write_loans(path: Path, rows: int = 120) -> None:
    draw = random.Random(1)
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["purpose", "amount", "age", "outcome"])
        for _ in range(rows):
            purpose, amount = draw.choice(["car", "home", "boat", ""]), draw.lognormvariate(8, 1)
            bad = draw.random() < 0.2 + 0.5 * (purpose == "boat")
            writer.writerow([purpose, f"{amount:.2f}", draw.randint(18, 80), "bad" if bad else "good"])


def test_there_is_nothing_else(python: Path) -> None:
    names = "('polars', 'pyarrow', 'matplotlib', 'optuna')"
    probe = f"import importlib.util as u; print([n for n in {names} if u.find_spec(n)])"
    done = subprocess.run([str(python), "-I", "-c", probe], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_a_table_with_texts_is_compared_kept_and_predicted_through_a_pipe(run, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    write_loans(tmp_path / "T.csv")
    settings = ("--candidates", "logistic", "--folds", "2", "--jobs", "1", "--out", "out", "--json")
    done = run("compare", "T.csv", "--target", "outcome", "--positive", "bad", "--costs", "fn=5,fp=1", *settings)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["schema"] == 1
    feed = (tmp_path / "T.csv").read_text()
    done = run("predict", "out/model.steelyard", "-", "--format", "csv", feed=feed)
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) == 121


def test_the_demo_ends_with_a_page_and_a_model(run, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    done = run("demo", "--time", "2", "--jobs", "1", "--quiet")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "steelyard-report" / "model.steelyard").stat().st_size > 0
    assert (tmp_path / "steelyard-report" / "report.html").stat().st_size > 0
