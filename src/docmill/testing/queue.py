"""A queue within the process: for tests, and for trying docmill as a library."""

import asyncio
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from uuid import UUID, uuid4

from docmill.service.ports import DeadMessage, Depth, ExpectedMessage, Message
from docmill.service.store.database import new_id


@dataclass
class _Entry:
    id: str
    body: str
    visible_at: float
    sent_at: float
    receipt: str | None = None
    receiver: str = ""
    receive_count: int = 0


class MemoryQueue:
    """`Queue` in memory, in which tenants take no turns. clock: seconds, never going back."""

    def __init__(
        self,
        *,
        visibility_s: float = 300,
        max_receives: int = 1000,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._visibility_s = visibility_s
        self._max_receives = max_receives
        self._clock = clock
        self._entries: dict[str, _Entry] = {}
        self._dead: dict[str, DeadMessage] = {}
        self._changed = asyncio.Event()

    async def send(
        self, bodies: Sequence[str], *, delay_s: float = 0, tenant_ids: Sequence[UUID | None] = ()
    ) -> None:
        """See `Queue.send`."""
        del tenant_ids
        now = self._clock()
        for body in bodies:
            entry = _Entry(str(new_id()), body, visible_at=now + delay_s, sent_at=now)
            self._entries[entry.id] = entry
        self._changed.set()

    async def receive(self, *, limit: int, wait_s: float, receiver: str = "") -> list[Message]:
        """See `Queue.receive`."""
        deadline = self._clock() + wait_s
        while True:
            self._changed.clear()
            messages = self._take(limit, receiver)
            left_s = deadline - self._clock()
            if messages or left_s <= 0:
                return messages
            next_due_s = min((entry.visible_at for entry in self._entries.values()), default=deadline)
            with suppress(TimeoutError):
                async with asyncio.timeout(min(left_s, max(0, next_due_s - self._clock()))):
                    await self._changed.wait()

    def _take(self, limit: int, receiver: str) -> list[Message]:
        now = self._clock()
        due = sorted((e for e in self._entries.values() if e.visible_at <= now), key=lambda e: e.visible_at)
        messages: list[Message] = []
        for entry in due:
            if len(messages) == limit:
                break
            if entry.receive_count >= self._max_receives:
                del self._entries[entry.id]
                self._dead[entry.id] = DeadMessage(entry.id, entry.body, entry.receive_count)
                continue
            entry.receipt = str(uuid4())
            entry.receiver = receiver
            entry.receive_count += 1
            entry.visible_at = now + self._visibility_s
            messages.append(Message(entry.id, entry.body, entry.receipt, entry.receive_count))
        return messages

    def _delivery(self, message: Message) -> _Entry | None:
        entry = self._entries.get(message.id)
        return entry if entry and entry.receipt == message.receipt else None

    async def extend(self, message: Message, *, visibility_s: float) -> bool:
        """See `Queue.extend`."""
        entry = self._delivery(message)
        now = self._clock()
        if entry is None or entry.visible_at <= now:
            return False
        entry.visible_at = now + visibility_s
        return True

    async def delete(self, messages: Sequence[Message]) -> None:
        """See `Queue.delete`."""
        for message in messages:
            if self._delivery(message):
                del self._entries[message.id]

    async def release(self, message: Message, *, delay_s: float = 0, counts: bool = True) -> None:
        """See `Queue.release`."""
        entry = self._delivery(message)
        if entry is None:
            return
        entry.receipt = None
        entry.visible_at = self._clock() + delay_s
        entry.receive_count -= not counts
        self._changed.set()

    async def release_received(self, receiver: str) -> list[str]:
        """See `Queue.release_received`."""
        now = self._clock()
        held = [
            entry
            for entry in self._entries.values()
            if entry.receiver == receiver and entry.receipt and entry.visible_at > now
        ]
        for entry in held:
            entry.receipt = None
            entry.visible_at = now
        self._changed.set()
        return [entry.body for entry in held]

    async def ping(self) -> None:
        """See `Queue.ping`."""

    async def depth(self) -> Depth:
        """See `Queue.depth`."""
        now = self._clock()
        due = [entry for entry in self._entries.values() if entry.visible_at <= now]
        hidden = [entry for entry in self._entries.values() if entry.visible_at > now]
        in_flight = sum(entry.receipt is not None for entry in hidden)
        oldest = min((entry.sent_at for entry in due), default=now)
        return Depth(len(due), len(hidden) - in_flight, in_flight, now - oldest)

    async def unsent(self, expected: Sequence[ExpectedMessage]) -> list[str]:
        """See `Queue.unsent`."""
        carried = {entry.body for entry in self._entries.values()}
        return [message.body for message in expected if message.body not in carried]

    async def dead_messages(self, *, limit: int) -> list[DeadMessage]:
        """See `Queue.dead_messages`."""
        return list(reversed(self._dead.values()))[:limit]

    async def redrive(self, ids: Sequence[str]) -> int:
        """See `Queue.redrive`."""
        letters = [letter for id_ in ids if (letter := self._dead.pop(id_, None))]
        now = self._clock()
        for letter in letters:
            self._entries[letter.id] = _Entry(letter.id, letter.body, visible_at=now, sent_at=now)
        self._changed.set()
        return len(letters)

    async def purge(self, ids: Sequence[str]) -> int:
        """See `Queue.purge`."""
        return sum(self._dead.pop(id_, None) is not None for id_ in ids)
