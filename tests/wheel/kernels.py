"""The compiled module of an installed wheel by itself, with numpy alone: ``python kernels.py``.

For systems where scikit-learn has no wheels. The numbers are those of every other system: draws and scores have the
same bits everywhere.
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import numpy as np


def native() -> ModuleType:
    """The extension, loaded from its file: the package around it may need more than is installed."""
    package = importlib.util.find_spec("steelyard")
    if package is None or not package.submodule_search_locations:
        sys.exit("steelyard is not installed")
    file = next(Path(package.submodule_search_locations[0]).glob("_native*.so"))
    spec = importlib.util.spec_from_file_location("_native", file)
    if spec is None or spec.loader is None:
        sys.exit(f"{file} cannot be loaded")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def main() -> None:
    """Draws against their definition, running means against numpy."""
    kernels = native()
    for seed, t in [(0, 0), (0, 1), (7, 123_456), (2**63, 2**40)]:
        drawn, expected = kernels.draw(seed, t), draw(seed, t)
        if drawn != expected:
            sys.exit(f"draw({seed}, {t}) must be {expected!r}; got {drawn!r}")

    rows = np.random.default_rng(0).normal(3.0, 2.0, size=(500, 4))
    count, mean, squares = np.zeros(4), np.zeros(4), np.zeros(4)
    kernels.scale_rows(rows, count, mean, squares, np.empty_like(rows))
    if count[0] != 500 or not np.allclose(mean, rows.mean(axis=0), rtol=1e-12):
        sys.exit(f"running means must be {rows.mean(axis=0)}; got {mean} of {count[0]} rows")
    print(f"kernels: draws and running means are right ({Path(kernels.__file__ or '').name})")


def draw(seed: int, t: int) -> float:
    """The definition of a draw: two SplitMix64 finalisers over seed and round."""
    return (mixed(mixed(seed) ^ t) >> 11) * 2.0**-53


def mixed(value: int) -> int:
    """SplitMix64."""
    mask = 2**64 - 1
    value = (value + 0x9E3779B97F4A7C15) & mask
    value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9 & mask
    value = (value ^ (value >> 27)) * 0x94D049BB133111EB & mask
    return value ^ (value >> 31)


if __name__ == "__main__":
    main()
