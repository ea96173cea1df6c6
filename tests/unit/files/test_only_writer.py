"""Whole-or-nothing writes are a rule of the house: no module opens a file for writing by itself."""

import ast
from pathlib import Path

import steelyard

ROOT = Path(steelyard.__file__).parent
ALLOWED = {
    "files/atomic.py",  # the writer
    "files/locks.py",  # a lock's own file must stay the same file
    "streaming/decision_log.py",  # append-only, by os.open
    "reproduction/results.py",  # append-only, by os.open
    "comparison/workers.py",  # a pipe to the parent process
    "data/fetch.py",  # a download goes to a temporary file and is renamed when its checksum is right
}
WRITERS = {"write_text", "write_bytes", "to_csv", "to_parquet", "savez_compressed", "tofile"}


def mode_of(call: ast.Call) -> str:
    is_method = isinstance(call.func, ast.Attribute) and not (
        isinstance(call.func.value, ast.Name) and call.func.value.id in ("io", "os", "gzip", "bz2", "lzma", "builtins")
    )
    places = [*call.args[0 if is_method else 1 :][:1], *(k.value for k in call.keywords if k.arg == "mode")]
    return "".join(p.value for p in places if isinstance(p, ast.Constant) and isinstance(p.value, str))


def writes(tree: ast.Module) -> list[int]:
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            opens = name in ("open", "fdopen") and len(mode_of(node)) <= 3 and set(mode_of(node)) & set("wax+")
            if opens or name in WRITERS:
                found.append(node.lineno)
    return found


def test_no_module_opens_a_file_for_writing() -> None:
    offenders = {
        str(path.relative_to(ROOT)): lines
        for path in sorted(ROOT.rglob("*.py"))
        if (lines := writes(ast.parse(path.read_text()))) and str(path.relative_to(ROOT)) not in ALLOWED
    }
    assert offenders == {}, "use steelyard.files.write_atomically"


def test_the_rule_sees_what_it_forbids() -> None:
    bad = [
        'open(p, "w")',
        'p.open("wb")',
        'open(p, mode="x")',
        'p.write_text("a")',
        'os.fdopen(h, "wb")',
        'io.open(p, "a")',
    ]
    for line in bad:
        assert writes(ast.parse(line)) == [1], line
    for line in ["open(p)", 'open(p, "rb")', "p.open()", 'file.write("w")', 'archive.open("www.txt")']:
        assert writes(ast.parse(line)) == [], line
