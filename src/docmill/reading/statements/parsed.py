"""Statements read from a file of a bank, and what the readers of all formats share."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal
from functools import lru_cache

from stdnum import iban

from docmill.errors import CorruptError, TooLargeError
from docmill.reading.text import encodings, western
from docmill.schemas.types import Transaction

MAX_BYTES = 30_000_000
MAX_BOOKINGS = 20_000
"""More bookings of one file than a year of a busy account has; a child would run out of time."""
DAMAGED = "the bank statement is damaged ({reason}); download it again from the bank"
TOO_LONG = (
    f"the file has more than {MAX_BOOKINGS:,} bookings; download shorter periods from the bank, one by one"
)
NO_REFERENCES = frozenset({
    "", "NONREF", "NOTPROVIDED", "NOTPROVIDE", "NOT PROVIDED", "NONE", "EREF", "KREF", "PREF", "MARF",
})  # fmt: skip
"""What programs write where a payment has no reference of its own, or has it elsewhere."""
RETURNED = "RETURNED PAYMENT"
"""What is added to the text of a booking that returns an earlier one, if only a code of the bank says so."""
_CREDITOR_REFERENCE = re.compile(r"RF\d{2}[A-Z0-9]{1,21}")
_IBAN = re.compile(r"(?<![A-Z0-9])[A-Z]{2}\d{2}(?: ?[A-Z0-9]){11,30}(?![A-Z0-9])")
_AMOUNT = re.compile(r"\d{1,20}(?:[.,]\d{0,6})?|[.,]\d{1,6}")


@dataclass(frozen=True, slots=True)
class ParsedStatement:
    """A statement of one account.

    account: its number where it is no IBAN. places: the indices of the statements of the file that it is made
    of, from 0. not_booked: how many entries were left out, since they are announced or for information.
    """

    places: tuple[int, ...]
    iban: str | None = None
    account: str | None = None
    currency: str | None = None
    period_start: date | None = None
    period_end: date | None = None
    opening: Decimal | None = None
    closing: Decimal | None = None
    transactions: tuple[Transaction, ...] = ()
    not_booked: int = 0


def damaged(reason: str) -> CorruptError:
    """Error for a file that breaks the rules of its format. reason: without a text of the file."""
    return CorruptError(DAMAGED.format(reason=reason))


def decode_statement(content: bytes, declared: str | None = None) -> str:
    """The text of a file. Raises CorruptError for one with zero bytes, which no text has."""
    if b"\0" in content and not encodings.is_wide(content):
        raise damaged("it has zero bytes")
    return western.decode(content, declared)


def check_count(count: int) -> None:
    """Raise TooLargeError for more bookings than are read of one file."""
    if count > MAX_BOOKINGS:
        raise TooLargeError(TOO_LONG)


def day_of(match: re.Match[str] | None) -> date | None:
    """The day whose year, month and day are the groups of a match; None without one. Raises CorruptError."""
    if match is None:
        return None
    try:
        return date(*map(int, match.groups()))
    except ValueError as error:
        raise damaged("a date is none") from error


def exact_amount(text: str | None, what: str) -> Decimal:
    """An amount without a sign and without marks between thousands. Raises CorruptError."""
    written = (text or "").strip()
    if not _AMOUNT.fullmatch(written):
        raise damaged(f"{what} is no number")
    return Decimal(written.replace(",", ".").rstrip("."))


@lru_cache(maxsize=4096)
def find_iban(text: str | None) -> str | None:
    """The first valid IBAN of a text, without spaces."""
    for match in _IBAN.finditer((text or "").upper()):
        compact = match[0].replace(" ", "")
        for end in range(len(compact), 14, -1):  # a currency or a word may follow it
            if iban.is_valid(compact[:end]):
                return compact[:end]
    return None


def choose_reference(*candidates: str | None) -> str | None:
    """The first reference that is one."""
    for candidate in candidates:
        text = one_line(candidate)
        if text is not None and text.upper().rstrip("+") not in NO_REFERENCES:
            return text
    return None


def is_creditor_reference(text: str) -> bool:
    """True for the form of an ISO 11649 reference."""
    return _CREDITOR_REFERENCE.fullmatch(re.sub(r"\s", "", text).upper()) is not None


def text_with_return(text: str | None, *reason: str | None) -> str | None:
    """The text of a booking that returns an earlier one. reason: the code of why, then words, if known."""
    told = [each for part in reason if (each := one_line(part))]
    return one_line(" ".join([text or "", *([f"RETURN/{told[0]}", *told[1:]] if told else [RETURNED])]))


def one_line(text: str | None) -> str | None:
    """A text with single spaces; None for one without a word."""
    return re.sub(r"\s+", " ", text or "").strip() or None


def chain_statements(statements: Iterable[ParsedStatement]) -> list[ParsedStatement]:
    """Join the statements of one account that follow each other: daily ones, and the pages of one.

    Two are joined if the earlier one's closing balance is the later one's opening balance, or if neither
    has balances, as in notifications.
    """
    by_account: dict[tuple[str | None, str | None, str | None], list[ParsedStatement]] = {}
    for statement in statements:
        key = (statement.iban, statement.account, statement.currency)
        by_account.setdefault(key, []).append(statement)
    chained: list[ParsedStatement] = []
    for group in by_account.values():
        ordered = _in_order(group)
        chained.append(ordered[0])
        for statement in ordered[1:]:
            if chained[-1].closing == statement.opening and _have_balances_alike(chained[-1], statement):
                chained[-1] = _join(chained[-1], statement)
            else:
                chained.append(statement)
    return chained


def _in_order(statements: Sequence[ParsedStatement]) -> list[ParsedStatement]:
    """The statements from the earliest to the latest, by their periods; those of a day as in the file."""
    days = [statement.period_start or statement.period_end for statement in statements]
    if None in days:
        return list(statements)
    return sorted(statements, key=lambda each: str(each.period_start or each.period_end))


def _have_balances_alike(earlier: ParsedStatement, later: ParsedStatement) -> bool:
    balances = (earlier.opening, earlier.closing, later.opening, later.closing)
    return None not in balances or set(balances) == {None}


def _join(earlier: ParsedStatement, later: ParsedStatement) -> ParsedStatement:
    ends = [day for day in (earlier.period_end, later.period_end) if day is not None]
    return replace(
        earlier,
        places=(*earlier.places, *later.places),
        period_end=max(ends, default=None),
        closing=later.closing,
        transactions=(*earlier.transactions, *later.transactions),
        not_booked=earlier.not_booked + later.not_booked,
    )
