"""Where the data of a service lie: a folder with an SQLite file, or a PostgreSQL database."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from ...errors import StateError
from ...validation.values import invalid, require
from .sqlite import DATABASE, SQLiteStore

Place = Path | str  # a str is the address of a database


def place_of(data: Path, database: str | None) -> Place:
    """The database if there is one, else the folder."""
    if database is None:
        return data
    if not database.startswith(("postgresql://", "postgres://")):
        raise invalid("--database", "begin with postgresql://", database.partition("@")[0][:40])
    require("psycopg", why="--database", extra="postgres")
    return database


def open_place(place: Place, *, readonly: bool = False, lost: Callable[[], None] | None = None) -> SQLiteStore:
    """The store there; a folder's is made if it is missing. ``lost`` is called when a database has gone."""
    if isinstance(place, Path):
        return SQLiteStore(place, readonly=readonly)
    from psycopg import OperationalError

    from .postgres import PostgresStore

    try:
        return PostgresStore(place, readonly=readonly, lost=lost)
    except OperationalError as error:
        said = " ".join(str(error).split())
        raise StateError(f"the database at {shown_place(place)} must answer; it does not: {said}") from None


def open_existing(place: Place, *, readonly: bool = False) -> SQLiteStore:
    """The same, of a folder that must have been made before."""
    if isinstance(place, Path) and not (place / DATABASE).is_file():
        raise invalid("--data", "be a folder that `steelyard service new` has made", str(place))
    return open_place(place, readonly=readonly)


def shown_place(place: Place) -> str:
    """Its name without a password."""
    if isinstance(place, Path):
        return str(place)
    scheme, _, rest = place.partition("://")
    return f"{scheme}://{rest.rpartition('@')[2]}"
