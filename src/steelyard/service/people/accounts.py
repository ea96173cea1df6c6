"""People: names, passwords, one-time links, roles and sessions. Each change is an event of the service's own log.

Every function here runs inside an open transaction.
"""

from __future__ import annotations

import secrets
from functools import cache
from hashlib import sha256
from typing import Any, NamedTuple

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from ...validation.values import check_choice, invalid
from ..database.sqlite import SQLiteStore
from .access import ROLES, SERVICE, log_access

MINUTE = 60 * 1_000_000
LINK = 15 * MINUTE  # how long a one-time link may be used
LEAST_PASSWORD, MOST_PASSWORD = 12, 1000  # characters
LONGEST_NAME = 100
FIRST = "owner"  # the name of the first person
_hasher = PasswordHasher()


class Person(NamedTuple):
    """Somebody who may log in, and the roles by project."""

    id: int
    name: str
    active: bool
    has_password: bool
    roles: dict[str, tuple[str, ...]]


def hash_password(password: str) -> str:
    """The argon2id hash of a new password; slow on purpose, so never in the event loop."""
    if not LEAST_PASSWORD <= len(password) <= MOST_PASSWORD:
        raise invalid("the password", f"have {LEAST_PASSWORD} to {MOST_PASSWORD} characters", f"{len(password)}")
    return _hasher.hash(password.encode("utf-8", "surrogatepass"))


@cache
def _nobody() -> str:
    """What the password of an unknown name is compared with."""
    return _hasher.hash(secrets.token_hex(16))


def fits(kept: str | None, password: str) -> bool:
    """Whether a password is the one of a hash; without a hash it takes as long and is False."""
    try:
        right = _hasher.verify(kept or _nobody(), password[: MOST_PASSWORD + 1].encode("utf-8", "surrogatepass"))
    except (VerificationError, InvalidHashError):
        return False
    return right and kept is not None


def people(store: SQLiteStore) -> list[Person]:
    """Everybody who may log in; tokens are no people."""
    run = store.connection
    roles: dict[int, dict[str, tuple[str, ...]]] = {}
    sql = "SELECT r.person, p.slug, r.role FROM role r JOIN project p ON p.id = r.project ORDER BY p.id, r.role"
    held_roles: Any = run.execute(sql)
    for person, slug, role in held_roles:
        held = roles.setdefault(person, {})
        held[slug] = (*held.get(slug, ()), role)
    sql = (
        "SELECT id, name, active, password IS NOT NULL FROM person"
        " WHERE id NOT IN (SELECT person FROM token) ORDER BY name"
    )
    rows: list[Any] = run.execute(sql).fetchall()
    return [Person(id, name, bool(active), bool(has), roles.get(id, {})) for id, name, active, has in rows]


def add_person(store: SQLiteStore, name: str, *, at: int) -> int:
    """A new person without any role; the number."""
    if not 0 < len(name.strip()) <= LONGEST_NAME or not name.isprintable() or name.startswith("token "):
        raise invalid("the name", f"be 1 to {LONGEST_NAME} printable characters, not 'token ...'", name)
    name = name.strip()
    if store.connection.execute("SELECT 1 FROM person WHERE name = ?", (name,)).fetchone() is not None:
        raise invalid("the name", "be new", name, "Choose another one.")
    made = store.connection.execute("INSERT INTO person (name, active) VALUES (?, 1) RETURNING id", (name,)).get
    log_access(store, name, "is added", at)
    return int(made)


def name_of(store: SQLiteStore, person: int) -> str:
    """The name of somebody who may log in; raises if there is no such person."""
    sql = "SELECT name FROM person WHERE id = ? AND id NOT IN (SELECT person FROM token)"
    row = store.connection.execute(sql, (person,)).fetchone()
    if row is None:
        raise invalid("the person", "exist", person)
    return str(row[0])


def give_role(
    store: SQLiteStore, person: int, slug: str, role: str, *, given: bool, at: int, keep: bytes | None = None
) -> None:
    """Give a role in a project, or take it away; then all sessions of the person end but ``keep``."""
    check_choice("role", role, ROLES)
    name, project = name_of(store, person), store.project(slug)
    if project is None:
        raise invalid("project", "exist", slug)
    key = (person, project.id, role)
    before = store.connection.total_changes()
    if given:
        store.connection.execute(
            "INSERT INTO role (person, project, role) VALUES (?, ?, ?) ON CONFLICT DO NOTHING", key
        )
    else:
        owners = _owners(store)
        store.connection.execute("DELETE FROM role WHERE person = ? AND project = ? AND role = ?", key)
        _check_an_owner_stays(store, owners)
    if store.connection.total_changes() > before:
        end_sessions(store, person, keep=keep)
        log_access(store, name, f"{'may' if given else 'may no longer'} act as {role} of {slug}", at)


