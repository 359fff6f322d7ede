"""Documents, of which people linked and parted some, give the same links in whatever order they come.

Deals are generated with decoys. Matched one by one as they come is compared with other orders, with all at
once, and with all at once in batches, each from the beginning.
"""

import random

import pytest

from docmill.service.app import Service
from docmill.service.ports.matching import DocumentToMatch
from docmill.service.record_matcher import RecordMatcher
from docmill.service.store.database import lock_matches
from support.generated_vaults import GeneratedVault, decisions_about
from support.matched_papers import CHAIN

_TOGETHER = 4


@pytest.mark.parametrize("seed", range(3))
async def test_any_order_and_all_at_once_give_what_one_by_one_gives(service: Service, seed: int) -> None:
    source = random.Random(seed)  # noqa: S311  a sample
    vault = GeneratedVault(service, service.default_tenant_id)
    await vault.fill(seed)
    names = list(vault.ids)
    undecided = await vault.match_anew(*([name] for name in names))
    decisions = await decisions_about(vault, undecided, source)
    await vault.store(decisions)

    expected = await vault.match_anew(*([name] for name in names))

    assert expected != undecided
    for first, second, relation, decision in decisions:
        state, _ = expected.edges.get((first, second, relation), (None, None))
        assert (state == "automatic") == (decision == "confirmed")
    shuffled = source.sample(names, len(names))
    assert await vault.match_anew(*([name] for name in shuffled)) == expected
    assert await vault.match_anew(*([name] for name in reversed(names))) == expected
    assert await vault.match_anew(names) == expected
    batches = [shuffled[start : start + _TOGETHER] for start in range(0, len(names), _TOGETHER)]
    assert await vault.match_anew(*batches) == expected


async def test_a_link_that_is_found_while_its_other_document_is_matched_is_kept(service: Service) -> None:
    vault = GeneratedVault(service, service.default_tenant_id)
    for name in ("order", "invoice"):
        await vault.add(name, CHAIN[name][0], **CHAIN[name][1])
    matcher = RecordMatcher(service.database)
    order = DocumentToMatch(vault.ids["order"], vault.tenant_id)
    await matcher.prepare(order)
    decision = await matcher.decide(order)

    await vault.match("invoice")
    async with service.database.tenant(vault.tenant_id) as conn:
        await lock_matches(conn, vault.tenant_id)
        await matcher.write(conn, order, decision)

    assert not decision.pairs
    link = await vault.link("order", "invoice")
    assert link is not None
    assert link.state == "automatic"
