"""The commands below `service`, given what cannot be used: one line that says what is wrong, and nothing is harmed."""

from __future__ import annotations

import io
import os
import sys
import threading
from contextlib import closing
from pathlib import Path

import msgspec
import pytest
from service_bench import settings_of
from service_server import ServerProcess, ThreadedServer, call, free_port, make_service

from steelyard.errors import InvalidInputError, StateError
from steelyard.service.commands import log
from steelyard.service.commands.log import run_backup, run_export, run_restore, run_verify
from steelyard.service.commands.project import run_token, settings_from
from steelyard.service.commands.rows import run_erase, run_push
from steelyard.service.commands.serve import run_serve, unit_text
from steelyard.service.database.sqlite import DATABASE, SQLiteStore, open_database
from steelyard.service.log.guess import guess_sample
from steelyard.service.server.lifecycle import bind
from steelyard.service.writer.verify import BROKEN


def push(source, **more):
    given = {"url": f"http://127.0.0.1:{free_port()}", "token": "sy_t", "project": "p", "id_column": None, "texts": []}
    return run_push(str(source), **(given | {"out": io.StringIO(), "patience": 0.0} | more))


def start_of(folder):
    """The exit code of a server that cannot serve a folder."""
    server = ServerProcess(folder, free_port())
    assert not server.start()
    try:
        return server.end()
    finally:
        server.close()


@pytest.fixture
def rows(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("x,y,zip\n1,2,007\n")
    return path


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({}, "--url must lead to a service that runs; got .* It cannot be reached: .*refused"),
        ({"url": "127.0.0.1:8321"}, "--url must be the address of a service"),
        ({"url": "http://127.0.0.1:8321/p"}, "--url must be the address of a service"),
        ({"url": "http://127.0.0.1:123456"}, "--url must be the address of a service"),
        ({"token": "sy_\n_x"}, "--token must be one that .* has printed"),
        ({"token": " "}, "--token must be given"),
        ({"texts": ["zip", "city"]}, "--text must be a column of the file; got 'city'"),
        ({"id_column": "name"}, "--id must be a column of the file; got 'name'"),
    ],
)
def test_push_says_what_is_wrong(rows, more, said, monkeypatch):
    monkeypatch.delenv("STEELYARD_TOKEN", raising=False)
    with pytest.raises(InvalidInputError, match=said):
        push(rows, **more)


@pytest.mark.parametrize("raw", [b"x,y\n1,\xe4\n", b'x,y\n1,"' + b"a" * 200_000 + b'"\n'])
def test_a_file_that_is_no_csv_in_utf8_is_said(tmp_path, raw):
    path = tmp_path / "rows.csv"
    path.write_bytes(raw)
    with pytest.raises(InvalidInputError, match="the file must be"):
        push(path)


@pytest.mark.parametrize("raw", [b"x;y\n1;2\n", b"sep=;\nx;y\n1;2\n", b"x\ty\n1\t2\n"])
def test_a_file_with_other_separators_is_said(tmp_path, raw):
    """Its lines would be rows of one column, or have too many cells."""
    path = tmp_path / "rows.csv"
    path.write_bytes(raw)
    with pytest.raises(
        InvalidInputError, match=r"the header must separate its names by commas; got .*\. Save the file"
    ):
        push(path)
    with pytest.raises(InvalidInputError, match="the header must separate its names by commas"):
        guess_sample(raw.decode())


def test_what_the_service_refuses_is_said_as_it_says_it(folder, rows):
    make_service(folder, settings=settings_of())
    with ThreadedServer(folder) as server:
        with pytest.raises(InvalidInputError, match=r"^the request must carry a valid token"):
            push(rows, url=server.url)
        with pytest.raises(InvalidInputError, match=r"^the request must carry a valid token"):
            run_erase(folder, "p", [2], [], url=server.url, token="sy_t")


def test_a_pipe_may_begin_with_the_mark_of_utf8(folder, monkeypatch):
    tokens = make_service(folder, settings=settings_of())
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"\xef\xbb\xbfx,y\n1,2\n")))
    with ThreadedServer(folder) as server:
        assert push("-", url=server.url, token=tokens["producer"]) == 0
        assert server.client(tokens["reader"]).summary()["missing_cells"] == 0


