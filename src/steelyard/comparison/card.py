"""The model card: what the model is, what it was made from, what it promises and where that ends."""

from __future__ import annotations

import platform
from typing import Any

import numpy as np
import sklearn

from .._version import __version__
from .evaluation import CandidateRun, Evaluation
from .leaderboard import LeaderboardRow
from .output import data_digest_of, plain_values, weights_in_short
from .promise import Promise

_LIMITS = (
    "The promise is for rows drawn as these were; it says nothing about rows of another time or place.",
    "Costs are as stated; the model decides by expected cost and knows no other aim.",
    "Segments are shown on the page, not judged.",
)


def model_card(runs: Evaluation, best: CandidateRun, line: LeaderboardRow, promised: Promise) -> dict[str, Any]:
    """Plain values, fit for JSON."""
    problem = runs.problem
    members = best.members or ([(best, 1.0)] if best.candidate is not None else [])
    shares = problem.class_weights / problem.row_weights.sum()
    return {
        "schema": 1,
        "candidate": best.name,
        "rows": len(problem.codes),
        "classes": [str(label) for label in problem.classes],
        "sample_weight": weights_in_short(problem),
        "class_shares": [round(float(share), 6) for share in shares],
        "columns_used": [str(name) for name in problem.columns.used],
        "columns_left_out": {str(name): why for name, why in problem.columns.left_out.items()},
        "seed": problem.seed,
        "data": data_digest_of(problem),
        "judged": {"rows": len(runs.judged.rows), "folds": runs.judged.n_folds, "units": runs.units},
        "members": [
            {
                "candidate": run.name,
                "weight": round(weight, 6),
                "parameters": {} if run.candidate is None else {k: str(v) for k, v in run.candidate.params.items()},
                "cost_weighted": run.candidate is not None and run.candidate.weighted,
                "fitted_to_costs": run.candidate is not None and run.candidate.sees_costs,
            }
            for run, weight in members
        ],
        "promise": promised.as_dict(),
        "mean_cost": plain_values(line.mean_cost),
        "limits": list(_LIMITS),
        "steelyard": __version__,
        "versions": {
            "python": platform.python_version(),
            "numpy": np.__version__,
            "scikit-learn": sklearn.__version__,
        },
    }
