"""What `steelyard serve` does, and the unit that keeps it running."""

from __future__ import annotations

import asyncio
import gc
import os
import re
import shlex
import socket
import ssl
import sys
import tempfile
import threading
import webbrowser
from collections.abc import Callable
from pathlib import Path
from typing import Any

import apsw

from ... import _native
from ...errors import StateError
from ...validation.values import invalid
from ..database.places import Place, open_place, shown_place
from ..database.sqlite import SQLiteStore
from ..http.console import say
from ..people.access import SERVICE
from ..people.accounts import first_owner
from ..server.lifecycle import IN_USE, Beside, FolderInUseError, Service, bind, hold
from ..sources.demo import Demo, prepare, source_of, state_in_words
from ..sources.tail import Tail
from ..writer.clock import Clock
from ..writer.verify import BROKEN

GARBAGE = 20_000  # new objects after which the collector looks for cycles
LARGE_BLOCK = 1 << 20  # bytes


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
    if tls is not None:
        _check_certificate(*tls)
    known = [*names] if proxy is None else [*names, _name_of(proxy)]
    reached: dict[str, Any] = {
        "names": tuple(known),
        "secure": tls is not None or proxy is not None,
        "proxied": proxy is not None,
    }

    def serve() -> None:
        if isinstance(place, str):
            _serve_database(place, _listen_on(address, port), tls, proxy, reached, tail)
            return
        place.mkdir(parents=True, exist_ok=True)
        with hold(place):
            _check_tailed(place, tail)
            beside = None if tail is None else Tail(*tail).run
            _serve_now(Service(place, _listen_on(address, port), **reached), tls, proxy, beside)

    return _exit_code(serve)


def _listen_on(address: str, port: int) -> socket.socket:
    try:
        return bind(address, port)
    except OSError as error:
        hint = f"{error.strerror or error}. Stop what listens there, or choose another one."
        raise invalid(
            "--bind and --port", "be an address of this machine that is free", f"{address}:{port}", hint
        ) from None


def _check_certificate(certificate: str, key: str) -> None:
    """Raise unless the two files are a certificate and its key."""
    try:
        ssl.create_default_context(ssl.Purpose.CLIENT_AUTH).load_cert_chain(certificate, key)
    except OSError as error:  # also of what the files hold
        hint = f"They cannot be used: {error.strerror or error}."
        raise invalid("--tls", "name a certificate and its key", f"{certificate} {key}", hint) from None


def _name_of(proxy: str) -> str:
    """The name by which people reach a proxy."""
    scheme, _, name = proxy.rstrip("/").partition("://")
    if scheme != "https" or not re.fullmatch(r"[^\s/?#@]+", name):
        raise invalid("--behind-proxy", "be the address of the proxy, as https://desk.example.org", proxy)
    return name


def _exit_code(serve: Callable[[], None]) -> int:
    """0 once it was stopped, or why it could not serve."""
    try:
        serve()
    except FolderInUseError as error:
        print(f"steelyard: {error}", file=sys.stderr)
        return IN_USE
    except StateError as error:
        print(f"steelyard: {error}", file=sys.stderr)
        return BROKEN
    except apsw.CorruptError as error:
        print(f"steelyard: the database must be whole; {error}. Restore a backup.", file=sys.stderr)
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
    _settle_memory()
    service.run(tls=tls, ready=lambda: _say_ready(service.place, service.url, shown), beside=beside)


def _serve_database(
    url: str,
    sock: socket.socket,
    tls: tuple[str, str] | None,
    proxy: str | None,
    reached: dict[str, Any],
    tail: tuple[Path, str] | None,
) -> None:
    """Wait as standby until this process leads, then serve."""
    from ..server.standby import Standby

    address = Service(url, sock, **reached).url if proxy is None else proxy.rstrip("/")
    standby = Standby(url, address)

    def say_waiting() -> None:
        say(f"standby for {shown_place(url)} at {address}; the leader is at {standby.leader}")

    sock.listen(2048)
    store = asyncio.run(standby.wait(sock, say_waiting))
    if store is None:
        return
    _check_tailed(url, tail)
    beside = None if tail is None else Tail(*tail).run
    _serve_now(Service(url, sock, store=store, **reached), tls, proxy, beside)


def _settle_memory() -> None:
    """Set collector and allocator for a process that lives long.

    Cycles are looked for less often and not among what was imported; that took a quarter of the time of a batch. And
    the copies that a checkpoint makes of a state go back to the system; of 202 MB with 100,000 labels that was 38.
    """
    gc.freeze()
    gc.set_threshold(GARBAGE)
    _native.return_blocks_from(LARGE_BLOCK)


def run_demo(name: str, keep: Path | None, port: int) -> int:
    """Serve made-up rows with a simulated person who answers; the exit code. The folder stays for the next start."""
    source = source_of(name)
    folder = Path(tempfile.mkdtemp(prefix="steelyard-demo-")) if keep is None else keep
    folder.mkdir(parents=True, exist_ok=True)
    which = "" if name == "payments" else f" {name}"
    demo = Demo(source, f"steelyard serve --demo{which} --keep {shlex.quote(str(folder))}")

    def serve() -> None:
        with hold(folder):
            store = SQLiteStore(folder)
            code = prepare(store, source, at=Clock().now())
            store.close()
            service = Service(folder, _listen_on("127.0.0.1", port))
            _settle_memory()
            link = f"{service.url}/login?next=/p/{source.slug}#{code}"
            service.run(ready=lambda: _show_link(link), beside=demo.run)
            assert service.runtime is not None
            say(f"stopped at {state_in_words(service.runtime.writer.projects[source.slug].state)}")
            say(f"it goes on at the same bit with: {demo.command}")

    return _exit_code(serve)


def _show_link(link: str) -> None:
    """Print a link, and open it where there is a screen."""
    say(f"open {link}")
    screen = sys.platform != "linux" or os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    if sys.stdout.isatty() and screen:
        threading.Thread(target=webbrowser.open, args=(link,), daemon=True).start()


def _say_ready(data: Place, url: str, place: str) -> None:
    """Where it is reached; and as long as nobody can log in as its owner, a link that does so once."""
    say(f"serving {shown_place(data)} at {url}")
    store = open_place(data)
    try:
        with store.transaction():
            code = first_owner(store, at=Clock().now())
    finally:
        store.close()
    if code is not None:
        say(f"the first owner's link (once, within 15 minutes): {place}/login#{code}")


def _unit_word(path: str) -> str:
    """A path as one word of a unit: quoted where it must be, and without what systemd would replace."""
    safe = path.replace("%", "%%")
    return (
        safe if re.fullmatch(r"[\w/.,:=@%+-]+", safe) else '"{}"'.format(safe.replace("\\", "\\\\").replace('"', '\\"'))
    )


def unit_text(data: Place, port: int) -> str:
    """A systemd unit that restarts the service whenever it ends, however often; its folder need not be there yet."""
    if isinstance(data, Path):
        folder = str(data.resolve())
        place = f"--data {_unit_word(folder).replace('$', '$$')}"
        more = f"ReadWritePaths={_unit_word(f'-{folder}')}"
    else:
        place, more = '--database "$STEELYARD_DATABASE"', "EnvironmentFile=/etc/steelyard/database"
    return f"""[Unit]
Description=Steelyard service
After=network.target
StartLimitIntervalSec=0

[Service]
ExecStart={_unit_word(sys.executable)} -m steelyard.cli serve {place} --port {port}
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
