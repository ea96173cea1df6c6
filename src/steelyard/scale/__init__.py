"""More rows than memory, more than one machine: the same call, and the same bits, on a pool and on a cluster.

Tested in ``tests/unit/scale``.
"""

from .dask import on_dask
from .fit import fit_parts
from .predict import predict_parts
from .score import score_parts

__all__ = ["fit_parts", "on_dask", "predict_parts", "score_parts"]
