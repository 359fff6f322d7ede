"""Settings of bookkeeping: accounts, tax keys, and the numbers that DATEV asks for."""

from collections.abc import Mapping
from datetime import date
from decimal import Decimal
from typing import Annotated, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, field_validator

Value = TypeVar("Value", str, int)
Account = Annotated[int, Field(ge=1, le=999_999_999)]
TaxKey = Annotated[str, Field(pattern=r"^\d{0,4}$")]
Currency = Annotated[str, Field(pattern=r"^[A-Z]{3}$")]
Category = Literal["AE", "K", "G", "E", "Z", "O", "L", "M"]
"""A VAT category without VAT on the bill: a code of UNTDID 5305, as in the field `tax_category`."""
Rate = Annotated[str, Field(pattern=r"^\d{1,2}(\.\d{1,2})?$")]
"""A tax rate in percent, such as `19` or `5.5`."""

_SHORTEST = 4
"""Digits of the accounts below; longer ones have zeros behind them."""

_CHARTS: dict[str, dict[str, int]] = {
    "SKR03": {"expense": 4980, "revenue": 8200, "cash": 1000, "transit": 1360},
    "SKR04": {"expense": 6850, "revenue": 4200, "cash": 1600, "transit": 1460},
}
"""Accounts that take a tax key: automatic accounts would refuse it. expense: Sonstiger Betriebsbedarf,
revenue: Erlöse, cash: Kasse, transit: Geldtransit."""

_INPUT_TAX = {"SKR03": {"19": 1576, "7": 1571}, "SKR04": {"19": 1406, "7": 1401}}
_OUTPUT_TAX = {"SKR03": {"19": 1776, "7": 1771}, "SKR04": {"19": 3806, "7": 3801}}
_CREDITOR, _DEBTOR = 70000, 10000
_NEED_A_KEY = frozenset({"AE", "K", "G"})
"""Categories whose bills must not be booked as if they had nothing to do with VAT."""


class Bookkeeping(BaseModel):
    """The way documents are booked. What is not set follows from `chart`.

    creditors, expenses: accounts by the name or VAT number of the seller, debtors: of the buyer. own_vat_ids:
    of the company itself, by which its own invoices are told from those it gets. currency: of bills on which
    none was read; without it they are not booked. input_tax_keys, output_tax_keys, input_tax_accounts,
    output_tax_accounts: by tax rate in percent. input_category_keys, output_category_keys: by VAT category,
    of bills without VAT. reduced_sellers: names or VAT numbers of sellers on whose bills without VAT the
    buyer owes the reduced rate; reduced_category_keys: of those.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    chart: Literal["SKR03", "SKR04"] = "SKR03"
    account_length: int = Field(default=4, ge=4, le=8)
    consultant_number: int | None = Field(default=None, ge=1001, le=9_999_999)
    client_number: int | None = Field(default=None, ge=1, le=99_999)
    fiscal_year_start: str = Field(default="01-01", pattern=r"^\d{2}-\d{2}$")
    finalised: bool = False
    own_vat_ids: tuple[str, ...] = ()
    currency: Currency | None = None
    expense: Account | None = None
    revenue: Account | None = None
    cash: Account | None = None
    transit: Account | None = None
    creditor: Account | None = None
    debtor: Account | None = None
    creditors: dict[str, Account] = {}
    debtors: dict[str, Account] = {}
    expenses: dict[str, Account] = {}
    input_tax_keys: dict[Rate, TaxKey] = {"19": "9", "7": "8", "0": ""}
    output_tax_keys: dict[Rate, TaxKey] = {"19": "3", "7": "2", "0": ""}
    input_category_keys: dict[Category, TaxKey] = {"AE": "94", "K": "19"}
    reduced_category_keys: dict[Category, TaxKey] = {"AE": "91", "K": "18"}
    reduced_sellers: tuple[str, ...] = ()
    output_category_keys: dict[Category, TaxKey] = {"K": "11", "G": "1"}
    input_tax_accounts: dict[Rate, Account] = {}
    output_tax_accounts: dict[Rate, Account] = {}

    @field_validator("fiscal_year_start")
    @classmethod
    def _is_a_day(cls, text: str) -> str:
        try:
            date.fromisoformat(f"2025-{text}")
        except ValueError:
            raise ValueError("is no day of the year, such as 01-01 or 07-01") from None
        return text

    def account(self, name: Literal["expense", "revenue", "cash", "transit"]) -> int:
        """A general ledger account."""
        chosen: int | None = getattr(self, name)
        return self._lengthened(_CHARTS[self.chart][name]) if chosen is None else chosen

    @property
    def any_creditor(self) -> int:
        """The account of sellers that have none of their own."""
        return self._lengthened(_CREDITOR) if self.creditor is None else self.creditor

    @property
    def any_debtor(self) -> int:
        """The account of buyers that have none of their own."""
        return self._lengthened(_DEBTOR) if self.debtor is None else self.debtor

    def tax_key(self, rate: Decimal, *, is_outgoing: bool) -> str | None:
        """The tax key of a rate; None if there is none."""
        return _of_rate(self.output_tax_keys if is_outgoing else self.input_tax_keys, rate)

    def category_key(self, category: str, *, is_outgoing: bool, is_reduced: bool) -> str | None:
        """The tax key of the part of a bill that has no VAT, by its category; None if there is none."""
        incoming = self.reduced_category_keys if is_reduced else self.input_category_keys
        keys = self.output_category_keys if is_outgoing else incoming
        key = next((key for known, key in keys.items() if known == category), None)
        if key is None and category not in _NEED_A_KEY:
            return self.tax_key(Decimal(0), is_outgoing=is_outgoing)
        return key

    def tax_account(self, rate: Decimal, *, is_outgoing: bool) -> int | None:
        """The account for the tax of a rate; None if there is none."""
        chosen = self.output_tax_accounts if is_outgoing else self.input_tax_accounts
        account = _of_rate(chosen, rate)
        if account is None:
            usual = _of_rate((_OUTPUT_TAX if is_outgoing else _INPUT_TAX)[self.chart], rate)
            account = None if usual is None else self._lengthened(usual)
        return account

    @property
    def rates(self) -> list[Decimal]:
        """The tax rates that have a key."""
        return sorted({Decimal(rate) for rate in (*self.input_tax_keys, *self.output_tax_keys)})

    def fiscal_year(self, day: date) -> date:
        """The first day of the fiscal year in which a day lies."""
        month, first = (int(part) for part in self.fiscal_year_start.split("-"))
        start = date(day.year, month, first)
        return start if start <= day else date(day.year - 1, month, first)

    def _lengthened(self, account: int) -> int:
        return account * 10 ** (self.account_length - _SHORTEST)


def _of_rate(values: Mapping[str, Value], rate: Decimal) -> Value | None:
    return next((value for key, value in values.items() if Decimal(key) == rate), None)
