"""Invitations, and accounts whose address is not proven, on the real database."""

from collections.abc import Awaitable, Callable
from uuid import UUID

import pytest

from docmill.errors import ValidationError
from docmill.service.app import Service
from docmill.service.people.accounts import AccountExistsError, LinkIsOverError, NewPerson
from docmill.service.people.openid import Identity
from docmill.service.store import memberships
from docmill.service.store.database import DEFAULT_USER_ID
from support.people import PASSWORD

Member = Callable[..., Awaitable[UUID]]
ADDRESS = "carl@example.org"
CARL = NewPerson(ADDRESS, "Carl", PASSWORD)


async def _role(service: Service, user_id: UUID, tenant_id: UUID) -> str | None:
    async with service.database.accounts() as conn:
        return {row.tenant_id: row.role for row in await memberships.of_user(conn, user_id)}.get(tenant_id)


async def _is_verified(service: Service) -> bool:
    user = await service.accounts.by_email(ADDRESS)
    assert user is not None
    return user.verified_at is not None


@pytest.fixture
def squatter(service: Service, anna: UUID) -> Callable[[], Awaitable[UUID]]:
    """Makes an account with somebody else's address, through the invitation of another organisation."""

    async def make() -> UUID:
        token = await service.invitations.invite(
            "viewer", tenant_id=service.default_tenant_id, invited_by=anna
        )
        return (await service.invitations.accept(token, CARL, None))[0]

    return make


async def test_the_operator_gives_an_account_of_an_unproven_address_nothing(
    service: Service, other_tenant: UUID, squatter: Callable[[], Awaitable[UUID]]
) -> None:
    user_id = await squatter()

    with pytest.raises(ValidationError, match=f"docmill users reset {ADDRESS}"):
        await service.accounts.add(ADDRESS, "Carl", "owner", tenant_id=other_tenant)

    assert await _role(service, user_id, other_tenant) is None


async def test_an_account_that_is_there_gets_an_invitation_and_no_role(
    service: Service, other_tenant: UUID, squatter: Callable[[], Awaitable[UUID]]
) -> None:
    user_id = await squatter()
    await service.accounts.set_password(await service.accounts.password_link(user_id), "another good one")
    assert await _is_verified(service)

    with pytest.raises(AccountExistsError):
        await service.accounts.add(ADDRESS, "Carl", "owner", tenant_id=other_tenant)
    token = await service.invitations.invite(
        "owner", tenant_id=other_tenant, email=ADDRESS, invited_by=DEFAULT_USER_ID
    )

    assert await _role(service, user_id, other_tenant) is None
    await service.invitations.accept_as(token, user_id, None)
    assert await _role(service, user_id, other_tenant) == "owner"


async def test_an_invitation_for_an_address_is_not_for_an_account_that_has_not_proven_it(
    service: Service, other_tenant: UUID, squatter: Callable[[], Awaitable[UUID]]
) -> None:
    user_id = await squatter()
    token = await service.invitations.invite(
        "owner", tenant_id=other_tenant, email=ADDRESS, invited_by=DEFAULT_USER_ID
    )

    with pytest.raises(ValidationError, match="not proven"):
        await service.invitations.accept_as(token, user_id, None)

    assert await _role(service, user_id, other_tenant) is None
    await service.accounts.set_password(await service.accounts.password_link(user_id), "another good one")
    await service.invitations.accept_as(token, user_id, None)
    assert await _role(service, user_id, other_tenant) == "owner"


async def test_an_invitation_for_one_address_is_not_taken_by_another(
    service: Service, anna: UUID, member: Member, other_tenant: UUID
) -> None:
    ben = await member("Ben", "viewer", service.default_tenant_id, anna)
    token = await service.invitations.invite(
        "owner", tenant_id=other_tenant, email=ADDRESS, invited_by=DEFAULT_USER_ID
    )

    with pytest.raises(ValidationError, match="another e-mail address"):
        await service.invitations.accept_as(token, ben, None)
    with pytest.raises(ValidationError, match="another e-mail address"):
        await service.invitations.accept(token, NewPerson("eve@example.org", "Eve", PASSWORD), None)

    user_id, _ = await service.invitations.accept(token, CARL, None)
    assert await _role(service, user_id, other_tenant) == "owner"


