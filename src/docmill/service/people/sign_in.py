"""Signing in: passwords, sessions and API keys, with a limit of attempts."""

import hashlib
import logging
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from ipaddress import ip_address, ip_network
from uuid import UUID

from docmill.errors import RateLimitedError, ValidationError
from docmill.service.config.web import Web
from docmill.service.people.access import SCOPES, SCOPES_OF_ROLE, Access, Scope, scopes_of
from docmill.service.people.passwords import Passwords
from docmill.service.people.tokens import hash_token, new_token
from docmill.service.store import (
    api_keys,
    audit_log,
    familiar_origins,
    memberships,
    sessions,
    sign_in_attempts,
    users,
)
from docmill.service.store.database import Conn, Database, storable
from docmill.service.store.sessions import SessionSummary

log = logging.getLogger(__name__)

WINDOW = timedelta(minutes=15)
MOST_FOR_ADDRESS_AND_EMAIL = 10
MOST_FOR_BROWSER = 10
"""By a browser in which the person has signed in before. No attempts of others count for it."""
MOST_FOR_EMAIL = 100
"""From all networks together in which the person has not signed in before, against who guesses from many."""
MOST_FOR_ADDRESS = 100
MOST_RESETS_FOR_EMAIL = 3
MOST_RESETS_FROM_ADDRESS = 20
_LONGEST_USER_AGENT = 300


class SignInRefusedError(ValidationError):
    """E-mail address and password do not fit together; which of them is wrong is not told.

    user_id: who has the address, for `SignIn.log_refusal`.
    """

    def __init__(self, message: str, *, user_id: UUID | None = None) -> None:
        super().__init__(message)
        self.user_id = user_id


@dataclass(frozen=True, slots=True)
class Visitor:
    """The origin of a request. address: None if that is unknown. browser: see `SignIn.trust_browser`."""

    address: str | None = None
    user_agent: str | None = None
    browser: str | None = field(default=None, repr=False)

    @property
    def network(self) -> str:
        """The network by which attempts are counted. Of IPv6 one client has one of 64 bits."""
        try:
            parsed = ip_address(self.address or "")
        except ValueError:
            return self.address or ""
        return str(ip_network((parsed, 64), strict=False)) if parsed.version == 6 else str(parsed)  # noqa: PLR2004

    @property
    def origins(self) -> dict[str, bytes]:
        """The network and the browser, as `familiar_origins` keeps them."""
        browser = {} if self.browser is None else {"browser": _subject("browser", self.browser)}
        return {"network": _subject("network", self.network), **browser}


@dataclass(frozen=True, slots=True)
class NewSession:
    """A session that has just begun. token: for the cookie; it cannot be read again."""

    token: str = field(repr=False)
    user_id: UUID
    tenant_id: UUID | None


_SEPARATORS = frozenset('@,;:<>()[]"\\')
"""What stands between several addresses, or around one, in the head of a mail (RFC 5322, 3.4)."""


def clean_email(text: str) -> str:
    """Return an e-mail address as it is stored. Raises ValidationError if it is none."""
    email = text.strip().lower()
    name, at, host = email.rpartition("@")
    if not (name and at and host) or len(email) > 254 or any(sign.isspace() for sign in email):  # noqa: PLR2004  RFC 5321
        raise ValidationError("This is not an e-mail address.")
    # The sign of Kelvin becomes an ASCII letter in lower case: two mailboxes would have one account.
    is_one_mailbox = email.isascii() == text.strip().isascii() and not set(name) & _SEPARATORS
    # A mail goes to what an encoded word stands for (RFC 2047), which is another mailbox.
    if not (email.isprintable() and is_one_mailbox) or "=?" in email:
        raise ValidationError("This is not an e-mail address.")
    return email


