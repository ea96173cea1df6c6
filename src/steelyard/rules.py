"""A rule is a value: its parameters, each declared with its range, and nothing hidden.

Tested in ``tests/property/test_online.py``.
"""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, dataclass, field, fields
from typing import Any, Protocol, Self, TypeVar, dataclass_transform

from .validation.values import check_choice, check_count, check_flag, check_number, invalid

__all__ = ["Rule"]

PACKAGE = __name__.partition(".")[0]
T = TypeVar("T")


class Domain(Protocol):
    """The values that a parameter may have."""

    def validate(self, name: str, value: Any) -> object:
        """Raise unless the value is one of them."""

    def number(self, value: Any) -> float:
        """The value as kernels take it."""

    def text(self) -> str:
        """The values in words, for the documentation."""


@dataclass(frozen=True)
class Interval:
    """Finite numbers between two bounds, of which the lower is always excluded."""

    above: float = 0.0
    below: float | None = None
    at_most: float | None = None

    def validate(self, name: str, value: Any) -> object:
        return check_number(name, value, above=self.above, below=self.below, at_most=self.at_most)

    def number(self, value: Any) -> float:
        return float(value)

    def text(self) -> str:
        if self.below is None and self.at_most is None:
            return f"float above {self.above:g}"
        return f"float in ({self.above:g}, " + (f"{self.below:g})" if self.at_most is None else f"{self.at_most:g}]")


@dataclass(frozen=True)
class Count:
    """Integers from 0."""

    def validate(self, name: str, value: Any) -> object:
        return check_count(name, value, at_least=0)

    def number(self, value: Any) -> float:
        return float(min(value, 1 << 1023))

    def text(self) -> str:
        return "int, at least 0"


@dataclass(frozen=True)
class Flag:
    """True or False."""

    def validate(self, name: str, value: Any) -> object:
        return check_flag(name, value)

    def number(self, value: Any) -> float:
        return float(bool(value))

    def text(self) -> str:
        return "bool"


@dataclass(frozen=True)
class Choice:
    """One of some words; a kernel takes its position."""

    words: tuple[str, ...]

    def validate(self, name: str, value: Any) -> object:
        return check_choice(name, value, self.words)

    def number(self, value: Any) -> float:
        return float(self.words.index(value))

    def text(self) -> str:
        return "{" + ", ".join(f'"{word}"' for word in self.words) + "}"


def parameter(default: Any, domain: Domain, description: str) -> Any:
    """Declare a parameter of a rule: what it may be, and what it means in one line."""
    return field(default=default, metadata={"domain": domain, "description": description})


def positive(default: float, description: str) -> Any:
    """A number above 0."""
    return parameter(default, Interval(), description)


def flag(default: bool, description: str) -> Any:
    """True or False."""
    return parameter(default, Flag(), description)


def choice(default: str, *others: str, description: str) -> Any:
    """One of some words, the default first."""
    return parameter(default, Choice((default, *others)), description)


@dataclass_transform()
def rule(cls: type[T]) -> type[T]:
    """Make a class of declared parameters a rule: its constructor, and their section in its documentation."""
    made = dataclass(eq=False, repr=False)(cls)
    declared = [one for one in fields(made) if "domain" in one.metadata]  # type: ignore[arg-type]
    if declared and made.__doc__ and not made.__doc__.startswith(made.__name__ + "("):
        head, mark, examples = inspect.cleandoc(made.__doc__).partition(">>>")
        section = "Parameters\n----------\n" + "\n".join(map(_documented, declared))
        tail = f"\n\nExamples\n--------\n{mark}{examples}" if mark else ""
        made.__doc__ = f"{head.rstrip()}\n\n{section}{tail}\n"
    return made


def _documented(one: Field[Any]) -> str:
    default = "" if one.default is MISSING else f", default {one.default!r}"
    return f"{one.name} : {one.metadata['domain'].text()}{default}\n" + textwrap.indent(
        one.metadata["description"], "    "
    )


class Rule:
    """Base of update and query rules: scikit-learn can clone and search it (``update__eta``).

    Those of the library are decorated by ``rule``; any other class keeps every argument of its constructor under
    the argument's name.
    """

    @classmethod
    def domains(cls) -> dict[str, Domain]:
        """The declared parameters with the values they may have."""
        declared: tuple[Field[Any], ...] = fields(cls) if hasattr(cls, "__dataclass_fields__") else ()  # type: ignore[arg-type]
        return {one.name: one.metadata["domain"] for one in declared if "domain" in one.metadata}

    def validate(self) -> None:
        """Raise if a parameter cannot be used; called when a stream starts."""
        for name, domain in self.domains().items():
            domain.validate(name, getattr(self, name))

    def numbers(self, owner: type[Rule]) -> list[float]:
        """The parameters that a class declares, as the fields of its kernel's struct take them.

        Parameters
        ----------
        owner : type
            The class of the rule, or a base of it.

        Returns
        -------
        list of float
            In the order of the declaration.
        """
        return [domain.number(getattr(self, name)) for name, domain in owner.domains().items()]

    def _owner(self, method: str) -> type[Rule]:
        """The class that says what a method does."""
        return next(cls for cls in type(self).__mro__ if method in vars(cls))

    def _named_kernel(self, method: str, make: Callable[[str, list[float]], Any]) -> Any:
        """What ``make`` knows under the name of the class that wrote the method; None for classes of other packages.

        A struct of the same name in ``native/`` is all that a rule of the library needs to be fast.
        """
        owner = self._owner(method)
        if owner.__module__.partition(".")[0] != PACKAGE:
            return None
        return make(owner.__name__, self.numbers(owner))

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters by name; with ``deep`` also those of rules inside this one.

        Parameters
        ----------
        deep : bool
            Whether to include the parameters of rules inside this one.

        Returns
        -------
        dict
            Parameters by name.
        """
        names = inspect.signature(type(self)).parameters
        params = {name: getattr(self, name) for name in names}
        if deep:
            for name, value in list(params.items()):
                if isinstance(value, Rule):
                    params |= {f"{name}__{key}": inner for key, inner in value.get_params().items()}
        return params

    def set_params(self, **params: Any) -> Self:
        """Set parameters by name; ``outer__inner`` reaches into a rule inside this one. All of them, or none.

        Parameters
        ----------
        **params : any
            New values by name; ``outer__inner`` reaches into a rule inside this one.

        Returns
        -------
        Rule
            The rule itself.
        """
        self._check_names(params)
        for key in sorted(params, key=lambda key: "__" in key):  # a rule that comes anew is the one reached into
            name, _, inner = key.partition("__")
            if inner:
                getattr(self, name).set_params(**{inner: params[key]})
            else:
                setattr(self, name, params[key])
        return self

    def _check_names(self, params: Mapping[str, Any]) -> None:
        """Raise for a name that is no parameter, of this rule or of the one inside it."""
        known = self.get_params(deep=False)
        for key in params:
            name, _, inner = key.partition("__")
            within = params.get(name, known.get(name))
            if name not in known or (inner and not isinstance(within, Rule)):
                raise invalid("parameter", f"be one of {', '.join(known) or 'none'} for {type(self).__name__}", key)
            if inner:
                within._check_names({inner: None})

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and other.get_params(deep=False) == self.get_params(deep=False)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={value!r}" for name, value in self.get_params(deep=False).items())
        return f"{type(self).__name__}({shown})"
