"""Documents and payments that look as if they belonged to a deal, and do not.

Where a decoy names another document, that one is not there. Decoys of one side, papers or payments, may name
nothing. No two decoys fit each other, nor does a decoy fit a paper of the deal as well as the true one does:
those that would are told apart by a number or by days (`resemblance`).
"""

import datetime as dt
from collections.abc import Callable
from dataclasses import dataclass, replace
from decimal import Decimal

from docmill.demo.plan import cents
from docmill.schemas.types import Payment
from docmill.training.linked_documents.companies import Company, near_company
from docmill.training.linked_documents.deals import Booking, Deal, Paper
from docmill.training.linked_documents.edits.structure import next_month
from docmill.training.linked_documents.purchases import draw_lines, party_of, sums_of
from docmill.training.linked_documents.resemblance import NAMED_IN, may_follow, names
from docmill.training.linked_documents.sampling import Sampler

_KINDS = {
    "purchase_order": "order",
    "delivery_note": "delivery_note",
    "invoice": "invoice",
    "credit_note": "credit_note",
    "quote": "quote",
    "contract": "contract",
    "receipt": "receipt",
    "reminder": "reminder",
}
_ISSUED_BY_BUYER = ("purchase_order",)
_NAMELESS = 0.3
"""Share of the decoys of one side that name no other document."""
_PURPOSES = (
    "Kaution",
    "Spende",
    "Mitgliedsbeitrag",
    "Anzahlung Reise",
    "Darlehen Rate",
    "Miete",
    "deposit",
    "loyer",
)
_UNRELATED = (
    ("Lohn/Gehalt", "LOHN GEHALT"),
    ("Finanzamt", "UST VORANMELDUNG"),
    ("Krankenkasse", "BEITRAG"),
    ("", "Entgelt Kontoführung"),
    ("", "Bank charges"),
    ("TANKSTELLE", "KARTENZAHLUNG"),
    ("HOTEL", "CARD PAYMENT"),
    ("Deutsche Bahn", "Ticket"),
    ("Urssaf", "COTISATIONS"),
    ("Skatteverket", "MOMS"),
)


@dataclass(frozen=True, slots=True)
class Decoy:
    """A paper or a payment, and the company on its other side."""

    item: Paper | Booking
    company: Company
    kind: str


@dataclass(frozen=True, slots=True)
class DecoyCompanies:
    """Others that decoys come from. billing: send papers alone; paid: receive or make payments alone."""

    billing: tuple[Company, ...]
    paid: tuple[Company, ...]


def make_decoys(deal: Deal, count: int, sampler: Sampler, companies: DecoyCompanies) -> list[Decoy]:
    """Decoys of all kinds that fit the deal, in turn."""
    maker = _Maker(deal, sampler, companies)
    kinds = [kind for kind in maker.kinds() if deal.of_type("invoice") or kind in maker.without_invoice()]
    sampler.random.shuffle(kinds)
    decoys: list[Decoy] = []
    for index in range(count):
        make = kinds[index % len(kinds)]
        item, company = make()
        kind = make.__name__
        decoys.append(Decoy(replace(item, key=f"decoy {index}", edits=frozenset()), company, kind))
    return maker.told_apart(decoys)


