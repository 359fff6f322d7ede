"""The VAT category (BT-118 of EN 16931) where a document says why it has no VAT, as a code of UNTDID 5305."""

from collections.abc import Iterator
from decimal import Decimal

from docmill.schemas.tax_categories import PATH
from docmill.understanding.fields.candidates import Candidates
from docmill.understanding.fields.findings import Finding, Findings
from docmill.understanding.page.labels import TAX_CATEGORIES
from docmill.understanding.page.layout import Span
from docmill.understanding.page.terms import is_conditional_tax

STATED = 0.9
"""Confidence in the category of a sentence."""


def tax_category(candidates: Candidates, findings: Findings) -> Iterator[tuple[str, Finding]]:
    """The VAT category that a document without VAT states; several codes where it states several.

    findings: the amounts. Sentences on what may be are general terms, and so are all of them where VAT is
    charged.
    """
    tax = findings.get("tax_total")
    net, gross = (findings.get(name) for name in ("net_total", "gross_total"))
    if tax is not None and tax.value != Decimal(0):
        return
    if net is not None and gross is not None and net.value != gross.value:
        return
    places: dict[str, Span] = {}
    for segment in candidates.layout.segments:
        phrases = [phrase for phrase in TAX_CATEGORIES.find(segment.text) if phrase.quality == 1]
        if phrases and not is_conditional_tax(segment.text, candidates.conventions.language):
            for phrase in phrases:
                places.setdefault(phrase.meanings[0], Span(segment, phrase.start, phrase.stop))
    if places:
        codes = sorted(places)
        yield PATH, Finding(" ".join(codes), tuple(places[code] for code in codes), STATED)
