"""A stream goes on from any file of an online learner."""

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from steelyard import AROW, CSOGD2, Costs, OnlineClassifier, OnlineCostClassifier, StateError, load_model
from steelyard.cli import main
from steelyard.models.storage import save_object
from steelyard.streaming.session import Session

RNG = np.random.default_rng(5)
FRAME = pd.DataFrame({"a": RNG.normal(size=80), "b": RNG.normal(size=80)})
TWO = np.where(FRAME.a + 0.4 * RNG.normal(size=80) > 0, "yes", "no")
THREE = np.array(["x", "y", "z"])[np.digitize(FRAME.a, [-0.5, 0.5])]
COSTS = Costs.binary(fn=5, fp=1, classes=["no", "yes"], positive="yes")
LEARNERS: dict[str, tuple[Any, Any]] = {
    "two classes": (lambda: OnlineClassifier(CSOGD2(0.1)), TWO),
    "costs by label": (lambda: OnlineClassifier(AROW(), costs=COSTS, fit_intercept=True), TWO),
    "many classes": (lambda: OnlineCostClassifier(CSOGD2(0.1)), THREE),
}


def stream(monkeypatch: pytest.MonkeyPatch, *words: str) -> int:
    monkeypatch.setattr(sys, "argv", ["steelyard", "stream", "rows.csv", "--target", "label", "--quiet", *words])
    with pytest.raises(SystemExit) as ended:
        main()
    return int(ended.value.code or 0)


@pytest.mark.parametrize("named", [True, False])
@pytest.mark.parametrize("case", LEARNERS)
def test_a_stream_goes_on_with_a_learner_from_python(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, case: str, named: bool
) -> None:
    monkeypatch.chdir(tmp_path)
    make, labels = LEARNERS[case]
    rows = FRAME if named else FRAME.to_numpy()
    learner = make().fit(rows[:40], labels[:40])
    learner.save("m.steelyard")
    FRAME[40:].assign(label=labels[40:]).to_csv("rows.csv", index=False)
    assert stream(monkeypatch, "--state", "m.steelyard", "--decisions", "log.jsonl") == 0
    expected = learner.run(rows[40:], labels[40:])
    decided = [json.loads(line)["decision"] for line in Path("log.jsonl").read_text().splitlines()]
    assert decided == expected.prediction.tolist()
    state = load_model("m.steelyard")
    np.testing.assert_array_equal(state.learner.coef_, learner.coef_)
    assert state.labels == tuple(learner.classes_.tolist())
    assert state.predict(FRAME).tolist() == learner.predict(rows).tolist()
    assert stream(monkeypatch, "--state", "m.steelyard", "--decisions", "log.jsonl") == 0
    assert Session.load(Path("m.steelyard")).rounds == 120


def test_what_is_no_online_learner_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    save_object(COSTS, "costs.steelyard")
    FRAME.assign(label=TWO).to_csv("rows.csv", index=False)
    before = Path("costs.steelyard").read_bytes()
    assert stream(monkeypatch, "--state", "costs.steelyard") == 2
    assert "must be a state of steelyard stream or an online learner; it holds a Costs" in capsys.readouterr().err
    assert Path("costs.steelyard").read_bytes() == before
    with pytest.raises(StateError, match="holds a Costs"):
        Session.load(Path("costs.steelyard"))


def test_other_columns_or_labels_than_the_learner_knows_change_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    OnlineClassifier(CSOGD2(0.1)).fit(FRAME, TWO).save("m.steelyard")
    before = Path("m.steelyard").read_bytes()
    for frame in (FRAME[["b", "a"]].assign(label=TWO), FRAME.assign(c=1, label=TWO), FRAME.assign(label=THREE)):
        frame.to_csv("rows.csv", index=False)
        assert stream(monkeypatch, "--state", "m.steelyard") == 2
        assert capsys.readouterr().err.count("\n") == 1
        assert Path("m.steelyard").read_bytes() == before
