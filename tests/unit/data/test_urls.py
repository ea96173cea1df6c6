"""Generated addresses: reserved names only, the shares that were asked for, a new family at half time."""

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steelyard import InvalidInputError, make_urls


@settings(max_examples=20)
@given(st.integers(1, 300), st.floats(0.01, 0.99), st.floats(0.0, 1.0), st.integers(0, 2**32))
def test_every_address_is_on_a_reserved_name(n: int, rate: float, drift: float, seed: int) -> None:
    urls, y = make_urls(n, rate, drift, seed)
    assert len(urls) == len(y) == n
    assert set(np.unique(y)) <= {0, 1}
    for url in urls:
        host = url.split("/")[2]
        assert host.endswith((".example", ".test", ".invalid", "example.com", "example.org", "example.net")), url


def test_shares_noise_and_the_new_family_are_as_asked() -> None:
    urls, y = make_urls(40_000, 0.1, 0.6, 0)
    new = np.array(["/r?to=" in url for url in urls])
    assert not new[:20_000].any()
    plain = np.array([bool(re.search(r"\.(test|invalid)/", url)) for url in urls])
    bad = plain | new
    assert bad.mean() == pytest.approx(0.1, abs=0.01)
    assert new[20_000:].sum() / bad[20_000:].sum() == pytest.approx(0.6, abs=0.03)
    assert (bad != (y == 1)).mean() == pytest.approx(0.01, abs=0.003)


def test_the_same_seed_gives_the_same_stream() -> None:
    one, two = make_urls(50, random_state=3), make_urls(50, random_state=3)
    assert one[0] == two[0]
    np.testing.assert_array_equal(one[1], two[1])
    assert make_urls(50, random_state=4)[0] != one[0]


@pytest.mark.parametrize(
    ("given_", "says"), [({"n": 0}, "n must"), ({"rate": 1.0}, "rate must"), ({"drift": 2}, "drift must")]
)
def test_what_makes_no_stream_is_refused(given_: dict, says: str) -> None:  # type: ignore[type-arg]
    with pytest.raises(InvalidInputError, match=says):
        make_urls(**given_)
