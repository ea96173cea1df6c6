"""Logging in by password or one-time link, and logging out."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from typing import Any
from urllib.parse import parse_qs, quote

import msgspec
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from ...errors import SteelyardError
from ..http.replies import problem_reply
from ..http.runtime import Runtime, decoded
from ..people.access import LONGEST, SERVICE
from ..people.accounts import (
    LEAST_PASSWORD,
    begin_session,
    end_session,
    fits,
    hash_password,
    people,
    set_password,
    use_link,
)
from ..writer.jobs import RefusedError
from .page import HEADERS, page, page_route, visitor

MOST_BYTES, MOST_FIELDS = 8192, 10  # of a form
AT_ONCE, WAITING = 2, 8  # passwords that are hashed at a time, and that wait for it
TRIES, HOUR = 120, 3600.0  # of one name from one address
MOST_NAMES = 10_000  # whose tries are known
WRONG = "Name or password is wrong."
USED = "This link has been used, or is older than 15 minutes. Ask for a new one: steelyard service person NAME"


class SentCode(msgspec.Struct, forbid_unknown_fields=True):
    """The code of a one-time link."""

    code: str


class SentPassword(msgspec.Struct, forbid_unknown_fields=True):
    """A new password, and the one before if there is one."""

    new: str
    old: str = ""


_PASSWORD = msgspec.json.Decoder(SentPassword)
_CODE = msgspec.json.Decoder(SentCode)


class SlowHashes:
    """Hashes passwords beside the event loop: a few at a time, and not for everybody at once."""

    def __init__(self) -> None:
        self._free = asyncio.Semaphore(AT_ONCE)
        self._waiting = 0

    async def run(self, function: Any, *arguments: Any) -> Any:
        """What the function says; 429 if too many wait."""
        if self._waiting >= AT_ONCE + WAITING:
            raise RefusedError(429, "busy", "fewer logins must wait; too many do. Try again in a few seconds.")
        self._waiting += 1
        try:
            async with self._free:
                return await asyncio.to_thread(function, *arguments)
        finally:
            self._waiting -= 1


class Tries:
    """How often a name was tried from an address within the last hour.

    Anybody may try any name, so only the latest are known: to have one forgotten takes tries of ten thousand others.
    """

    def __init__(self) -> None:
        self._times: dict[tuple[str, str], deque[float]] = {}  # the name that was not tried for longest first

    def note(self, name: str, address: str) -> None:
        """One more; 429 if it is one too many."""
        now, key = time.monotonic(), (name[:100], address)
        tried = self._times[key] = self._times.pop(key, deque())
        if len(self._times) > MOST_NAMES:
            del self._times[next(iter(self._times))]
        while tried and now - tried[0] >= HOUR:
            tried.popleft()
        if len(tried) >= TRIES:
            raise RefusedError(429, "too_many_tries", "a name may be tried 120 times an hour; it was. Wait a while.")
        tried.append(now)


class Login:
    """The pages of the door."""

    def __init__(self, runtime: Runtime) -> None:
        self.runtime, self.hashes, self.tries = runtime, SlowHashes(), Tries()

    def routes(self) -> list[Route]:
        """Login, link, logout."""
        return [
            page_route("/login", self.form),
            page_route("/login", self.enter, ("POST",)),
            page_route("/login/link", self.by_link, ("POST",)),
            page_route("/logout", self.leave, ("POST",)),
            page_route("/people", self.people),
            page_route("/password", self.set_password, ("POST",)),
        ]

    async def form(self, request: Request) -> Response:
        """The form; the code of a link stands in the fragment, which no server sees, and is sent by the script."""
        return page(request, "login.html", error=None, name="", next=local_path(request.query_params.get("next")))

    async def enter(self, request: Request) -> Response:
        """By name and password."""
        runtime = self.runtime
        runtime.check_origin(request.scope["headers"])
        try:
            sent = parse_qs((await _body(request)).decode("utf-8", "replace"), max_num_fields=MOST_FIELDS)
        except ValueError:
            message = f"the form must have at most {MOST_FIELDS} fields; it has more."
            raise RefusedError(400, "bad_form", message) from None
        name, password, then = (sent.get(field, [""])[0] for field in ("name", "password", "next"))
        self.tries.note(name, runtime.address(request.scope))
        sql = "SELECT id, password FROM person WHERE name = ? AND active"
        row = runtime.store.connection.execute(sql, (name,)).fetchone() if name.isprintable() else None
        person, kept = row or (0, None)
        if not await self.hashes.run(fits, kept, password):
            return page(request, "login.html", status=401, error=WRONG, name=name, next=local_path(then))
        secret = await runtime.change(lambda store, at: begin_session(store, person, at=at))
        if secret is None:
            return page(request, "login.html", status=401, error=WRONG, name=name, next=local_path(then))
        response = RedirectResponse(local_path(then), 303, HEADERS)
        self._set_cookie(response, secret)
        return response

    async def by_link(self, request: Request) -> Response:
        """By the code of a one-time link, which is spent by this POST and by no GET."""
        try:
            self.runtime.check_origin(request.scope["headers"])
            self.tries.note("", self.runtime.address(request.scope))
            code = decoded(_CODE, await _body(request)).code
            secret = await self.runtime.change(lambda store, at: use_link(store, code, at=at))
            if secret is None:
                raise RefusedError(403, "used_link", USED)
        except RefusedError as error:
            return problem_reply(error)
        response = Response(status_code=204, headers=HEADERS)
        self._set_cookie(response, secret)
        return response

    async def leave(self, request: Request) -> Response:
        """End this session."""
        try:
            session = visitor(request)
            self.runtime.check_write(request.scope["headers"], session)
            await self.runtime.change(lambda store, at: end_session(store, session.id, session.name, at=at))
        except RefusedError as error:
            return problem_reply(error)
        response = Response(status_code=204, headers=HEADERS)
        response.delete_cookie(self.runtime.cookie, secure=self.runtime.secure, httponly=True)
        return response

    async def people(self, request: Request) -> Response:
        """Oneself; for an owner of the service also everybody else."""
        session, runtime = visitor(request), self.runtime
        owns = runtime.access.owns_service(session.person)
        everybody = people(runtime.store) if owns else []
        known = next((one for one in people(runtime.store) if one.id == session.person), None)
        places = [SERVICE, *(head.slug for head in runtime.store.projects())] if owns else []
        assert known is not None
        return page(request, "people.html", me=known, people=everybody, places=places, least=LEAST_PASSWORD)

    async def set_password(self, request: Request) -> Response:
        """Another password for oneself; who has one must know it."""
        session, runtime = visitor(request), self.runtime
        try:
            runtime.check_write(request.scope["headers"], session)
            self.tries.note(session.name, runtime.address(request.scope))
            sent = decoded(_PASSWORD, await _body(request))
            sql = "SELECT password FROM person WHERE id = ?"
            kept = runtime.store.connection.execute(sql, (session.person,)).get
            if kept is not None and not await self.hashes.run(fits, kept, sent.old):
                raise RefusedError(403, "wrong_password", "the present password must be right; it is not.", "old")
            try:
                made = await self.hashes.run(hash_password, sent.new)
            except SteelyardError as error:
                raise RefusedError(422, "bad_password", str(error), "new") from None
            await runtime.change(lambda store, at: set_password(store, session.person, made, keep=session.id, at=at))
        except RefusedError as error:
            return problem_reply(error)
        return Response(status_code=204, headers=HEADERS)

    def _set_cookie(self, response: Response, secret: str) -> None:
        response.set_cookie(
            self.runtime.cookie,
            secret,
            max_age=LONGEST // 1_000_000,
            secure=self.runtime.secure,
            httponly=True,
            samesite="lax",
        )


def local_path(path: str | None) -> str:
    """Where to go after logging in: a place of this service, never another one."""
    if not path or not path.startswith("/") or path[1:2] in ("/", "\\") or not path.isprintable():
        return "/"
    return quote(path, safe="/?&=%-_.~")


async def _body(request: Request) -> bytes:
    length = request.headers.get("content-length", "")
    if "transfer-encoding" in request.headers or not length.isdigit() or int(length) > MOST_BYTES:
        raise RefusedError(413, "too_large", f"the form must say its length, at most {MOST_BYTES} bytes; it does not.")
    return await request.body()
