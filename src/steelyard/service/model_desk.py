"""Handlers of what decides and what does not: shadows and their promotion."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from .access import Grant
from .jobs import PromoteJob, RefusedError, ShadowJob
from .replies import body_of, carried_out, json_reply
from .routes import SentShadow, SentSlot
from .runtime import Runtime, decoded
from .shadows import MOST_SHADOWS

_SHADOW = msgspec.json.Decoder(SentShadow)
_SLOT = msgspec.json.Decoder(SentSlot)
LONGEST_RULE = 1000  # characters


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


def _checked(slot: int) -> int:
    if not 1 <= slot <= MOST_SHADOWS:
        raise RefusedError(422, "bad_body", f"slot must be 1 to {MOST_SHADOWS}; it is not.", "slot")
    return slot
