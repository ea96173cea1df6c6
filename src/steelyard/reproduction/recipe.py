"""Recipes: an experiment as data. TOML in, objects out; a recipe holds no code."""

from __future__ import annotations

import hashlib
import importlib
import inspect
import json
import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..costs import Costs
from ..errors import InvalidInputError
from ..validation.values import invalid

_ROOTS = ("steelyard", "sklearn", "imblearn")
_NOT_HASHED = ("item", "claim", "note", "quick", "figure", "paired")  # changing these leaves the numbers as they are


def named(name: str) -> Any:
    """The public object a recipe or a command line names: ``CSOGD2`` or ``sklearn.svm.SVC``."""
    path, _, attribute = name.rpartition(".")
    if path == "Costs":
        return getattr(Costs, attribute)
    module = path or "steelyard"
    if module.partition(".")[0] not in _ROOTS or any(part.startswith("_") for part in name.split(".")):
        raise invalid("use", f"name something public of {', '.join(_ROOTS)}", name)
    try:
        found = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError):
        raise invalid("use", f"name something public of {module}", name, "Check the spelling.") from None
    return found


def build(spec: Any) -> Any:
    """Turn ``{use = "Name", parameter = ...}`` into the object it describes, inside out."""
    if isinstance(spec, Mapping):
        parts = {key: build(value) for key, value in spec.items() if key != "use"}
        if "use" not in spec:
            return parts
        thing = named(str(spec["use"]))
        try:
            inspect.signature(thing).bind_partial(**parts)
        except TypeError as error:
            raise InvalidInputError(f"{spec['use']} cannot be built from {sorted(parts)}: {error}.") from None
        return thing(**parts)
    if isinstance(spec, list):
        return [build(value) for value in spec]
    return spec


@dataclass(frozen=True)
class Recipe:
    """One table or figure on one data set: what to run, how often, and what to measure."""

    path: Path
    paper: str
    item: str
    claim: str
    data: Mapping[str, Any]
    protocol: Mapping[str, Any]
    measures: tuple[Mapping[str, Any], ...]
    learners: tuple[Mapping[str, Any], ...]
    prepare: tuple[Mapping[str, Any], ...]
    costs: Mapping[str, Any] | None
    quick: Mapping[str, Any]
    figure: Mapping[str, Any] | None
    paired: Mapping[str, Any] | None
    timed: bool
    skip: str | None
    digest: str

    @property
    def name(self) -> str:
        """The file's name without its suffix; also that of its results."""
        return self.path.stem

    @property
    def data_name(self) -> str:
        """What the paper calls the data: ``label`` where given, else the catalogue's name."""
        return str(self.data.get("label", self.data["name"]))

    @property
    def items(self) -> tuple[str, ...]:
        """Every table and figure this recipe speaks to; a measure may belong to another table than the recipe's own."""
        others = [str(m["item"]) for m in self.measures if "item" in m]
        paired = [] if self.paired is None else [str(self.paired["item"])]
        return tuple(dict.fromkeys([self.item, *others, *paired]))

    def item_of(self, measure: str) -> str:
        """The table a measure stands in."""
        return next((str(m["item"]) for m in self.measures if m.get("name") == measure and "item" in m), self.item)


def read_recipe(path: Path) -> Recipe:
    """Read one recipe; a key that is missing or unknown is an error that names it."""
    try:
        raw = tomllib.loads(path.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise InvalidInputError(f"recipe {path} is not TOML: {error}.") from error
    needed = {"paper", "item", "claim", "data"} | (set() if "skip" in raw else {"protocol", "learner"})
    known = needed | {
        "protocol",
        "learner",
        "measure",
        "prepare",
        "costs",
        "quick",
        "figure",
        "paired",
        "skip",
        "note",
        "timed",
    }
    if missing := needed - set(raw):
        raise InvalidInputError(f"recipe {path} must state {', '.join(sorted(missing))}.")
    if unknown := set(raw) - known:
        raise InvalidInputError(
            f"recipe {path} states {', '.join(sorted(unknown))}; known are {', '.join(sorted(known))}."
        )
    hashed = json.dumps(_canonical({k: v for k, v in raw.items() if k not in _NOT_HASHED}), sort_keys=True)
    return Recipe(
        path=path,
        paper=raw["paper"],
        item=raw["item"],
        claim=raw["claim"],
        data=raw["data"],
        protocol=raw.get("protocol", {}),
        measures=tuple({"use": m} if isinstance(m, str) else m for m in raw.get("measure", [])),
        learners=tuple(raw.get("learner", [])),
        prepare=tuple(raw.get("prepare", [])),
        costs=raw.get("costs"),
        quick=raw.get("quick", {}),
        figure=raw.get("figure"),
        paired=raw.get("paired"),
        timed=raw.get("timed", False),
        skip=raw.get("skip"),
        digest=hashlib.sha256(hashed.encode()).hexdigest()[:12],
    )


def _canonical(spec: Any) -> Any:
    """What a recipe says without where its classes live or how often it is run: neither changes what a run gives."""
    if isinstance(spec, Mapping):
        said = {k: v for k, v in spec.items() if k != "runs"}
        return {k: str(v).rpartition(".")[2] if k == "use" else _canonical(v) for k, v in said.items()}
    return [_canonical(value) for value in spec] if isinstance(spec, list) else spec


def papers_folder() -> Path:
    """The folder of recipes: ``STEELYARD_PAPERS``, or ``papers/`` here or beside the sources."""
    places = [Path("papers"), Path(__file__).parents[3] / "papers"]
    if os.environ.get("STEELYARD_PAPERS"):
        places = [Path(os.environ["STEELYARD_PAPERS"])]
    for place in places:
        if any(place.glob("*/*.toml")):
            return place
    raise InvalidInputError(
        "the folder papers/ with the recipes must be at hand; it is part of the source tree, not of the package. "
        "Run this in a clone of the repository or set STEELYARD_PAPERS."
    )


def find_recipes(paper: str, *, item: str | None = None, data: str | None = None) -> list[Recipe]:
    """The recipes of a paper, in the order of its tables and figures; ``item`` like ``Table 2`` or ``Figure 3``."""
    folders = sorted(papers_folder().glob(f"{paper}-*"))
    if not folders:
        there = sorted(p.name[:3] for p in papers_folder().glob("[0-9]*-*"))
        raise invalid("paper", f"be one of {', '.join(there)}", paper)
    everything = [read_recipe(path) for path in sorted(folders[0].glob("*.toml")) if path.name != "claims.toml"]
    chosen = [
        recipe
        for recipe in everything
        if (item is None or item in recipe.items) and (data is None or recipe.data_name == data)
    ]
    if not chosen:
        items = sorted({each for recipe in everything for each in recipe.items})
        names = sorted({recipe.data_name for recipe in everything})
        raise InvalidInputError(
            f"paper {paper} has no recipe for {item or 'any item'} on {data or 'any data'}; "
            f"items: {', '.join(items)}; data: {', '.join(names)}."
        )
    return chosen
