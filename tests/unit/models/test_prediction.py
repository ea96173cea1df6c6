"""The command predict: every format in and out, constant chunks, notices, prices, limits, bad cells and streams."""

import io
import json
import os
import subprocess
import sys
import tracemalloc
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from loan_model import COSTS, FRAME, MODEL, Y, fitted
from typer.testing import CliRunner

from steelyard import Costs, InvalidInputError, SteelyardError, compare, load_model
from steelyard.cli import app
from steelyard.costs.spec import CostSpec
from steelyard.data.digest import NO_ROWS
from steelyard.evaluate.capacity import at_most
from steelyard.models.notices import Notices
from steelyard.models.outputs import output_format, row_writer
from steelyard.models.prediction import PredictOptions, run_predict


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    MODEL.save("model.steelyard")
    FRAME.assign(key=np.arange(len(FRAME))).to_csv("new.csv", index=False)
    return tmp_path


def predict(file: str = "new.csv", model: str = "model.steelyard", **options) -> pd.DataFrame:  # type: ignore[no-untyped-def]
    run_predict(Path(model), file, PredictOptions(out=Path("out.csv"), quiet=True, overwrite=True, **options))
    return pd.read_csv("out.csv")


def test_chunks_change_nothing(place: Path) -> None:
    whole = predict(proba=True, id="key", keep=["job"])
    assert list(whole.columns) == ["key", "job", "decision", "expected_cost", "probability bad", "probability good"]
    assert whole["decision"].tolist() == MODEL.predict(FRAME).tolist()
    assert whole["expected_cost"].to_numpy() == pytest.approx(MODEL.expected_cost(FRAME), rel=1e-5)
    assert whole["key"].tolist() == list(range(len(FRAME)))
    for chunk in (1, 7, 200, 1000):
        pd.testing.assert_frame_equal(predict(proba=True, id="key", keep=["job"], chunk=chunk), whole)


def test_a_file_that_is_there_is_replaced_only_with_overwrite(place: Path) -> None:
    Path("mine.csv").write_text("mine")
    line = ["predict", "model.steelyard", "new.csv", "--out", "mine.csv"]
    refused = CliRunner().invoke(app, line)
    assert isinstance(refused.exception, InvalidInputError)
    assert "--out must be a new file; got 'mine.csv, which holds 4 bytes'" in str(refused.exception)
    assert Path("mine.csv").read_text() == "mine"
    assert CliRunner().invoke(app, [*line, "--overwrite"]).exit_code == 0
    assert len(pd.read_csv("mine.csv")) == len(FRAME)


@pytest.mark.parametrize("name", ["o.csv", "o.tsv", "o.jsonl", "o.parquet", "o.arrow"])
def test_decisions_of_an_earlier_call_are_replaced_and_nothing_else_of_that_format(place: Path, name: str) -> None:
    line = ["predict", "model.steelyard", "new.csv", "--out", name, "--quiet"]
    assert CliRunner().invoke(app, line).exit_code == 0
    before = Path(name).stat().st_ino
    assert CliRunner().invoke(app, line).exit_code == 0
    assert Path(name).stat().st_ino != before  # written anew
    columns: dict[str, Any] = {"decisions": ["mine"], "amount": [1]}
    with Path(name).open("wb") as file:
        writer = row_writer(output_format(Path(name)), file, safe=False)
        writer.write(columns)
        writer.close()
    mine = Path(name).read_bytes()
    assert "--out must be a new file" in str(CliRunner().invoke(app, line).exception)
    assert Path(name).read_bytes() == mine


def test_memory_does_not_grow_with_rows(place: Path) -> None:
    def peak(times: int) -> int:
        pd.concat([FRAME] * times).to_csv("many.csv", index=False)
        tracemalloc.start()
        try:
            options = PredictOptions(out=Path("o.csv"), quiet=True, overwrite=True, chunk=200)
            run_predict(Path("model.steelyard"), "many.csv", options)
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    peak(2)  # what is imported or kept once
    few, many = peak(4), peak(60)
    assert many < 1.2 * few


