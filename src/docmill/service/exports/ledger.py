"""A general ledger as CSV: a line for each account that a bill moves; debit and credit are equal."""

import csv
import io
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from decimal import Decimal

from docmill.errors import ValidationError
from docmill.model.cells import csv_text
from docmill.service.config.bookkeeping import Bookkeeping
from docmill.service.exports.bookings import Bill, BookingReport, LeftOut

COLUMNS = (
    "date",
    "document_id",
    "number",
    "party",
    "account",
    "debit",
    "credit",
    "currency",
    "tax_rate",
    "due_date",
    "text",
    "file_name",
)

_ZERO = Decimal(0)


async def ledger_file(
    batches: AsyncIterator[list[Bill]], bookkeeping: Bookkeeping, report: BookingReport
) -> AsyncGenerator[bytes]:
    """The file in pieces. report: is told of bills for whose tax there is no account."""
    buffer = io.StringIO(newline="")
    writer = csv.writer(buffer)
    buffer.write("\ufeff")
    writer.writerow(COLUMNS)
    async for bills in batches:
        for bill in bills:
            try:
                writer.writerows(list(_rows(bill, bookkeeping)))
            except ValidationError as error:
                report.booked_count -= 1
                report.left_out.append(LeftOut(bill.document_id, bill.file_name, error.message))
        yield buffer.getvalue().encode("utf-8", "replace")
        buffer.seek(0)
        buffer.truncate()
    yield buffer.getvalue().encode()


def _rows(bill: Bill, bookkeeping: Bookkeeping) -> Iterator[list[str]]:
    side = -1 if bill.is_outgoing else 1
    for share in bill.shares:
        rate = f"{share.rate.normalize():f}"
        yield _row(bill, bill.result_account, side * share.net, rate)
        if not share.tax:
            continue
        account = bookkeeping.tax_account(share.rate, is_outgoing=bill.is_outgoing)
        if account is None:
            setting = "output_tax_accounts" if bill.is_outgoing else "input_tax_accounts"
            raise ValidationError(f"there is no account for tax of {rate} %: set bookkeeping.{setting}")
        yield _row(bill, account, side * share.tax, rate)
    yield _row(bill, bill.party_account, -side * sum((share.gross for share in bill.shares), _ZERO), "")


def _row(bill: Bill, account: int, amount: Decimal, rate: str) -> list[str]:
    """A line; a positive amount is a debit."""
    return [
        bill.issued_on.isoformat(),
        str(bill.document_id),
        csv_text(bill.number),
        csv_text(bill.party),
        str(account),
        f"{amount:.2f}" if amount > 0 else "",
        f"{-amount:.2f}" if amount < 0 else "",
        bill.currency,
        rate,
        bill.due_on.isoformat() if bill.due_on else "",
        csv_text(bill.text),
        csv_text(bill.file_name),
    ]
