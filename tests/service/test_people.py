"""People: links, passwords, sessions, roles; and that nobody acts in another's name."""

from __future__ import annotations

from urllib.parse import urlencode

import pytest
from service_bench import settings_of
from service_server import ThreadedServer, Visitor, call, code_for, make_person, make_service, visit

from steelyard.errors import InvalidInputError
from steelyard.service.commands.log import run_verify
from steelyard.service.commands.project import run_person
from steelyard.service.database.sqlite import SCHEMA, SQLiteStore, open_database
from steelyard.service.pages.login import MOST_FIELDS, MOST_NAMES, TRIES, Tries, local_path
from steelyard.service.people.access import IDLE, LONGEST
from steelyard.service.people.accounts import (
    LINK,
    add_person,
    first_owner,
    hash_password,
    make_link,
    people,
    set_password,
)
from steelyard.service.writer.clock import Clock
from steelyard.service.writer.projects import create_project

PASSWORD = "a long enough password"


class Hand(Clock):
    """A clock that is moved by hand."""

    def __init__(self) -> None:
        self.moved = 0.0
        super().__init__()

    def wall(self):
        return super().wall() + self.moved

    def boot(self):
        return super().boot() + self.moved


@pytest.fixture
def served(folder):
    make_service(folder)
    owner = make_person(folder, "ann", {"_service": "owner"})
    clock = Hand()
    with ThreadedServer(folder, clock) as server:
        server.owner, server.clock = owner, clock
        yield server


def log_in(server, name, password, **headers):
    form = urlencode({"name": name, "password": password, "next": "/people"}).encode()
    sent = {"Content-Type": "application/x-www-form-urlencoded", "Origin": server.url} | headers
    return call(server.url, "POST", "/login", body=form, headers=sent)


def give_password(folder, person, password=PASSWORD):
    store = SQLiteStore(folder)
    with store.connection:
        set_password(store, person, hash_password(password), keep=None, at=Clock().now())
    store.close()


def test_a_link_works_once_and_for_a_quarter_of_an_hour(served, folder):
    code = code_for(folder, served.owner)
    post = lambda code, **headers: call(  # noqa: E731
        served.url, "POST", "/login/link", body={"code": code}, headers={"Origin": served.url} | headers
    )
    assert call(served.url, "GET", f"/login?code={code}")[0] == 200  # a GET spends nothing
    assert post("another")[0] == 403
    assert post(code, Origin="http://elsewhere.example")[0] == 403
    status, headers, _ = post(code)
    assert status == 204
    kept = headers["set-cookie"]
    assert all(part in kept for part in ("HttpOnly", "SameSite=lax", "Path=/"))
    assert "Secure" not in kept  # on plain loopback
    assert kept.startswith(f"steelyard-{served.service.port}=")
    assert post(code)[0] == 403
    late = code_for(folder, served.owner)
    served.clock.moved = LINK / 1e6 + 1
    assert post(late)[0] == 403


def test_a_new_link_ends_the_one_before(served, folder):
    first, second = code_for(folder, served.owner), code_for(folder, served.owner)
    post = lambda code: call(served.url, "POST", "/login/link", body={"code": code}, headers={"Origin": served.url})  # noqa: E731
    assert post(first)[0] == 403
    assert post(second)[0] == 204


def test_passwords(served, folder):
    give_password(folder, served.owner)
    assert log_in(served, "ann", "a wrong password")[0] == 401
    assert log_in(served, "nobody", PASSWORD)[0] == 401
    assert log_in(served, "ann", PASSWORD, Origin="null")[0] == 403
    assert log_in(served, "ann", PASSWORD, Origin="http://127.0.0.1:1")[0] == 403
    status, headers, _ = log_in(served, "ann", PASSWORD)
    assert (status, headers["location"]) == (303, "/people")
    ann = Visitor(served.url, headers["set-cookie"].partition(";")[0])
    assert ann.page("/")[0] == 200
    assert ann.page("/nothing")[0] == 404
    with pytest.raises(InvalidInputError, match="12 to 1000"):
        hash_password("too short")


