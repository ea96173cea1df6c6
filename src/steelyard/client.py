"""A client of ``steelyard serve`` that needs nothing but the standard library.

Every write carries a key of its own, which stays the same when the request is sent again: after a cut connection, a
restart of the server or a full queue, each row is decided once.

Tested in ``tests/service/test_kills.py``.
"""

from __future__ import annotations

import http.client
import json
import random
import secrets
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Self
from urllib.parse import quote, urlsplit
from weakref import WeakSet

__all__ = ["Client", "ServiceError"]

BATCH = 500  # rows in a request
BATCH_BYTES = 16 * 2**20  # of a request, as the service takes it
_AGAIN = (429, 502, 503, 504)  # two of them a proxy says while the service behind it starts again


class ServiceError(Exception):
    """A refusal of the service.

    Parameters
    ----------
    status : int
        The HTTP status.
    error : str
        The code of the refusal.
    message : str
        What was wrong, and what to do.
    where : str
        The place in what was sent.
    """

    def __init__(self, status: int, error: str, message: str, where: str = "") -> None:
        super().__init__(message)
        self.status, self.error, self.message, self.where = status, error, message, where


class _Connection:
    """A connection of one thread; closed when the thread, or the client, has gone."""

    def __init__(self, raw: http.client.HTTPConnection) -> None:
        self.raw = raw

    def __del__(self) -> None:
        self.raw.close()


