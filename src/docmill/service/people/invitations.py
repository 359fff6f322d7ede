"""Invitations into a tenant: made by its owners, accepted with a new account or an old one."""

import math
from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

from docmill.errors import RateLimitedError, ValidationError
from docmill.service.people.accounts import LINK_IS_OVER, LinkIsOverError, NewPerson
from docmill.service.people.passwords import Passwords
from docmill.service.people.sign_in import clean_email
from docmill.service.people.tokens import hash_token, new_token
from docmill.service.store import (
    api_keys,
    audit_log,
    memberships,
    one_time_links,
    sign_in_attempts,
    tenants,
    users,
)
from docmill.service.store.database import DEFAULT_USER_ID, Conn, Database
from docmill.service.store.memberships import Role
from docmill.service.store.one_time_links import LinkRow, NewInvitation

INVITATION = timedelta(days=7)
MOST_MAILS = 100
"""Invitations that are mailed for one organisation in an hour."""

_MAILS_WINDOW = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class Invitation:
    """An invitation as its bearer sees it. email: the only address that can accept it; None for any."""

    tenant_name: str
    role: Role
    email: str | None


class Invitations:
    """Makes and accepts invitations. Who may make one is the caller's question."""

    def __init__(self, database: Database, passwords: Passwords) -> None:
        self._database = database
        self._passwords = passwords

    async def invite(
        self,
        role: Role,
        *,
        tenant_id: UUID,
        invited_by: UUID,
        email: str | None = None,
        is_mailed: bool = False,
        api_key_id: UUID | None = None,
    ) -> str:
        """Make an invitation into a tenant; the token of its link.

        email: the only address that can accept it. is_mailed: the link is sent there, and shown to nobody
        else. api_key_id: the key that makes it, and with which it ends. Raises ValidationError for what is no
        address.
        """
        token = new_token()
        async with self._database.accounts(tenant_id) as conn:
            if api_key_id is not None and not (await api_keys.lock(conn, api_key_id))[0]:
                raise ValidationError("The API key that makes this invitation has just ended.")
            await one_time_links.add(
                conn,
                token_hash=hash_token(token),
                kind="invitation",
                lifetime=INVITATION,
                invitation=NewInvitation(
                    tenant_id,
                    role,
                    clean_email(email) if email and email.strip() else None,
                    invited_by,
                    is_mailed=is_mailed,
                    api_key_id=api_key_id,
                ),
            )
        return token

    async def count_mail(self, tenant_id: UUID) -> None:
        """Count an invitation that is to be mailed. Raises RateLimitedError after too many in an hour."""
        subject = hash_token(f"invitations of {tenant_id}")
        async with self._database.accounts() as conn:
            count, wait_s = await sign_in_attempts.count(conn, subject, window=_MAILS_WINDOW)
        if count > MOST_MAILS:
            raise RateLimitedError(
                f"{MOST_MAILS} invitations were mailed in the last hour, which is the limit. Try again in"
                f" {math.ceil(wait_s / 60)} minutes, or invite without an address and pass the link on.",
                retry_after_s=wait_s,
            )

    async def of_token(self, token: str) -> Invitation:
        """Return an invitation. Raises LinkIsOverError."""
        async with self._database.accounts() as conn:
            link = await one_time_links.find(conn, hash_token(token), "invitation")
            if link is None or link.tenant_id is None or link.role is None:
                raise LinkIsOverError(LINK_IS_OVER)
            rows = [row for row in await tenants.all_tenants(conn) if row.id == link.tenant_id]
        return Invitation(rows[0].name, link.role, link.email)

    async def withdraw(self, token: str) -> None:
        """End an invitation whose link reached nobody."""
        async with self._database.accounts() as conn:
            await one_time_links.take(conn, hash_token(token), "invitation")

    async def accept_as(self, token: str, user_id: UUID, address: str | None) -> UUID:
        """Have a person with an account accept an invitation; the tenant.

        Raises LinkIsOverError, and ValidationError for one that is not for this account.
        """
        _, tenant_id = await self._take(token, None, user_id, address)
        return tenant_id

    async def accept(self, token: str, person: NewPerson, address: str | None) -> tuple[UUID, UUID]:
        """Make the account of an invited person; user and tenant.

        Raises LinkIsOverError, and ValidationError for what cannot be stored, has an account already, or is
        not the address that was invited.
        """
        await self.of_token(token)  # before a hash is computed for somebody who has none
        person = person.checked()
        password_hash = await self._passwords.hash(person.password)
        return await self._take(token, (person, password_hash), None, address)

    async def _take(
        self, token: str, new: tuple[NewPerson, str] | None, user_id: UUID | None, address: str | None
    ) -> tuple[UUID, UUID]:
        """Use an invitation up for a new account or an old one; user and tenant."""
        async with self._database.accounts() as conn:
            link = await one_time_links.find(conn, hash_token(token), "invitation")
        if link is None or link.tenant_id is None or link.role is None:
            raise LinkIsOverError(LINK_IS_OVER)
        async with self._database.accounts(link.tenant_id) as conn:
            if await one_time_links.take(conn, hash_token(token), "invitation") is None:
                raise LinkIsOverError(LINK_IS_OVER)
            if not await _may_still_invite(conn, link):
                raise LinkIsOverError(LINK_IS_OVER)
            if new is not None:
                user_id = await _new_account(conn, link, *new)
            else:
                assert user_id is not None, "one of the two is given"
                await _check_account(conn, link, user_id)
            if await memberships.role_of(conn, link.tenant_id, user_id) is not None:
                raise ValidationError(
                    "You belong to this organisation already; an owner can change your role."
                )
            await memberships.put(conn, link.tenant_id, user_id, link.role)
            await audit_log.add(
                conn,
                tenant_id=link.tenant_id,
                user_id=user_id,
                action="accept_invitation",
                details={"role": link.role, "invited_by": str(link.created_by)},
                address=address,
            )
        return user_id, link.tenant_id


async def _may_still_invite(conn: Conn, link: LinkRow) -> bool:
    """True while who made the invitation is an owner, or is the operator."""
    if link.created_by == DEFAULT_USER_ID:
        return True
    assert link.tenant_id is not None, "an invitation has a tenant"
    assert link.created_by is not None, "an invitation was made by somebody"
    return await memberships.role_of(conn, link.tenant_id, link.created_by) == "owner"


async def _new_account(conn: Conn, link: LinkRow, person: NewPerson, password_hash: str) -> UUID:
    """Make the account; its user. The address is proven if only a mail to it had the link."""
    _check_address(link, person.email)
    user_id = await users.add(
        conn,
        email=person.email,
        name=person.name,
        password_hash=password_hash,
        is_verified=link.is_mailed,
    )
    if user_id is None:
        raise ValidationError(
            "This e-mail address has an account. Sign in with it first, then open the link again."
        )
    return user_id


async def _check_account(conn: Conn, link: LinkRow, user_id: UUID) -> None:
    """Check that an invitation is for this account. Raises ValidationError."""
    user = await users.by_id(conn, user_id)
    assert user is not None, "who has signed in has an account"
    _check_address(link, user.email)
    if link.is_mailed:
        await users.verify(conn, user_id)
    elif link.email is not None and user.verified_at is None:
        raise ValidationError(
            "It is not proven yet that this e-mail address is yours. Set a new password by the link that"
            " 'Forgotten password?' sends you, then open this invitation again."
        )


def _check_address(link: LinkRow, email: str) -> None:
    if link.email is not None and link.email != email:
        raise ValidationError(
            "This invitation is for another e-mail address. Sign in with the account of that address, or ask"
            " for an invitation of your own."
        )
