"""What `steelyard serve` and `steelyard service ...` do."""

from __future__ import annotations

import asyncio
import gc
import json
import os
import shlex
import socket
import sys
import tempfile
import threading
import webbrowser
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any, TextIO

import apsw
import msgspec

from ..client import Client, ServiceError
from ..costs.spec import CostSpec
from ..errors import StateError
from ..validation.values import invalid
from .access import ROLES, SERVICE, make_token, revoke_token
from .champion_model import read_champion
from .clock import Clock
from .copies import copy_tables
from .demo import Demo, prepare, source_of, state_in_words
from .events import unpack
from .guess import guess_columns, is_number, read_csv
from .history import learned_from
from .jobs import ChampionJob, EraseJob, EraseReply, Job, RefusedError
from .people import add_person, first_owner, give_role, make_link, people, set_active
from .places import Place, open_existing, open_place, shown_place
from .projects import create_project, first_event
from .server import Beside, FolderInUseError, Service, bind, hold
from .settings import ProjectSettings, read_settings
from .sqlite import DATABASE, SQLiteStore, make_schema, open_backup, open_database
from .tail import Tail
from .verify import check_noted, verify_project, verify_service
from .writer import Writer, wait_for

DAY = 86400 * 1_000_000
IN_USE, BROKEN = 4, 3  # exit codes
GARBAGE = 20_000  # new objects after which the collector looks for cycles


def run_serve(
    place: Place,
    address: str,
    port: int,
    names: list[str],
    tls: tuple[str, str] | None,
    proxy: str | None,
    tail: tuple[Path, str] | None = None,
) -> int:
    """Serve a folder until it is stopped, perhaps following a file for a project; the exit code."""
    if address not in ("127.0.0.1", "::1", "localhost") and tls is None and proxy is None:
        hint = "Add --tls CERT KEY, or --behind-proxy https://name."
        raise invalid("--bind", "be a loopback address where nothing encrypts", address, hint)
    known = [*names] if proxy is None else [*names, proxy.removeprefix("https://").rstrip("/")]
    reached: dict[str, Any] = {
        "names": tuple(known),
        "secure": tls is not None or proxy is not None,
        "proxied": proxy is not None,
    }
    beside = None if tail is None else Tail(*tail).run
    try:
        if isinstance(place, str):
            return _serve_database(place, bind(address, port), tls, proxy, reached, tail)
        place.mkdir(parents=True, exist_ok=True)
        with hold(place):
            _check_tailed(place, tail)
            _serve_now(Service(place, bind(address, port), **reached), tls, proxy, beside)
    except FolderInUseError as error:
        print(f"steelyard: {error}", file=sys.stderr)
        return IN_USE
    except StateError as error:
        print(f"steelyard: {error}", file=sys.stderr)
        return BROKEN
    return 0


def _check_tailed(place: Place, tail: tuple[Path, str] | None) -> None:
    """Raise unless the project that a file is followed for exists."""
    if tail is not None:
        store = open_place(place)
        try:
            if tail[1] == SERVICE or store.project(tail[1]) is None:
                raise invalid("--project", "exist", tail[1], "Make it with: steelyard service new")
        finally:
            store.close()


def _serve_now(service: Service, tls: tuple[str, str] | None, proxy: str | None, beside: Beside | None = None) -> None:
    shown = service.url if proxy is None else proxy.rstrip("/")
    _spare_collector()
    service.run(tls=tls, ready=lambda: _say_ready(service.place, service.url, shown), beside=beside)


def _serve_database(
    url: str,
    sock: socket.socket,
    tls: tuple[str, str] | None,
    proxy: str | None,
    reached: dict[str, Any],
    tail: tuple[Path, str] | None,
) -> int:
    """Wait as standby until this process leads, then serve; the exit code."""
    from .standby import Standby

    address = Service(url, sock, **reached).url if proxy is None else proxy.rstrip("/")
    standby = Standby(url, address)

    def say_waiting() -> None:
        print(f"standby for {shown_place(url)} at {address}; the leader is at {standby.leader}", flush=True)

    sock.listen(2048)
    store = asyncio.run(standby.wait(sock, say_waiting))
    if store is None:
        return 0
    _check_tailed(url, tail)
    beside = None if tail is None else Tail(*tail).run
    _serve_now(Service(url, sock, store=store, **reached), tls, proxy, beside)
    return 0


