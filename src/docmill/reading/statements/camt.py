"""CAMT.053 (statements) and CAMT.054 (notifications) of ISO 20022, in versions 2 to 12.

Elements are found by their local names: the versions differ in namespaces and in a few levels of nesting.
Source: ISO 20022 message definition reports "Bank-to-Customer Cash Management"; Swiss and German guidelines.
"""

import re
from collections.abc import Iterator, Sequence
from copy import deepcopy
from dataclasses import replace
from datetime import date
from decimal import Decimal

from lxml import etree
from lxml.etree import _Element  # pyright: ignore[reportPrivateUsage] - the only name it has

from docmill.reading.statements.parsed import (
    ParsedStatement,
    check_count,
    choose_reference,
    damaged,
    day_of,
    exact_amount,
    find_iban,
    one_line,
    text_with_return,
)
from docmill.schemas.statement_data import StatementFormat
from docmill.schemas.types import Transaction

_CONTAINERS = {"BkToCstmrStmt": "Stmt", "BkToCstmrDbtCdtNtfctn": "Ntfctn"}
_DAY = re.compile(r"(\d{4})-(\d{2})-(\d{2})")
_RETURNS = frozenset({"UPDD", "RRTN"})
"""Subfamilies of bank transactions: an unpaid direct debit, and a credit transfer that was returned."""
_OPENING, _CLOSING, _INTERIM = ("OPBD", "PRCD"), ("CLBD",), ("ITBD",)

Element = _Element


def parse(content: bytes) -> tuple[StatementFormat, list[ParsedStatement]]:
    """The statements of a file, and the format of its first message. Raises CorruptError, TooLargeError."""
    elements = _statements(_parse_xml(content))
    check_count(max(len(elements), sum(1 for element in elements for _ in _children(element, "Ntry"))))
    statements = [_statement(element, index) for index, element in enumerate(elements)]
    return ("CAMT.053" if _local(elements[0]) == "Stmt" else "CAMT.054"), statements


def split(content: bytes, places: Sequence[int]) -> bytes:
    """The message with those of its statements that stand at these places, from 0. Raises CorruptError."""
    root = deepcopy(_parse_xml(content))
    for index, element in enumerate(_statements(root)):
        parent = element.getparent()
        if index not in places and parent is not None:
            parent.remove(element)
    return etree.tostring(root, xml_declaration=True, encoding="UTF-8")


def _parse_xml(content: bytes) -> Element:
    parser = etree.XMLParser(
        resolve_entities=False, no_network=True, remove_comments=True, remove_pis=True, huge_tree=False
    )
    try:
        root = etree.fromstring(content.lstrip(b"\xef\xbb\xbf \t\r\n"), parser)
    except (etree.XMLSyntaxError, ValueError, LookupError) as error:
        raise damaged("it is no XML") from error
    if root.getroottree().docinfo.internalDTD is not None:
        raise damaged("it declares a document type, which no statement may")
    return root


def _statements(root: Element) -> list[Element]:
    """The statements and notifications of all messages of a file. Envelopes may be around them."""
    statements = [
        statement
        for element in root.iter()
        if (name := _CONTAINERS.get(_local(element))) is not None
        for statement in _children(element, name)
    ]
    if not statements:
        raise damaged("it has no statement")
    return statements


def _statement(element: Element, index: int) -> ParsedStatement:
    account = _text(element, "Acct", "Id", "IBAN")
    other = _text(element, "Acct", "Id", "Othr", "Id")
    own_iban = find_iban(account) or find_iban(other)
    stated = list(_children(element, "Ntry"))
    entries = [entry for entry in stated if _is_booked(entry)]
    start = _day(_text(element, "FrToDt", "FrDtTm")) or _day(_text(element, "FrToDt", "FrDt"))
    end = _day(_text(element, "FrToDt", "ToDtTm")) or _day(_text(element, "FrToDt", "ToDt"))
    opening, opened = _balance(element, _OPENING, _INTERIM, at=0)
    closing, closed = _balance(element, _CLOSING, _INTERIM, at=-1)
    currencies = [_child(balance, "Amt") for balance in _children(element, "Bal")]
    currencies += [_child(entry, "Amt") for entry in entries]
    named = (amount.get("Ccy") for amount in currencies if amount is not None)
    statement = ParsedStatement(
        (index,),
        iban=own_iban,
        account=None if own_iban else account or other,
        currency=_text(element, "Acct", "Ccy") or next(filter(None, named), None),
        period_start=start or opened,
        period_end=end or closed,
        opening=opening,
        closing=closing,
        not_booked=len(stated) - len(entries),
    )
    turned = [entry for entry in entries if _is_true(_text(entry, "RvslInd"))]
    booked = _bookings(entries, own_iban)
    if turned and opening is not None and closing is not None and opening + _sum(booked) != closing:
        # Some banks give the direction of what is reversed. The balances tell who does.
        other_way = _bookings(entries, own_iban, turned=turned)
        booked = other_way if opening + _sum(other_way) == closing else booked
    return replace(statement, transactions=tuple(booked))


