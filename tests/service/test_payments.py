"""The payments of the demo: the same for everybody, told apart by their traits, and learned within a minute."""

from __future__ import annotations

import os
from collections import deque

import numpy as np

from steelyard.service.log.records import RecordReader, pack_cells
from steelyard.service.replay.answering import answer
from steelyard.service.replay.deciding import decide
from steelyard.service.replay.state import State
from steelyard.service.sources.payments import CLEAR, FRAUD, SHARE, STARTS, demo_settings, payment

SEEDS = int(os.environ.get("STEELYARD_SERVICE_SEEDS", "3"))
MINUTE = 1200  # rows
ASKED_BEFORE, BETWEEN = 20, 6  # rows for which the simulated person thinks, and between two of its answers


def test_a_payment_depends_on_seed_and_number_alone():
    assert [payment(n, 3) for n in range(20)] == [payment(n, 3) for n in range(20)]
    assert [payment(n, 3) for n in range(20)] != [payment(n, 4) for n in range(20)]
    assert payment(17) == payment(17)


def test_one_in_ten_is_a_fraud_with_most_of_its_traits():
    made = [payment(n) for n in range(STARTS[3])]
    frauds = [one.record for one in made if one.fraud]
    assert abs(len(frauds) / len(made) - SHARE) < 0.02
    assert {one["category"] for one in frauds} == {"gift cards", "parcel", "transfer"}
    gift_cards = [one for one in frauds if one["category"] == "gift cards"]
    assert abs(np.mean([one["hour"] < 5 for one in gift_cards]) - CLEAR) < 0.15
    assert not any("mum" in str(one.record["message"]) for one in made)
    assert any("mum" in str(payment(n).record["message"]) for n in range(STARTS[3], STARTS[3] + 400))


def test_every_payment_is_a_row_of_the_project():
    settings = demo_settings()
    settings.validate()
    reader = RecordReader(settings)
    for n in range(300):
        made = payment(n)
        cells, missing, unknown = reader.read(made.record)
        assert (missing, unknown) == (0, 0)
        assert pack_cells(bytes(16), cells)
        assert made.label in settings.classes
    assert settings.labels[1] == FRAUD


def first_minute(seed: int) -> tuple[float, float, bool]:
    """Cost a row of the last 300 rows of the minute, that of the cheapest constant, and whether there was a band."""
    settings = demo_settings(seed)
    state, matrix, columns = State(settings), settings.cost_matrix(), list(settings.columns)
    waiting, costs, frauds, weights, free, dear = deque(), [], [], [], 0, 0
    band = False
    for n in range(MINUTE):
        made = payment(n, seed)
        frauds.append(made.fraud)
        decided = decide(state, n + 2, [made.record[name] for name in columns], 0)
        costs.append(matrix[int(made.fraud), decided.answer])
        if decided.ask:
            waiting.append((n, made.fraud, decided))
        if waiting and waiting[0][0] <= n - ASKED_BEFORE and n >= free:
            at, fraud, asked = waiting.popleft()
            answer(state, at + 2, 1, int(fraud), at)
            free, dear = n + BETWEEN, dear + (fraud and asked.answer == 0)
            weights.append(1 / asked.chance)
            band = band or (dear >= 6 and sum(weights) ** 2 / sum(w * w for w in weights) >= 30)
    share = np.mean(frauds[-300:])
    return float(np.mean(costs[-300:])), float(min(share * matrix[1, 0], (1 - share) * matrix[0, 1])), band


def test_the_first_minute_halves_the_cost_of_the_cheapest_constant():
    runs = [first_minute(seed) for seed in range(SEEDS)]
    assert np.mean([cost for cost, _, _ in runs]) <= 0.5 * np.mean([constant for _, constant, _ in runs])
    assert any(band for _, _, band in runs)
