"""A project as the commands read it: from its place, beside a service that may be running."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from ...validation.values import invalid
from ..database.places import Place, open_existing
from ..database.sqlite import SQLiteStore
from ..database.store import ProjectHead
from ..log.settings import ProjectSettings
from ..writer.projects import first_settings


class ReadProject(NamedTuple):
    """A project, the store it is in, and the settings it began with."""

    store: SQLiteStore
    head: ProjectHead
    settings: ProjectSettings


@contextmanager
def read_project(data: Place, slug: str) -> Iterator[ReadProject]:
    """The project that `--project` names; its store is closed afterwards."""
    store = open_existing(data, readonly=True)
    try:
        head = store.project(slug)
        if head is None:
            raise invalid("--project", "exist", slug)
        yield ReadProject(store, head, first_settings(store, head))
    finally:
        store.close()
