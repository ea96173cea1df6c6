"""A real PostgreSQL in a temporary folder, on a unix socket alone."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path


def programs() -> Path | None:
    """Where initdb and pg_ctl are; None if they are not installed."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    if found:
        return found[-1].parent
    beside = shutil.which("initdb")
    return None if beside is None else Path(beside).parent


class Postgres:
    """Runs until it is closed; it refuses root, so as root it runs as nobody."""

    def __init__(self) -> None:
        bin = programs()
        assert bin is not None
        self.bin = bin
        place = "/dev/shm" if Path("/dev/shm").is_dir() else None
        self.folder = Path(tempfile.mkdtemp(prefix="pg-test-", dir=place))
        self.as_user = ["setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups"] if os.geteuid() == 0 else []
        if self.as_user:
            shutil.chown(self.folder, "nobody", "nogroup")
        self._run(
            "initdb", "-D", str(self.folder / "data"), "-U", "steelyard", "-A", "trust", "--no-sync", "-E", "UTF8"
        )
        self.start()
        self.databases = 0

    def _run(self, program: str, *options: str) -> None:
        command = [*self.as_user, str(self.bin / program), *options]
        done = subprocess.run(command, cwd=self.folder, capture_output=True, text=True, timeout=120, check=False)
        assert done.returncode == 0, done.stdout + done.stderr

    def _control(self, *options: str) -> None:
        # its children must not hold a pipe of ours open
        command = [*self.as_user, str(self.bin / "pg_ctl"), "-D", str(self.folder / "data"), "-w", *options]
        null = subprocess.DEVNULL
        subprocess.run(command, cwd=self.folder, stdin=null, stdout=null, stderr=null, timeout=120, check=True)

    def start(self) -> None:
        listen = f"-c listen_addresses='' -c unix_socket_directories={self.folder} -c max_connections=60 -c fsync=off"
        self._control("-l", str(self.folder / "log"), "-o", listen, "start")

    def stop(self) -> None:
        """As if the machine went away."""
        self._control("-m", "immediate", "stop")

    def url(self, name: str = "postgres") -> str:
        return f"postgresql://steelyard@/{name}?host={self.folder}"

    def database(self) -> str:
        """The address of a new database."""
        self.databases += 1
        name = f"d{self.databases}"
        self._run("createdb", "-h", str(self.folder), "-U", "steelyard", name)
        return self.url(name)

    def close(self) -> None:
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)
