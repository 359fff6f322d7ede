"""Bookings of bills: who owes whom, by which accounts, with which tax; or why a document is not booked."""

from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from decimal import Decimal
from typing import Any
from uuid import UUID

from docmill.errors import ValidationError
from docmill.service.config.bookkeeping import Bookkeeping
from docmill.service.exports.tables import Progress, document_batches, nothing
from docmill.service.exports.tax import TaxShare, number_of, tax_shares
from docmill.service.store import near_duplicates, parts
from docmill.service.store.database import Database
from docmill.service.store.document_list import DocumentFilters
from docmill.service.store.documents import DocumentRow

_TILL_TYPES = frozenset({"receipt", "ticket"})
_BOOKED_TYPES = _TILL_TYPES | {"invoice", "credit_note"}
_CASH = "10"
DUPLICATE = "it is a duplicate of another document"
COPY = "it is attached to the same bill, which counts in its place"
_MOST = Decimal("9999999999.99")
"""The largest amount that the formats take."""


@dataclass(frozen=True, slots=True)
class Period:
    """The days whose bills are booked, both included; None for no limit."""

    first: date | None = None
    last: date | None = None

    def __contains__(self, day: date) -> bool:
        return (self.first is None or self.first <= day) and (self.last is None or day <= self.last)


@dataclass(frozen=True, slots=True)
class Bill:
    """A document as bookkeeping sees it.

    party: whose account is the counterpart: the seller, or the buyer of one's own invoice. party_account: of
    the party, or of cash. result_account: expense or revenue. is_reduced: if it has no VAT because the buyer
    owes it, that is at the reduced rate. shares: what is booked, negative for a refund.
    """

    document_id: UUID
    file_name: str
    issued_on: date
    due_on: date | None
    number: str
    party: str
    currency: str
    is_outgoing: bool
    party_account: int
    result_account: int
    party_vat_id: str
    is_reduced: bool
    shares: tuple[TaxShare, ...]

    @property
    def text(self) -> str:
        """The text of the booking."""
        return " ".join(part for part in (self.party, self.number) if part) or self.file_name


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A document that is not booked, and why."""

    document_id: UUID
    file_name: str
    reason: str


@dataclass(slots=True)
class BookingReport:
    """The outcome for the selected documents. outside_count: of those that are dated outside the period.

    booked: the documents in a file for DATEV.
    """

    booked_count: int = 0
    outside_count: int = 0
    left_out: list[LeftOut] = field(default_factory=list[LeftOut])
    booked: list[UUID] = field(default_factory=list[UUID])


class NotBookableError(ValidationError):
    """The document is not booked."""


@dataclass(frozen=True, slots=True)
class BookingRules:
    """The rules by which documents are booked. is_every_state: also documents that are not ready."""

    bookkeeping: Bookkeeping
    period: Period = Period()
    is_every_state: bool = False


async def bill_batches(
    database: Database,
    selection: DocumentFilters,
    rules: BookingRules,
    report: BookingReport,
    *,
    tenant_id: UUID,
    progress: Progress = nothing,
) -> AsyncGenerator[list[Bill]]:
    """The bills of the selected documents, in batches. report: is told of every document."""
    async for rows in document_batches(database, selection, tenant_id=tenant_id):
        async with database.tenant(tenant_id) as conn:
            ids = [row.id for row in rows]
            duplicates = await near_duplicates.known_duplicates(conn, ids)
            wholes = await parts.wholes_with_values(conn, ids)
        copies = {row.id for row in rows if _is_copy(row, wholes.get(row.id, []))}
        yield list(
            _bills(rows, rules, report, dict.fromkeys(copies, COPY) | dict.fromkeys(duplicates, DUPLICATE))
        )
        progress(len(rows))


def _is_copy(row: DocumentRow, wholes: Sequence[Mapping[str, Any]]) -> bool:
    """True for a bill that is attached to the same bill, as the readable form of an e-invoice is."""
    bill = _identity(row.structured_data or {})
    return bill is not None and any(_identity(whole) == bill for whole in wholes)


def _identity(data: Mapping[str, Any]) -> tuple[str, Decimal] | None:
    """The number and total of a bill; None if one of them is not known."""
    number, gross = _key(str(data.get("number") or "")), number_of(data.get("gross_total"))
    return (number, gross) if number and gross is not None else None


def _bills(
    rows: Sequence[DocumentRow], rules: BookingRules, report: BookingReport, left_out: Mapping[UUID, str]
) -> Iterator[Bill]:
    for row in rows:
        if row.id in left_out:
            report.left_out.append(LeftOut(row.id, row.file_name, left_out[row.id]))
            continue
        try:
            bill = bill_of(row, rules)
        except NotBookableError as error:
            report.left_out.append(LeftOut(row.id, row.file_name, error.message))
            continue
        if bill.issued_on not in rules.period:
            report.outside_count += 1
            continue
        report.booked_count += 1
        yield bill


def bill_of(row: DocumentRow, rules: BookingRules) -> Bill:
    """A document as a bill. Raises NotBookableError with the reason if it is none, or lacks something."""
    if row.document_type not in _BOOKED_TYPES:
        kind = (row.document_type or "document without a type").replace("_", " ")
        raise NotBookableError(f"it is no bill but: {kind}")
    if not rules.is_every_state and row.outcome != "ready":
        raise NotBookableError(f"it is not ready: {row.outcome.replace('_', ' ')}")
    data: Mapping[str, Any] = row.structured_data or {}
    issued_on = _date_of(data.get("issue_date"))
    currency = data.get("currency") or rules.bookkeeping.currency
    if issued_on is None:
        raise NotBookableError("its date is not known")
    if not currency:
        raise NotBookableError("its currency is not known: correct it, or set bookkeeping.currency")
    gross = number_of(data.get("gross_total"))
    if not gross:
        raise NotBookableError("its total is not known" if gross is None else "its total is 0")
    if abs(gross) > _MOST:
        raise NotBookableError("its total is too large")
    shares = tax_shares(data, rules.bookkeeping.rates)
    if shares is None:
        raise NotBookableError("its tax rates are not known, or its amounts do not add up by them")
    sign = -1 if row.document_type == "credit_note" and gross > 0 else 1
    is_outgoing = _is_outgoing(data, rules.bookkeeping)
    party: Mapping[str, Any] = data.get("buyer" if is_outgoing else "seller") or {}
    return Bill(
        document_id=row.id,
        file_name=row.file_name,
        issued_on=issued_on,
        due_on=_date_of(data.get("due_date")),
        number=str(data.get("number") or ""),
        party=str(party.get("name") or ""),
        currency=str(currency),
        is_outgoing=is_outgoing,
        party_account=_party_account(row, data, party, rules.bookkeeping, is_outgoing=is_outgoing),
        result_account=rules.bookkeeping.account("revenue")
        if is_outgoing
        else _chosen(rules.bookkeeping.expenses, party) or rules.bookkeeping.account("expense"),
        party_vat_id="".join(str(party.get("vat_id") or "").split()),
        is_reduced=_is_one_of(rules.bookkeeping.reduced_sellers, party),
        shares=tuple(replace(share, net=sign * share.net, tax=sign * share.tax) for share in shares),
    )


def _party_account(
    row: DocumentRow,
    data: Mapping[str, Any],
    party: Mapping[str, Any],
    bookkeeping: Bookkeeping,
    *,
    is_outgoing: bool,
) -> int:
    chosen = _chosen(bookkeeping.debtors if is_outgoing else bookkeeping.creditors, party)
    if chosen is not None:
        return chosen
    if row.document_type in _TILL_TYPES and not is_outgoing:
        payment: Mapping[str, Any] = data.get("payment") or {}
        method = payment.get("method")
        return bookkeeping.account("cash" if method in (None, _CASH) else "transit")
    return bookkeeping.any_debtor if is_outgoing else bookkeeping.any_creditor


def _is_outgoing(data: Mapping[str, Any], bookkeeping: Bookkeeping) -> bool:
    """True for one's own bill: its seller has one of the company's VAT numbers."""
    seller: Mapping[str, Any] = data.get("seller") or {}
    vat_id = seller.get("vat_id")
    return bool(vat_id) and _key(str(vat_id)) in {_key(own) for own in bookkeeping.own_vat_ids}


def _is_one_of(names: Sequence[str], party: Mapping[str, Any]) -> bool:
    """True if a party is named, by its VAT number or its name."""
    return bool(
        {_key(name) for name in names}
        & {_key(str(party[key])) for key in ("vat_id", "name") if party.get(key)}
    )


def _chosen(accounts: Mapping[str, int], party: Mapping[str, Any]) -> int | None:
    """The account that is set for a party, by its VAT number or its name."""
    by_key = {_key(name): account for name, account in accounts.items()}
    keys = [_key(str(party[name])) for name in ("vat_id", "name") if party.get(name)]
    return next((by_key[key] for key in keys if key in by_key), None)


def _key(text: str) -> str:
    return "".join(text.split()).casefold()


def _date_of(value: object) -> date | None:
    try:
        return None if value is None else date.fromisoformat(str(value))
    except ValueError:
        return None