@pytest.mark.parametrize("path", ["//evil.example", "/\\evil.example", "https://evil.example", "javascript:alert(1)"])
def test_login_leads_nowhere_else(path):
    assert local_path(path) == "/"
    assert local_path("/p/a/label?x=1") == "/p/a/label?x=1"


def test_a_name_is_tried_so_often_an_hour():
    tries = Tries()
    for _ in range(TRIES):
        tries.note("ann", "127.0.0.1")
    tries.note("ann", "127.0.0.2")
    tries.note("bob", "127.0.0.1")
    with pytest.raises(Exception, match="120 times"):
        tries.note("ann", "127.0.0.1")


def test_made_up_names_neither_fill_the_memory_nor_make_known_ones_forgotten():
    tries = Tries()
    for _ in range(TRIES):
        tries.note("ann", "127.0.0.1")
    for n in range(MOST_NAMES + 100):
        if n % 5000 == 0:
            with pytest.raises(Exception, match="120 times"):
                tries.note("ann", "127.0.0.1")
        tries.note(f"nobody {n}", "127.0.0.1")
    assert len(tries._times) == MOST_NAMES


def test_a_form_that_is_none_is_refused(served):
    form = {"Content-Type": "application/x-www-form-urlencoded", "Origin": served.url, "Accept": "text/html"}
    fields = b"&".join(b"f%d=1" % n for n in range(MOST_FIELDS + 1))
    status, _, said = call(served.url, "POST", "/login", body=fields, headers=form)
    assert (status, b"at most 10 fields" in said) == (400, True)
    assert call(served.url, "POST", "/login", body=b"name=a%00&password=b", headers=form)[0] == 401


def test_what_is_wrong_with_a_link_or_a_logout_is_said_to_the_script(served, folder):
    """As JSON: a page in its place would be shown with its tags."""
    code = code_for(folder, served.owner)
    post = lambda code, origin: call(  # noqa: E731
        served.url, "POST", "/login/link", body={"code": code}, headers={"Origin": origin}
    )
    assert post(code, "https://elsewhere.example")[2]["error"] == "wrong_origin"
    assert post("another", served.url)[2]["message"].startswith("This link has been used")
    for _ in range(TRIES):
        status, _, said = post("another", served.url)
    assert (status, said["error"]) == (429, "too_many_tries")
    give_password(folder, served.owner)
    entered = log_in(served, "ann", PASSWORD)
    ann = Visitor(served.url, entered[1]["set-cookie"].partition(";")[0])
    assert ann.send("POST", "/logout", headers={"X-CSRF-Token": "0" * 64})[2]["error"] == "no_csrf"
    assert b"You are logged out" not in ann.page("/login?note=logged-out")[2]
    assert ann.send("POST", "/logout")[0] == 204
    assert ann.send("POST", "/logout")[2]["error"] == "no_session"
    assert b"You are logged out" in ann.page("/login?note=logged-out")[2]


def test_a_session_ends_idle_old_and_by_logging_out(served, folder):
    ann = visit(served, folder, served.owner)
    assert ann.page("/")[0] == 200
    served.clock.moved = IDLE / 1e6 - 60
    assert ann.page("/")[0] == 200  # and is seen
    assert call(served.url, "GET", "/v1/p/summary", headers={"Cookie": ann.cookie})[0] == 200
    ann.send("POST", "/v1/p/answers", [{"item": 1, "label": "good"}], headers={"Idempotency-Key": "a"})  # commits it
    served.clock.moved += IDLE / 1e6 - 60
    assert ann.page("/")[0] == 200
    served.clock.moved += IDLE / 1e6 + 60
    assert ann.page("/")[0] == 303
    bea = visit(served, folder, served.owner)
    for _ in range(20):
        served.clock.moved += LONGEST / 1e6 / 19
        status = bea.page("/")[0]
    assert status == 303
    cid = visit(served, folder, served.owner)
    assert cid.send("POST", "/logout", headers={"X-CSRF-Token": None})[0] == 403
    assert cid.page("/")[0] == 200
    assert cid.send("POST", "/logout")[0] == 204
    assert cid.page("/")[0] == 303


