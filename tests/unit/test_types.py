"""Public parameters say what they take: at most one in twenty is ``Any``."""

import inspect
from collections.abc import Iterator
from typing import Any

import steelyard as sy

MOST = 0.05


def parameters(thing: Any) -> Iterator[tuple[str, bool]]:
    """Every parameter of a public function, or of the constructor and the public methods of a class."""
    if inspect.isclass(thing):
        own = [base for base in thing.__mro__ if base.__module__.startswith("steelyard")]
        names = {name for base in own for name in vars(base) if not name.startswith("_")}
        functions = [getattr(thing, name) for name in sorted(names)]
        functions += [thing.__init__] if any("__init__" in vars(base) for base in own) else []
    else:
        functions = [thing]
    for function in functions:
        if inspect.isroutine(function):
            for one in inspect.signature(function).parameters.values():
                if one.name != "self" and one.kind is not one.VAR_KEYWORD:
                    yield f"{function.__qualname__}({one.name})", is_vague(one.annotation)


def is_vague(annotation: Any) -> bool:
    """Whether a type says nothing: none is given, or it is Any, with or without None."""
    return annotation in (Any, inspect.Parameter.empty, "Any", "Any | None", "None | Any", "typing.Any")


def test_few_public_parameters_are_any() -> None:
    found = {name: vague for public in sy.__all__ for name, vague in parameters(getattr(sy, public))}
    vague = sorted(name for name, is_any in found.items() if is_any)
    assert len(found) > 900
    assert len(vague) <= MOST * len(found), f"{len(vague)} of {len(found)}: {', '.join(vague)}"


def test_a_parameter_without_a_type_is_counted() -> None:
    def vague(X: Any, y: "Any", z: "Any | None", n: int) -> None: ...

    assert [is_any for _, is_any in parameters(vague)] == [True, True, True, False]
    assert [is_any for _, is_any in parameters(lambda x: x)] == [True]
