"""References: papers named in docstrings become links; types are looked up under their public names."""

from __future__ import annotations

import importlib
import re
from typing import Any

import steelyard

PAPER = re.compile(r"\b([Pp]apers?) (00[0-4])\b")
CODE = re.compile(r"(``.*?``|:[\w:]+:`[^`]*`|`[^`]*`_?)")  # what is markup or code already


def escape_and_link(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Docstrings are plain text: ``|x|`` and ``coef_`` are no markup, and ``Paper 000`` links to its page."""
    literal_above = None  # the indentation of the paragraph that a literal block belongs to
    for i, line in enumerate(lines):
        indent = len(line) - len(line.lstrip())
        if literal_above is not None and line.strip() and indent <= literal_above:
            literal_above = None
        if literal_above is None and not line.lstrip().startswith((">>>", "...", ".. ")):
            lines[i] = "".join(part if CODE.fullmatch(part) else plain(part) for part in CODE.split(line))
        if literal_above is None and line.rstrip().endswith("::"):
            literal_above = indent


def plain(text: str) -> str:
    """Text outside of code, escaped, with papers linked."""
    return PAPER.sub(r":doc:`\1 \2 </generated/papers/\2>`", escape(text))


def escape(text: str) -> str:
    """Without what reStructuredText would read as substitutions and references."""
    return re.sub(r"(?<=\w)_(?=[\s,.;:)\]]|$)", r"\\_", re.sub(r"(?<!\\)\|", r"\\|", text))


def resolve_public_names(app: Any, env: Any, node: Any, contnode: Any) -> Any:
    """``steelyard.costs._costs.Costs`` in a type is ``steelyard.Costs`` on the site."""
    target = node.get("reftarget", "")
    if node.get("refdomain") != "py":
        return None
    parts = target.split(".")
    for start in range(len(parts)):
        rest = parts[start:]
        if rest[0] in steelyard.__all__:
            domain = env.get_domain("py")
            public = ".".join(["steelyard", *rest])
            found = domain.resolve_xref(env, node["refdoc"], app.builder, "obj", public, node, contnode)
            if found is not None:
                return found
    return contnode if is_internal(target) else None


def is_internal(target: str) -> bool:
    """A type of ours that exists but is not public: shown by name, without a link."""
    module, _, name = target.rpartition(".")
    if not module.startswith("steelyard."):
        return False
    try:
        return hasattr(importlib.import_module(module), name)
    except ImportError:
        return False
