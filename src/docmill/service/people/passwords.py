"""Passwords: their rules, and their hashes by argon2id."""

import asyncio
from functools import cached_property

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from docmill.errors import ValidationError

SHORTEST = 10
LONGEST = 1000

_AT_ONCE = 2
"""Hashes computed at the same time: each takes 64 MiB, and strangers can ask for them."""


def check_new_password(password: str, *, email: str = "") -> None:
    """Check a password that somebody chooses. Raises ValidationError."""
    if len(password) < SHORTEST:
        raise ValidationError(f"The password is too short: choose one of at least {SHORTEST} characters.")
    if len(password) > LONGEST:
        raise ValidationError(f"The password is too long: choose one of at most {LONGEST} characters.")
    if len(set(password)) == 1 or password.lower() in {email, email.partition("@")[0]}:
        raise ValidationError("This password is easy to guess. Choose another one.")


class Passwords:
    """Hashes and verifies passwords in threads, a few at once."""

    def __init__(self) -> None:
        self._hasher = PasswordHasher()
        self._turns = asyncio.Semaphore(_AT_ONCE)

    async def hash(self, password: str) -> str:
        """Hash a password for the database."""
        async with self._turns:
            return await asyncio.to_thread(self._hasher.hash, password)

    async def verify(self, password_hash: str | None, password: str) -> bool:
        """Return whether the password is right. Without a hash it takes as long, and it is not."""
        usable = password if len(password) <= LONGEST else ""
        async with self._turns:
            is_right = await asyncio.to_thread(self._verify, password_hash, usable)
        return is_right and password_hash is not None and usable == password

    def needs_rehash(self, password_hash: str) -> bool:
        """Return whether a hash was made with weaker parameters than those of today."""
        return self._hasher.check_needs_rehash(password_hash)

    @cached_property
    def _nobodys(self) -> str:
        """A hash to compare with where there is no account, so that the time does not tell."""
        return self._hasher.hash("nobody has this password")

    def _verify(self, password_hash: str | None, password: str) -> bool:
        nobodys = self._nobodys  # made at the first call, whoever is asked for
        try:
            return self._hasher.verify(password_hash or nobodys, password)
        except (VerificationError, InvalidHashError):
            return False
