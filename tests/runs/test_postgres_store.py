"""The state store in PostgreSQL."""

import asyncio
import subprocess
import sys
import traceback
from collections.abc import AsyncGenerator, Iterator
from datetime import UTC, datetime, timedelta
from uuid import uuid4

import psycopg
import pytest
from psycopg import sql
from tests.runs.stores import NOW, StateStoreContract, end, letter, new

from docmill.errors import MisconfiguredError, ServerError, UnknownRunError
from docmill.runs.states import NewDocument, Run, StageResult, StateStore
from docmill.runs.stores import postgres_documents
from docmill.runs.stores.opening import open_store
from docmill.runs.stores.postgres import PostgresStore
from docmill.service.storage.postgres_server import EmbeddedPostgres
from support.poolers import pgbouncer, through


class TestPostgres(StateStoreContract):
    @pytest.fixture
    async def store(self, database_url: str) -> AsyncGenerator[StateStore]:
        store = PostgresStore(database_url)
        yield store
        await store.close()

    async def test_texts_that_postgresql_does_not_take_come_back_as_they_are(self, store: StateStore) -> None:
        odd = ["a\0b", "a\ud800b", "\x1a0000", "\x1a", "\udcff\udc80", "caf\udce9.pdf"]
        await store.create_run(Run("r\0\ud800", NOW, "f\0", configuration={"a\0": ["\ud800"]}))
        documents = [NewDocument(path, path, {"\0": path}, path) for path in odd]
        await store.add("r\0\ud800", documents, listing=await store.begin_listing("r\0\ud800"))
        claimed = await store.claim("r\0\ud800", owner="me", limit=9, lease_s=60)
        assert [(state.path, state.name, state.metadata["\0"], state.version) for state in claimed] == [
            (text, text, text, text) for text in odd
        ]
        await store.keep_stages("r\0\ud800", [StageResult(odd[0], "s\0/\ud800", b"\0")])
        assert dict(await store.stages("r\0\ud800", odd[0], prefix="s\0")) == {"s\0/\ud800": b"\0"}
        failed = [
            end(path, "failed", error=f"[read] {path}", dead_letter=letter(path, f"of {path}"))
            for path in odd
        ]
        assert not await store.settle("r\0\ud800", failed, owner="me")
        letters = [one async for one in store.dead_letters("r\0\ud800")]
        assert [one.message for one in letters] == [f"of {path}" for path in odd]
        state = await store.find_document("r\0\ud800", odd[0])
        assert state is not None
        assert state.error == "[read] a\0b"
        assert (await store.find_run("r\0\ud800")).configuration == {"a\0": ["\ud800"]}

    async def test_paths_longer_than_an_index_takes_are_kept(self, store: StateStore) -> None:
        long = [f"https://example.org/?{uuid4().hex * 200}{number}" for number in range(3)]
        await self.begun(store, *long)
        assert await self.claim(store) == long

    async def test_numbers_that_json_does_not_have_become_null(self, store: StateStore) -> None:
        await store.create_run(Run("run", NOW))
        added = [NewDocument("a", "a", {"x": float("nan"), "y": 1})]
        await store.add("run", added, listing=await store.begin_listing("run"))
        state = await store.find_document("run", "a")
        assert state is not None
        assert state.metadata == {"x": None, "y": 1}

    async def test_a_wait_lasts_as_long_as_asked_where_the_runners_clock_is_wrong(
        self, store: StateStore, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        class Ahead(datetime):
            @classmethod
            def now(cls, tz: object = UTC) -> datetime:  # type: ignore[override]  # pyright: ignore[reportIncompatibleMethodOverride]
                assert tz is UTC
                return datetime.now(UTC) + timedelta(hours=1)

        monkeypatch.setattr(postgres_documents, "datetime", Ahead)
        await self.begun(store, "a")
        await self.claim(store)
        retry_at = Ahead.now() + timedelta(seconds=30)
        await store.settle("run", [end("a", "pending", retry_at=retry_at)], owner="me")
        due_s = await store.next_due_s("run")
        assert due_s is not None
        assert 20 < due_s <= 30

    async def test_all_of_many_dead_letters_are_given(self, store: StateStore) -> None:
        paths = [f"d{number:04}" for number in range(1200)]
        await self.begun(store, *paths)
        await self.claim(store, limit=2000)
        failed = [end(path, "failed", error="[extract] no", dead_letter=letter(path)) for path in paths]
        await store.settle("run", failed, owner="me")
        assert [one.path async for one in store.dead_letters("run")] == paths


@pytest.fixture
def user(postgres: EmbeddedPostgres) -> Iterator[str]:
    """An ordinary user, with a database of the same name that belongs to somebody else."""
    name = f"user_{uuid4().hex}"
    with psycopg.connect(postgres.url("postgres"), autocommit=True) as admin:
        admin.execute(sql.SQL("CREATE ROLE {} LOGIN").format(sql.Identifier(name)))
        admin.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
        yield name
        admin.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))
        admin.execute(sql.SQL("DROP OWNED BY {0}; DROP ROLE {0}").format(sql.Identifier(name)))


