"""The pages of whoever runs a project: what it costs now, one decision, the settings."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ...active import draw
from ...report.amounts import money
from ..database.store import CHANGES
from ..http.runtime import Runtime
from ..log.events import (
    Access,
    Adjudicate,
    Answer,
    Begin,
    Close,
    Decide,
    Erase,
    Event,
    Kind,
    Outcome,
    Promote,
    Retract,
    Set,
    SetChampion,
    SetShadow,
    unpack,
)
from ..log.records import cell_text
from ..log.settings import FIXED, ProjectSettings
from ..people.access import Grant
from ..replay.expected import expected_costs
from ..writer.jobs import RefusedError
from ..writer.snapshot import Snapshot
from .page import member, page, page_route, runtime_of

OWNER = ("owner",)
READER = ("reader", "owner")
SHOWN_CHANGES = 50
_COLUMNS = "SELECT seq, kind, at, item, actor, body, chain"
_EVENT = f"{_COLUMNS} FROM event"
_SPLIT = 19  # digits of the largest number of an item


def owner_routes() -> list[Route]:
    """Their addresses."""
    return [
        page_route("/p/{project}", owner_page),
        page_route("/p/{project}/decisions/{item}", decision_page),
        page_route("/p/{project}/settings", settings_page),
    ]


async def owner_page(request: Request) -> Response:
    """What it costs now; before the first row, how to send one."""
    grant = await member(request, READER)
    runtime = runtime_of(request)
    snapshot = runtime.snapshot(grant.slug)
    settings: ProjectSettings = snapshot.settings
    if snapshot.rounds == 0 and grant.slug not in runtime.overviews.extra:
        return page(request, "first_run.html", slug=grant.slug, grant=grant, **_first_row(request, settings))
    live = await runtime.overviews.live(grant.slug)
    return page(request, "owner.html", slug=grant.slug, grant=grant, live=live, words=live.words, settings=settings)


def _first_row(request: Request, settings: ProjectSettings) -> dict[str, Any]:
    """What to type to send a row of the project's columns."""
    filled = {"number": 1, "category": "a", "text": "some words", "url": "https://example.org/a", "shown": "kept"}
    row = {name: filled[kind] for name, kind in settings.columns.items() if kind != "ignored"}
    runtime, slug = runtime_of(request), request.path_params["project"]
    place = f"{'https' if runtime.secure else 'http'}://{request.headers['host']}"
    body = msgspec.json.encode({"row": row}).decode().replace("'", "'\\''")
    curl = (
        f'curl -X POST {place}/v1/{slug}/decide -H "Authorization: Bearer $PRODUCER" \\\n'
        f"  -H 'Content-Type: application/json' -H \"Idempotency-Key: $(date +%s%N)\" -d '{body}'"
    )
    push = f"steelyard service push rows.csv --url {place} --project {slug} --token $PRODUCER"
    return {"curl": curl, "push": push, "token": f"steelyard service token --project {slug} --role producer"}


# -- one decision ----------------------------------------------------------------------------------------------------


async def decision_page(request: Request) -> Response:
    """One row: what was decided and why it was asked, and everything that happened to it since."""
    grant = await member(request, READER)
    runtime, text = runtime_of(request), request.path_params["item"]
    item = int(text) if text.isascii() and text.isdigit() and len(text) < _SPLIT else 0
    run = runtime.store.connection
    row = run.execute(f"{_EVENT} WHERE project = ? AND seq = ? AND kind = 3", (grant.project, item)).fetchone()
    if row is None:
        raise RefusedError(404, "not_found", "There is no decision of this number.")
    event = Event(*row)
    made = unpack(event)
    assert isinstance(made, Decide)
    sql = f"{_EVENT} WHERE project = ? AND item = ? AND kind > 3 ORDER BY seq"
    rows: list[Any] = run.execute(sql, (grant.project, item)).fetchall()
    record = runtime.reader(grant.slug).record(runtime.store.payloads(grant.project, [item]).get(item))
    snapshot = runtime.snapshot(grant.slug)
    settings: ProjectSettings = snapshot.settings
    sql = "SELECT state, label FROM question WHERE project = ? AND item = ?"
    question: Any = run.execute(sql, (grant.project, item)).fetchone()
    external = run.execute("SELECT external FROM item WHERE project = ? AND id = ?", (grant.project, item)).get
    return page(
        request,
        "decision.html",
        slug=grant.slug,
        grant=grant,
        item=item,
        external=external,
        made=made,
        decision=settings.labels[made.answer],
        at=moment(event.at),
        why=why_asked(made, settings),
        expected=_expected(made, item, snapshot),
        judged=None if question is None or question[0] == 2 else question[0],
        known=None if question is None or question[1] is None else settings.labels[question[1]],
        labels=settings.classes,
        record=None if record is None else {name: cell_text(cell) for name, cell in record.items()},
        history=[_happened(runtime, Event(*one), settings) for one in rows],
    )


