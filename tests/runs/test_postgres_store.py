"""The state store in PostgreSQL."""

from collections.abc import AsyncGenerator

import pytest
from tests.runs.stores import StateStoreContract

from docmill.runs.states import StateStore
from docmill.runs.stores.postgres import PostgresStore


class TestPostgres(StateStoreContract):
    @pytest.fixture
    async def store(self, database_url: str) -> AsyncGenerator[StateStore]:
        store = PostgresStore(database_url)
        yield store
        await store.close()
