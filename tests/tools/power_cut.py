"""A file system that loses what was not synced: the disk of a machine whose power is cut."""

from __future__ import annotations

import random
from pathlib import Path

import apsw

PAGE = 512  # bytes that a disk writes whole


class Disk:
    """Files as they would be after a power cut: what was synced, and of the rest each sector by chance."""

    def __init__(self, source: random.Random) -> None:
        self.source = source
        self.synced: dict[str, bytearray] = {}
        self.pending: dict[str, list[tuple[int, bytes]]] = {}
        self.syncs = 0

    def write(self, name: str, offset: int, data: bytes) -> None:
        self.pending.setdefault(name, []).append((offset, data))

    def truncate(self, name: str, size: int) -> None:
        self.pending.setdefault(name, []).append((size, b""))

    def sync(self, name: str) -> None:
        self.syncs += 1
        image = self.synced.setdefault(name, bytearray())
        for offset, data in self.pending.pop(name, []):
            self._apply(image, offset, data)

    @staticmethod
    def _apply(image: bytearray, offset: int, data: bytes) -> None:
        if not data:
            del image[offset:]
            return
        if len(image) < offset:
            image.extend(bytes(offset - len(image)))
        image[offset : offset + len(data)] = data

    def after_power_cut(self, folder: Path) -> None:
        """Write the files as they are found when the power is back."""
        for name in {*self.synced, *self.pending}:
            image = bytearray(self.synced.get(name, b""))
            for offset, data in self.pending.get(name, []):
                if not data:
                    if self.source.random() < 0.5:
                        self._apply(image, offset, data)
                    continue
                for at in range(0, len(data), PAGE):
                    if self.source.random() < 0.5:
                        self._apply(image, offset + at, data[at : at + PAGE])
            (folder / Path(name).name).write_bytes(bytes(image))


class CutFile(apsw.VFSFile):
    """Passes everything on, and tells the disk."""

    def __init__(self, inherit: str, name, flags, disk: Disk) -> None:
        self.disk = disk
        self.name = name.filename() if isinstance(name, apsw.URIFilename) else name
        super().__init__(inherit, name, flags)

    def xWrite(self, data: bytes, offset: int) -> None:  # noqa: N802
        super().xWrite(data, offset)
        self.disk.write(self.name, offset, bytes(data))

    def xTruncate(self, size: int) -> None:  # noqa: N802
        super().xTruncate(size)
        self.disk.truncate(self.name, size)

    def xSync(self, flags: int) -> None:  # noqa: N802
        super().xSync(flags)
        self.disk.sync(self.name)


class CutVFS(apsw.VFS):
    """Registers itself under a name that connections ask for."""

    def __init__(self, name: str, disk: Disk) -> None:
        self.name_, self.disk = name, disk
        super().__init__(name, "")

    def xOpen(self, name, flags):  # noqa: N802
        return CutFile("", name, flags, self.disk)

    def xDelete(self, filename: str, syncdir: bool) -> None:  # noqa: N802
        super().xDelete(filename, syncdir)
        self.disk.synced.pop(filename, None)
        self.disk.pending.pop(filename, None)
