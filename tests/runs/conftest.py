"""Fixtures that more than one module of these tests needs."""

from collections.abc import Iterator

import pytest

from support.redis_servers import RedisServer


@pytest.fixture(scope="session")
def redis_process(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    pytest.importorskip("redis")
    server = RedisServer(tmp_path_factory.mktemp("redis"), "--appendonly", "yes")
    server.start()
    try:
        yield server
    finally:
        server.stop()


@pytest.fixture
def redis_server(redis_process: RedisServer) -> RedisServer:
    """A server with nothing in it."""
    assert redis_process.ask("FLUSHALL") == b"+OK\r\n"
    return redis_process