def _sum(transactions: Sequence[Transaction]) -> Decimal:
    return sum((booking.amount or Decimal(0) for booking in transactions), Decimal(0))


def _bookings(
    entries: Sequence[Element], own_iban: str | None, *, turned: Sequence[Element] = ()
) -> list[Transaction]:
    """The transactions of all entries. turned: those whose sign is the opposite of what they state."""
    booked: list[Transaction] = []
    for entry in entries:
        sign = -1 if entry in turned else 1
        booked += (
            transaction
            if sign == 1
            else transaction.model_copy(update={"amount": -(transaction.amount or Decimal(0))})
            for transaction in _transactions(entry, own_iban)
        )
    return booked


def _balance(
    element: Element, types: Sequence[str], others: Sequence[str], *, at: int
) -> tuple[Decimal | None, date | None]:
    """The balance of the first type that is there, and its day; of several of one type that at index `at`."""
    for code in (*types, *others):
        balances = [
            balance
            for balance in _children(element, "Bal")
            if _text(balance, "Tp", "CdOrPrtry", "Cd") == code or _text(balance, "Tp", "Cd") == code
        ]
        if balances:
            amount = _signed(balances[at], exact_amount(_text(balances[at], "Amt"), "a balance"))
            day = _day(_text(balances[at], "Dt", "Dt")) or _day(_text(balances[at], "Dt", "DtTm"))
            return amount, None if code == "PRCD" else day  # that is the day before
    return None, None


def _is_booked(entry: Element) -> bool:
    """True unless the entry is pending or for information: `Sts` is a code itself up to version 7."""
    return (_text(entry, "Sts", "Cd") or _text(entry, "Sts") or "BOOK") == "BOOK"


def _transactions(entry: Element, own_iban: str | None) -> Iterator[Transaction]:
    """The transactions of an entry: those of its details if they are its amount together, else one."""
    stated = _child(entry, "Amt")
    currency = stated.get("Ccy") if stated is not None else None
    total = _signed(entry, exact_amount(_text(entry, "Amt"), "the amount of an entry"))
    day = _first_day(entry, "BookgDt") or _first_day(entry, "ValDt")
    details = [part for group in _children(entry, "NtryDtls") for part in _children(group, "TxDtls")]
    amounts = [_detail_amount(entry, part, currency) for part in details]
    is_complete = len(details) > 1 and None not in amounts
    if is_complete and sum((amount for amount in amounts if amount is not None), Decimal(0)) == total:
        for part, amount in zip(details, amounts, strict=True):
            yield _transaction(entry, part, day, amount, currency, own_iban)
        return
    part = details[0] if len(details) == 1 else entry
    yield _transaction(entry, part, day, total, currency, own_iban)


def _detail_amount(entry: Element, part: Element, currency: str | None) -> Decimal | None:
    """The amount of a part of an entry in the entry's currency; None if it states none in that currency."""
    for path in (("Amt",), ("AmtDtls", "TxAmt", "Amt"), ("AmtDtls", "InstdAmt", "Amt")):
        amount = _child(part, *path)
        if amount is not None and amount.get("Ccy", currency) == currency:
            owner = part if _text(part, "CdtDbtInd") else entry
            return _signed(owner, exact_amount(amount.text, "the amount of a detail"))
    return None


