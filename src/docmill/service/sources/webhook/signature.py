"""Signatures of requests in the manner of Standard Webhooks (https://www.standardwebhooks.com)."""

import base64
import hmac
import time
from collections.abc import Callable, Sequence

from docmill.errors import UnauthorizedError
from docmill.service.notify.webhook_signing import signing_key

TOLERANCE_S = 300.0
"""Requests that were signed earlier, or later by our clock, are refused: one that was overheard is of no use
for long. That it is not taken twice is for its id to see to."""

_LONGEST_ID = 200
_SIGNATURE_CHARACTERS = 44
"""Of 32 bytes in base64."""


class SignatureCheck:
    """Checks the signature of one request whose body comes piece by piece.

    keys: secrets, of which one must have signed. clock: seconds since 1970. Raises UnauthorizedError for
    headers that are missing or no signature, or a time that is too far from now.
    """

    def __init__(
        self,
        keys: Sequence[str],
        *,
        message_id: str,
        timestamp: str,
        signature: str,
        clock: Callable[[], float] = time.time,
    ) -> None:
        if not (message_id and timestamp and signature):
            raise UnauthorizedError(
                "the request is not signed: send webhook-id, webhook-timestamp and webhook-signature"
            )
        if len(message_id) > _LONGEST_ID or not message_id.isprintable():
            raise UnauthorizedError(f"webhook-id has up to {_LONGEST_ID} characters that can be seen")
        if not timestamp.isdecimal() or abs(clock() - int(timestamp[:15])) > TOLERANCE_S:
            raise UnauthorizedError("webhook-timestamp is not of now: check the clock of the sender")
        self._given = [part.partition(",")[2] for part in signature.split() if part.startswith("v1,")][:20]
        if not any(len(given) == _SIGNATURE_CHARACTERS for given in self._given):
            raise UnauthorizedError("webhook-signature has no signature: send `v1,` and its 44 characters")
        head = f"{message_id}.{timestamp}.".encode()
        self._macs = [
            hmac.new(signing_key(key, what="the secret of this source"), head, "sha256") for key in keys
        ]

    def update(self, piece: bytes) -> None:
        """Add a piece of the body."""
        for mac in self._macs:
            mac.update(piece)

    def finish(self) -> None:
        """Raise UnauthorizedError unless one of the secrets has signed the whole request."""
        expected = [base64.b64encode(mac.digest()) for mac in self._macs]
        right = [hmac.compare_digest(given.encode(), mac) for given in self._given for mac in expected]
        if not any(right):
            raise UnauthorizedError("webhook-signature is not right: check the secret, and sign the raw body")