@pytest.mark.parametrize("name", ["new.tsv", "new.jsonl", "new.parquet"])
def test_other_formats_in(place: Path, name: str) -> None:
    writers = {
        ".tsv": lambda: FRAME.to_csv(name, index=False, sep="\t"),
        ".jsonl": lambda: FRAME.to_json(name, orient="records", lines=True),
        ".parquet": lambda: FRAME.to_parquet(name),
    }
    writers[Path(name).suffix]()
    assert predict(name)["decision"].tolist() == MODEL.predict(FRAME).tolist()


@pytest.mark.parametrize("name", ["out.tsv", "out.jsonl", "out.parquet", "out.arrow"])
def test_other_formats_out(place: Path, name: str) -> None:
    run_predict(Path("model.steelyard"), "new.csv", PredictOptions(out=Path(name), chunk=50, quiet=True))
    read = {
        ".tsv": lambda: pd.read_csv(name, sep="\t"),
        ".arrow": lambda: pd.read_feather(name),
        ".jsonl": lambda: pd.read_json(name, lines=True),
        ".parquet": lambda: pd.read_parquet(name),
    }
    found = read[Path(name).suffix]()
    assert found["decision"].tolist() == MODEL.predict(FRAME).tolist()
    with pytest.raises(InvalidInputError, match="--out must end in one of"):
        run_predict(Path("model.steelyard"), "new.csv", PredictOptions(out=Path("out.xls")))


def test_prices_abstain_and_capacity(place: Path) -> None:
    cheap = Costs.binary(fn=1, fp=5, classes=["bad", "good"], positive="bad")
    Path("prices.toml").write_text('fn = 1\nfp = 5\npositive = "bad"\n')
    assert predict(costs="prices.toml")["decision"].tolist() == MODEL.predict(FRAME, costs=cheap).tolist()
    priced = predict(abstain=0.3)["decision"].tolist()
    assert priced == MODEL.predict(FRAME, costs=COSTS.with_abstain(0.3)).tolist()
    assert "abstain" in priced
    assert predict(costs="fn=1,fp=5")["decision"].tolist() == MODEL.predict(FRAME, costs=cheap).tolist()  # of a bad one
    limited = predict(capacity=5, chunk=30)
    assert limited["decision"].tolist() == MODEL.decide(FRAME, capacity=5)["decision"].tolist()
    by_row = Costs.binary(fn=FRAME["amount"].to_numpy(), fp=1, classes=["bad", "good"], positive="bad")
    assert predict(cost_columns={"fn": "amount"})["decision"].tolist() == MODEL.predict(FRAME, costs=by_row).tolist()
    assert predict(costs="fp=1", cost_columns={"fn": "amount"})["decision"].tolist() == (
        MODEL.predict(FRAME, costs=by_row).tolist()
    )
    with pytest.raises(SteelyardError, match="balance"):
        predict(costs="balanced")


def test_a_cost_column_leaves_the_price_of_abstaining_as_in_training(place: Path) -> None:
    priced = COSTS.with_abstain(0.3, label="ask")
    replace(MODEL, costs=priced, repriced=True).save("careful.steelyard")
    by_row = Costs.binary(fn=FRAME["amount"].to_numpy(), fp=1, classes=["bad", "good"], positive="bad")
    wanted = MODEL.predict(FRAME, costs=by_row.with_abstain(0.3, label="ask")).tolist()
    assert "ask" in wanted
    assert predict(model="careful.steelyard", cost_columns={"fn": "amount"})["decision"].tolist() == wanted
    cheaper = MODEL.predict(FRAME, costs=priced.with_abstain(0.1, label="ask")).tolist()
    assert predict(model="careful.steelyard", abstain=0.1)["decision"].tolist() == cheaper


@pytest.mark.parametrize("unit", [1e-9, 1e9])
def test_one_more_place_is_worth_its_amount_in_any_unit(
    place: Path, capsys: pytest.CaptureFixture[str], unit: float
) -> None:
    plus = COSTS.positive_index()
    fn, fp = (unit * float(COSTS.matrix[i, 1 - i]) for i in (plus, 1 - plus))
    run_predict(
        Path("model.steelyard"),
        "new.csv",
        PredictOptions(out=Path("out.csv"), overwrite=True, capacity=5, costs=f"fn={fn},fp={fp}"),
    )
    line = next(line for line in capsys.readouterr().err.splitlines() if line.startswith("One more place"))
    saved = at_most(MODEL.weigh(FRAME, costs=COSTS.scaled(unit)).expected, 5, action=plus).next_place
    said = line.removeprefix("One more place would save ").removesuffix(" EUR.")
    assert float(said) == pytest.approx(saved, rel=1e-4)


