"""Stores by their address."""

from pathlib import Path
from urllib.parse import parse_qsl, urlencode, urlsplit

from docmill.errors import MisconfiguredError
from docmill.runs.states import StateStore
from docmill.runs.stores.memory import MemoryStore
from docmill.runs.stores.sqlite import SqliteStore

DEFAULT_PATH = Path(".docmill") / "runs.sqlite"


def open_store(address: StateStore | Path | str | None) -> StateStore:
    """The store of an address.

    That is the path of a SQLite file, `postgresql://` (see `PostgresStore`), `redis://` or `rediss://` (see
    `RedisStore`), or `memory:`; None: `DEFAULT_PATH`. A store is returned as it is. Raises MisconfiguredError
    for an address of another kind, one that cannot be used, or a missing library.
    """
    match address:
        case None | Path():
            return SqliteStore(address or DEFAULT_PATH)
        case "memory:":
            return MemoryStore()
        case str() if address.startswith(("postgresql://", "postgres://")):
            return _open_postgres(address)
        case str() if address.startswith(("redis://", "rediss://")):
            from docmill.runs.stores.redis_store import RedisStore  # noqa: PLC0415  only its extra brings it

            return RedisStore(address)
        case str() if "://" in address:
            scheme = address.partition("://")[0]
            raise MisconfiguredError(f"there is no state store of the kind {scheme!r}")
        case str():
            return SqliteStore(address)
        case _:
            return address


def shown_address(address: str) -> str:
    """The address without its password, to be shown."""
    if "://" not in address:
        return address
    try:
        parts = urlsplit(address)
    except ValueError:  # it cannot be used, either
        return address.partition("://")[0] + "://…"
    user, has_user, place = parts.netloc.rpartition("@")
    netloc = f"{user.partition(':')[0]}{':***' if ':' in user else ''}{has_user}{place}"
    options = [(name, "***" if "password" in name else value) for name, value in parse_qsl(parts.query)]
    query = urlencode(options, safe="*/:")
    return f"{parts.scheme}://{netloc}{parts.path}{'?' if query else ''}{query}"


def _open_postgres(url: str) -> StateStore:
    try:
        from docmill.runs.stores.postgres import PostgresStore  # noqa: PLC0415  an extra installs its driver
    except ImportError as error:  # also of a driver without its library
        raise MisconfiguredError(
            "states of runs in PostgreSQL need psycopg; run: pip install 'docmill[postgres]'"
        ) from error
    return PostgresStore(url)
