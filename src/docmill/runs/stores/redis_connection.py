"""A connection to a Redis server that survives lost connections and restarts of the server."""

import logging
import math
import time
from collections.abc import Callable
from typing import TypeVar
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from docmill.errors import DocmillError, MisconfiguredError, ServerError, UnauthorizedError

try:
    import redis
    from redis import exceptions
    from redis.backoff import NoBackoff
    from redis.retry import Retry
except ModuleNotFoundError as missing:
    raise MisconfiguredError("states of runs in Redis need redis: pip install 'docmill[redis]'") from missing

log = logging.getLogger(__name__)

Client = redis.Redis
_Value = TypeVar("_Value")

DEFAULT_TTL_DAYS = 30.0
MAX_TTL_DAYS = 36_500.0
_DAY_MS = 86_400_000
_TIMEOUT_S = 30.0
_CONNECT_S = 5.0
_FIRST_DELAYS_S = (0.1, 0.4)
"""The first connection fails soon: the address may be wrong."""
_LATER_DELAYS_S = (0.05, 0.1, 0.2, 0.5, *(1.0,) * 29)
"""Later ones wait for a server that is started again, or replaced by its replica."""
_REFUSED = (exceptions.AuthenticationError, exceptions.AuthorizationError, exceptions.NoPermissionError)
_PASSING = (
    exceptions.ConnectionError,
    exceptions.TimeoutError,
    exceptions.ReadOnlyError,
    exceptions.MasterDownError,
    exceptions.TryAgainError,
)


class RedisConnection:
    """Calls functions with a client of a Redis server. Blocks; for one thread at a time.

    address: `redis://` or `rediss://` with options of redis-py and `ttl_days`. Connects with the first call.
    Raises MisconfiguredError for an address that cannot be used.
    """

    def __init__(self, address: str) -> None:
        parts = urlsplit(address)
        options = parse_qsl(parts.query, keep_blank_values=True)
        self.ttl_ms = _ttl_ms(dict(options).get("ttl_days"))
        kept = urlencode([(name, value) for name, value in options if name != "ttl_days"])
        self._has_connected = False
        try:
            self.place = f"{parts.hostname or 'localhost'}:{parts.port or 6379}"
            self._client = redis.Redis.from_url(
                urlunsplit(parts._replace(query=kept)),
                retry=Retry(NoBackoff(), 0),
                encoding_errors="surrogatepass",
                **_timeouts(dict(options)),
            )
            self._client.connection_pool.make_connection()  # refuses unknown options, connects to nothing
        except (TypeError, ValueError):
            names = ", ".join(sorted({name for name, _ in options})) or "none"
            raise MisconfiguredError(
                "the address of the Redis server cannot be used; it is redis://[user:password@]host[:port][/db]"
                f"[?ttl_days=30], with further options as redis-py has them (given: {names})"
            ) from None

    def call(self, work: Callable[[Client], _Value]) -> _Value:
        """The result of `work`, which is repeated while the server cannot be reached, half a minute or so.

        It may have been carried out, with only its answer lost. Raises ServerError, UnauthorizedError or
        MisconfiguredError.
        """
        delays_s = iter(_LATER_DELAYS_S if self._has_connected else _FIRST_DELAYS_S)
        while True:
            try:
                if not self._has_connected:
                    _warn_of_loss(self._client, self.place)
                    self._has_connected = True
                return work(self._client)
            except exceptions.RedisError as error:
                delay_s = next(delays_s, None) if _is_passing(error) else None
                if delay_s is None:
                    raise _translate(error, self.place) from error
            time.sleep(delay_s)

    def close(self) -> None:
        """Close the connection; a later call connects again."""
        self._client.close()


def _timeouts(options: dict[str, str]) -> dict[str, float]:
    defaults = {"socket_timeout": _TIMEOUT_S, "socket_connect_timeout": _CONNECT_S}
    return {name: value for name, value in defaults.items() if name not in options}


def _ttl_ms(days: str | None) -> int:
    try:
        ttl_days = DEFAULT_TTL_DAYS if days is None else float(days)
    except ValueError:
        ttl_days = math.nan
    if not 0 < ttl_days <= MAX_TTL_DAYS:
        raise MisconfiguredError(
            f"ttl_days of the Redis server's address must be a number of days, up to {MAX_TTL_DAYS:.0f}"
        )
    return max(1, int(ttl_days * _DAY_MS))


def _warn_of_loss(client: Client, place: str) -> None:
    """Warn of settings with which the server loses what it has confirmed, as far as it tells its settings."""
    try:
        settings = {**client.config_get("appendonly"), **client.config_get("maxmemory*")}
    except exceptions.ConnectionError:
        raise
    except exceptions.ResponseError:
        return  # hosted servers often forbid CONFIG
    text = {_text(name): _text(value) for name, value in settings.items()}
    if text.get("appendonly") == "no":
        log.warning(
            "this Redis server keeps no append-only file: a restart loses states of runs; set appendonly yes",
            extra={"server": place},
        )
    policy = text.get("maxmemory-policy", "noeviction")
    if policy != "noeviction" and text.get("maxmemory", "0") != "0":
        log.warning(
            "this Redis server drops states of runs when its memory is full; set maxmemory-policy noeviction",
            extra={"server": place, "policy": policy},
        )


def _text(value: str | bytes) -> str:
    return value.decode() if isinstance(value, bytes) else value


def _is_passing(error: exceptions.RedisError) -> bool:
    return isinstance(error, _PASSING) and not isinstance(error, _REFUSED)


def _translate(error: exceptions.RedisError, place: str) -> DocmillError | exceptions.RedisError:
    """The error in a person's words; without those of the server, which may quote what it was given."""
    if isinstance(error, _REFUSED):
        return UnauthorizedError(
            f"the Redis server at {place} refuses the user, the password or a command; see its ACL"
        )
    if isinstance(error, exceptions.OutOfMemoryError):
        return ServerError(f"the Redis server at {place} is out of memory; give it more, or remove runs")
    if isinstance(error, exceptions.MovedError | exceptions.AskError | exceptions.ClusterDownError):
        return MisconfiguredError(
            f"the Redis server at {place} is one of a cluster; add cluster=true to its address"
        )
    if isinstance(error, _PASSING):
        return ServerError(f"cannot reach the Redis server at {place}: {type(error).__name__}")
    return error