def _spare_collector() -> None:
    """Look for cycles less often and not among what was imported; that took a quarter of the time of a batch."""
    gc.freeze()
    gc.set_threshold(GARBAGE)


def run_demo(name: str, keep: Path | None, port: int) -> int:
    """Serve made-up rows with a simulated person who answers; the exit code. The folder stays for the next start."""
    source = source_of(name)
    folder = Path(tempfile.mkdtemp(prefix="steelyard-demo-")) if keep is None else keep
    folder.mkdir(parents=True, exist_ok=True)
    which = "" if name == "payments" else f" {name}"
    demo = Demo(source, f"steelyard serve --demo{which} --keep {shlex.quote(str(folder))}")
    try:
        with hold(folder):
            store = SQLiteStore(folder)
            code = prepare(store, source, at=Clock().now())
            store.close()
            service = Service(folder, bind("127.0.0.1", port))
            link = f"{service.url}/login?next=/p/{source.slug}#{code}"
            service.run(ready=lambda: _show_link(link), beside=demo.run)
            assert service.runtime is not None
            print(f"stopped at {state_in_words(service.runtime.writer.projects[source.slug].state)}")
            print(f"it goes on at the same bit with: {demo.command}", flush=True)
    except FolderInUseError as error:
        print(f"steelyard: {error}", file=sys.stderr)
        return IN_USE
    except StateError as error:
        print(f"steelyard: {error}", file=sys.stderr)
        return BROKEN
    return 0


def _show_link(link: str) -> None:
    """Print a link, and open it where there is a screen."""
    print(f"open {link}", flush=True)
    screen = sys.platform != "linux" or os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    if sys.stdout.isatty() and screen:
        threading.Thread(target=webbrowser.open, args=(link,), daemon=True).start()


def _say_ready(data: Place, url: str, place: str) -> None:
    """Where it is reached; and as long as nobody can log in as its owner, a link that does so once."""
    print(f"serving {shown_place(data)} at {url}", flush=True)
    store = open_place(data)
    try:
        with store.transaction():
            code = first_owner(store, at=Clock().now())
    finally:
        store.close()
    if code is not None:
        print(f"the first owner's link (once, within 15 minutes): {place}/login#{code}", flush=True)


def run_new(
    data: Place,
    slug: str,
    settings: ProjectSettings,
    as_json: bool,
    history: Path | None = None,
    target: str | None = None,
) -> None:
    """Make a project, and a token for each role; a history is learned first."""
    start = None
    if history is not None:
        if target is None:
            raise invalid("--target", "name the column of the labels in the history", None)
        rows = (
            {name: cell if name == target else _cell(cell) for name, cell in row.items()} for row in read_csv(history)
        )
        start, learned = learned_from(settings, rows, target)
        print(f"{learned} labelled rows learned", file=sys.stderr)
    if isinstance(data, Path):
        data.mkdir(parents=True, exist_ok=True)
    store, at = open_place(data), Clock().now()
    try:
        create_project(store, slug, settings, at=at, start=start)
        tokens = {role: make_token(store, slug, role, at=at) for role in ROLES}
    finally:
        store.close()
    if as_json:
        print(json.dumps({"project": slug, "tokens": tokens}))
        return
    print(f"project {slug} in {shown_place(data)}. Its tokens are shown this once:")
    for role, token in tokens.items():
        print(f"{role:>10}  {token}")


def settings_from(
    path: Path | None, sample: Path | None, ignored: list[str], shown: list[str], given: dict[str, Any]
) -> ProjectSettings:
    """Settings from a JSON file, or from a sample of rows and the options of the command."""
    if path is not None:
        return read_settings(path.read_bytes())
    if sample is None:
        raise invalid("--settings", "name a JSON file, unless --sample names a CSV file", None)
    columns = guess_columns(sample, ignored=set(ignored)) | dict.fromkeys(shown, "shown")
    plain = {"columns": columns} | {name: value for name, value in given.items() if value is not None}
    if isinstance(plain.get("classes"), str):
        plain["classes"] = [label.strip() for label in plain["classes"].split(",")]
    if isinstance(plain.get("costs"), str):
        table = CostSpec.parse(plain["costs"]).costs().matrix
        assert table is not None
        plain["costs"] = {"fn": float(table[1, 0]), "fp": float(table[0, 1])}
    return read_settings(msgspec.json.encode(plain))


