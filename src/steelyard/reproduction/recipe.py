"""Recipes: an experiment as data. TOML in, objects out; a recipe holds no code."""

from __future__ import annotations

import hashlib
import inspect
import json
import os
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import InvalidInputError
from ..validation.values import invalid
from .names import named

_NOT_HASHED = ("item", "claim", "note", "quick", "figure", "paired")  # changing these leaves the numbers as they are

# What each key holds, and what the entries of lists are.
_KINDS: dict[str, tuple[Any, Any]] = {
    **dict.fromkeys(("paper", "item", "claim", "skip", "note"), (str, None)),
    **dict.fromkeys(("data", "protocol", "costs", "quick", "figure", "paired"), (dict, None)),
    **dict.fromkeys(("learner", "prepare"), (list, dict)),
    "measure": (list, (str, dict)),
    "timed": (bool, None),
}
_SAID: dict[Any, str] = {
    str: "a text",
    dict: "a table",
    list: "a list of tables",
    bool: "true or false",
    "measure": "a list of names and tables",
    "data": "a table with a name",
}


DEEPEST = 32


def build(spec: Any, depth: int = 0) -> Any:
    """Turn ``{use = "Name", parameter = ...}`` into the object it describes, inside out."""
    if depth > DEEPEST:
        raise InvalidInputError(f"a recipe must describe objects at most {DEEPEST} deep within each other; got more.")
    if isinstance(spec, Mapping):
        parts = {key: build(value, depth + 1) for key, value in spec.items() if key != "use"}
        if "use" not in spec:
            return parts
        thing = named(str(spec["use"]))
        if "memory" in parts:
            raise invalid("memory", "be left out: a cache runs what it finds in its folder", parts["memory"])
        try:
            inspect.signature(thing).bind_partial(**parts)
        except TypeError as error:
            raise InvalidInputError(f"{spec['use']} cannot be built from {sorted(parts)}: {error}.") from None
        try:
            return thing(**parts)
        except TypeError as error:  # a parameter of another kind, or a measure, which is not built
            raise InvalidInputError(f"{spec['use']} cannot be built from {sorted(parts)}: {error}.") from None
    if isinstance(spec, list):
        return [build(value, depth + 1) for value in spec]
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
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InvalidInputError(f"recipe {path} is not TOML: {error}.") from None
    needed = {"paper", "item", "claim", "data"} | (set() if "skip" in raw else {"protocol", "learner"})
    known = needed | set(_KINDS)
    if missing := needed - set(raw):
        raise InvalidInputError(f"recipe {path} must state {', '.join(sorted(missing))}.")
    if unknown := set(raw) - known:
        raise InvalidInputError(
            f"recipe {path} states {', '.join(sorted(unknown))}; known are {', '.join(sorted(known))}."
        )
    for key, value in raw.items():
        _check_kind(path, key, value)
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


def _check_kind(path: Path, key: str, value: Any) -> None:
    """Raise unless the value of a key has the kind that it must have."""
    kind, inner = _KINDS[key]
    sound = isinstance(value, kind) and (inner is None or all(isinstance(one, inner) for one in value))
    if not sound or (key == "data" and not isinstance(value.get("name"), str)):
        raise invalid(f"{key} of recipe {path}", f"be {_SAID[key if key in _SAID else kind]}", value)


def _canonical(spec: Any) -> Any:
    """What a recipe says without where its classes live or how often it is run: neither changes what a run gives."""
    if isinstance(spec, Mapping):
        said = {k: v for k, v in spec.items() if k != "runs"}
        return {k: str(v).rpartition(".")[2] if k == "use" else _canonical(v) for k, v in said.items()}
    return [_canonical(value) for value in spec] if isinstance(spec, list) else spec


def papers_folder() -> Path:
    """The folder of recipes: what ``STEELYARD_PAPERS`` names, or ``papers/`` beside the sources.

    The current directory is not searched: who runs a command in a strange folder does not ask for its recipes.
    """
    place = Path(os.environ.get("STEELYARD_PAPERS") or Path(__file__).parents[3] / "papers")
    if any(place.glob("*/*.toml")):
        return place
    raise InvalidInputError(
        f"{place} must hold the recipes; they are part of the source tree, not of the package. "
        "Name the folder: STEELYARD_PAPERS=papers in a clone of the repository."
    )


def read_recipes(paper: str) -> list[Recipe]:
    """Every recipe of a paper, in the order of its tables and figures."""
    folders = {path.name[:3]: path for path in sorted(papers_folder().glob("[0-9][0-9][0-9]-*")) if path.is_dir()}
    if paper not in folders:
        raise invalid("paper", f"be one of {', '.join(folders)}", paper)
    return [read_recipe(path) for path in sorted(folders[paper].glob("*.toml")) if path.name != "claims.toml"]


def matching(recipes: Sequence[Recipe], *, item: str | None = None, data: str | None = None) -> list[Recipe]:
    """The recipes of an item on some data; ``Table II`` stands for its parts too, such as ``Table II (sum)``."""
    return [
        recipe
        for recipe in recipes
        if (item is None or any(each == item or each.startswith(f"{item} (") for each in recipe.items))
        and (data is None or recipe.data_name == data)
    ]


def find_recipes(paper: str, *, item: str | None = None, data: str | None = None) -> list[Recipe]:
    """The recipes of a paper; ``item`` like ``Table 2`` or ``Figure 3``. None at all is an error that lists them."""
    everything = read_recipes(paper)
    chosen = matching(everything, item=item, data=data)
    if not chosen:
        items = sorted({each for recipe in everything for each in recipe.items})
        names = sorted({recipe.data_name for recipe in everything})
        raise InvalidInputError(
            f"paper {paper} has no recipe for {item or 'any item'} on {data or 'any data'}; "
            f"items: {', '.join(map(repr, items))}; data: {', '.join(map(repr, names))}."
        )
    return chosen


def with_learners(recipes: Sequence[Recipe], learners: Sequence[str]) -> list[Recipe]:
    """The recipes that have one of the learners, all where none is named; a name that no recipe has is an error."""
    known = {str(spec["name"]) for recipe in recipes for spec in recipe.learners}
    for name in learners:
        if name not in known:
            raise invalid("--learner", f"be one of {', '.join(sorted(known))}", name)
    return [r for r in recipes if not learners or any(spec["name"] in learners for spec in r.learners)]


def learners_of(papers: Sequence[str], part: Mapping[str, Any], learners: Sequence[str]) -> dict[str, list[str]]:
    """Which learners are wanted of which paper; of several papers those without the part or any of them are left out.

    Of one paper nothing is left out: what it does not have is an error when its recipes are looked for.
    """
    if len(papers) == 1:
        return {papers[0]: list(learners)}
    recipes = {paper: matching(read_recipes(paper), **part) for paper in papers}
    if not any(recipes.values()):
        raise invalid("--table, --figure, --item and --data", "name something that a paper has", dict(part))
    known = {paper: [str(s["name"]) for each in some for s in each.learners] for paper, some in recipes.items()}
    everywhere = {name for names in known.values() for name in names}
    for name in learners:
        if name not in everywhere:
            raise invalid("--learner", f"be one of {', '.join(sorted(everywhere))}", name)
    wanted = {paper: [name for name in learners if name in names] for paper, names in known.items()}
    return {paper: some for paper, some in wanted.items() if recipes[paper] and (some or not learners)}
