"""Downloads against a server on this machine: whatever goes wrong, nothing half-written stays."""

import gzip
import hashlib
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from steelyard import ChecksumError, DataNotFoundError, InvalidInputError
from steelyard.data import fetch
from steelyard.data.fetch import DataFile, find

CONTENT = b"+1 1:0.5\n-1 2:1\n" * 5000


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


class Server(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        if self.path == "/missing":
            self.send_error(404)
            return
        if self.path in ("/moved", "/moved-to-ftp"):
            self.send_response(302)
            self.send_header("Location", "/rows.svm" if self.path == "/moved" else "ftp://127.0.0.1/rows.svm")
            self.end_headers()
            return
        body = {"/other": b"something else", "/packed": gzip.compress(CONTENT)}.get(self.path, CONTENT)
        self.send_response(200)
        if self.path != "/unannounced":
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body[: len(body) // 2] if self.path in ("/cut", "/cut-unannounced") else body)

    def log_message(self, *args: object) -> None:
        pass


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Server) as running:
        thread = threading.Thread(target=running.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{running.server_address[1]}"
        running.shutdown()
        thread.join()


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("STEELYARD_DATA", "STEELYARD_MIRROR", "http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(fetch, "cache_folder", lambda: tmp_path / "cache")
    return tmp_path / "cache"


def wanted(address: str, content: bytes = CONTENT, path: str = "rows.svm") -> DataFile:
    return DataFile(path, sha256(content), len(content), rows=10_000, address=address)


@pytest.mark.parametrize("page", ["rows.svm", "moved", "unannounced"])
def test_a_download_is_kept_and_found_again(page: str, server: str, cache: Path) -> None:
    found = find(wanted(f"{server}/{page}"))
    assert found == cache / "rows.svm"
    assert found.read_bytes() == CONTENT
    assert [p.name for p in cache.iterdir()] == ["rows.svm"]
    assert find(wanted("http://127.0.0.1:9/nobody-asks")) == found


def test_the_same_content_under_another_compression_will_do(server: str, cache: Path) -> None:
    found = find(wanted(f"{server}/packed"))
    assert gzip.decompress(found.read_bytes()) == CONTENT
    packed = DataFile("w.bz2", "0" * 64, 1, rows=1, content_sha256=sha256(CONTENT), address=f"{server}/rows.svm")
    assert find(packed).read_bytes() == CONTENT


@pytest.mark.parametrize(
    ("page", "error", "words"),
    [
        ("other", ChecksumError, "its content is another. Nothing was kept"),
        ("cut", DataNotFoundError, "failed"),
        ("missing", DataNotFoundError, "Not Found"),
        ("moved-to-ftp", DataNotFoundError, "failed"),
    ],
)
def test_what_goes_wrong_leaves_nothing(
    page: str, error: type[Exception], words: str, server: str, cache: Path
) -> None:
    with pytest.raises(error, match=words):
        find(wanted(f"{server}/{page}"))
    assert list(cache.iterdir()) == []


def test_a_cut_transfer_without_announced_length_fails_its_checksum(server: str, cache: Path) -> None:
    cut = CONTENT[: len(CONTENT) // 2]
    with pytest.raises(ChecksumError):
        find(wanted(f"{server}/unannounced", content=cut))
    assert list(cache.iterdir()) == []


def test_nobody_listens(cache: Path) -> None:
    with pytest.raises(DataNotFoundError) as caught:
        find(wanted("http://127.0.0.1:1/rows.svm"))
    words = str(caught.value)
    assert f"Put it into {cache}" in words
    assert "rows.svm (80000 bytes, sha256 " in words
    assert "http://127.0.0.1:1/rows.svm failed" in words
    assert list(cache.iterdir()) == []


@pytest.mark.parametrize("address", ["ftp://127.0.0.1/rows.svm", "data:,x", "C:/rows"])
def test_other_schemes_are_refused(address: str, cache: Path) -> None:
    with pytest.raises(DataNotFoundError, match="failed"):
        find(wanted(address))
    assert list(cache.iterdir()) == []


def test_a_cache_that_cannot_be_made(server: str, cache: Path) -> None:
    cache.write_bytes(b"a file where the folder should be")
    with pytest.raises(DataNotFoundError, match="there is no place to keep it"):
        find(wanted(f"{server}/rows.svm"))


def test_an_interruption_leaves_nothing(server: str, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*args: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(fetch, "_transfer", interrupted)
    with pytest.raises(KeyboardInterrupt):
        find(wanted(f"{server}/rows.svm"))
    assert list(cache.iterdir()) == []


def test_a_mirror_takes_the_place_of_the_address(
    server: str, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STEELYARD_MIRROR", f"{server}/")
    assert find(wanted("")).read_bytes() == CONTENT
    (cache / "rows.svm").unlink()
    (tmp_path / "shelf").mkdir()
    (tmp_path / "shelf" / "rows.svm").write_bytes(CONTENT)
    monkeypatch.setenv("STEELYARD_MIRROR", (tmp_path / "shelf").as_uri())
    assert find(wanted("")).read_bytes() == CONTENT
    (cache / "rows.svm").unlink()
    monkeypatch.setenv("STEELYARD_MIRROR", "ftp://127.0.0.1")
    with pytest.raises(InvalidInputError, match="STEELYARD_MIRROR must be an http, https or file address"):
        find(wanted(""))


def test_the_data_folder_comes_first(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    monkeypatch.setenv("STEELYARD_DATA", str(folder))
    with pytest.raises(DataNotFoundError, match="no public address serves it") as caught:
        find(wanted(""))
    assert f"Put it into {folder} or {cache}" in str(caught.value)
    (folder / "rows.svm.gz").write_bytes(gzip.compress(CONTENT))
    assert find(wanted("")) == folder / "rows.svm.gz"
    with pytest.raises(DataNotFoundError, match="not to be downloaded"):
        find(wanted("http://127.0.0.1:1/", path="else.svm"), download=False)


@pytest.mark.parametrize("content", [b"", b"changed", gzip.compress(CONTENT)[:-30]])
def test_a_wrong_file_is_an_error_not_passed_over(
    content: bytes, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STEELYARD_DATA", str(tmp_path))
    (tmp_path / "rows.svm").write_bytes(content)
    with pytest.raises(ChecksumError, match=r"rows\.svm must have the sha256"):
        find(wanted("http://127.0.0.1:1/rows.svm"))


def test_a_changed_file_is_looked_at_again(cache: Path) -> None:
    cache.mkdir()
    (cache / "rows.svm").write_bytes(CONTENT)
    assert find(wanted(""))
    (cache / "rows.svm").write_bytes(CONTENT[:-1] + b" ")
    with pytest.raises(ChecksumError):
        find(wanted(""))


@pytest.mark.parametrize(
    ("platform", "variables", "expected"),
    [
        ("linux", {"XDG_CACHE_HOME": "/x"}, "/x/steelyard"),
        ("linux", {}, "/home/me/.cache/steelyard"),
        ("darwin", {}, "/home/me/Library/Caches/steelyard"),
        ("win32", {"LOCALAPPDATA": "/local"}, "/local/steelyard/Cache"),
        ("win32", {}, "/home/me/AppData/Local/steelyard/Cache"),
    ],
)
def test_the_cache_lies_where_the_system_wants_it(
    platform: str, variables: dict[str, str], expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.platform", platform)
    monkeypatch.setattr(Path, "home", lambda: Path("/home/me"))
    for name in ("XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert fetch.cache_folder() == Path(expected)