def run_token(data: Place, project: str, role: str, days: int | None, revoke: str | None) -> None:
    """Make a token and print it, or revoke one; also while the service runs."""
    store, now = open_existing(data), Clock().now()
    try:
        if revoke is not None:
            revoke_token(store, revoke, at=now)
            print(f"token {revoke} is revoked")
            return
        print(make_token(store, project, role, at=now, expires=None if days is None else now + days * DAY))
    finally:
        store.close()


def run_person(
    data: Place, name: str | None, project: str | None, role: str | None, *, take: bool, active: bool | None, url: str
) -> None:
    """Add a person or change what they may do, and print a one-time link; without a name, list everybody."""
    store, now = open_existing(data), Clock().now()
    try:
        if name is None:
            for one in people(store):
                held = ", ".join(f"{role} of {slug}" for slug, roles in one.roles.items() for role in roles)
                print(f"{one.name}  {held or 'no role'}{'' if one.active else '  may not log in'}")
            return
        with store.transaction():
            known = {one.name: one.id for one in people(store)}
            person = known[name] if name in known else add_person(store, name, at=now)
            if (project is None) != (role is None):
                raise invalid("--project and --role", "be given together", project or role)
            if project is not None and role is not None:
                give_role(store, person, project, role, given=not take, at=now)
            if active is not None:
                set_active(store, person, active, at=now)
            code = None if take or active is False else make_link(store, person, at=now)
    finally:
        store.close()
    if code is not None:
        print(f"{url.rstrip('/')}/login#{code}")
        print(f"logs {name} in once, within 15 minutes", file=sys.stderr)


def run_verify(data: Place, project: str | None, noted: str | None) -> int:
    """Compute everything again from the log alone; exit code 0 if all agrees, else 3."""
    store = open_existing(data, readonly=True)
    store.connection.execute("BEGIN")
    try:
        heads = [head for head in store.projects() if project in (None, head.slug)]
        if project not in (None, SERVICE) and not heads:
            raise invalid("--project", "exist", project)
        verified = [verify_service(store)]
        for head in heads:
            if noted is not None:
                check_noted(store, head, noted)
            verified.append(verify_project(store, head))
    except StateError as error:
        print(f"steelyard: {error}", file=sys.stderr)
        return BROKEN
    finally:
        store.close()
    for found in verified:
        print(
            f"{found.slug}  events {found.events}  head {found.events}:{found.chain}  state {found.digest or '-'}  ok"
        )
        if found.gap is not None:
            first, last = found.gap
            print(f"{found.slug}  events {first} to {last} were not computed again: {found.why}")
        if found.weighed or found.not_weighed:
            said = f"{found.slug}  decisions of champions: {found.weighed} computed again"
            print(f"{said}, {found.not_weighed} not (model or row not held)" if found.not_weighed else said)
    return 0


def run_erase(
    data: Place, project: str, items: list[int], ids: list[str], *, url: str | None, token: str | None
) -> int:
    """Erase rows, through the service at ``url`` or, while none runs, in the folder itself; the exit code."""
    if not items and not ids:
        raise invalid("ITEM", "name the rows to erase, or --id", None)
    try:
        erased = _erased_by_service(url, token, project, items, ids) if url else _erased_here(data, project, items, ids)
    except FolderInUseError as error:
        hint = "Erase through the running service: --url http://127.0.0.1:8321 --token OWNER"
        print(f"steelyard: {error} {hint}", file=sys.stderr)
        return IN_USE
    except (ServiceError, RefusedError) as error:
        raise invalid("ITEM", "be rows that can be erased", str(error)) from None
    print(f"erased: {', '.join(map(str, erased))}. Backups that were made before still hold these rows: see to them.")
    return 0


def _erased_by_service(url: str, token: str | None, project: str, items: list[int], ids: list[str]) -> list[int]:
    with Client(url, given_token(token), project) as client:
        return list(client.erase(items=items, ids=ids)["items"])


def _erased_here(data: Place, project: str, items: list[int], ids: list[str]) -> list[int]:
    done: EraseReply = _carried_out_here(data, EraseJob(project, 0, items=tuple(items), ids=tuple(ids)))
    return done.items


