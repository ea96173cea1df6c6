import os
import signal
import subprocess
import sys

import pytest

from steelyard.errors import StateError
from steelyard.files import lock_file, locks

HOLD = """
import sys
from steelyard.files import lock_file
with lock_file(sys.argv[1]):
    print("held", flush=True)
    sys.stdin.read()
"""


def held(path):
    process = subprocess.Popen([sys.executable, "-c", HOLD, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdout.readline() == b"held\n"
    return process


def test_a_second_process_is_told_who_holds_the_file_and_a_dead_one_does_not_block(tmp_path):
    path = tmp_path / "s.steelyard"
    owner = held(path)
    try:
        with pytest.raises(StateError, match=rf"s\.steelyard is in use by process {owner.pid} since \d\d:\d\d"):
            lock_file(path).__enter__()
    finally:
        os.kill(owner.pid, signal.SIGKILL)
        owner.communicate()
    with lock_file(path):
        assert not path.exists()


def test_a_lock_is_free_again_after_its_block_and_one_process_cannot_hold_it_twice(tmp_path):
    path = tmp_path / "s"
    for _ in range(2):
        with lock_file(path), pytest.raises(StateError, match="in use"):
            lock_file(path).__enter__()


def test_a_link_and_its_target_share_a_lock(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "s")
    with lock_file(tmp_path / "s"), pytest.raises(StateError, match="link is in use"):
        lock_file(tmp_path / "link").__enter__()


@pytest.mark.skipif(not hasattr(os, "O_NOFOLLOW"), reason="links of POSIX")
def test_a_link_that_is_put_in_place_of_a_lock_is_not_written_through(tmp_path, monkeypatch):
    (tmp_path / "precious").write_text("kept")
    name_owner = locks._name_owner

    def swapped(place):
        place.unlink()
        place.symlink_to(tmp_path / "precious")
        name_owner(place)

    monkeypatch.setattr(locks, "_name_owner", swapped)
    with pytest.raises(OSError, match=r"\.s\.lock"), lock_file(tmp_path / "s"):
        pass
    assert (tmp_path / "precious").read_text() == "kept"