def test_secrets_are_kept_hashed(served, folder):
    ann = visit(served, folder, served.owner)
    code = code_for(folder, served.owner)
    give_password(folder, make_person(folder, "bob", {}))
    files = b"".join(path.read_bytes() for path in folder.iterdir() if path.is_file())
    assert ann.cookie.partition("=")[2].encode() not in files
    assert code.encode() not in files
    assert PASSWORD.encode() not in files
    assert b"$argon2id$" in files


def test_the_first_owner_is_invited_until_somebody_can_log_in(folder):
    store, now = SQLiteStore(folder), Clock().now()
    with store.connection:
        assert first_owner(store, at=now) is not None
    with store.connection:
        assert first_owner(store, at=now) is not None
    assert [(one.name, one.roles) for one in people(store)] == [("owner", {"_service": ("owner",)})]
    give_password(folder, 1)
    with store.connection:
        assert first_owner(store, at=now) is None
    store.close()


def test_an_older_database_is_brought_up_and_kept_beside(folder):
    store = SQLiteStore(folder)
    create_project(store, "p", settings_of(), at=Clock().now())
    store.connection.execute("DROP TABLE link; DROP INDEX session_person; PRAGMA user_version = 1")
    store.connection.execute("DROP TABLE shadow_answer; DROP TABLE model; DROP INDEX event_change")
    store.close()
    store = SQLiteStore(folder)
    with store.connection:
        make_link(store, add_person(store, "ann", at=1), at=1)
    assert store.connection.pragma("user_version") == SCHEMA
    store.close()
    old = open_database(folder / "service.sqlite.schema-1", readonly=True)
    assert old.pragma("user_version") == 1
    assert old.execute("SELECT count(*) FROM project").get == 2
    old.close()


def test_pages_have_their_headers_and_files_are_kept(served):
    status, headers, text = call(served.url, "GET", "/login")
    assert status == 200
    assert headers["content-security-policy"].startswith("default-src 'none'; script-src 'self'")
    assert (headers["referrer-policy"], headers["cache-control"]) == ("same-origin", "no-store")
    assert headers["x-content-type-options"] == "nosniff"
    path = text.decode().partition('stylesheet" href="')[2].partition('"')[0]
    status, headers, plain = call(served.url, "GET", path)
    assert (status, headers["content-type"]) == (200, "text/css; charset=utf-8")
    assert "immutable" in headers["cache-control"]
    assert b"--brass" in plain
    packed = call(served.url, "GET", path, headers={"Accept-Encoding": "gzip"})
    assert (packed[1]["content-encoding"], len(packed[2]) < len(plain)) == ("gzip", True)
    assert call(served.url, "GET", "/static/0000000000000000/page.css")[0] == 404
    assert call(served.url, "GET", path.replace("tokens.css", "..%2Fpage.py"))[0] == 404
    status, headers, _ = call(served.url, "GET", "/p/p/label?x=1", headers={"Accept": "text/html"})
    assert status in (303, 404)


@pytest.mark.parametrize("path", ["/login/", "/p/p//", "//evil.example/", "/\\evil.example/"])
def test_a_slash_too_many_leads_to_a_path_of_this_server(served, path):
    status, headers, _ = call(served.url, "GET", path, headers={"Accept": "text/html"})
    assert (status, headers["cache-control"]) == (303, "no-store")
    assert headers["location"].startswith("/")
    assert headers["location"][1] not in "/\\"
    assert not headers["location"].endswith("/")


