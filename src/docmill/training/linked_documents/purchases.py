"""The papers of a purchase without any edit: order, delivery note and invoice, with each other's numbers."""

import datetime as dt
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

from pydantic import BaseModel

from docmill.demo.plan import cents, taxes_of, total, without
from docmill.schemas.registry import REGISTRY
from docmill.schemas.types import DeliveryNote, Fields, Invoice, Line, Party, Payment, PurchaseOrder, Receipt
from docmill.training.linked_documents.companies import Company
from docmill.training.linked_documents.deals import Booking, Deal, Paper
from docmill.training.linked_documents.sampling import Sampler

TAX_RATES = {
    "DE": "19",
    "AT": "20",
    "CH": "8.1",
    "NL": "21",
    "GB": "20",
    "US": "0",
    "IT": "22",
    "FR": "20",
    "BE": "21",
    "SE": "25",
    "DK": "25",
    "NO": "25",
    "FI": "25.5",
}
_LEAST_NET = 5
"""Units of a currency below which nobody writes an invoice."""
PRICES = ("unit_price", "net_amount", "tax_rate")
"""The fields of a line that delivery notes do not show."""
_NET_TERMS = {
    "de": "Zahlbar innerhalb von {days} Tagen ohne Abzug",
    "en": "Net {days} days",
    "nl": "Betaling binnen {days} dagen",
    "it": "Pagamento a {days} giorni",
    "fr": "Paiement à {days} jours",
    "sv": "Betalningsvillkor {days} dagar netto",
    "da": "Netto {days} dage",
    "no": "Netto per {days} dager",
    "fi": "Maksuehto {days} pv netto",
}


def make_purchase(deal: Deal, sampler: Sampler) -> Deal:
    """Order, delivery note and invoice of the seed's goods."""
    lines = draw_lines(deal.seed, deal.seller, sampler)
    ordered = sampler.day()
    delivered = sampler.later(ordered, 1, 25)
    invoiced = sampler.later(delivered, 0, 12)
    order = make_order(deal, sampler, "order 1", lines, ordered)
    order_number = order.text("number")
    delivery = make_delivery(deal, sampler, "delivery 1", lines, delivered, order_number)
    invoice = make_invoice(deal, sampler, "invoice 1", lines, invoiced).with_values(
        order_number=order_number, delivery_note_number=delivery.text("number"), delivery_date=delivered
    )
    for paper in (order, delivery, invoice):
        deal = deal.with_paper(paper)
    deal = deal.with_link("order 1", "delivery 1", "order_to_delivery")
    deal = deal.with_link("order 1", "invoice 1", "order_to_invoice")
    return deal.with_link("delivery 1", "invoice 1", "delivery_to_invoice")


def draw_lines(seed: Invoice, seller: Company, sampler: Sampler) -> tuple[Line, ...]:
    """Some of the seed's goods with other quantities and prices of the same order."""
    random_ = sampler.random
    chosen = random_.sample(seed.lines, random_.randint(1, len(seed.lines)))
    lines: list[Line] = []
    for position, line in enumerate(chosen, 1):
        quantity = line.quantity or Decimal(1)
        if quantity <= 0 or random_.random() < 0.6:
            quantity = Decimal(random_.choice((1, 1, 2, 3, 4, 5, 6, 8, 10, 12, 20, 25, 40, 100)))
        price = max(
            Decimal("0.05"),
            cents((line.unit_price or 1) * Decimal(str(round(2 ** random_.gauss(0, 1.2), 3)))),
        )
        lines.append(
            Line(
                position=str(position),
                description=" ".join((line.description or "").split())[:120],
                quantity=quantity,
                unit=line.unit,
                unit_price=price,
                net_amount=cents(quantity * price),
                tax_rate=line.tax_rate if line.tax_rate is not None else Decimal(TAX_RATES[seller.country]),
            )
        )
    net = sum((line.net_amount or Decimal(0) for line in lines), Decimal(0))
    factor = 100 if net < _LEAST_NET else 1
    return tuple(with_quantity(line, (line.quantity or Decimal(1)) * factor) for line in lines)


def with_quantity(line: Line, quantity: Decimal) -> Line:
    """The line for another quantity."""
    net = cents(quantity * line.unit_price) if line.unit_price is not None else None
    return line.model_copy(update={"quantity": quantity, "net_amount": net})


def sums_of(lines: Sequence[Line]) -> dict[str, Any]:
    """Net, tax and gross of lines, and what is due."""
    sums = total(taxes_of(tuple(lines)))
    return {**sums, "amount_due": sums["gross_total"], "lines": tuple(lines)}


