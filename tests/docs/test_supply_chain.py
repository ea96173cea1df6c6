"""What CI installs is pinned by hash, comes from no named index, and its licences are known."""

import re
import runpy
import tomllib
from importlib.metadata import distribution
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FILES = sorted((ROOT / "constraints").glob("*.txt"))
LICENCES = runpy.run_path(str(ROOT / "scripts" / "licences"))
PERMISSIVE = re.compile(
    r"Apache|BSD|MIT|MPL|PSF|Python Software Foundation|ISC|Unlicense|Zlib|HPND|CC0|Mozilla|0BSD|Public Domain"
)
LOOKED_AT = {  # extras that we import and neither change nor ship
    "apsw": "any-OSI",  # the user chooses any approved licence
    "psycopg": "LGPL-3.0-only",
    "psycopg-binary": "LGPL-3.0-only",
}


@pytest.mark.parametrize("file", FILES, ids=lambda path: path.stem)
def test_every_package_is_pinned_with_hashes(file: Path) -> None:
    entries = re.split(r"\n(?=\S)", file.read_text().strip())
    assert entries
    for entry in entries:
        assert re.match(r"[a-z0-9][\w.-]*==\S+( ; .*?)? \\\n", entry), entry
        assert "--hash=sha256:" in entry
        assert "://" not in entry


def test_every_install_of_the_workflows_demands_hashes() -> None:
    for file in (ROOT / ".github" / "workflows").glob("*.yml"):
        for line in file.read_text().splitlines():
            if "pip install" in line and "docker" not in line and "--no-index" not in line:
                assert "--require-hashes -r constraints/" in line, line


def test_no_licence_is_new() -> None:
    listed = LICENCES["listed"]()
    assert set(LICENCES["pinned"]()) == set(listed), "look at the licence of what is new, then run: scripts/licences"
    for package, licence in LICENCES["installed"]().items():
        assert listed[package] == licence, f"{package} has another licence now: look at it, then run: scripts/licences"


def test_every_listed_licence_allows_what_we_do_with_it() -> None:
    for package, licence in LICENCES["listed"]().items():
        allowed = PERMISSIVE.search(licence) or licence == LOOKED_AT.get(package)
        assert allowed, f"{package}: {licence}"


def test_what_a_wheel_contains_of_others_comes_with_its_licence() -> None:
    """nanobind and its hash table are compiled into the extension, uPlot is copied into pages."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    shipped = {path.name: path.read_text(encoding="utf-8") for g in project["license-files"] for path in ROOT.glob(g)}
    assert set(shipped) == {"LICENSE", "nanobind.txt", "robin_map.txt", "uPlot.LICENSE"}
    assert project["license"] == "BSD-3-Clause AND MIT"
    assert "Leon Sorokin" in shipped["uPlot.LICENSE"]
    nanobind = distribution("nanobind")
    assert nanobind.read_text("licenses/LICENSE") == shipped["nanobind.txt"]
    header = Path(str(nanobind.locate_file("nanobind/ext/robin_map/include/tsl/robin_map.h"))).read_text("utf-8")
    assert _words(shipped["robin_map.txt"]) in _words(header)


def _words(text: str) -> str:
    return " ".join(re.sub(r"^ *\*", " ", text, flags=re.MULTILINE).split())
