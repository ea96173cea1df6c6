"""Random command lines: whatever is typed, it ends in an answer or in one clean line, and inputs stay as they are."""

import contextlib
import io
import json
import os
import random
import re
import sys
import traceback
import warnings
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import typer
from limited import limit_time

from steelyard import CSOGD2, OnlineClassifier, cli
from steelyard import comparison as room
from steelyard.comparison import command as compare_command  # loaded once, before the forks
from steelyard.comparison.registry import candidates as registered
from steelyard.streaming import command as stream_command

LINES = int(os.environ.get("STEELYARD_LINES", "1500"))
PARTS = 2  # for as many processes
TOGETHER = 25  # lines that one forked child takes in turn
SECONDS = 60  # of processor time
SEED = int(os.environ.get("STEELYARD_SEED", "20261117"))
assert stream_command

JUNK = [
    "",
    " ",
    "-1",
    "0",
    "1e400",
    "nan",
    "inf",
    "99999999999999999999",
    "ä",
    "\x1b[2J",
    "a" * 5000,
    "-" * 5000,
    "[" * 300,
]
JUNK += [
    "../inputs/rows.csv",
    "../inputs/empty",
    "../inputs",
    "/dev/null",
    "/dev/full",
    "/proc/nope/x",
    "nowhere/x",
    ".",
]
FILES = [
    "rows.csv",
    "words.csv",
    "rows.jsonl",
    "rows.parquet",
    "rows.libsvm",
    "empty",
    "broken.csv",
    "bytes.csv",
    "big.parquet",
]
FILES += ["huge.jsonl", "costs.csv", "deep.toml", "latin.csv", "online.steelyard", "mail.steelyard", "missing.csv"]
MADE = {*FILES} - {"missing.csv"}
RULES = [
    "CSOGD2",
    "AROW",
    "CSOGD2(eta=0.1)",
    "PA1(C=-1)",
    "CSOGD2(",
    "__import__('os')",
    "CSOGD2(eta=nan)",
    "X()",
    "AskAll",
]
COSTS = [
    "fn=5,fp=1",
    "8:1",
    "balanced",
    "fn=8",
    "fn=0,fp=0",
    "fn=-1,fp=1",
    "fn=1e308,fp=1",
    "fn=nan,fp=1",
    "FN=2,Fp=3",
    "x",
]
COSTS += ["../inputs/costs.csv", "../inputs/deep.toml", "../inputs/latin.csv", "../inputs/empty"]
OUTPUTS = ["out.jsonl", "out.csv", "-", "../inputs/rows.csv", "link.csv", "../inputs/online.steelyard", "s"]
STREAM = {
    "--target": ["y", "a", "x", "0", "-1"],
    "--update": RULES,
    "--query": [
        "AskAll",
        "Asymmetric(0.1, 0.2)",
        "AtLeast(0.2, rule=AskUncertain(c=0.5))",
        "AtLeast(2)",
        "Symmetric(0)",
    ],
    "--budget": ["5", "0.5", "0", "-3", "many"],
    "--costs": COSTS,
    "--classes": ["0,1", "1,0", "0", "a,b", ",", "0,0", "u,v,w"],
    "--positive": ["0", "1", "u"],
    "--threshold": ["0.5", "1e300"],
    "--after-budget": ["last", "average", "first"],
    "--fit-intercept": None,
    "--scale": ["none", "standard", "unit-norm", "auto", "much"],
    "--hash-bits": ["4", "12", "31"],
    "--format": ["csv", "jsonl", "libsvm", "parquet", "xlsx"],
    "--no-header": None,
    "--n-features": ["3", "1", "0"],
    "--zero-based": None,
    "--drop": ["a", "y", "z"],
    "--chunk": ["1", "7", "1000", "99999999999999999999"],
    "--decisions": OUTPUTS,
    "--state": ["s", "t.steelyard", *OUTPUTS],
    "--append": None,
    "--overwrite": None,
    "--sync": ["never", "state", "chunk", "always"],
    "--safe-csv": None,
    "--skip-seen": None,
    "--seed": ["0", "7", "-1"],
    "--quiet": None,
    "--json": None,
}
COMPARE = {
    "--target": ["y", "a", "x"],
    "--costs": COSTS,
    "--positive": ["0", "1", "u"],
    "--fn-cost-column": ["a", "b", "y"],
    "--fp-cost-column": ["a", "z"],
    "--drop": ["a", "b", "y"],
    "--time": ["1", "0", "-5"],
    "--folds": ["2", "1", "1000"],
    "--jobs": ["1", "0"],
    "--seed": ["0", "-1", "99999999999999999999"],
    "--out": ["out", "../inputs", "../inputs/rows.csv", "nowhere/deep"],
    "--resume": None,
    "--overwrite": None,
    "--json": None,
}
PREDICT = {
    "--fn-cost-column": ["a", "z"],
    "--fp-cost-column": ["b"],
    "--out": ["out.csv", "../inputs/rows.csv", "../inputs/mail.steelyard", "link.csv"],
    "--safe-csv": None,
    "--no-safe-csv": None,
    "--overwrite": None,
}
GRAMMAR = {
    "stream": (STREAM, 1, 0.75),
    "compare": (COMPARE, 1, 0.1),
    "predict": (PREDICT, 2, 0.13),
    "nonsense": ({}, 0, 0.02),
}


