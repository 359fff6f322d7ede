"""Sign-in through an OpenID provider: the authorization code flow with PKCE.

Errors are SignInRefusedError for an answer that cannot be trusted, NetworkError for a provider that does not
answer, and MisconfiguredError where the extra `oidc` is not installed.
"""

import logging
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from docmill.errors import MisconfiguredError, NetworkError
from docmill.service.config.web import Oidc
from docmill.service.people.sign_in import SignInRefusedError
from docmill.service.people.tokens import code_challenge, new_token

log = logging.getLogger(__name__)

_LIMIT_S = 10
_LEEWAY_S = 60
_ALGORITHMS = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"]
"""Signatures by a private key. "none", and HMAC by a key that others have too, are not among them."""

_UNTRUSTED = "The answer of the sign-in provider cannot be trusted. Try again from the sign-in page."


@dataclass(frozen=True, slots=True)
class PendingSignIn:
    """What the browser keeps while the person is at the provider: it binds the answer to this visit."""

    state: str = field(default_factory=new_token, repr=False)
    nonce: str = field(default_factory=new_token, repr=False)
    verifier: str = field(default_factory=new_token, repr=False)
    to: str = "/"


@dataclass(frozen=True, slots=True)
class Identity:
    """A person as the provider knows them. email: None unless the provider has verified it."""

    issuer: str
    subject: str
    email: str | None
    name: str


class OpenIdProvider:
    """The provider of the settings."""

    def __init__(self, oidc: Oidc) -> None:
        self._oidc = oidc

    @property
    def is_set_up(self) -> bool:
        """Whether there is a provider."""
        return self._oidc.issuer is not None

    @property
    def label(self) -> str:
        """What the sign-in page calls it."""
        return self._oidc.label

    async def begin(self, redirect_uri: str, pending: PendingSignIn) -> str:
        """Return the address of the provider to which the person is sent."""
        async with self._client(redirect_uri) as client:
            metadata = await self._metadata(client)
            address, _ = client.create_authorization_url(
                metadata["authorization_endpoint"],
                state=pending.state,
                nonce=pending.nonce,
                code_challenge=code_challenge(pending.verifier),
                code_challenge_method="S256",
            )
        return address

    async def finish(self, redirect_uri: str, pending: PendingSignIn, *, code: str) -> Identity:
        """Return who came back from the provider with a code."""
        from authlib.common.errors import AuthlibBaseError  # noqa: PLC0415  an extra that most do without

        async with self._client(redirect_uri) as client:
            metadata = await self._metadata(client)
            try:
                tokens = await client.fetch_token(
                    metadata["token_endpoint"], code=code, code_verifier=pending.verifier
                )
            except AuthlibBaseError as error:
                log.warning("the provider refused a sign-in", extra={"reason": error.error})
                raise SignInRefusedError(_UNTRUSTED) from error
            keys = await self._get(client, metadata["jwks_uri"])
        return self._identity(tokens.get("id_token"), keys, pending.nonce)

    def _identity(self, id_token: object, keys: Any, nonce: str) -> Identity:  # noqa: ANN401  JSON of others
        from joserfc import jwt  # noqa: PLC0415
        from joserfc.errors import JoseError  # noqa: PLC0415
        from joserfc.jwk import KeySet  # noqa: PLC0415

        rules = jwt.JWTClaimsRegistry(
            leeway=_LEEWAY_S,
            iss={"essential": True, "value": self._oidc.issuer or ""},
            aud={"essential": True, "value": self._oidc.client_id or ""},
            exp={"essential": True},
            sub={"essential": True},
            nonce={"essential": True, "value": nonce},
        )
        try:
            token = jwt.decode(str(id_token), KeySet.import_key_set(keys), algorithms=_ALGORITHMS)
            rules.validate(token.claims)
        except (JoseError, ValueError) as error:
            log.warning("the provider sent no valid token", extra={"reason": type(error).__name__})
            raise SignInRefusedError(_UNTRUSTED) from error
        claims = token.claims
        email = claims.get("email") if claims.get("email_verified") is True else None
        name = claims.get("name") or claims.get("preferred_username") or claims.get("email") or "Unknown"
        return Identity(str(claims["iss"]), str(claims["sub"])[:255], email, str(name))

    async def _metadata(self, client: Any) -> dict[str, Any]:  # noqa: ANN401  authlib has no types
        issuer = self._oidc.issuer or ""
        metadata = await self._get(client, f"{issuer.rstrip('/')}/.well-known/openid-configuration")
        if metadata.get("issuer") != issuer:
            raise MisconfiguredError(
                f"oidc.issuer is {issuer!r}, but the provider calls itself {metadata.get('issuer')!r}"
            )
        return metadata

    async def _get(self, client: Any, address: str) -> dict[str, Any]:  # noqa: ANN401  authlib has no types
        answer = await client.request("GET", address, withhold_token=True)
        if answer.status_code != 200:  # noqa: PLR2004  OK
            raise NetworkError(f"the sign-in provider answers {answer.status_code} at {address}")
        return answer.json()

    @asynccontextmanager
    async def _client(self, redirect_uri: str) -> AsyncGenerator[Any]:
        """A client of the provider. Errors of the network are translated."""
        try:
            import httpx2  # noqa: PLC0415  what authlib uses
            from authlib.integrations.httpx_client import AsyncOAuth2Client  # noqa: PLC0415
        except ModuleNotFoundError as error:
            raise MisconfiguredError(
                f"oidc.issuer needs {error.name!r}; run: pip install 'docmill[oidc]'"
            ) from error
        secret = self._oidc.client_secret
        try:
            client: Any = AsyncOAuth2Client(
                self._oidc.client_id,
                secret.get_secret_value() if secret else None,
                scope=" ".join(self._oidc.scopes),
                redirect_uri=redirect_uri,
                timeout=_LIMIT_S,
            )
            async with client:
                yield client
        except httpx2.HTTPError as error:
            raise NetworkError(
                f"the sign-in provider {self._oidc.issuer!r} does not answer ({type(error).__name__})"
            ) from error