@pytest.mark.parametrize("last", ["1\n", '1,"' + "a" * 200_000 + '"\n', "1,2\n1,2,3\n"])
def test_a_file_with_a_line_that_is_none_sends_no_row(folder, tmp_path, last):
    tokens, path = make_service(folder, settings=settings_of()), tmp_path / "rows.csv"
    path.write_text("x,y\n" + "1,2\n" * 600 + last)
    with ThreadedServer(folder) as server:
        with pytest.raises(InvalidInputError, match=r"^(line \d+|the file) must"):
            push(path, url=server.url, token=tokens["producer"])
        assert server.client(tokens["reader"]).summary()["rows"] == 0


def test_a_row_of_a_pipe_does_not_wait_for_the_next_one(folder, monkeypatch):
    tokens = make_service(folder, settings=settings_of(columns={"x": "number"}))
    read, write = os.pipe()
    decided, said = threading.Semaphore(0), []

    class Out(io.StringIO):
        def flush(self):
            decided.release()

    with ThreadedServer(folder) as server, open(read, "rb") as source, open(write, "wb", buffering=0) as lines:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(source))
        more = {"url": server.url, "token": tokens["producer"], "id_column": "id", "out": Out()}
        pushing = threading.Thread(target=lambda: said.append(push("-", **more)))
        pushing.start()
        for n, line in enumerate((b"id,x\na,1\n", b"b,2\nc,3\n", b"d,4\n")):
            lines.write(line)
            assert decided.acquire(timeout=60), n
        lines.close()
        pushing.join()
        found = call(server.url, "GET", "/v1/p/decisions", token=tokens["reader"])[2]["decisions"]
    assert said == [0]
    assert [(one["external"], one["row"]["x"]) for one in found] == [("a", 1), ("b", 2), ("c", 3), ("d", 4)]


def test_rows_that_are_not_there_cannot_be_erased_and_the_command_goes_on(folder):
    make_service(folder)
    for item, said in ((2**70, "ITEM must be"), (0, "ITEM must be"), (5, r"^item 5 must be one that was decided")):
        with pytest.raises(InvalidInputError, match=said):
            run_erase(folder, "p", [item], [], url=None, token=None)
    with pytest.raises(InvalidInputError, match=r"^the project must exist"):
        run_erase(folder, "q", [5], [], url=None, token=None)


def test_files_that_still_hold_an_erased_row_are_said(folder, capsys):
    tokens = make_service(folder)
    with ThreadedServer(folder) as server:
        made = server.client(tokens["producer"]).decide({"x": 1.0, "y": 1.0})
    reader = SQLiteStore(folder, readonly=True)
    reader.connection.execute("BEGIN")
    assert reader.project("p")
    assert run_erase(folder, "p", [made["id"]], [], url=None, token=None) == 0
    assert "until the next start" in capsys.readouterr().err
    reader.close()


@pytest.mark.parametrize(
    ("name", "written", "started"),
    [
        ("desk-1", "-{}/desk-1", "{}/desk-1"),
        ("my desk", '"-{}/my desk"', '"{}/my desk"'),
        ('50% "$x"\\', '"-{}/50%% \\"$x\\"\\\\"', '"{}/50%% \\"$$x\\"\\\\"'),
    ],
)
def test_a_unit_names_its_folder_as_systemd_reads_it(tmp_path, name, written, started):
    lines = unit_text(tmp_path / name, 8321).splitlines()
    assert f"ReadWritePaths={written.format(tmp_path)}" in lines
    assert any(line.endswith(f" serve --data {started.format(tmp_path)} --port 8321") for line in lines)
    assert lines.index("StartLimitIntervalSec=0") < lines.index("[Service]")  # else systemd gives up after five starts


def test_serve_says_what_is_wrong_with_its_address_before_it_begins(tmp_path, capsys):
    plain = {"place": tmp_path / "desk", "address": "127.0.0.1", "names": [], "tls": None, "proxy": None}
    with closing(bind("127.0.0.1", 0)) as taken:
        taken.listen()
        for more, said in (
            ({"port": taken.getsockname()[1]}, r"--bind and --port must be .* free; got .127.0.0.1:.* in use"),
            ({"tls": ("none.pem", "key.pem")}, r"--tls must name a certificate and its key; got 'none.pem key.pem'"),
            ({"tls": (__file__, __file__)}, r"--tls must name a certificate and its key"),
            ({"proxy": "http://desk.example"}, r"--behind-proxy must be .* got 'http://desk.example'"),
            ({"proxy": "https://desk.example/p"}, r"--behind-proxy must be"),
            ({"proxy": "desk.example"}, r"--behind-proxy must be"),
        ):
            with pytest.raises(InvalidInputError, match=said):
                run_serve(**({"port": 0} | plain | more))
    assert capsys.readouterr().out == ""


