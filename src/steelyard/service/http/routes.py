"""The table of all routes: who may call them, what they take and what they answer; and OpenAPI from it."""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

import msgspec

from ..._version import __version__
from ..log.settings import ProjectSettings
from ..numbers.drift import DriftReply
from ..numbers.live import CurveReply, EstimatesReply
from ..numbers.overview import LiveReply
from ..numbers.paired import ShadowsReply
from ..numbers.what_if import WhatIfReply
from ..writer.jobs import AnswerReply, AnswersReply, DecisionReply, EraseReply, EventReply, Problem, SettingsReply
from .runtime import MOST_ANSWERS, SentAnswer, SentRow

OWNER = ("owner",)
PRODUCER = ("producer", "owner")
ANNOTATOR = ("annotator", "owner")
READER = ("reader", "owner")


class SentRows(msgspec.Struct, forbid_unknown_fields=True):
    """Rows to decide together."""

    rows: list[SentRow]


SentAnswers = Annotated[list[SentAnswer], msgspec.Meta(min_length=1, max_length=MOST_ANSWERS)]


class SentCount(msgspec.Struct, forbid_unknown_fields=True):
    """How many questions are wished for. ``counts``: where none waits the budget is answered, in place of a 204."""

    count: int = 1
    counts: bool = False


class SentOutcome(msgspec.Struct, forbid_unknown_fields=True):
    """A label that came unasked, and where from."""

    item: int
    label: str
    origin: str = ""


class SentLabel(msgspec.Struct, forbid_unknown_fields=True):
    """An owner's label."""

    label: str


class SentErasure(msgspec.Struct, forbid_unknown_fields=True):
    """Rows to erase, by item or by the id they were sent with."""

    items: list[int] = []
    ids: list[str] = []


class SentShadow(msgspec.Struct, forbid_unknown_fields=True):
    """A shadow for a slot, by its update rule; null ends the one that is there."""

    slot: int
    update: str | None


class SentSlot(msgspec.Struct, forbid_unknown_fields=True):
    """The slot of a shadow."""

    slot: int


class QuestionReply(msgspec.Struct, frozen=True):
    """A question: the fields of its row, and for how many seconds nobody else is handed it.

    ``why``: "boundary" if the model is unsure, "sample" if any row might have been asked about as well.
    """

    item: int
    row: dict[str, Any]
    lease: float
    why: str


class QuestionsReply(msgspec.Struct, frozen=True):
    """Questions to answer with one of the classes; labels of the budget that are spent, and that are waited for."""

    question: str
    guide: str
    classes: list[str]
    questions: list[QuestionReply]
    budget: int
    spent: int
    waiting: int


class LeaseReply(msgspec.Struct, frozen=True):
    """For how many seconds a question is held."""

    lease: float


class SummaryReply(msgspec.Struct, frozen=True):
    """A project as of its last commit; missing cells and unknown fields are counted since the service was started."""

    project: str
    events: int
    rows: int
    budget: int
    spent: int
    reserved: int
    left: int
    open: int
    model: int
    outcomes: int
    missing_cells: int
    unknown_fields: int
    shadows: int
    champion: str | None


class LoggedDecision(msgspec.Struct, frozen=True):
    """A decision of the log, with the row and the label it has by now."""

    id: int
    external: str | None
    at: int
    t: int
    decision: str
    score: float
    chance: float
    ask: bool
    model: int
    label: str | None
    row: dict[str, Any] | None


class DecisionsReply(msgspec.Struct, frozen=True):
    """A page of decisions; ``after`` is what to ask for next."""

    decisions: list[LoggedDecision]
    after: int


class LoggedEvent(msgspec.Struct, frozen=True):
    """An event of the log."""

    seq: int
    kind: str
    at: int
    item: int | None
    actor: int
    body: dict[str, Any]


class EventsReply(msgspec.Struct, frozen=True):
    """Events in their order; ``after`` is what to ask for next."""

    events: list[LoggedEvent]
    after: int


class StatusReply(msgspec.Struct, frozen=True):
    """Whether the service is alive, or may write."""

    status: str


class PersonReply(msgspec.Struct, frozen=True):
    """Somebody who may log in, with the roles by project."""

    person: int
    name: str
    active: bool
    has_password: bool
    roles: dict[str, list[str]]


class PeopleReply(msgspec.Struct, frozen=True):
    """Everybody who may log in."""

    people: list[PersonReply]


class SentName(msgspec.Struct, forbid_unknown_fields=True):
    """The name of a new person."""

    name: str


class LinkReply(msgspec.Struct, frozen=True):
    """A person and the address that logs in once, within 15 minutes; it is shown this once."""

    person: int
    link: str


class SentRole(msgspec.Struct, forbid_unknown_fields=True):
    """A role in a project, to be given or taken away."""

    project: str
    role: str
    given: bool = True


class SentActive(msgspec.Struct, forbid_unknown_fields=True):
    """Whether a person may log in."""

    active: bool


class SentProject(msgspec.Struct, forbid_unknown_fields=True):
    """A project to begin."""

    project: str
    settings: dict[str, Any]


