"""What an owner types on the pages: costs beside classes that change, odd files, numbers as the pages write them."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("apsw", reason="needs apsw: pip install 'steelyard[serve]'")

from service_place import ROW, Place, seen
from service_server import visit

FORM = ["wait", "!document.getElementById('form').hidden"]
COSTS = "[...document.querySelectorAll('#costs input')].map((one) => Number(one.value))"
TEXT = "document.getElementById('%s').textContent"


def file_of(folder: Path, name: str, *lines: str) -> str:
    """A file to drop."""
    path = folder / name
    path.write_text("\n".join(lines) + "\n")
    return str(path)


def test_costs_stay_with_their_classes(place: Place, tmp_path: Path) -> None:
    """A class that is put in front moves the others; one that is renamed keeps its costs; those of a column go."""
    file = file_of(tmp_path, "a.csv", "n,label,other", "1,good,u", "2,good,u", "3,fraud,v")
    typed = lambda text: ["fill", "#classes", text]  # noqa: E731
    steps = [["goto", "/new"], ["upload", "#file", file], FORM, ["fill", "[aria-label='is fraud, decided good']", "10"]]
    steps += [typed("unclear\ngood\nfraud"), ["eval", COSTS], typed("unclear\nfine\nfraud"), ["eval", COSTS]]
    steps += [typed("fine\nfraud"), ["eval", COSTS], ["choose", "#target", "other"], ["eval", COSTS]]
    put, renamed, without, another = seen(place.visit(place.owner, *steps))
    assert put == renamed == [0, 1, 1, 1, 0, 1, 1, 10, 0]
    assert without == [0, 1, 10, 0]
    assert another == [0, 1, 1, 0]


def test_rows_that_are_not_whole_are_refused_and_said(place: Place, tmp_path: Path) -> None:
    """The head of a large file is looked at; a row with other cells behind it must not be shifted or filled up."""
    lines = [f"{i},{'late' if i % 5 == 0 else 'good'},{'x' * 4000}" for i in range(1100)]
    lines += ["7", "8,good,x,9", "1e999,good,x"]
    file = file_of(tmp_path, "calls.csv", "seconds,label,note", *lines)
    steps = [["goto", "/new"], ["upload", "#file", file], FORM, ["choose", "#columns tr:nth-child(3) select", "shown"]]
    steps += [["click", "#make"], ["wait", f"{TEXT % 'said'}.includes('rows decided')"], ["eval", TEXT % "said"]]
    said = seen(place.visit(place.owner, *steps))[-1]
    assert said.startswith("Project calls is made; 1,100 rows decided, 3 refused (row 1,101 has 1 cells, the header 3)")


@pytest.mark.parametrize(("mark", "name"), [(";", "semicolons"), ("\t", "tabs")])
def test_a_file_without_commas_is_named(place: Place, tmp_path: Path, mark: str, name: str) -> None:
    file = file_of(tmp_path, "a.csv", mark.join("ab"), mark.join(("1,5", "2")))
    steps = [["goto", "/new"], ["upload", "#file", file], ["wait", f"{TEXT % 'file-said'}.includes('commas')"]]
    steps += [["eval", TEXT % "file-said"], ["axe"]]
    assert seen(place.visit(place.owner, *steps)) == [f"a.csv has {name} between its cells. Save it with commas.", []]


def test_a_file_that_would_take_all_labels_at_once_is_said_to(place: Place, tmp_path: Path) -> None:
    file = file_of(tmp_path, "a.csv", "n,label", *(f"{i},{'good' if i % 3 else 'late'}" for i in range(40)))
    steps = [["goto", "/new"], ["upload", "#file", file], FORM, ["fill", "#budget", "10"], ["eval", TEXT % "at-once"]]
    steps += [["click", "#send-rows"], ["eval", TEXT % "at-once"], ["click", "#send-rows"], ["fill", "#budget", "40"]]
    steps += [["eval", TEXT % "at-once"], ["fill", "#budget", "10"], ["click", "#make"]]
    steps += [["wait", f"{TEXT % 'said'}.includes('40 rows decided')"]]
    early, unsent, enough = seen(place.visit(place.owner, *steps))
    assert "the first 10 rows take all labels" in early
    assert (unsent, enough) == ("", "")
    owner = visit(place.server, place.folder, place.owner)
    assert owner.send("GET", "/v1/a/summary")[2]["open"] == 10


def test_a_number_with_a_comma_erases_no_two_rows(place: Place) -> None:
    """The pages write 1,234 for one event; rows that are erased do not come back."""
    place.push(*[ROW | {"amount": float(i)} for i in range(4)])
    said = "document.querySelector('form.erase [role=status]').textContent"
    erase = lambda text: [  # noqa: E731
        ["fill", "[name=items]", text],
        ["eval", "document.querySelector('form.erase input[type=checkbox]').checked = true, null"],
        ["click", "form.erase button"],
        ["wait", f"{said} !== '' && !document.querySelector('form.erase button').disabled"],
        ["eval", said],
    ]
    steps = [["goto", "/p/p/settings"], *erase("2,003"), *erase("2, 3,4 5")]
    unclear, erased = seen(place.visit(place.owner, *steps))
    assert unclear == "2,003 may be one number or several. Write 2003, or 2, 003."
    assert erased.startswith("Erased: 2, 3, 4, 5, by event")


def test_a_link_that_cannot_be_copied_is_said(place: Place) -> None:
    deny = "navigator.clipboard.writeText = () => Promise.reject(new DOMException('no', 'NotAllowedError')), null"
    steps = [["goto", "/people"], ["click", ".link"], ["wait", "!document.getElementById('new-link').hidden"]]
    steps += [["eval", deny], ["click", "#copy"], ["wait", f"{TEXT % 'people-said'}.includes('mark the link instead')"]]
    place.visit(place.owner, *steps)
