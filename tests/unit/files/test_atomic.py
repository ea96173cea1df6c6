import os
import stat

import pytest

from steelyard.files import write_atomically


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_a_block_that_ends_well_replaces_the_file_and_keeps_its_mode(tmp_path):
    target = tmp_path / "out.csv"
    target.write_bytes(b"old")
    target.chmod(0o640)
    with write_atomically(target) as file:
        file.write(b"new")
        assert target.read_bytes() == b"old"
    assert target.read_bytes() == b"new"
    assert stat.S_IMODE(target.stat().st_mode) == 0o640
    assert names(tmp_path) == ["out.csv"]


def test_a_block_that_fails_leaves_the_old_file_and_nothing_else(tmp_path):
    target = tmp_path / "out.csv"
    target.write_bytes(b"old")

    def interrupted():
        with write_atomically(target) as file:
            file.write(b"half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert target.read_bytes() == b"old"
    assert names(tmp_path) == ["out.csv"]


@pytest.mark.parametrize("failing", ["fsync", "replace"])
def test_a_disk_that_fails_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch, failing):
    target = tmp_path / "out.csv"
    target.write_bytes(b"old")

    def fail(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, failing, fail)
    with pytest.raises(OSError, match="No space"), write_atomically(target) as file:
        file.write(b"new")
    assert target.read_bytes() == b"old"
    assert names(tmp_path) == ["out.csv"]


def test_the_file_and_then_its_folder_are_synced(tmp_path, monkeypatch):
    seen = []
    monkeypatch.setattr(os, "fsync", lambda handle: seen.append(stat.S_ISDIR(os.fstat(handle).st_mode)))
    with write_atomically(tmp_path / "a") as file:
        file.write(b"x")
    assert seen == [False, True]


def test_a_symbolic_link_is_followed_and_stays_one(tmp_path):
    real = tmp_path / "deep" / "real"
    real.parent.mkdir()
    real.write_bytes(b"old")
    link = tmp_path / "link"
    link.symlink_to(real)
    with write_atomically(link) as file:
        file.write(b"new")
    assert link.is_symlink()
    assert real.read_bytes() == b"new"


def test_files_of_the_user_with_a_similar_name_are_left_alone(tmp_path):
    for name in ("u.part", "u.partial", "u.tmp", ".u.tmp"):
        (tmp_path / name).write_bytes(b"mine")
    with write_atomically(tmp_path / "u") as file:
        file.write(b"new")
    assert all((tmp_path / name).read_bytes() == b"mine" for name in names(tmp_path) if name != "u")
    assert len(names(tmp_path)) == 5


def test_a_new_file_has_the_mode_of_the_users_umask(tmp_path):
    before = os.umask(0o027)
    try:
        with write_atomically(tmp_path / "a") as file:
            file.write(b"x")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == 0o640


def test_something_that_is_no_file_is_written_directly(tmp_path):
    with write_atomically("/dev/null") as file:
        file.write(b"x")
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)
