"""Which papers and payments might belong together by all that they show, as people would see it.

Two decoys that fit each other are, to everybody, a pair: no label can say otherwise. This is the world that
the documents are drawn from, not the evidence that matching looks at.
"""

import datetime as dt
from collections.abc import Iterable, Mapping

from docmill.training.linked_documents.deals import Booking, Paper

NAMED_IN: Mapping[str, Mapping[str, str]] = {
    "delivery_note": {"purchase_order": "order_number"},
    "invoice": {"purchase_order": "order_number", "delivery_note": "delivery_note_number"},
    "credit_note": {"invoice": "preceding_invoice_number"},
    "reminder": {"invoice": "invoice_number"},
}
"""By the type of a later paper: the earlier ones that it names, and the field that it names each in."""
_AS_MADE: Mapping[tuple[str, str], tuple[int, int]] = {
    ("purchase_order", "delivery_note"): (0, 30),
    ("purchase_order", "invoice"): (0, 45),
    ("delivery_note", "invoice"): (0, 16),
    ("invoice", "credit_note"): (0, 45),
    ("invoice", "reminder"): (7, 90),
}
"""The days from one paper to another between which deals have them."""
_LONGER = 30
"""Days more after which nobody wonders either, where nothing else fits."""
_EARLIEST_PAYMENT, _AFTER_DUE = 2, 5
"""The usual days of payments: from so many after the invoice to so many after it is due."""


def may_follow(second: Paper, first: Paper, *, is_only: bool = False) -> bool:
    """Whether two papers of the same companies may be of one deal: no number, goods or days part them.

    is_only: whether nothing that fits better is there, so that days may be further apart.
    """
    window = _AS_MADE.get((first.document_type, second.document_type))
    if window is None or _names_another(second, first) or not _are_of_same_goods(first, second):
        return False
    return window[0] <= (second.day - first.day).days <= window[1] + (_LONGER if is_only else 0)


def names(second: Paper, first: Paper) -> bool:
    """Whether a paper names another one by its number, in a field or a sentence."""
    number = first.text("number")
    field = NAMED_IN.get(second.document_type, {}).get(first.document_type, "")
    return bool(number) and any(number in text for text in (second.text(field), *second.notes))


def pays_equally(booking: Booking, invoice: Paper, other: Paper) -> bool:
    """Whether a payment that cites nothing pays another invoice of the partner as well as that one."""
    return (
        not booking.numbers
        and other.gross == invoice.gross
        and other.text("currency") == invoice.text("currency")
        and _usual_days(other)[0] <= booking.day <= _usual_days(other)[1]
    )


def _names_another(second: Paper, first: Paper) -> bool:
    fields: Iterable[tuple[str, str]] = NAMED_IN.get(second.document_type, {}).items()
    for document_type, field in fields:
        named = second.text(field)
        if document_type == first.document_type:
            if named and first.text("number") not in named:
                return True
        elif named and first.text(field) and named != first.text(field):
            return True
    return False


def _are_of_same_goods(first: Paper, second: Paper) -> bool:
    if first.lines and second.lines:
        return [line.quantity for line in first.lines] == [line.quantity for line in second.lines]
    return not first.gross or not second.gross or first.gross == second.gross


def _usual_days(invoice: Paper) -> tuple[dt.date, dt.date]:
    due: dt.date = invoice.value("due_date") or invoice.day + dt.timedelta(days=30)
    return (
        invoice.day + dt.timedelta(days=_EARLIEST_PAYMENT),
        due + dt.timedelta(days=_AFTER_DUE),
    )
