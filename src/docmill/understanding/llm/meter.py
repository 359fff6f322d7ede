"""What a document costs; apart, since who counts need not load the models' libraries."""

from decimal import Decimal

from docmill.model import Usage


class Meter:
    """What a document's questions have cost, and how much is left of its budget."""

    def __init__(self, budget: Decimal | None, spent: Usage | None = None) -> None:
        self._budget = budget
        self._before = spent.cost if spent else Decimal(0)
        self.usage = Usage()

    @property
    def is_spent(self) -> bool:
        """Whether nothing more may be asked."""
        return self._budget is not None and self._before + self.usage.cost >= self._budget

    def add(self, usage: Usage) -> None:
        """Count one answer."""
        self.usage = self.usage.plus(usage)
