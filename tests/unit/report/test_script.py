"""The script of the page beside Python: the same figures for the same bins, without a browser."""

import json
import re
import shutil
import subprocess
from importlib.resources import files
from typing import Any

import numpy as np
import pytest

from steelyard.comparison.page.what_if import what_if
from steelyard.report.amounts import decimals_for, money, percent, rounded

SCRIPT = files("steelyard.report").joinpath("assets", "what_if.js")


def run(code: str, given: Any) -> Any:
    if shutil.which("node") is None:
        pytest.skip("needs node")
    head = f"const m = require({json.dumps(str(SCRIPT))}); const given = JSON.parse(require('fs').readFileSync(0));"
    done = subprocess.run(
        ["node", "-e", f"{head} console.log(JSON.stringify({code}))"],
        input=json.dumps(given),
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    return json.loads(done.stdout)


def random_page(rng: np.random.Generator, k: int, rows: bool) -> dict[str, Any]:
    entries = []
    for j in range(4):
        counts = rng.integers(0, 5, (30, k)) + np.eye(k, dtype=int)[rng.integers(0, k, 30)]
        proba = counts + rng.random((30, k)).round(3)
        entry: dict[str, Any] = {
            "name": f"e{j}",
            "family": "baseline",
            "counts": counts.tolist(),
            "proba": proba.tolist(),
        }
        if j == 3:
            entry |= {"family": "constant", "answers": [int(v) for v in rng.integers(0, k, 30)]}
        if rows:
            cube = rng.lognormal(size=(30, k, k)).round(3)
            entry |= {"sums": cube.tolist(), "squares": (cube**2).tolist(), "expected": (cube * 1.1).tolist()}
        entries.append(entry)
    n = int(np.sum(entries[0]["counts"]))
    like = np.eye(4) * 0.4 + 0.6
    return {"entries": entries, "rows": n, "fewest": 100, "likeness": like.tolist(), "positive": 1 if k == 2 else None}


def test_random_bins_cost_the_same() -> None:
    rng = np.random.default_rng(0)
    cases = []
    for _ in range(40):
        k = int(rng.integers(2, 5))
        page = random_page(rng, k, bool(rng.random() < 0.4))
        prices = (rng.normal(size=(k, k)) * 3 + 1).round(2).tolist()
        abstain = float(rng.random()) if rng.random() < 0.5 else None
        capacity = int(rng.integers(0, 80)) if k == 2 and rng.random() < 0.6 else None
        cases.append({"page": page, "prices": prices, "abstain": abstain, "capacity": capacity})
    found = run("given.map((c) => m.whatIf(c.page, c.prices, c.abstain, c.capacity))", cases)
    for case, seen in zip(cases, found, strict=True):
        wanted = what_if(case["page"], case["prices"], abstain=case["abstain"], capacity=case["capacity"])
        assert (seen["chosen"], seen["cheapest"], seen["word"]) == (wanted.chosen, wanted.cheapest, wanted.word)
        for mine, theirs in zip(wanted.entries, seen["entries"], strict=True):
            for name in ("mean", "error", "total", "alarms", "referred"):
                assert theirs[name] == pytest.approx(getattr(mine, name), rel=1e-12, abs=1e-12)
            assert theirs["next"] == pytest.approx(mine.next_place, rel=1e-9, abs=1e-12)
            assert np.allclose(theirs["counts"], mine.counts, rtol=1e-12, atol=0)


def test_numbers_are_written_the_same() -> None:
    rng = np.random.default_rng(1)
    values = [0.125, -0.125, 2.5, 0.0, -0.0004, 1e7 + 0.5, *(rng.normal(size=60) * 10.0 ** rng.integers(-4, 6, 60))]
    spreads = [0.0, *(10.0 ** rng.uniform(-5, 5, 20))]
    given = {"values": [float(v) for v in values], "spreads": [float(s) for s in spreads]}
    code = (
        "{money: given.values.map((v) => given.spreads.map((s) => m.money(v, s, 'EUR', 1))),"
        " fixed: given.values.map((v) => m.rounded(v, 3)), share: given.values.map((v) => m.percent(v, 20000)),"
        " places: given.spreads.map(m.decimalsFor)}"
    )
    found = run(code, given)
    assert found["money"] == [[money(v, s, "EUR", extra=1) for s in spreads] for v in given["values"]]
    assert found["fixed"] == [rounded(v, 3) for v in given["values"]]
    assert found["share"] == [percent(v, 20_000) for v in given["values"]]
    assert found["places"] == [decimals_for(s) for s in spreads]


def relative_luminance(colour: str) -> float:
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_text_has_contrast_in_light_and_dark() -> None:
    style = SCRIPT.parent.joinpath("tokens.css").read_text()
    light, dark = style.split("@media", 1)
    for part in (light, dark):
        tokens = dict(re.findall(r"(--\w+):\s*(#\w{6})", part))
        for ink, least in (("--ink", 4.5), ("--quiet", 4.5), ("--good", 4.5), ("--bad", 4.5), ("--brass", 3.0)):
            for paper in ("--paper", "--card"):
                bright, dim = sorted((relative_luminance(tokens[ink]), relative_luminance(tokens[paper])), reverse=True)
                assert (bright + 0.05) / (dim + 0.05) > least, (ink, paper)
