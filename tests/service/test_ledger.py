import asyncio

from docmill.service.ledger import Ledger, Refusal
from docmill.service.protocol import Obstacle
from docmill.service.stack import Service
from docmill.service.store.claims import Claim
from scripted import Upload


async def test_of_messages_that_came_together_for_one_ingestion_one_gets_the_claim(
    service: Service, upload: Upload
) -> None:
    wanted = (await upload()).ingestion_id
    assert wanted is not None

    async with Ledger(service.database, "one", lease_s=300, max_attempts=3) as ledger:
        busy = asyncio.ensure_future(ledger.claim(service.default_tenant_id))
        first, second = await asyncio.gather(ledger.claim(wanted), ledger.claim(wanted))

    assert await busy == Refusal(None, None)
    assert isinstance(first, Claim)
    assert second == Refusal(service.default_tenant_id, Obstacle("in-progress", 300, attempts_used_up=False))
