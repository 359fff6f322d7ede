"""Secrets as they are kept in the database: encrypted, each bound to the row that it belongs to."""

import hmac
import os
import secrets
from collections.abc import Sequence
from pathlib import Path
from uuid import UUID

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from docmill.errors import MisconfiguredError
from docmill.service.config.settings import Settings

KEY_FILE = "secrets.key"
"""The key of an installation with a database of its own, in `data_dir`, as long as the settings name none."""

_PURPOSE = b"docmill secrets at rest"
_VERSION = b"\x01"
_NONCE_BYTES = 12


class SecretBox:
    """Encrypts with AES-256-GCM (NIST SP 800-38D), under keys that the database does not have.

    keys: of the installation, the one that encrypts first; without one nothing can be kept.
    """

    def __init__(self, keys: Sequence[bytes]) -> None:
        self._ciphers = [AESGCM(hmac.digest(key, _PURPOSE, "sha256")) for key in keys]

    def seal(self, secret: bytes, *, owner: UUID) -> bytes:
        """Encrypt a secret of the row `owner`. Raises MisconfiguredError without a key."""
        if not self._ciphers:
            raise MisconfiguredError(
                "secrets can be kept only with a key: set secrets.key, or secrets.key_file to a file made"
                " with `openssl rand -hex 32`"
            )
        nonce = os.urandom(_NONCE_BYTES)
        return _VERSION + nonce + self._ciphers[0].encrypt(nonce, secret, owner.bytes)

    def open(self, sealed: bytes, *, owner: UUID) -> bytes:
        """Decrypt a secret of the row `owner`.

        Raises MisconfiguredError if none of the keys opens it, as after the database alone was restored.
        """
        nonce, encrypted = sealed[1 : 1 + _NONCE_BYTES], sealed[1 + _NONCE_BYTES :]
        if sealed[:1] == _VERSION:
            for cipher in self._ciphers:
                try:
                    return cipher.decrypt(nonce, encrypted, owner.bytes)
                except InvalidTag:
                    continue
        raise MisconfiguredError(
            "a secret was encrypted with a key that is not here any more: put the old key into"
            " secrets.previous_keys, or enter the secret again"
        )


def open_secret_box(settings: Settings) -> SecretBox:
    """The box under the keys of the settings. Raises MisconfiguredError for a key that cannot be read.

    An installation with a database of its own makes a key, beside that database and not in it: a dump of the
    database opens nothing. One with a server's database has as many machines as it likes, so there a person
    gives them the key.
    """
    keys = settings.secrets.keys()
    if not keys and settings.database_url is None:
        keys = (_own_key(settings.folder / KEY_FILE),)
    return SecretBox(keys)


def _own_key(path: Path) -> bytes:
    """The key in this file, made when there is none. Two processes at the same time get the same one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        return _read_key(path)
    except FileNotFoundError:
        own = path.with_name(f"{path.name}.{os.getpid()}")
        descriptor = os.open(own, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "w") as file:
            file.write(secrets.token_hex(32))
            file.flush()
            os.fsync(file.fileno())
        try:
            path.hardlink_to(own)  # only the first of several wins
        except FileExistsError:
            pass
        finally:
            own.unlink()
        return _read_key(path)


def _read_key(path: Path) -> bytes:
    key = path.read_bytes().strip()
    if not key:
        raise MisconfiguredError(f"the key file {str(path)!r} is empty: restore it from a backup")
    return key
