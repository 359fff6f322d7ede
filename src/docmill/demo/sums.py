"""Lines and totals from a few strings, so that every figure on a paper follows from the same numbers."""

from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal
from typing import TypedDict

from docmill.schemas.fields import Line


class Totals(TypedDict):
    """Net, tax and gross as the schemas name them."""

    net_total: Decimal
    tax_total: Decimal
    gross_total: Decimal


@dataclass(frozen=True, slots=True)
class Tax:
    """The tax that is owed at one rate, in percent."""

    rate: Decimal
    base: Decimal
    amount: Decimal


def lines(*rows: str, numbered: str = "{}") -> tuple[Line, ...]:
    """Lines from "description | quantity | unit | unit price | tax rate"; an empty cell is not printed.

    numbered: how the line number is printed; empty for not at all.
    """
    result: list[Line] = []
    for number, row in enumerate(rows, 1):
        cells = [*(cell.strip() or None for cell in row.split("|")), None, None, None, None]
        description, quantity, unit, price, rate = cells[:5]
        line = Line(
            position=numbered.format(number) or None,
            description=description,
            quantity=Decimal(quantity) if quantity else None,
            unit=unit,
            unit_price=Decimal(price) if price and quantity else None,
            net_amount=cents(Decimal(quantity or 1) * Decimal(price)) if price else None,
            tax_rate=Decimal(rate) if rate else None,
        )
        result.append(line)
    return tuple(result)


def without(lines: tuple[Line, ...], *names: str) -> tuple[Line, ...]:
    """The lines without the values of these fields."""
    return tuple(line.model_copy(update=dict.fromkeys(names)) for line in lines)


def cents(amount: Decimal) -> Decimal:
    """`amount` rounded to two places, halves away from zero."""
    return amount.quantize(Decimal("0.01"), ROUND_HALF_UP)


def total(taxes: tuple[Tax, ...]) -> Totals:
    """The sums over all rates."""
    net, tax = (
        sum((each.base for each in taxes), Decimal(0)),
        sum((each.amount for each in taxes), Decimal(0)),
    )
    return Totals(net_total=net, tax_total=tax, gross_total=net + tax)


def taxes_of(lines: tuple[Line, ...], *rates: str) -> tuple[Tax, ...]:
    """The lines' tax by rate. rates: one for all lines, or one per line; none: as each line says."""
    of_lines = [Decimal(rate) for rate in (rates * len(lines) if len(rates) == 1 else rates)]
    bases: dict[Decimal, Decimal] = {}
    for line, rate in zip(lines, of_lines or [line.tax_rate or Decimal(0) for line in lines], strict=True):
        bases[rate] = bases.get(rate, Decimal(0)) + (line.net_amount or Decimal(0))
    return tuple(Tax(rate, base, cents(base * rate / 100)) for rate, base in bases.items())


def included_taxes(lines: tuple[Line, ...], *rates: str) -> tuple[Tax, ...]:
    """As `taxes_of`, for lines whose amounts include the tax."""
    gross = taxes_of(lines, *rates)
    bases = [cents(tax.base * 100 / (100 + tax.rate)) for tax in gross]
    return tuple(Tax(tax.rate, base, tax.base - base) for tax, base in zip(gross, bases, strict=True))
