"""Asking the owner of a mailbox for permission: the authorization code flow of OAuth 2.

Sources: RFC 6749, 4.1; RFC 7636 (PKCE); RFC 8252 for programs that wait for the answer on their own machine.
"""

import hmac
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlencode

from pydantic import SecretStr

from docmill.errors import MisconfiguredError, UnauthorizedError
from docmill.service.people.tokens import code_challenge, new_token
from docmill.service.sources.access_tokens import OAuthClient, token_answer
from docmill.service.sources.json_http import JsonHttp


@dataclass(frozen=True, slots=True)
class PermissionServer:
    """The provider of a mailbox. address: where its owner gives permission. user: the mailbox, if known."""

    address: str
    client: OAuthClient
    user: str = ""


@dataclass(frozen=True, slots=True)
class PendingPermission:
    """Kept while the owner is at the provider; it binds the answer to this request.

    redirect_uri: to which the provider sends the owner's browser with the answer.
    """

    redirect_uri: str
    state: str = field(default_factory=new_token, repr=False)
    verifier: str = field(default_factory=new_token, repr=False)


def address_for_owner(server: PermissionServer, pending: PendingPermission) -> str:
    """The address at which the owner of the mailbox grants the permission."""
    query = {
        "response_type": "code",
        "client_id": server.client.id,
        "redirect_uri": pending.redirect_uri,
        "scope": server.client.scope,
        "state": pending.state,
        "code_challenge": code_challenge(pending.verifier),
        "code_challenge_method": "S256",
        # Google gives a refresh token only with both; others pass over the first.
        "access_type": "offline",
        "prompt": "consent",
        **({"login_hint": server.user} if server.user else {}),
    }
    mark = "&" if "?" in server.address else "?"
    return f"{server.address}{mark}{urlencode(query)}"


async def refresh_token_of(
    server: PermissionServer, pending: PendingPermission, answer: Mapping[str, str], http: JsonHttp
) -> SecretStr:
    """Exchange the answer with which the owner's browser came back for a refresh token.

    answer: the query of the address to which the browser was sent. Raises UnauthorizedError if the owner
    refused, or if the answer belongs to another request; and as `AccessTokens.get` does.
    """
    if not hmac.compare_digest(answer.get("state", "").encode(), pending.state.encode()):
        raise UnauthorizedError("this permission was asked for elsewhere, or too long ago; begin again")
    if error := answer.get("error", ""):
        raise UnauthorizedError(f"the provider gives no permission ({error[:100]}); begin again")
    form = {
        "grant_type": "authorization_code",
        "code": answer.get("code", ""),
        "redirect_uri": pending.redirect_uri,
        "code_verifier": pending.verifier,
    }
    fields = await token_answer(server.client, form, http)
    token = fields.get("refresh_token")
    if not isinstance(token, str) or not token:
        raise MisconfiguredError(
            "the provider has sent no refresh token; allow the application to ask for access while its owner"
            " is away (offline access)"
        )
    return SecretStr(token)