@pytest.mark.parametrize("is_mailed", [True, False])
async def test_a_mailed_invitation_proves_the_address(service: Service, anna: UUID, is_mailed: bool) -> None:  # noqa: FBT001  a parameter of the test
    token = await service.invitations.invite(
        "viewer", tenant_id=service.default_tenant_id, email=ADDRESS, invited_by=anna, is_mailed=is_mailed
    )

    await service.invitations.accept(token, CARL, None)

    assert await _is_verified(service) is is_mailed


async def test_a_mailed_invitation_proves_the_address_of_an_account_that_is_there(
    service: Service, other_tenant: UUID, squatter: Callable[[], Awaitable[UUID]]
) -> None:
    user_id = await squatter()
    token = await service.invitations.invite(
        "viewer", tenant_id=other_tenant, email=ADDRESS, invited_by=DEFAULT_USER_ID, is_mailed=True
    )

    await service.invitations.accept_as(token, user_id, None)

    assert await _is_verified(service)


async def test_a_provider_proves_the_address(
    service: Service, squatter: Callable[[], Awaitable[UUID]]
) -> None:
    await squatter()
    assert not await _is_verified(service)

    await service.accounts.of_identity(Identity("https://login.example.org", "c", ADDRESS, "Carl"))

    assert await _is_verified(service)


@pytest.mark.parametrize("is_removed", [True, False])
async def test_invitations_of_who_is_no_owner_any_more_do_not_work(
    service: Service,
    anna: UUID,
    member: Member,
    is_removed: bool,  # noqa: FBT001  a parameter of the test
) -> None:
    tenant_id = service.default_tenant_id
    ben = await member("Ben", "owner", tenant_id, anna)
    token = await service.invitations.invite("owner", tenant_id=tenant_id, invited_by=ben)

    if is_removed:
        await service.accounts.remove(ben, tenant_id=tenant_id)
    else:
        await service.accounts.change_role(ben, "reviewer", tenant_id=tenant_id)

    with pytest.raises(LinkIsOverError):
        await service.invitations.accept(token, CARL, None)


@pytest.mark.parametrize(
    "email",
    [
        "\N{KELVIN SIGN}arl@example.org",
        "\N{CYRILLIC SMALL LETTER KA}arl@example.org",
        "karl+docmill@example.org",
        "karl@example.org.",
        "karl@example.org,eve@example.org",
        "=?utf-8?q?karl?=@example.org",
        "karl@=?utf-8?q?example?=.org",
    ],
)
async def test_an_address_that_looks_like_the_invited_one_is_another(
    service: Service, anna: UUID, email: str
) -> None:
    token = await service.invitations.invite(
        "owner",
        tenant_id=service.default_tenant_id,
        invited_by=anna,
        email="karl@example.org",
        is_mailed=True,
    )

    with pytest.raises(ValidationError):
        await service.invitations.accept(token, NewPerson(email, "Karl", PASSWORD), None)
    _, joined = await service.invitations.accept(
        token, NewPerson(" Karl@Example.org", "Karl", PASSWORD), None
    )

    assert joined == service.default_tenant_id


@pytest.mark.parametrize("email", ["=?utf-8?q?karl?=@example.org", "karl@=?utf-8?b?ZXhhbXBsZQ==?=.org"])
async def test_an_encoded_word_is_no_address_to_invite(service: Service, anna: UUID, email: str) -> None:
    with pytest.raises(ValidationError, match="not an e-mail address"):
        await service.invitations.invite(
            "viewer", tenant_id=service.default_tenant_id, invited_by=anna, email=email, is_mailed=True
        )


async def test_a_provider_proves_no_address_that_looks_like_one(
    service: Service, anna: UUID, member: Callable[..., Awaitable[UUID]]
) -> None:
    await member("Karl", "viewer", service.default_tenant_id, anna)
    identity = Identity("https://login.example.org", "k", "\N{KELVIN SIGN}arl@example.org", "Karl")

    assert await service.accounts.of_identity(identity) is None
