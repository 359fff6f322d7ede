"""The meaning of the columns of a bank's table: found in a file, kept as JSON, used for the next file."""

from typing import Literal

from pydantic import BaseModel, ConfigDict

DateOrder = Literal["dmy", "mdy", "ymd"]
DecimalMark = Literal[".", ","]


class StatementColumns(BaseModel):
    """The columns of a table of bookings, as indices from 0. Its JSON form stays as it is.

    headings: the row that names the columns, by which a table is recognised as one of the kind. date: of the
    booking. amount: with its sign, or without one beside an `indicator` such as *debit*; or `debit` and
    `credit` apart. payer, payee: of which the other side is the one that is not the account's owner.
    description: joined in this order. account: of the owner. date_order: of dates in figures.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    delimiter: str
    headings: tuple[str, ...]
    date: int
    date_order: DateOrder
    decimal_mark: DecimalMark
    amount: int | None = None
    debit: int | None = None
    credit: int | None = None
    indicator: int | None = None
    currency: int | None = None
    counterparty: int | None = None
    payer: int | None = None
    payee: int | None = None
    iban: int | None = None
    reference: int | None = None
    description: tuple[int, ...] = ()
    balance: int | None = None
    account: int | None = None
