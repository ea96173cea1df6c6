"""A stream of web addresses with a few malicious ones, generated: reserved names only, so none can be followed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..validation.values import check_count, check_number

__all__ = ["make_urls"]

NOISE = 0.01  # labels that are wrong
WORDS = ("garden", "river", "stone", "winter", "music", "paper", "travel", "bread", "light", "harbour")
BRANDS = ("bank", "mail", "cloud", "parcel", "tax", "wallet")
Draw = Callable[[int], int]  # a number below


def _shop(draw: Draw) -> str:
    return f"https://shop{draw(40)}.example/catalogue/{WORDS[draw(10)]}/item/{draw(5000)}?page={draw(9)}"


def _news(draw: Draw) -> str:
    return f"https://news{draw(25)}.example/20{20 + draw(6)}/{WORDS[draw(10)]}-{WORDS[draw(10)]}/{draw(900)}.html"


def _forum(draw: Draw) -> str:
    return f"https://www.example.org/forum/{WORDS[draw(10)]}/thread/{draw(9000)}#post{draw(60)}"


def _account(draw: Draw) -> str:
    return f"https://login.{BRANDS[draw(6)]}{draw(9)}.example.com/account/session/{draw(10**6):06x}"


def _files(draw: Draw) -> str:
    return f"https://cdn{draw(30)}.example.net/static/{WORDS[draw(10)]}/v{draw(20)}.{draw(9)}/bundle.js"


def _phishing(draw: Draw) -> str:
    return f"http://{BRANDS[draw(6)]}-secure-verify{draw(300)}.test/account/confirm/{draw(16**5):05x}?login=1"


def _dropper(draw: Draw) -> str:
    return f"http://{draw(200)}-download.invalid/static/update/v{draw(20)}.{draw(9)}/setup{draw(90)}.exe"


def _prize(draw: Draw) -> str:
    return f"http://free-{WORDS[draw(10)]}-prize.test/claim/{draw(9000)}?winner={draw(10**5)}&page={draw(9)}"


def _redirect(draw: Draw) -> str:
    # The family that comes later borrows the hosts and paths of the news.
    return f"https://news{draw(25)}.example/20{20 + draw(6)}/{WORDS[draw(10)]}-{WORDS[draw(10)]}/r?to={draw(16**8):08x}"


BENIGN = (_shop, _news, _forum, _account, _files)
MALICIOUS = (_phishing, _dropper, _prize)


def make_urls(
    n: int = 10_000, rate: float = 0.05, drift: float = 0.5, random_state: Any = None
) -> tuple[list[str], NDArray[np.intp]]:
    """Generate web addresses in the order of a stream, and which of them are malicious.

    Five benign families and three malicious ones, all on names reserved for examples (``.example``, ``.test``,
    ``.invalid``, ``example.com``, ``.org``, ``.net``). From half time on another malicious family, which looks like
    news, makes up a share ``drift`` of the malicious ones. One label in a hundred is wrong.

    Parameters
    ----------
    n : int
        Addresses, at least 1.
    rate : float
        Share of malicious ones, in (0, 1).
    drift : float
        Share of the new family among the malicious ones of the second half, in [0, 1].
    random_state : int, Generator or None
        Seed or source of random numbers.

    Returns
    -------
    urls : list of str
        Addresses.
    y : ndarray of shape (n,)
        1 for malicious, 0 for benign.

    Examples
    --------
    >>> urls, y = make_urls(3, random_state=0)
    >>> len(urls), y.tolist()
    (3, [0, 0, 1])
    """
    count = check_count("n", n)
    share = check_number("rate", rate, above=0, below=1)
    new = check_number("drift", drift, at_least=0, at_most=1)
    random = np.random.default_rng(random_state)
    bad = random.random(count) < share
    late = (np.arange(count) >= count // 2) & (random.random(count) < new)
    benign, malicious = random.integers(len(BENIGN), size=count), random.integers(len(MALICIOUS), size=count)
    numbers = random.integers(2**62, size=(count, 6)).tolist()
    urls = []
    for i, drawn in enumerate(numbers):
        family = (_redirect if late[i] else MALICIOUS[malicious[i]]) if bad[i] else BENIGN[benign[i]]
        left = iter(drawn)
        urls.append(family(lambda below, left=left: next(left) % below))  # type: ignore[misc]
    wrong = random.random(count) < NOISE
    return urls, (bad != wrong).astype(np.intp)
