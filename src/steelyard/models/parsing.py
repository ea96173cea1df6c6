"""The options of a command line as values: rules, costs, budgets. Nothing of them is evaluated.

Tested in ``tests/unit/streaming/test_command.py``.
"""

from __future__ import annotations

import ast
import inspect
from dataclasses import replace
from pathlib import Path
from typing import Any

from .. import active, online
from ..active import QueryRule
from ..costs import Costs
from ..costs.spec import ROLES, CostSpec, read_file
from ..errors import CostsError
from ..online import AdaptiveBalanced, SecondOrderRule, UpdateRule
from ..rules import Rule
from ..validation.values import invalid

BALANCED = "balanced"
LONGEST_RULE = 500  # characters; deeper nesting than fits would exhaust the parser
_BASES = (UpdateRule, QueryRule, SecondOrderRule)


def update_rule(text: str) -> UpdateRule:
    """``CSOGD2``, ``CSOGD2(0.1)`` or ``CSOGD2(eta=0.1)``."""
    return _parse_rule("--update", text, UpdateRule, online)  # type: ignore[no-any-return]


def query_rule(text: str) -> QueryRule:
    """``AskAsymmetric(c_pos=0.01, c_neg=0.1)``; ``Ask`` may be left out."""
    return _parse_rule("--query", text, QueryRule, active)  # type: ignore[no-any-return]


def _parse_rule(option: str, text: str, kind: type[Rule], room: Any) -> Any:
    known = {name: rule for name in room.__all__ if _is_rule(rule := getattr(room, name), kind)}
    try:
        tree = ast.parse(text.strip(), mode="eval").body if len(text) <= LONGEST_RULE else None
    except (SyntaxError, ValueError, RecursionError, MemoryError):  # ValueError: a null byte
        tree = None
    if tree is None:
        raise invalid(option, "be a rule such as Name(parameter=number)", text)
    try:
        made = _build_rule(option, tree, known)
    except (RecursionError, MemoryError):
        raise invalid(option, "be a rule such as Name(parameter=number)", text) from None
    made.validate()
    return made


def _is_rule(thing: Any, kind: type[Rule]) -> bool:
    return inspect.isclass(thing) and issubclass(thing, kind) and thing not in _BASES


def _build_rule(option: str, tree: ast.expr, known: dict[str, Any]) -> Any:
    """A rule from its syntax: a name, or a name with constants and rules in brackets."""
    name = tree.func if isinstance(tree, ast.Call) else tree
    if not isinstance(name, ast.Name) or (name.id not in known and f"Ask{name.id}" not in known):
        raise invalid(option, f"be one of {', '.join(known)}", ast.unparse(tree))
    make = known.get(name.id) or known[f"Ask{name.id}"]
    if not isinstance(tree, ast.Call):
        return make()
    positional = [_value(option, value, known) for value in tree.args]
    named = {str(k.arg): _value(option, k.value, known) for k in tree.keywords}
    try:
        return make(*positional, **named)
    except TypeError:
        takes = ", ".join(inspect.signature(make).parameters) or "nothing"
        raise invalid(option, f"give {make.__name__} its parameters ({takes})", ast.unparse(tree)) from None


def _value(option: str, tree: ast.expr, known: dict[str, Any]) -> Any:
    if isinstance(tree, ast.Call) or (isinstance(tree, ast.Name) and tree.id not in ("inf", "nan")):
        return _build_rule(option, tree, known)
    try:
        return ast.literal_eval(tree)
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        raise invalid(option, "give parameters as numbers, texts or True and False", ast.unparse(tree)) from None


def parse_costs(text: str | None) -> Costs | CostSpec | str | None:
    """The option ``--costs`` of every command: ``fn=5,fp=1``, ``8:1``, a .csv or .toml file, or ``balanced``."""
    if text is None:
        return None
    if text.strip().lower() == BALANCED:
        return BALANCED
    if _is_file(text):
        return read_file(Path(text))
    return CostSpec.parse(text)


def costs_option(text: str | None, roles: dict[str, str]) -> Costs | CostSpec | str | None:
    """What ``--costs`` and the options that name columns say together."""
    if not roles:
        return parse_costs(text)
    if text is not None and (text.strip().lower() == BALANCED or _is_file(text)):
        raise invalid("--costs", "leave out what a column of the data gives", text, error=CostsError)
    return CostSpec.parse(text or "", roles)


def _is_file(text: str) -> bool:
    return Path(text).suffix.lower() in (".csv", ".toml")


def plain_costs(costs: Costs | CostSpec) -> dict[str, Any]:
    """Costs for machines: numbers and names of columns by role, or :meth:`Costs.to_dict`."""
    return {role: getattr(costs, role) for role in ROLES} if isinstance(costs, CostSpec) else costs.to_dict()


def stream_costs(text: str | None, roles: dict[str, str] | None = None) -> Any:
    """Costs of a stream; ``balanced`` follows the labels seen, None: a mistake costs 1.

    Costs that name columns stay a :class:`CostSpec`, since every row has its own. A positive class that a file names
    is for the caller to put last among the labels.
    """
    stated = costs_option(text, roles or {})
    if stated == BALANCED:
        return AdaptiveBalanced()
    if isinstance(stated, (Costs, CostSpec)) and stated.abstain is not None:
        raise invalid("--costs", "leave abstain out in a stream, which decides every row", text)
    return replace(stated, positive=None).costs() if isinstance(stated, CostSpec) and not stated.columns else stated


def label_budget(text: str | None) -> int | float | None:
    """Labels in all (``1250``), or per row (``0.05``)."""
    if text is None:
        return None
    try:
        return int(text)
    except ValueError:
        pass
    try:
        return float(text)
    except ValueError:
        raise invalid("--budget", "be a number of labels, or of labels per row below 1", text) from None
