"""A server that was busy gives its memory back."""

import subprocess
import sys

import pytest

MEGABYTE = 1 << 20
# A checkpoint asks for twice its size at first, then for its copies; what is small and stays comes behind them.
CHECKPOINT = """
import sys
from pathlib import Path
from steelyard.service.commands import serve


def resident():
    status = Path("/proc/self/status").read_text()
    return int(status.partition("RssAnon:")[2].split()[0]) * 1024


if sys.argv[1] == "settled":
    serve._settle_memory()
before = resident()
for _ in range(3):
    large = bytes([1]) * (30 << 20)
    del large
    copies = [bytes([1]) * (10 << 20) for _ in range(3)]
    stays = bytes([1]) * 10_000
    del copies
print(resident() - before)
"""


def kept_after_checkpoints(how: str) -> int:
    ran = subprocess.run([sys.executable, "-c", CHECKPOINT, how], capture_output=True, text=True, check=True)
    return int(ran.stdout)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux says what a process has")
def test_copies_of_a_checkpoint_go_back_to_the_system() -> None:
    assert kept_after_checkpoints("settled") < MEGABYTE
    libc = subprocess.run(["getconf", "GNU_LIBC_VERSION"], capture_output=True, text=True)
    if libc.returncode == 0:  # what the setting is for
        assert kept_after_checkpoints("as it is") > 20 * MEGABYTE
