"""Take the pictures of the documentation anew, from the pages as they are: docs/images.

Needs what ``scripts/browser`` brings, and takes three minutes.
Run: python tests/browser/pictures.py [compare] [label] [owner]; without a name all of them.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path.append(str(HERE.parent / "tools"))
from browser_scripts import run_script  # noqa: E402
from PIL import Image  # noqa: E402
from service_bench import settings_of  # noqa: E402
from service_server import ThreadedServer, code_for, make_person, make_service  # noqa: E402

from steelyard.client import Client  # noqa: E402
from steelyard.service.database.sqlite import SQLiteStore  # noqa: E402
from steelyard.service.people.accounts import people  # noqa: E402

IMAGES = HERE.parents[1] / "docs" / "images"
STEELYARD = [sys.executable, "-m", "steelyard.cli"]
COLUMNS = {"amount": "number", "merchant": "category", "category": "category", "country": "category", "hour": "number"}
COLUMNS |= {"since last": "number", "message": "text", "new device": "category"}
PAYMENT = {"amount": 249, "merchant": "Cardhaus", "category": "gift cards", "country": "DE", "hour": 3}
PAYMENT |= {"since last": 2, "message": "your parcel is held\npay fee", "new device": "yes"}
WATCHED = 57.0  # seconds of the demo before its picture


def picture(url: str, path: str, file: str, size: tuple[int, int], ready: str, code: str | None = None) -> None:
    """One page in one size, once what ``ready`` says is true."""
    steps = [["goto", path], ["wait", ready], ["shot", str(IMAGES / file)]]
    visit: dict[str, Any] = {"width": size[0], "height": size[1], "code": code, "steps": steps}
    (found,) = run_script("pages.js", {"url": url, "visits": [visit]})
    assert found["said"] == [], found["said"]
    with Image.open(IMAGES / file) as taken:
        few = taken.convert("RGB").quantize(128)  # half the bytes; nobody sees it
    few.save(IMAGES / file, optimize=True)
    print(IMAGES / file)


def compare(folder: Path) -> None:
    """The page that `steelyard demo` writes."""
    subprocess.run([*STEELYARD, "demo", "--out", str(folder / "page"), "--quiet"], check=True)
    for file, size in {"compare-1200": (1200, 1480), "compare-390": (390, 1500), "compare-top": (1200, 538)}.items():
        picture(f"file://{folder}/page", "/report.html", f"{file}.png", size, "document.readyState === 'complete'")


def label(folder: Path) -> None:
    """The label page of an annotator with six questions."""
    asking = {"columns": COLUMNS, "question": "Is this payment fraud?"}
    tokens = make_service(folder, settings=settings_of(**asking, guide="Gift cards at night"), slug="payments")
    bob = make_person(folder, "Bob Annotator", {"payments": "annotator"})
    with ThreadedServer(folder) as server:
        with Client(server.url, tokens["producer"], "payments") as client:
            for _ in range(6):
                client.decide(PAYMENT)
        for width, height in ((1200, 900), (390, 844)):
            ready = "!document.getElementById('fields').hidden"
            code = code_for(folder, bob)
            picture(server.url, "/p/payments/label", f"label-{width}.png", (width, height), ready, code)


def owner(folder: Path) -> None:
    """The owner page of the demo after a minute."""
    command = [*STEELYARD, "serve", "--demo", "--keep", str(folder / "demo"), "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as serving:
        assert serving.stdout is not None
        words = (word for line in serving.stdout for word in line.split())
        url = next(word for word in words if word.startswith("http")).partition("/login")[0]
        time.sleep(WATCHED)
        store = SQLiteStore(folder / "demo")
        visitor = next(one.id for one in people(store) if "_service" in one.roles)
        store.close()
        for width, height in ((1200, 860), (390, 844)):
            ready = (
                "document.getElementById('state').textContent === 'live' && document.querySelector('.uplot') !== null"
            )
            code = code_for(folder / "demo", visitor)
            picture(url, "/p/payments", f"owner-{width}.png", (width, height), ready, code)
        serving.terminate()


def main() -> None:
    wanted = sys.argv[1:] or ["compare", "label", "owner"]
    for name in wanted:
        with tempfile.TemporaryDirectory(prefix="pictures-") as folder:
            {"compare": compare, "label": label, "owner": owner}[name](Path(folder))


if __name__ == "__main__":
    main()
