"""The way of a mailbox's owner to the provider, to let docmill read it, and back."""

import base64
import json
from dataclasses import asdict, dataclass
from uuid import UUID

from fastapi import Request
from starlette.exceptions import HTTPException
from starlette.responses import RedirectResponse, Response

from docmill.errors import SetupError, TransientError
from docmill.service.sources.authorization import PendingPermission
from docmill.web.access import Router, log_change, needs
from docmill.web.api.sources import existing_source
from docmill.web.context import TheVault
from docmill.web.pages.sign_in import address_with
from docmill.web.pages.sources import PERMISSION_CALLBACK, source_answer

router = Router(include_in_schema=False, prefix="/settings/sources")

_COOKIE = "docmill-permission"
_LIMIT_S = 600


@dataclass(frozen=True, slots=True)
class _Asked:
    """Kept by the browser while the owner is at the provider."""

    source_id: UUID
    pending: PendingPermission


@router.get("/{source_id}/authorize")
@needs("administer")
async def ask_for_permission(request: Request, source_id: UUID, vault: TheVault) -> Response:
    """Send the owner of a mailbox to its provider."""
    row = await existing_source(source_id, vault)
    try:
        address, pending = vault.service.sources.ask_permission(
            row, address_with(request, PERMISSION_CALLBACK)
        )
    except SetupError as error:
        return await source_answer(request, vault, row, error.message)
    response = RedirectResponse(address, 303)
    content = json.dumps({"source_id": str(source_id), "pending": asdict(pending)})
    # Lax, and not strict: the browser comes back from another site.
    response.set_cookie(
        _COOKIE,
        base64.urlsafe_b64encode(content.encode()).decode(),
        max_age=_LIMIT_S,
        path=PERMISSION_CALLBACK,
        httponly=True,
        samesite="lax",
        secure=request.url.scheme == "https",
    )
    return response


@router.get("/authorized")
@needs("administer")
async def keep_permission(request: Request, vault: TheVault) -> Response:
    """Keep the permission with which the browser comes back, and show the source."""
    asked = _asked(request)
    if asked is None:
        raise HTTPException(400, "This permission was asked for elsewhere, or too long ago. Begin again.")
    row = await existing_source(asked.source_id, vault)
    vault.audit_details.update({"source": str(row.id), "name": row.name})
    try:
        row = await vault.service.sources.keep_permission(row, asked.pending, request.query_params)
        await log_change(request, "authorize_source")
        message, works = await vault.service.sources.test(row), True
    except (SetupError, TransientError) as error:
        message, works = error.message, False
    response = await source_answer(request, vault, row, message, works=works)
    response.delete_cookie(_COOKIE, path=PERMISSION_CALLBACK)
    return response


def _asked(request: Request) -> _Asked | None:
    """The content of its cookie; None if the browser kept nothing, or nonsense."""
    try:
        content = json.loads(base64.urlsafe_b64decode(request.cookies.get(_COOKIE, "")))
        return _Asked(UUID(content["source_id"]), PendingPermission(**content["pending"]))
    except (ValueError, TypeError, KeyError):
        return None