def test_an_owner_adds_people_and_gives_roles(served, folder):
    ann = visit(served, folder, served.owner)
    status, _, made = ann.send("POST", "/v1/people", {"name": "bob"})
    assert status == 201
    code = made["link"].partition("#")[2]
    entered = call(served.url, "POST", "/login/link", body={"code": code}, headers={"Origin": served.url})
    bob = Visitor(served.url, entered[1]["set-cookie"].partition(";")[0])
    assert bob.page("/p/p/label")[0] == 404  # no membership
    assert bob.send("GET", "/v1/people")[0] == 404
    path = f"/v1/people/{made['person']}"
    assert bob.send("POST", f"{path}/role", {"project": "_service", "role": "owner"})[0] == 404
    status, _, everybody = ann.send("POST", f"{path}/role", {"project": "p", "role": "annotator"})
    assert {one["name"]: one["roles"] for one in everybody["people"]} == {
        "ann": {"_service": ["owner"]},
        "bob": {"p": ["annotator"]},
    }
    assert bob.page("/")[0] == 303  # a new role ends the sessions before it
    bob = visit(served, folder, made["person"])
    assert b">p<" in bob.page("/")[2]
    assert bob.send("POST", "/v1/p/questions/next", {})[0] == 204
    assert bob.send("GET", "/v1/p/settings")[0] == 403
    assert ann.send("POST", "/v1/people", {"name": "bob"})[0] == 422
    assert ann.send("POST", "/v1/people", {"name": "token 1"})[0] == 422
    assert ann.send("POST", f"{path}/role", {"project": "p", "role": "king"})[0] == 422
    assert ann.send("POST", "/v1/people/99/link")[0] == 422
    assert ann.send("POST", f"{path}/active", {"active": False})[0] == 200
    assert bob.page("/")[0] == 303
    own = f"/v1/people/{served.owner}"
    said = ann.send("POST", f"{own}/active", {"active": False})
    assert (said[0], "keep an owner" in said[2]["message"]) == (422, True)
    assert ann.send("POST", f"{own}/role", {"project": "_service", "role": "owner", "given": False})[0] == 422
    assert ann.page("/people")[0] == 200
    assert run_verify(folder, "_service", None) == 0


def test_an_own_password(served, folder):
    ann, other = visit(served, folder, served.owner), visit(served, folder, served.owner)
    assert ann.send("POST", "/password", {"new": "short"})[0] == 422
    assert ann.send("POST", "/password", {"new": PASSWORD}, headers={"X-CSRF-Token": None})[0] == 403
    assert ann.send("POST", "/password", {"new": PASSWORD}, headers={"Origin": "null"})[0] == 403
    assert ann.send("POST", "/password", {"new": PASSWORD})[0] == 204
    assert (ann.page("/")[0], other.page("/")[0]) == (200, 303)
    assert ann.send("POST", "/password", {"new": PASSWORD + "2", "old": "wrong"})[0] == 403
    assert log_in(served, "ann", PASSWORD)[0] == 303


def test_people_by_command(folder, capsys):
    make_service(folder)
    run_person(folder, "bob", "p", "annotator", take=False, active=None, url="https://desk.example/")
    link = capsys.readouterr().out.strip()
    assert link.startswith("https://desk.example/login#")
    with ThreadedServer(folder) as server:
        code = link.partition("#")[2]
        assert call(server.url, "POST", "/login/link", body={"code": code}, headers={"Origin": server.url})[0] == 204
    run_person(folder, None, None, None, take=False, active=None, url="")
    assert capsys.readouterr().out == "bob  annotator of p\n"
    run_person(folder, "bob", "p", "annotator", take=True, active=False, url="")
    assert capsys.readouterr().out == ""
    run_person(folder, None, None, None, take=False, active=None, url="")
    assert capsys.readouterr().out == "bob  no role  may not log in\n"
    with pytest.raises(InvalidInputError, match="together"):
        run_person(folder, "bob", "p", None, take=False, active=None, url="")