def test_a_database_that_is_away_is_said():
    pytest.importorskip("psycopg")
    with pytest.raises(
        StateError, match=r"the database at postgresql://127.0.0.1:\d+/x must answer; it does not"
    ) as said:
        run_token(f"postgresql://ann:secret@127.0.0.1:{free_port()}/x", "p", "reader", None, None)
    assert "secret" not in str(said.value)
    assert "\n" not in str(said.value)


@pytest.mark.parametrize(
    ("option", "more"),
    [
        ("--sample", {"sample": Path("rows.csv")}),
        ("--ignore", {"ignored": ["x"]}),
        ("--shown", {"shown": ["x"]}),
        ("--budget", {"given": {"budget": 0}}),
        ("--expected-rows", {"given": {"expected_rows": 5}}),
        ("--no-pace", {"given": {"pace": False}}),
        ("--seed", {"given": {"seed": 3}}),
    ],
)
def test_options_beside_a_file_of_all_settings_are_not_passed_over(tmp_path, option, more):
    path = tmp_path / "settings.json"
    path.write_bytes(msgspec.json.encode(settings_of()))
    plain = {"sample": None, "ignored": [], "shown": [], "given": {"budget": None, "pace": True, "seed": 0}}
    assert settings_from(path, **plain) == settings_of()
    with pytest.raises(InvalidInputError, match=f"^{option} must stand in the file that --settings names"):
        settings_from(path, **(plain | more))


def test_a_token_cannot_outlast_the_calendar(folder):
    make_service(folder)
    with pytest.raises(InvalidInputError, match="--days"):
        run_token(folder, "p", "reader", 10**12, None)


def test_tokens_are_listed_and_revoked_whole_or_by_their_number(folder, capsys):
    made = make_service(folder)
    run_token(folder, "p", "reader", 3, None)
    capsys.readouterr()
    for text in (made["reader"], made["owner"].split("_")[1], made["metrics"].rpartition("_")[0]):
        run_token(folder, "p", "reader", None, text)
    assert made["reader"].split("_", 2)[2] not in capsys.readouterr().out
    with pytest.raises(InvalidInputError, match=r"token must be the number of a token; got '5eb'") as said:
        run_token(folder, "p", "reader", None, "sy_5eb_secret")
    assert "secret" not in str(said.value)
    run_token(folder, "p", "reader", None, None, listed=True)
    lines = dict(line.split("  ", 1) for line in capsys.readouterr().out.splitlines())
    number = {role: token.split("_")[1] for role, token in made.items()}
    assert lines[number["reader"]] == "reader of p  revoked"
    assert lines[number["owner"]] == "owner of p  revoked"
    assert lines[number["metrics"]] == "reader of _service  revoked"
    assert lines[number["producer"]] == "producer of p"
    assert sum("reader of p  until 20" in line for line in lines.values()) == 1
    assert run_verify(folder, None, None) == 0


def test_a_file_pushed_with_other_options_is_not_told_to_make_a_key(folder, rows):
    tokens = make_service(folder, settings=settings_of())
    with ThreadedServer(folder) as server:
        given = {"url": server.url, "token": tokens["producer"]}
        assert push(rows, **given) == 0
        with pytest.raises(InvalidInputError, match=r"the file must come with the --id and --text with which it was"):
            push(rows, **given, texts=["zip"])


def test_a_noted_head_is_looked_for_in_every_log(folder, capsys):
    make_service(folder)
    make_service(folder, "q")
    assert run_verify(folder, None, None) == 0
    heads = {line.split()[0]: line.split()[4] for line in capsys.readouterr().out.splitlines()}
    assert set(heads) == {"_service", "p", "q"}
    for slug, head in heads.items():
        assert run_verify(folder, None, head) == 0
        assert run_verify(folder, slug, head) == 0
        assert run_verify(folder, "q" if slug == "p" else "p", head) == BROKEN
    assert run_verify(folder, "_service", "1:" + "0" * 32) == BROKEN
    with pytest.raises(InvalidInputError, match="--head must be SEQ:CHAIN"):
        run_verify(folder, None, "rubbish")


