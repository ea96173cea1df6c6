"""The folder a comparison writes to: a marker says it is ours, and what others put there is never touched."""

from __future__ import annotations

import os
import time
import zipfile
from pathlib import Path

from ..errors import StateError
from ..files import write_atomically
from ..validation.values import invalid

MARKER = ".steelyard-report"
REPORT, MODEL, CARD, STATE = "report.html", "model.steelyard", "card.json", "state"
_SAID = (
    "Made by `steelyard compare`: it keeps or replaces report.html, model.steelyard, card.json and state here, "
    "nothing else.\n"
)


def claim_folder(out: Path) -> None:
    """Make the folder ours, or raise if it holds files of the names we write that we did not.

    Raises
    ------
    InvalidInputError
        Before anything is written.
    """
    if not (out / MARKER).exists():
        for name in (REPORT, MODEL, CARD, STATE):
            if os.path.lexists(out / name):
                hint = "Nothing was written. Give another --out, or move that file away."
                raise invalid("--out", f"hold no {name} of yours, which a comparison would replace", str(out), hint)
    out.mkdir(parents=True, exist_ok=True)
    if not (out / MARKER).exists():
        write_whole(out / MARKER, _SAID)


def open_state(out: Path, settings: str, resume: bool) -> Path:
    """The folder of finished folds; only a comparison with equal ``settings`` may go on from them."""
    claim_folder(out)
    folder, known = out / STATE, out / STATE / "settings.json"
    if resume and known.exists() and known.read_text(encoding="utf-8") != settings:
        raise StateError(f"{folder} must hold the same data, costs, folds, candidates and seed; run without --resume.")
    if not resume and folder.exists():
        for path in folder.glob("*.npz"):
            if is_fold(path):
                path.unlink()
    folder.mkdir(exist_ok=True)
    if not (folder / ".gitignore").exists():
        write_whole(folder / ".gitignore", "*\n")
    write_whole(known, settings)
    return folder


def is_fold(path: Path) -> bool:
    """Whether a file is a fold that a comparison has written."""
    try:
        with zipfile.ZipFile(path) as file:
            return set(file.namelist()) in ({"proba.npy", "about.npy"}, {"failed.npy"})
    except (OSError, ValueError, zipfile.BadZipFile):
        return False


def keep_earlier(out: Path, overwrite: bool) -> list[Path]:
    """Put an earlier report, model and card aside as ``report-<time>.html``, unless they may be overwritten."""
    kept = []
    for name in (REPORT, MODEL, CARD):
        earlier = out / name
        if overwrite or not earlier.exists():
            continue
        when = time.strftime("%Y%m%dT%H%M%S", time.localtime(earlier.stat().st_mtime))
        aside = earlier.with_name(f"{earlier.stem}-{when}{earlier.suffix}")
        number = 1
        while os.path.lexists(aside):
            number += 1
            aside = earlier.with_name(f"{earlier.stem}-{when}-{number}{earlier.suffix}")
        earlier.rename(aside)
        kept.append(aside)
    return kept


def write_whole(path: Path, text: str) -> None:
    """Write a small file, whole or not at all."""
    with write_atomically(path) as file:
        file.write(text.encode())
