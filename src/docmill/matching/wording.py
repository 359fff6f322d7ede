"""Links, reasons and discrepancies in sentences, for the pages, the command line and messages."""

import re
from collections.abc import Mapping

from docmill.matching.outcome import Discrepancy, DiscrepancyCode, Reason, Relation

RELATION_NAMES: dict[Relation, str] = {
    "quote_to_order": "quote and order",
    "contract_to_order": "contract and order",
    "contract_to_invoice": "contract and invoice",
    "order_to_response": "order and its change or response",
    "order_to_delivery": "order and delivery",
    "order_to_invoice": "order and invoice",
    "delivery_to_invoice": "delivery and invoice",
    "invoice_to_credit_note": "invoice and credit note",
    "invoice_to_reminder": "invoice and reminder",
    "invoice_to_receipt": "invoice and receipt",
    "invoice_to_payment": "invoice and payment",
    "receipt_to_payment": "receipt and payment",
    "credit_note_to_payment": "credit note and payment",
    "payment_to_return": "payment and its return",
    "duplicate": "duplicate",
}

REASONS = {
    "reference_equal": "It names the number {first}.",
    "reference_core": "It names the number {first}, without its series or with another.",
    "reference_text": "The number {first} stands in its text.",
    "reference_partial": "It names {second}, which may be a part of {first}.",
    "reference_mistyped": "It names {second}, which may be {first} mistyped.",
    "reference_misread": "It names {second}, which may be {first} misread.",
    "reference_unrelated": "It names a number, but not {first}.",
    "reference_other": "It names another number: {second} instead of {first}.",
    "shared_same": "Both name the same third number.",
    "shared_loose": "Both name the same customer or contract.",
    "shared_linked": "Both belong to the same third document.",
    "shared_different": "They name different third numbers.",
    "party_same_identifier": "The VAT number or account of the seller is the same.",
    "party_same_name": "The seller is the same: {second}.",
    "party_alias": "The seller is the same, as an earlier decision says: {first} and {second}.",
    "party_close_name": "The seller's name differs in a letter or word: {first} and {second}.",
    "party_similar": "The seller's name is similar: {first} and {second}.",
    "party_unknown": "The seller of one of them is not known for sure.",
    "party_different": "The sellers differ: {first} and {second}.",
    "other_party_same_identifier": "The VAT number or account of the buyer is the same.",
    "other_party_same_name": "The buyer is the same: {second}.",
    "other_party_alias": "The buyer is the same, as an earlier decision says: {first} and {second}.",
    "other_party_close_name": "The buyer's name differs in a letter or word: {first} and {second}.",
    "other_party_similar": "The buyer's name is similar: {first} and {second}.",
    "other_party_different": "The buyers differ: {first} and {second}.",
    "counterparty_same_identifier": "The account of the other party is the same.",
    "counterparty_same_name": "The other party is the same: {second}.",
    "counterparty_close_name": "The other party's name differs in a letter or word: {first} and {second}.",
    "counterparty_similar": "The other party's name is similar: {first} and {second}.",
    "counterparty_different": "The other parties differ: {first} and {second}.",
    "account_same_identifier": "Both are bookings of the same account.",
    "amount": "The amounts are {first} and {second}.",
    "amount_discount": "{second} is {first} less a cash discount.",
    "amount_net": "{second} is the amount without tax.",
    "amount_rounded": "{second} is {first}, rounded.",
    "amount_fee": "{second} is {first} but for what a bank may charge.",
    "amount_part": "{second} is a part of {first}.",
    "amount_part_of_sum": "{second} is a part of {first}, and the parts add up.",
    "amount_less_credit": "{second} is {first} less a credit note.",
    "amount_set_off": "{first} is set off against an invoice, which leaves {second}.",
    "amount_sum": "{first} is a part of {second}, and the parts add up.",
    "amount_close": "{second} is close to {first}.",
    "amount_line": "{second} is one line of {first}.",
    "amount_misread": "One digit of the amounts differs: {first} and {second}.",
    "quantity_sum": "The quantities of the parts add up.",
    "currency": "The currencies differ.",
    "date_expected": "The dates are as expected: {first} and {second}.",
    "date_usual": "The dates fit: {first} and {second}.",
    "date_possible": "The dates are possible: {first} and {second}.",
    "date_unlikely": "The dates are unlikely: {first} and {second}.",
    "date_impossible": "The dates do not fit: {first} and {second}.",
    "items_exact": "The line items and quantities are the same.",
    "items_all": "The line items are the same, in other quantities.",
    "items_most": "Most line items are the same.",
    "items_some": "Some line items are the same.",
    "items_none": "The line items differ.",
    "returned_possible": "Its text may say that a payment was returned: {second}.",
    "returned_words": "Its text says that a payment was returned: {second}.",
    "returned_code": "It gives a reason for which banks return payments: {second}.",
    "alternatives_none": "Nothing else fits either of them.",
    "model_belongs": "The model {by} says that they belong together: {text}",
    "model_separate": "The model {by} says that they do not belong together.",
}
"""By code; what was compared is put in for the names in braces."""

DISCREPANCIES: dict[DiscrepancyCode, str] = {
    "price": "Price per unit {found} instead of {expected}",
    "quantity": "Quantity {found} instead of {expected}",
    "tax": "Tax rate {found} % instead of {expected} %",
    "missing_line": "Not billed: {expected}",
    "over_billed": "Billed {found}, ordered {expected}",
    "under_billed": "Billed {found}, ordered {expected}",
    "paid_twice": "Paid twice: {found} for {expected}",
    "overpaid": "Paid {found} for {expected}",
    "underpaid": "Paid {found} of {expected}",
    "payment_returned": "Payment returned: {found} paid of {expected}",
    "iban_changed": "Another account: {found} instead of {expected}",
}


_NAMED = re.compile(r" ?: \{(first|second)\}\.$")
"""The end of a sentence that names a value."""


def reason_text(reason: Reason) -> str:
    """One sentence for a piece of evidence."""
    return as_sentence(REASONS[reason.code], reason.values)


def as_sentence(text: str, values: Mapping[str, str]) -> str:
    """The text with its values; one full stop ends it, also behind a value such as `Supply Co.`."""
    named = _NAMED.search(text)
    if named is not None and named[1] not in values:  # "The seller is the same: …." of nobody known
        text = f"{text[: named.start()]}."
    sentence = text.format_map({"first": "?", "second": "?", **values})
    return sentence[:-1] if sentence.endswith("..") else sentence


def discrepancy_text(discrepancy: Discrepancy) -> str:
    """A discrepancy with its figures, without a full stop."""
    text = DISCREPANCIES[discrepancy.code].format(expected=discrepancy.expected, found=discrepancy.found)
    return text if discrepancy.line is None else f"{text} (line {discrepancy.line + 1})"