def test_a_limit_on_actions_is_for_two_classes(place: Path) -> None:
    labels = np.resize(["low", "mid", "top"], len(FRAME))
    model = compare(FRAME, labels, candidates=["logistic"], cv=2).model()
    model.save("three.steelyard")
    with pytest.raises(InvalidInputError, match=r"^--capacity must come with a model of two classes.*got '3 classes'"):
        predict("nowhere.csv", model="three.steelyard", capacity=3)  # said before any row is read
    with pytest.raises(InvalidInputError, match=r"^capacity must come with a model of two classes.*got '3 classes'"):
        model.decide(FRAME, capacity=3)


def test_new_prices_for_what_was_fitted_to_its_costs_are_said_in_one_line(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert MODEL.training is not None
    card = {"members": [{"candidate": "AdaC2.M1", "fitted_to_costs": True}]}
    replace(MODEL, training=replace(MODEL.training, card=card)).save("weighted.steelyard")

    def said(model: str, **options: Any) -> str:
        run_predict(Path(model), "new.csv", PredictOptions(out=Path("out.csv"), overwrite=True, **options))
        return capsys.readouterr().err

    line = "AdaC2.M1 was fitted to its costs; other costs are weighed with probabilities instead."
    for other in ({"cost_columns": {"fn": "amount"}}, {"costs": "fn=9,fp=1"}):
        assert line in said("weighted.steelyard", **other).splitlines()
        assert "fitted to" not in said("model.steelyard", **other)  # its probabilities know no costs
    plus = COSTS.positive_index()
    same = f"fn={COSTS.matrix[plus, 1 - plus]},fp={COSTS.matrix[1 - plus, plus]}"
    assert "fitted to" not in said("weighted.steelyard", costs=same)


def test_cost_columns_of_the_comparison_are_asked_for(place: Path) -> None:
    fitted(spec=CostSpec(fn="stake", fp=2.0, positive="bad")).save("rows.steelyard")
    with pytest.raises(InvalidInputError, match=r"have the cost columns .*stake.*--typical-costs"):
        predict(model="rows.steelyard")
    assert not Path("out.csv").exists()
    assert predict(model="rows.steelyard", typical=True)["decision"].tolist() == MODEL.predict(FRAME).tolist()
    FRAME.assign(stake=50.0).to_csv("new.csv", index=False)
    costly = Costs.binary(fn=50, fp=2, classes=["bad", "good"], positive="bad")
    assert predict(model="rows.steelyard")["decision"].tolist() == MODEL.predict(FRAME, costs=costly).tolist()


def test_bad_cells_are_named_with_file_and_row(place: Path) -> None:
    lines = Path("new.csv").read_text().splitlines()
    cells = lines[17].split(",")
    Path("new.csv").write_text("\n".join([*lines[:17], ",".join(["34 y", *cells[1:]]), *lines[18:]]) + "\n")
    with pytest.raises(SteelyardError, match=r"new.csv.*17.*'age'.*number.*'34 y'"):
        predict()
    Path("new.csv").write_text("\n".join([*lines[:17], ",".join(["inf", *cells[1:]]), *lines[18:]]) + "\n")
    with pytest.raises(SteelyardError, match=r"new.csv.*17.*'age'"):
        predict()


def test_unusual_rows_are_counted_per_column(place: Path) -> None:
    FRAME.assign(job="astronaut", amount=1e9).to_csv("new.csv", index=False)
    shown = CliRunner().invoke(app, ["predict", "model.steelyard", "new.csv", "--explain", "1", "--chunk", "64"])
    assert shown.exit_code == 0, shown.output
    missing = int(FRAME["age"].isna().sum())
    assert f"column 'age': {missing} of 200 rows missing" in shown.stderr
    assert "column 'amount': 200 of 200 rows outside the range of training" in shown.stderr
    assert "column 'job': 200 of 200 rows never seen in training" in shown.stderr
    assert shown.stdout.splitlines()[0] == "decision,expected_cost,reasons"
    shown = CliRunner().invoke(app, ["predict", "model.steelyard", "new.csv", "--json"])
    other = CliRunner().invoke(app, ["predict", "model.steelyard", "new.csv", "--json", "--chunk", "7"])
    body, again = (json.loads(found.stderr.splitlines()[-1]) for found in (shown, other))
    assert body["data"] == again["data"] != NO_ROWS
    assert body["costs"] == MODEL.costs.to_dict()
    summary = json.loads(shown.stderr)
    assert summary["schema"] == 1
    assert summary["rows"] == 200
    assert summary["columns"]["unseen"] == {"job": 200}
    assert sum(summary["decisions"].values()) == 200
    assert summary["currency"] == "EUR"
    quiet = CliRunner().invoke(app, ["predict", "model.steelyard", "new.csv", "--quiet"])
    assert quiet.stderr == ""


def test_rows_from_a_pipe(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = MODEL.predict(FRAME).tolist()

    def pipe() -> None:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(Path("new.csv").read_bytes())))

    pipe()
    assert predict("-", format="csv")["decision"].tolist() == expected
    pipe()
    with pytest.raises(InvalidInputError, match="--format must be one of"):
        predict("-")
    pipe()
    limited = predict("-", format="csv", capacity=3)["decision"].tolist()
    assert limited == MODEL.decide(FRAME, capacity=3)["decision"].tolist()


