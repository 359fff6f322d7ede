"""One vault for each module of attacks, with two organisations, all roles, and documents in both."""

import asyncio
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import pytest_asyncio
from pydantic import SecretStr

from docmill.service.app import open_service
from docmill.service.config.settings import Settings
from docmill.service.storage.postgres_server import EmbeddedPostgres
from docmill.testing.steps import PaintedPages
from docmill.web.app import create_app
from support.attacked_vault import AttackedVault, furnish
from support.databases import fresh_database


@pytest.fixture(scope="module")
def vault_settings(postgres: EmbeddedPostgres) -> Iterator[Settings]:
    with fresh_database(postgres) as url, tempfile.TemporaryDirectory(prefix="docmill-") as folder:
        yield Settings(data_dir=Path(folder), database_url=SecretStr(url))


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def attacked(vault_settings: Settings) -> AsyncIterator[AttackedVault]:
    async with open_service(vault_settings) as service:
        await asyncio.wait_for(service.wakeups.listening(), 10)
        app = create_app(service, PaintedPages(), vault_settings)
        app.state.vault.closing.set()  # streams of events end at once
        yield await furnish(app, service)
