"""A rule is a value: its parameters, nothing hidden."""

from __future__ import annotations

import inspect
from typing import Any, ClassVar, Self

from .validation.values import invalid

__all__ = ["Rule"]


class Rule:
    """Base of update and query rules: scikit-learn can clone and search it (``update__eta``).

    Most are dataclasses; one that is not keeps every argument of its constructor under the argument's name.
    """

    python_method: ClassVar[str]  # the method that a kernel stands for: a subclass that overrides it leaves the kernel

    def native(self) -> Any:
        """The kernel's form of this rule, or None for a rule that exists in Python only."""
        return None

    def kernel(self) -> Any:
        """:meth:`native`, unless a subclass outside the library gave the rule another meaning in Python."""
        for cls in type(self).__mro__:
            if "native" in vars(cls):
                return self.native()
            if self.python_method in vars(cls) and not cls.__module__.startswith(__package__.partition(".")[0] + "."):
                return None
        return None

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters by name; with ``deep`` also those of rules inside this one."""
        names = inspect.signature(type(self)).parameters
        params = {name: getattr(self, name) for name in names}
        if deep:
            for name, value in list(params.items()):
                if isinstance(value, Rule):
                    params |= {f"{name}__{key}": inner for key, inner in value.get_params().items()}
        return params

    def set_params(self, **params: Any) -> Self:
        """Set parameters by name; ``outer__inner`` reaches into a rule inside this one."""
        known = self.get_params(deep=False)
        for key, value in params.items():
            name, _, inner = key.partition("__")
            if name not in known:
                raise invalid("parameter", f"be one of {', '.join(known) or 'none'} for {type(self).__name__}", key)
            if inner:
                getattr(self, name).set_params(**{inner: value})
            else:
                setattr(self, name, value)
        return self

    def validate(self) -> None:
        """Complain about parameters that cannot be used; called when a stream starts."""

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and other.get_params(deep=False) == self.get_params(deep=False)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={value!r}" for name, value in self.get_params(deep=False).items())
        return f"{type(self).__name__}({shown})"