def _expected(made: Decide, item: int, snapshot: Snapshot) -> str:
    """What the decision was expected to cost, and what the others were."""
    if made.expected is not None:
        return f"Expected cost {_three_digits(made.expected)}, by the champion."
    costs = expected_costs(snapshot.fits, item, made.score)
    if costs is None:
        return ""
    labels = snapshot.settings.labels
    mine, other = (_three_digits(cost) for cost in (costs[made.answer], costs[1 - made.answer]))
    return f"Expected cost {mine}, against {other} for {labels[1 - made.answer]}."


def _three_digits(cost: float) -> str:
    """A cost in three digits, never as a power of ten."""
    return money(cost, abs(cost) / 100)


def why_asked(made: Decide, settings: ProjectSettings) -> str:
    """Whether the label was asked for, and by which chance."""
    thrown = f"chance {made.chance:.3g}, draw {draw(settings.seed, made.t):.3g}"
    if made.chance == 0:
        return "Not asked: the budget was spent"
    if not made.ask:
        return f"Not asked: {thrown}"
    near = settings.asks_by_score() and not made.sampled
    return f"Asked: {thrown}, {'near the boundary' if near else 'a sample of all rows'}"


def _happened(runtime: Runtime, event: Event, settings: ProjectSettings) -> tuple[str, str, str]:
    """When, who, what."""
    body, labels = unpack(event), settings.labels
    if isinstance(body, Answer):
        what = f"answered: {labels[body.label]}"
        what += "" if body.learned is None else f"; learned as training example {body.learned + 1:,}"
        what += "" if body.seconds is None else f", {body.seconds:.1f} s"
    elif isinstance(body, Retract):
        what = f"took answer {body.answer:,} back; what was learned is learned again without it"
    elif isinstance(body, Close):
        what = f"closed without a label ({body.reason})"
    elif isinstance(body, Adjudicate):
        what = f"decided as owner: {labels[body.label]}; learned as training example {body.learned + 1:,}"
    elif isinstance(body, Erase):
        what = "erased the row; what was learned is learned again without it"
    elif isinstance(body, Outcome):
        what = f"came unasked: {labels[body.label]}, kept, not learned from"
    else:
        what = Kind(event.kind).name.lower()
    return moment(event.at), _name(runtime, event.actor), what


def _name(runtime: Runtime, person: int) -> str:
    if person == 0:
        return "the service"
    row = runtime.store.connection.execute("SELECT name FROM person WHERE id = ?", (person,)).fetchone()
    return "?" if row is None else str(row[0])


def moment(at: int) -> str:
    """A time of the log, UTC."""
    return datetime.fromtimestamp(at / 1e6, UTC).strftime("%Y-%m-%d %H:%M:%S")


# -- settings --------------------------------------------------------------------------------------------------------


async def settings_page(request: Request) -> Response:
    """The settings, to be changed, and who has changed them when."""
    grant = await member(request, OWNER)
    runtime = runtime_of(request)
    snapshot = runtime.snapshot(grant.slug)
    settings: ProjectSettings = snapshot.settings
    fixed = {name: _plain(getattr(settings, name)) for name in FIXED if name not in ("classes", "columns")}
    return page(
        request,
        "settings.html",
        slug=grant.slug,
        grant=grant,
        settings=settings,
        seq=snapshot.settings_seq,
        used=snapshot.spent + snapshot.reserved,
        matrix=None if isinstance(settings.costs, dict) else _costs_by_class(settings),
        update=settings.update or str(settings.update_rule()),
        fixed=fixed,
        changes=_changes(runtime, grant),
    )


def _costs_by_class(settings: ProjectSettings) -> list[list[float]]:
    """C[true, predicted] in the order of the classes, as the settings write it."""
    order, costs = [settings.labels.index(label) for label in settings.classes], settings.cost_matrix().tolist()
    return [[costs[true][said] for said in order] for true in order]


def _changes(runtime: Runtime, grant: Grant) -> list[tuple[int, str, str, str]]:
    """Event, when, who, what; the newest first."""
    sql = f"{_COLUMNS} {CHANGES} ORDER BY seq DESC LIMIT ?"
    found = []
    rows: list[Any] = runtime.store.connection.execute(sql, (grant.project, SHOWN_CHANGES)).fetchall()
    for row in rows:
        event = Event(*row)
        body = unpack(event)
        if isinstance(body, Set):
            what = ", ".join(f"{name} = {_plain(value)}" for name, value in body.changes.items())
        elif isinstance(body, SetShadow):
            what = f"shadow {body.slot}: {'ended' if body.settings is None else body.settings['update']}"
        elif isinstance(body, Promote):
            what = f"shadow {body.slot} became the learner, and the learner shadow {body.slot}"
        elif isinstance(body, SetChampion):
            what = "the learner decides again" if body.sha256 is None else f"{body.name} decides as champion"
        else:
            assert isinstance(body, (Begin, Access))
            what = "the project began"
        found.append((event.seq, moment(event.at), _name(runtime, event.actor), what))
    return found


def _plain(value: Any) -> str:
    text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
    return text if len(text) <= 200 else text[:199] + "…"
