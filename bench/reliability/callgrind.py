"""Instructions of pieces of work, counted by valgrind's callgrind: counts do not depend on what else a machine does.

The process that works marks where a piece begins and ends; needs valgrind with its headers and a C compiler.
"""

from __future__ import annotations

import ctypes
import os
import re
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

MARKS = """#include <valgrind/callgrind.h>
void begin(void) { CALLGRIND_START_INSTRUMENTATION; CALLGRIND_ZERO_STATS; }
void end(const char *name) { CALLGRIND_DUMP_STATS_AT(name); CALLGRIND_STOP_INSTRUMENTATION; }
"""


def between_marks(marks: str, name: str, run: Callable[[], Any]) -> Any:
    """Do a piece of work; what it returns."""
    library = ctypes.CDLL(marks)
    library.begin()
    found = run()
    library.end(name.encode())
    return found


def count_instructions(arguments: list[str], folder: Path, environment: Mapping[str, str]) -> dict[str, int]:
    """Instructions by the name of each piece that Python does; the library with the marks is its last argument."""
    folder.mkdir(exist_ok=True)
    marks = folder / "marks.so"
    (folder / "marks.c").write_text(MARKS, encoding="utf-8")
    subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", marks, folder / "marks.c"], check=True)
    command = ["valgrind", "--tool=callgrind", "--instr-atstart=no", f"--callgrind-out-file={folder}/counts"]
    one_thread = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(
        [*command, sys.executable, *arguments, str(marks)],
        env={**os.environ, **one_thread, **environment},
        capture_output=True,
        text=True,
    )
    if done.returncode:
        sys.exit(done.stderr)
    found = {}
    for path in sorted(folder.glob("counts.*")):
        text = path.read_text(encoding="utf-8", errors="replace")
        name = re.search(r"^desc: Trigger: Client Request: (.*)$", text, re.MULTILINE)
        count = re.search(r"^(?:summary|totals): (\d+)", text, re.MULTILINE)
        if name and count:
            found[name[1]] = int(count[1])
    return found