@pytest.mark.parametrize(
    ("given", "more", "said"),
    [
        (("bop", "p", "annotator"), {"take": True}, r"^the name must be that of somebody who is there; got 'bop'"),
        (("bop", None, None), {"active": False}, r"^the name must be that of somebody who is there; got 'bop'"),
        (("bob", None, None), {"take": True}, r"^--take must be given with the --project and the --role"),
        ((None, "p", "annotator"), {}, r"^NAME must say who is meant"),
        ((None, None, None), {"active": False}, r"^NAME must say who is meant"),
    ],
)
def test_a_slip_of_the_pen_takes_no_role_from_nobody(folder, given, more, said):
    make_service(folder)
    make_person(folder, "bob", {"p": "annotator"})
    with pytest.raises(InvalidInputError, match=said):
        run_person(folder, *given, **({"take": False, "active": None, "url": ""} | more))
    store = SQLiteStore(folder, readonly=True)
    assert [(one.name, one.active, one.roles) for one in people(store)] == [("bob", True, {"p": ("annotator",)})]
    store.close()


def test_behind_https_the_cookie_is_bound_to_the_host(folder):
    make_service(folder)
    person = make_person(folder, "ann", {"p": "annotator"})
    with ThreadedServer(folder, secure=True, proxied=True) as server:
        host = server.url.removeprefix("http://")
        post = lambda origin: call(  # noqa: E731
            server.url, "POST", "/login/link", body={"code": code_for(folder, person)}, headers={"Origin": origin}
        )
        assert post(f"http://{host}")[0] == 403
        status, headers, _ = post(f"https://{host}")
        assert status == 204
        assert headers["set-cookie"].startswith(f"__Host-steelyard-{server.service.port}=")
        assert "Secure" in headers["set-cookie"]
        scope = {"headers": [(b"x-forwarded-for", b"1.1.1.1, 2.2.2.2")], "client": ("127.0.0.1", 5)}
        assert server.service.runtime.address(scope) == "2.2.2.2"
        scope["headers"].append((b"x-forwarded-for", b"3.3.3.3"))  # a proxy that leaves alone what came, as some do
        assert server.service.runtime.address(scope) == "3.3.3.3"


def test_columns_of_a_file_are_guessed(served, folder):
    ann = visit(served, folder, served.owner)
    text = b"id,n,c,t,u,y\n" + b"".join(
        b"r%d,%d,k%d,some more words,https://a.example/%d,%s\n" % (i, i, i % 3, i, b"no" if i % 4 else b"yes")
        for i in range(40)
    )
    status, _, said = ann.send("POST", "/v1/projects/guess", text, headers={"Content-Type": "text/csv"})
    assert (status, said["rows"]) == (200, 40)
    kinds = {column["name"]: column["kind"] for column in said["columns"]}
    assert kinds == {"id": "category", "n": "number", "c": "category", "t": "text", "u": "url", "y": "category"}
    assert {column["name"] for column in said["columns"] if column["unique"]} == {"id", "n", "u"}
    assert said["columns"][-1]["classes"] == ["no", "yes"]  # the rarest last
    assert [len(column["values"]) for column in said["columns"]] == [5, 5, 3, 1, 5, 2]
    for bad in (b"", b"a,b\n", b"a,a\n1,2\n", b"a,b\n1\n", b"a\n\xff\n", b"a\n" + b"x" * 200_000 + b"\n"):
        status, _, said = ann.send("POST", "/v1/projects/guess", bad, headers={"Content-Type": "text/csv"})
        assert (status, said["error"]) == (422, "bad_file"), bad[:20]
    assert ann.send("POST", "/v1/projects/guess", b"a\n1\n")[0] == 415


def test_a_project_too_large_to_begin_is_refused(served, folder):
    ann = visit(served, folder, served.owner)
    plain = {"classes": [f"c{i}" for i in range(50)], "columns": {"x": "category"}, "budget": 5, "expected_rows": 50}
    said = ann.send("POST", "/v1/projects", {"project": "wide", "settings": plain | {"hash_bits": 24}})
    assert (said[0], said[2]["where"]) == (422, "settings.hash_bits")
    assert ann.send("POST", "/v1/projects", {"project": "Wide!", "settings": plain | {"hash_bits": 4}})[0] == 422
    assert ann.send("POST", "/v1/projects", {"project": "wide", "settings": plain | {"hash_bits": 4}})[0] == 201
    assert ann.send("GET", "/v1/wide/summary")[2]["rows"] == 0
