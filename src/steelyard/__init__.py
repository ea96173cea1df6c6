"""Steelyard: classification where mistakes are not equal.

The public names stand in ``__init__.pyi``; each is imported when it is first asked for.
"""

from . import _public

__getattr__, __dir__, __all__ = _public.attach(__name__, __file__)