def random_line(draw: random.Random) -> list[str]:
    name = draw.choices(list(GRAMMAR), [share for _, _, share in GRAMMAR.values()])[0]
    options, n_files, _ = GRAMMAR[name]
    line = [name]
    files = FILES[:5] if draw.random() < 0.7 else FILES
    if name == "predict":
        line.append(f"../inputs/{draw.choice(['mail.steelyard', 'mail.steelyard', *FILES])}")
    line += [f"../inputs/{draw.choice(files)}" if draw.random() < 0.97 else draw.choice(JUNK) for _ in range(n_files)][
        :1
    ]
    if name != "predict" and draw.random() < 0.9:
        line += ["--target", "y"]
    if name == "compare":
        line += ["--time", "1", "--folds", "2", "--jobs", "1"]
    for option in draw.sample(list(options), min(len(options), draw.randint(0, 5))):
        line.append(option)
        values = options[option]
        if values is not None:
            line.append(draw.choice(values) if draw.random() < 0.85 else draw.choice(JUNK))
    if draw.random() < 0.05:
        line.insert(draw.randrange(len(line) + 1), draw.choice(["--nothing", "-x", "--", *JUNK[:6]]))
    return [part.replace("\0", "") for part in line]


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("lines") / "inputs"
    folder.mkdir()
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=60), "b": rng.random(60)})
    frame["y"] = (frame.a > 0).astype(int)
    frame.to_csv(folder / "rows.csv", index=False)
    frame.assign(b=rng.choice(["u", "\x1b[31mv"], 60), y=np.where(frame.y, "=u", "ä")).to_csv(
        folder / "words.csv", index=False
    )
    frame.to_json(folder / "rows.jsonl", orient="records", lines=True)
    frame.to_parquet(folder / "rows.parquet")
    frame.assign(a=2**60 + 1).to_parquet(folder / "big.parquet")
    (folder / "rows.libsvm").write_text("".join(f"{r.y} 1:{r.a} 2:{r.b}\n" for r in frame.itertuples()))
    (folder / "huge.jsonl").write_text('{"a": 1, "y": 1e400}\n{"a": 2, "y": 0}\n')
    (folder / "empty").touch()
    (folder / "broken.csv").write_text('a,b,y\n1,2\n"3,4,5\n')
    (folder / "bytes.csv").write_bytes(bytes(range(256)) * 4)
    (folder / "costs.csv").write_text("true,0,1\n0,0,1\n1,5,0\n")
    (folder / "deep.toml").write_text("a=" + "[" * 5000)
    (folder / "latin.csv").write_bytes("true,ä\nä,0\n".encode("latin-1"))
    learner = OnlineClassifier(CSOGD2()).fit(frame[["a", "b"]].to_numpy(), frame.y)
    learner.save(folder / "online.steelyard")
    with pytest.MonkeyPatch.context() as few:
        few.setattr(room, "registered", cheap)
        room.compare(frame[["a", "b"]], frame.y.to_numpy(), time_limit=5, cv=2).save(folder / "mail.steelyard")
    return folder


def cheap(names: object = None) -> list[Any]:
    """Candidates that need no fitting: a line is about what is typed, not about what is learned."""
    return [c for c in registered() if c.name.startswith("always")]


def compare_here(*given: Any, **named: Any) -> Any:
    """The comparison in this process: a worker would import everything first."""
    return room.compare(*given, **named | {"isolate": False})


def run_line(line: list[str], work: Path) -> int:
    """The command in this process, with everything it prints in a file; what it left by."""
    work.mkdir()
    named = any(part.endswith("rows.csv") for part in line)  # else the link may be written through: it is no input
    (work / "link.csv").symlink_to("../inputs/rows.csv" if named else "other.csv")
    for path, mode, ends in ((os.devnull, os.O_RDONLY, [0]), (said_by(work), os.O_WRONLY | os.O_CREAT, [1, 2])):
        opened = os.open(path, mode)
        for end in ends:
            os.dup2(opened, end)
        os.close(opened)
    sys.stdin, sys.stdout, sys.stderr = open(0, closefd=False), open(1, "w", closefd=False), open(2, "w", closefd=False)  # noqa: SIM115
    warnings.resetwarnings()
    os.chdir(work)
    sys.argv = ["steelyard", *line]
    try:
        cli.main()
        code = 99
    except SystemExit as left:
        code = left.code if isinstance(left.code, int) else 98
    except BaseException:
        traceback.print_exc()
        code = 99
    sys.stdout.flush()
    sys.stderr.flush()
    return code