def test_a_damaged_file_is_no_accident_of_the_program(folder, capsys):
    make_service(folder)
    path = folder / DATABASE
    whole = path.read_bytes()
    path.write_bytes(bytes(4096) + whole[4096:])
    assert run_verify(folder, None, None) == BROKEN
    assert start_of(folder) == BROKEN
    with pytest.raises(StateError, match="must be the database of a service"):
        run_export(folder, "p", io.StringIO())
    with pytest.raises(StateError, match="must be the database of a service"):
        run_backup(folder, folder / "copy.sqlite")
    path.write_bytes(whole[:4096] + bytes(len(whole) - 4096))
    assert run_verify(folder, None, None) == BROKEN
    assert start_of(folder) == BROKEN
    assert capsys.readouterr().err.count("steelyard: ") == 2


@pytest.mark.parametrize("readonly", [False, True])
def test_a_file_that_cannot_be_opened_is_not_said_to_be_damaged(tmp_path, readonly):
    with pytest.raises(InvalidInputError, match="the database must be a file that can be opened"):
        open_database(tmp_path / "none" / DATABASE, readonly=readonly)


def test_a_backup_that_cannot_be_written_leaves_no_file(folder, monkeypatch):
    make_service(folder)
    with pytest.raises(InvalidInputError, match="the backup must lie in a folder that exists"):
        run_backup(folder, folder / "none" / "copy.sqlite")

    def full(source: SQLiteStore, target) -> None:
        target.write_bytes(b"half of it")
        raise log.apsw.FullError("database or disk is full")

    with monkeypatch.context() as patched:
        patched.setattr(log, "_copy", full)
        with pytest.raises(InvalidInputError, match=r"the backup must be written; .* disk is full"):
            run_backup(folder, folder / "copy.sqlite")
    assert not list(folder.glob("copy*"))
    assert run_backup(folder, folder / "copy.sqlite") == 0
    assert [path.name for path in folder.glob("copy*")] == ["copy.sqlite"]


def test_a_backup_does_not_change_the_tables_it_copies(folder, tmp_path):
    make_service(folder)
    older = open_database(folder / DATABASE)
    older.execute("DROP TABLE shadow_answer; DROP TABLE model; DROP INDEX event_change; PRAGMA user_version = 2")
    assert run_backup(folder, tmp_path / "copy.sqlite") == 0
    assert older.pragma("user_version") == 2
    assert [path.name for path in folder.glob("*.schema-*")] == []
    older.close()
    assert run_restore(tmp_path / "copy.sqlite", tmp_path / "again") == 0


def test_a_backup_is_verified_with_the_log_of_the_service(folder, tmp_path, capsys):
    make_service(folder)
    damaged = open_database(folder / DATABASE)
    damaged.execute("UPDATE project SET chain = zeroblob(16) WHERE id = 0")
    damaged.close()
    assert run_backup(folder, tmp_path / "copy.sqlite") == BROKEN
    assert "the log of _service must end at event" in capsys.readouterr().err


def test_half_a_restored_backup_is_no_service(folder, tmp_path, monkeypatch):
    make_service(folder)
    assert run_backup(folder, folder / "copy.sqlite") == 0
    again, copied = tmp_path / "again", log._copy_pages

    def full(source, target) -> None:
        copied(source, target)
        raise log.apsw.FullError("database or disk is full")

    with monkeypatch.context() as patched:
        patched.setattr(log, "_copy_pages", full)
        with pytest.raises(InvalidInputError, match=r"--data must have room .* disk is full"):
            run_restore(folder / "copy.sqlite", again)
    assert not list(again.iterdir())
    (again / f"{DATABASE}.part").write_bytes(b"half")  # as a kill leaves it
    assert run_restore(folder / "copy.sqlite", again) == 0
    assert [path.name for path in again.iterdir()] == [DATABASE]
    assert run_verify(again, None, None) == 0
