"""Refinement of a decision about links by what a tenant has taught, and by what models have answered."""

from collections.abc import Sequence
from uuid import UUID

from docmill.matching.aliases import with_alias_reasons
from docmill.matching.calibration import with_correction
from docmill.matching.outcome import Link
from docmill.matching.pairs import ScoredPair
from docmill.matching.questions import with_judgements
from docmill.service.store import match_calibrations, match_questions
from docmill.service.store.database import Conn


async def refine(
    conn: Conn,
    links: Sequence[Link],
    pairs: Sequence[ScoredPair],
    *,
    confirmed: frozenset[tuple[str, str]],
    tenant_id: UUID,
    but_of: UUID | None = None,
) -> list[Link]:
    """The links that `decide` found among pairs, with the reasons and scores that are the tenant's own.

    confirmed: pairs of ids that a person has linked, which stay as they are. but_of: a document about which
    it is just being asked; what was answered of it before is left out.
    """
    refined = with_alias_reasons(links, pairs)
    correction = await match_calibrations.current(conn, tenant_id=tenant_id)
    if correction is not None:
        refined = with_correction(refined, pairs, correction, confirmed=confirmed)
    ids = {id_ for link in refined for id_ in (link.first_id, link.second_id)}
    judgements = await match_questions.judgements_between(conn, ids, tenant_id=tenant_id, but_of=but_of)
    return with_judgements(refined, pairs, judgements, confirmed=confirmed)