def said_by(work: Path) -> Path:
    return work.with_suffix(".said")


def run_lines(lines: list[list[str]], works: list[Path], inputs: Path) -> Iterator[tuple[int, str, list[str]]]:
    """Each command in a forked child: what it left by, what it printed, and the inputs it changed.

    A child takes several in turn, since a fork costs more than most of them; a line that ends the child leaves the
    rest to another.
    """
    before = {path.name: path.read_bytes() for path in inputs.iterdir() if path.name in MADE}
    done = 0
    while done < len(lines):
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                for line, work in zip(lines[done:], works[done:], strict=True):
                    limit_time(SECONDS)
                    code = run_line(line, work)
                    os.write(writing, json.dumps([code, restored(inputs, before)]).encode() + b"\n")
            finally:
                os._exit(99)
        os.close(writing)
        with open(reading) as answers:
            ended = [json.loads(answer) for answer in answers]
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        if done + len(ended) < len(lines):
            ended.append([status, restored(inputs, before)])
        for (code, changed), work in zip(ended, works[done:], strict=False):
            yield code, said_by(work).read_bytes().decode("utf-8", "replace"), changed
        done += len(ended)


def restored(inputs: Path, before: dict[str, bytes]) -> list[str]:
    """The inputs that are not as before; afterwards they are."""
    changed = [name for name, content in before.items() if (inputs / name).read_bytes() != content]
    for name in changed:
        (inputs / name).write_bytes(before[name])
    return changed


@pytest.fixture(scope="module")
def warm(inputs: Path) -> Iterator[None]:
    """Everything that a command imports is imported, and its options are read once, before the forks."""
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(io.StringIO()):
        patch.chdir(inputs.parent)
        patch.setattr(typer.main, "get_command", cache(typer.main.get_command))
        patch.setattr(room, "registered", cheap)
        patch.setattr(compare_command, "compare", compare_here)
        for line in (["stream", "inputs/rows.csv", "--target", "y"], ["predict", "inputs/mail.steelyard", "none.csv"]):
            patch.setattr(sys, "argv", ["steelyard", *line])
            with contextlib.redirect_stderr(io.StringIO()), pytest.raises(SystemExit):
                cli.main()
        yield


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.usefixtures("warm")
def test_every_line_ends_in_an_answer_or_one_clean_line(inputs: Path, part: int) -> None:
    draw = random.Random(SEED + part)
    lines = [random_line(draw) for _ in range(-(-LINES // PARTS))]
    answered, wrong = 0, []
    for start in range(0, len(lines), TOGETHER):
        some = lines[start : start + TOGETHER]
        works = [inputs.parent / f"w{part}-{start + k}" for k in range(len(some))]
        for line, (code, said, changed) in zip(some, run_lines(some, works, inputs), strict=True):
            if (why := complaint(line, code, said)) or set(changed) - asked_for(line, code):
                wrong.append(f"{why or 'an input changed'}: {line} exit {code}: {said[-600:]}")
            answered += code == 0
    assert not wrong, f"{len(wrong)} lines:\n" + "\n".join(wrong[:20])
    assert 0 < answered < len(lines)  # the grammar reaches both ends


def asked_for(line: list[str], code: int) -> set[str]:
    """The files that a command was told to write: a state that went on, a log or predictions that it may overwrite.

    A run in several chunks keeps what it learned before the one that is refused. What it reads is never among them.
    """
    if line[:1] == ["predict"]:
        if "--overwrite" not in line:
            return set()
        told = {Path(value).name for option, value in pairwise(line) if option == "--out"}
        return told - {Path(part).name for part in line[1:3]} if code == 0 else set()
    named = {option: Path(value).name for option, value in pairwise(line) if option in ("--state", "--decisions")}
    kept = {named.get("--state", "")} if code == 0 or "--chunk" in line else set()
    return kept | ({named.get("--decisions", "")} if code == 0 and "--overwrite" in line else set())


def complaint(line: list[str], code: int, said: str) -> str:
    """What is wrong with the end of a command, if anything."""
    if code not in (0, 2):
        return "exit code"
    for word in ("Traceback", "this should not happen", "\x1b[2J", "waiting for the first rows"):
        if word in said:
            return repr(word)
    if not any("nan" in part for part in line) and re.search(r"\bnan\b", said, re.IGNORECASE):
        return "nan"
    return "no last line" if code == 2 and not said.splitlines()[-1].startswith("steelyard: ") else ""
