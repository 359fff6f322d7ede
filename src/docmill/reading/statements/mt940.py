"""MT940: statements as SWIFT sends them and as banks offer them for download.

Sources: SWIFT standards MT940; Deutsche Kreditwirtschaft, Anlage 3 des DFÜ-Abkommens, chapter 8.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from typing import NamedTuple

from docmill.reading.statements.mt940_details import Details, read_details
from docmill.reading.statements.parsed import (
    ParsedStatement,
    check_count,
    choose_reference,
    damaged,
    decode_statement,
    exact_amount,
    find_iban,
    one_line,
    text_with_return,
)
from docmill.schemas.types import Transaction

_TAG = re.compile(r"^:(\d{2}[A-Z]?):", re.MULTILINE)
_END = re.compile(r"^-\}?[ \t]*$", re.MULTILINE)
_TRAILER = re.compile(r"^-\}?\s*\{", re.MULTILINE)
"""The end of a message before the blocks of SWIFT that follow it."""
_BALANCE = re.compile(r"([CD])(\d{6})([A-Z]{3})([\d.,]+)\s*\Z")
_ENTRY = re.compile(
    r"(?P<value>\d{6})(?P<entry>\d{4}|\s{4})?(?P<mark>R?[CD])(?P<funds>[A-Z])?\s?(?P<amount>\d[\d]*[.,]?\d*)"
    r"(?P<type>[A-Z][A-Z0-9 ]{3})?(?P<rest>[^\n]*)(?:\n(?P<more>[\s\S]*))?\Z"
)
_RETURNED_ITEM = "RTI"
"""The type of a transaction that returns an earlier one."""
_LAST_CENTURY = 80
"""Two digits from here on are of the last century, as SWIFT has it."""
_ACCOUNT_CURRENCY = re.compile(r"(?<=\d)\s*([A-Z]{3})\Z")


class _Field(NamedTuple):
    tag: str
    text: str


@dataclass(slots=True)
class _Lines:
    """An entry being collected: the line of tag 61 and the information of tag 86 that follows it."""

    entry: str
    details: list[str] = field(default_factory=list[str])


def parse(content: bytes) -> list[ParsedStatement]:
    """The statements of a file. Raises CorruptError, TooLargeError."""
    blocks = _blocks(_text_of(content))
    check_count(max(len(blocks), sum(block.count("\n:61:") for block in blocks)))
    if not blocks:
        raise damaged("it has no statement")
    return [_statement(list(_fields(block)), index) for index, block in enumerate(blocks)]


def split(content: bytes, places: Sequence[int]) -> bytes:
    """The file with those of its statements that stand at these places, from 0, in UTF-8."""
    blocks = _blocks(_text_of(content))
    return "".join(blocks[place].rstrip("\n-} ") + "\n-\n" for place in places).encode()


def _text_of(content: bytes) -> str:
    return decode_statement(content).replace("\r\n", "\n").replace("\r", "\n")


def _blocks(text: str) -> list[str]:
    """The text of each statement: from its tag 20 to the next one, or to the end of the message."""
    return [_message(block) for block in re.split(r"^(?=:20:)", text, flags=re.MULTILINE)[1:]]


def _message(block: str) -> str:
    """The block without what follows its message. A line that is only a hyphen may be of a text."""
    block = _TRAILER.split(block, maxsplit=1)[0]
    *_, last = _TAG.finditer(block)
    end = _END.search(block, last.end())
    return block[: end.start()] if end else block


def _fields(block: str) -> Iterator[_Field]:
    starts = list(_TAG.finditer(block))
    ends = [start.start() for start in starts[1:]] + [len(block)]
    for start, end in zip(starts, ends, strict=True):
        yield _Field(start[1], block[start.end() : end].strip("\n"))


def _statement(fields: Sequence[_Field], index: int) -> ParsedStatement:
    account = next((text for tag, text in fields if tag.startswith("25")), "")
    entries: list[_Lines] = []
    opening = closing = None
    is_open = False
    for tag, text in fields:
        if tag == "61":
            entries.append(_Lines(text))
            is_open = True
        elif tag == "86" and is_open:
            entries[-1].details.append(text)
        elif tag in ("60F", "60M", "60"):
            opening = opening or _balance(text)
        elif tag in ("62F", "62M", "62"):
            closing = _balance(text)
            is_open = False  # what follows is about the account
    if closing is None:
        raise damaged("a statement has no closing balance")
    iban = find_iban(re.sub(r"[/\s]", " ", account))
    currency = (opening or closing).currency
    named = _ACCOUNT_CURRENCY.search(account)
    plain = one_line(account[: named.start()] if named else account)
    return ParsedStatement(
        (index,),
        iban=iban,
        account=None if iban else plain,
        currency=currency,
        period_start=opening.day if opening else None,
        period_end=closing.day,
        opening=opening.amount if opening else None,
        closing=closing.amount,
        transactions=tuple(_transaction(lines, currency) for lines in entries),
    )


class _Balance(NamedTuple):
    amount: Decimal
    currency: str
    day: date


def _balance(text: str) -> _Balance:
    match = _BALANCE.match(text)
    if match is None:
        raise damaged("a balance has another form than tag 60 or 62")
    amount = exact_amount(match[4], "a balance")
    return _Balance(amount if match[1] == "C" else -amount, match[3], _day(match[2]))


def _transaction(lines: _Lines, currency: str | None) -> Transaction:
    match = _ENTRY.match(lines.entry)
    if match is None:
        raise damaged("an entry has another form than tag 61")
    amount = exact_amount(match["amount"], "the amount of an entry")
    value = _day(match["value"])
    entry = (match["entry"] or "").strip()
    reference, _, _ = match["rest"].partition("//")
    details = read_details("\n".join(lines.details)) if lines.details else Details()
    description = details.text or one_line(match["more"])
    if (match["type"] or "")[1:] == _RETURNED_ITEM and "RETURN" not in (description or ""):
        description = text_with_return(description)
    return Transaction(
        date=_entry_day(value, entry) if entry else value,
        # RC takes back a credit and RD a debit (SWIFT, field 61, subfield 3).
        amount=amount if match["mark"] in ("C", "RD") else -amount,
        currency=currency,
        counterparty=details.name,
        iban=details.iban or find_iban(match["more"]),
        reference=choose_reference(*details.references, reference),
        description=description,
    )


def _entry_day(value: date, entry: str) -> date:
    """The day of an entry, whose year is the one that brings it nearest to the day of its value."""
    month, day = int(entry[:2]), int(entry[2:])
    days: list[date] = []
    for year in (value.year - 1, value.year, value.year + 1):
        try:
            days.append(date(year, month, day))
        except ValueError:  # the 29th of February
            continue
    if not days:
        raise damaged("a date is none")
    return min(days, key=lambda each: abs((each - value).days))


def _day(text: str) -> date:
    year, month, day = int(text[:2]), int(text[2:4]), int(text[4:6])
    try:
        return date(year + (1900 if year >= _LAST_CENTURY else 2000), month, day)
    except ValueError as error:
        raise damaged("a date is none") from error
