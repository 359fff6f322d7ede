"""Bank statements as documents: their text for pages, their data, and the statements of a file as parts."""

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import date
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import NamedTuple

from docmill.errors import TooLargeError
from docmill.model.document import Embedded
from docmill.model.paths import leaves
from docmill.model.statement_columns import StatementColumns
from docmill.reading.files.containers import Member
from docmill.reading.files.file_types import CAMT, CSV, MT940, OFX, TSV
from docmill.reading.files.options import ReadingOptions
from docmill.reading.layout.typeset import Block, HeadingBlock, PageBreak, TableBlock
from docmill.reading.statements import camt, mt940, ofx
from docmill.reading.statements.booking_rows import BookingTable
from docmill.reading.statements.parsed import MAX_BYTES, TOO_LONG, ParsedStatement, chain_statements
from docmill.reading.statements.tables import read_bookings
from docmill.reading.statements.workbooks import read_workbook
from docmill.reading.text import western
from docmill.schemas.statement_data import STATEMENT_DATA, HeadRow, StatementData, StatementFormat
from docmill.schemas.types import BankStatement, Transaction

MEDIA_TYPES = frozenset({CAMT.media_type, MT940.media_type, OFX.media_type})
"""Types of files that hold nothing but statements."""
TABLE_TYPES = frozenset({CSV.media_type, TSV.media_type})
"""Types of files whose table may list the bookings of an account."""
WORKBOOK_TYPES = frozenset({
    "application/vnd.ms-excel",
    "application/vnd.oasis.opendocument.spreadsheet",
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
})  # fmt: skip
"""Types of workbooks, whose sheets may list them."""
_COLUMNS = tuple(Transaction.model_fields)
_TITLES = ("Date", "Amount", "Currency", "Counterparty", "IBAN", "Reference", "Description")
UNREADABLE = "Some characters of the file cannot be read; compare the texts with those of the bank."
NOT_BOOKED = "Entries of the file that are only announced or for information, and are left out: {count}."
_UNREAD = "\ufffd"


class _Content(NamedTuple):
    format: StatementFormat
    statements: list[ParsedStatement]


def read(path: Path, media_type: str) -> list[Block]:
    """Read a file of statements: each on pages of its own, with a table of its bookings.

    Raises CorruptError, TooLargeError.
    """
    blocks: list[Block] = []
    content = _parse(path, media_type)
    for data in (_data_of(content.format, statement) for statement in content.statements):
        blocks.append(HeadingBlock(f"Bank statement ({data.source})"))
        if data.head:
            blocks.append(TableBlock([(row.label, row.text) for row in data.head]))
        if data.rows:
            blocks.append(TableBlock([_TITLES, *data.rows], 1))
        blocks.append(PageBreak())
    return blocks


def embedded_data(path: Path, media_type: str, options: ReadingOptions) -> tuple[Embedded, ...]:
    """The data of the only statement of a file; nothing for several, which are parts, and for other tables.

    Raises CorruptError, TooLargeError.
    """
    if media_type in MEDIA_TYPES:
        content = _parse(path, media_type)
        if len(content.statements) > 1:
            return ()
        data = _data_of(content.format, content.statements[0])
    elif media_type in TABLE_TYPES and path.stat().st_size <= MAX_BYTES:
        text = western.decode(path.read_bytes()).replace("\r\n", "\n").replace("\r", "\n")
        table = read_bookings(text, options.statement_columns)
        if table is None:
            return ()
        data = _data_of_table("CSV", table)
    else:
        return ()
    return (Embedded(path.name, STATEMENT_DATA, data.model_dump_json().encode()),)


def embedded_tables(
    path: Path, media_type: str, blocks: Sequence[Block], options: ReadingOptions
) -> tuple[Embedded, ...]:
    """The data of the bank statement that a workbook is; nothing for any other file. blocks: its content."""
    table = read_workbook(blocks, options.statement_columns) if media_type in WORKBOOK_TYPES else None
    if table is None:
        return ()
    data = _data_of_table("workbook", table).model_dump_json().encode()
    return (Embedded(path.name, STATEMENT_DATA, data),)


def _data_of_table(source: StatementFormat, table: BookingTable) -> StatementData:
    bookings = _data_of(source, table.statement)
    return bookings.model_copy(
        update={
            "head": (),
            "columns": _fields_of_columns(table.columns),
            "rows": table.rows,
            "problems": (*bookings.problems, *table.problems),
            "mapping": table.columns if table.is_proved else None,
        }
    )


