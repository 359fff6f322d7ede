"""A receiver of mails in the process of the test."""

from asyncio import wait_for
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from docmill.service.app import Service
from docmill.service.config.settings import Settings
from docmill.service.sources.smtp.receiver import receiving_mails
from docmill.service.sources.smtp.smtp_source import SMTP
from docmill.service.store.database import DEFAULT_USER_ID
from support.certificates import made_certificate
from support.mail_clients import Mailbox, MailClient


@pytest.fixture
def certificate(tmp_path: Path) -> tuple[Path, Path]:
    """See `made_certificate`."""
    return made_certificate(tmp_path)


@pytest.fixture
def receiver_settings() -> dict[str, Any]:
    """Settings of the receiver that a test wants otherwise."""
    return {}


@pytest.fixture
def settings(settings: Settings, receiver_settings: dict[str, Any]) -> Settings:
    receiver = settings.smtp_receiver.model_copy(
        update={
            "port": 0,
            "domains": ("in.example.org",),
            "connections_per_address": 50,
            **receiver_settings,
        }
    )
    return settings.model_copy(update={"smtp_receiver": receiver})


@pytest.fixture
def receive(
    service: Service, settings: Settings, tmp_path: Path
) -> Callable[[], AbstractAsyncContextManager[MailClient]]:
    """Runs a receiver for the length of a `with`."""

    @asynccontextmanager
    async def run() -> AsyncGenerator[MailClient]:
        folder = tmp_path / "mails"
        folder.mkdir(exist_ok=True)
        async with receiving_mails(service.database, service.sources, settings, folder) as port:
            yield MailClient(await wait_for(port, 10))
        assert list(folder.iterdir()) == []

    return run


@pytest.fixture
async def client(receive: Callable[[], AbstractAsyncContextManager[MailClient]]) -> AsyncIterator[MailClient]:
    async with receive() as client:
        yield client


@pytest.fixture
def add_mailbox(service: Service) -> Callable[..., Awaitable[Mailbox]]:
    async def add(name: str = "Invoices", *, tenant_id: UUID | None = None, **chosen: Any) -> Mailbox:  # noqa: ANN401  JSON
        row = await service.sources.add(
            SMTP.name,
            name,
            chosen,
            {},
            tenant_id=tenant_id or service.default_tenant_id,
            created_by=DEFAULT_USER_ID,
        )
        address = service.sources.address(row)
        assert address is not None
        return Mailbox(row, address)

    return add
