"""Ports of matching: the step itself, and notifications of its failures."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, TypeVar
from uuid import UUID

from docmill.service.ports import Queue, Sender

if TYPE_CHECKING:
    from docmill.service.store.database import Conn
    from docmill.service.store.notifications import Notification

Decision = TypeVar("Decision")
"""Of a matcher; nobody but itself looks into it."""

Counts: TypeAlias = Mapping[str, int]
"""What a phase had to do with, by what is counted, for the log and traces."""


@dataclass(frozen=True, slots=True)
class DocumentToMatch:
    """A document that is to be matched, and whose it is."""

    id: UUID
    tenant_id: UUID


class Matcher(Protocol[Decision]):
    """Matches one document with the others of its tenant, in three phases.

    Each phase may be cancelled, and the whole may be repeated, also by another worker at the same time: only
    one of them writes. All of them raise `DocmillError`; what follows is decided by the class of the error.
    """

    async def prepare(self, document: DocumentToMatch) -> Counts:
        """Store what the document is compared by, such as its normalised names and references.

        It is committed on its own; done again, it stores the same.
        """
        ...

    async def decide(self, document: DocumentToMatch) -> Decision:
        """Read the candidates, and decide which of them belong to the document.

        That there is none is an answer; what prevents an answer is an error. A transient one is tried again
        in process, after 2 and 4 seconds.
        """
        ...

    async def decide_by_rules(self, document: DocumentToMatch) -> Decision | None:
        """The decision without asking a model anything new, for when none can be asked.

        None where `decide` asks no model.
        """
        ...

    def counts(self, decision: Decision) -> Counts:
        """What the decision was made from."""
        ...

    async def write(self, conn: "Conn", document: DocumentToMatch, decision: Decision) -> Counts:
        """Replace the matches of the document, within the caller's transaction of its tenant.

        The transaction ends without effect if the claim is lost. The document is locked, and no other
        document of the tenant is being written by a matcher. Other documents are to be locked by rising ids.
        """
        ...


class FailureNotifier(Protocol):
    """Has people told of failures."""

    async def notify(self, conn: "Conn", notification: "Notification") -> None:
        """Record what is to be told within the caller's transaction of the tenant; it is sent after it."""
        ...


@dataclass(frozen=True, slots=True)
class MatchingStep:
    """What a service needs to match documents. notifier: is told of failures; None: nobody is."""

    queue: Queue
    sender: Sender
    matcher: Matcher[Any]
    notifier: FailureNotifier | None = None
