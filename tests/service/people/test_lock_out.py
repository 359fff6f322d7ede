"""Wrong passwords of others: they slow down who guesses, and do not keep the right person out."""

from uuid import UUID

import pytest

from docmill.errors import RateLimitedError
from docmill.service.app import Service
from docmill.service.people import sign_in
from docmill.service.people.sign_in import (
    MOST_FOR_ADDRESS_AND_EMAIL,
    MOST_FOR_BROWSER,
    SignInRefusedError,
    Visitor,
)
from support.people import PASSWORD

ANNA = "anna@example.org"
HOME = "203.0.113.7"
MOST = 12
"""Wrong passwords from all networks; fewer than usual, since each is hashed."""


@pytest.fixture(autouse=True)
def _few_attempts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sign_in, "MOST_FOR_EMAIL", MOST)


async def guess(service: Service, *networks: str, email: str = ANNA) -> None:
    for network in networks:
        with pytest.raises(SignInRefusedError):
            await service.sign_in.verify(email, "wrong password", Visitor(network))


async def guess_everywhere(service: Service, email: str = ANNA) -> None:
    """Try as many passwords as are tried at all, each from another network."""
    await guess(service, *(f"198.51.100.{number}" for number in range(MOST)), email=email)


async def test_who_guesses_from_many_networks_is_slowed_down(service: Service, anna: UUID) -> None:
    await guess_everywhere(service)
    await guess_everywhere(service, "nobody@example.org")

    for email in (ANNA, "nobody@example.org"):
        with pytest.raises(RateLimitedError):
            await service.sign_in.verify(email, PASSWORD, Visitor("198.51.100.200"))
    del anna


async def test_guesses_from_elsewhere_lock_nobody_out_of_a_network_where_they_signed_in(
    service: Service, anna: UUID
) -> None:
    await guess(service, *(f"198.51.100.{number}" for number in range(MOST - 1)))
    await service.sign_in.verify(ANNA, PASSWORD, Visitor(HOME))
    with pytest.raises(RateLimitedError):
        await service.sign_in.verify(ANNA, PASSWORD, Visitor("192.0.2.1"))

    assert await service.sign_in.verify(ANNA, PASSWORD, Visitor(HOME)) == anna


async def test_guesses_from_everywhere_lock_nobody_out_of_a_browser_where_they_signed_in(
    service: Service, anna: UUID
) -> None:
    secret = await service.sign_in.trust_browser(anna, Visitor(HOME))
    await guess_everywhere(service)
    await guess(service, *[HOME] * MOST_FOR_ADDRESS_AND_EMAIL)

    with pytest.raises(RateLimitedError):
        await service.sign_in.verify(ANNA, PASSWORD, Visitor(HOME))
    for network in (HOME, "192.0.2.200"):
        assert await service.sign_in.verify(ANNA, PASSWORD, Visitor(network, browser=secret)) == anna


async def test_a_known_browser_has_a_limit_of_its_own(service: Service, anna: UUID) -> None:
    secret = await service.sign_in.trust_browser(anna, Visitor(HOME))
    for number in range(MOST_FOR_BROWSER):
        with pytest.raises(SignInRefusedError):
            await service.sign_in.verify(ANNA, "wrong", Visitor(f"192.0.2.{number}", browser=secret))

    with pytest.raises(RateLimitedError):
        await service.sign_in.verify(ANNA, PASSWORD, Visitor("192.0.2.100", browser=secret))
    assert await service.sign_in.verify(ANNA, PASSWORD, Visitor(HOME)) == anna


async def test_the_browser_of_one_person_is_not_that_of_another(service: Service, anna: UUID) -> None:
    await service.accounts.add("ben@example.org", "Ben", "viewer", tenant_id=service.default_tenant_id)
    secret = await service.sign_in.trust_browser(anna, Visitor(HOME))
    await guess_everywhere(service, "ben@example.org")

    with pytest.raises(RateLimitedError):
        await service.sign_in.verify("ben@example.org", "guess", Visitor("192.0.2.1", browser=secret))


async def test_a_secret_that_somebody_else_put_into_the_browser_is_replaced(
    service: Service, anna: UUID
) -> None:
    secret = await service.sign_in.trust_browser(anna, Visitor(HOME, browser="chosen"))
    again = await service.sign_in.trust_browser(anna, Visitor("192.0.2.1", browser=secret))
    await guess_everywhere(service)

    assert (secret != "chosen", again) == (True, secret)
    with pytest.raises(RateLimitedError):
        await service.sign_in.verify(ANNA, "guess", Visitor("192.0.2.2", browser="chosen"))


async def test_a_new_password_by_a_link_leaves_one_known_browser_and_network(
    service: Service, anna: UUID
) -> None:
    old = await service.sign_in.trust_browser(anna, Visitor(HOME))
    new = await service.sign_in.trust_browser(anna, Visitor("192.0.2.1", browser=old), alone=True)
    await guess_everywhere(service)

    for visitor in (Visitor(HOME), Visitor(HOME, browser=old)):
        with pytest.raises(RateLimitedError):
            await service.sign_in.verify(ANNA, PASSWORD, visitor)
    assert await service.sign_in.verify(ANNA, PASSWORD, Visitor(HOME, browser=new)) == anna


async def test_a_limited_number_of_origins_is_kept(service: Service, anna: UUID) -> None:
    first = await service.sign_in.trust_browser(anna, Visitor(HOME))
    for number in range(60):
        await service.sign_in.trust_browser(anna, Visitor(f"192.0.2.{number}"))
    async with service.database.accounts() as conn:
        cur = await conn.execute("SELECT count(*) FROM familiar_origin WHERE user_id = %s", [anna])
        assert await cur.fetchone() == (50,)
    await guess_everywhere(service)

    with pytest.raises(RateLimitedError):
        await service.sign_in.verify(ANNA, PASSWORD, Visitor(HOME, browser=first))
