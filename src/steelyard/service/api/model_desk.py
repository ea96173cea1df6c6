"""Handlers of what decides and what does not: the champion, shadows and their promotion."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from hashlib import sha256

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from ...errors import SteelyardError
from ..http.replies import body_of, carried_out, json_reply
from ..http.routes import SentShadow, SentSlot
from ..http.runtime import Runtime, decoded
from ..people.access import Grant
from ..replay.shadows import MOST_SHADOWS
from ..writer.champion_model import MOST_BYTES, read_champion
from ..writer.jobs import ChampionJob, PromoteJob, RefusedError, ShadowJob

_SHADOW = msgspec.json.Decoder(SentShadow)
_SLOT = msgspec.json.Decoder(SentSlot)
LONGEST_RULE = 1000  # characters
LONGEST_NAME = 100


class ModelDesk:
    """The handlers; each is allowed by the table of routes before it runs."""

    def __init__(self, runtime: Runtime) -> None:
        self.runtime = runtime

    def handlers(self) -> dict[tuple[str, str], Callable[..., Awaitable[Response]]]:
        """By method and address."""
        return {
            ("GET", "shadows"): self.shadows,
            ("POST", "shadows"): self.set_shadow,
            ("POST", "promote"): self.promote,
            ("POST", "champion"): self.set_champion,
            ("DELETE", "champion"): self.end_champion,
        }

    async def shadows(self, request: Request, grant: Grant) -> Response:
        """What other models would have cost."""
        return json_reply(await self.runtime.overviews.shadows(grant.slug))

    async def set_shadow(self, request: Request, grant: Grant) -> Response:
        """Begin or end a shadow."""
        body = await body_of(request)
        sent = decoded(_SHADOW, body)
        if sent.update is not None and len(sent.update) > LONGEST_RULE:
            raise RefusedError(422, "bad_body", f"update must have at most {LONGEST_RULE} characters.", "update")
        settings = None if sent.update is None else {"update": sent.update}
        job = ShadowJob(grant.slug, grant.person, slot=_checked(sent.slot), settings=settings)
        return await carried_out(self.runtime, request, job, body)

    async def promote(self, request: Request, grant: Grant) -> Response:
        """Make a shadow the learner."""
        body = await body_of(request)
        job = PromoteJob(grant.slug, grant.person, slot=_checked(decoded(_SLOT, body).slot))
        return await carried_out(self.runtime, request, job, body)

    async def set_champion(self, request: Request, grant: Grant) -> Response:
        """Have a model decide; it is read and held against the project before anything changes."""
        body = await body_of(request, "application/octet-stream", MOST_BYTES)
        name = request.query_params.get("name", "")
        if len(name) > LONGEST_NAME or not name.isprintable():
            raise RefusedError(422, "bad_query", f"name must be printable, at most {LONGEST_NAME} characters.", "name")
        try:
            model = await asyncio.to_thread(read_champion, body, self.runtime.snapshot(grant.slug).settings)
        except SteelyardError as error:
            raise RefusedError(422, "bad_model", str(error), "") from None
        job = ChampionJob(grant.slug, grant.person, sha256=sha256(body).digest(), body=body, weight=len(body))
        job.name = name or model.name[:LONGEST_NAME]
        return await carried_out(self.runtime, request, job, body)

    async def end_champion(self, request: Request, grant: Grant) -> Response:
        """Have the learner decide again."""
        return await carried_out(self.runtime, request, ChampionJob(grant.slug, grant.person), b"DELETE")


def _checked(slot: int) -> int:
    if not 1 <= slot <= MOST_SHADOWS:
        raise RefusedError(422, "bad_body", f"slot must be 1 to {MOST_SHADOWS}; it is not.", "slot")
    return slot
