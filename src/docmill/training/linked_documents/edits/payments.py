"""Payments of a deal's invoices, and edits of them."""

import datetime as dt
import re
from dataclasses import replace
from decimal import Decimal

from docmill.demo.plan import cents
from docmill.schemas.types import Payment, Receipt
from docmill.training.linked_documents.deals import NO_MONEY, Booking, Deal, Paper
from docmill.training.linked_documents.sampling import Sampler

_PAID = 0.88
"""Share of the invoices that are paid."""
_AGAIN = ", again"
"""Behind the key of a payment, that of the same payment once more."""
_DISCOUNT_TERMS = {
    "de": "{percent} % Skonto bei Zahlung innerhalb von {days} Tagen, {net} Tage netto",
    "en": "{percent}% discount if paid within {days} days, net {net} days",
    "nl": "{percent}% korting bij betaling binnen {days} dagen, netto {net} dagen",
    "it": "Sconto {percent}% per pagamento entro {days} giorni, {net} giorni netto",
    "fr": "Escompte de {percent} % pour paiement sous {days} jours, {net} jours net",
    "sv": "{percent} % kassarabatt vid betalning inom {days} dagar, {net} dagar netto",
    "da": "{percent} % kontantrabat ved betaling inden {days} dage, netto {net} dage",
    "no": "{percent} % kontantrabatt ved betaling innen {days} dager, netto {net} dager",
    "fi": "{percent} % käteisalennus {days} pv, {net} pv netto",
}


def pay_invoices(deal: Deal, sampler: Sampler) -> Deal:
    """A payment for most invoices, of what is due, around the day when it is due."""
    for invoice in deal.of_type("invoice"):
        if invoice.gross > 0 and not deal.paper("credit 1") and sampler.chance(_PAID):
            deal = _paid(deal, sampler, f"payment of {invoice.key}", (invoice,), invoice.gross)
    return deal


def _paid(
    deal: Deal,
    sampler: Sampler,
    key: str,
    invoices: tuple[Paper, ...],
    amount: Decimal,
    *,
    is_refund: bool = False,
) -> Deal:
    last = max(invoices, key=lambda invoice: invoice.day)
    due = last.value("due_date") or last.day
    latest = max(1, (due - last.day).days + sampler.choice((-3, 0, 0, 2, 5)))
    booking = Booking(
        key=key,
        day=sampler.later(last.day, min(2, latest), latest),
        amount=amount if deal.is_sale != is_refund else -amount,
        currency=last.text("currency"),
        counterparty=deal.partner.name,
        iban=_account(deal, last) if sampler.chance(0.75) else "",
        numbers=tuple(invoice.text("number") for invoice in invoices),
    )
    deal = deal.with_booking(booking)
    for invoice in invoices:
        is_credit = invoice.document_type == "credit_note"
        deal = deal.with_link(
            invoice.key, key, "credit_note_to_payment" if is_credit else "invoice_to_payment"
        )
    return deal


def _account(deal: Deal, invoice: Paper) -> str:
    """The partner's account: of a purchase, that of the invoice."""
    return deal.partner.iban if deal.is_sale else (invoice.payment.iban or deal.partner.iban)


def _single(deal: Deal, sampler: Sampler) -> tuple[Booking, Paper] | None:
    """A payment that pays one invoice whose amounts nothing was done to, and that invoice."""
    changed = {
        each.record_id for each in deal.discrepancies if each.code in ("underpaid", "overpaid", "paid_twice")
    }
    pairs = [
        (booking, deal.invoices_of(booking)[0])
        for booking in deal.bookings
        if len(deal.invoices_of(booking)) == 1
        and booking.key not in changed
        and abs(booking.amount) == deal.invoices_of(booking)[0].gross
    ]
    return sampler.choice(pairs) if pairs else None


def _with_amount(booking: Booking, amount: Decimal) -> Booking:
    """The payment of another amount in the same direction."""
    return replace(booking, amount=amount.copy_sign(booking.amount))