class Client:
    """Talk to one project of a service. Threads may share a client: each has a connection of its own.

    Parameters
    ----------
    url : str
        Address of the service, such as ``http://127.0.0.1:8321``.
    token : str
        A token of the project; its role says what the client may do.
    project : str
        The project.
    patience : float
        Seconds for which a request that finds no server, or a busy one, is sent again.
    timeout : float
        Seconds to wait for one answer.

    Examples
    --------
    >>> Client("http://127.0.0.1:8321", "sy_...", "payments").url
    'http://127.0.0.1:8321'
    """

    def __init__(self, url: str, token: str, project: str, *, patience: float = 60.0, timeout: float = 90.0) -> None:
        parts = urlsplit(url)
        try:
            usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
        except ValueError:  # of a port that is none
            usable = False
        if not usable or parts.path not in ("", "/"):
            raise ValueError(f"url must be http://host:port; got {url!r}.")
        self.url, self.token, self.project = url.rstrip("/"), token, project
        self.patience, self.timeout = patience, timeout
        self._parts = parts
        self._own = threading.local()  # the connection of each thread
        self._open: WeakSet[_Connection] = WeakSet()
        self._lock = threading.Lock()

    # -- rows --------------------------------------------------------------------------------------------------------

    def decide(self, row: Mapping[str, Any], *, id: str | None = None, key: str | None = None) -> dict[str, Any]:
        """Decide one row.

        Parameters
        ----------
        row : mapping
            Fields and their values: finite numbers (numpy's, too), texts, booleans, or None for what is missing.
        id : str or None
            Your own name of the row; sent again, it gets its first decision.
        key : str or None
            Of the request; made if None.

        Returns
        -------
        dict
            id, t, decision, score, chance, ask, model.
        """
        written = _written(row, id)
        if not isinstance(written, bytes):
            raise ValueError(written["message"])
        return self._post("decide", written, key)  # type: ignore[no-any-return]

    def decide_many(
        self, rows: Iterable[Mapping[str, Any]], *, ids: Iterable[str] | None = None, key: str | None = None
    ) -> Iterator[dict[str, Any]]:
        """Decide rows, some hundred in a request; an unusable row gives its error in its place.

        Parameters
        ----------
        rows : iterable of mappings
            The rows, read as they are sent.
        ids : iterable of str or None
            Your own names of the rows, one for each.
        key : str or None
            Beginning of the keys; the same key and rows sent again go on where they stopped.

        Returns
        -------
        iterator of dict
            A decision, or ``error``, ``message`` and ``where``, for each row in its order.
        """
        start = key or _new_key()
        for number, batch in enumerate(_batches(_all_written(rows, ids))):
            sent = [row for row in batch if isinstance(row, bytes)]
            body = b'{"rows": [' + b", ".join(sent) + b"]}"
            replies = iter(self._post("decide/batch", body, f"{start}-{number}") if sent else ())
            for row in batch:
                yield next(replies) if isinstance(row, bytes) else row

    def outcome(self, item: int, label: str, *, origin: str = "", key: str | None = None) -> dict[str, Any]:
        """Tell a label that came unasked; for an open question it is its answer.

        Parameters
        ----------
        item : int
            The id that the decision carried.
        label : str
            One of the classes.
        origin : str
            Where it comes from.
        key : str or None
            Of the request; made if None.

        Returns
        -------
        dict
            The number of the event, and the labels left.
        """
        return self._post("outcomes", {"item": item, "label": label, "origin": origin}, key)  # type: ignore[no-any-return]

    # -- questions ---------------------------------------------------------------------------------------------------

    def questions(self, count: int = 1) -> list[dict[str, Any]]:
        """Be handed open questions, the oldest first; none if nothing waits.

        Parameters
        ----------
        count : int
            How many are wished for; on a short queue fewer come.

        Returns
        -------
        list of dict
            ``item`` and ``row`` of each, with the ``question`` and the ``classes``.
        """
        found = self._request("POST", "questions/next", {"count": count})
        if found is None:
            return []
        shared = {name: found[name] for name in ("question", "classes")}
        return [shared | asked for asked in found["questions"]]

    def answer(
        self, item: int, label: str | None, *, seconds: float | None = None, key: str | None = None
    ) -> dict[str, Any]:
        """Answer a question, or skip it with None.

        Parameters
        ----------
        item : int
            The question.
        label : str or None
            One of the classes.
        seconds : float or None
            How long it took.
        key : str or None
            Of the request; made if None.

        Returns
        -------
        dict
            ``answer`` (to take it back by), ``settled``, ``learned``, ``closed``, and the labels ``left``.
        """
        made = self._post("answers", [{"item": item, "label": label, "seconds": seconds}], key)
        return made["answers"][0] | {"left": made["left"]}  # type: ignore[no-any-return]

    def retract(self, answer: int, *, key: str | None = None) -> dict[str, Any]:
        """Take an own answer back.

        Parameters
        ----------
        answer : int
            Its number.
        key : str or None
            Of the request; made if None.

        Returns
        -------
        dict
            The number of the event, and the labels left.
        """
        return self._post(f"answers/{int(answer)}/retract", None, key)  # type: ignore[no-any-return]

    # -- owning ------------------------------------------------------------------------------------------------------

    def adjudicate(self, item: int, label: str, *, key: str | None = None) -> dict[str, Any]:
        """Decide a question as its owner, whatever the answers say.

        Parameters
        ----------
        item : int
            The number of the decision.
        label : str
            One of the classes.
        key : str or None
            Of the request; made if None.

        Returns
        -------
        dict
            The number of the event, and the labels left.
        """
        return self._post(f"questions/{item}/adjudicate", {"label": label}, key)  # type: ignore[no-any-return]

    def erase(self, *, items: Iterable[int] = (), ids: Iterable[str] = (), key: str | None = None) -> dict[str, Any]:
        """Erase rows for good; the model is learned again without them.

        Parameters
        ----------
        items : iterable of int
            Numbers of decisions.
        ids : iterable of str
            The ids that rows were sent with.
        key : str or None
            Of the request; made if None.

        Returns
        -------
        dict
            The items whose rows were erased, and the event that says so.
        """
        return self._post("erase", {"items": list(items), "ids": list(ids)}, key)  # type: ignore[no-any-return]

    def set_champion(self, model: bytes, *, name: str = "", key: str | None = None) -> dict[str, Any]:
        """Have a frozen model decide, while the learner goes on learning.

        Parameters
        ----------
        model : bytes
            The content of a ``.steelyard`` file.
        name : str
            What it is called; its own name if empty.
        key : str or None
            Of the request; made if None.

        Returns
        -------
        dict
            The number of the event, and the labels left.
        """
        headers = {"Idempotency-Key": key or _new_key(), "Content-Type": "application/octet-stream"}
        return self._request("POST", f"champion?name={quote(name, safe='')}", model, headers)  # type: ignore[no-any-return]

    def end_champion(self, *, key: str | None = None) -> dict[str, Any]:
        """Have the learner decide again.

        Parameters
        ----------
        key : str or None
            Of the request; made if None.

        Returns
        -------
        dict
            The number of the event, and the labels left.
        """
        return self._request("DELETE", "champion", None, {"Idempotency-Key": key or _new_key()})  # type: ignore[no-any-return]

    # -- reading -----------------------------------------------------------------------------------------------------

    def summary(self) -> dict[str, Any]:
        """Counts and budget."""
        return self._request("GET", "summary")  # type: ignore[no-any-return]

    def estimates(self) -> dict[str, Any]:
        """Cost a row with its interval, or the reason why there is none."""
        return self._request("GET", "estimates")  # type: ignore[no-any-return]

    def follow(self, after: int = 0, *, wait: int = 30) -> Iterator[dict[str, Any]]:
        """The log, event by event, for ever; begin again behind the last ``seq`` you have dealt with.

        Parameters
        ----------
        after : int
            The last event that is known.
        wait : int
            Seconds to wait for news in one request.

        Returns
        -------
        iterator of dict
            seq, kind, at, item, actor and body of each event.
        """
        while True:
            page = self._request("GET", f"events?after={int(after)}&wait={int(wait)}&limit=1000", wait=int(wait))
            yield from page["events"]
            after = page["after"]

    # -- requests ----------------------------------------------------------------------------------------------------

    def _post(self, path: str, body: Any, key: str | None) -> Any:
        return self._request("POST", path, body, {"Idempotency-Key": key or _new_key()})

    def _request(
        self, method: str, path: str, body: Any = None, headers: Mapping[str, str] | None = None, *, wait: float = 0.0
    ) -> Any:
        """Send until it is answered: a request is the same whenever it is sent, so sending it again is safe.

        ``wait``: seconds for which the service may hold its answer back.
        """
        sent = body if body is None or isinstance(body, bytes) else _json(body)
        address = f"/v1/{quote(self.project, safe='')}/{path}"
        end, pause = time.monotonic() + self.patience, 0.05
        while True:
            try:
                status, answer = self._send(method, address, sent, headers or {}, self.timeout + wait)
                if status not in _AGAIN or time.monotonic() > end:
                    return self._read(status, answer)
            except (OSError, http.client.HTTPException):
                self._drop()
                if time.monotonic() > end:
                    raise
            time.sleep(pause * (1 + random.random()))
            pause = min(2.0, 2 * pause)

    def _send(
        self, method: str, address: str, body: bytes | None, headers: Mapping[str, str], timeout: float
    ) -> tuple[int, bytes]:
        connection = self._connection()
        connection.timeout = timeout
        if connection.sock is not None:
            connection.sock.settimeout(timeout)
        given = {"Authorization": f"Bearer {self.token}"} | (
            {} if body is None else {"Content-Type": "application/json"}
        )
        given |= headers
        connection.request(method, address, body, given)
        response = connection.getresponse()
        return response.status, response.read()

    def _connection(self) -> http.client.HTTPConnection:
        """That of this thread."""
        held: _Connection | None = getattr(self._own, "held", None)
        if held is None:
            kind = http.client.HTTPSConnection if self._parts.scheme == "https" else http.client.HTTPConnection
            held = self._own.held = _Connection(kind(self._parts.hostname or "", self._parts.port))
            with self._lock:
                self._open.add(held)
        return held.raw

    def _read(self, status: int, answer: bytes) -> Any:
        if status == 204:
            return None
        try:
            said = json.loads(answer)
        except ValueError:
            raise ServiceError(status, "no_json", f"the service must answer JSON; got {answer[:100]!r}.") from None
        if status >= 400:
            if not isinstance(said, dict):  # as something in between may answer
                raise ServiceError(status, "no_json", f"the service must say what is wrong; got {answer[:100]!r}.")
            raise ServiceError(status, said.get("error", ""), said.get("message", ""), said.get("where", ""))
        return said

    def close(self) -> None:
        """End the connections of all threads; the next request makes a new one."""
        with self._lock:
            for held in self._open:
                held.raw.close()

    def _drop(self) -> None:
        """End the connection of this thread."""
        self._connection().close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


