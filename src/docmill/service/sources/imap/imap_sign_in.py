"""Opens a connection to a mailbox and signs in, by a password or by OAuth 2."""

import imaplib
import re
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from imapclient.exceptions import LoginError

from docmill.errors import MisconfiguredError, UnauthorizedError
from docmill.service.notify.guarded_connection import Resolve, resolve_host
from docmill.service.sources.access_tokens import AccessTokens
from docmill.service.sources.imap.imap_client import ImapClient
from docmill.service.sources.imap.imap_connection import ImapConnection, is_passing
from docmill.service.sources.imap.imap_settings import ImapSecrets, ImapSettings

_SIGN_IN_S = 90.0
_CODE = re.compile(r"\[([A-Z-]+)[ \]]")


class _RefusedSignInError(Exception):
    """The server does not take the credentials. The text: its response code, never its words."""


@dataclass(frozen=True, slots=True)
class MailServer:
    """The server of a mailbox, and the credentials there. tokens: of OAuth 2; None with a password."""

    settings: ImapSettings
    secrets: ImapSecrets
    tokens: AccessTokens | None
    allow_private: bool
    resolve: Resolve = resolve_host

    @asynccontextmanager
    async def connection(self) -> AsyncGenerator[ImapConnection]:
        """A connection that is signed in, closed at the end of the block.

        Raises UnauthorizedError for wrong credentials, and as `ImapConnection.open` does.
        """
        connection = await self._signed_in()
        try:
            yield connection
        finally:
            connection.close()

    async def _signed_in(self) -> ImapConnection:
        if self.tokens is None:
            return await self._open(_password_of(self.secrets))
        token = await self.tokens.get()
        try:
            return await self._open(token)
        except UnauthorizedError:  # it may have been withdrawn before its time
            return await self._open(await self.tokens.get(refused=token))

    async def _open(self, secret: str) -> ImapConnection:
        connection = ImapConnection(f"the mail server {self.settings.server!r}")
        try:
            await connection.open(self.settings, allow_private=self.allow_private, resolve=self.resolve)
            sign_in = _by_password if self.tokens is None else _by_token
            try:
                await connection.run(sign_in, self.settings.user, secret, limit_s=_SIGN_IN_S)
            except _RefusedSignInError as error:
                raise UnauthorizedError(
                    f"{connection.what} refuses the sign-in{error}; check user and"
                    f" {'password' if self.tokens is None else 'permission'}"
                ) from error
        except BaseException:
            connection.close()
            raise
        return connection


def _password_of(secrets: ImapSecrets) -> str:
    if secrets.password is None:
        raise UnauthorizedError("the mailbox has no password; enter it")
    return secrets.password.get_secret_value()


def _by_password(client: ImapClient, user: str, password: str) -> None:
    if client.has_capability("LOGINDISABLED"):
        raise MisconfiguredError("the mail server takes no password over a connection without encryption")
    try:
        if client.has_capability("AUTH=PLAIN"):  # takes letters beyond ASCII, too
            client.plain_login(user, password)
        else:
            client.login(_quoted(user), password)
    except LoginError as error:
        raise _refusal(error) from None
    except UnicodeEncodeError:
        raise UnauthorizedError("the mail server takes no such letters in user and password") from None


def _quoted(user: str) -> str:
    """The user name as the command LOGIN takes it; the library does that with the password alone."""
    return '"' + user.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _by_token(client: ImapClient, user: str, token: str) -> None:
    try:
        client.oauth2_login(user, token)
    except LoginError as error:
        raise _refusal(error) from None


def _refusal(error: LoginError) -> Exception:
    """The error of a refused sign-in. The words of the server may quote the credentials: they are dropped."""
    if isinstance(error.__context__, imaplib.IMAP4.abort):  # the connection was lost, as the library hides
        return error.__context__
    if is_passing(error):
        return error
    code = _CODE.search(str(error))
    return _RefusedSignInError(f" ({code[1]})" if code else "")