def make_order(deal: Deal, sampler: Sampler, key: str, lines: Sequence[Line], day: dt.date) -> Paper:
    """The buyer's order of these goods."""
    data = PurchaseOrder.model_validate(
        {
            "number": sampler.number(deal.buyer, "order", day),
            "issue_date": day,
            "delivery_date": sampler.later(day, 3, 30) if sampler.chance(0.5) else None,
            **_parties(deal, sampler, with_seller_vat=False),
            **{name: value for name, value in sums_of(lines).items() if name != "amount_due"},
        }
    )
    return Paper(key, "purchase_order", data)


def make_delivery(
    deal: Deal, sampler: Sampler, key: str, lines: Sequence[Line], day: dt.date, order_number: str
) -> Paper:
    """The seller's note of these goods, without prices."""
    shown = without(tuple(lines), *PRICES)
    values = _parties(deal, sampler, with_seller_vat=True)
    del values["currency"]
    data = DeliveryNote.model_validate(
        {
            "number": sampler.number(deal.seller, "delivery_note", day),
            "issue_date": day,
            "delivery_date": day,
            "order_number": order_number,
            "lines": shown,
            **values,
        }
    )
    return Paper(key, "delivery_note", data)


def make_invoice(deal: Deal, sampler: Sampler, key: str, lines: Sequence[Line], day: dt.date) -> Paper:
    """An invoice that names no other paper."""
    days = sampler.choice((7, 10, 14, 14, 30, 30, 30, 45, 60))
    seller = deal.seller
    data = Invoice.model_validate(
        {
            "number": sampler.number(seller, "invoice", day),
            "issue_date": day,
            "due_date": day + dt.timedelta(days=days),
            **_parties(deal, sampler, with_seller_vat=True),
            **sums_of(lines),
            "payment": Payment(
                iban=seller.iban,
                bic=seller.bic,
                terms=_NET_TERMS[seller.language].format(days=days),
                method=sampler.choice(("30", "58", None)),
            ),
        }
    )
    return Paper(key, "invoice", data)


def other_document(key: str, document_type: str, values: Mapping[str, object]) -> Paper:
    """A paper of a type whose model is made from its file: credit note, reminder, quote, contract."""
    model = REGISTRY[document_type].fields
    made = model.model_validate(known_values(model, values))
    assert isinstance(made, Fields), document_type
    return Paper(key, document_type, made)


def known_values(model: type[BaseModel], values: Mapping[str, object]) -> dict[str, object]:
    """The values that a model has fields for, models as dictionaries of what theirs have."""
    known: dict[str, object] = {}
    for name, field in model.model_fields.items():
        value = values.get(name)
        if isinstance(value, BaseModel) and isinstance(field.annotation, type):
            known[name] = known_values(field.annotation, dict(value))
        elif value is not None:
            known[name] = value
    return known


def party_of(company: Company, *, with_vat: bool = True) -> Party:
    """The company as a schema has it."""
    return Party(
        name=company.name, address=company.address, vat_id=(company.vat_id or None) if with_vat else None
    )


def _parties(deal: Deal, sampler: Sampler, *, with_seller_vat: bool) -> dict[str, Any]:
    """Both sides as this deal's papers name them, the customer number (of most) and the currency."""
    known = sampler.customer_number(deal.seller, deal.buyer)
    return {
        "seller": party_of(deal.seller, with_vat=with_seller_vat),
        "buyer": party_of(deal.buyer, with_vat=sampler.chance(0.5)),
        "customer_number": known if sampler.chance(0.6) else None,
        "currency": deal.seller.currency,
    }


def make_till_purchase(deal: Deal, sampler: Sampler) -> Deal:
    """A receipt of a shop, and the payment by card."""
    lines = draw_lines(deal.seed, deal.seller, sampler)[:4]
    day = sampler.day()
    shop = party_of(deal.seller, with_vat=sampler.chance(0.5)).model_copy(
        update={"name": deal.seller.trading_name}
    )
    data = Receipt.model_validate(
        {
            "number": sampler.number(deal.seller, "receipt", day),
            "issue_date": day,
            "seller": shop,
            "currency": deal.seller.currency,
            **sums_of(lines),
            "payment": Payment(method="48"),
            "time": f"{sampler.random.randint(7, 20):02}:{sampler.random.randint(0, 59):02}",
        }
    )
    booking = Booking(
        key="card payment",
        day=sampler.later(day, 0, 3),
        amount=-sums_of(lines)["gross_total"],
        currency=deal.seller.currency,
        counterparty=sampler.choice((deal.seller.trading_name, deal.seller.name, deal.seller.short_name)),
        iban="",
        remark=f"{sampler.choice(('Kartenzahlung', 'CARD', 'POS', 'Debitk.'))} {day:%d.%m.}",
    )
    deal = deal.with_paper(Paper("receipt", "receipt", data)).with_booking(booking)
    return deal.with_link("receipt", "card payment", "receipt_to_payment")