def combined_payment(deal: Deal, sampler: Sampler) -> Deal:
    """Several invoices are paid by one payment."""
    singles = [booking for booking in deal.bookings if len(deal.invoices_of(booking)) == 1]
    if len(singles) < 2:
        return deal
    chosen = sampler.random.sample(singles, sampler.random.randint(2, min(5, len(singles))))
    invoices = tuple(deal.invoices_of(booking)[0] for booking in chosen)
    for booking in chosen:
        deal = deal.without(booking.key)
    total = sum((invoice.gross for invoice in invoices), NO_MONEY)
    return _paid(deal, sampler, "payment of several", invoices, total)


def credit_note_offset(deal: Deal, sampler: Sampler) -> Deal:
    """An invoice is paid less its credit note."""
    credit = deal.paper("credit 1")
    if credit is None:
        return deal
    link = next(link for link in deal.links if link.second_id == "credit 1")
    invoice = deal.paper(link.first_id)
    if invoice is None or invoice.gross <= credit.gross:
        return deal
    return _paid(deal, sampler, "payment less credit", (invoice, credit), invoice.gross - credit.gross)


def credit_note_refunded(deal: Deal, sampler: Sampler) -> Deal:
    """The invoice was paid; the seller pays the credit note back."""
    credit = deal.paper("credit 1")
    if credit is None or any(booking.key == "payment less credit" for booking in deal.bookings):
        return deal
    link = next(link for link in deal.links if link.second_id == "credit 1")
    invoice = deal.paper(link.first_id)
    if invoice is None or invoice.gross <= 0:
        return deal
    deal = _paid(deal, sampler, f"payment of {invoice.key}", (invoice,), invoice.gross)
    return _paid(deal, sampler, "refund", (credit,), credit.gross, is_refund=True)


def partial_payment(deal: Deal, sampler: Sampler) -> Deal:
    """A part of the invoice is paid, and the rest is open."""
    found = _single(deal, sampler)
    if found is None:
        return deal
    booking, invoice = found
    amount = cents(invoice.gross * sampler.choice((Decimal("0.5"), Decimal("0.3"), Decimal("0.8"))))
    deal = deal.with_booking(
        replace(_with_amount(booking, amount), remark=sampler.choice(("Teilzahlung", "part payment", "")))
    )
    return deal.with_discrepancy("underpaid", booking.key, expected=invoice.gross, found=amount)


def two_instalments(deal: Deal, sampler: Sampler) -> Deal:
    """The invoice is paid by two payments, some weeks apart."""
    found = _single(deal, sampler)
    if found is None or found[1].gross < 2:
        return deal
    booking, invoice = found
    first = cents(invoice.gross * sampler.choice((Decimal("0.5"), Decimal("0.4"), Decimal("0.25"))))
    second = replace(
        _with_amount(booking, invoice.gross - first),
        key=f"{booking.key}, rest",
        day=sampler.later(booking.day, 10, 35),
    )
    deal = deal.with_booking(_with_amount(booking, first)).with_booking(second)
    deal = deal.with_discrepancy("underpaid", booking.key, is_optional=True)
    return deal.with_link(invoice.key, second.key, "invoice_to_payment")


def net_paid(deal: Deal, sampler: Sampler) -> Deal:
    """The net total is paid instead of the gross total."""
    found = _single(deal, sampler)
    if found is None or not found[1].value("tax_total"):
        return deal
    return _underpaid(deal, found, found[1].value("net_total"))


def fixed_bank_fee(deal: Deal, sampler: Sampler) -> Deal:
    """A bank kept a fee of some units."""
    fee = Decimal(sampler.choice(("5.00", "7.50", "12.00", "15.00", "25.00")))
    found = _single(deal, sampler)
    if found is None or found[1].gross < 8 * fee:
        return deal
    return _underpaid(deal, found, found[1].gross - fee, is_optional=True)


def percent_bank_fee(deal: Deal, sampler: Sampler) -> Deal:
    """A payment service kept a share of the amount."""
    share = Decimal(sampler.choice(("0.015", "0.019", "0.029", "0.01")))
    found = _single(deal, sampler)
    if found is None:
        return deal
    return _underpaid(deal, found, found[1].gross - cents(found[1].gross * share), is_optional=True)


