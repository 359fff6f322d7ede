"""The client of the library IMAPClient, at a given address and with limits; its commands with their types."""

# ruff: noqa: D102  the commands are those of the library, which describes them

import socket
import ssl
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, Protocol, cast

import imapclient
from imapclient.imap4 import IMAP4WithTimeout

ANSWER_S = 60.0
"""The longest time in which a server says nothing to a command."""
_CONNECT_S = 20.0
_ANSWER_BYTES = 32_000_000
"""Of the answer to one command, besides the mails that were asked for."""


class ImapClient(Protocol):
    """The commands of IMAP that are used here. Messages are named by their uids.

    Each raises imaplib's `IMAP4.error` for what the server refuses, its `IMAP4.abort` and OSError if the
    connection is lost, and others for answers that no server sends.
    """

    def has_capability(self, capability: str) -> bool: ...
    def starttls(self, ssl_context: ssl.SSLContext | None = None) -> object: ...
    def login(self, username: str, password: str) -> object: ...
    def plain_login(self, identity: str, password: str) -> object: ...
    def oauth2_login(self, user: str, access_token: str) -> object: ...
    def folder_exists(self, folder: str) -> bool: ...
    def create_folder(self, folder: str) -> object: ...
    def select_folder(self, folder: str, readonly: bool = False) -> Mapping[bytes, Any]: ...  # noqa: FBT001, FBT002  as it is there
    def search(self, criteria: Sequence[object]) -> Sequence[int]: ...
    def fetch(self, messages: Sequence[int], data: Sequence[str]) -> dict[int, dict[bytes, Any]]: ...
    def add_flags(self, messages: Sequence[int], flags: Sequence[bytes], silent: bool = False) -> object: ...  # noqa: FBT001, FBT002
    def delete_messages(self, messages: Sequence[int], silent: bool = False) -> object: ...  # noqa: FBT001, FBT002
    def copy(self, messages: Sequence[int], folder: str) -> object: ...
    def move(self, messages: Sequence[int], folder: str) -> object: ...
    def uid_expunge(self, messages: Sequence[int]) -> object: ...
    def idle(self) -> None: ...
    def idle_check(self, timeout: float | None = None) -> list[Sequence[object]]: ...
    def idle_done(self) -> tuple[object, list[Sequence[object]]]: ...
    def shutdown(self) -> None: ...

    def allow(self, extra_bytes: int) -> None:
        """Let the next command read so much, besides what every command may."""
        ...

    def has_new_mail(self) -> bool:
        """True if the server has announced mails since this was asked last."""
        ...

    def cut(self) -> None:
        """End the connection from another thread, so that whatever waits for it fails at once."""
        ...


def connected(address: str, host: str, port: int, context: ssl.SSLContext | None) -> ImapClient:
    """A client that is connected to the address. context: of TLS from the start; None for none."""
    return cast("ImapClient", _LibraryClient(address, host, port, context))


class _BoundedImap(IMAP4WithTimeout):
    """Python's client at a given address, which reads no more for a command than it is allowed to.

    left: bytes that may still be read.
    """

    def __init__(self, address: str, host: str, port: int, context: ssl.SSLContext | None) -> None:
        self._address = address
        self._context = context
        self.left = _ANSWER_BYTES
        super().__init__(host, port, _CONNECT_S)

    def _create_socket(self, timeout: float | None = None) -> socket.socket:
        plain = socket.create_connection((self._address, self.port), timeout)
        plain.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        if self._context is None:
            return plain
        try:
            return self._context.wrap_socket(plain, server_hostname=self.host)
        except BaseException:
            plain.close()
            raise

    def read(self, size: int) -> bytes:
        self._spend(size)
        return super().read(size)

    def readline(self) -> bytes:
        line = super().readline()
        self._spend(len(line))
        return line

    def _spend(self, size: int) -> None:
        self.left -= size
        if self.left < 0:
            raise self.abort("the answer is longer than allowed")


class _LibraryClient(imapclient.IMAPClient):
    """The library's client on `_BoundedImap`."""

    def __init__(self, address: str, host: str, port: int, context: ssl.SSLContext | None) -> None:
        self._address = address
        super().__init__(host, port, ssl=context is not None, ssl_context=context, timeout=ANSWER_S)
        self._bounded.debug = 0  # the library has it log each command, also those with a password

    def _create_IMAP4(self) -> _BoundedImap:  # noqa: N802  its name in the library
        self._bounded = _BoundedImap(self._address, self.host, self.port, self.ssl_context)
        return self._bounded

    def _poll_socket(self, sock: socket.socket, timeout: float | None = None) -> list[tuple[int, int]]:
        if timeout == 0:  # what was read already, along with the answer to IDLE, is not seen by polling
            return [(sock.fileno(), 0)]
        return super()._poll_socket(sock, timeout)  # pyright: ignore[reportUnknownMemberType] - untyped

    def allow(self, extra_bytes: int) -> None:
        """See `ImapClient.allow`."""
        self._bounded.left = _ANSWER_BYTES + extra_bytes

    def has_new_mail(self) -> bool:
        """See `ImapClient.has_new_mail`."""
        return bool(self._bounded.untagged_responses.pop("EXISTS", None))

    def cut(self) -> None:
        """See `ImapClient.cut`."""
        with suppress(OSError):  # it has ended before
            socket.socket.shutdown(self._bounded.sock, socket.SHUT_RDWR)
