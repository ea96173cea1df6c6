"""A comparison on parts: a comparison of a sample, finalists on all training parts, costs from held-out parts."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from steelyard import Costs, InvalidInputError, compare, compare_parts, load_model, mean_cost
from steelyard.comparison.parts import split_parts
from steelyard.data import Parts

pytestmark = pytest.mark.filterwarnings("ignore:lanes of about")  # these are short, to be quick
RNG = np.random.default_rng(5)
N = 400
FRAME = pd.DataFrame({"a": RNG.normal(size=N), "b": RNG.normal(5, 9, size=N), "town": RNG.choice(["Ulm", "Bern"], N)})
FRAME["amount"] = np.round(RNG.uniform(1, 9, N), 1)
FRAME["y"] = np.where(FRAME["a"] + (FRAME["town"] == "Ulm") + 0.5 * RNG.normal(size=N) > 0.8, "yes", "no")
COSTS = Costs.binary(fn=5, fp=1, classes=["no", "yes"])


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("parts")
    for i in range(5):
        FRAME[80 * i : 80 * i + 80].to_csv(made / f"p{i}.csv", index=False)
    return made


def compared(folder: Path, **given: Any) -> Any:
    with ThreadPoolExecutor(2) as pool:
        return compare_parts(folder, "y", sample=150, executor=pool, effort=6, cv=3, blend=False, **given)


def test_finalists_see_all_training_rows_and_are_told_on_held_out_parts(folder: Path, tmp_path: Path) -> None:
    candidates = ["logistic regression, C=1", "arow"]
    found = compared(folder, costs=COSTS, drop=["amount"], candidates=candidates, lanes=2)
    held = split_parts(Parts(folder), 0.2, 0)[1]
    assert found.held_out == [part.name for part in held.files]
    assert len(found.held_out) == 1
    by_name = {line.name: line for line in found.lines}
    assert set(by_name) == {found.compared.winner, "AROW, one pass, all parts"}
    whole = by_name["AROW, one pass, all parts"]
    assert (whole.rows, whole.sampled) == (320, False)
    small = by_name[found.compared.winner]
    assert small.sampled
    assert 110 < small.rows < 190
    at = int(held.files[0].name[1])
    rows = FRAME[80 * at : 80 * at + 80].drop(columns=["amount"])
    model = found.models["AROW, one pass, all parts"]
    assert whole.cost.value == pytest.approx(mean_cost(rows["y"].tolist(), model.predict(rows), costs=COSTS))
    assert found.lines[0].cost.value <= found.lines[1].cost.value
    said = " ".join(found.compared.recommendation)
    assert "1 of 5 parts were held out" in said
    assert "all 320 rows of the training parts" in said
    assert f"a sample of {small.rows} rows" in said
    path = found.save(tmp_path / "m.steelyard")
    again: Any = load_model(path)
    assert again.predict(rows).tolist() == found.models[found.winner].predict(rows).tolist()


def test_row_costs_are_read_from_columns(folder: Path) -> None:
    found = compared(folder, costs="fn=amount,fp=1", candidates=["arow"])
    assert {line.name for line in found.lines} == {found.compared.winner, "AROW, one pass, all parts"}
    assert all("amount" not in model.columns.numeric for model in found.models.values())


def test_the_split_depends_on_seed_and_positions_alone(folder: Path) -> None:
    parts = Parts(folder)
    for share, count in ((0.01, 1), (0.4, 2), (0.99, 4)):
        training, held = split_parts(parts, share, 3)
        assert (len(training), len(held)) == (5 - count, count)
        assert {p.name for p in training.files} | {p.name for p in held.files} == {p.name for p in parts.files}
    assert len({split_parts(parts, 0.2, seed)[1].files[0].name for seed in range(20)}) > 2
    with pytest.raises(InvalidInputError, match="parts must be two or more"):
        compare_parts(folder / "p0.csv", "y")
    with pytest.raises(InvalidInputError, match="For parts: compare_parts"):
        compare(parts, "y")
