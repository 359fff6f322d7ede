"""What an XML says against what the pages show: where they differ, someone may want to be paid twice."""

import re
from collections.abc import Iterator, Mapping
from datetime import date
from decimal import Decimal

from docmill.model import Failure, letters_and_digits
from docmill.understanding.einvoice.printed import Printed
from docmill.understanding.findings import Finding

CHECK = "xml_mismatch"
LEAST_SURE = 0.5
"""So much the rules must believe in what they read on the page before it speaks against the XML."""
LEAST_SURE_OF_NAMES = 0.7
_DATES = ("issue_date", "due_date", "delivery_date")
_AMOUNTS = ("gross_total", "net_total", "tax_total", "amount_due")
_NAMES: Mapping[str, str] = {
    "number": "number",
    "issue_date": "date of issue",
    "due_date": "due date",
    "delivery_date": "date of delivery",
    "gross_total": "total",
    "net_total": "total without tax",
    "tax_total": "tax",
    "amount_due": "amount due",
    "seller.name": "seller's name",
    "seller.vat_id": "seller's VAT identifier",
    "payment.iban": "IBAN",
}
_WORD = re.compile(r"[^\W\d_]{3,}")


def mismatches(
    values: Mapping[str, object], shown: Mapping[str, Finding], printed: Printed
) -> tuple[Failure, ...]:
    """Where the pages show another value than the XML says, and that of the XML nowhere.

    values: the XML's, by path. shown: what the rules read on the pages. What the pages do not show at
    all is no mismatch, but for the total: without it, there is no bill.
    """
    return tuple(
        failure
        for check in (_dates, _amounts, _number, _accounts, _seller)
        for failure in check(values, shown, printed)
    )


_Values = Mapping[str, object]
_Shown = Mapping[str, Finding]


def _dates(values: _Values, shown: _Shown, printed: Printed) -> Iterator[Failure]:
    known = {value for value in values.values() if isinstance(value, date)}
    for path in _DATES:
        value, rival = values.get(path), _rival(shown, path)
        if not isinstance(value, date) or value in printed.dates or rival is None:
            continue
        if isinstance(rival.value, date) and rival.value not in known:
            yield _mismatch(path, value, rival.value)


def _amounts(values: _Values, shown: _Shown, printed: Printed) -> Iterator[Failure]:
    for path in _AMOUNTS:
        value, rival = values.get(path), _rival(shown, path)
        if not isinstance(value, Decimal) or abs(value) in printed.amounts or not printed.amounts:
            continue
        others = (values.get(other) for other in _AMOUNTS if other not in (path, _twin(path)))
        known = {abs(other) for other in others if isinstance(other, Decimal)}
        if rival is not None and isinstance(rival.value, Decimal) and abs(rival.value) not in known:
            yield _mismatch(path, value, rival.value)
        elif path == "gross_total" and value:
            yield Failure(
                check=CHECK,
                message=f"The embedded XML says {value} for the total, which the page does not show.",
                fields=(path,),
            )


def _twin(path: str) -> str:
    """Total and amount due are mostly the same: if one is changed, the other does not excuse it."""
    return {"gross_total": "amount_due", "amount_due": "gross_total"}.get(path, path)


def _number(values: _Values, shown: _Shown, printed: Printed) -> Iterator[Failure]:
    value, rival = values.get("number"), _rival(shown, "number")
    if not isinstance(value, str) or rival is None or printed.holds(value):
        return
    said = {letters_and_digits(one) for one in values.values() if isinstance(one, str)}
    if not any(letters_and_digits(str(rival.value)) in one for one in said):
        yield _mismatch("number", value, rival.value)


def _accounts(values: _Values, shown: _Shown, printed: Printed) -> Iterator[Failure]:
    """A page's account or VAT identifier is right by its checksum: no rule needs to believe in it."""
    del shown
    said = {letters_and_digits(one) for one in values.values() if isinstance(one, str)}
    for path, codes in (("payment.iban", printed.ibans), ("seller.vat_id", printed.vat_ids)):
        value = values.get(path)
        if not isinstance(value, str) or printed.holds(value):
            continue
        rival = next((code for code in codes if letters_and_digits(code) not in said), None)
        if rival is not None:
            yield _mismatch(path, value, rival)


def _seller(values: _Values, shown: _Shown, printed: Printed) -> Iterator[Failure]:
    """Names are written in many ways: only one of which hardly a word is shown is another."""
    value, rival = values.get("seller.name"), shown.get("seller.name")
    if not isinstance(value, str) or rival is None or printed.is_recognised:
        return
    words = _WORD.findall(value)
    missing = [word for word in words if not printed.holds(word)]
    least = LEAST_SURE if missing == words else LEAST_SURE_OF_NAMES
    if words and len(missing) * 2 > len(words) and rival.probability >= least:
        yield _mismatch("seller.name", value, rival.value)


def _rival(shown: _Shown, path: str) -> Finding | None:
    found = shown.get(path)
    return found if found is not None and found.probability >= LEAST_SURE else None


def _mismatch(path: str, said: object, shown: object) -> Failure:
    message = f"The embedded XML says {said} for the {_NAMES[path]}, the page shows {shown}."
    return Failure(check=CHECK, message=message, fields=(path,))
