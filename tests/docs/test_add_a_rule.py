"""The page on rules of one's own: its example keeps the laws it names, and its struct says what kernels ask of it."""

import re
from pathlib import Path
from typing import Any

import pytest

from steelyard import UpdateInput

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "add-a-rule.md").read_text(encoding="utf-8")
KERNELS = (ROOT / "native" / "updates.hpp").read_text(encoding="utf-8")


@pytest.mark.parametrize("margin", [-2.0, 0.0, 0.5, 1.0, 1.5, 4.0])
@pytest.mark.parametrize("y", [-1.0, 1.0])
def test_the_rule_of_the_page_never_lowers_the_margin_of_its_row(y: float, margin: float) -> None:
    shown: dict[str, Any] = {"__name__": "page"}
    code = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)[0]
    exec(code.partition("rng =")[0], shown)
    step = shown["SmoothedHinge"](eta=0.5).step(UpdateInput(y * margin, y, 2.0, 1.0, 1.0))
    assert step.add * y == max(0.0, 1.0 - margin)  # 0.5 * 2, the gradient of the square being twice as long


def test_the_struct_of_the_page_says_what_every_struct_says() -> None:
    (struct,) = re.findall(r"```cpp\n(.*?)```", PAGE, re.DOTALL)
    for line in (
        "static constexpr const char *name = ",
        "using Kind = ",
        "Step operator()(const UpdateInput &s) const {",
    ):
        assert line in struct
        assert KERNELS.count(line) >= 10
    kinds = re.findall(r"^struct (\w+) \{[^{}]*x2 = (?:true|false)", KERNELS, re.MULTILINE)
    assert len(kinds) == 5
    assert all(f"`{kind}`" in PAGE for kind in kinds)