class ProjectReply(msgspec.Struct, frozen=True):
    """A project that was created."""

    project: str


class ColumnReply(msgspec.Struct, frozen=True):
    """A column of a file: the guessed kind, five values, and all of them if they are few."""

    name: str
    kind: str
    values: list[str]
    classes: list[str] | None
    unique: bool


class GuessReply(msgspec.Struct, frozen=True):
    """The columns of a file, and how many rows were looked at."""

    columns: list[ColumnReply]
    rows: int


class RouteInfo(NamedTuple):
    """One route. ``roles`` None: everybody; ``keyed``: an Idempotency-Key is needed.

    Without a project in its path it belongs to the service itself.
    """

    method: str
    path: str
    roles: tuple[str, ...] | None
    summary: str
    body: Any = None
    reply: Any = None
    keyed: bool = False
    query: tuple[str, ...] = ()
    status: int = 200
    takes: str = "application/json"


V1 = "/v1/{project}"
ROUTES = (
    RouteInfo("POST", f"{V1}/decide", PRODUCER, "Decide one row.", SentRow, DecisionReply, True),
    RouteInfo("POST", f"{V1}/decide/batch", PRODUCER, "Decide rows.", SentRows, list[Any], True),
    RouteInfo("POST", f"{V1}/questions/next", ANNOTATOR, "Be handed questions.", SentCount, QuestionsReply),
    RouteInfo("POST", f"{V1}/questions/{{item}}/renew", ANNOTATOR, "Hold a question longer.", None, LeaseReply),
    RouteInfo("POST", f"{V1}/questions/{{item}}/close", OWNER, "Close a question.", None, EventReply, True),
    RouteInfo("POST", f"{V1}/questions/{{item}}/adjudicate", OWNER, "Decide a question.", SentLabel, EventReply, True),
    RouteInfo("POST", f"{V1}/answers", ANNOTATOR, "Answer or skip questions.", SentAnswers, AnswersReply, True),
    RouteInfo("POST", f"{V1}/answers/{{answer}}/retract", ANNOTATOR, "Take an answer back.", None, EventReply, True),
    RouteInfo("POST", f"{V1}/outcomes", PRODUCER, "A label that came unasked.", SentOutcome, EventReply, True),
    RouteInfo("GET", f"{V1}/summary", READER, "Counts and budget.", None, SummaryReply),
    RouteInfo("GET", f"{V1}/estimates", READER, "Cost a row, with its interval.", None, EstimatesReply),
    RouteInfo("GET", f"{V1}/curves", READER, "Cost a row over time.", None, CurveReply),
    RouteInfo(
        "GET",
        f"{V1}/whatif",
        READER,
        "Cost a row at other prices or another threshold.",
        None,
        WhatIfReply,
        query=("fn", "fp", "threshold"),
    ),
    RouteInfo("GET", f"{V1}/drift", READER, "Whether rows are still what they were.", None, DriftReply),
    RouteInfo("GET", f"{V1}/shadows", READER, "What other models would have cost.", None, ShadowsReply),
    RouteInfo("GET", f"{V1}/live", READER, "News as server-sent events, each a LiveReply.", query=("after", "count")),
    RouteInfo("GET", f"{V1}/decisions", READER, "Decisions, by event.", None, DecisionsReply, query=("after", "limit")),
    RouteInfo("GET", f"{V1}/decisions/{{item}}", READER, "One decision.", None, LoggedDecision),
    RouteInfo("GET", f"{V1}/events", READER, "The log itself.", None, EventsReply, query=("after", "wait", "limit")),
    RouteInfo("GET", f"{V1}/export.jsonl", READER, "All rows as JSON lines.", query=("after", "only")),
    RouteInfo("GET", f"{V1}/export.csv", READER, "All rows as CSV.", query=("after", "only")),
    RouteInfo("GET", f"{V1}/settings", OWNER, "The settings.", None, SettingsReply),
    RouteInfo("PATCH", f"{V1}/settings", OWNER, "Change settings (If-Match: seq).", dict[str, Any], SettingsReply),
    RouteInfo("POST", f"{V1}/shadows", OWNER, "Begin or end a shadow.", SentShadow, EventReply, True),
    RouteInfo("POST", f"{V1}/promote", OWNER, "Make a shadow the learner.", SentSlot, EventReply, True),
    RouteInfo(
        "POST",
        f"{V1}/champion",
        OWNER,
        "Have a model decide: a .steelyard file.",
        str,
        EventReply,
        True,
        query=("name",),
        takes="application/octet-stream",
    ),
    RouteInfo("DELETE", f"{V1}/champion", OWNER, "Have the learner decide again.", None, EventReply, True),
    RouteInfo("POST", f"{V1}/erase", OWNER, "Erase rows.", SentErasure, EraseReply, True),
    RouteInfo("POST", "/v1/projects", OWNER, "Begin a project.", SentProject, ProjectReply, status=201),
    RouteInfo("POST", "/v1/projects/guess", OWNER, "Guess columns.", str, GuessReply, takes="text/csv"),
    RouteInfo("GET", "/v1/people", OWNER, "Who may log in.", None, PeopleReply),
    RouteInfo("POST", "/v1/people", OWNER, "Add a person.", SentName, LinkReply, status=201),
    RouteInfo("POST", "/v1/people/{person}/link", OWNER, "A new one-time link.", None, LinkReply),
    RouteInfo("POST", "/v1/people/{person}/role", OWNER, "Give or take a role.", SentRole, PeopleReply),
    RouteInfo("POST", "/v1/people/{person}/active", OWNER, "Let a person log in or not.", SentActive, PeopleReply),
    RouteInfo("GET", "/health", None, "Whether it is alive.", None, StatusReply),
    RouteInfo("GET", "/ready", None, "Whether it may write.", None, StatusReply),
    RouteInfo("GET", "/metrics", READER, "Prometheus metrics; a token of _service."),
    RouteInfo("GET", "/openapi.json", None, "This description."),
)
_REFUSALS = {
    "400": "No JSON, or no key.",
    "401": "No valid token.",
    "403": "Another role is needed.",
    "404": "Nothing the token may see.",
    "405": "Another method is needed.",
    "409": "Contradicts what is there; nothing was changed.",
    "411": "No Content-Length.",
    "413": "Too large.",
    "415": "Not application/json.",
    "421": "Another Host.",
    "422": "Not of the documented form.",
    "429": "Busy; try again.",
    "503": "Stopping; try again.",
    "507": "The disk is full.",
}


