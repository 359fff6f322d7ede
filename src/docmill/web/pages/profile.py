"""The page of the person who has signed in: name, password, sessions; and the choice of the organisation."""

from typing import Annotated
from uuid import UUID

from fastapi import Form, Request
from starlette.responses import RedirectResponse, Response

from docmill.errors import RateLimitedError, ValidationError
from docmill.service.people.passwords import SHORTEST
from docmill.service.people.sign_in import SignInRefusedError
from docmill.web.access import Router, local_address, needs
from docmill.web.context import TheVault, Vault, not_found
from docmill.web.languages import LANGUAGES
from docmill.web.pages.sign_in import set_session_cookie, visitor_of
from docmill.web.problems import status_of

router = Router(include_in_schema=False)

_Typed = Annotated[str, Form()]


@router.get("/profile")
@needs("person")
async def show_profile(request: Request, vault: TheVault, *, saved: str = "") -> Response:
    """Name, password and sessions of the person."""
    return await _profile_page(request, vault, saved=bool(saved))


async def _profile_page(
    request: Request, vault: Vault, *, message: str = "", status: int = 200, saved: bool = False
) -> Response:
    return vault.templates.page(
        request,
        "profile.html",
        status_code=status,
        sessions=await vault.service.sign_in.sessions_of(vault.user_id),
        app_keys=await vault.service.api_keys.of_apps(vault.user_id),
        idle_days=vault.settings.web.app_key_idle_days,
        message=message,
        saved=saved,
        shortest_password=SHORTEST,
    )


@router.post("/profile/name")
@needs("person")
async def change_name(request: Request, vault: TheVault, *, name: _Typed = "") -> Response:
    """Change the name of the person."""
    try:
        await vault.service.accounts.rename(vault.user_id, name)
    except ValidationError as error:
        return await _profile_page(request, vault, message=error.message, status=422)
    return RedirectResponse("/profile?saved=1", 303)


@router.post("/profile/language")
@needs("person")
async def change_language(vault: TheVault, *, language: _Typed = "") -> Response:
    """Choose the language of the pages; without one, as the browser says."""
    await vault.service.accounts.choose_language(vault.user_id, language if language in LANGUAGES else None)
    return RedirectResponse("/profile?saved=1", 303)


@router.post("/profile/password")
@needs("person")
async def change_password(
    request: Request, vault: TheVault, *, password: _Typed = "", new_password: _Typed = ""
) -> Response:
    """Change the password; all other sessions end, and this one gets a new token."""
    try:
        await vault.service.sign_in.verify(vault.access.email or "", password, visitor_of(request))
        await vault.service.accounts.change_password(vault.user_id, new_password)
    except SignInRefusedError:
        await vault.service.sign_in.log_refusal(vault.user_id, visitor_of(request))
        return await _profile_page(request, vault, message="The present password is wrong.", status=422)
    except (ValidationError, RateLimitedError) as error:
        return await _profile_page(request, vault, message=error.message, status=status_of(error))
    response = RedirectResponse("/profile?saved=1", 303)
    set_session_cookie(request, response, await vault.service.sign_in.renew(vault.access), vault)
    return response


@router.post("/profile/sessions/end-others")
@needs("person")
async def end_other_sessions(request: Request, vault: TheVault) -> Response:
    """End every session of the person but this one."""
    response = RedirectResponse("/profile?saved=1", 303)
    set_session_cookie(request, response, await vault.service.sign_in.renew(vault.access), vault)
    return response


@router.post("/profile/sessions/{session_id}/end")
@needs("person")
async def end_session(session_id: UUID, vault: TheVault) -> Response:
    """End a session of the person."""
    if not await vault.service.sign_in.end_session(session_id, vault.user_id):
        raise not_found("session")
    return RedirectResponse("/profile", 303)


@router.post("/profile/app-keys/{key_id}/end")
@needs("person")
async def end_app_key(key_id: UUID, vault: TheVault) -> Response:
    """End the key of an app of the person."""
    if not await vault.service.api_keys.end_of_app(key_id, user_id=vault.user_id):
        raise not_found("key of an app")
    return RedirectResponse("/profile", 303)


@router.post("/tenant")
@needs("person")
async def switch_tenant(
    request: Request,
    vault: TheVault,
    *,
    tenant_id: Annotated[UUID, Form()],
    to: Annotated[str, Form(alias="next")] = "/",
) -> Response:
    """Work in another organisation of the person."""
    token = await vault.service.sign_in.switch_tenant(vault.access, tenant_id)
    if token is None:
        raise not_found("organisation")
    response = RedirectResponse(local_address(to), 303)
    set_session_cookie(request, response, token, vault)
    return response