def _underpaid(
    deal: Deal, found: tuple[Booking, Paper], amount: Decimal, *, is_optional: bool = False
) -> Deal:
    booking, invoice = found
    deal = deal.with_booking(_with_amount(booking, amount))
    return deal.with_discrepancy(
        "underpaid", booking.key, expected=invoice.gross, found=amount, is_optional=is_optional
    )


def cash_discount(deal: Deal, sampler: Sampler) -> Deal:
    """Paid in time less the discount that the terms grant."""
    percent, days = sampler.choice((("2", 14), ("2", 14), ("2", 10), ("3", 8), ("3", 10)))
    return _discounted(deal, sampler, percent, days, sampler.choice(("abzgl. {} % Skonto", "-{}%", "", "")))


def _discounted(deal: Deal, sampler: Sampler, percent: str, days: int, remark: str) -> Deal:
    found = _single(deal, sampler)
    if found is None:
        return deal
    booking, invoice = found
    terms = _DISCOUNT_TERMS[deal.seller.language].format(percent=percent, days=days, net=30)
    amount = invoice.gross - cents(invoice.gross * Decimal(percent.replace(",", ".")) / 100)
    due = invoice.day + dt.timedelta(days=30)
    deal = deal.with_paper(invoice.with_values(due_date=due).with_payment(terms=terms))
    paid = replace(
        _with_amount(booking, amount), day=sampler.later(invoice.day, 1, days), remark=remark.format(percent)
    )
    return deal.with_booking(paid)


def discount_offered(deal: Deal, sampler: Sampler) -> Deal:
    """The terms grant a discount that nobody takes."""
    invoices = [
        invoice for invoice in deal.of_type("invoice") if not re.search(r"\d ?%", invoice.payment.terms or "")
    ]
    if not invoices:
        return deal
    invoice = sampler.choice(invoices)
    terms = _DISCOUNT_TERMS[deal.seller.language].format(percent="2", days=14, net=30)
    return deal.with_paper(invoice.with_payment(terms=terms))


def paid_twice(deal: Deal, sampler: Sampler) -> Deal:
    """The invoice is paid a second time some days later."""
    found = _single(deal, sampler)
    if found is None:
        return deal
    booking, invoice = found
    second = replace(booking, key=f"{booking.key}{_AGAIN}", day=sampler.later(booking.day, 1, 20))
    deal = deal.with_booking(second).with_link(invoice.key, second.key, "invoice_to_payment")
    deal = deal.with_discrepancy("overpaid", second.key, is_optional=True)
    return deal.with_discrepancy("paid_twice", second.key, expected=invoice.gross, found=2 * invoice.gross)


def first_of(key: str) -> str:
    """The key of the payment that one was made again of."""
    return key.removesuffix(_AGAIN)


def overpaid(deal: Deal, sampler: Sampler) -> Deal:
    """More is paid than was billed."""
    found = _single(deal, sampler)
    if found is None:
        return deal
    booking, invoice = found
    amount = cents(invoice.gross * Decimal(sampler.choice(("1.1", "1.05", "1.5"))))
    deal = deal.with_booking(_with_amount(booking, amount))
    return deal.with_discrepancy("overpaid", booking.key, expected=invoice.gross, found=amount)


def paid_late(deal: Deal, sampler: Sampler) -> Deal:
    """The payment comes weeks or months after it was due."""
    if not deal.bookings:
        return deal
    booking = sampler.choice(deal.bookings)
    deal = deal.with_booking(replace(booking, day=sampler.later(booking.day, 15, 90)))
    # A discount was then taken too late.
    return deal.with_discrepancy("underpaid", booking.key, is_optional=True)


def paid_in_advance(deal: Deal, sampler: Sampler) -> Deal:
    """The payment comes before the invoice."""
    found = _single(deal, sampler)
    if found is None or "Skonto" in found[0].remark or deal.discrepancies:
        return deal
    booking, invoice = found
    return deal.with_booking(
        replace(booking, day=invoice.day - dt.timedelta(days=sampler.random.randint(1, 12)))
    )


