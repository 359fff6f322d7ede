"""Routes for dead letters: list them, try them again, forget them."""

from typing import Annotated
from urllib.parse import urlencode
from uuid import UUID

from fastapi import APIRouter, Query, Request

from docmill.service.dead_letters import Selection
from docmill.service.store import dead_letters
from docmill.web.api.shapes import WORD, DeadLetter, DeadLetterChoice, DeadLetterList, Purging, Redriving
from docmill.web.context import TheVault

router = APIRouter(prefix="/dead-letters", tags=["dead letters"])


@router.get("")
async def list_dead_letters(
    request: Request,
    vault: TheVault,
    *,
    code: Annotated[str | None, Query(pattern=WORD, description="only those with this error code")] = None,
    step: Annotated[str | None, Query(pattern=WORD, description="only those that failed here")] = None,
    after: Annotated[UUID | None, Query(description="the last id of the page before")] = None,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
) -> DeadLetterList:
    """Documents that have failed for good, the latest first."""
    async with vault.connection() as conn:
        rows = await dead_letters.page(conn, code=code, step=step, after=after, limit=limit + 1)
    follow = None
    if len(rows) > limit:
        query = {**request.query_params, "after": str(rows[limit - 1].id)}
        follow = f"{request.url.path}?{urlencode(query)}"
    return DeadLetterList(dead_letters=[DeadLetter.of(row) for row in rows[:limit]], next=follow)


@router.post("/redrive")
async def redrive(choice: DeadLetterChoice, vault: TheVault) -> Redriving:
    """Have documents tried again from their first attempt. Asking twice is asking once."""
    done = await vault.service.dead_letters.redrive(_selection(choice), tenant_id=vault.tenant_id)
    return Redriving.model_validate(done)


@router.post("/purge")
async def purge(choice: DeadLetterChoice, vault: TheVault) -> Purging:
    """Forget dead letters. Their documents stay as they are: failed, their files there to be looked at."""
    purged = await vault.service.dead_letters.purge(_selection(choice), tenant_id=vault.tenant_id)
    return Purging(purged=purged)


def _selection(choice: DeadLetterChoice) -> Selection:
    return Selection(ids=choice.ids, code=choice.code)
