"""A deal in the making: papers, payments, and what is true of them. Keys name them until they have ids."""

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any, Self, TypeVar

from pydantic import BaseModel

from docmill.matching.outcome import DiscrepancyCode, Relation
from docmill.schemas.types import Fields, Invoice, Line, Party, Payment
from docmill.training.linked_documents.companies import Company
from docmill.training.linked_documents.truth import TrueDiscrepancy, TrueLink

_Model = TypeVar("_Model", bound=BaseModel)

NO_MONEY = Decimal(0)


@dataclass(frozen=True, slots=True)
class Paper:
    """A document before it is printed.

    notes: sentences of its text that no field has. is_scanned: its text has errors of recognition.
    """

    key: str
    document_type: str
    data: Fields
    notes: tuple[str, ...] = ()
    is_scanned: bool = False
    edits: frozenset[str] = frozenset()

    def with_values(self, **values: object) -> Self:
        """This paper with other values; fields that its schema does not have are left out."""
        return replace(self, data=_with_known(self.data, values))

    def with_party(self, side: str, **values: str | None) -> Self:
        """This paper with other values of the seller or buyer."""
        return self._with_part(side, values)

    def with_payment(self, **values: str | None) -> Self:
        """This paper with other values of its payment; as it is where it has none."""
        return self._with_part("payment", values)

    def _with_part(self, name: str, values: Mapping[str, object]) -> Self:
        part = self.value(name)
        return self if part is None else self.with_values(**{name: _with_known(part, values)})

    def with_note(self, note: str) -> Self:
        """This paper with one more sentence."""
        return replace(self, notes=(*self.notes, note))

    def value(self, name: str) -> Any:  # noqa: ANN401 - a field's type depends on its name
        """A field; null where this kind of document has none."""
        return getattr(self.data, name, None)

    def text(self, name: str) -> str:
        """A field as text; empty for null."""
        return str(self.value(name) or "")

    def party(self, side: str) -> Party:
        """The seller or buyer; without any value where there is none."""
        return Party.model_validate(self.value(side) or {}, from_attributes=True)

    @property
    def payment(self) -> Payment:
        """The details of payment; without any value where there are none."""
        return Payment.model_validate(self.value("payment") or {}, from_attributes=True)

    @property
    def lines(self) -> tuple[Line, ...]:
        """The line items."""
        return self.value("lines") or ()

    @property
    def gross(self) -> Decimal:
        """What is to be paid."""
        return self.value("gross_total") or NO_MONEY

    @property
    def day(self) -> dt.date:
        """The date of issue."""
        day = self.value("issue_date")
        assert isinstance(day, dt.date), self.key
        return day


@dataclass(frozen=True, slots=True)
class Booking:
    """A payment before it is printed on a statement.

    amount: negative for what the tenant pays. numbers: as the payer cites them. remark: other words of the
    payer. limit: characters of the purpose that the bank keeps.
    """

    key: str
    day: dt.date
    amount: Decimal
    currency: str
    counterparty: str
    iban: str
    numbers: tuple[str, ...] = ()
    remark: str = ""
    limit: int = 140
    edits: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Deal:
    """One deal between the tenant and a partner.

    is_sale: whether the tenant sells. terms: the printed conditions of payment. is_last: whether no later
    document of this partner may be made.
    """

    owner: Company
    partner: Company
    is_sale: bool
    seed: Invoice
    papers: tuple[Paper, ...] = ()
    bookings: tuple[Booking, ...] = ()
    links: tuple[TrueLink, ...] = ()
    duplicates: tuple[TrueLink, ...] = ()
    discrepancies: tuple[TrueDiscrepancy, ...] = ()
    is_last: bool = False

    @property
    def seller(self) -> Company:
        """The company that sells."""
        return self.owner if self.is_sale else self.partner

    @property
    def buyer(self) -> Company:
        """The company that buys."""
        return self.partner if self.is_sale else self.owner

    def of_type(self, *document_types: str) -> tuple[Paper, ...]:
        """The papers of these types."""
        return tuple(paper for paper in self.papers if paper.document_type in document_types)

    def paper(self, key: str) -> Paper | None:
        """The paper of a key."""
        return next((paper for paper in self.papers if paper.key == key), None)

    def with_paper(self, paper: Paper) -> Self:
        """With one more paper, or another one in the place of that of the same key."""
        return replace(self, papers=_with_item(self.papers, paper, paper.key))

    def with_booking(self, booking: Booking) -> Self:
        """With one more payment, or another one in the place of that of the same key."""
        return replace(self, bookings=_with_item(self.bookings, booking, booking.key))

    def with_link(self, first: str, second: str, relation: Relation) -> Self:
        """With a true link between two keys."""
        return replace(self, links=(*self.links, TrueLink(first, second, relation)))

    def with_discrepancy(
        self,
        code: DiscrepancyCode,
        key: str,
        line: int | None = None,
        *,
        expected: object = "",
        found: object = "",
        is_optional: bool = False,
    ) -> Self:
        """With a true discrepancy; see `TrueDiscrepancy`."""
        made = TrueDiscrepancy(code, key, line, str(expected), str(found), is_optional)
        return replace(self, discrepancies=(*self.discrepancies, made))

    def without(self, key: str) -> Self:
        """Without a paper or payment, its links and its discrepancies."""
        return replace(
            self,
            papers=tuple(paper for paper in self.papers if paper.key != key),
            bookings=tuple(booking for booking in self.bookings if booking.key != key),
            links=tuple(link for link in self.links if key not in (link.first_id, link.second_id)),
            discrepancies=tuple(each for each in self.discrepancies if each.record_id != key),
        )

    def invoices_of(self, booking: Booking) -> tuple[Paper, ...]:
        """The invoices that a payment pays."""
        paid = {link.first_id for link in self.links if link.second_id == booking.key}
        return tuple(paper for paper in self.of_type("invoice") if paper.key in paid)


def _with_known(data: _Model, values: Mapping[str, object]) -> _Model:
    return data.model_copy(
        update={name: value for name, value in values.items() if name in type(data).model_fields}
    )


def _with_item(items: Sequence[Any], item: Any, key: str) -> tuple[Any, ...]:  # noqa: ANN401
    if any(each.key == key for each in items):
        return tuple(item if each.key == key else each for each in items)
    return (*items, item)
