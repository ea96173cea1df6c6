"""Checks that public docstrings have numpydoc sections: ``python docs/site_pages/docstrings.py [NAME ...]``."""

from __future__ import annotations

import inspect
import sys
from pathlib import Path

from numpydoc.validate import validate

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import steelyard
from site_pages.api import own_members, public_names

CODES = {
    "GL07": "sections in another order",
    "GL08": "no docstring",
    "PR01": "parameters without a line",
    "PR02": "parameters that are not there",
    "PR03": "parameters in another order",
    "PR04": "a parameter without a type",
    "PR07": "a parameter without a description",
    "PR10": "no space before the colon of a parameter",
    "RT01": "no section Returns",
    "RT03": "a result without a description",
}
OPTIONAL = {"fit", "partial_fit", "predict", "predict_proba", "decision_function"}  # as everywhere in scikit-learn


def missing_sections(names: list[str]) -> dict[str, list[str]]:
    """What the docstring of a public name or member lacks, by the name it is defined under."""
    found: dict[str, list[str]] = {}
    for name in names:
        thing = getattr(steelyard, name)
        if inspect.isclass(thing) and not issubclass(thing, BaseException):
            for member in own_members(thing):
                if takes_parameters(thing, member) and not is_override(thing, member):
                    found[f"{defined_on(thing, member)}.{member}"] = lacks(f"{name}.{member}")
        found[name] = lacks(name)
    return {path: errors for path, errors in found.items() if errors}


def lacks(path: str) -> list[str]:
    """The codes and texts of what is missing."""
    name, _, member = path.partition(".")
    left_out = set()
    if not member and getattr(getattr(steelyard, name), "_is_protocol", False):
        left_out = {"PR01"}
    if member in OPTIONAL:
        left_out = {"PR01", "RT01"}
    errors = validate(f"steelyard.{path}")["errors"]
    return [f"{code} {text}" for code, text in errors if code in CODES and code not in left_out]


def is_override(cls: type, member: str) -> bool:
    """A method of one of our bases written anew: its parameters are documented there, once."""
    return sum(member in vars(base) for base in cls.__mro__ if base.__module__.startswith("steelyard")) > 1


def defined_on(cls: type, member: str) -> str:
    """The class whose docstring is shown: the one a member is inherited from."""
    return next(base.__name__ for base in cls.__mro__ if member in vars(base))


def takes_parameters(cls: type, member: str) -> bool:
    """Methods that a caller gives something; a property or a method of nothing is said in one sentence."""
    thing = inspect.getattr_static(cls, member)
    if isinstance(thing, property):
        return False
    return len(inspect.signature(getattr(cls, member)).parameters) > (not isinstance(thing, classmethod | staticmethod))


def main() -> None:
    """Print what is missing; exit code 1 if anything is."""
    found = missing_sections(sys.argv[1:] or public_names())
    print(*(f"{path}: {error}" for path, errors in found.items() for error in errors), sep="\n")
    print(f"{len(found)} public docstrings lack a section")
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
