"""The way of a mailbox's owner to the provider, to let docmill read it, and back."""

from dataclasses import asdict
from uuid import UUID

from fastapi import Request
from starlette.exceptions import HTTPException
from starlette.responses import Response

from docmill.errors import SetupError, TransientError
from docmill.service.sources.authorization import PendingPermission
from docmill.web.access import Router, log_change, needs
from docmill.web.addresses import absolute_address
from docmill.web.api.sources import existing_source
from docmill.web.context import TheVault
from docmill.web.pages.sources import PERMISSION_CALLBACK, source_answer
from docmill.web.return_cookie import ReturnCookie

router = Router(include_in_schema=False, prefix="/settings/sources")

_COOKIE = ReturnCookie("docmill-permission", PERMISSION_CALLBACK)


@router.get("/{source_id}/authorize")
@needs("connect sources")
async def ask_for_permission(request: Request, source_id: UUID, vault: TheVault) -> Response:
    """Send the owner of a mailbox to its provider."""
    row = await existing_source(source_id, vault)
    try:
        address, pending = vault.service.sources.ask_permission(
            row, absolute_address(request, PERMISSION_CALLBACK)
        )
    except SetupError as error:
        return await source_answer(request, vault, row, error.message)
    return _COOKIE.send(request, address, {"source_id": str(source_id), **asdict(pending)})


@router.get("/authorized")
@needs("connect sources")
async def keep_permission(request: Request, vault: TheVault) -> Response:
    """Keep the permission with which the browser comes back, and show the source."""
    asked = _asked(request)
    if asked is None:
        raise HTTPException(400, "This permission was asked for elsewhere, or too long ago. Begin again.")
    source_id, pending = asked
    row = await existing_source(source_id, vault)
    vault.audit_details.update({"source": str(row.id), "name": row.name})
    try:
        row = await vault.service.sources.keep_permission(row, pending, request.query_params)
        await log_change(request, "authorize_source")
        message, works = await vault.service.sources.test(row), True
    except (SetupError, TransientError) as error:
        message, works = error.message, False
    response = await source_answer(request, vault, row, message, works=works)
    _COOKIE.forget(response)
    return response


def _asked(request: Request) -> tuple[UUID, PendingPermission] | None:
    """The source and the request of its cookie; None if the browser kept nothing, or nonsense."""
    content = {key: str(value) for key, value in _COOKIE.content(request).items()}
    try:
        return UUID(content.pop("source_id", "")), PendingPermission(**content)
    except (ValueError, TypeError):
        return None