def _carried_out_here(data: Place, job: Job) -> Any:
    """What a request does to a folder that nobody serves."""
    open_existing(data).close()
    if isinstance(data, str):
        raise invalid("--url", "be given with --database: the leader does it", None)
    with hold(data):
        store = SQLiteStore(data)
        writer = Writer(store, Clock())
        writer.start()
        try:
            return wait_for(writer, job)
        finally:
            writer.stop()
            if store.unclean:
                store.clean()
            store.close()


def run_champion(data: Place, project: str, file: Path | None, *, url: str | None, token: str | None, end: bool) -> int:
    """Have a model decide, or the learner again, through the service at ``url`` or in the folder; the exit code."""
    if (file is None) != end:
        raise invalid("FILE", "name a .steelyard file, unless --end is given", None if file is None else str(file))
    raw = b"" if file is None else file.read_bytes()
    try:
        if url:
            with Client(url, given_token(token), project) as client:
                seq = (client.end_champion() if file is None else client.set_champion(raw, name=file.name))["event"]
        else:
            seq = _carried_out_here(data, _champion_job(data, project, file, raw)).event
    except FolderInUseError as error:
        print(f"steelyard: {error} Do it through the service: --url http://127.0.0.1:8321", file=sys.stderr)
        return IN_USE
    except (ServiceError, RefusedError) as error:
        raise invalid("FILE", "be a model that can decide the rows of the project", str(error)) from None
    print(f"{'the learner' if file is None else file.name} decides from event {seq} on")
    return 0


def _champion_job(data: Place, project: str, file: Path | None, raw: bytes) -> ChampionJob:
    """The job, once the model was held against the project."""
    if file is None:
        return ChampionJob(project, 0)
    store = open_existing(data, readonly=True)
    try:
        head = store.project(project)
        if head is None:
            raise invalid("--project", "exist", project)
        settings = msgspec.convert(unpack(first_event(store, head)).settings, ProjectSettings)
    finally:
        store.close()
    read_champion(raw, settings)
    return ChampionJob(project, 0, sha256=sha256(raw).digest(), name=file.name[:100], body=raw)


def given_token(token: str | None) -> str:
    """The token that was given, or stands in the environment."""
    token = token or os.environ.get("STEELYARD_TOKEN")
    if not token:
        raise invalid("--token", "be given, or stand in STEELYARD_TOKEN", None)
    return token


def run_backup(data: Place, target: Path) -> int:
    """Copy the database while it may be in use, then verify the copy; of PostgreSQL the copy is an SQLite file, too."""
    if target.exists():
        raise invalid("the backup", "be a new file", str(target))
    source = open_existing(data, readonly=isinstance(data, str))
    if isinstance(data, str):
        copied = SQLiteStore.__new__(SQLiteStore)
        copied.path, copied.connection = target, open_database(target)
        make_schema(copied.connection)
        copy_tables(source, copied)
        copied.connection.pragma("journal_mode", "delete")
        copied.close()
        source.close()
        return _verify_file(target)
    copy = apsw.Connection(str(target))
    with copy.backup("main", source.connection, "main") as backup:
        backup.step()  # all pages of one moment: in parts it would begin again at every commit of the server
    copy.pragma("journal_mode", "delete")
    copy.close()
    source.close()
    return _verify_file(target)


def _verify_file(path: Path) -> int:
    store = SQLiteStore.__new__(SQLiteStore)
    store.path, store.connection = path, open_database(path, readonly=True)
    try:
        for head in store.projects():
            found = verify_project(store, head)
            print(f"{found.slug}  head {found.events}:{found.chain}  state {found.digest}  ok")
    except (StateError, apsw.Error) as error:
        print(f"steelyard: {error}", file=sys.stderr)
        return BROKEN
    finally:
        store.close()
    return 0


def run_restore(source: Path, data: Place) -> int:
    """Put a backup into an empty place."""
    if isinstance(data, str):
        return _restore_into_database(source, data)
    if data.exists() and any(data.iterdir()):
        raise invalid("--data", "be an empty folder", str(data))
    if not source.is_file():
        raise invalid("the backup", "be a file", str(source))
    kept = open_backup(source)
    data.mkdir(parents=True, exist_ok=True)
    copy = open_database(data / DATABASE)
    with copy.backup("main", kept, "main") as backup:
        backup.step()
    kept.close()
    copy.close()
    return _verify_file(data / DATABASE)


