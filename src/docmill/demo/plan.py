"""A sample before it is made: what is printed, by whom, and in which form and layout."""

import datetime as dt
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from itertools import product
from typing import Literal, Protocol, cast

from stdnum import get_cc_module, iban

from docmill.demo.canvas import A4, Colour, Size
from docmill.demo.sums import Tax
from docmill.demo.truth import Form
from docmill.demo.wording import Wording
from docmill.schemas.document_types import DocumentType
from docmill.schemas.fields import Fields, Party
from docmill.schemas.types import BankStatement, DeliveryNote, Invoice, PurchaseOrder

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


@dataclass(frozen=True, slots=True)
class Letter:
    """A business paper. `fields` is its truth: a layout prints every field that is not null, and no other.

    kind: the title's label. articles: item numbers, which no schema has. opening, closing: sentences around
    the table.
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
class Plan:
    """A sample before it is made. layout: a name in `layouts.families`."""

    name: str
    form: Form
    layout: str
    document_type: DocumentType
    paper: Letter | Statement | PaySheet

    @property
    def country(self) -> str:
        """The country whose conventions the paper follows."""
        match self.paper:
            case Letter(sender=house) | Statement(bank=house) | PaySheet(employer=house):
                return house.country

    @property
    def truth(self) -> Fields:
        """The fields that are printed."""
        return self.paper.fields
