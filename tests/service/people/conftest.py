"""People in two organisations."""

from collections.abc import Awaitable, Callable
from uuid import UUID

import pytest

from docmill.service.app import Service
from docmill.service.people.accounts import NewPerson
from docmill.service.store import tenants
from support.people import PASSWORD


@pytest.fixture
async def anna(service: Service) -> UUID:
    """The first person, who owns the default tenant."""
    return await service.accounts.create_first(NewPerson("anna@example.org", "Anna", PASSWORD), "Acme")


@pytest.fixture
async def other_tenant(service: Service) -> UUID:
    async with service.database.accounts() as conn:
        return await tenants.add(conn, "Other")


@pytest.fixture
def member(service: Service) -> Callable[..., Awaitable[UUID]]:
    """Makes a person with a role, by an invitation that is accepted."""

    async def make(name: str, role: str, tenant_id: UUID, by: UUID) -> UUID:
        token = await service.invitations.invite(role, tenant_id=tenant_id, invited_by=by)  # pyright: ignore[reportArgumentType]  the test's role is a word
        person = NewPerson(f"{name.lower()}@example.org", name, PASSWORD)
        user_id, _ = await service.invitations.accept(token, person, None)
        return user_id

    return make
