"""A sample before it is made: what is printed, by whom, and in which form and layout.

Lines and totals come from a few strings: every figure on a paper follows from the same numbers.
"""

import datetime as dt
from collections.abc import Callable
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal
from itertools import product
from typing import Literal, Protocol, TypedDict, cast

from stdnum import get_cc_module, iban

from docmill.demo.canvas import A4, Colour, Size
from docmill.demo.truth import Form
from docmill.demo.wording import Wording
from docmill.schemas.document_types import DocumentType
from docmill.schemas.types import BankStatement, DeliveryNote, Fields, Invoice, Line, Party, PurchaseOrder

Logo = Literal["disc", "peak", "bars", "leaf", "frame", "wave"]
Bill = Invoice | PurchaseOrder | DeliveryNote


@dataclass(frozen=True, slots=True)
class House:
    """An invented company or person. address: as printed, line by line. legal: small print of its letters."""

    name: str
    address: tuple[str, ...]
    country: str
    vat_id: str | None = None
    iban: str | None = None
    bic: str | None = None
    bank: str = ""
    phone: str = ""
    mail: str = ""
    legal: str = ""
    colour: Colour = (0.1, 0.2, 0.35)
    logo: Logo = "disc"

    def party(self, *, vat: bool = False) -> Party:
        """This house as a schema has it; vat: whether the paper shows its VAT number."""
        return Party(name=self.name, address=", ".join(self.address), vat_id=self.vat_id if vat else None)


class _Number(Protocol):
    is_valid: Callable[[str], bool]


def vat(country: str, pattern: str) -> str:
    """The first valid VAT number for `pattern`, whose "?" stand for check digits."""
    return _first_valid(pattern, cast("_Number", get_cc_module(country.lower(), "vat")).is_valid)


def account(pattern: str) -> str:
    """The first valid IBAN for `pattern`, whose "?" stand for check digits."""
    return _first_valid(pattern, iban.is_valid)


def _first_valid(pattern: str, is_valid: Callable[[str], bool]) -> str:
    for digits in product("0123456789", repeat=pattern.count("?")):
        filled = pattern.replace("?", "{}").format(*digits)
        if is_valid(filled):
            return filled
    raise ValueError(f"no check digits make {pattern!r} valid")


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


@dataclass(frozen=True, slots=True)
class Letter:
    """A business paper. `fields` is its truth: a layout prints every field that is not null, and no other.

    kind: the title's label. articles: item numbers, which no schema has. opening, closing: sentences around
    the table. printed_method: the words for the means of payment, of which `fields` has the code.
    """

    fields: Bill
    kind: str
    sender: House
    recipient: House
    wording: Wording
    taxes: tuple[Tax, ...] = ()
    articles: tuple[str, ...] = ()
    opening: str = ""
    closing: tuple[str, ...] = ()
    size: Size = A4
    printed_method: str = ""

    def value(self, name: str) -> str | dt.date | Decimal | None:
        """The field `name`, null where this kind of document has none."""
        return getattr(self.fields, name, None)


@dataclass(frozen=True, slots=True)
class Statement:
    """A bank statement. See `Letter`."""

    fields: BankStatement
    bank: House
    holder: House
    wording: Wording
    size: Size = A4


@dataclass(frozen=True, slots=True)
class PaySheet:
    """A payslip. See `Letter`. earnings, deductions: its rows with their labels."""

    fields: Fields
    employer: House
    employee: House
    wording: Wording
    earnings: tuple[tuple[str, Decimal], ...]
    deductions: tuple[tuple[str, Decimal], ...]
    size: Size = A4


@dataclass(frozen=True, slots=True)
class Correspondence:
    """A letter, reminder or contract. See `Letter`.

    title: its subject. paragraphs: the cells of a row are parted by `|`.
    """

    fields: Fields
    sender: House
    recipient: House
    wording: Wording
    title: str
    paragraphs: tuple[str, ...]
    size: Size = A4


Paper = Letter | Statement | PaySheet | Correspondence


@dataclass(frozen=True, slots=True)
class Plan:
    """A sample before it is made. layout: the name of a layout family, see `writing`."""

    name: str
    form: Form
    layout: str
    document_type: DocumentType
    paper: Paper

    @property
    def country(self) -> str:
        """The country whose conventions the paper follows."""
        match self.paper:
            case Letter(sender=house) | Statement(bank=house) | PaySheet(employer=house):
                return house.country
            case Correspondence(sender=house):
                return house.country

    @property
    def truth(self) -> Fields:
        """The fields that are printed."""
        return self.paper.fields


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
