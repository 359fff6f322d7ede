"""Checks of document, order and customer numbers: none is a measure, post box, phone number or date."""

import re
from collections.abc import Iterator, Sequence

import numpy as np

from docmill.model.document import letters_and_digits
from docmill.model.result import Failure
from docmill.understanding.gate.inputs import GateInput, ValueLine, meanings_before, own_meanings
from docmill.understanding.page.labels import LABELS
from docmill.understanding.text.dates import find_dates
from docmill.understanding.text.number_forms import is_after_post_box, is_amount, is_dialled, is_measure
from docmill.understanding.vocabulary import Concept

_NUMBERS = (
    "number",
    "order_number",
    "delivery_note_number",
    "contract_number",
    "customer_number",
    "preceding_invoice_number",
)
_OTHER_NUMBERS = {
    Concept.PHONE: "a phone number",
    Concept.TAX_NUMBER: "a tax number",
    Concept.VAT_NUMBER: "a VAT number",
    Concept.REGISTRATION_NUMBER: "a registration number",
    Concept.IBAN: "an account",
    Concept.ACCOUNT: "an account",
    Concept.BANK: "a bank",
    Concept.BIC: "a bank",
}
_IDENTIFIERS = ("seller.vat_id", "buyer.vat_id", "payment.iban", "payment.bic", "iban")
_OF_INVOICE = "invoice_number"
_FLUSH = 0.005
"""Fractions of the page by which the words of a column begin at most apart."""
_NAMED = 3
"""Other numbers that a message names."""
_OWN_LABEL = 0.8
"""Least strength with which a label names a user's own field, so that it is no label of something else."""
_SHORTEST = 7
"""Letters and digits of a number that is not equal to another by chance."""
_POSTAL = re.compile(r"\d{3}-\d{4}|\d{4,6}|\d{5}-\d{4}|\d{2}-\d{3}")
_PLACE = re.compile(r"(?:^|[\s,])[^\W\d_]{3,},?$")
"""A word at the end of a text, as a town before its code is."""
_DATE_MARKS = re.compile(r"[/.\-]")


def check_numbers(judged: GateInput) -> Iterator[Failure]:
    """Failures of numbers whose own form, or the text before them, shows that they are something else."""
    for path in number_paths(judged):
        value = judged.values.get(path)
        if not isinstance(value, str):
            continue
        line = judged.line_of(path)
        is_named = line is not None and _is_named(judged, path, line)
        other = _other_meaning(judged, value) or (_meaning_of_place(line) if line and not is_named else "")
        if not other and line and _POSTAL.fullmatch(value) and _is_in_address(line):
            other = "a postal code"
        if other:
            message = f"{judged.name(path)} {value!r} seems to be {other}."
            yield Failure(check="number_form", message=message, fields=(path,))


def check_listed_numbers(judged: GateInput) -> Iterator[Failure]:
    """A failure of the number of an invoice that is the first of several in a column, as on a reminder."""
    value, evidence = judged.values.get(_OF_INVOICE), judged.evidence(_OF_INVOICE)
    page = evidence and next((page for page in judged.document.pages if page.number == evidence.page), None)
    if not isinstance(value, str) or not evidence or not evidence.box or not page:
        return
    words, box, shape = page.words, evidence.box, _shape(evidence.text or "")
    below = np.flatnonzero((abs(words.boxes[:, 0] - box.x0) < _FLUSH) & (words.boxes[:, 1] > box.y0 + _FLUSH))
    others = {words.texts[index] for index in below if _shape(words.texts[index]) == shape} - {evidence.text}
    if others:
        message = (
            f"{judged.name(_OF_INVOICE)} {value!r} is one of several: {', '.join(sorted(others)[:_NAMED])}."
        )
        yield Failure(check="several_numbers", message=message, fields=(_OF_INVOICE,))


def _shape(text: str) -> str:
    """The text with every digit as 0 and every letter as A."""
    return re.sub(r"[^\W\d_]", "A", re.sub(r"\d", "0", text))


def number_paths(judged: GateInput) -> Sequence[str]:
    """The paths of the fields for numbers; of a user's schema, those with the form of a code."""
    if judged.own_fields is None:
        return _NUMBERS
    return [path for path, meaning in own_meanings(judged.own_fields).items() if meaning.form == "code"]


def _other_meaning(judged: GateInput, value: str) -> str:
    """The noun for a value that has the form of something else than a number, such as an amount; else ""."""
    if is_measure(value):
        return "a measure or quantity"
    if is_amount(value):
        return "an amount"
    dates = find_dates(value) if _DATE_MARKS.search(value) else ()
    if dates and dates[0].stop - dates[0].start == len(value):
        return "a date"
    compact = letters_and_digits(value)
    for path in _IDENTIFIERS:
        known = judged.values.get(path)
        if len(compact) >= _SHORTEST and letters_and_digits(str(known or "")).endswith(compact):
            return f"the {judged.inner_name(path)}"
    return ""


def _is_named(judged: GateInput, path: str, line: ValueLine) -> bool:
    """Return whether the label before a value has the words of a user's own field: `Folio no` of a hotel."""
    if judged.own_fields is None:
        return False
    meaning = own_meanings(judged.own_fields).get(path)
    return meaning is not None and meaning.match_strength(line.before) >= _OWN_LABEL


def _meaning_of_place(line: ValueLine) -> str:
    """The noun for a value that the text before it on its line shows to be something else; else ""."""
    if is_after_post_box(line.before):
        return "a post box"
    if is_dialled(line.before):
        return "a phone number"
    meanings = meanings_before(line)
    if meanings and meanings <= _OTHER_NUMBERS.keys():
        return next(meaning for concept, meaning in _OTHER_NUMBERS.items() if concept in meanings)
    return ""


def _is_in_address(line: ValueLine) -> bool:
    """Return whether a value stands behind a word that is no label, and no digit behind the value."""
    return (
        bool(_PLACE.search(line.before))
        and not LABELS.find(line.before)
        and not any(map(str.isdecimal, line.after))
    )
