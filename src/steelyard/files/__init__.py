"""Files that survive: whole-or-nothing writes, locks, and the `.steelyard` container with its limits."""

from .atomic import write_atomically
from .container import MAX_BYTES, Node, read_container, reading, write_container
from .locks import lock_file

__all__ = ["MAX_BYTES", "Node", "lock_file", "read_container", "reading", "write_atomically", "write_container"]
