"""Ports of the service: the queue, and the adapters that intake and reviews are given."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from uuid import UUID

    from docmill.model.corrections import Correction, LayoutWeights, ReviewedValues
    from docmill.model.result import Schema
    from docmill.service.store.database import Conn
    from docmill.understanding.meaning.word_vectors import Vectors


@dataclass(frozen=True, slots=True)
class Message:
    """One delivery of a queued message.

    receipt: names this delivery; a later delivery of the same message has another. receive_count: from 1.
    """

    id: str
    body: str
    receipt: str
    receive_count: int


@dataclass(frozen=True, slots=True)
class ExpectedMessage:
    """A message that should be in the queue, in nobody's hands. due_for_s: seconds since it fell due."""

    body: str
    tenant_id: "UUID | None" = None
    due_for_s: float = 0


@dataclass(frozen=True, slots=True)
class DeadMessage:
    """A message that was received too often without ever being deleted."""

    id: str
    body: str
    receive_count: int


@dataclass(frozen=True, slots=True)
class Depth:
    """The numbers of messages in a queue. oldest_age_s: of the oldest due message, 0 when none is due."""

    due: int
    delayed: int
    in_flight: int
    oldest_age_s: float


class Embedder(Protocol):
    """Turns texts into vectors that are near to each other where the texts mean the like.

    name: of the model and its version; vectors of another name are not compared. least, least_of_tag: the
    least cosine of a document's text, and of a tag's name, that tells a likeness.
    """

    name: str
    least: float
    least_of_tag: float

    async def embed(self, texts: Sequence[str]) -> "Vectors":
        """A row of length one for each text, of zeros for one without meaning.

        Raises MisconfiguredError, and errors of networks and servers where another machine does it.
        """
        ...


class Queue(Protocol):
    """Delivers each message at least once, as a rule to one receiver at a time.

    A delivery ends when it is deleted or released, or its time is over. What a receiver does with one that is
    over may still take effect (SQS lets a stale receipt delete): never rely on the queue for exclusion.

    All methods raise NetworkError or ServerError if the queue cannot be reached.
    """

    async def send(
        self, bodies: Sequence[str], *, delay_s: float = 0, tenant_ids: "Sequence[UUID | None]" = ()
    ) -> None:
        """Enqueue; each message falls due after `delay_s`.

        tenant_ids: the tenant of each body, by which a queue may let tenants take turns; empty for none.
        """
        ...

    async def receive(self, *, limit: int, wait_s: float, receiver: str = "") -> list[Message]:
        """Up to `limit` due messages, invisible to others for the queue's visibility time.

        Waits up to `wait_s` for the first. Messages at the maximum of receives go to the dead messages.
        Cancelled, it ends once it has given back what it took. receiver: who is to be named to
        `release_received`.
        """
        ...

    async def release_received(self, receiver: str) -> list[str]:
        """Give back the messages that a dead receiver still holds; their bodies.

        None if the queue cannot tell.
        """
        ...

    async def extend(self, message: Message, *, visibility_s: float) -> bool:
        """Keep the message for `visibility_s` from now. False if this delivery is over: stop working."""
        ...

    async def delete(self, messages: Sequence[Message]) -> None:
        """Delete messages that have been handled."""
        ...

    async def release(self, message: Message, *, delay_s: float = 0, counts: bool = True) -> None:
        """Give the message back, due after `delay_s`.

        counts: whether this delivery counts towards the maximum of receives. One that only found out that it
        has to wait does not: a message may wait for as long as it takes.
        """
        ...

    async def ping(self) -> None:
        """Return if the queue answers, at a cost that does not grow with what it holds."""
        ...

    async def depth(self) -> Depth:
        """The numbers of messages in the queue now."""
        ...

    async def unsent(self, expected: "Sequence[ExpectedMessage]") -> list[str]:
        """The bodies of those that have no message, as far as the queue can tell; some may have one."""
        ...

    async def dead_messages(self, *, limit: int) -> list[DeadMessage]:
        """The newest dead messages first."""
        ...

    async def redrive(self, ids: Sequence[str]) -> int:
        """Put dead messages back into the queue, due at once, with a new count; their number."""
        ...

    async def purge(self, ids: Sequence[str]) -> int:
        """Remove dead messages; their number."""
        ...


class Sender(Protocol):
    """Sends messages with the caller's transaction: all of it happens, or nothing."""

    async def send_in(self, conn: "Conn", bodies: Sequence[str], *, delay_s: float = 0) -> None:
        """Have messages sent if the transaction commits; each falls due `delay_s` from now."""
        ...

    async def hasten_in(self, conn: "Conn", body: str) -> None:
        """Have a message that somebody received and did nothing with delivered again at once, if possible."""
        ...

    def announce(self) -> None:
        """Say after the commit that there is something new."""
        ...


class Unlocker(Protocol):
    """Takes the protection off files."""

    async def unlock(self, original: Path, password: str) -> bytes | None:
        """The file without its password; None for one that needs none, or that no password would open.

        Raises EncryptedError if the password is wrong, CorruptError, TimeLimitError or CrashedError.
        """
        ...


class CorrectionMaker(Protocol):
    """Makes corrections of documents; it takes the CPU."""

    async def correction(
        self, transcription: bytes, schema: "Schema", reviewed: "ReviewedValues"
    ) -> "Correction":
        """The correction of a reviewed document. May raise any DocmillError."""
        ...

    async def layout(
        self, schema: "Schema", documents: "Sequence[tuple[bytes, Correction]]"
    ) -> "LayoutWeights":
        """The places of values in one layout. documents: transcriptions and corrections, latest first."""
        ...
