"""Dead messages, which their queue gave up: those of all tenants, for who runs the installation."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from uuid import UUID

from docmill.errors import MisconfiguredError
from docmill.service.app import Service
from docmill.service.ports import DeadMessage, Queue
from docmill.service.protocol.queues import MATCHING
from docmill.service.sources.ses.ses_source import missing_extra
from docmill.service.store import dead_letters, tenants
from docmill.service.store.claims import lock_documents


@dataclass(frozen=True, slots=True)
class DeadMessages:
    """The dead messages of one queue. Repeating a call changes nothing more."""

    service: Service
    name: str
    queue: Queue

    async def find(self, ids: Sequence[str] | None = None, *, limit: int) -> list[DeadMessage]:
        """Up to `limit` messages, newest first. ids: those of them alone."""
        found = await self.queue.dead_messages(limit=limit)
        return [message for message in found if ids is None or message.id in ids]

    async def redrive(self, messages: Sequence[DeadMessage]) -> int:
        """Send messages again; their number. Documents that could not be matched are matched anew."""
        if self.name == MATCHING.name:
            await self._match_again(messages)
            return await self.purge(messages)
        return await self.queue.redrive([message.id for message in messages])

    async def purge(self, messages: Sequence[DeadMessage]) -> int:
        """Remove messages; their number."""
        return await self.queue.purge([message.id for message in messages])

    async def _match_again(self, messages: Sequence[DeadMessage]) -> None:
        """Ask for the documents of messages to be matched. What is no document's id asks for nothing."""
        ids: list[UUID] = []
        for message in messages:
            with suppress(ValueError):  # anybody may send anything to a queue
                ids.append(UUID(message.body))
        database, requests = self.service.database, self.service.matching_requests
        async with database.accounts() as conn:
            rows = await tenants.all_tenants(conn)
        for tenant in rows:  # each sees its own documents alone
            async with database.tenant(tenant.id) as conn:
                await lock_documents(conn, ids)
                await dead_letters.forget_bodies(conn, ids)
                await requests.request(conn, ids)
        requests.announce()


@asynccontextmanager
async def open_dead_messages(service: Service, name: str) -> AsyncGenerator[DeadMessages]:
    """The dead messages of the queue of mails or of matching, for the length of the block.

    Those of ingestions become dead letters by themselves. Raises MisconfiguredError where there is no such
    queue.
    """
    if name == MATCHING.name:
        if service.matching is None:
            raise MisconfiguredError("nothing is matched here: matching.enabled is false")
        yield DeadMessages(service, name, service.matching.queue)
        return
    if service.settings.sources.ses_domain is None:
        raise MisconfiguredError("no mails are taken from Amazon SES here: sources.ses_domain is not set")
    try:
        from docmill.service.sources.ses.acquisition import open_acquisition  # noqa: PLC0415  an extra
    except ModuleNotFoundError as error:
        raise missing_extra(error) from error
    async with open_acquisition(service.settings) as places:
        yield DeadMessages(service, name, places.queue)
