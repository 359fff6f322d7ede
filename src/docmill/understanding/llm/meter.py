"""What a document costs; apart, since who counts need not load the models' libraries."""

from collections.abc import Generator
from contextlib import contextmanager
from decimal import Decimal

from docmill.model import Usage


class Meter:
    """What a document's questions have cost, and how much is left of its budget."""

    def __init__(self, budget: Decimal | None, spent: Usage | None = None) -> None:
        self._budget = budget
        self._before = spent.cost if spent else Decimal(0)
        self.usage = Usage()
        self._dearest = Decimal(0)
        self._under_way = 0

    @property
    def is_spent(self) -> bool:
        """Whether nothing more may be asked: each question under way may cost as much as the dearest did."""
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
        self.usage = self.usage.plus(usage)
        self._dearest = max(self._dearest, usage.cost)
