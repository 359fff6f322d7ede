"""Whether the vault works."""

from fastapi import APIRouter

from docmill.web.api.shapes import Health
from docmill.web.vault import TheVault

router = APIRouter(tags=["health"])


@router.get("/healthz")
async def healthz(vault: TheVault) -> Health:
    """Answers when the database does; 503 otherwise."""
    async with vault.connection() as conn:
        await conn.execute("SELECT 1")
    return Health()
