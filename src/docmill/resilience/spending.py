"""The cost of a document's model calls, counted when they are made, over all of its attempts."""

from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar
from decimal import Decimal
from typing import Self

from docmill.model.document import Usage

NOTHING = Usage()
"""Shared by all documents that no model is paid for: most of them."""


class Spending:
    """The cost of one document.

    before: of its earlier attempts. changed: called with the total after each call; must not block.
    """

    def __init__(self, before: Usage = NOTHING, *, changed: Callable[[Usage], None] = lambda _: None) -> None:
        self.before = before
        self.attempt = NOTHING
        """The usage of this attempt so far."""
        self._changed = changed

    @property
    def total(self) -> Usage:
        """The cost of all attempts so far."""
        if self.attempt is NOTHING:
            return self.before
        return self.attempt if self.before is NOTHING else self.before.plus(self.attempt)

    def add(self, usage: Usage) -> None:
        """Count one call."""
        if not usage.is_nothing:
            self.attempt = self.attempt.plus(usage)
            self._changed(self.total)

    def add_earlier_cost(self, usage: Usage) -> None:
        """Add the stored cost of earlier attempts, unless this object has already counted some cost."""
        if self.total.is_nothing and not usage.is_nothing:
            self.before = usage
            self._changed(self.total)

    def count_reported(self, usage: Usage, *, since: Usage) -> None:
        """Count what a step says that it cost, unless its calls were counted when they were made.

        since: `attempt` at the beginning of the step.
        """
        if self.attempt is since:
            self.add(usage)

    @contextmanager
    def counting(self) -> Generator[Self]:
        """Count what is spent in the block, and in the tasks started in it, on this document."""
        token = _current.set(self)
        try:
            yield self
        finally:
            _current.reset(token)


_current: ContextVar[Spending | None] = ContextVar("spending", default=None)


def count(usage: Usage) -> None:
    """Count a call on the document it was made for, if that is known."""
    spending = _current.get()
    if spending is not None:
        spending.add(usage)


def spent() -> Usage:
    """The cost of the document under way so far."""
    spending = _current.get()
    return NOTHING if spending is None else spending.total


class Meter:
    """The cost of the questions to language models about one document, and the rest of its budget.

    before: the cost of the document so far, if no `Spending` counts it over all attempts.
    """

    def __init__(self, budget: Decimal | None, before: Usage | None = None) -> None:
        self._budget = budget
        self._before = max(spent().cost, before.cost if before else Decimal(0))
        self.usage = Usage()
        self._dearest = Decimal(0)
        self._under_way = 0

    @property
    def is_spent(self) -> bool:
        """True if nothing more may be asked; each question under way may cost as much as the dearest one."""
        coming = self._under_way * self._dearest
        return self._budget is not None and self._before + self.usage.cost + coming >= self._budget

    @contextmanager
    def asking(self) -> Generator[None]:
        """Count a question that is under way."""
        self._under_way += 1
        try:
            yield
        finally:
            self._under_way -= 1

    def add(self, usage: Usage) -> None:
        """Count one answer."""
        count(usage)
        self.usage = self.usage.plus(usage)
        self._dearest = max(self._dearest, usage.cost)
