"""Fakes of the ports of matching: a matcher that does what it is told, and a notifier that keeps all."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from docmill.matching.version import MATCHING_VERSION
from docmill.service.ports.matching import Counts, DocumentToMatch
from docmill.service.store.database import Conn
from docmill.service.store.notifications import Notification


async def _do_nothing(_document: DocumentToMatch) -> None:
    pass


@dataclass
class ScriptedMatcher:
    """`Matcher` whose decision about each document is a text, which is stored with it.

    preparing, deciding: called in these phases; raise or wait here. writing: called within the transaction,
    after the decision is written. phases: those that were begun, in their order. Each write adds its decision
    as a record of the document, so that they can be counted. by_rules: the decision without a
    model; None if `decide` asks none.
    """

    decision: str = "nothing belongs to it"
    preparing: Callable[[DocumentToMatch], Awaitable[None]] = _do_nothing
    deciding: Callable[[DocumentToMatch], Awaitable[None]] = _do_nothing
    writing: Callable[[DocumentToMatch], Awaitable[None]] = _do_nothing
    by_rules: str | None = None
    phases: list[str] = field(default_factory=list[str])

    async def prepare(self, document: DocumentToMatch) -> Counts:
        """See `Matcher.prepare`."""
        self.phases.append("prepare")
        await self.preparing(document)
        return {"records": 1}

    async def decide(self, document: DocumentToMatch) -> str:
        """See `Matcher.decide`."""
        self.phases.append("decide")
        await self.deciding(document)
        return self.decision

    async def decide_by_rules(self, document: DocumentToMatch) -> str | None:
        """See `Matcher.decide_by_rules`."""
        del document
        return self.by_rules

    def counts(self, decision: str) -> Counts:
        """See `Matcher.counts`."""
        del decision
        return {"pairs": 0}

    async def write(self, conn: Conn, document: DocumentToMatch, decision: str) -> Counts:
        """See `Matcher.write`."""
        self.phases.append("write")
        await conn.execute(
            """
            INSERT INTO match_record (id, tenant_id, document_id, content, version)
            SELECT %(id)s || '#scripted ' || count(*), %(tenant)s, %(id)s::uuid,
                   jsonb_build_object('decision', %(decision)s::text), %(version)s
              FROM match_record
             WHERE tenant_id = %(tenant)s AND document_id = %(id)s::uuid
            """,
            {
                "id": str(document.id),
                "tenant": document.tenant_id,
                "decision": decision,
                "version": MATCHING_VERSION,
            },
        )
        await self.writing(document)
        return {"links": 0}


@dataclass
class RecordingNotifier:
    """`FailureNotifier` that keeps its notifications. error: raised instead."""

    notifications: list[Notification] = field(default_factory=list[Notification])
    error: Exception | None = None

    async def notify(self, conn: Conn, notification: Notification) -> None:
        """See `FailureNotifier.notify`."""
        del conn
        if self.error is not None:
            raise self.error
        self.notifications.append(notification)
