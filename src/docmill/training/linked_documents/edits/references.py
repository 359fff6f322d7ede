"""Edits of the numbers by which papers and payments name each other."""

from collections.abc import Callable
from dataclasses import replace

from docmill.training.linked_documents.deals import Booking, Deal, Paper
from docmill.training.linked_documents.misreading import mistype, transpose
from docmill.training.linked_documents.sampling import Sampler

_REFERENCES = (
    "order_number",
    "delivery_note_number",
    "preceding_invoice_number",
    "invoice_number",
    "contract_number",
)
_IN_TEXT = {
    "order_number": ("gemäß Ihrer Bestellung {} vom letzten Monat", "Your order {} refers.", "Ref. PO {}"),
    "delivery_note_number": ("geliefert mit Lieferschein {}", "goods as per delivery note {}"),
    "preceding_invoice_number": ("zu unserer Rechnung {}", "relating to our invoice {}"),
    "invoice_number": ("unsere Rechnung {} ist noch offen", "our invoice {} is still unpaid"),
    "contract_number": ("Abrechnung laut Vertrag {}", "as agreed in contract {}"),
}
_IN_OTHER_TEXT = {
    "order_number": ("selon votre commande réf. {}", "enligt er order: {}", "Deres ref.: bestilling {}"),
    "delivery_note_number": ("livré avec le BL {}", "levererat med följesedel {}"),
    "preceding_invoice_number": ("avoir sur facture {}", "kreditering av faktura {}"),
    "invoice_number": ("notre facture {} reste impayée", "vår faktura {} är obetald"),
    "contract_number": ("contrat {}", "enligt avtal {}"),
}


def reference_missing(deal: Deal, sampler: Sampler) -> Deal:
    """A paper does not name another."""
    return _changed(deal, sampler, lambda paper, field: paper.with_values(**{field: None}))


def all_references_missing(deal: Deal, sampler: Sampler) -> Deal:
    """No paper of the deal names another."""
    del sampler
    for paper in deal.papers:
        deal = deal.with_paper(paper.with_values(**dict.fromkeys(_REFERENCES)))
    return deal


def reference_mistyped(deal: Deal, sampler: Sampler) -> Deal:
    return _changed(
        deal,
        sampler,
        lambda paper, field: paper.with_values(**{field: mistype(paper.text(field), sampler.random)}),
    )


def reference_transposed(deal: Deal, sampler: Sampler) -> Deal:
    return _changed(
        deal,
        sampler,
        lambda paper, field: paper.with_values(**{field: transpose(paper.text(field), sampler.random)}),
    )


def reference_in_free_text(deal: Deal, sampler: Sampler) -> Deal:
    """The number stands in a sentence and was read into no field."""
    return _changed(deal, sampler, lambda paper, field: _in_text(paper, field, sampler, _IN_TEXT))


def several_in_one_field(deal: Deal, sampler: Sampler) -> Deal:
    """The field holds a number of another kind as well."""

    def joined(paper: Paper, field: str) -> Paper:
        other = paper.text("customer_number") or str(sampler.random.randint(1000, 99999))
        number = paper.text(field)
        text = sampler.choice(
            (f"{number} / {other}", f"{other} / {number}", f"{number}; {other}", f"{number} {other}")
        )
        return paper.with_values(**{field: text})

    return _changed(deal, sampler, joined)


def reference_with_words(deal: Deal, sampler: Sampler) -> Deal:
    """The field holds words beside the number."""
    words = sampler.choice(("Nr. {}", "Best. {}", "PO {}", "{} vom 12.", "#{}"))
    return _changed(
        deal, sampler, lambda paper, field: paper.with_values(**{field: words.format(paper.text(field))})
    )


def order_number_as_customer_reference(deal: Deal, sampler: Sampler) -> Deal:
    """The order's number stands in the field of the customer's number."""

    def moved(paper: Paper, field: str) -> Paper:
        return paper.with_values(**{"customer_number": paper.text(field), field: None})

    return _changed(deal, sampler, moved)


def payment_without_reference(deal: Deal, sampler: Sampler) -> Deal:
    words = ("", "Danke", "Zahlung", "Rechnung", "payment", "your invoice")
    return _booked(deal, sampler, lambda booking: replace(booking, numbers=(), remark=sampler.choice(words)))


def payment_reference_mistyped(deal: Deal, sampler: Sampler) -> Deal:
    return _number_changed(deal, sampler, lambda number: mistype(number, sampler.random))


def payment_reference_transposed(deal: Deal, sampler: Sampler) -> Deal:
    return _number_changed(deal, sampler, lambda number: transpose(number, sampler.random))


def payment_reference_truncated(deal: Deal, sampler: Sampler) -> Deal:
    """The bank keeps few characters of the purpose, or the end of a number is lost."""
    if sampler.chance(0.5):
        return _booked(
            deal, sampler, lambda booking: replace(booking, limit=sampler.choice((8, 12, 18, 27, 35)))
        )
    return _number_changed(
        deal, sampler, lambda number: number[: max(3, len(number) - sampler.random.randint(1, 3))]
    )


def payment_reference_digits_alone(deal: Deal, sampler: Sampler) -> Deal:
    """The payer cites the number without letters and separators, or its last part."""
    return _number_changed(deal, sampler, _digits)


