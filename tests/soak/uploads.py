"""People who put documents in while everything breaks."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from random import Random
from uuid import UUID

from docmill.errors import TransientError
from docmill.service.stack import Service
from faults.steps import paper


@dataclass
class Uploads:
    """What was put in. accepted: ingestions that were promised.

    indeterminate: names of papers whose upload ended in an error; they may have been taken or not.
    """

    service: Service
    chance: Random
    accepted: dict[UUID, str] = field(default_factory=dict[UUID, str])
    indeterminate: set[str] = field(default_factory=set[str])

    async def put_in(self, count: int, *, within_s: float, at_once: int = 8) -> None:
        """Upload `count` papers, spread over the time."""
        room = asyncio.Semaphore(at_once)
        loop = asyncio.get_running_loop()
        begin = loop.time()
        async with asyncio.TaskGroup() as tasks:
            for number in range(count):
                await room.acquire()
                uploading = tasks.create_task(self._put(number))
                uploading.add_done_callback(lambda _: room.release())
                await asyncio.sleep(begin + within_s * number / count - loop.time())

    async def _put(self, number: int) -> None:
        name = f"paper {number}"
        data = paper(name, work_s=round(self.chance.expovariate(10), 3))
        try:
            one = await self.service.intake.accept(
                _once(data), tenant_id=self.service.default_tenant_id, file_name=f"{name}.pdf"
            )
        except TransientError:
            self.indeterminate.add(name)
        else:
            assert one.ingestion_id is not None
            self.accepted[one.ingestion_id] = name


async def _once(data: bytes) -> AsyncIterator[bytes]:
    yield data
