"""One pass over a stream: update rules and OnlineClassifier. Papers 000 and 001."""

from . import second_order, updates
from .adaptive import AdaptiveBalanced
from .classifier import OnlineClassifier
from .hashing import RecordHasher
from .multiclass import OnlineCostClassifier
from .scaler import StreamScaler
from .second_order import *
from .sparse_row import SparseRow
from .updates import *

__all__ = ["AdaptiveBalanced", "OnlineClassifier", "OnlineCostClassifier", "RecordHasher", "SparseRow", "StreamScaler"]
__all__ += second_order.__all__
__all__ += updates.__all__

NUMERICS = 1  # rises whenever a bit of a score, an answer or a query may differ from those of an earlier release