class SignIn:
    """Begins, finds and ends sessions, and finds API keys."""

    def __init__(self, database: Database, passwords: Passwords, web: Web) -> None:
        self._database = database
        self._passwords = passwords
        self._idle = timedelta(hours=web.session_idle_h)
        self._longest = timedelta(days=web.session_days)
        self._app_idle = timedelta(days=web.app_key_idle_days)

    async def sign_in(self, email: str, password: str, visitor: Visitor) -> NewSession:
        """Begin a session. Raises SignInRefusedError, and RateLimitedError after too many attempts."""
        user_id = await self.verify(email, password, visitor)
        return await self.begin_session(user_id, visitor)

    async def verify(self, email: str, password: str, visitor: Visitor) -> UUID:
        """Return the user of an e-mail address and a password. Raises as `sign_in`.

        Whether there is such an account shows neither in the answer nor in its time.
        """
        email = storable(email).strip().lower()[:1000]
        async with self._database.accounts() as conn:
            familiar = await familiar_origins.of_email(conn, email, visitor.origins.values())
            subjects = _subjects(email, visitor, familiar)
            waits_s = await _count(conn, subjects)
        _refuse_too_many(waits_s)
        async with self._database.accounts() as conn:
            user = await users.by_email(conn, email)
        password_hash = user.password_hash if user else None
        if not await self._passwords.verify(password_hash, password) or user is None:
            log.warning("sign-in refused", extra={"address": visitor.address})
            raise SignInRefusedError(
                "E-mail address or password is wrong.", user_id=user.id if user else None
            )
        async with self._database.accounts() as conn:
            await sign_in_attempts.forget(conn, [*subjects][:1], window=WINDOW)
            await familiar_origins.add(conn, user.id, [visitor.origins["network"]])
            if password_hash and self._passwords.needs_rehash(password_hash):
                await users.set_password(conn, user.id, await self._passwords.hash(password))
        return user.id

    async def access_of(self, user_id: UUID) -> Access | None:
        """Return what a user may do in the first of their organisations; None if they belong to none."""
        async with self._database.accounts() as conn:
            memberships_of_user = await memberships.of_user(conn, user_id)
        if not memberships_of_user:
            return None
        first = memberships_of_user[0]
        return Access(
            "session",
            user_id,
            "",
            first.tenant_id,
            first.tenant_name,
            SCOPES_OF_ROLE[first.role],
            first.role,
        )

    async def count_reset(self, email: str, visitor: Visitor) -> None:
        """Count a request for a new password. Raises RateLimitedError after too many."""
        subjects = {
            _subject("reset", email.strip().lower()[:1000]): MOST_RESETS_FOR_EMAIL,
            _subject("resets from", visitor.network): MOST_RESETS_FROM_ADDRESS,
        }
        async with self._database.accounts() as conn:
            waits_s = await _count(conn, subjects)
        _refuse_too_many(waits_s)

    async def trust_browser(self, user_id: UUID, visitor: Visitor, *, alone: bool = False) -> str:
        """Note that a person has proven who they are in this browser; the secret that it is to keep.

        With it, the browser is not locked out by attempts elsewhere. One that it brings along is taken only
        if it is known: another might be known to who put it there. alone: all other browsers are forgotten.
        """
        async with self._database.accounts() as conn:
            known = visitor.origins.get("browser")
            is_known = known is not None and await familiar_origins.of_user(conn, user_id, known)
            secret = visitor.browser if is_known and visitor.browser and not alone else new_token()
            if alone:
                await familiar_origins.forget(conn, user_id)
            trusted = Visitor(visitor.address, browser=secret)
            await familiar_origins.add(conn, user_id, trusted.origins.values())
        return secret

    async def log_refusal(self, user_id: UUID, visitor: Visitor) -> None:
        """Tell the organisations of a person that a sign-in was refused; after the answer, see `verify`."""
        async with self._database.accounts() as conn:
            tenants = [row.tenant_id for row in await memberships.of_user(conn, user_id)]
        for tenant_id in tenants:
            async with self._database.tenant(tenant_id) as conn:
                await audit_log.add(
                    conn,
                    tenant_id=tenant_id,
                    user_id=user_id,
                    action="sign_in_refused",
                    address=visitor.address,
                )

    async def begin_session(
        self, user_id: UUID, visitor: Visitor, *, tenant_id: UUID | None = None, by: str = "password"
    ) -> NewSession:
        """Begin a session of a user whose identity is proven. tenant_id: to work in, if they belong to it."""
        token = new_token()
        async with self._database.accounts() as conn:
            await sessions.delete_old(conn, idle=self._idle, longest=self._longest)
            own = [row.tenant_id for row in await memberships.of_user(conn, user_id)]
            chosen = tenant_id if tenant_id in own else next(iter(own), None)
            await sessions.begin(
                conn,
                token_hash=hash_token(token),
                user_id=user_id,
                tenant_id=chosen,
                address=visitor.address,
                user_agent=(visitor.user_agent or "")[:_LONGEST_USER_AGENT] or None,
            )
        if chosen is not None:
            async with self._database.tenant(chosen) as conn:
                await audit_log.add(
                    conn,
                    tenant_id=chosen,
                    user_id=user_id,
                    action="sign_in",
                    details={"by": by},
                    address=visitor.address,
                )
        return NewSession(token, user_id, chosen)

    async def of_session(self, token: str, *, is_activity: bool = True) -> Access | None:
        """Return the access of a session; None if it has ended or there is none.

        is_activity: whether the session lasts longer for it.
        """
        async with self._database.accounts() as conn:
            session = await sessions.find(conn, hash_token(token), idle=self._idle, longest=self._longest)
            if session is None:
                return None
            if session.is_due and is_activity:
                await sessions.touch(conn, session.id)
            own = await memberships.of_user(conn, session.user_id)
        current = next((row for row in own if row.tenant_id == session.tenant_id), next(iter(own), None))
        return Access(
            "session",
            session.user_id,
            session.name,
            current.tenant_id if current else None,
            current.tenant_name if current else "",
            SCOPES_OF_ROLE[current.role] if current else frozenset(),
            current.role if current else None,
            session.email,
            session_id=session.id,
            tenants=tuple(own),
            language=session.language,
        )

    async def of_key(self, secret: str) -> Access | None:
        """Return the access of an API key; None if it does not hold (any more).

        It allows what was chosen for it, as far as the present role of who answers for it does.
        """
        async with self._database.accounts() as conn:
            key = await api_keys.find(conn, hash_token(secret), app_idle=self._app_idle)
        if key is None:
            return None
        chosen: frozenset[Scope] = frozenset(scope for scope in SCOPES if scope in key.scopes)
        allows = chosen & scopes_of(key.responsible_id, key.role)
        if not allows:
            return None
        if key.is_due:
            async with self._database.accounts(key.tenant_id) as conn:
                await api_keys.touch(conn, key.id)
        return Access(
            "key", key.responsible_id, key.name, key.tenant_id, key.tenant_name, allows, api_key_id=key.id
        )

    async def switch_tenant(self, access: Access, tenant_id: UUID) -> str | None:
        """Have a session work in another tenant of its person; its new token, or None if that is not one."""
        if access.session_id is None or tenant_id not in {row.tenant_id for row in access.tenants}:
            return None
        return await self._rotate(access.session_id, tenant_id)

    async def renew(self, access: Access) -> str:
        """End all sessions of a person but this one, and give this one a new token."""
        assert access.session_id is not None, "a person has a session"
        async with self._database.accounts() as conn:
            await sessions.end_of_user(conn, access.user_id, but=access.session_id)
        return await self._rotate(access.session_id, access.tenant_id)

    async def _rotate(self, session_id: UUID, tenant_id: UUID | None) -> str:
        token = new_token()
        async with self._database.accounts() as conn:
            await sessions.rotate(conn, session_id, hash_token(token), tenant_id=tenant_id)
        return token

    async def sessions_of(self, user_id: UUID) -> list[SessionSummary]:
        """Return the sessions of a user that still hold."""
        async with self._database.accounts() as conn:
            return await sessions.of_user(conn, user_id, idle=self._idle, longest=self._longest)

    async def end_session(self, session_id: UUID, user_id: UUID) -> bool:
        """End a session of a user. False if there is none of that id."""
        async with self._database.accounts() as conn:
            return await sessions.end(conn, session_id, user_id=user_id)