def set_password(store: SQLiteStore, person: int, hashed: str, *, keep: bytes | None, at: int) -> None:
    """Another password; all sessions end but ``keep``, and so do links."""
    name = name_of(store, person)
    store.connection.execute("UPDATE person SET password = ? WHERE id = ?", (hashed, person))
    store.connection.execute("DELETE FROM link WHERE person = ?", (person,))
    end_sessions(store, person, keep=keep)
    log_access(store, name, "has a new password", at)


def set_active(store: SQLiteStore, person: int, active: bool, *, at: int) -> None:
    """Whether somebody may log in; who may not is logged out at once."""
    name, owners = name_of(store, person), _owners(store)
    store.connection.execute("UPDATE person SET active = ? WHERE id = ?", (int(active), person))
    if not active:
        _check_an_owner_stays(store, owners)
        end_sessions(store, person)
        store.connection.execute("DELETE FROM link WHERE person = ?", (person,))
    log_access(store, name, "may log in" if active else "may no longer log in", at)


def _owners(store: SQLiteStore) -> int:
    sql = (
        "SELECT count(*) FROM role r JOIN person p ON p.id = r.person"
        " WHERE r.project = 0 AND r.role = 'owner' AND p.active = 1"
    )
    return int(store.connection.execute(sql).get)


def _check_an_owner_stays(store: SQLiteStore, before: int) -> None:
    if before and not _owners(store):
        raise invalid("the service", "keep an owner", "none", "Give the role to somebody else first.")


# -- links and sessions ----------------------------------------------------------------------------------------------


def make_link(store: SQLiteStore, person: int, *, at: int, lasts: int = LINK) -> str:
    """A code that logs a person in once; shown once and kept nowhere. Earlier ones are worth nothing."""
    name, code = name_of(store, person), secrets.token_urlsafe(32)
    store.connection.execute("DELETE FROM link WHERE person = ? OR expires <= ?", (person, at))
    row = (sha256(code.encode()).digest(), person, at + lasts)
    store.connection.execute("INSERT INTO link (id, person, expires) VALUES (?, ?, ?)", row)
    log_access(store, name, "has a new link", at)
    return code


def use_link(store: SQLiteStore, code: str, *, at: int) -> str | None:
    """A new session for the code of a link, which is worth nothing afterwards; None if it was so before."""
    sql = "DELETE FROM link WHERE id = ? RETURNING person, expires"
    digest = sha256(code.encode("utf-8", "replace")).digest()
    found: list[Any] = store.connection.execute(sql, (digest,)).fetchall()
    if not found or found[0][1] <= at:
        return None
    return begin_session(store, found[0][0], at=at)


def begin_session(store: SQLiteStore, person: int, *, at: int) -> str | None:
    """A new session; its secret is for the cookie alone. None if the person may not log in."""
    row = store.connection.execute("SELECT name FROM person WHERE id = ? AND active = 1", (person,)).fetchone()
    if row is None:
        return None
    secret = secrets.token_urlsafe(32)
    store.connection.execute(
        "INSERT INTO session (id, person, csrf, created, seen) VALUES (?, ?, ?, ?, ?)",
        (sha256(secret.encode()).digest(), person, secrets.token_bytes(32), at, at),
    )
    log_access(store, row[0], "logged in", at)
    return secret


def end_session(store: SQLiteStore, session: bytes, name: str, *, at: int) -> None:
    """Log out."""
    store.connection.execute("DELETE FROM session WHERE id = ?", (session,))
    log_access(store, name, "logged out", at)


def end_sessions(store: SQLiteStore, person: int, *, keep: bytes | None = None) -> None:
    """End all sessions of a person but one."""
    sql = "DELETE FROM session WHERE person = ? AND id IS DISTINCT FROM ?"
    store.connection.execute(sql, (person, keep))


def first_owner(store: SQLiteStore, *, at: int) -> str | None:
    """The code of a link for the first owner, as long as nobody could log in as one; else None."""
    sql = (
        "SELECT p.id FROM person p JOIN role r ON r.person = p.id AND r.project = 0 AND r.role = 'owner'"
        " WHERE p.active = 1 {}"
    )
    able = " AND (p.password IS NOT NULL OR EXISTS (SELECT 1 FROM session s WHERE s.person = p.id))"
    if store.connection.execute(sql.format(able)).fetchone() is not None:
        return None
    row = store.connection.execute(sql.format(" ORDER BY p.id")).fetchone()
    if row is not None:
        return make_link(store, row[0], at=at)
    taken = {one.name for one in people(store)}
    name = next(n for n in (FIRST, *(f"{FIRST} {i}" for i in range(2, 1000))) if n not in taken)
    person = add_person(store, name, at=at)
    give_role(store, person, SERVICE, "owner", given=True, at=at)
    return make_link(store, person, at=at)
