"""Routes for operators: dead letters, and what is paused."""

from enum import Enum
from typing import Annotated
from urllib.parse import urlencode
from uuid import UUID

from fastapi import Query, Request

from docmill.service.dead_letters import Selection
from docmill.service.store import dead_letters, operations, pauses
from docmill.web.access import Router, needs
from docmill.web.api.operation_shapes import FIGURES, DeadLetter, DeadLetterList, OperationsReport
from docmill.web.api.shapes import (
    WORD,
    DeadLetterChoice,
    Pause,
    PauseList,
    Purging,
    Redriving,
)
from docmill.web.context import TheVault

router = Router()
_DEAD_LETTERS: list[str | Enum] = ["dead letters"]


@router.get("/dead-letters", tags=_DEAD_LETTERS)
@needs("read")
async def list_dead_letters(
    request: Request,
    vault: TheVault,
    *,
    code: Annotated[str | None, Query(pattern=WORD, description="only those with this error code")] = None,
    step: Annotated[
        str | None, Query(pattern=WORD, description="only those that failed at this step")
    ] = None,
    after: Annotated[UUID | None, Query(description="the last id of the page before this one")] = None,
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


@router.post("/dead-letters/redrive", tags=_DEAD_LETTERS)
@needs("write")
async def redrive(choice: DeadLetterChoice, vault: TheVault) -> Redriving:
    """Try documents again from their first attempt. A repeated request changes nothing more."""
    selection = Selection(ids=choice.ids, code=choice.code, step=choice.step)
    result = await vault.service.dead_letters.redrive(selection, tenant_id=vault.tenant_id)
    return Redriving.model_validate(result)


@router.post("/dead-letters/purge", tags=_DEAD_LETTERS)
@needs("administer")
async def purge(choice: DeadLetterChoice, vault: TheVault) -> Purging:
    """Delete dead letters. Their documents stay as failed, with their files."""
    selection = Selection(ids=choice.ids, code=choice.code, step=choice.step)
    purged = await vault.service.dead_letters.purge(selection, tenant_id=vault.tenant_id)
    return Purging(purged=purged)


@router.get("/operations", tags=["operations"])
@needs("read")
async def get_operations(vault: TheVault) -> OperationsReport:
    """How the processing of documents goes: the queue, the last 24 hours, and the spend of 30 days."""
    async with vault.connection() as conn:
        figures = await operations.operations(conn)
        queue = await operations.queue(conn)
        matching_queue = None if vault.service.matching is None else await operations.matching_queue(conn)
    return OperationsReport.model_validate(
        {
            **{name: getattr(figures, name) for name in FIGURES},
            "queue": queue,
            "matching_queue": matching_queue,
        }
    )


@router.get("/pauses", tags=["operations"])
@needs("read")
async def list_pauses(vault: TheVault) -> PauseList:
    """Engines, models, file store and steps that documents wait for, the longest paused first."""
    async with vault.connection() as conn:
        return PauseList(pauses=[Pause.model_validate(row) for row in await pauses.current(conn)])