def test_a_closed_pipe_ends_quietly(place: Path) -> None:
    start = f"{sys.executable} -c 'from steelyard.cli import main; main()'"
    command = f"{start} predict model.steelyard new.csv --chunk 1 | head -1"
    done = subprocess.run(command, shell=True, capture_output=True, text=True, env=os.environ, check=False)
    assert done.stdout == "decision,expected_cost\n"
    assert "Traceback" not in done.stderr
    assert "rror" not in done.stderr


def test_the_state_of_a_stream_predicts_without_learning(place: Path) -> None:
    FRAME.assign(age=FRAME["age"].fillna(40), y=np.where(FRAME["job"] == "none", "bad", "good")).to_csv(
        "all.csv", index=False
    )
    for name in ("all.csv", "numbers.csv"):
        if name == "numbers.csv":
            pd.read_csv("all.csv").drop(columns="job").to_csv(name, index=False)
        state = f"{name}.steelyard"
        learned = CliRunner().invoke(app, ["stream", name, "--target", "y", "--state", state, "--quiet"])
        assert learned.exit_code == 0, learned.output
        before = load_model(state).learner.coef_.tobytes()
        first = predict(name, model=state, id="amount")
        assert set(first["decision"]) <= {"bad", "good"}
        pd.testing.assert_frame_equal(predict(name, model=state, id="amount", chunk=13), first)
        assert load_model(state).learner.coef_.tobytes() == before
    with pytest.raises(InvalidInputError, match="--capacity must be left out for the state of a stream"):
        predict("all.csv", model="all.csv.steelyard", capacity=3)


@pytest.mark.parametrize("form", ["csv", "jsonl"])
def test_keys_of_rows_are_written_as_they_were(place: Path, form: str) -> None:
    keys = ["007", "7", "12345678901234567890", *map(str, range(len(FRAME) - 3))]
    frame = FRAME.assign(key=keys)
    new = Path(f"keys.{form}")
    frame.to_csv(new, index=False) if form == "csv" else frame.to_json(new, orient="records", lines=True)
    for out in ("out.csv", "out.jsonl"):
        run_predict(Path("model.steelyard"), str(new), PredictOptions(out=Path(out), id="key", chunk=50, quiet=True))
    assert [line.split(",")[0] for line in Path("out.csv").read_text().splitlines()[1:]] == keys
    assert [json.loads(line)["key"] for line in Path("out.jsonl").read_text().splitlines()] == keys


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_a_kept_column_that_the_model_learned_from_keeps_its_digits(place: Path, form: str) -> None:
    frame = FRAME.assign(amount=12345678 + np.arange(len(FRAME)), age=0.1234567891 + np.arange(len(FRAME)))
    frame.to_csv("wide.csv", index=False) if form == "csv" else frame.to_parquet("wide.parquet")
    found = predict(f"wide.{form}", id="amount", keep=["age"])
    assert found["amount"].tolist() == frame["amount"].tolist()
    assert found["age"].tolist() == frame["age"].tolist()
    assert found["decision"].tolist() == MODEL.predict(frame).tolist()


