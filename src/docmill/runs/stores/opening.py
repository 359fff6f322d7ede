"""Stores by their address."""

from pathlib import Path
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from docmill.errors import MisconfiguredError
from docmill.runs.states import StateStore
from docmill.runs.stores.memory import MemoryStore
from docmill.runs.stores.sqlite import SqliteStore

DEFAULT_PATH = Path(".docmill") / "runs.sqlite"


def open_store(address: StateStore | Path | str | None) -> StateStore:
    """The store of an address.

    That is the path of a SQLite file, `redis://` or `rediss://` (see `RedisStore`), or `memory:`; None:
    `DEFAULT_PATH`. A store is returned as it is. Raises MisconfiguredError for an address of another kind,
    one that cannot be used, or a missing library.
    """
    match address:
        case None:
            return SqliteStore(DEFAULT_PATH)
        case Path():
            return SqliteStore(address)
        case "memory:":
            return MemoryStore()
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
    parts = urlsplit(address)
    user, has_user, place = parts.netloc.rpartition("@")
    netloc = f"{user.partition(':')[0]}{':***' if ':' in user else ''}{has_user}{place}"
    options = [(name, "***" if "password" in name else value) for name, value in parse_qsl(parts.query)]
    return urlunsplit(parts._replace(netloc=netloc, query=urlencode(options, safe="*/:")))