class _Maker:
    """Makes decoys of one deal."""

    def __init__(self, deal: Deal, sampler: Sampler, companies: DecoyCompanies) -> None:
        self._deal, self._sampler, self._companies = deal, sampler, companies
        self._are_payments_nameless = sampler.chance(0.5)
        self._near = near_company(deal.partner, sampler.random)
        self._is_near_paid = sampler.chance(0.5)
        self._days: set[tuple[str, dt.date]] = {(paper.document_type, paper.day) for paper in deal.papers}

    def kinds(self) -> list[Callable[[], tuple[Paper | Booking, Company]]]:
        near = self.near_name_payment if self._is_near_paid else self.near_name_invoice
        # The tenant itself gives no number twice.
        number = self.neighbouring_number if self._deal.is_sale else self.same_number_other_vendor
        return [
            self.next_month_paper,
            self.next_month_payment,
            self.same_text_order,
            self.neighbouring_number,
            self.same_amount_other_vendor_invoice,
            self.same_amount_other_vendor_payment,
            number,
            near,
            near,
            self.same_amount_other_currency,
            self.unrelated_payment_of_vendor,
            self.unrelated_payment,
        ]

    def without_invoice(self) -> list[Callable[[], tuple[Paper | Booking, Company]]]:
        """The kinds that need no invoice of the deal."""
        return [self.next_month_paper, self.unrelated_payment_of_vendor, self.unrelated_payment]

    def told_apart(self, decoys: list[Decoy]) -> list[Decoy]:
        """The decoys, changed where one fits another or a paper of the deal by all that they show."""
        partner = self._deal.partner
        papers = [
            (index, self._before_true_papers(decoy.item))
            for index, decoy in enumerate(decoys)
            if isinstance(decoy.item, Paper) and decoy.company == partner
        ]
        apart = list(decoys)
        open_papers = [paper for paper in self._deal.papers if not self._is_named(paper)]
        for index, paper in papers:
            changed = paper
            for first in open_papers:
                if may_follow(changed, first):
                    changed = self._naming_another(changed, first)
            for _, first in papers:
                if may_follow(changed, first, is_only=True):
                    changed = self._naming_another(changed, first)
            apart[index] = replace(decoys[index], item=changed)
        return apart

    def _before_true_papers(self, decoy: Paper) -> Paper:
        """The decoy, moved to a day before which it may no longer be what a paper of the deal is for."""
        while any(may_follow(paper, decoy) for paper in self._deal.papers):
            decoy = self._on(decoy, self._unused_day(decoy, decoy.day - dt.timedelta(days=7)))
        return decoy

    def _is_named(self, first: Paper) -> bool:
        """Whether a later paper of the deal names this one, whose place is then taken."""
        return any(names(second, first) for second in self._deal.papers)

    def _naming_another(self, second: Paper, first: Paper) -> Paper:
        """The decoy, which names a paper of the kind of the first one that is not there."""
        issuer = self._deal.buyer if first.document_type in _ISSUED_BY_BUYER else self._deal.seller
        number = self._sampler.absent_number(issuer, _KINDS[first.document_type], second.day)
        return second.with_values(**{NAMED_IN[second.document_type][first.document_type]: number})

    def next_month_paper(self) -> tuple[Paper, Company]:
        """The partner's same paper of another month, with other numbers."""
        papers = [paper for paper in self._deal.papers if paper.document_type not in ("contract", "quote")]
        paper = self._sampler.choice(papers or self._deal.papers)
        return self._renumbered(self._shifted(paper)), self._deal.partner

    def next_month_payment(self) -> tuple[Booking, Company]:
        """The payment of the same amount in another month, for another number."""
        booking = self._template()
        day = booking.day
        for _ in range(self._sampler.random.randint(1, 3)):
            day = next_month(day)
        return replace(booking, day=day, numbers=(self._other_number(day),)), self._deal.partner

    def same_text_order(self) -> tuple[Paper, Company]:
        """The same goods ordered again, much earlier or after everything else."""
        orders = self._deal.of_type("purchase_order", "delivery_note") or self._deal.of_type("invoice")
        paper = self._sampler.choice(orders)
        last = max(each.day for each in self._deal.papers)
        if self._deal.is_last or self._sampler.chance(0.6):
            day = self._sampler.later(last, 10, 120)
        else:
            day = paper.day - dt.timedelta(days=self._sampler.random.randint(60, 200))
        return self._renumbered(self._on(paper, self._unused_day(paper, day))), self._deal.partner

    def neighbouring_number(self) -> tuple[Paper, Company]:
        """Another invoice of the partner whose number is next to the true one, or has digits exchanged."""
        invoice = self._invoice()
        deal, sampler = self._deal, self._sampler
        number = sampler.numbers.neighbour(deal.seller.name, "invoice", invoice.text("number"), invoice.day)
        lines = draw_lines(deal.seed, deal.seller, sampler)
        day = sampler.later(invoice.day, 0 if deal.is_last else -10, 10)
        paper = self._renumbered(self._on(invoice, day)).with_values(number=number, **sums_of(lines))
        return paper, deal.partner

    def same_amount_other_vendor_invoice(self) -> tuple[Paper, Company]:
        other = self._sampler.choice(self._companies.billing)
        paper = self._from_other(self._invoice(), other)
        return self._on(paper, self._unused_day(paper, self._sampler.later(paper.day, -20, 20))), other

    def same_number_other_vendor(self) -> tuple[Paper, Company]:
        invoice = self._invoice()
        other = self._sampler.choice(self._companies.billing)
        lines = draw_lines(self._deal.seed, other, self._sampler)
        paper = self._from_other(invoice, other).with_values(number=invoice.value("number"), **sums_of(lines))
        return paper, other

    def same_amount_other_vendor_payment(self) -> tuple[Booking, Company]:
        other = self._sampler.choice(self._companies.paid)
        return self._paid_by_other(other), other

    def near_name_invoice(self) -> tuple[Paper, Company]:
        paper = self._from_other(self._invoice(), self._near)
        paper = self._on(paper, self._unused_day(paper, self._sampler.later(paper.day, -20, 20)))
        if self._sampler.chance(0.5):
            paper = paper.with_values(**sums_of(draw_lines(self._deal.seed, self._near, self._sampler)))
        return paper, self._near

    def near_name_payment(self) -> tuple[Booking, Company]:
        booking = self._paid_by_other(self._near)
        if not booking.numbers or self._sampler.chance(
            0.4
        ):  # only a number tells the name from a misread one
            booking = replace(booking, amount=self._other_amount(booking.amount))
        return booking, self._near

    def same_amount_other_currency(self) -> tuple[Booking, Company]:
        booking = self._template()
        currency = self._sampler.choice(
            [code for code in ("EUR", "USD", "CHF", "SEK") if code != booking.currency]
        )
        numbers = (self._other_number(booking.day),)
        day = self._sampler.later(booking.day, -10, 20)
        return replace(booking, currency=currency, numbers=numbers, day=day), self._deal.partner

    def unrelated_payment_of_vendor(self) -> tuple[Booking, Company]:
        """Another amount to or from the partner, for something else."""
        booking = self._template()
        day = self._sampler.later(booking.day, -30, 30)
        booking = replace(booking, day=day, amount=self._other_amount(booking.amount), remark="", numbers=())
        if self._are_payments_nameless and self._sampler.chance(_NAMELESS):
            return booking, self._deal.partner
        if self._sampler.chance(0.5):
            return replace(booking, remark=self._sampler.choice(_PURPOSES)), self._deal.partner
        return replace(booking, numbers=(self._other_number(day),)), self._deal.partner

    def unrelated_payment(self) -> tuple[Booking, Company]:
        """Salary, taxes, bank charges, card payments; now and then of the same amount."""
        name, purpose = self._sampler.choice(_UNRELATED)
        booking = self._template()
        amount = booking.amount if self._sampler.chance(0.2) else self._other_amount(booking.amount)
        day = self._sampler.later(booking.day, -30, 30)
        words = f"{purpose} {day:%m/%Y}"
        item = replace(
            booking, amount=-abs(amount), day=day, counterparty=name, iban="", numbers=(), remark=words
        )
        return item, self._deal.owner

    def _invoice(self) -> Paper:
        return self._sampler.choice(self._deal.of_type("invoice"))

    def _template(self) -> Booking:
        """A payment of the deal without edits of its words; one of an invoice where there is none."""
        deal = self._deal
        if deal.bookings:
            booking = self._sampler.choice(deal.bookings)
            return replace(booking, remark="", limit=140)
        paper = self._sampler.choice(deal.of_type("invoice") or deal.papers)
        amount = paper.gross or Decimal(self._sampler.random.randint(1000, 200000)) / 100
        sign = 1 if deal.is_sale else -1
        return Booking(
            "template",
            self._sampler.later(paper.day, 5, 30),
            sign * amount,
            paper.text("currency") or deal.owner.currency,
            deal.partner.name,
            deal.partner.iban if self._sampler.chance(0.7) else "",
        )

    def _other_number(self, day: dt.date) -> str:
        return self._sampler.absent_number(self._deal.seller, "invoice", day)

    def _other_amount(self, amount: Decimal) -> Decimal:
        factor = Decimal(str(round(self._sampler.random.choice((0.37, 0.71, 1.31, 1.9, 3.3)), 2)))
        return cents(amount * factor) + Decimal("0.13").copy_sign(amount)

    def _paid_by_other(self, other: Company) -> Booking:
        booking = self._template()
        number = self._sampler.absent_number(other, "invoice", booking.day)
        numbers = () if self._are_payments_nameless and self._sampler.chance(_NAMELESS) else (number,)
        iban = other.iban if self._sampler.chance(0.7) else ""
        day = self._sampler.later(booking.day, -10, 10)
        return replace(booking, counterparty=other.name, iban=iban, numbers=numbers, day=day)

    def _from_other(self, paper: Paper, other: Company) -> Paper:
        """The paper as if another company were the partner."""
        side = "buyer" if self._deal.is_sale else "seller"
        issuer = self._deal.owner if self._deal.is_sale else other
        made = self._renumbered(replace(paper, notes=()), issuer).with_values(
            **{side: party_of(other)}, customer_number=None
        )
        if self._deal.is_sale:
            return made
        payment = Payment(
            iban=other.iban, bic=other.bic, terms=paper.payment.terms, method=paper.payment.method
        )
        return made.with_values(payment=payment)

    def _renumbered(self, paper: Paper, issuer: Company | None = None) -> Paper:
        """The paper with a new number; what it names gets numbers of papers that are not there."""
        deal, sampler = self._deal, self._sampler
        is_by_buyer = paper.document_type in _ISSUED_BY_BUYER
        issuer = issuer or (deal.buyer if is_by_buyer else deal.seller)
        number = sampler.number(issuer, _KINDS[paper.document_type], paper.day)
        is_nameless = not self._are_payments_nameless and sampler.chance(_NAMELESS)
        named = {
            "order_number": (deal.buyer, "order"),
            "delivery_note_number": (issuer, "delivery_note"),
            "contract_number": (issuer, "contract"),
            "preceding_invoice_number": (issuer, "invoice"),
            "invoice_number": (issuer, "invoice"),
        }
        others = {
            field: None if is_nameless else sampler.absent_number(company, kind, paper.day)
            for field, (company, kind) in named.items()
            if paper.text(field)
            or (field == "order_number" and deal.of_type("purchase_order") and not is_nameless)
        }
        return replace(paper, notes=()).with_values(number=number, **others)

    def _shifted(self, paper: Paper) -> Paper:
        """The paper one to three months later, or (for most partners) earlier."""
        months = self._sampler.random.randint(1, 3)
        if self._deal.is_last or self._sampler.chance(0.6):
            day = paper.day
            for _ in range(months):
                day = next_month(day)
        else:
            day = paper.day - dt.timedelta(days=30 * months + 1)
        return self._on(paper, self._unused_day(paper, day))

    def _unused_day(self, paper: Paper, day: dt.date) -> dt.date:
        """A day from this one on without a paper of the type: two of one day would look like copies."""
        while (paper.document_type, day) in self._days:
            day += dt.timedelta(days=3)
        self._days.add((paper.document_type, day))
        return day

    def _on(self, paper: Paper, day: dt.date) -> Paper:
        """The paper on another day, its other days moved as far."""
        step = day - paper.day
        names = (
            "issue_date",
            "due_date",
            "delivery_date",
            "period_start",
            "period_end",
            "preceding_invoice_date",
        )
        moved = {name: paper.value(name) + step for name in names if paper.value(name)}
        return paper.with_values(**moved)
