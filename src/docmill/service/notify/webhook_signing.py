"""Signatures by which a receiver knows the sender (https://www.standardwebhooks.com)."""

import base64
import hashlib
import hmac
import secrets
from collections.abc import Mapping, Sequence

from docmill.errors import MisconfiguredError

SECRET_START = "whsec_"  # noqa: S105 - how such secrets begin
_SECRET_BYTES = 32


def new_signing_secret() -> str:
    """A secret as receivers expect it: `whsec_` and base64."""
    return SECRET_START + base64.b64encode(secrets.token_bytes(_SECRET_BYTES)).decode()


def signing_key(secret: str, *, what: str) -> bytes:
    """The bytes of a secret: those behind `whsec_`, or any other text itself.

    what: names the secret in the error. Raises MisconfiguredError if no base64 follows `whsec_`.
    """
    if not secret.startswith(SECRET_START):
        return secret.encode()
    try:
        key = base64.b64decode(secret.removeprefix(SECRET_START), validate=True)
    except ValueError:  # binascii.Error, and what is not ASCII; the error would quote the secret
        key = b""
    if not key:
        raise MisconfiguredError(f"{what} begins with whsec_, and what follows is no base64: copy all of it")
    return key


def signed_headers(keys: Sequence[bytes], *, message_id: str, sent_at: int, body: bytes) -> Mapping[str, str]:
    """The headers of a signed message. keys: each signs; sent_at: seconds since 1970."""
    signed = b".".join((message_id.encode(), str(sent_at).encode(), body))
    signatures = (base64.b64encode(hmac.digest(key, signed, hashlib.sha256)).decode() for key in keys)
    return {
        "webhook-id": message_id,
        "webhook-timestamp": str(sent_at),
        "webhook-signature": " ".join(f"v1,{signature}" for signature in signatures),
    }
