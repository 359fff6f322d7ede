"""Counts times prices."""

from collections.abc import Callable
from decimal import Decimal

import pytest

from docmill.model.document import Document
from docmill.understanding.fields.analysis_cache import candidates_of
from docmill.understanding.fields.printed_products import Place, place_of, printed_products

Typeset = Callable[..., Document]

PAPER = """
Bought   120 shares
at   EUR 12.50
Value   EUR 1,500.00
Commission   EUR 9.90
Levy   EUR 1.10
To pay   EUR 1,511.00
"""


def values_at(document: Document, places: frozenset[Place]) -> set[Decimal]:
    numbers = candidates_of(document).numbers
    return {number.value for number in numbers if place_of(number) in places}


def test_a_count_times_a_price_is_found_with_its_factors(typeset: Typeset) -> None:
    paper = typeset(PAPER)

    printed = printed_products(candidates_of(paper))

    assert values_at(paper, printed.products) == {Decimal("1500.00")}
    assert {Decimal(120), Decimal("12.50")} <= values_at(paper, printed.counts | printed.prices)


@pytest.mark.parametrize("paper", ["No numbers here", "Value   EUR 100.00\nHouse   10\nPage   10"])
def test_whole_numbers_without_a_currency_are_no_prices(typeset: Typeset, paper: str) -> None:
    assert not any(printed_products(candidates_of(typeset(paper))))
