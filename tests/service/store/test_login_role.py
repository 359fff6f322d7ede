"""The role as which sessions log in."""

from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psycopg
import pytest
from pydantic import SecretStr

from docmill.service.app import Service, open_service
from docmill.service.config.settings import Settings
from docmill.service.storage.postgres_server import EmbeddedPostgres
from docmill.service.store.login_role import create_login_role
from support.databases import database_folder, login_url


@pytest.fixture
async def embedded() -> AsyncIterator[Service]:
    """A service on a database server of its own."""
    with database_folder() as folder:
        async with open_service(Settings(data_dir=folder)) as service:
            yield service


async def test_no_session_of_the_embedded_server_logs_in_as_a_superuser(embedded: Service) -> None:
    database = embedded.database
    async with database.transaction(), database.tenant(embedded.default_tenant_id), database.accounts():
        with psycopg.connect(embedded.owner_url) as owner:
            names = owner.execute(
                """
                SELECT DISTINCT usename::text, usesuper OR usebypassrls
                  FROM pg_stat_activity JOIN pg_user USING (usename)
                 WHERE application_name LIKE 'docmill%'
                """
            ).fetchall()

    assert names == [("docmill_login", False)]


async def test_who_gives_up_the_role_of_a_session_gets_at_nothing(service: Service) -> None:
    async with service.database.connection() as conn:
        await conn.execute("RESET ROLE")
        for statement in ("SELECT * FROM document", "SELECT * FROM users", "SET ROLE postgres"):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                await conn.execute(statement.encode())


def test_a_role_that_was_restored_without_its_rights_gets_them_back(postgres: EmbeddedPostgres) -> None:
    url = postgres.url()
    with psycopg.connect(postgres.url("postgres"), autocommit=True) as admin:
        admin.execute("REVOKE docmill_accounts FROM docmill_login")

    with ThreadPoolExecutor(3) as pool:
        list(pool.map(create_login_role, [url] * 3))

    with psycopg.connect(login_url(postgres.url("postgres"))) as conn:
        conn.execute("SET ROLE docmill_accounts")


async def test_a_superuser_of_database_url_is_told(
    database_url: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    settings = Settings(data_dir=tmp_path, database_url=SecretStr(database_url))

    async with open_service(settings):
        pass

    assert "database_url logs in as a superuser or with BYPASSRLS" in caplog.text
