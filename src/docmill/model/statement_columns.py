"""The meaning of the columns of a bank's table: found in a file, kept as JSON, used for the next file."""

from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

DateOrder = Literal["dmy", "mdy", "ymd"]
DecimalMark = Literal[".", ","]
Place = Annotated[int, Field(ge=0)]


class StatementColumns(BaseModel):
    """The columns of a table of bookings, as indices from 0. Its JSON form stays as it is.

    headings: the row that names the columns, by which a table is recognised as one of the kind. date: of the
    booking. amount: with its sign, or without one beside an `indicator` such as *debit*; or `debit` and
    `credit` apart. payer, payee: of which the other side is the one that is not the account's owner.
    description: joined in this order. account: of the owner. date_order: of dates in figures.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    delimiter: Annotated[str, Field(pattern=r"^[,;\t|]$")]
    headings: tuple[str, ...]
    date: Place
    date_order: DateOrder
    decimal_mark: DecimalMark
    amount: Place | None = None
    debit: Place | None = None
    credit: Place | None = None
    indicator: Place | None = None
    currency: Place | None = None
    counterparty: Place | None = None
    payer: Place | None = None
    payee: Place | None = None
    iban: Place | None = None
    reference: Place | None = None
    description: tuple[Place, ...] = ()
    balance: Place | None = None
    account: Place | None = None

    @model_validator(mode="after")
    def _check_places(self) -> Self:
        places = (
            self.date, self.amount, self.debit, self.credit, self.indicator, self.currency, self.counterparty,
            self.payer, self.payee, self.iban, self.reference, *self.description, self.balance, self.account,
        )  # fmt: skip
        if any(place is not None and place >= len(self.headings) for place in places):
            raise ValueError(
                "a column is meant that is not among the headings; the first one has the number 0"
            )
        if self.amount is None and (self.debit is None or self.credit is None):
            raise ValueError("give the column of the amount, or those of debit and credit")
        return self