def payment_names_customer_number(deal: Deal, sampler: Sampler) -> Deal:
    """The payer cites the customer number, alone or as well."""
    number = sampler.customer_number(deal.seller, deal.buyer)
    keep = sampler.chance(0.4)
    return _booked(
        deal, sampler, lambda booking: replace(booking, numbers=(number, *(booking.numbers if keep else ())))
    )


def payment_names_order(deal: Deal, sampler: Sampler) -> Deal:
    """The payer cites the order instead of the invoice."""
    orders = deal.of_type("purchase_order")
    if not orders:
        return deal
    return _booked(deal, sampler, lambda booking: replace(booking, numbers=(orders[0].text("number"),)))


# The other set, for measuring only.


def reference_in_other_text(deal: Deal, sampler: Sampler) -> Deal:
    """The number stands in a French or Nordic sentence and was read into no field."""
    return _changed(deal, sampler, lambda paper, field: _in_text(paper, field, sampler, _IN_OTHER_TEXT))


def references_lost(deal: Deal, sampler: Sampler) -> Deal:
    """One paper names no other."""
    named = [paper for paper in deal.papers if any(paper.text(field) for field in _REFERENCES)]
    return deal.with_paper(sampler.choice(named).with_values(**dict.fromkeys(_REFERENCES))) if named else deal


def reference_spaced(deal: Deal, sampler: Sampler) -> Deal:
    """The number is in groups of digits, or has dots for separators."""

    def spaced(number: str) -> str:
        if sampler.chance(0.5):
            return number.replace("-", ".").replace("/", ".")
        return " ".join(number[start : start + 3] for start in range(0, len(number), 3))

    return _changed(
        deal, sampler, lambda paper, field: paper.with_values(**{field: spaced(paper.text(field))})
    )


def reference_with_leading_zeros(deal: Deal, sampler: Sampler) -> Deal:
    """A program fills the number to ten places."""
    return _changed(
        deal, sampler, lambda paper, field: paper.with_values(**{field: paper.text(field).rjust(10, "0")})
    )


def digit_dropped(deal: Deal, sampler: Sampler) -> Deal:
    """A digit within a number is left out."""

    def dropped(paper: Paper, field: str) -> Paper:
        number = paper.text(field)
        place = sampler.random.randrange(len(number))
        return paper.with_values(**{field: number[:place] + number[place + 1 :]})

    return _changed(deal, sampler, dropped)


def payment_by_ocr_number(deal: Deal, sampler: Sampler) -> Deal:
    """Giro: the invoice prints a payment number with a check digit, which the payment cites alone."""
    singles = [booking for booking in deal.bookings if len(deal.invoices_of(booking)) == 1]
    if not singles:
        return deal
    booking = sampler.choice(singles)
    invoice = deal.invoices_of(booking)[0]
    digits = f"{sampler.random.randint(10, 9999)}{_digits(invoice.text('number'))}"
    number = f"{digits}{_luhn_digit(digits)}"
    label = sampler.choice(("OCR-nummer", "KID", "Betalings-ID", "Viitenumero", "Référence de paiement"))
    deal = deal.with_paper(invoice.with_note(f"{label}: {number}"))
    return deal.with_booking(replace(booking, numbers=(number,)))


def payment_in_short_words(deal: Deal, sampler: Sampler) -> Deal:
    """Only words: `faktura`, `facture du mois`."""
    words = ("faktura", "facture", "facture du mois", "betaling", "tak", "merci", "maksu")
    return _booked(deal, sampler, lambda booking: replace(booking, numbers=(), remark=sampler.choice(words)))


def payment_last_digits(deal: Deal, sampler: Sampler) -> Deal:
    """The payer cites the last four digits."""
    return _number_changed(deal, sampler, lambda number: _digits(number)[-4:])


def _changed(deal: Deal, sampler: Sampler, change: Callable[[Paper, str], Paper]) -> Deal:
    """Change one reference of one paper."""
    named = [(paper, field) for paper in deal.papers for field in _REFERENCES if paper.text(field)]
    if not named:
        return deal
    paper, field = sampler.choice(named)
    return deal.with_paper(change(paper, field))


def _in_text(paper: Paper, field: str, sampler: Sampler, sentences: dict[str, tuple[str, ...]]) -> Paper:
    note = sampler.choice(sentences[field]).format(paper.text(field))
    return paper.with_note(note).with_values(**{field: None})


def _booked(deal: Deal, sampler: Sampler, change: Callable[[Booking], Booking]) -> Deal:
    return deal.with_booking(change(sampler.choice(deal.bookings))) if deal.bookings else deal


def _number_changed(deal: Deal, sampler: Sampler, change: Callable[[str], str]) -> Deal:
    """Change one of the numbers that a payment cites."""
    citing = [booking for booking in deal.bookings if booking.numbers]
    if not citing:
        return deal
    booking = sampler.choice(citing)
    place = sampler.random.randrange(len(booking.numbers))
    changed = change(booking.numbers[place])
    numbers = tuple(changed if index == place else number for index, number in enumerate(booking.numbers))
    return deal.with_booking(replace(booking, numbers=numbers))


def _digits(number: str) -> str:
    return "".join(character for character in number if character.isdigit()) or number


def _luhn_digit(digits: str) -> int:
    """The check digit by Luhn's algorithm, as Nordic payment numbers have it."""
    doubled = [
        sum(divmod(int(digit) * (2 if index % 2 == 0 else 1), 10))
        for index, digit in enumerate(reversed(digits))
    ]
    return -sum(doubled) % 10
