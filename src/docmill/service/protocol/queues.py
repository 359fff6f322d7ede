"""The queues of the service, and how often each delivers a message."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class QueuePolicy:
    """One queue.

    name: in tables, metrics and the log. max_receives: a message received so often and never deleted is dead.
    """

    name: str
    max_receives: int


INGESTION = QueuePolicy("ingestion", max_receives=1000)
"""The most that SQS allows. Attempts are counted on the ingestion; this is a net below."""

MATCHING = QueuePolicy("matching", max_receives=3)
"""The third failure leaves the message to the dead messages, where people can look for causes."""

ACQUISITION = QueuePolicy("acquisition", max_receives=10)
"""A mail that no source takes comes again after a minute, two, four and so on: for half a day in all."""
