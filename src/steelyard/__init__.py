"""Steelyard: classification where mistakes are not equal.

``__all__`` is the only registry of public names, one line a room; the tables in README.md say what each is for.
``steelyard.compare`` is the main job of the lab, which is loaded when it is first asked for.
"""

from typing import TYPE_CHECKING, Any

from . import (
    active,
    boosting,
    costs,
    data,
    decision,
    errors,
    evaluate,
    margin,
    online,
    reduction,
    report,
    rules,
    search,
    trace,
    tree,
)
from ._version import __version__ as __version__
from .active import *
from .boosting import *
from .costs import *
from .data import *
from .decision import *
from .errors import *
from .evaluate import *
from .margin import *
from .online import *
from .reduction import *
from .report import *
from .rules import *
from .search import *
from .trace import *
from .tree import *

if TYPE_CHECKING:
    from .comparison import compare as compare
    from .models.storage import load_model as load_model


__all__: list[str] = []
__all__ += errors.__all__
__all__ += trace.__all__
__all__ += costs.__all__
__all__ += data.__all__
__all__ += decision.__all__
__all__ += report.__all__
__all__ += rules.__all__
__all__ += evaluate.__all__
__all__ += active.__all__
__all__ += online.__all__
__all__ += margin.__all__
__all__ += tree.__all__
__all__ += reduction.__all__
__all__ += boosting.__all__
__all__ += search.__all__


def __getattr__(name: str) -> Any:
    if name == "compare":
        from .comparison import compare

        return compare
    if name == "load_model":
        from .models.storage import load_model

        return load_model
    raise AttributeError(f"module 'steelyard' has no attribute {name!r}")
