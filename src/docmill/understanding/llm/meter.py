"""Counts what a document costs. A module of its own: who counts need not have the libraries of models."""

from collections.abc import Generator
from contextlib import contextmanager
from decimal import Decimal

from docmill.model.document import Usage
from docmill.resilience.spending import count, spent


class Meter:
    """The cost of a document's questions, and the rest of its budget.

    before: what it has cost so far, where nobody counts that over its attempts (`resilience.spending`).
    """

    def __init__(self, budget: Decimal | None, before: Usage | None = None) -> None:
        self._budget = budget
        self._before = max(spent().cost, before.cost if before else Decimal(0))
        self.usage = Usage()
        self._dearest = Decimal(0)
        self._under_way = 0

    @property
    def is_spent(self) -> bool:
        """True if nothing more may be asked: each question under way may cost as much as the dearest did."""
        coming = self._under_way * self._dearest
        return self._budget is not None and self._before + self.usage.cost + coming >= self._budget

    @contextmanager
    def asking(self) -> Generator[None]:
        """A question is under way."""
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
