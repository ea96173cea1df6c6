"""Made-up card payments that a person can judge: row ``n`` is a function of the seed and ``n`` alone.

One payment in ten is a fraud of a kind that a reader recognises: gift cards bought at night from a new device, a small
fee for a parcel that is held, savings that are moved to a "safe account", and from row 3,000 on a child with a new
number. Good payments share every single trait with them; it is the traits together that tell.
"""

from __future__ import annotations

from random import Random
from typing import NamedTuple

from ..log.records import Cell
from ..log.settings import ProjectSettings

FRAUD = "fraud"
GOOD = "good"
SHARE = 0.1  # of frauds
STARTS = (0, 0, 0, 3000)  # the rows from which on each kind of fraud appears
SEED = 3
CLEAR = 0.6  # of the traits of a fraud are there, beside category and merchant
_CERTAIN = ("category", "merchant")

_SHOPS = (
    ("groceries", ("Korn & Co", "Marktplatz", "Feinkost Ley"), (4, 90), ("", "", "weekly shopping", "thanks")),
    ("restaurant", ("Trattoria Sol", "Green Bowl", "Zum Anker"), (9, 120), ("", "lunch", "dinner for two", "tip incl")),
    ("clothes", ("Nordfaden", "Hemd & Hose", "Sneakerbox"), (15, 240), ("", "order 4471", "size exchange")),
    ("electronics", ("Voltmarkt", "Pixelhaus", "Kabel24"), (20, 900), ("", "headphones", "order 9082", "new laptop")),
    ("travel", ("Rail Direct", "Aerolinea", "Hotel Meridian"), (25, 700), ("", "booking 55130", "two nights")),
    ("gift cards", ("Cardhaus", "Giftly", "Kartenwelt"), (10, 100), ("happy birthday", "", "for grandma", "thank you")),
    ("parcel", ("Postbote", "ShipQuick", "Paketdienst"), (3, 40), ("return label", "customs for order 3318", "")),
    ("transfer", ("Own account", "Landlord", "Sports club"), (20, 1200), ("rent march", "membership fee", "savings")),
)
_COUNTRIES = ("DE", "DE", "DE", "DE", "FR", "NL", "AT", "PL")
_FAR = ("RO", "NG", "US", "CN", "BR")
_HOLD = (
    "your parcel is held\npay fee",
    "parcel held at customs, pay now",
    "delivery failed: pay the fee within 24 h",
)
_SAFE = (
    "move your money to the safe account",
    "bank security: transfer to safe account now",
    "urgent: your account is at risk",
)
_CHILD = (
    "hi mum, this is my new number\ncan you pay this for me",
    "mum my phone broke, please transfer today",
    "dad new number, urgent rent",
)


class Payment(NamedTuple):
    """A payment as its columns, and what it is in truth."""

    record: dict[str, Cell]
    fraud: bool

    @property
    def label(self) -> str:
        """The answer of a person who is never wrong."""
        return FRAUD if self.fraud else GOOD


def demo_settings(seed: int = SEED) -> ProjectSettings:
    """The project of the demo."""
    kinds = dict.fromkeys(("amount", "hour", "since_last"), "number")
    kinds |= dict.fromkeys(("merchant", "category", "country", "new_device"), "category") | {"message": "text"}
    order = ("amount", "merchant", "category", "country", "hour", "since_last", "new_device", "message")
    return ProjectSettings(
        question="Is this payment fraud?",
        guide=(
            "These payments are made up. Fraud comes in three kinds:\n"
            "- gift cards: round sums at night, minutes after the payment before, from a new device\n"
            "- parcels: a small fee abroad for a parcel that is held\n"
            "- safe account: savings that are moved in a hurry, from a new device\n"
            "One trait alone says little: people do buy gift cards, and parcels do cost customs."
        ),
        classes=[GOOD, FRAUD],
        positive=FRAUD,
        columns={name: kinds[name] for name in order},
        costs={"fn": 10.0, "fp": 1.0},
        update="AROW(r=10)",
        budget=300,
        expected_rows=3000,
        seed=seed,
    )


def payment(n: int, seed: int = SEED) -> Payment:
    """Payment ``n`` (from 0)."""
    draw = Random(f"payment {seed} {n}")
    fraud = draw.random() < SHARE
    record = _good(draw)
    if fraud:
        kinds = [kind for kind, first in zip(_KINDS, STARTS, strict=True) if n >= first]
        traits = draw.choice(kinds)(draw)
        record |= {name: cell for name, cell in traits.items() if name in _CERTAIN or draw.random() < CLEAR}
    return Payment(record, fraud)


def _good(draw: Random) -> dict[str, Cell]:
    category, merchants, (low, high), messages = draw.choice(_SHOPS[:5] * 2 + _SHOPS[5:])  # frauds imitate rarer kinds
    amount = low * (high / low) ** draw.random()
    hour = draw.randrange(7, 23) if draw.random() < 0.93 else draw.choice((23, 0, 1, 2, 3, 4, 5, 6))
    return {
        "amount": round(amount, 2) if draw.random() < 0.8 else float(round(amount, -1)),
        "merchant": draw.choice(merchants),
        "category": category,
        "country": draw.choice(_COUNTRIES) if draw.random() < 0.93 else draw.choice(_FAR),
        "hour": hour,
        "since_last": _minutes(draw, 900.0),
        "new_device": "yes" if draw.random() < 0.1 else "no",
        "message": draw.choice(messages),
    }


def _gift_cards(draw: Random) -> dict[str, Cell]:
    return {
        "amount": draw.choice((100.0, 150.0, 200.0, 250.0)) - draw.choice((0.0, 0.0, 1.0)),
        "merchant": draw.choice(("Cardhaus", "Giftly", "Kartenwelt")),
        "category": "gift cards",
        "hour": draw.randrange(1, 5),
        "since_last": _minutes(draw, 3.0),
        "new_device": "yes",
        "message": draw.choice(("", "happy birthday", "for grandma", "thank you")),
    }


def _parcel_fee(draw: Random) -> dict[str, Cell]:
    return {
        "amount": draw.choice((1.99, 2.49, 2.95, 3.5, 4.99)),
        "merchant": draw.choice(("Postbote", "ShipQuick", "Paketdienst")),
        "category": "parcel",
        "country": draw.choice(_FAR),
        "message": draw.choice(_HOLD),
    }


def _safe_account(draw: Random) -> dict[str, Cell]:
    return _transfer(draw, _SAFE, "Own account") | {"new_device": "yes"}


def _child(draw: Random) -> dict[str, Cell]:
    return _transfer(draw, _CHILD, draw.choice(("M. Weber", "J. Klein", "A. Novak")))


def _transfer(draw: Random, messages: tuple[str, ...], to: str) -> dict[str, Cell]:
    return {
        "amount": float(round(700 * (6.0 ** draw.random()), -1)),
        "merchant": to,
        "category": "transfer",
        "since_last": _minutes(draw, 30.0),
        "message": draw.choice(messages),
    }


def _minutes(draw: Random, mean: float) -> float:
    """Minutes since the payment before, at least one."""
    return float(round(1 + draw.expovariate(1 / mean)))


_KINDS = (_gift_cards, _parcel_fee, _safe_account, _child)
