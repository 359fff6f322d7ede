"""A connection to an IMAP server, at a checked address, with limits of time and memory.

The library is synchronous: each connection has a thread of its own, since it waits for mails there.
"""

import asyncio
import imaplib
import re
import ssl
from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from typing import TypeVar, TypeVarTuple

from imapclient.exceptions import CapabilityError

from docmill.errors import (
    DocmillError,
    MisconfiguredError,
    NetworkError,
    RateLimitedError,
    ServerError,
    TimeLimitError,
)
from docmill.service.notify.guarded_connection import Resolve, is_public, resolve_host
from docmill.service.sources.imap.imap_client import ANSWER_S, ImapClient, connected
from docmill.service.sources.imap.imap_settings import ImapSettings, tls_context

Result = TypeVar("Result")
Arguments = TypeVarTuple("Arguments")

_THROTTLED = re.compile(
    r"\[(?:THROTTLED|LIMIT|OVERQUOTA)\]|too many|exceeded|throttl|rate limit|try again later", re.IGNORECASE
)
_UNAVAILABLE = re.compile(r"\[(?:UNAVAILABLE|INUSE|SERVERBUG|CONTACTADMIN)\]", re.IGNORECASE)
_THROTTLE_PAUSE_S = 120.0
_LONGEST_REASON = 200


class RefusedCommandError(Exception):
    """The server has refused a command (NO or BAD); its text says why."""


class ImapConnection:
    """A connection whose commands run in its own thread, one after another."""

    def __init__(self, what: str) -> None:
        self.what = what
        self._client: ImapClient | None = None
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="imap")

    async def open(
        self, settings: ImapSettings, *, allow_private: bool, resolve: Resolve = resolve_host
    ) -> None:
        """Connect, and encrypt the connection as the settings say.

        Raises MisconfiguredError for a private address that is not allowed, for a certificate that does not
        hold, and a server without STARTTLS; NetworkError, TimeLimitError.
        """
        addresses = await _checked_addresses(settings, allow_private=allow_private, resolve=resolve)
        context = None if settings.security == "none" else tls_context(settings.ca_certificates)
        failure: DocmillError = NetworkError(f"{self.what} has no address")
        for address in addresses:
            try:
                await self._in_thread(
                    lambda address=address: self._connect(address, settings, context), limit_s=2 * ANSWER_S
                )
            except (NetworkError, TimeLimitError) as error:
                failure = error
            else:
                return
        raise failure

    async def run(
        self,
        command: Callable[[ImapClient, *Arguments], Result],
        *args: *Arguments,
        limit_s: float = 10 * ANSWER_S,
        extra_bytes: int = 0,
        purpose: str = "use the mailbox",
    ) -> Result:
        """Run a function of the client in the connection's thread.

        limit_s: for all of it. purpose: what is told to be impossible if the server refuses it, as a
        MisconfiguredError. Raises NetworkError if the connection is lost, TimeLimitError, RateLimitedError
        and ServerError as far as the server says so.
        """
        client = self._client
        assert client is not None, "it is open"
        client.allow(extra_bytes)
        try:
            return await self._in_thread(lambda: command(client, *args), limit_s=limit_s)
        except RefusedCommandError as error:
            raise MisconfiguredError(f"{self.what} does not let docmill {purpose}: {error}") from error

    def close(self) -> None:
        """End the connection, and what is under way on it. The server needs no farewell."""
        if self._client is not None:
            self._client.cut()
            self._thread.submit(_shut, self._client)
        self._thread.shutdown(wait=False)

    def _connect(self, address: str, settings: ImapSettings, context: ssl.SSLContext | None) -> None:
        is_secure = settings.security == "tls"
        self._client = connected(
            address, settings.server, settings.server_port, context if is_secure else None
        )
        if settings.security == "starttls":
            self._client.starttls(context)

    async def _in_thread(self, function: Callable[[], Result], *, limit_s: float) -> Result:
        working = asyncio.get_running_loop().run_in_executor(self._thread, function)
        try:
            with translated(self.what):
                async with asyncio.timeout(limit_s):
                    return await working
        except TimeLimitError:
            self.cut()
            raise

    def cut(self) -> None:
        """End the connection at once; the command that is under way fails."""
        if self._client is not None:
            self._client.cut()


def _shut(client: ImapClient) -> None:
    with suppress(OSError, imaplib.IMAP4.error, AttributeError, ValueError):  # it is gone already
        client.shutdown()


async def _checked_addresses(settings: ImapSettings, *, allow_private: bool, resolve: Resolve) -> list[str]:
    try:
        addresses = list(await resolve(settings.server, settings.server_port))
    except (OSError, UnicodeError) as error:
        raise NetworkError(f"the name of the mail server {settings.server!r} cannot be looked up") from error
    if not allow_private and not all(map(is_public, addresses)):
        raise MisconfiguredError(
            f"the mail server {settings.server!r} lies in a private network; whoever runs this installation"
            " can allow that by sources.allow_private_addresses"
        )
    return addresses


@contextmanager
def translated(what: str) -> Generator[None]:
    """Errors of the library and the connection as docmill's own."""
    try:
        yield
    except TimeoutError as error:
        raise TimeLimitError(f"{what} does not answer") from error
    except ssl.SSLCertVerificationError as error:
        raise MisconfiguredError(
            f"the certificate of {what} does not hold: {error.verify_message}; check the host, or give the"
            " certificate of its authority"
        ) from error
    except CapabilityError as error:
        raise MisconfiguredError(f"{what} lacks what the settings ask for: {reason_of(error)}") from error
    except imaplib.IMAP4.abort as error:
        raise _throttled(what, error) or NetworkError(f"{what} has ended the connection") from error
    except imaplib.IMAP4.error as error:
        if throttled := _throttled(what, error):
            raise throttled from error
        if is_passing(error):
            raise ServerError(f"{what} is not available now: {reason_of(error)}") from error
        raise RefusedCommandError(reason_of(error)) from error
    except (OSError, EOFError) as error:
        raise NetworkError(f"{what} cannot be reached ({type(error).__name__})") from error
    except (ValueError, LookupError, TypeError, AttributeError, AssertionError, RecursionError) as error:
        # Of a library that was given what no server sends, or whose connection was cut meanwhile.
        raise NetworkError(f"{what} has sent an answer that cannot be read") from error


def _throttled(what: str, error: Exception) -> RateLimitedError | None:
    if not _THROTTLED.search(str(error)):
        return None
    return RateLimitedError(f"{what} asks to slow down", retry_after_s=_THROTTLE_PAUSE_S)


def is_passing(error: Exception) -> bool:
    """True for a refusal that says that the same may work later."""
    return bool(_THROTTLED.search(str(error)) or _UNAVAILABLE.search(str(error)))


def reason_of(error: Exception) -> str:
    """The words of the server, on one line, not too long."""
    return re.sub(r"[\s\x00-\x1f\x7f]+", " ", str(error)).strip()[:_LONGEST_REASON]