def test_a_kept_column_does_not_vanish_below_one_that_is_written(place: Path) -> None:
    FRAME.assign(decision="yesterday's").to_csv("new.csv", index=False)
    with pytest.raises(InvalidInputError, match="--id and --keep must name no column that is written anyway"):
        predict(keep=["decision"])
    named = {"probability bad": {"proba": True}, "reasons": {"explain": 2}, "expected_cost": {}}
    for name, options in named.items():
        FRAME.assign(**{name: 1}).to_csv("new.csv", index=False)
        with pytest.raises(InvalidInputError, match=f"got '{name}'"):
            predict(keep=[name], **options)
    FRAME.assign(reasons=1).to_csv("new.csv", index=False)
    assert predict(keep=["reasons"])["reasons"].tolist() == [1] * len(FRAME)


def test_the_currency_is_that_of_the_prices(place: Path) -> None:
    done = CliRunner().invoke(
        app, ["predict", "model.steelyard", "new.csv", "--costs", "fn=8,fp=1,currency=USD", "--json", "--capacity", "3"]
    )
    said = json.loads(done.stderr)
    assert said["currency"] == "USD"
    assert any(note.startswith("One more place would save") and note.endswith(" USD.") for note in said["notes"])


@pytest.mark.parametrize("form", ["csv", "jsonl", "parquet"])
def test_dates_and_texts_of_digits_are_read_as_they_are_written(place: Path, form: str) -> None:
    rng = np.random.default_rng(0)
    days = pd.Series(pd.date_range("2020-01-01", periods=300, freq="3D")[rng.permutation(300)])
    y = np.where(days.dt.month < 7, "bad", "good")
    frame = pd.DataFrame({"when": days.dt.strftime("%Y%m%d").astype(int), "code": rng.integers(100, 104, 300)})
    roles = {"when": "date", "code": "text"}
    model = compare(frame, y, costs=COSTS, roles=roles, candidates=["LightGBM, 4 leaves", "logistic"], cv=2).model()
    model.save("dated.steelyard")
    new = f"dated.{form}"
    {"csv": frame.to_csv, "jsonl": frame.to_json, "parquet": frame.to_parquet}[form](
        new, **({"orient": "records", "lines": True} if form == "jsonl" else {"index": False})
    )
    found = predict(new, model="dated.steelyard", explain=1)
    assert found["reasons"].str.startswith("when ").mean() > 0.9
    assert found["decision"].tolist() == model.predict(frame).tolist()
    assert found["decision"].tolist() == model.predict(frame.astype(float)).tolist()  # as a missing cell makes it
    assert (found["decision"] == y).mean() > 0.9


@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame])
def test_dates_that_cannot_be_read_are_counted(place: Path, library: Any) -> None:
    days = [f"2024-{1 + i % 12:02}-{1 + i % 28:02}" for i in range(60)]
    frame = pd.DataFrame({"when": days, "x": np.arange(60) % 7})
    model = compare(frame, Y[:60], costs=COSTS, candidates="logistic regression, C=1", cv=2).model()
    notices = Notices(model)
    notices.look(library({"when": ["March 3, 2024", "03.04.2024", None, "soon"], "x": [1, 2, 3, 4]}))
    assert notices.as_dict() == {"imputed": {"when": 1}, "out of range": {}, "unseen": {}, "unread": {"when": 2}}
    assert "column 'when': 2 of 4 rows that are no dates, and count as missing" in notices.lines()


def test_a_missing_category_is_a_missing_column(place: Path) -> None:
    for drop in ("job", "age"):
        FRAME.drop(columns=drop).to_csv("new.csv", index=False)
        with pytest.raises(InvalidInputError, match=f"data must have every column .* got \"no column '{drop}'\""):
            predict()


def test_no_rows_and_no_such_column(place: Path) -> None:
    with pytest.raises(InvalidInputError, match=r"name columns of the file \(age, amount, job, key\); got 'name'"):
        predict(id="name")
    FRAME[:0].to_csv("none.csv", index=False)
    with pytest.raises(SteelyardError, match="rows"):
        predict("none.csv")
    assert not Path("out.csv").exists()
