"""How handlers read a request and how they answer it."""

from __future__ import annotations

from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from ..writer.jobs import Job, Problem, RefusedError
from .runtime import SINGLE_BYTES, Runtime, body_digest, key_of

NO_STORE = {"cache-control": "no-store", "x-content-type-options": "nosniff"}


def json_reply(reply: Any, *, status: int = 200, replayed: bool = False) -> Response:
    """An answer as JSON."""
    headers = NO_STORE | ({"replayed": "true"} if replayed else {})
    return Response(msgspec.json.encode(reply), status, headers, "application/json")


def problem_reply(error: RefusedError) -> Response:
    """A refusal as JSON."""
    response = json_reply(Problem(error.code, error.message, error.where), status=error.status)
    if error.status == 401:
        response.headers["www-authenticate"] = "Bearer"
    if error.status in (429, 503):
        response.headers["retry-after"] = "1"
    return response


async def body_of(request: Request, takes: str = "application/json", most: int = SINGLE_BYTES) -> bytes:
    """The body of a request; refused before it is read if it is too long, and if it is of another kind."""
    length = request.headers.get("content-length", "")
    if "transfer-encoding" in request.headers or (length and not length.isdigit()):
        raise RefusedError(411, "no_length", "the request must say its length. Send: Content-Length", "Content-Length")
    if length and int(length) > most:
        raise RefusedError(413, "too_large", f"the body must have at most {most} bytes; got {length}.", "")
    body = await request.body()
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if body and kind != takes:
        message = f"the body must be {takes}. Send: Content-Type: {takes}"
        code = {"application/json": "no_json", "text/csv": "no_csv"}.get(takes, "wrong_type")
        raise RefusedError(415, code, message, "Content-Type")
    return body


async def carried_out(runtime: Runtime, request: Request, job: Job, body: bytes = b"") -> Response:
    """The answer to a request with a key, once it is on the disk; the first one, if the key was used before."""
    job.key = key_of(request.scope["headers"])
    job.digest = body_digest(request.scope["path"], body)
    return json_reply(await runtime.run(job), replayed=job.replayed)


def number_of(text: str, where: str) -> int:
    """The number in an address."""
    if not (text.isascii() and text.isdigit() and len(text) <= 18 and int(text) > 0):
        raise RefusedError(404, "not_found", f"{where} must be a positive number; it is not.", where)
    return int(text)
