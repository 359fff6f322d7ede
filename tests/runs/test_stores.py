"""State stores that need no server."""

import sqlite3
from collections.abc import AsyncGenerator
from dataclasses import fields
from decimal import Decimal
from pathlib import Path

import pytest
from tests.runs.stores import NOW, StateStoreContract

from docmill.errors import MisconfiguredError
from docmill.runs.states import DocumentState, NewDocument, Run, Settlement, StateStore
from docmill.runs.stores.memory import MemoryStore
from docmill.runs.stores.opening import open_store, shown_address
from docmill.runs.stores.sqlite import SqliteStore


class TestMemory(StateStoreContract):
    @pytest.fixture
    def store(self) -> StateStore:
        return MemoryStore()


def fields_like_those_of_a_new_document(state: DocumentState) -> set[str]:
    new = DocumentState("", "")
    return {field.name for field in fields(state) if getattr(state, field.name) == getattr(new, field.name)}


async def test_claims_and_ends_of_attempts_keep_every_field_of_a_state() -> None:
    store = MemoryStore()
    await store.create_run(Run("run", NOW))
    timings_s = {"read": 1.0}
    await store.add("run", [NewDocument("a", "A", {"page": 1}, "1")], listing=1)
    await store.claim("run", owner="me", limit=1, lease_s=60)
    done = Settlement("a", "completed", 1, NOW, "hash", timings_s=timings_s, tokens=5, cost=Decimal(1))
    await store.settle("run", [done], owner="me")
    await store.add("run", [NewDocument("a", "A", version="2")], listing=2)
    await store.claim("run", owner="me", limit=1, lease_s=60)
    await store.release("run", owner="me")

    (claimed,) = await store.claim("run", owner="me", limit=1, lease_s=60)
    failed = Settlement("a", "pending", 2, NOW, error="[read] gone", timings_s=timings_s)
    await store.settle("run", [failed], owner="me")
    settled = await store.find_document("run", "a")

    assert fields_like_those_of_a_new_document(claimed) == {"error"}
    assert settled is not None
    assert fields_like_those_of_a_new_document(settled) == {"status", "completed_at"}


class TestSqlite(StateStoreContract):
    @pytest.fixture
    async def store(self, tmp_path: Path) -> AsyncGenerator[StateStore]:
        store = SqliteStore(tmp_path / "sub" / "runs.sqlite")
        yield store
        await store.close()

    async def test_another_store_of_the_same_file_sees_what_was_kept(self, tmp_path: Path) -> None:
        first, second = SqliteStore(tmp_path / "runs.sqlite"), SqliteStore(tmp_path / "runs.sqlite")
        await first.create_run(Run("run", NOW))
        assert (await second.find_run("run")).run_id == "run"
        await first.close()
        assert (await first.find_run("run")).run_id == "run", "a closed store opens again"
        await first.close()
        await second.close()

    async def test_a_file_of_something_else_is_refused(self, tmp_path: Path) -> None:
        other = tmp_path / "other.sqlite"
        with sqlite3.connect(other) as connection:
            connection.execute("CREATE TABLE mine (id INTEGER)")
        store = SqliteStore(other)
        with pytest.raises(MisconfiguredError, match="no file of runs"):
            await store.list_runs()
        other.write_text("a letter, and no database at all" * 100)
        with pytest.raises(MisconfiguredError, match="give another file"):
            await SqliteStore(other).list_runs()
        with pytest.raises(MisconfiguredError, match="cannot make the folder"):
            await SqliteStore(other / "sub" / "runs.sqlite").list_runs()


def test_an_address_says_which_store_is_meant(tmp_path: Path) -> None:
    assert isinstance(open_store("memory:"), MemoryStore)
    assert isinstance(open_store(tmp_path / "runs.sqlite"), SqliteStore)
    assert isinstance(open_store(str(tmp_path / "runs.sqlite")), SqliteStore)
    store = MemoryStore()
    assert open_store(store) is store
    with pytest.raises(MisconfiguredError, match="'mongodb'"):
        open_store("mongodb://localhost/runs")


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("runs.sqlite", "runs.sqlite"),
        ("a:b@c.sqlite", "a:b@c.sqlite"),
        ("redis://localhost:6380/1?ttl_days=2", "redis://localhost:6380/1?ttl_days=2"),
        ("redis://me:hunter2@localhost", "redis://me:***@localhost"),
        ("postgresql:///db?host=/run/p&password=hunter2", "postgresql:///db?host=/run/p&password=***"),
        ("postgresql://[hunter2", "postgresql://…"),
        ("rediss://:hunter2@[::1]:6380/1", "rediss://:***@[::1]:6380/1"),
        ("redis://me:hunt@er2@localhost", "redis://me:***@localhost"),
        ("redis://h?password=hunter2&ssl_ca_certs=/a/b.pem", "redis://h?password=***&ssl_ca_certs=/a/b.pem"),
    ],
)
def test_an_address_is_shown_without_its_password(address: str, shown: str) -> None:
    assert shown_address(address) == shown
