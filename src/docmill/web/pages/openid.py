"""Sign-in through an OpenID provider: the way there, and back."""

import hmac
from dataclasses import asdict
from typing import Annotated

from fastapi import Query, Request
from starlette.exceptions import HTTPException
from starlette.responses import Response

from docmill.errors import NetworkError
from docmill.service.people.openid import PendingSignIn
from docmill.service.people.sign_in import SignInRefusedError
from docmill.web.access import Router, local_address, needs
from docmill.web.addresses import absolute_address
from docmill.web.context import TheVault, Vault
from docmill.web.pages.sign_in import enter, visit_page, visitor_of
from docmill.web.return_cookie import ReturnCookie

router = Router(include_in_schema=False)

_CALLBACK = "/openid/callback"
_COOKIE = ReturnCookie("docmill-openid", _CALLBACK)


@router.get("/openid")
@needs("public")
async def go_to_provider(
    request: Request, vault: TheVault, *, to: Annotated[str, Query(alias="next")] = "/"
) -> Response:
    """Send the person to the provider."""
    if not vault.service.openid.is_set_up:
        raise HTTPException(404, "This vault has no sign-in provider; see the settings of oidc.")
    pending = PendingSignIn(to=local_address(to))
    try:
        address = await vault.service.openid.begin(absolute_address(request, _CALLBACK), pending)
    except NetworkError as error:
        return _refuse(request, vault, error.message, status=503)
    return _COOKIE.send(request, address, asdict(pending))


@router.get(_CALLBACK)
@needs("public")
async def come_back(
    request: Request, vault: TheVault, *, code: str = "", state: str = "", error: str = ""
) -> Response:
    """Begin a session for who comes back from the provider with a code, if there is an account."""
    if not vault.service.openid.is_set_up:
        raise HTTPException(404, "This vault has no sign-in provider; see the settings of oidc.")
    if error:
        return _refuse(request, vault, "The provider did not sign you in. Try again.")
    pending = _pending(request)
    if pending is None or not hmac.compare_digest(state.encode(), pending.state.encode()):
        return _refuse(request, vault, "This sign-in took too long, or was begun elsewhere. Try again.")
    try:
        identity = await vault.service.openid.finish(absolute_address(request, _CALLBACK), pending, code=code)
    except SignInRefusedError as refusal:
        return _refuse(request, vault, refusal.message)
    except NetworkError as failure:
        return _refuse(request, vault, failure.message, status=503)
    user_id = await vault.service.accounts.of_identity(identity)
    if user_id is None:
        return _refuse(
            request, vault, "There is no account here for you. Ask an owner to invite you.", status=403
        )
    before = vault.bound_to
    if before is not None and before.session_id is not None:
        await vault.service.sign_in.end_session(before.session_id, before.user_id)
    session = await vault.service.sign_in.begin_session(user_id, visitor_of(request), by="openid")
    response = await enter(request, vault, session, pending.to)
    _COOKIE.forget(response)
    return response


def _pending(request: Request) -> PendingSignIn | None:
    """Return what the browser kept; None if it kept nothing, or nonsense."""
    content = {key: str(value) for key, value in _COOKIE.content(request).items()}
    try:
        return PendingSignIn(**content) if content else None
    except TypeError:
        return None


def _refuse(request: Request, vault: Vault, message: str, *, status: int = 401) -> Response:
    response = visit_page(
        request, vault, "login.html", status=status, next="/", email="", is_changed=False, message=message
    )
    _COOKIE.forget(response)
    return response