def _restore_into_database(source: Path, url: str) -> int:
    if not source.is_file():
        raise invalid("the backup", "be a file", str(source))
    kept = SQLiteStore.__new__(SQLiteStore)
    kept.path, kept.connection = source, open_backup(source)
    store = open_place(url)
    try:
        if store.project_by_id(1) is not None:
            raise invalid("--database", "be an empty database", shown_place(url))
        copy_tables(kept, store)
    finally:
        kept.close()
        store.close()
    return run_verify(url, None, None)


def run_push(
    source: str,
    *,
    url: str,
    token: str | None,
    project: str,
    id_column: str | None,
    texts: list[str],
    out: TextIO,
    patience: float,
) -> int:
    """Send a CSV file or pipe; sent again, it goes on where it stopped. Exit code 0 if every row was decided."""
    token = given_token(token)
    piped = source == "-"
    key = None if piped else _file_digest(Path(source))
    rows = read_csv(sys.stdin if piped else Path(source))
    names: list[str] = []

    def records() -> Iterator[dict[str, Any]]:
        for row in rows:
            if id_column is not None:
                if id_column not in row:
                    raise invalid("--id", "be a column of the file", id_column)
                names.append(row.pop(id_column))
            yield {name: (cell or None) if name in texts else _cell(cell) for name, cell in row.items()}

    refused = decided = 0
    with Client(url, token, project, patience=patience) as client:
        ids = None if id_column is None else _following(names)
        for reply in client.decide_many(records(), ids=ids, key=key):
            refused += "error" in reply
            decided += "error" not in reply
            out.write(json.dumps(reply) + "\n")
    print(f"{decided} rows decided, {refused} refused", file=sys.stderr)
    return 0 if not refused else 2


def _following(names: list[str]) -> Iterator[str]:
    while names:
        yield names.pop(0)


def _cell(cell: str) -> Any:
    if not cell:
        return None
    if not is_number(cell):
        return cell
    return float(cell) if any(c in cell for c in ".eEnN") else int(cell)


def _file_digest(path: Path) -> str:
    with path.open("rb") as handle:
        total = sha256()
        while block := handle.read(1 << 20):
            total.update(block)
    return total.hexdigest()[:32]


def run_export(data: Place, project: str, out: TextIO) -> None:
    """Every decision of a project as JSON lines, from the folder itself."""
    from .events import Kind
    from .records import RecordReader

    store = open_existing(data, readonly=True)
    try:
        head = store.project(project)
        if head is None:
            raise invalid("--project", "exist", project)
        settings = msgspec.convert(unpack(first_event(store, head)).settings, ProjectSettings)
        labels, reader = settings.labels, RecordReader(settings)
        known = {item: label for item, state, _, _, label, _ in store.tables(head.id)["question"] if state == 1}
        for event, payload in store.history(head.id, 0):
            if event.kind == Kind.DECIDE:
                made = unpack(event)
                label = known.get(event.seq)
                line = {"id": event.seq, "at": event.at, "t": made.t, "decision": labels[made.answer]}
                line |= {"score": made.score, "chance": made.chance, "ask": made.ask, "model": made.model}
                line |= {"label": None if label is None else labels[label], "row": reader.record(payload)}
                out.write(json.dumps(line) + "\n")
    finally:
        store.close()


def unit_text(data: Place, port: int) -> str:
    """A systemd unit that restarts the service whenever it ends."""
    folder = data.resolve() if isinstance(data, Path) else None
    place = f"--data {folder}" if folder is not None else '--database "$STEELYARD_DATABASE"'
    more = f"ReadWritePaths={folder}" if folder is not None else "EnvironmentFile=/etc/steelyard/database"
    return f"""[Unit]
Description=Steelyard service
After=network.target

[Service]
ExecStart={sys.executable} -m steelyard.cli serve {place} --port {port}
Restart=always
RestartSec=1
DynamicUser=yes
StateDirectory=steelyard
{more}
NoNewPrivileges=yes
PrivateTmp=yes
PrivateDevices=yes
ProtectSystem=strict
ProtectHome=read-only
ProtectKernelTunables=yes
ProtectControlGroups=yes
RestrictAddressFamilies=AF_INET AF_INET6 AF_UNIX
MemoryDenyWriteExecute=no
LimitNOFILE=4096

[Install]
WantedBy=multi-user.target
"""
