"""The draws of one tenant's generation: random numbers, days, and numbers of documents."""

import datetime as dt
import random
from collections.abc import Sequence
from typing import TypeVar

from docmill.training.linked_documents.companies import Company
from docmill.training.linked_documents.number_series import NumberSeries

_Item = TypeVar("_Item")

_FIRST_DAY = dt.date(2025, 1, 2)
DAYS = 540
"""Days on which deals begin."""


class Sampler:
    """Draws by chance, always the same for the same seed. patterns, least_rate: see `NumberSeries`."""

    def __init__(self, seed: str, patterns: dict[str, tuple[str, ...]], *, least_rate: float = 0.0) -> None:
        self.random = random.Random(seed)
        self.numbers = NumberSeries(self.random, patterns, least_rate=least_rate)
        self._customer_numbers: dict[tuple[str, str], str] = {}

    def chance(self, share: float) -> bool:
        """True for this share of the calls."""
        return self.random.random() < share

    def choice(self, items: Sequence[_Item]) -> _Item:
        """One of the items."""
        return self.random.choice(items)

    def day(self) -> dt.date:
        """A day of the year and a half in which deals begin."""
        return _FIRST_DAY + dt.timedelta(days=self.random.randrange(DAYS))

    def later(self, day: dt.date, least: int, most: int) -> dt.date:
        """A day from `least` to `most` days later."""
        return day + dt.timedelta(days=self.random.randint(least, most))

    def number(self, issuer: Company, kind: str, day: dt.date) -> str:
        """The next number of an issuer's papers of a kind."""
        return self.numbers.next_number(issuer.name, kind, day)

    def absent_number(self, issuer: Company, kind: str, day: dt.date) -> str:
        """A number that none of an issuer's papers has, nor a similar one."""
        return self.numbers.absent_number(issuer.name, kind, day)

    def customer_number(self, seller: Company, buyer: Company) -> str:
        """The buyer's number with this seller, the same each time."""
        key = seller.name, buyer.name
        if key not in self._customer_numbers:
            self._customer_numbers[key] = self.number(seller, "customer", _FIRST_DAY)
        return self._customer_numbers[key]
