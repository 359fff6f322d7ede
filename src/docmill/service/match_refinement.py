"""The decision about links with what a tenant has taught: its people's decisions, and answers of models."""

import asyncio
from collections.abc import Collection, Sequence
from functools import partial
from uuid import UUID

from docmill.matching.aliases import with_alias_reasons
from docmill.matching.calibration import with_correction
from docmill.matching.decision import decide
from docmill.matching.outcome import Link
from docmill.matching.pairs import ScoredPair
from docmill.matching.questions import with_judgements
from docmill.matching.scoring import shipped_weights
from docmill.service.store import match_calibrations, match_edges, match_questions
from docmill.service.store.database import Conn


async def links_between(
    conn: Conn,
    record_ids: Collection[str],
    pairs: Sequence[ScoredPair],
    *,
    tenant_id: UUID,
    but_of: UUID | None = None,
) -> tuple[list[Link], list[Link]]:
    """The links of records: by weights and people's decisions alone, and refined by all that was taught.

    but_of: a document about which a model is just being asked; what was answered of it before is left out.
    """
    decided = await match_edges.decided(conn, record_ids, tenant_id=tenant_id)
    decision = partial(decide, declined=decided.declined, confirmed=decided.confirmed)
    links = await asyncio.to_thread(decision, pairs, shipped_weights())
    refined = await _refine(
        conn, links, pairs, confirmed=decided.confirmed, tenant_id=tenant_id, but_of=but_of
    )
    return links, refined


async def _refine(
    conn: Conn,
    links: Sequence[Link],
    pairs: Sequence[ScoredPair],
    *,
    confirmed: frozenset[tuple[str, str]],
    tenant_id: UUID,
    but_of: UUID | None,
) -> list[Link]:
    """The links with the reasons and scores that are the tenant's own; confirmed ones stay as they are."""
    refined = with_alias_reasons(links, pairs)
    correction = await match_calibrations.current(conn, tenant_id=tenant_id)
    if correction is not None:
        refined = with_correction(refined, pairs, correction, confirmed=confirmed)
    ids = {id_ for link in refined for id_ in (link.first_id, link.second_id)}
    judgements = await match_questions.judgements_between(conn, ids, tenant_id=tenant_id, but_of=but_of)
    return with_judgements(refined, pairs, judgements, confirmed=confirmed)
