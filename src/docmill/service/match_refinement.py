"""Refinement of a decision about links by what a tenant has taught."""

from collections.abc import Sequence
from uuid import UUID

from docmill.matching.aliases import with_alias_reasons
from docmill.matching.calibration import with_correction
from docmill.matching.outcome import Link
from docmill.matching.pairs import ScoredPair
from docmill.service.store import match_calibrations
from docmill.service.store.database import Conn


async def refine(
    conn: Conn, links: Sequence[Link], pairs: Sequence[ScoredPair], *, tenant_id: UUID
) -> list[Link]:
    """The links that `decide` found among pairs, with the reasons and scores that are the tenant's own."""
    refined = with_alias_reasons(links, pairs)
    correction = await match_calibrations.current(conn, tenant_id=tenant_id)
    return refined if correction is None else with_correction(refined, pairs, correction)
