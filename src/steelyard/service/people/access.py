"""Who may do what: tokens of one project and one role, and the sessions of people with their roles.

Of tokens and sessions only the SHA-256 is kept.
"""

from __future__ import annotations

import hmac
import re
import secrets
import time
from collections.abc import Callable
from hashlib import sha256
from typing import NamedTuple

from ...validation.values import check_choice, invalid
from ..database.sqlite import SQLiteStore
from ..database.store import Changes
from ..log.events import Access, Event, Kind, chain, pack

ROLES = ("owner", "annotator", "producer", "reader")
SERVICE = "_service"
FRESH = 1.0  # seconds for which a token that was looked up is believed: so a revocation takes at most so long
_TOKEN = re.compile(r"sy_([0-9a-f]{12})_([A-Za-z0-9_-]{43})\Z")
_SAME_TIME = sha256(b"").digest()
IDLE, LONGEST = 12 * 3600 * 1_000_000, 7 * 86400 * 1_000_000  # how long a session lasts: unused, and at all


class Grant(NamedTuple):
    """What a token allows; or a session, whose ``token`` is empty."""

    token: str
    person: int
    project: int
    slug: str
    role: str
    secret: bytes
    expires: int | None
    revoked: int


class Session(NamedTuple):
    """Somebody who is logged in; ``csrf`` must come back with every write."""

    id: bytes
    person: int
    name: str
    csrf: str
    created: int
    seen: int


def make_token(store: SQLiteStore, slug: str, role: str, *, at: int, expires: int | None = None) -> str:
    """A new token; the text is shown once and kept nowhere."""
    check_choice("role", role, ROLES)
    number, secret = secrets.token_hex(6), secrets.token_urlsafe(32)
    store.begin()
    try:
        project = store.project(slug)
        if project is None:
            raise invalid("project", "exist", slug, "Make it with: steelyard service new")
        run = store.connection
        sql = "INSERT INTO person (name, active) VALUES (?, 1) RETURNING id"
        person = run.execute(sql, (f"token {number}",)).get
        run.execute(
            "INSERT INTO token (id, person, project, role, secret, expires) VALUES (?, ?, ?, ?, ?, ?)",
            (number, person, project.id, role, sha256(secret.encode()).digest(), expires),
        )
        log_access(store, f"token {number}", f"may act as {role} of {slug}", at)
        store.commit()
    except BaseException:
        store.rollback()
        raise
    return f"sy_{number}_{secret}"


class KnownToken(NamedTuple):
    """A token as it is listed; its secret is kept nowhere."""

    number: str
    project: str
    role: str
    expires: int | None
    revoked: bool


def tokens(store: SQLiteStore) -> list[KnownToken]:
    """All tokens, by project."""
    sql = (
        "SELECT t.id, p.slug, t.role, t.expires, t.revoked FROM token t JOIN project p ON p.id = t.project"
        " ORDER BY p.id, t.person"
    )
    rows = store.connection.execute(sql)
    return [KnownToken(number, slug, role, expires, bool(revoked)) for number, slug, role, expires, revoked in rows]


def revoke_token(store: SQLiteStore, text: str, *, at: int) -> str:
    """The token of this number, or this token, is worth nothing from now on; the number."""
    number = text.removeprefix("sy_").partition("_")[0]  # what is behind it is secret, and said by no error
    store.begin()
    try:
        store.connection.execute("UPDATE token SET revoked = 1 WHERE id = ?", (number,))
        if store.connection.changes() != 1:
            raise invalid("token", "be the number of a token", number)
        log_access(store, f"token {number}", "is revoked", at)
        store.commit()
    except BaseException:
        store.rollback()
        raise
    return number


def log_access(store: SQLiteStore, who: str, what: str, at: int) -> None:
    """An event of the service's own log, in the open transaction."""
    head = store.project(SERVICE)
    assert head is not None
    body = pack(Access(who=who, what=what))
    seq, kind = head.head + 1, int(Kind.ACCESS)
    linked = chain(head.chain, head.id, (seq, kind, at, None, 0, body))
    store.add(Changes(head.id, events=[Event(seq, kind, at, None, 0, body, linked)]))


class AccessBook:
    """Looks tokens up, and remembers them for a second."""

    def __init__(self, store: SQLiteStore) -> None:
        self._store = store
        self._known: dict[str, tuple[float, Grant | None]] = {}
        self._valid: dict[bytes, tuple[float, Grant]] = {}  # by the whole header

    def grant(self, header: bytes | None, now: Callable[[], int]) -> Grant | None:
        """What the Authorization header allows; None if it is no valid token."""
        if header is None:
            return None
        known = self._valid.get(header)
        if known is None or time.monotonic() - known[0] >= FRESH:
            known = self._checked(header)
            if known is None:
                return None
            if len(self._valid) > 10_000:
                self._valid.clear()
            self._valid[header] = known
        expires = known[1].expires
        return None if expires is not None and expires <= now() else known[1]

    def _checked(self, header: bytes) -> tuple[float, Grant] | None:
        """The grant of a token, if it is one, its secret is right and it was not revoked; and when that was so."""
        scheme, _, token = header.partition(b" ")
        found = _TOKEN.match(token.decode("latin-1"))
        if found is None or scheme.lower() != b"bearer":  # some clients write it small
            return None
        number, secret = found.groups()
        grant = self._look_up(number)
        kept = _SAME_TIME if grant is None else grant.secret
        if not hmac.compare_digest(kept, sha256(secret.encode()).digest()) or grant is None or grant.revoked:
            return None
        return self._known[number][0], grant

    def _look_up(self, number: str) -> Grant | None:
        moment = time.monotonic()
        known = self._known.get(number)
        if known is not None and moment - known[0] < FRESH:
            return known[1]
        sql = (
            "SELECT t.id, t.person, t.project, p.slug, t.role, t.secret, t.expires, t.revoked"
            " FROM token t JOIN project p ON p.id = t.project WHERE t.id = ?"
        )
        row = self._store.connection.execute(sql, (number,)).fetchone()
        grant = None if row is None else Grant(*row)
        if len(self._known) > 10_000:
            self._known.clear()
        self._known[number] = (moment, grant)
        return grant

    # -- sessions ----------------------------------------------------------------------------------------------------

    def session(self, secret: str, now: int) -> Session | None:
        """The session of a cookie; None if there is none, or it is too old, or the person may not log in."""
        sql = (
            "SELECT s.id, s.person, p.name, s.csrf, s.created, s.seen FROM session s"
            " JOIN person p ON p.id = s.person WHERE s.id = ? AND p.active = 1"
        )
        row = self._store.connection.execute(sql, (sha256(secret.encode("latin-1", "replace")).digest(),)).fetchone()
        if row is None:
            return None
        number, person, name, csrf, created, seen = row
        found = Session(number, person, name, csrf.hex(), created, seen)
        over = now - found.seen > IDLE or now - found.created > LONGEST
        return None if over else found

    def roles(self, person: int, slug: str) -> tuple[int, frozenset[str]]:
        """A project's number and what a person may be there; an owner of the service owns every project."""
        head = self._store.project(slug)
        if head is None:
            return -1, frozenset()
        sql = "SELECT role FROM role WHERE person = ? AND (project = ? OR (project = 0 AND role = 'owner'))"
        return head.id, frozenset(row[0] for row in self._store.connection.execute(sql, (person, head.id)))

    def owns_service(self, person: int) -> bool:
        """Whether a person may make projects and give roles."""
        return "owner" in self.roles(person, SERVICE)[1]
