"""Settings near a good one, drawn in a fixed order: what left-over effort goes into."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from .candidates import Candidate

_RANGES: dict[str, tuple[float, float]] = {
    "num_leaves": (3, 255),
    "learning_rate": (0.02, 0.2),
    "min_child_samples": (2, 200),
    "colsample_bytree": (0.2, 1.0),
    "reg_lambda": (1e-3, 100.0),
    "C": (1e-3, 300.0),
    "min_samples_leaf": (1, 30),
    "max_leaf_nodes": (3, 255),
    "l2_regularization": (1e-3, 100.0),
    "min_obj": (2, 30),
}
_SPREAD = 0.8  # of the logarithm of a factor


def near(candidate: Candidate, index: int, seed: int) -> Candidate:
    """The same learner with its numbers moved by random factors; ``index`` and ``seed`` decide which."""
    rng = np.random.default_rng([seed, 7, index])
    moved = dict(candidate.params)
    for name in sorted(moved.keys() & _RANGES.keys()):
        low, high = _RANGES[name]
        value = float(np.clip(moved[name] * np.exp(_SPREAD * rng.normal()), low, high))
        moved[name] = round(value) if isinstance(moved[name], int) else float(f"{value:.3g}")
    if "num_leaves" in moved:
        moved.setdefault("reg_lambda", float(f"{np.exp(rng.uniform(np.log(1e-2), np.log(30.0))):.3g}"))
        moved["extra_trees"] = bool(rng.random() < 0.4)
    base = candidate.name.rpartition(" near ")[2]
    return replace(candidate, name=f"random {index + 1} near {base}", params=moved)
