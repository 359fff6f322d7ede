"""Accounts: the first one, those of the operator, roles, passwords, and their removal."""

from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

from docmill.errors import ChangedError, ValidationError
from docmill.service.people.openid import Identity
from docmill.service.people.passwords import Passwords, check_new_password
from docmill.service.people.sign_in import clean_email
from docmill.service.people.tokens import hash_token, new_token
from docmill.service.store import (
    api_keys,
    identities,
    memberships,
    one_time_links,
    sessions,
    tenants,
    users,
    webhooks,
)
from docmill.service.store.database import DEFAULT_TENANT_ID, Conn, Database, storable, try_lock
from docmill.service.store.memberships import Role
from docmill.service.store.users import UserRow

PASSWORD_LINK = timedelta(hours=24)
_FIRST_LINK = timedelta(days=7)
_LONGEST_NAME = 200
LINK_IS_OVER = "This link does not work any more: it was used, withdrawn, or is too old. Ask for a new one."


class LinkIsOverError(ValidationError):
    """A one-time link was used, withdrawn, or is too old."""


class AccountExistsError(ValidationError):
    """An address has an account already, to which a role is not given but offered by an invitation."""


@dataclass(frozen=True, slots=True)
class NewPerson:
    """The person of a new account, as it was typed."""

    email: str
    name: str
    password: str

    def checked(self) -> "NewPerson":
        """Return the same as it is stored. Raises ValidationError."""
        email = clean_email(self.email)
        check_new_password(self.password, email=email)
        return NewPerson(email, clean_name(self.name, "your name"), self.password)


def clean_name(text: str, what: str) -> str:
    """Return a name as it is stored. Raises ValidationError if it is empty or too long."""
    name = " ".join(storable(text).split())
    if not name or len(name) > _LONGEST_NAME or not name.isprintable():
        raise ValidationError(f"Give {what}, of at most {_LONGEST_NAME} characters.")
    return name


