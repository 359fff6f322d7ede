"""The state store in Redis, on a real server."""

from collections.abc import AsyncGenerator

import pytest
from tests.runs.stores import StateStoreContract

from docmill.runs.states import StateStore
from docmill.runs.stores.opening import open_store
from support.redis_servers import RedisServer


class TestRedis(StateStoreContract):
    @pytest.fixture
    async def store(self, redis_server: RedisServer) -> AsyncGenerator[StateStore]:
        store = open_store(redis_server.address)
        yield store
        await store.close()