_Sent = bytes | dict[str, Any]  # a row as it is sent, or why it cannot be


def _all_written(rows: Iterable[Mapping[str, Any]], ids: Iterable[str] | None) -> Iterator[_Sent]:
    """Each row as it is sent, read when it is its turn."""
    names = None if ids is None else iter(ids)
    for number, row in enumerate(rows):
        name = None
        if names is not None:
            try:
                name = next(names)
            except StopIteration:
                raise ValueError(f"ids must name every row; got {number}, and more rows.") from None
        yield _written(row, name)


def _written(row: Mapping[str, Any], name: str | None) -> _Sent:
    """A row as it is sent; as the service would say it, why it cannot be."""
    fields = dict(row)
    try:
        return _json({"row": fields} | ({} if name is None else {"id": name}))
    except (TypeError, ValueError):
        for field, value in fields.items():
            if not _usable({field: value}):
                message = f"field {field!r} must be a finite number, a text, True, False or None; got {value!r:.100}."
                return {"error": "bad_row", "message": message, "where": f"row.{field}"}
        return {"error": "bad_row", "message": f"id must be a text; got {name!r:.100}.", "where": "id"}


def _usable(value: Any) -> bool:
    try:
        return bool(_json(value))
    except (TypeError, ValueError):
        return False


def _batches(rows: Iterable[_Sent]) -> Iterator[list[_Sent]]:
    """Rows of a request each: the same ones for the same rows, so that their keys say the same when they come again."""
    batch: list[_Sent] = []
    size = 0
    for row in rows:
        length = len(row) if isinstance(row, bytes) else 0
        if len(batch) == BATCH or (batch and size + length > BATCH_BYTES - len(b'{"rows": []}')):
            yield batch
            batch, size = [], 0
        batch.append(row)
        size += length + len(b", ")
    if batch:
        yield batch


def _json(value: Any) -> bytes:
    """As JSON; raises TypeError or ValueError where it has no form for it, such as NaN or half of a character."""
    text = json.dumps(value, allow_nan=False, default=_plain)
    if "\\ud" in text:
        json.dumps(value, ensure_ascii=False, default=_plain).encode()
    return text.encode()


def _plain(value: Any) -> Any:
    """A number of numpy as Python's own."""
    if hasattr(value, "dtype") and getattr(value, "ndim", None) == 0:
        return value.item()
    raise TypeError(f"{type(value).__name__} is no number, text or boolean")


def _new_key() -> str:
    """A key that nobody has used: in the order of time, so that the service finds the place of the next one at hand."""
    return f"{time.time_ns():016x}-{secrets.token_hex(8)}"
