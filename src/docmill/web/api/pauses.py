"""Route for the pauses: services and steps that documents wait for."""

from fastapi import APIRouter

from docmill.service.store import pauses
from docmill.web.api.shapes import Pause, PauseList
from docmill.web.context import TheVault

router = APIRouter(prefix="/pauses", tags=["operations"])


@router.get("")
async def list_pauses(vault: TheVault) -> PauseList:
    """Engines, models, file store and steps that documents wait for, the longest paused first."""
    async with vault.connection() as conn:
        return PauseList(pauses=[Pause.of(row) for row in await pauses.current(conn)])
