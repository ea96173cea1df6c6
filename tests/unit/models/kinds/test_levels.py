"""Levels as a file holds them, against the encoders of scikit-learn that they come from."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder

from steelyard.models.kinds.levels import as_fitted_levels

CELLS = {
    "none": ["x", None, "y", "x", None],
    "nan": ["x", np.nan, "y", "x", np.nan],
    "both": ["x", None, "y", np.nan, "x"],
    "neither": ["x", "z", "y", "x", "z"],
}
ENCODERS = {
    "codes": OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=np.nan, encoded_missing_value=np.nan),
    "columns": OneHotEncoder(handle_unknown="infrequent_if_exist", min_frequency=2, sparse_output=False),
}


def frame(cells: list[object]) -> pd.DataFrame:
    return pd.DataFrame({"a": pd.Series(cells, dtype=object)})


@pytest.mark.parametrize("cells", CELLS.values(), ids=CELLS)
@pytest.mark.parametrize("encoder", ENCODERS.values(), ids=ENCODERS)
def test_they_answer_as_the_encoder_does(encoder, cells):
    encoder.fit(frame(cells))
    np.testing.assert_array_equal(as_fitted_levels(encoder).transform(frame(cells)), encoder.transform(frame(cells)))


@pytest.mark.parametrize("encoder", ENCODERS.values(), ids=ENCODERS)
def test_none_and_nan_are_one_level_where_training_had_only_one_of_them(encoder):
    for fitted in ("none", "nan"):
        levels = as_fitted_levels(encoder.fit(frame(CELLS[fitted])))
        told = [levels.transform(frame(CELLS[given])) for given in ("none", "nan")]
        np.testing.assert_array_equal(told[0], told[1])


def test_what_is_no_encoder_of_levels_stays_as_it_is():
    assert as_fitted_levels("passthrough") == "passthrough"