_COUNT = {"type": "integer", "minimum": 0}
_PRICE = {"type": "number", "minimum": 0, "maximum": 1e12}
_QUERY = {
    "only": {"type": "string", "enum": ["all", "labelled"]},
    "name": {"type": "string", "maxLength": 100},
    "fn": _PRICE,
    "fp": _PRICE,
    "threshold": {"type": "number", "minimum": -1e12, "maximum": 1e12},
}


def openapi() -> dict[str, Any]:
    """OpenAPI 3.1 of all routes."""
    types = [r.body for r in ROUTES if r.body is not None] + [r.reply for r in ROUTES if r.reply is not None]
    types += [Problem, DecisionReply, AnswerReply, ProjectSettings, LiveReply]
    schemas, components = msgspec.json.schema_components(types, ref_template="#/components/schemas/{name}")
    found = dict(zip(map(_name, types), schemas, strict=True))
    found[_name(list[Any])] = {"type": "array", "items": _either("DecisionReply")}
    components["AnswersReply"]["properties"]["answers"]["items"] = _either("AnswerReply")
    paths: dict[str, Any] = {}
    for route in ROUTES:
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route, found)
    bearer = {"type": "http", "scheme": "bearer"}
    return {
        "openapi": "3.1.0",
        "info": {"title": "Steelyard", "version": __version__},
        "paths": paths,
        "components": {"schemas": components, "securitySchemes": {"token": bearer}},
    }


def _either(name: str) -> dict[str, Any]:
    """The usual reply, or what was wrong in its place."""
    return {"anyOf": [{"$ref": f"#/components/schemas/{one}"} for one in (name, "Problem")]}


def _name(kind: Any) -> str:
    return str(kind)


def _operation(route: RouteInfo, schemas: dict[str, Any]) -> dict[str, Any]:
    reply: dict[str, Any] = {"description": route.summary}
    if route.reply is not None:
        reply["content"] = {"application/json": {"schema": schemas[_name(route.reply)]}}
    problem = {"application/json": {"schema": schemas[_name(Problem)]}}
    responses = {code: {"description": text, "content": problem} for code, text in _REFUSALS.items()}
    responses[str(route.status)] = reply
    if route.path.endswith("/next"):
        responses["204"] = {"description": "No question waits."}
    if route.path == "/ready":
        responses["503"] = {"description": "It may not write.", "content": reply["content"]}
    made: dict[str, Any] = {"summary": route.summary, "responses": responses, "parameters": _parameters(route)}
    if route.body is not None:
        made["requestBody"] = {
            "required": True,
            "content": {route.takes: {"schema": schemas[_name(route.body)]}},
        }
    if route.roles is not None:
        made["security"] = [{"token": []}]
    return made


def _parameters(route: RouteInfo) -> list[dict[str, Any]]:
    found = []
    for part in route.path.split("/"):
        if part.startswith("{"):
            name = part[1:-1]
            schema: dict[str, Any] = {"type": "string"} if name == "project" else {"type": "integer", "minimum": 1}
            found.append({"name": name, "in": "path", "required": True, "schema": schema})
    found += [
        {"name": name, "in": "query", "required": False, "schema": _QUERY.get(name, _COUNT)} for name in route.query
    ]
    if route.keyed:
        schema = {"type": "string", "minLength": 1, "maxLength": 64, "pattern": "^[ -~]+$"}
        found.append({"name": "Idempotency-Key", "in": "header", "required": False, "schema": schema})
    if route.method == "PATCH":
        found.append({"name": "If-Match", "in": "header", "required": True, "schema": {"type": "integer"}})
    return found