def as_admin(postgres: EmbeddedPostgres, database: str, statement: str) -> None:
    with psycopg.connect(postgres.url(database), autocommit=True) as admin:
        admin.execute(statement.encode())


async def ids_in(url: str) -> list[str]:
    store = PostgresStore(url)
    try:
        return [run.run_id for run in await store.list_runs()]
    finally:
        await store.close()


async def create_run(url: str, run_id: str) -> None:
    store = PostgresStore(url)
    await store.create_run(Run(run_id, NOW))
    await store.close()


async def test_a_store_that_was_closed_opens_again(database_url: str) -> None:
    store = PostgresStore(database_url)
    await store.create_run(Run("run", NOW))
    await store.close()
    assert (await store.find_run("run")).run_id == "run"
    await store.close()
    with psycopg.connect(database_url) as connection:
        assert connection.execute("SELECT count(*) FROM docmill_runs.transactions").fetchone() == (0,)


async def test_many_may_create_the_tables_at_once(database_url: str) -> None:
    await asyncio.gather(*(create_run(database_url, f"run {number}") for number in range(8)))
    assert len(await ids_in(database_url)) == 8


async def test_several_runners_share_few_connections_of_a_pooler(
    postgres: EmbeddedPostgres, database_url: str
) -> None:
    with pgbouncer(postgres) as bouncer:
        stores = [PostgresStore(through(bouncer, database_url)) for _ in range(12)]
        await asyncio.gather(*(store.create_run(Run(f"run {id(store)}", NOW)) for store in stores))
        await stores[0].create_run(Run("run", NOW))
        paths = [f"d{number:03}" for number in range(240)]
        await stores[0].add("run", new(*paths), listing=await stores[0].begin_listing("run"))

        async def work(store: PostgresStore, owner: str) -> list[str]:
            done: list[str] = []
            while claimed := await store.claim("run", owner=owner, limit=5, lease_s=60):
                await store.keep_stages(
                    "run", [StageResult(state.path, "convert", b"x") for state in claimed]
                )
                assert not await store.settle("run", [end(state.path) for state in claimed], owner=owner)
                done += [state.path for state in claimed]
            return done

        shares = await asyncio.gather(*(work(store, str(number)) for number, store in enumerate(stores)))
        assert sorted(path for share in shares for path in share) == paths
        assert dict(await stores[0].count("run")) == {"completed": 240}
        await asyncio.gather(*(store.close() for store in stores))


async def test_who_may_not_create_the_tables_is_told_what_to_grant(
    postgres: EmbeddedPostgres, user: str
) -> None:
    url = postgres.url(user).replace("postgres@", f"{user}@", 1)
    with pytest.raises(MisconfiguredError, match="GRANT CREATE ON DATABASE") as refusal:
        await ids_in(url)
    grant = str(refusal.value).partition("run: ")[2].partition(";")[0]
    as_admin(postgres, user, grant)
    assert await ids_in(url) == []


