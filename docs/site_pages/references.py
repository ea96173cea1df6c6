"""References: papers named in docstrings become links; types are looked up under their public names."""

from __future__ import annotations

import re
from typing import Any

import steelyard

PAPER = re.compile(r"\b([Pp]apers?) (00[0-4])\b(?!`)")


def link_papers(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """``Paper 000, eq. (5)`` links to the page of paper 000, except in code and on lines that carry a role already."""
    for i, line in enumerate(lines):
        if ":doc:" not in line and "``" not in line and ">>>" not in line:
            lines[i] = PAPER.sub(r":doc:`\1 \2 </generated/papers/\2>`", line)


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
    return None