@contextmanager
def open_statements(path: Path, options: ReadingOptions, *, media_type: str) -> Generator[Sequence[Member]]:
    """Open the statements of a file as documents of their own; none if there is only one.

    Raises CorruptError, TooLargeError, also for more statements than a document may have parts.
    """
    statements = _parse(path, media_type).statements
    if len(statements) > options.max_parts:
        raise TooLargeError(f"the file has {len(statements)} statements, more than {options.max_parts}")
    ending = {CAMT.media_type: "xml", OFX.media_type: "ofx"}.get(media_type, "sta")
    yield [
        Member(
            f"{_name_of(statement)}.{ending}",
            "section",
            partial(_split, path, media_type, statement.places),
        )
        for statement in (statements if len(statements) > 1 else ())
    ]


def _name_of(statement: ParsedStatement) -> str:
    account = statement.iban or (statement.account or "statement").replace("/", " ")
    return " ".join(filter(None, (account, statement.currency, str(statement.period_end or ""))))


def _split(path: Path, media_type: str, places: tuple[int, ...]) -> bytes:
    split: Mapping[str, Callable[[bytes, Sequence[int]], bytes]] = {
        CAMT.media_type: camt.split,
        MT940.media_type: mt940.split,
        OFX.media_type: ofx.split,
    }
    return split[media_type](path.read_bytes(), places)


def _parse(path: Path, media_type: str) -> _Content:
    if path.stat().st_size > MAX_BYTES:
        raise TooLargeError(TOO_LONG)
    content = path.read_bytes()
    if media_type == CAMT.media_type:
        source, statements = camt.parse(content)
    elif media_type == MT940.media_type:
        source, statements = "MT940", mt940.parse(content)
    else:
        source, statements = "OFX", ofx.parse(content)
    return _Content(source, chain_statements(statements))


def _data_of(source: StatementFormat, statement: ParsedStatement) -> StatementData:
    values = BankStatement(
        iban=statement.iban,
        currency=statement.currency,
        period_start=statement.period_start,
        period_end=statement.period_end,
        opening_balance=statement.opening,
        closing_balance=statement.closing,
        transactions=statement.transactions,
    )
    return StatementData(
        source=source,
        account=statement.account,
        statement=values,
        head=tuple(_head(values, statement.account)),
        columns=_COLUMNS,
        rows=tuple(
            tuple(_shown(getattr(booking, name)) for name in _COLUMNS) for booking in statement.transactions
        ),
        problems=tuple(_problems(statement, values)),
    )


def _problems(statement: ParsedStatement, values: BankStatement) -> Iterator[str]:
    if any(_UNREAD in str(value) for _, value in leaves(values)):
        yield UNREADABLE
    if statement.not_booked:
        yield NOT_BOOKED.format(count=statement.not_booked)


def _head(values: BankStatement, account: str | None) -> Iterator[HeadRow]:
    for path, label in (
        ("iban", "IBAN"),
        ("currency", "Currency"),
        ("period_start", "From"),
        ("period_end", "To"),
        ("opening_balance", "Opening balance"),
        ("closing_balance", "Closing balance"),
    ):
        value = getattr(values, path)
        if value is not None:
            yield HeadRow(path=path, label=label, text=_shown(value))
        elif path == "iban" and account:
            yield HeadRow(path="", label="Account", text=account)


def _shown(value: str | date | Decimal | None) -> str:
    """A value as the page shows it."""
    return f"{value:f}" if isinstance(value, Decimal) else str(value) if value is not None else ""


def _fields_of_columns(columns: StatementColumns) -> tuple[str, ...]:
    """The field of a booking that each column of a table has a part of; empty for other columns."""
    places: dict[str, tuple[int | None, ...]] = {
        "date": (columns.date,),
        "amount": (columns.amount, columns.debit, columns.credit),
        "currency": (columns.currency,),
        "counterparty": (columns.counterparty, columns.payer, columns.payee),
        "iban": (columns.iban,),
        "reference": (columns.reference,),
        "description": columns.description,
    }
    by_place = {place: name for name, each in places.items() for place in each if place is not None}
    return tuple(by_place.get(place, "") for place in range(len(columns.headings)))
