"""Checks of the currency: its place on the page, its country, and items that are in another one."""

import re
from collections.abc import Iterator
from datetime import date

from docmill.model.result import Failure
from docmill.understanding.gate.countries import countries_of, is_of_paper
from docmill.understanding.gate.inputs import GateInput
from docmill.understanding.page.labels import LABELS
from docmill.understanding.text.money import euro_since, find_currencies

_LONGEST_SEARCHED = 100_000
_LETTERS = re.compile(r"[^\W\d_]{1,4}")
"""A code, or a sign of letters such as `kr` or `R`."""
_OF_ITEM = re.compile(r"lines\[\d+\]\.net_amount")


def check_item_currencies(judged: GateInput) -> Iterator[Failure]:
    """Failures of items whose line names another currency, and not that of the document."""
    currency = judged.values.get("currency")
    for path in filter(_OF_ITEM.fullmatch, judged.values if currency else ()):
        line = judged.line_of(path)
        codes = set(find_currencies(f"{line.before} {line.after}")) if line else set[str]()
        if codes and currency not in codes:
            message = f"{judged.name(path)} is in {', '.join(sorted(codes))}, the document in {currency}."
            yield Failure(check="item_currency", message=message, fields=(path,))


def check_euro(judged: GateInput) -> Iterator[Failure]:
    """A failure of euros in a country that did not have them yet: only their equivalent is printed there."""
    currency, day = judged.values.get("currency"), judged.values.get("issue_date")
    if currency != "EUR" or not isinstance(day, date) or not is_of_paper(judged):
        return
    for code in countries_of(judged):
        since = euro_since(code)
        if since is not None and day < since:
            message = f"The currency is EUR, but there is no euro in the seller's country before {since}."
            yield Failure(check="currency_of_country", message=message, fields=("currency", "issue_date"))


def check_currency(judged: GateInput) -> Iterator[Failure]:
    """A failure if the code of the currency is printed among other words only, and never beside an amount."""
    evidence, line = judged.evidence("currency"), judged.line_of("currency")
    if line is None or evidence is None or "currency" not in judged.values:
        return
    code = (evidence.text or "").strip()
    if not _LETTERS.fullmatch(code):
        return
    before, after = line.before.strip(), line.after.strip()
    is_among_words = after[:1].isalpha() and (not before or before[-1].isalpha())
    if not is_among_words or LABELS.find(before) or LABELS.find(after):
        return
    text = judged.document.text[:_LONGEST_SEARCHED]
    if re.search(rf"\d\s?{code}(?![^\W_])|(?<![^\W_]){code}\s{{0,3}}[-\u2212]?[.,]?\d", text):
        return
    message = f"The currency {code!r} stands among other words: {line.before[-20:]} {code} {line.after[:20]}."
    yield Failure(check="currency_place", message=message, fields=("currency",))
