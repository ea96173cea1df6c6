"""A stream at rest answers for new rows as the running one would."""

import numpy as np
import pandas as pd
import pytest

from steelyard import InvalidInputError, load_model
from steelyard.data import Dataset
from steelyard.models.records import RecordEncoder
from steelyard.models.stream_state import StreamState
from steelyard.online import OnlineClassifier

N = 80
RNG = np.random.default_rng(0)
NUMBERS = pd.DataFrame({"a": RNG.normal(size=N), "b": RNG.normal(size=N)})
MIXED = NUMBERS.assign(c=RNG.choice(["x", "y"], N))
CODES = (NUMBERS.a > 0).to_numpy().astype(int)


def at_rest(frame, nominal=(), **settings):
    encoder = RecordEncoder(**settings)
    cells = frame if nominal else frame.to_numpy()
    rows = encoder.rows(Dataset(cells, None, features=tuple(frame.columns), nominal=nominal))
    learner = OnlineClassifier()
    learner.run(rows, CODES)
    return StreamState(learner, encoder, ("no", "yes"), np.zeros((2, 2), dtype=np.int64), {"bytes": 0})


@pytest.mark.parametrize("settings", [{}, {"scale": "none"}, {"scale": "standard"}])
def test_a_state_answers_by_the_labels_of_the_user(tmp_path, settings):
    state = at_rest(NUMBERS, **settings)
    loaded = load_model(state.save(tmp_path / "s.steelyard"))
    answers = loaded.predict(NUMBERS.assign(other=1.0)[["b", "other", "a"]])
    assert set(answers) == {"no", "yes"}
    assert np.mean((answers == "yes") == CODES) > 0.9
    assert answers.tolist() == state.predict(NUMBERS).tolist()
    assert loaded.columns.used == ("a", "b")


def test_text_is_hashed_with_the_numbers(tmp_path):
    state = at_rest(MIXED, nominal=("c",))
    loaded = load_model(state.save(tmp_path / "s.steelyard"))
    before = loaded.encoder.scaler.counts_.copy()
    assert np.mean((loaded.predict(MIXED) == "yes") == CODES) > 0.8
    assert (loaded.encoder.scaler.counts_ == before).all()
    with pytest.raises(InvalidInputError, match="no column 'c'"):
        loaded.predict(NUMBERS)
    with pytest.raises(InvalidInputError, match="columns of numbers"):
        loaded.predict(MIXED.assign(a="text"))
