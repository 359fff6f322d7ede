"""The two disjoint sets of edits and ways of printing, with the probability of each edit for a deal.

Matching may be fitted to what `KNOWN` makes. `OTHER` is for measuring only.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from docmill.training.linked_documents.bank_texts import BANK_TEXTS, OTHER_BANK_TEXTS, BankText
from docmill.training.linked_documents.deals import Deal
from docmill.training.linked_documents.edits import (
    contents,
    copies,
    identities,
    payments,
    references,
    structure,
)
from docmill.training.linked_documents.sampling import Sampler

Edit = Callable[[Deal, Sampler], Deal]


@dataclass(frozen=True, slots=True)
class Style:
    """How documents of a tenant are made.

    countries: of partners; owner_countries: of tenants. first: exclusive choices of a deal's papers, with
    their weights; none of them leaves all papers. edits: with their probabilities, in this order. patterns:
    of numbers, in place of the usual ones.
    """

    name: str
    countries: tuple[str, ...]
    owner_countries: tuple[str, ...]
    first: tuple[tuple[Edit | None, float], ...]
    edits: tuple[tuple[Edit, float], ...]
    bank_texts: tuple[BankText, ...]
    patterns: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])


KNOWN = Style(
    name="known",
    countries=("DE", "DE", "DE", "DE", "AT", "CH", "NL", "GB", "US", "IT"),
    owner_countries=("DE", "DE", "AT", "NL"),
    first=(
        (None, 0.38),
        (structure.only_invoice, 0.28),
        (structure.no_delivery_note, 0.2),
        (structure.no_order, 0.09),
        (structure.no_invoice, 0.05),
    ),
    edits=(
        (structure.several_deliveries, 0.12),
        (structure.partial_delivery, 0.07),
        (structure.partial_invoices, 0.07),
        (structure.instalments, 0.06),
        (structure.one_invoice_for_two_orders, 0.06),
        (structure.subscription, 0.15),
        (structure.several_invoices, 0.12),
        (structure.quote, 0.06),
        (structure.framework_contract, 0.05),
        (contents.price_off_by_half_percent, 0.03),
        (contents.price_off_by_two_percent, 0.03),
        (contents.price_off_by_ten_percent, 0.03),
        (contents.quantity_differs, 0.05),
        (contents.tax_rate_wrong, 0.03),
        (contents.line_missing, 0.04),
        (contents.order_shows_net, 0.05),
        (contents.order_without_prices, 0.04),
        (structure.credit_note_for_all, 0.03),
        (structure.credit_note_for_part, 0.05),
        (identities.iban_changed, 1.0),
        (payments.pay_invoices, 1.0),
        (payments.credit_note_offset, 0.45),
        (payments.credit_note_refunded, 0.5),
        (payments.combined_payment, 0.3),
        (payments.partial_payment, 0.04),
        (payments.two_instalments, 0.05),
        (payments.net_paid, 0.02),
        (payments.fixed_bank_fee, 0.04),
        (payments.percent_bank_fee, 0.03),
        (payments.cash_discount, 0.14),
        (payments.discount_offered, 0.08),
        (payments.paid_twice, 0.03),
        (payments.overpaid, 0.02),
        (payments.paid_late, 0.08),
        (payments.paid_in_advance, 0.03),
        (payments.other_currency, 0.03),
        (payments.paid_in_cash, 0.03),
        (structure.reminder, 0.05),
        (references.reference_missing, 0.15),
        (references.all_references_missing, 0.06),
        (references.reference_mistyped, 0.05),
        (references.reference_transposed, 0.04),
        (references.reference_in_free_text, 0.08),
        (references.several_in_one_field, 0.05),
        (references.reference_with_words, 0.04),
        (references.order_number_as_customer_reference, 0.02),
        (references.payment_without_reference, 0.14),
        (references.payment_reference_mistyped, 0.05),
        (references.payment_reference_transposed, 0.03),
        (references.payment_reference_truncated, 0.07),
        (references.payment_reference_digits_alone, 0.08),
        (references.payment_names_customer_number, 0.06),
        (references.payment_names_order, 0.03),
        (identities.legal_form_dropped, 0.2),
        (identities.legal_form_spelt_out, 0.08),
        (identities.name_transliterated, 0.12),
        (identities.name_abbreviated, 0.08),
        (identities.name_in_capitals, 0.12),
        (identities.name_cut_to_27, 0.12),
        (identities.name_cut_to_35, 0.1),
        (identities.trading_name_used, 0.05),
        (identities.vat_id_missing, 0.3),
        (identities.vat_id_misread, 0.04),
        (identities.iban_missing, 0.15),
        (identities.iban_misread, 0.04),
        (identities.payment_without_account, 0.1),
        (contents.lines_not_read, 0.03),
        (identities.scanned, 0.3),
        (identities.decimal_mark_lost, 0.01),
        (copies.sent_twice, 0.03),
        (copies.scanned_copy, 0.04),
        (copies.copy_with_misread_number, 0.02),
    ),
    bank_texts=BANK_TEXTS,
)

OTHER = Style(
    name="other",
    countries=("FR", "FR", "FR", "BE", "SE", "SE", "DK", "NO", "FI"),
    owner_countries=("FR", "SE", "DK", "BE"),
    first=(
        (None, 0.3),
        (structure.only_invoice, 0.36),
        (structure.no_delivery_note, 0.18),
        (structure.no_order, 0.12),
        (structure.no_invoice, 0.04),
    ),
    edits=(
        (structure.several_deliveries, 0.16),
        (structure.partial_invoices, 0.1),
        (structure.subscription, 0.2),
        (structure.several_invoices, 0.16),
        (contents.price_off_by_five_percent, 0.06),
        (contents.quantity_tenfold, 0.03),
        (contents.tax_left_out, 0.04),
        (structure.credit_note_for_part, 0.07),
        (identities.iban_changed, 1.0),
        (payments.pay_invoices, 1.0),
        (payments.credit_note_offset, 0.6),
        (payments.combined_payment, 0.4),
        (payments.three_instalments, 0.06),
        (payments.nordic_discount, 0.14),
        (payments.rounded_payment, 0.05),
        (payments.rest_after_complaint, 0.03),
        (payments.paid_twice, 0.02),
        (payments.paid_late, 0.12),
        (structure.reminder, 0.06),
        (references.references_lost, 0.16),
        (references.reference_in_other_text, 0.1),
        (references.reference_spaced, 0.08),
        (references.reference_with_leading_zeros, 0.06),
        (references.digit_dropped, 0.05),
        (references.payment_by_ocr_number, 0.2),
        (references.payment_in_short_words, 0.14),
        (references.payment_last_digits, 0.06),
        (identities.name_by_initials, 0.05),
        (identities.name_last_word_first, 0.06),
        (identities.name_legal_form_first, 0.12),
        (identities.name_with_branch, 0.08),
        (identities.name_letters_joined, 0.06),
        (identities.name_cut_to_18, 0.14),
        (identities.identities_missing, 0.25),
        (identities.scanned_otherwise, 0.3),
        (copies.copy_by_other_reader, 0.06),
    ),
    bank_texts=OTHER_BANK_TEXTS,
    patterns={
        "invoice": (
            "FA-{year}-{n:04}",
            "F{year}{n:05}",
            "F-{yy}{month:02}-{n:03}",
            "{n:07}",
            "{n:05}",
            "FAC{n:06}",
        ),
        "order": ("CDE{n:05}", "BC-{yy}-{n:04}", "{n:08}", "IO{n:05}", "CF{year}{n:04}"),
        "delivery_note": ("BL{n:06}", "BL-{yy}-{n:05}", "FS{n:05}", "{n:06}"),
        "credit_note": ("AV-{year}-{n:04}", "KF{n:05}", "AV{n:06}"),
    },
)
"""French and Nordic: edits of its own, and those of structure that make no value."""
