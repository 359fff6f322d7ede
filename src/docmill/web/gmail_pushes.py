"""The address to which Google Pub/Sub pushes when a mailbox of Gmail has changed."""

from uuid import UUID

from fastapi import Request
from starlette.exceptions import HTTPException
from starlette.responses import Response

from docmill.errors import MisconfiguredError, TransientError, UnauthorizedError
from docmill.service.sources.gmail.gmail_settings import GmailSettings
from docmill.service.sources.gmail.gmail_watcher import GMAIL, PUSH_PATH, push_address
from docmill.service.sources.gmail.google_http import GoogleHttp, NotFoundError
from docmill.service.sources.gmail.push_tokens import PushTokens
from docmill.service.sources.json_http import JsonHttp
from docmill.web.access import Router, needs
from docmill.web.context import TheVault, Vault

router = Router(include_in_schema=False)


@router.post(PUSH_PATH)
@needs("public", form="unchecked", logged=False)
async def wake_for_push(source_id: UUID, request: Request, vault: TheVault) -> Response:
    """Wake the watch over the mailbox. The content of the push is not looked at: Gmail says what is new."""
    row = await vault.service.sources.find(source_id)
    if row is None or row.kind != GMAIL.name:
        raise HTTPException(404, "There is no such mailbox.")
    settings = GmailSettings.model_validate(row.settings)
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    audience = settings.audience or push_address(row, vault.settings) or ""
    if scheme.lower() != "bearer" or not audience:
        raise HTTPException(401, "The request has no token.")
    try:
        await _tokens(request, vault).verify(token.strip(), settings, audience=audience)
    except UnauthorizedError as error:
        raise HTTPException(401, error.message) from error
    except (MisconfiguredError, TransientError, NotFoundError) as error:
        raise HTTPException(503, "The signature cannot be verified now.") from error
    if row.state == "active":
        vault.service.sources.wake(source_id)
    return Response(status_code=204)  # also for a paused source: it looks by itself when it goes on


def _tokens(request: Request, vault: Vault) -> PushTokens:
    """Those of this process, whose keys are kept between requests."""
    state = request.app.state
    if not hasattr(state, "push_tokens"):
        state.push_tokens = PushTokens(GoogleHttp(JsonHttp(vault.settings.sources.allow_private_addresses)))
    return state.push_tokens