class Accounts:
    """Makes, changes and removes accounts. Who may do that is the caller's question."""

    def __init__(self, database: Database, passwords: Passwords) -> None:
        self._database = database
        self._passwords = passwords
        self._exist = False

    async def exist(self) -> bool:
        """Return whether there is an account. Until then the vault is open to everybody on its machine."""
        if not self._exist:
            async with self._database.accounts() as conn:
                self._exist = await users.any_exist(conn)  # the last owner is never removed
        return self._exist

    async def first_link(self) -> str | None:
        """Make the token of a link for the first account, in place of earlier ones; None if there is one."""
        if await self.exist():
            return None
        token = new_token()
        async with self._database.accounts() as conn:
            await one_time_links.delete_of_kind(conn, "first")
            await one_time_links.add(conn, token_hash=hash_token(token), kind="first", lifetime=_FIRST_LINK)
        return token

    async def is_first_link(self, token: str) -> bool:
        """Return whether a token is that of a link for the first account."""
        async with self._database.accounts() as conn:
            return await one_time_links.find(conn, hash_token(token), "first") is not None

    async def create_first(self, person: NewPerson, organisation: str) -> UUID:
        """Make the first account, as the owner of the organisation that is here already; its user.

        Raises ValidationError for what cannot be stored, ChangedError if somebody else was first.
        """
        person, organisation = person.checked(), clean_name(organisation, "the name of the organisation")
        password_hash = await self._passwords.hash(person.password)
        async with self._database.accounts(DEFAULT_TENANT_ID) as conn:
            if not await try_lock(conn, "first account") or await users.any_exist(conn):
                raise ChangedError("Somebody has made the first account meanwhile. Sign in, or be invited.")
            user_id = await users.add(
                conn,
                email=person.email,
                name=person.name,
                password_hash=password_hash,
                is_verified=True,  # by the word of the operator, who has the link or the machine
            )
            assert user_id is not None, "there was no account"
            await tenants.rename(conn, DEFAULT_TENANT_ID, organisation)
            await memberships.put(conn, DEFAULT_TENANT_ID, user_id, "owner")
            await one_time_links.delete_of_kind(conn, "first")
        return user_id

    async def add(self, email: str, name: str, role: Role, *, tenant_id: UUID) -> tuple[UUID, str]:
        """Make an account by the word of the operator; the user, and the token of a link for a password.

        Raises AccountExistsError if the address has an account: somebody else may have made it, so that it
        gets an invitation to accept. Raises ValidationError if the account is a member already, or if nobody
        has proven that the address is theirs.
        """
        email = clean_email(email)
        name = clean_name(name or email.partition("@")[0], "a name")
        async with self._database.accounts(tenant_id) as conn:
            if role != "owner" and not await memberships.lock_owners(conn, tenant_id):
                raise ValidationError("This organisation has no owner yet. Add an owner first.")
            user_id = await users.add(conn, email=email, name=name, password_hash=None, is_verified=True)
            if user_id is None:
                user = await users.by_email(conn, email)
                assert user is not None, "accounts are not deleted"
                if await memberships.role_of(conn, tenant_id, user.id):
                    raise ValidationError(f"{email} belongs to this organisation already.")
                if user.verified_at is None:
                    raise ValidationError(
                        f"{email} has an account, but nobody has proven that the address is theirs. Run"
                        f" `docmill users reset {email}`, give its link to the person, and add them then."
                    )
                raise AccountExistsError(f"{email} has an account already. Invite them.")
            await memberships.put(conn, tenant_id, user_id, role)
        return user_id, await self.password_link(user_id)

    async def of_identity(self, identity: Identity) -> UUID | None:
        """Return the user of an identity at an OpenID provider; None if there is no account.

        The first time, it is the account with the e-mail address that the provider has verified. That ends
        its sessions, its password and the keys of its devices: whoever made the account, with any address,
        has not proven to have it.
        An account that the provider knows under another name is not given away with its address.
        """
        async with self._database.accounts() as conn:
            user_id = await identities.user_of(conn, identity.issuer, identity.subject)
            if user_id is None and identity.email is not None:
                user = await users.by_email(conn, _address_of(identity.email))
                if user is not None and not await identities.is_known(conn, identity.issuer, user.id):
                    user_id = user.id
                    await _end_what_was_before(conn, user)
                    await identities.add(conn, identity.issuer, identity.subject, user_id)
                    await users.set_password(conn, user_id, None)
                    await users.verify(conn, user_id)
                    await one_time_links.delete_of_kind(conn, "password", user_id=user_id)
                    await sessions.end_of_user(conn, user_id)
        return user_id

    async def by_email(self, email: str) -> UserRow | None:
        """Return the account of an e-mail address."""
        async with self._database.accounts() as conn:
            return await users.by_email(conn, _address_of(storable(email)))

    async def change_role(self, user_id: UUID, role: Role, *, tenant_id: UUID) -> bool:
        """Give a member another role, which ends their sessions there; False if there is no such member.

        Who is no owner any more loses what only owners have: see `_end_ownership`. Raises ValidationError if
        that would leave no owner.
        """
        async with self._database.accounts(tenant_id) as conn:
            owners = await memberships.lock_owners(conn, tenant_id)
            before = await memberships.role_of(conn, tenant_id, user_id)
            if before is None:
                return False
            if role != "owner" and owners == {user_id}:
                raise ValidationError("An organisation needs an owner. Make somebody else an owner first.")
            if role != before:
                await memberships.put(conn, tenant_id, user_id, role)
                await sessions.end_of_user(conn, user_id, tenant_id=tenant_id)
                if before == "owner":
                    await _end_ownership(conn, tenant_id, user_id)
        return True

    async def remove(self, user_id: UUID, *, tenant_id: UUID) -> bool:
        """Remove a member, end their sessions there and the keys of their devices; False if there is none.

        Other keys do nothing from now on, until an owner takes them over. What the person did stays under
        their name. Raises ValidationError for the only owner.
        """
        async with self._database.accounts(tenant_id) as conn:
            owners = await memberships.lock_owners(conn, tenant_id)
            if await memberships.role_of(conn, tenant_id, user_id) is None:
                return False
            if owners == {user_id}:
                raise ValidationError("An organisation needs an owner. Make somebody else an owner first.")
            await memberships.end(conn, tenant_id, user_id)
            await _end_ownership(conn, tenant_id, user_id)
            await api_keys.revoke_app_keys(conn, tenant_id, user_id)
            await sessions.end_of_user(conn, user_id, tenant_id=tenant_id)
        return True

    async def password_link(self, user_id: UUID) -> str:
        """Make the token of a link with which a user sets a password, in place of earlier ones."""
        token = new_token()
        async with self._database.accounts() as conn:
            await one_time_links.delete_of_kind(conn, "password", user_id=user_id)
            await one_time_links.add(
                conn,
                token_hash=hash_token(token),
                kind="password",
                lifetime=PASSWORD_LINK,
                user_id=user_id,
            )
        return token

    async def user_of_password_link(self, token: str) -> UserRow:
        """Return whose password a link sets. Raises LinkIsOverError."""
        async with self._database.accounts() as conn:
            link = await one_time_links.find(conn, hash_token(token), "password")
            user = await users.by_id(conn, link.user_id) if link and link.user_id else None
        if user is None:
            raise LinkIsOverError(LINK_IS_OVER)
        return user

    async def set_password(self, token: str, password: str) -> UUID:
        """Set the password of a link's user; the user. It ends their sessions and the keys of their devices.

        Raises LinkIsOverError, and ValidationError for a password that is refused.
        """
        user = await self.user_of_password_link(token)
        check_new_password(password, email=user.email)
        password_hash = await self._passwords.hash(password)
        async with self._database.accounts() as conn:
            if await one_time_links.take(conn, hash_token(token), "password") is None:
                raise LinkIsOverError(LINK_IS_OVER)
            await _end_what_was_before(conn, user)
            await users.set_password(conn, user.id, password_hash)
            await users.verify(conn, user.id)  # a mail to the address or the operator gave the link
            await sessions.end_of_user(conn, user.id)
        return user.id

    async def change_password(self, user_id: UUID, password: str) -> None:
        """Set the password of a user who has proven who they are, and end the keys of their devices.

        Raises ValidationError.
        """
        async with self._database.accounts() as conn:
            user = await users.by_id(conn, user_id)
        check_new_password(password, email=user.email if user else "")
        password_hash = await self._passwords.hash(password)
        async with self._database.accounts() as conn:
            await users.set_password(conn, user_id, password_hash)
            await api_keys.revoke_of_person(conn, user_id, kinds=["app"])
            await one_time_links.delete_of_kind(conn, "password", user_id=user_id)

    async def choose_language(self, user_id: UUID, language: str | None) -> None:
        """Keep the language in which a person reads the pages; None for that of the browser."""
        async with self._database.accounts() as conn:
            await users.choose_language(conn, user_id, language)

    async def rename(self, user_id: UUID, name: str) -> None:
        """Give a user another name. Raises ValidationError."""
        name = clean_name(name, "your name")
        async with self._database.accounts() as conn:
            await users.rename(conn, user_id, name)


def _address_of(email: str) -> str:
    """The address under which an account of the e-mail address is stored; empty if there can be none."""
    try:
        return clean_email(email)
    except ValidationError:
        return ""


async def _end_ownership(conn: Conn, tenant_id: UUID, user_id: UUID) -> None:
    """End what an owner has begun, for who is none any more.

    Invitations do not work, and webhooks send nothing until another owner takes them over. Keys are limited
    by the present role at each request, and sources bring in on: both are listed for the owners.
    """
    await one_time_links.delete_invitations_by(conn, tenant_id, user_id)
    await webhooks.pause_of_person(conn, tenant_id, user_id)


async def _end_what_was_before(conn: Conn, user: UserRow) -> None:
    """End the keys of a person who has just proven who they are.

    Those of their devices stand for the password of before. If the address was not proven before, somebody
    else may have made the other keys, too.
    """
    await api_keys.revoke_of_person(conn, user.id, kinds=["app"] if user.verified_at else ["app", "program"])
