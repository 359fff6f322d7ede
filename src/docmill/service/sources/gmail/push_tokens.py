"""Verification of the tokens by which Google Pub/Sub signs its pushes.

Source: https://cloud.google.com/pubsub/docs/authenticate-push-subscriptions
"""

import asyncio
import time
from collections import defaultdict
from collections.abc import Mapping
from importlib.util import find_spec
from typing import Any

from docmill.errors import MisconfiguredError, UnauthorizedError
from docmill.service.sources.gmail.gmail_settings import GmailSettings
from docmill.service.sources.gmail.google_http import GoogleHttp

_ISSUERS = ["https://accounts.google.com", "accounts.google.com"]
_ALGORITHMS = ["RS256"]
_LEEWAY_S = 60
_KEYS_LIFE_S = 3600.0
_KEYS_AGAIN_S = 60.0
"""An unknown key has the keys fetched anew, at most so often."""


class PushTokens:
    """Verifies tokens, with keys that are kept for an hour."""

    def __init__(self, http: GoogleHttp) -> None:
        self._http = http
        self._keys: dict[str, tuple[float, Mapping[str, Any]]] = {}
        self._fetching: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)

    async def verify(self, token: str, settings: GmailSettings, *, audience: str) -> None:
        """Check that Pub/Sub has signed for this source.

        Raises UnauthorizedError if not, MisconfiguredError without the extra, and kinds of TransientError if
        the keys cannot be fetched.
        """
        if find_spec("joserfc") is None:
            raise MisconfiguredError(
                "sources of the kind gmail need 'joserfc'; run: pip install 'docmill[mail]'"
            )
        keys = await self._keys_at(settings.keys_address, max_age_s=_KEYS_LIFE_S)
        if not self._is_valid(token, keys, settings, audience):
            keys = await self._keys_at(settings.keys_address, max_age_s=_KEYS_AGAIN_S)
            if not self._is_valid(token, keys, settings, audience):
                raise UnauthorizedError("the request is not signed by Pub/Sub for this source")

    def _is_valid(self, token: str, keys: Mapping[str, Any], settings: GmailSettings, audience: str) -> bool:
        from joserfc import jwt  # noqa: PLC0415  an extra
        from joserfc.errors import JoseError  # noqa: PLC0415
        from joserfc.jwk import KeySet  # noqa: PLC0415

        rules = jwt.JWTClaimsRegistry(
            leeway=_LEEWAY_S,
            iss={"essential": True, "values": _ISSUERS},
            aud={"essential": True, "value": audience},
            exp={"essential": True},
            email={"essential": True, "value": settings.push_account},
            email_verified={"essential": True, "value": True},
        )
        key_set: Any = {"keys": list(keys.get("keys") or [])}
        try:
            decoded = jwt.decode(token, KeySet.import_key_set(key_set), algorithms=_ALGORITHMS)
            rules.validate(decoded.claims)
        except (JoseError, ValueError, TypeError):
            return False
        return bool(settings.push_account)

    async def _keys_at(self, address: str, *, max_age_s: float) -> Mapping[str, Any]:
        async with self._fetching[address]:  # an address that is slow holds up its own source alone
            fetched_at, keys = self._keys.get(address, (0.0, {}))
            if not keys or time.monotonic() > fetched_at + max_age_s:
                keys = await self._http.get_public(address)
                self._keys[address] = time.monotonic(), keys
            return keys