def _transaction(
    entry: Element,
    part: Element,
    day: date | None,
    amount: Decimal | None,
    currency: str | None,
    own_iban: str | None,
) -> Transaction:
    is_credit = (amount or 0) >= 0
    is_return = _is_return(entry, part)
    if is_return or _is_true(_text(entry, "RvslInd")):  # its parties are those of what is reversed
        is_credit = not is_credit
    name, account = _other_side(part, own_iban, roles=("Dbtr", "Cdtr") if is_credit else ("Cdtr", "Dbtr"))
    remittance = _child(part, "RmtInf")
    structured = [] if remittance is None else list(_children(remittance, "Strd"))
    free = [] if remittance is None else [child.text or "" for child in _children(remittance, "Ustrd")]
    free += [text.text or "" for each in structured for text in _children(each, "AddtlRmtInf")]
    description = one_line(" ".join(free)) or one_line(_text(part, "AddtlTxInf"))
    description = description or one_line(_text(entry, "AddtlNtryInf"))
    if is_return:
        description = text_with_return(description, *_return_reason(part))
    return Transaction(
        date=day,
        amount=amount,
        currency=currency,
        counterparty=one_line(name),
        iban=account,
        reference=choose_reference(
            *(_text(each, "CdtrRefInf", "Ref") for each in structured),
            *(_text(each, "RfrdDocInf", "Nb") for each in structured),
            _text(part, "Refs", "EndToEndId"),
        ),
        description=description,
    )


def _is_return(entry: Element, part: Element) -> bool:
    """True if a transaction returns an earlier one, as a bank does with a direct debit that is not paid."""
    families = (_text(each, "BkTxCd", "Domn", "Fmly", "SubFmlyCd") for each in (entry, part))
    return _child(part, "RtrInf") is not None or not _RETURNS.isdisjoint(families)


def _return_reason(part: Element) -> Iterator[str | None]:
    """The code of the reason for a return, then its words."""
    information = _child(part, "RtrInf")
    yield _text(information, "Rsn", "Cd") or _text(information, "Rsn", "Prtry")
    for text in _children(information, "AddtlInf") if information is not None else ():
        yield text.text


def _other_side(
    part: Element, own_iban: str | None, *, roles: tuple[str, str]
) -> tuple[str | None, str | None]:
    """Name and IBAN of the counterparty. roles: the more likely first."""
    parties = _child(part, "RltdPties")
    for role in roles if parties is not None else ():
        name = next(
            filter(
                None,
                (
                    _text(parties, holder, *path)
                    for holder in (role, f"Ultmt{role}")
                    for path in (("Nm",), ("Pty", "Nm"))
                ),
            ),
            None,
        )
        account = _text(parties, f"{role}Acct", "Id", "IBAN") or _text(
            parties, f"{role}Acct", "Id", "Othr", "Id"
        )
        iban = find_iban(account)
        if (name or iban) and (iban is None or iban != own_iban):
            return name, iban
    return None, None


def _signed(element: Element, amount: Decimal) -> Decimal:
    """The amount, negative for a debit. Raises CorruptError."""
    indicator = _text(element, "CdtDbtInd")
    if indicator not in ("CRDT", "DBIT"):
        raise damaged("an amount is neither credit nor debit")
    return amount if indicator == "CRDT" else -amount


def _first_day(entry: Element, name: str) -> date | None:
    return _day(_text(entry, name, "Dt")) or _day(_text(entry, name, "DtTm"))


def _day(text: str | None) -> date | None:
    return day_of(_DAY.match(text or ""))


def _is_true(text: str | None) -> bool:
    return text in ("true", "1")


def _local(element: Element) -> str:
    tag = element.tag
    return tag.rpartition("}")[2] if isinstance(tag, str) else ""  # pyright: ignore[reportUnnecessaryIsInstance] - an entity's tag is a function


def _children(element: Element, name: str) -> Iterator[Element]:
    return element.iterchildren(f"{{*}}{name}")


def _child(element: Element | None, *names: str) -> Element | None:
    for name in names:
        if element is None:
            return None
        element = next(_children(element, name), None)
    return element


def _text(element: Element | None, *names: str) -> str | None:
    found = _child(element, *names)
    return (found.text or "").strip() or None if found is not None else None
