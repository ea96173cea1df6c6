"""One pass over a stream: update rules and OnlineClassifier. Papers 000 and 001."""

from . import second_order, updates
from .adaptive import AdaptiveBalanced
from .classifier import OnlineClassifier
from .hashing import RecordHasher
from .multiclass import OnlineCostClassifier
from .scaler import StreamScaler
from .second_order import *
from .updates import *

__all__ = ["AdaptiveBalanced", "OnlineClassifier", "OnlineCostClassifier", "RecordHasher", "StreamScaler"]
__all__ += second_order.__all__
__all__ += updates.__all__
