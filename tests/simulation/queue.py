"""The queue: each message at least once, whoever shows a handle."""

from dataclasses import dataclass, field

from simulation.kernel import Kernel, Task, Violation
from simulation.store import Row

_FOREVER_S = 100_000


class Message:
    """row: whose ingestion it names. receipt: of its last delivery. gone: deleted or dead.

    received: as the queue counts. deliveries: in truth; waits: how many of these found that they must wait.
    """

    __slots__ = ("deliveries", "gone", "receipt", "received", "row", "visible_at", "waits")

    def __init__(self, row: Row, visible_at: int) -> None:
        self.row = row
        self.visible_at = visible_at
        self.receipt = 0
        self.received = 0
        self.deliveries = 0
        self.waits = 0
        self.gone = False


@dataclass(slots=True, eq=False)
class Delivery:
    message: Message
    receipt: int


@dataclass(slots=True, eq=False)
class Queue:
    """Guards by receipt, as ours does."""

    kernel: Kernel
    visibility_s: int
    max_receives: int
    messages: list[Message] = field(default_factory=list[Message])
    dead: list[Row] = field(default_factory=list[Row])
    waiting: list[Task] = field(default_factory=list[Task])

    def send(self, row: Row, delay_s: int = 0) -> None:
        self.kernel.note("a message of {} is sent", row.name)
        row.messages += 1
        self.messages.append(Message(row, self.kernel.now + delay_s))
        self.wake()

    def receive(self, limit: int) -> list[Delivery]:
        now = self.kernel.now
        found: list[Delivery] = []
        for message in self.messages.copy():
            if message.visible_at <= now and len(found) < limit:
                if message.received >= self.max_receives:
                    self._die(message)
                else:
                    found.append(self._deliver(message))
        return found

    def _deliver(self, message: Message) -> Delivery:
        message.received += 1
        message.deliveries += 1
        message.receipt += 1
        message.visible_at = self.kernel.now + self.visibility_s
        return Delivery(message, message.receipt)

    def _die(self, message: Message) -> None:
        self.kernel.note("a message of {} was received too often and is dead", message.row.name)
        if self.fewest_to_die > message.deliveries - message.waits:
            raise Violation("waiting used up a message", message.row.name)
        self.dead.append(message.row)
        self._remove(message)

    def next_due(self) -> int:
        """Seconds until a message falls due, if nothing happens before."""
        now = self.kernel.now
        soonest = now + _FOREVER_S
        for message in self.messages:
            if message.visible_at < soonest:  # noqa: PLR1730  three times as fast as min
                soonest = message.visible_at
        return soonest - now

    def wake(self) -> None:
        """Let those who wait for messages look again."""
        for task in self.waiting:
            self.kernel.wake(task)
        self.waiting.clear()

    def accepts(self, delivery: Delivery) -> bool:
        """Whether the handle is good enough."""
        return not delivery.message.gone and delivery.receipt == delivery.message.receipt

    def extend(self, delivery: Delivery, visibility_s: int) -> bool:
        message = delivery.message
        if not self.accepts(delivery) or message.visible_at <= self.kernel.now:
            return False
        message.visible_at = self.kernel.now + visibility_s
        return True

    def release(self, delivery: Delivery, delay_s: int) -> None:
        if self.accepts(delivery):
            delivery.message.visible_at = self.kernel.now + delay_s
            delivery.message.receipt += 1
            self.wake()

    def postpone(self, delivery: Delivery, delay_s: int) -> None:
        """Release a message of which this delivery is not to count."""
        if self.accepts(delivery):
            delivery.message.waits += 1
            self.refund(delivery.message)
        self.release(delivery, delay_s)

    def refund(self, message: Message) -> None:
        message.received -= 1

    def must_replace(self, delivery: Delivery) -> bool:
        """Whether a message that waits is to be replaced, since the queue cannot refund."""
        del delivery
        return False

    @property
    def fewest_to_die(self) -> int:
        """Deliveries that a message needs to die in vain."""
        return self.max_receives

    def delete(self, delivery: Delivery) -> None:
        message = delivery.message
        if not self.accepts(delivery):
            return
        self.kernel.note("a message of {} is deleted", message.row.name)
        self._remove(message)
        self.check_reachable(message.row)

    def _remove(self, message: Message) -> None:
        message.gone = True
        message.row.messages -= 1
        self.messages.remove(message)

    def check_reachable(self, row: Row) -> None:
        """Whoever works on an ingestion may die; its message is what remains."""
        if row.status == "in-progress" and not row.messages and not row.outbox:
            raise Violation("the last message of an unfinished ingestion is gone", row.name)

    def lose(self) -> None:
        """What a queue must not do and an operator can."""
        for message in self.messages.copy():
            self.kernel.note("a message of {} is lost by the queue", message.row.name)
            self._remove(message)

    def purge(self, row: Row) -> None:
        """Forget a dead message."""
        if row in self.dead:
            self.dead.remove(row)

    def has_message(self, row: Row) -> bool:
        return row.messages > 0


class SqsQueue(Queue):
    """Lets an old handle delete and extend, delivers twice at times, and at times forgets a deletion."""

    __slots__ = ()

    def accepts(self, delivery: Delivery) -> bool:
        return not delivery.message.gone

    def refund(self, message: Message) -> None:
        """SQS counts every receive."""

    def must_replace(self, delivery: Delivery) -> bool:
        return 2 * delivery.message.received > self.max_receives

    @property
    def fewest_to_die(self) -> int:
        return self.max_receives // 2

    def release(self, delivery: Delivery, delay_s: int) -> None:
        if not delivery.message.gone:
            delivery.message.visible_at = self.kernel.now + delay_s
            self.wake()

    def _deliver(self, message: Message) -> Delivery:
        delivery = super()._deliver(message)
        if self.kernel.roll() < 0.1:
            message.visible_at = self.kernel.now + 1
            self.wake()
        return delivery

    def delete(self, delivery: Delivery) -> None:
        if delivery.message.gone or self.kernel.roll() > 0.05:
            super().delete(delivery)
        else:
            self.kernel.note("a deletion is forgotten")

    def has_message(self, row: Row) -> bool:
        """Nobody can look for a message; all that is known is whether there are any."""
        del row
        return bool(self.messages)
