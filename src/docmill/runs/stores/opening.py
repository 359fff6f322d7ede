"""Stores by their address."""

from pathlib import Path
from urllib.parse import urlsplit

from docmill.errors import MisconfiguredError
from docmill.runs.states import StateStore
from docmill.runs.stores.memory import MemoryStore
from docmill.runs.stores.sqlite import SqliteStore

DEFAULT_PATH = Path(".docmill") / "runs.sqlite"


def open_store(address: StateStore | Path | str | None) -> StateStore:
    """The store of an address: the path of a SQLite file, `memory:` or `postgresql://USER@HOST/DATABASE`.

    None: the SQLite file `DEFAULT_PATH`. A store is returned as it is. Raises MisconfiguredError for an
    address of another kind.
    """
    match address:
        case None:
            return SqliteStore(DEFAULT_PATH)
        case Path():
            return SqliteStore(address)
        case "memory:":
            return MemoryStore()
        case str() if address.startswith(("postgresql://", "postgres://")):
            return _open_postgres(address)
        case str() if "://" in address:
            scheme = address.partition("://")[0]
            raise MisconfiguredError(f"there is no state store of the kind {scheme!r}")
        case str():
            return SqliteStore(address)
        case _:
            return address


def without_password(address: str) -> str:
    """The address of a store as it may be shown: without a password, which may stand in its options, too."""
    if "://" not in address:
        return address
    try:
        parts = urlsplit(address)
    except ValueError:  # it cannot be used, either
        return address.partition("://")[0] + "://…"
    user, at, host = parts.netloc.rpartition("@")
    names = {option: option.partition("=")[0].lower() for option in parts.query.split("&")}
    options = "&".join(option for option, name in names.items() if "password" not in name)
    place = f"{parts.scheme}://{user.partition(':')[0]}{at}{host}{parts.path}"
    return f"{place}?{options}" if options else place


def _open_postgres(url: str) -> StateStore:
    try:
        from docmill.runs.stores.postgres import PostgresStore  # noqa: PLC0415  an extra installs its driver
    except ImportError as error:  # also of a driver without its library
        raise MisconfiguredError(
            "states of runs in PostgreSQL need psycopg; run: pip install 'docmill[postgres]'"
        ) from error
    return PostgresStore(url)
