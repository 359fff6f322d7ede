"""The content of a bank statement's file as data, and where the page shows each value."""

from typing import Literal

from pydantic import BaseModel, ConfigDict

from docmill.model.statement_columns import StatementColumns
from docmill.schemas.types import BankStatement

STATEMENT_DATA = "application/vnd.docmill.bank-statement+json"
"""Media type of `StatementData` as a file embedded in a document."""

StatementFormat = Literal["CAMT.053", "CAMT.054", "MT940", "OFX", "CSV", "workbook"]


class HeadRow(BaseModel):
    """A line of the page above the bookings. path: of the statement's field, empty for another value."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    path: str
    label: str
    text: str


class StatementData(BaseModel):
    """A statement as its file states it.

    source: the format of the file. account: the account's number where it is no IBAN. head: the page's
    lines above the bookings; none for a table that has lines of its own there. columns: the field of each
    column of the page's table, empty for other columns. rows: the row of each booking on the page. problems:
    what a person should know, in sentences. mapping: what the columns of a bank's table mean, for the next
    file; null where the file leaves that open.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    source: StatementFormat
    account: str | None = None
    statement: BankStatement
    head: tuple[HeadRow, ...] = ()
    columns: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    problems: tuple[str, ...] = ()
    mapping: StatementColumns | None = None
