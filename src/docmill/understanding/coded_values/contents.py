"""The content of a code after its standard, and the forms that its values have."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Decimal
from typing import TypeAlias

from docmill.understanding.text.codes import is_bic, is_iban, is_vat_id

CodedValue: TypeAlias = date | Decimal | str
PAYABLE = "payable"
"""The amount that a payment code asks for: that of `amount_due`, or else of `gross_total`."""
_AMOUNT = re.compile(r"-?[0-9]{1,12}(?:[.,][0-9]{1,2})?")
_CURRENCY = re.compile(r"[A-Z]{3}")
_LONGEST_NAME = 140


@dataclass(frozen=True, slots=True)
class CodeContent:
    """Content of a code.

    standard: as its specification spells it. values: by path of the built-in types, or `PAYABLE`; each is
    exact. names: of parties, by path, as far as the standard has room for them. references: text in which the
    number of the paper may stand.
    """

    standard: str
    values: Mapping[str, CodedValue]
    names: Mapping[str, str] = field(default_factory=dict[str, str])
    references: tuple[str, ...] = ()


Parser: TypeAlias = Callable[[str], CodeContent | None]
"""Parses the text of a code; None for one of another standard. Raises ValueError for one that breaks it."""


def amount(text: str) -> Decimal:
    """An amount in plain digits with at most two decimals. Raises ValueError."""
    if not _AMOUNT.fullmatch(text):
        raise ValueError("no amount")
    return Decimal(text.replace(",", "."))


def cents(text: str) -> Decimal:
    """An amount in digits of a hundredth. Raises ValueError."""
    if not re.fullmatch("[0-9]{1,15}", text):
        raise ValueError("no amount")
    return Decimal(text).scaleb(-2)


def day(text: str, form: str) -> date:
    """A date in a form of `strptime`. Raises ValueError."""
    return datetime.strptime(text, form).date()  # noqa: DTZ007 - the day as it is printed


def account(text: str) -> str:
    """An IBAN whose checksum holds. Raises ValueError."""
    compact = text.replace(" ", "").upper()
    if not re.fullmatch("[A-Z0-9]{15,34}", compact) or not is_iban(compact):
        raise ValueError("no IBAN")
    return compact


def bank(text: str) -> str | None:
    """A BIC; None for anything else."""
    return text if text.isascii() and is_bic(text) else None


def currency(text: str) -> str:
    """A currency by ISO 4217. Raises ValueError."""
    if not _CURRENCY.fullmatch(text):
        raise ValueError("no currency")
    return text


def vat_id(text: str) -> str | None:
    """A VAT identifier whose checksum holds; None for anything else."""
    return text if text.isascii() and is_vat_id(text) else None


def given(**values: CodedValue | None) -> dict[str, CodedValue]:
    """The values that are not None, by path; two underscores stand for a dot."""
    return {path.replace("__", "."): value for path, value in values.items() if value is not None}


def names(**texts: str) -> dict[str, str]:
    """The names that are not empty, as `given` has values."""
    stripped = {path.replace("__", "."): " ".join(text.split()) for path, text in texts.items()}
    return {path: text[:_LONGEST_NAME] for path, text in stripped.items() if text and text.isprintable()}
