"""What the service says on its standard output, which nobody may be reading any more."""

from __future__ import annotations

import os
import sys


def say(line: str) -> None:
    """Print a line; where the reader of a pipe has gone, or its disk is full, serving goes on without it."""
    try:
        print(line, flush=True)
    except OSError:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())  # else the end of the process tries to write it once more
        os.close(nowhere)