async def test_who_may_not_use_the_tables_is_told_what_to_grant(
    postgres: EmbeddedPostgres, user: str
) -> None:
    await create_run(postgres.url(user), "run")
    url = postgres.url(user).replace("postgres@", f"{user}@", 1)
    with pytest.raises(MisconfiguredError, match="GRANT SELECT") as refusal:
        await ids_in(url)
    as_admin(postgres, user, str(refusal.value).partition("run: ")[2])
    assert await ids_in(url) == ["run"]
    store = PostgresStore(url)
    await store.add("run", new("a"), listing=await store.begin_listing("run"))
    assert len(await store.claim("run", owner="me", limit=9, lease_s=60)) == 1
    as_admin(postgres, user, f'REVOKE UPDATE ON docmill_runs.pipeline_runs FROM "{user}"')
    with pytest.raises(MisconfiguredError, match="GRANT SELECT"):
        await store.begin_listing("run")
    await store.close()


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("UPDATE docmill_runs.format SET number = 99", "later release"),
        ("DELETE FROM docmill_runs.format", "later release"),
        ("DROP TABLE docmill_runs.pipeline_runs CASCADE", "not those of this release"),
        ("DROP TABLE docmill_runs.format", "that docmill has not made"),
    ],
)
async def test_tables_of_something_else_are_refused(database_url: str, statement: str, message: str) -> None:
    await create_run(database_url, "run")
    with psycopg.connect(database_url) as connection:
        connection.execute(statement.encode())
    with pytest.raises(MisconfiguredError, match=message):
        await ids_in(database_url)


async def test_a_database_that_cannot_hold_all_texts_is_refused(
    postgres: EmbeddedPostgres, user: str
) -> None:
    as_admin(postgres, "postgres", f'DROP DATABASE "{user}"')
    as_admin(
        postgres,
        "postgres",
        f"CREATE DATABASE \"{user}\" ENCODING LATIN1 LOCALE_PROVIDER libc LOCALE 'C' TEMPLATE template0",
    )
    with pytest.raises(MisconfiguredError, match="UTF8"):
        await ids_in(postgres.url(user))


async def test_a_run_that_is_removed_meanwhile_is_unknown(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = PostgresStore(database_url)

    def find_nothing(_conn: object, _run_id: str) -> None:
        pass

    monkeypatch.setattr(postgres_documents, "find_run", find_nothing)
    with pytest.raises(UnknownRunError, match="removed"):
        await store.add("run", new("a"), listing=1)
    await store.close()


@pytest.mark.parametrize(
    "address",
    [
        "postgresql://user:hunter2@127.0.0.1:1/none",
        "postgresql://127.0.0.1:1/none?user=user&password=hunter2",
    ],
)
async def test_a_server_that_is_not_there_is_an_error_without_the_password(address: str) -> None:
    with pytest.raises(ServerError, match=r"127\.0\.0\.1") as error:
        await ids_in(address)
    assert "hunter2" not in "".join(traceback.format_exception(error.value))


@pytest.mark.parametrize(
    "address",
    [
        "postgresql://user:hunter2%zz@localhost/none",
        "postgresql://localhost/none?hunter2",
        "postgres://[hunter2",
    ],
)
def test_a_malformed_address_is_an_error_without_the_password(address: str) -> None:
    with pytest.raises(MisconfiguredError, match="malformed") as error:
        open_store(address)
    assert error.value.__suppress_context__
    assert "hunter2" not in str(error.value)


def test_without_the_driver_the_extra_is_named() -> None:
    code = """
import sys
sys.modules["psycopg"] = None
from docmill.errors import MisconfiguredError
from docmill.runs.stores.opening import open_store
try:
    open_store("postgresql://localhost/none")
except MisconfiguredError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "pip install 'docmill[postgres]'" in done.stdout


def test_both_names_of_the_scheme_are_known() -> None:
    assert isinstance(open_store("postgresql:///none"), PostgresStore)
    assert isinstance(open_store("postgres:///none"), PostgresStore)
