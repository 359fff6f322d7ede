"""A connection to a Redis server that survives lost connections and restarts of the server."""

import logging
import math
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, Self, TypeVar
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from docmill.errors import MisconfiguredError
from docmill.runs.stores.redis_records import Value

try:
    import redis
    from redis import exceptions
    from redis.backoff import NoBackoff
    from redis.cluster import RedisCluster
    from redis.retry import Retry

    from docmill.runs.stores.redis_errors import is_passing, translate
except ModuleNotFoundError as missing:
    raise MisconfiguredError("states of runs in Redis need redis: pip install 'docmill[redis]'") from missing

log = logging.getLogger(__name__)

_Value = TypeVar("_Value")

DEFAULT_TTL_DAYS = 30.0
MAX_TTL_DAYS = 36_500.0
_DAY_MS = 86_400_000
_OWN_OPTIONS = ("ttl_days", "cluster")
_TIMEOUTS_S = {"socket_timeout": 30.0, "socket_connect_timeout": 5.0}
_FIRST_DELAYS_S = (0.1, 0.4)
"""The first connection fails soon: the address may be wrong."""
_LATER_DELAYS_S = (0.0, 0.1, 0.3, 0.6, *(1.0,) * 29)
"""Later ones begin at once, since servers close idle connections, and wait for one that is started again."""
_PATIENCE_S = 30.0
"""No call is repeated after so long, also if each attempt takes until its time limit."""
_SETTINGS = ("appendonly", "maxmemory*")


class _Pipeline(Protocol):
    def __enter__(self) -> Self: ...
    def __exit__(self, *error: object) -> None: ...
    def hgetall(self, name: str) -> object: ...
    def execute(self, *, raise_on_error: bool) -> list[dict[bytes, bytes] | exceptions.RedisError]: ...


class _Client(Protocol):
    """What is used of the clients of redis-py, which have no such types in common."""

    def close(self) -> None: ...
    def config_get(self, pattern: str) -> Mapping[str, str]: ...
    def pipeline(self, *, transaction: bool) -> _Pipeline: ...
    def register_script(self, script: str) -> Callable[[Sequence[str], Sequence[Value]], Any]: ...
    def zrem(self, name: str, *members: bytes) -> int: ...
    def zrevrange(self, name: str, start: int, end: int) -> list[bytes]: ...


class RedisConnection:
    """A client of a Redis server or cluster. Blocks; for one thread at a time.

    address: `redis://[user:password@]host[:port][/db]`, or `rediss://` for TLS, with options of redis-py;
    ttl_days: how long a run is kept after its last change; cluster: `true` for a node of a cluster. Connects
    with the first call; calls are repeated for half a minute while a server that was there before cannot be
    reached. Raises MisconfiguredError for an address that cannot be used; calls raise ServerError,
    UnauthorizedError and MisconfiguredError.
    """

    def __init__(self, address: str) -> None:
        self._client: _Client | None = None
        options: dict[str, str] = {}
        try:
            parts = urlsplit(address)
            options = dict(parse_qsl(parts.query, keep_blank_values=True))
            self.place = f"{parts.hostname or 'localhost'}:{parts.port or 6379}"
            self.ttl_ms = _ttl_ms(options.get("ttl_days"))
            self._is_cluster = _is_cluster(options.get("cluster", "false"))
            kept = urlencode([(name, value) for name, value in options.items() if name not in _OWN_OPTIONS])
            self._url = urlunsplit(parts._replace(query=kept))
            self._timeouts = {name: value for name, value in _TIMEOUTS_S.items() if name not in options}
            # Refuses unknown options, and connects to nothing.
            pool: Any = redis.ConnectionPool
            pool.from_url(self._url, **self._timeouts).make_connection()
        except (TypeError, ValueError):
            raise MisconfiguredError(
                "the address of the Redis server cannot be used; it is redis://[user:password@]host[:port][/db]"
                f"[?ttl_days=30], with options of redis-py (given: {', '.join(options) or 'none'})"
            ) from None

    def run_script(self, script: str, keys: Sequence[str], arguments: Sequence[Value]) -> Any:  # noqa: ANN401
        """What a script gives. It may be carried out twice, if only its answer was lost."""
        return self._call(lambda client: client.register_script(script)(keys, arguments))

    def hashes(self, names: Sequence[str]) -> Sequence[Mapping[bytes, bytes]]:
        """The fields of hashes; none of one that is not there."""

        def load(client: _Client) -> list[dict[bytes, bytes]]:
            with client.pipeline(transaction=False) as pipeline:
                for name in names:
                    pipeline.hgetall(name)
                answers = pipeline.execute(raise_on_error=False)
            # Raised here, since the pipeline puts its own words before the code of the error.
            for answer in answers:
                if isinstance(answer, Exception):
                    raise answer
            return [answer for answer in answers if not isinstance(answer, Exception)]

        return self._call(load)

    def members(self, name: str) -> Sequence[bytes]:
        """The members of a sorted set, from the highest score on."""
        return self._call(lambda client: client.zrevrange(name, 0, -1))

    def remove_members(self, name: str, members: Sequence[bytes]) -> None:
        """Remove members of a sorted set."""
        self._call(lambda client: client.zrem(name, *members))

    def close(self) -> None:
        """Close the connection; a later call connects again."""
        if self._client is not None:
            self._client.close()
            self._client = None

    def _call(self, work: Callable[[_Client], _Value]) -> _Value:
        """The result of `work`, which is repeated for half a minute while the server cannot be reached."""
        delays_s = iter(_FIRST_DELAYS_S if self._client is None else _LATER_DELAYS_S)
        deadline = time.monotonic() + _PATIENCE_S
        while True:
            try:
                return work(self._client or self._connect())
            except (exceptions.RedisError, exceptions.RedisClusterException) as error:
                is_repeated = is_passing(error) and time.monotonic() < deadline
                delay_s = next(delays_s, None) if is_repeated else None
                if delay_s is None:
                    raise translate(error, self.place, is_cluster=self._is_cluster) from error
            time.sleep(delay_s)

    def _connect(self) -> _Client:
        kind: Any = RedisCluster if self._is_cluster else redis.Redis
        # `_call` repeats what fails, since the scripts can be repeated and other commands change nothing.
        retry = Retry(NoBackoff(), 0)
        client: _Client = kind.from_url(
            self._url, retry=retry, encoding_errors="surrogatepass", **self._timeouts
        )
        try:
            _warn_of_loss(client, self.place)
        except BaseException:
            client.close()
            raise
        self._client = client
        return client


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


def _is_cluster(option: str) -> bool:
    if option not in ("true", "false"):
        raise MisconfiguredError("cluster of the Redis server's address must be true or false")
    return option == "true"


def _warn_of_loss(client: _Client, place: str) -> None:
    """Warn of settings with which the server loses what it has confirmed, as far as it tells its settings."""
    try:
        settings = {
            name: value for pattern in _SETTINGS for name, value in client.config_get(pattern).items()
        }
    except exceptions.ResponseError:
        return  # hosted servers often forbid CONFIG
    if settings.get("appendonly") == "no":
        log.warning(
            "this Redis server keeps no append-only file: a restart loses states of runs; set appendonly yes",
            extra={"server": place},
        )
    policy = settings.get("maxmemory-policy", "noeviction")
    if policy != "noeviction" and settings.get("maxmemory", "0") != "0":
        log.warning(
            "this Redis server drops states of runs when its memory is full; set maxmemory-policy noeviction",
            extra={"server": place, "policy": policy},
        )