def _subjects(email: str, visitor: Visitor, familiar: Collection[bytes]) -> dict[bytes, int]:
    """The subjects for which an attempt to sign in is counted, with their limits; first the nearest one.

    Wrong passwords of others must not lock the right person out: neither the browser in which they have
    signed in before, nor, unless the others are there, too, their network.
    """
    origins = visitor.origins
    if origins.get("browser") in familiar:
        return {_subject("browser and email", visitor.browser or "", email): MOST_FOR_BROWSER}
    nearest = {_subject("both", visitor.network, email): MOST_FOR_ADDRESS_AND_EMAIL}
    if origins["network"] not in familiar:
        nearest[_subject("email", email)] = MOST_FOR_EMAIL
    return {**nearest, _subject("address", visitor.network): MOST_FOR_ADDRESS}


async def _count(conn: Conn, subjects: Mapping[bytes, int]) -> list[float]:
    """Count an attempt; the seconds to wait for each subject that has too many."""
    counts = [
        (await sign_in_attempts.count(conn, subject, window=WINDOW), most)
        for subject, most in sorted(subjects.items())  # in one order, so that none waits for another
    ]
    return [wait_s for (attempts, wait_s), most in counts if attempts > most]


def _refuse_too_many(waits_s: Sequence[float]) -> None:
    if waits_s:
        minutes = math.ceil(max(waits_s) / 60)
        raise RateLimitedError(
            "Too many attempts. Try again in " + ("one minute." if minutes <= 1 else f"{minutes} minutes."),
            retry_after_s=max(waits_s),
        )


def _subject(*parts: str) -> bytes:
    """Hash whom attempts are counted for, so that the table names nobody."""
    return hashlib.sha256("\0".join(parts).encode("utf-8", "replace")).digest()
