"""What `steelyard service new`, `token` and `person` do."""

from __future__ import annotations

import json
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from ...costs import Costs
from ...models.parsing import parse_costs
from ...validation.values import check_count, invalid
from ..database.places import Place, open_existing, open_place, shown_place
from ..log.guess import guess_columns, parse_cell, read_csv
from ..log.settings import ProjectSettings, read_settings
from ..people.access import ROLES, KnownToken, make_token, revoke_token, tokens
from ..people.accounts import add_person, give_role, make_link, people, set_active
from ..replay.history import learned_from
from ..writer.clock import Clock
from ..writer.projects import create_project

DAY = 86400 * 1_000_000
MOST_DAYS = 36_500
_NEEDED = {"classes": "good,fraud", "budget": "300", "expected_rows": "3000"}


def run_new(
    data: Place,
    slug: str,
    settings: ProjectSettings,
    as_json: bool,
    history: Path | None = None,
    target: str | None = None,
) -> None:
    """Make a project, and a token for each role; a history is learned first."""
    start = None
    if history is not None:
        if target is None:
            raise invalid("--target", "name the column of the labels in the history", None)
        rows = (
            {name: cell if name == target else parse_cell(cell) for name, cell in row.items()}
            for row in read_csv(history)
        )
        start, learned = learned_from(settings, rows, target)
        print(f"{learned} labelled rows learned", file=sys.stderr)
    if isinstance(data, Path):
        data.mkdir(parents=True, exist_ok=True)
    store, at = open_place(data), Clock().now()
    try:
        create_project(store, slug, settings, at=at, start=start)
        made = {role: make_token(store, slug, role, at=at) for role in ROLES}
    finally:
        store.close()
    if as_json:
        print(json.dumps({"project": slug, "tokens": made}))
        return
    print(f"project {slug} in {shown_place(data)}. Its tokens are shown this once:")
    for role, token in made.items():
        print(f"{role:>10}  {token}")


def settings_from(
    path: Path | None, sample: Path | None, ignored: list[str], shown: list[str], given: dict[str, Any]
) -> ProjectSettings:
    """Settings from a JSON file, or from a sample of rows and the options of the command."""
    if path is not None:
        _check_alone(sample, ignored, shown, given)
        return read_settings(path.read_bytes())
    if sample is None:
        raise invalid("--settings", "name a JSON file, unless --sample names a CSV file", None)
    columns = guess_columns(sample, ignored=set(ignored)) | dict.fromkeys(shown, "shown")
    plain = {"columns": columns} | {name: value for name, value in given.items() if value is not None}
    for name, example in _NEEDED.items():
        if name not in plain:
            option = f"--{name.replace('_', '-')}"
            raise invalid(option, "be given with --sample", None, f"For example: {option} {example}")
    if isinstance(plain.get("classes"), str):
        plain["classes"] = [label.strip() for label in plain["classes"].split(",")]
    if isinstance(plain.get("costs"), str):
        plain["costs"] = _plain_costs(plain["costs"], plain["classes"])
    return read_settings(msgspec.json.encode(plain))


def _plain_costs(text: str, classes: list[str]) -> dict[str, float] | list[list[float]]:
    """What the option ``--costs`` says, as settings write it: fn and fp, or the matrix in the order of the classes."""
    stated = parse_costs(text)
    if isinstance(stated, str) or stated is None:
        raise invalid("--costs", "be numbers or a file: of a new project no labels are known to balance", text)
    if stated.abstain is not None:
        raise invalid("--costs", "leave abstain out in a project, which decides every row", text)
    if isinstance(stated, Costs):
        return np.asarray(stated.aligned(classes).matrix).tolist()  # type: ignore[no-any-return]
    if stated.columns:
        raise invalid("--costs", "be the same for all rows of a project", text)
    if len(classes) > 2:
        raise invalid("--costs", f"be a .csv or .toml file with C[true, predicted] for {len(classes)} classes", text)
    if stated.positive is None and stated.tp == stated.tn == 0:
        return {"fn": float(stated.fn), "fp": float(stated.fp)}
    return np.asarray(stated.costs(classes=classes).matrix).tolist()  # type: ignore[no-any-return]


def _check_alone(sample: Path | None, ignored: list[str], shown: list[str], given: dict[str, Any]) -> None:
    """Raise if options come with a file of all settings: what they say would not count."""
    options = {"--sample": sample, "--ignore": ignored, "--shown": shown} | {
        f"--{name.replace('_', '-')}": value for name, value in given.items()
    }
    unset = {"--pace": True, "--seed": 0}
    for option, value in options.items():
        if value not in (None, [], unset.get(option)):
            name = "--no-pace" if option == "--pace" else option
            raise invalid(name, "stand in the file that --settings names", value, "All settings are read from there.")


def run_token(
    data: Place, project: str, role: str, days: int | None, revoke: str | None, *, listed: bool = False
) -> None:
    """Make a token and print it, revoke one, or list all of them; also while the service runs."""
    store, now = open_existing(data), Clock().now()
    try:
        if listed:
            for one in tokens(store):
                print(f"{one.number}  {one.role} of {one.project}{_state_of(one, now)}")
            return
        if revoke is not None:
            print(f"token {revoke_token(store, revoke, at=now)} is revoked")
            return
        if days is not None:
            check_count("--days", days, at_most=MOST_DAYS)
        print(make_token(store, project, role, at=now, expires=None if days is None else now + days * DAY))
    finally:
        store.close()


def _state_of(token: KnownToken, now: int) -> str:
    if token.revoked:
        return "  revoked"
    if token.expires is None:
        return ""
    day = datetime.fromtimestamp(token.expires / 1e6, UTC).date()
    return f"  expired {day}" if token.expires <= now else f"  until {day}"


def run_person(
    data: Place, name: str | None, project: str | None, role: str | None, *, take: bool, active: bool | None, url: str
) -> None:
    """Add a person or change what they may do, and print a one-time link; without a name, list everybody."""
    _check_person(name, project, role, take=take, active=active)
    store, now = open_existing(data), Clock().now()
    try:
        if name is None:
            for one in people(store):
                held = ", ".join(f"{role} of {slug}" for slug, roles in one.roles.items() for role in roles)
                print(f"{one.name}  {held or 'no role'}{'' if one.active else '  may not log in'}")
            return
        with store.transaction():
            known = {one.name: one.id for one in people(store)}
            if name not in known and (take or active is not None):
                hint = "Without a name the command lists everybody."
                raise invalid("the name", "be that of somebody who is there", name, hint)
            person = known[name] if name in known else add_person(store, name, at=now)
            if project is not None and role is not None:
                give_role(store, person, project, role, given=not take, at=now)
            if active is not None:
                set_active(store, person, active, at=now)
            code = None if take or active is False else make_link(store, person, at=now)
    finally:
        store.close()
    if code is not None:
        print(f"{url.rstrip('/')}/login#{code}")
        print(f"logs {name} in once, within 15 minutes", file=sys.stderr)


def _check_person(name: str | None, project: str | None, role: str | None, *, take: bool, active: bool | None) -> None:
    """Raise unless the options say who is meant and what is to be done."""
    if (project is None) != (role is None):
        raise invalid("--project and --role", "be given together", project or role)
    if take and role is None:
        raise invalid("--take", "be given with the --project and the --role to take away", None)
    if name is None and (role is not None or active is not None):
        raise invalid("NAME", "say who is meant", None)
