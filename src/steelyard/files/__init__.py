"""Files that survive: whole-or-nothing writes, locks, and the `.steelyard` container with its limits."""

from .atomic import sync_folder, write_atomically
from .container import MAX_BYTES, Node, read_container, reading, write_container, write_tensors
from .fields import LARGEST, MOST_FEATURES, Fields, Room, plain_settings, write_labels, write_rows
from .locks import lock_file
from .paths import check_new, check_paths

__all__ = [
    "LARGEST",
    "MAX_BYTES",
    "MOST_FEATURES",
    "Fields",
    "Node",
    "Room",
    "check_new",
    "check_paths",
    "lock_file",
    "plain_settings",
    "read_container",
    "reading",
    "sync_folder",
    "write_atomically",
    "write_container",
    "write_labels",
    "write_rows",
    "write_tensors",
]
