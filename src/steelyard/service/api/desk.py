"""What an owner of the service does: begin projects, add people, give roles."""

from __future__ import annotations

import asyncio
import csv
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from ...errors import SteelyardError
from ..database.sqlite import SQLiteStore
from ..http.replies import body_of, json_reply, number_of
from ..http.routes import (
    ColumnReply,
    GuessReply,
    LinkReply,
    PeopleReply,
    PersonReply,
    ProjectReply,
    SentActive,
    SentName,
    SentProject,
    SentRole,
)
from ..http.runtime import BATCH_BYTES, Runtime, decoded
from ..log.guess import guess_sample
from ..log.settings import read_settings
from ..people.access import Grant
from ..people.accounts import add_person, give_role, make_link, people, set_active
from ..writer.jobs import RefusedError
from ..writer.projects import add_project

MOST_WEIGHTS = 2**26  # of a project that a request creates; more by `steelyard service new`
_PROJECT = msgspec.json.Decoder(SentProject)
_NAME = msgspec.json.Decoder(SentName)
_ROLE = msgspec.json.Decoder(SentRole)
_ACTIVE = msgspec.json.Decoder(SentActive)


class Desk:
    """The handlers; each is allowed by the table of routes before it runs."""

    def __init__(self, runtime: Runtime) -> None:
        self.runtime = runtime

    def handlers(self) -> dict[tuple[str, str], Callable[..., Awaitable[Response]]]:
        """By method and path."""
        return {
            ("POST", "/v1/projects"): self.begin,
            ("POST", "/v1/projects/guess"): self.guess,
            ("GET", "/v1/people"): self.people,
            ("POST", "/v1/people"): self.add,
            ("POST", "/v1/people/{person}/link"): self.link,
            ("POST", "/v1/people/{person}/role"): self.role,
            ("POST", "/v1/people/{person}/active"): self.active,
        }

    async def begin(self, request: Request, grant: Grant) -> Response:
        """A new project."""
        sent = decoded(_PROJECT, await body_of(request))
        try:
            settings = read_settings(msgspec.json.encode(sent.settings))
        except (SteelyardError, TypeError, ValueError, OverflowError) as error:
            raise RefusedError(422, "bad_settings", str(error), "settings") from None
        weights = 2 ** (settings.hash_bits or 0) * len(settings.classes)
        if weights > MOST_WEIGHTS:
            message = f"2 ** hash_bits x classes must be at most {MOST_WEIGHTS}; got {weights}. Lower hash_bits."
            raise RefusedError(422, "bad_settings", message, "settings.hash_bits")
        await self.runtime.change(
            lambda store, at: add_project(store, sent.project, settings, at=at, actor=grant.person)
        )
        return json_reply(ProjectReply(sent.project), status=201)

    async def guess(self, request: Request, grant: Grant) -> Response:
        """The columns of a sample."""
        body = await body_of(request, "text/csv", BATCH_BYTES)
        try:
            text = body.decode("utf-8-sig")
            columns, rows = await asyncio.to_thread(guess_sample, text)
        except UnicodeDecodeError:
            raise RefusedError(422, "bad_file", "the file must be UTF-8; it is not. Save it as UTF-8.") from None
        except (SteelyardError, ValueError, csv.Error) as error:
            raise RefusedError(422, "bad_file", str(error)) from None
        return json_reply(GuessReply([ColumnReply(*column) for column in columns], rows))

    async def people(self, request: Request, grant: Grant) -> Response:
        """Who may log in."""
        return json_reply(self._people(self.runtime.store))

    def _people(self, store: SQLiteStore) -> PeopleReply:
        found = people(store)
        plain = [{slug: list(roles) for slug, roles in one.roles.items()} for one in found]
        return PeopleReply([PersonReply(*one[:4], roles) for one, roles in zip(found, plain, strict=True)])

    async def add(self, request: Request, grant: Grant) -> Response:
        """A person, and a link for them."""
        name = decoded(_NAME, await body_of(request)).name

        def act(store: SQLiteStore, at: int) -> LinkReply:
            person = add_person(store, name, at=at)
            return LinkReply(person, f"/login#{make_link(store, person, at=at)}")

        return json_reply(await self.runtime.change(act), status=201)

    async def link(self, request: Request, grant: Grant) -> Response:
        """A new link for a person; the one before is worth nothing."""
        person = number_of(request.path_params["person"], "person")

        def act(store: SQLiteStore, at: int) -> LinkReply:
            return LinkReply(person, f"/login#{make_link(store, person, at=at)}")

        return json_reply(await self.runtime.change(act))

    async def role(self, request: Request, grant: Grant) -> Response:
        """Give a role, or take it away."""
        person = number_of(request.path_params["person"], "person")
        sent = decoded(_ROLE, await body_of(request))
        return await self._changed(
            request,
            lambda store, at, keep: give_role(
                store, person, sent.project, sent.role, given=sent.given, at=at, keep=keep
            ),
        )

    async def active(self, request: Request, grant: Grant) -> Response:
        """Let a person log in, or not."""
        person = number_of(request.path_params["person"], "person")
        active = decoded(_ACTIVE, await body_of(request)).active
        return await self._changed(request, lambda store, at, keep: set_active(store, person, active, at=at))

    async def _changed(self, request: Request, change: Callable[[SQLiteStore, int, Any], None]) -> Response:
        """Everybody, after a change; the session that made it goes on."""
        session = self.runtime.session(request.scope["headers"])

        def act(store: SQLiteStore, at: int) -> PeopleReply:
            change(store, at, None if session is None else session.id)
            return self._people(store)

        return json_reply(await self.runtime.change(act))