def other_currency(deal: Deal, sampler: Sampler) -> Deal:
    """The account is in another currency: the amount is converted."""
    found = _single(deal, sampler)
    if found is None:
        return deal
    booking, invoice = found
    own = deal.owner.currency
    other = own if booking.currency != own else sampler.choice(("USD", "GBP", "CHF"))
    rate = Decimal(str(round(sampler.random.uniform(0.8, 1.25), 4)))
    converted = _with_amount(booking, cents(invoice.gross * rate))
    deal = deal.with_booking(replace(converted, currency=other))
    return deal.with_discrepancy("underpaid", booking.key, is_optional=True).with_discrepancy(
        "overpaid", booking.key, is_optional=True
    )


def paid_in_cash(deal: Deal, sampler: Sampler) -> Deal:
    """The invoice is paid in cash, for which there is a receipt."""
    found = _single(deal, sampler)
    if found is None:
        return deal
    booking, invoice = found
    names = ("currency", "net_total", "tax_total", "gross_total", "seller")
    data = Receipt.model_validate(
        {name: invoice.value(name) for name in names}
        | {"number": sampler.number(deal.seller, "receipt", booking.day), "issue_date": booking.day}
        | {"payment": Payment(method="10")}
    )
    sentence = sampler.choice(
        ("Betrag zu Rechnung {} dankend erhalten", "Received with thanks for invoice {}")
    )
    paper = Paper(f"receipt {invoice.key}", "receipt", data).with_note(
        sentence.format(invoice.text("number"))
    )
    return deal.without(booking.key).with_paper(paper).with_link(invoice.key, paper.key, "invoice_to_receipt")


# The other set, for measuring only.


def nordic_discount(deal: Deal, sampler: Sampler) -> Deal:
    """One percent within seven days, or one and a half within ten, without a word by the payer."""
    percent, days = sampler.choice((("1", 7), ("1,5", 10), ("4", 5), ("2,5", 20)))
    return _discounted(deal, sampler, percent, days, "")


def three_instalments(deal: Deal, sampler: Sampler) -> Deal:
    """The invoice is paid by three equal payments, a month apart."""
    found = _single(deal, sampler)
    if found is None or found[1].gross < 3:
        return deal
    booking, invoice = found
    third = cents(invoice.gross / 3)
    deal = deal.with_booking(_with_amount(booking, third))
    for number, amount in ((1, third), (2, invoice.gross - 2 * third)):
        day = booking.day + dt.timedelta(days=30 * number)
        part = replace(_with_amount(booking, amount), key=f"{booking.key}, part {number + 1}", day=day)
        deal = deal.with_booking(part).with_link(invoice.key, part.key, "invoice_to_payment")
        deal = deal.with_discrepancy("underpaid", part.key, is_optional=True)
    return deal.with_discrepancy("underpaid", booking.key, is_optional=True)


def rounded_payment(deal: Deal, sampler: Sampler) -> Deal:
    """Paid in whole units."""
    found = _single(deal, sampler)
    if found is None:
        return deal
    booking, invoice = found
    amount = invoice.gross.quantize(Decimal(1))
    if amount in (invoice.gross, 0):
        return deal
    code = "underpaid" if amount < invoice.gross else "overpaid"
    deal = deal.with_booking(_with_amount(booking, amount))
    return deal.with_discrepancy(code, booking.key, is_optional=True)


def rest_after_complaint(deal: Deal, sampler: Sampler) -> Deal:
    """The buyer keeps back one line's amount and says so."""
    found = _single(deal, sampler)
    if found is None or len(found[1].lines) < 2:
        return deal
    booking, invoice = found
    line = sampler.choice(invoice.lines)
    kept_back = cents((line.net_amount or NO_MONEY) * (100 + (line.tax_rate or NO_MONEY)) / 100)
    if not 0 < kept_back < invoice.gross:
        return deal
    deal = _underpaid(deal, found, invoice.gross - kept_back)
    changed = next(each for each in deal.bookings if each.key == booking.key)
    return deal.with_booking(replace(changed, remark=f"moins {kept_back} litige"))
