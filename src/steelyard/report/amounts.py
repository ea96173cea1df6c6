"""Numbers as a reader wants them: money with its currency and no more digits than its doubt allows."""

from __future__ import annotations

import math
from decimal import ROUND_HALF_UP, Context, Decimal

_MOST_DECIMALS = 6
_ALL_DIGITS = Context(prec=400, rounding=ROUND_HALF_UP)  # of any number, and its decimals


def decimals_for(spread: float) -> int:
    """Decimals of a value whose doubt is ``spread``: the place of the first digit of the doubt.

    Parameters
    ----------
    spread : float
        Half the width of its interval, or its standard error; 0 where it is exact.

    Returns
    -------
    int
        Below 0 where tens or more are in doubt.

    Examples
    --------
    >>> decimals_for(0.05), decimals_for(85.0), decimals_for(0.0)
    (2, -1, 2)
    """
    if not math.isfinite(spread) or spread <= 0:
        return 2
    return max(-_MOST_DECIMALS, min(_MOST_DECIMALS, -math.floor(math.log10(spread))))


def interval_error(low: float, high: float) -> float:
    """Doubt about a value with a 95% interval: about its standard error, a quarter of the width.

    Parameters
    ----------
    low, high : float
        The interval.

    Returns
    -------
    float
        What :func:`decimals_for` and :func:`money` take.

    Examples
    --------
    >>> money(0.6713, interval_error(0.5747, 0.7796)), money(0.512, interval_error(0.467, 0.571))
    ('0.67', '0.51')
    """
    return (high - low) / 4


def rounded(value: float, decimals: int) -> str:
    """A number with thousands parted by commas; a half is rounded away from zero, as scripts in a browser do.

    Parameters
    ----------
    value : float
        The number.
    decimals : int
        Digits after the point; below 0, zeros before it.

    Returns
    -------
    str
        The number as text.

    Examples
    --------
    >>> rounded(0.125, 2), rounded(-51234.5, 0), rounded(51234.5, -2)
    ('0.13', '-51,235', '51,200')
    """
    if not math.isfinite(value):
        return "–"
    found = Decimal(value).quantize(Decimal(1).scaleb(-decimals), context=_ALL_DIGITS)
    text = f"{found:,.{max(decimals, 0)}f}"
    return text.removeprefix("-") if not found else text


def significant(value: float, digits: int | None = None) -> str:
    """A number of so many digits, never with an exponent: all places before the point are there.

    Parameters
    ----------
    value : float
        Any number; what is not finite is a dash.
    digits : int or None
        That count, from the first that is not zero; None for as few as tell it from any other number.

    Returns
    -------
    str
        Its digits, without commas.

    Examples
    --------
    >>> significant(1234567.8, 3), significant(0.000012345, 3), significant(36700.0, 4), significant(1234567.8)
    ('1230000', '0.0000123', '36700', '1234567.8')
    """
    if not math.isfinite(value):
        return "–"
    value += 0.0  # which takes the sign of -0
    text = f"{Decimal(repr(value) if digits is None else f'{value:.{digits - 1}e}'):f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def money(value: float, spread: float, currency: str | None = None, *, extra: int = 0) -> str:
    """An amount with its currency and the digits its doubt allows, and ``extra`` ones.

    Parameters
    ----------
    value : float
        The amount.
    spread : float
        Its doubt.
    currency : str or None
        Written after it.
    extra : int
        Digits more than the doubt allows.

    Returns
    -------
    str
        The amount as text.

    Examples
    --------
    >>> money(0.5123, 0.05), money(51234.0, 450.0, "EUR")
    ('0.51', '51,200 EUR')
    """
    text = rounded(value, decimals_for(spread) + extra)
    return text if currency is None else f"{text} {currency}"


def percent(share: float, rows: int) -> str:
    """A share in percent; below 10,000 rows without decimals.

    Parameters
    ----------
    share : float
        Of one.
    rows : int
        How many rows it is a share of.

    Returns
    -------
    str
        The share as text.

    Examples
    --------
    >>> percent(0.4567, 1000), percent(0.4567, 20_000)
    ('46%', '45.7%')
    """
    return f"{rounded(100 * share, 0 if rows < 10_000 else 1)}%"
