"""Random tokens of sessions, links, forms and API keys. Only their hashes are stored."""

import base64
import hashlib
import hmac
import secrets

KEY_PREFIX = "dm_"
_BYTES = 32
_SALT_BYTES = 16
_SHOWN = len(KEY_PREFIX) + 6


def new_token() -> str:
    """Make a token that nobody can guess."""
    return secrets.token_urlsafe(_BYTES)


def code_challenge(verifier: str) -> str:
    """The challenge of a verifier, by the method S256 of PKCE (RFC 7636, 4.2)."""
    return base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).rstrip(b"=").decode()


def new_key() -> str:
    """Make the secret of an API key."""
    return KEY_PREFIX + new_token()


def key_prefix(secret: str) -> str:
    """Return the beginning of a key, by which people tell keys apart."""
    return secret[:_SHOWN]


def hash_token(token: str) -> bytes:
    """Hash a token for the database. A fast hash is enough: a random token cannot be tried out."""
    return hashlib.sha256(token.encode("utf-8", "replace")).digest()


def form_token(token: str) -> str:
    """Derive a token for forms from that of a session or a visit: who lacks the cookie cannot compute one.

    Each is another one, so that the size of compressed pages does not tell it bit by bit (the BREACH attack).
    """
    salt = secrets.token_hex(_SALT_BYTES)
    return salt + _mac(token, salt)


def is_form_token(given: str, token: str) -> bool:
    """Return whether a form came from a page that was shown to the bearer of `token`."""
    salt, mac = given[: 2 * _SALT_BYTES], given[2 * _SALT_BYTES :]
    return hmac.compare_digest(mac.encode("utf-8", "replace"), _mac(token, salt).encode())


def _mac(token: str, salt: str) -> str:
    key, message = token.encode("utf-8", "replace"), f"form {salt}".encode("utf-8", "replace")
    return hmac.new(key, message, hashlib.sha256).hexdigest()
