"""Holding an ingestion while working on it, and letting go of it as soon as the hold is lost."""

import asyncio
import logging
import time
from collections.abc import Coroutine
from dataclasses import dataclass
from typing import Any, TypeVar

from docmill.errors import TransientError
from docmill.ports import Message, Queue
from docmill.service.protocol import ClaimLostError
from docmill.service.store import claims
from docmill.service.store.claims import Claim
from docmill.service.store.database import Database
from docmill.service.tasks import end

log = logging.getLogger(__name__)

Value = TypeVar("Value")

_RETRY_S = 5.0


@dataclass(frozen=True, slots=True)
class Lease:
    """One claim and the message that led to it, kept together."""

    database: Database
    queue: Queue
    message: Message
    claim: Claim
    lease_s: float
    heartbeat_s: float

    async def step_started(self, step: str) -> None:
        """See `Observer.step_started`."""
        async with self.database.tenant(self.claim.tenant_id) as conn:
            held = await claims.progress(conn, self.claim, step)
        if not held:
            raise ClaimLostError

    async def extend(self) -> None:
        """Keep message and claim for another `lease_s`. Raises ClaimLostError if either is lost."""
        if not await self.queue.extend(self.message, visibility_s=self.lease_s):
            raise ClaimLostError
        async with self.database.tenant(self.claim.tenant_id) as conn:
            held = await claims.extend(conn, self.claim, lease_s=self.lease_s)
        if not held:
            raise ClaimLostError

    async def hold_during(self, work: Coroutine[Any, Any, Value]) -> Value:
        """What `work` returns or raises; ClaimLostError, and `work` is cancelled, when the hold is lost."""
        working = asyncio.create_task(work)
        beating = asyncio.create_task(self._beat())
        try:
            await asyncio.wait({working, beating}, return_when=asyncio.FIRST_COMPLETED)
            if not working.done():
                await beating
            return await working
        finally:
            await end([working, beating])

    async def _beat(self) -> None:
        """Extend until the hold is lost.

        While the database cannot be reached, nothing is lost before the lease ends by our own clock.
        """
        held_until = time.monotonic() + self.lease_s
        pause_s = self.heartbeat_s
        while True:
            await asyncio.sleep(min(pause_s, max(0, held_until - time.monotonic())))
            asked_at = time.monotonic()
            if asked_at >= held_until:
                raise ClaimLostError
            try:
                async with asyncio.timeout(held_until - asked_at):
                    await self.extend()
            except (TransientError, TimeoutError) as error:
                log.warning("cannot extend the lease", extra={"reason": type(error).__name__})
                pause_s = min(_RETRY_S, self.heartbeat_s)
            else:
                held_until, pause_s = asked_at + self.lease_s, self.heartbeat_s
