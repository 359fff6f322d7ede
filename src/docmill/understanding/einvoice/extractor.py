"""Classification and extraction of a document by the XML that it carries.

Its pages must show the same values: where they show another one, that is a failure.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date
from decimal import Decimal
from functools import cached_property

from docmill.model.document import Document, letters_and_digits
from docmill.model.paths import is_same_value, leaves
from docmill.model.result import Classification, Evidence, Extraction, Failure, StepTaken
from docmill.schemas.document_types import DEFINITIONS, DocumentType
from docmill.schemas.registry import REGISTRY
from docmill.understanding.constraints.extractor import ruled_findings
from docmill.understanding.einvoice.mapping import map_terms
from docmill.understanding.einvoice.reading import EInvoice
from docmill.understanding.fields.analysis_cache import candidates_of
from docmill.understanding.fields.findings import Finding
from docmill.understanding.locate.evidence import located
from docmill.understanding.page.layout import text_runs
from docmill.understanding.text.codes import Code, find_ibans, find_vat_ids
from docmill.understanding.text.dates import find_dates
from docmill.understanding.text.money import Mark, find_amounts
from docmill.understanding.types.tags import choose_tags, tags_in

EMBEDDED = Evidence(page=None, box=None, text=None, match="embedded", confidence=1.0)
"""Evidence of a value found only in the XML. The values of an XML are certain, wherever they are printed."""
CHECK = "xml_mismatch"
MAX_PAGES = 40
"""Header fields and totals are on the first pages."""
LEAST_SURE = 0.5
"""Probability from which a value that the rules read on the pages counts against the XML."""
LEAST_SURE_OF_NAMES = 0.7
_IBAN_FORM = re.compile(r"\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2} ?[A-Z0-9]{3,4}(?: ?[A-Z0-9]{1,4}){0,5}\b")
"""The shortest have 15 characters."""
_VAT_FORM = re.compile(r"\b(?:ATU|BE|DE|DK|EL|ES|FI|FR|IE|IT|LU|NL|PL|PT|SE) ?\d(?:[ .]?\d){7,10}\b")
_WORD = re.compile(r"[^\W\d_]{3,}")
_MARKS: tuple[Mark, ...] = (".", ",")
_SHORTEST_ALIKE = 5
"""Length from which numbers that differ in one character are no coincidence."""
_DATES = ("issue_date", "due_date", "delivery_date")
_AMOUNTS = ("gross_total", "net_total", "tax_total", "amount_due")
_MOSTLY_EQUAL = {"gross_total": "amount_due", "amount_due": "gross_total"}
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
_Values = Mapping[str, object]
_Findings = Mapping[str, Finding]


def extract_einvoice(document: Document, invoice: EInvoice, document_type: DocumentType) -> Extraction:
    """The values of the XML, with their places on the pages and the failures of its rules.

    document_type: the type whose fields are wanted; by default the XML's own, but a person may have chosen
    another one, such as `credit_note` for what the XML calls an invoice.
    """
    is_own = document_type == invoice.document_type
    data = invoice.data if is_own else map_terms(invoice.terms, REGISTRY[document_type].fields)
    values = dict(leaves(data))
    evidence = dict.fromkeys(values, EMBEDDED)
    failures = invoice.failures
    is_xml_alone = document.media_type == "application/xml"
    if not is_xml_alone:
        candidates = candidates_of(document)
        findings = ruled_findings(candidates, invoice.document_type)
        places = located(document, invoice.data, REGISTRY[invoice.document_type])
        for path, value in values.items():
            finding, proof = findings.get(path), places.get(path)
            if finding is not None and len(finding.spans) == 1 and is_same_value(finding.value, value):
                (span,) = finding.spans
                words = span.segment.words(span.start, span.stop)
                number, _, _, box, printed = candidates.layout.sheet(span.segment).page.place(*words)
                match = "exact" if printed == str(value) else "normalised"
                evidence[path] = Evidence(page=number, box=box, text=printed, match=match, confidence=1.0)
            elif proof is not None and proof.match in ("exact", "normalised"):
                evidence[path] = proof.model_copy(update={"confidence": 1.0})
        # A value that is not printed at all is no failure, except for those that every invoice shows.
        printed = PrintedValues(document)
        failures += (*_check_dates(values, findings, printed), *_check_amounts(values, findings, printed))
        failures += (*_check_number(values, findings, printed), *_check_parties(values, findings, printed))
    by = f"{'' if is_xml_alone else 'embedded '}{invoice.name} XML"
    return Extraction(
        document_type=document_type,
        data=data,
        evidence=evidence,
        steps=(StepTaken(kind="read", by=by, is_from_xml=True),),
        failures=failures,
    )


def classify_einvoice(
    document: Document, invoice: EInvoice, tags_in_use: Sequence[str] = ()
) -> Classification:
    """The classification by type, number, parties, date and total of the XML, with a confidence of 1."""
    terms, definition = invoice.terms, DEFINITIONS[invoice.document_type]
    name = definition.label
    number, seller, buyer = (
        " ".join((terms.text(term) or "").split()) for term in ("BT-1", "BT-27", "BT-44")
    )
    issued, total = terms.date("BT-2"), terms.number("BT-112")
    party = buyer if definition.counterparty == "buyer.name" else seller
    name_and_number = f"{name} {number}" if number else name
    title = ", ".join(filter(None, (name_and_number, party)))
    summary = [name_and_number]
    summary += [f"from {seller}"] if seller else []
    summary += [f"to {buyer}"] if buyer else []
    summary += [f"of {issued}"] if issued else []
    summary += [f"for {total} {terms.text('BT-5') or ''}".rstrip()] if total is not None else []
    return Classification(
        document_type=invoice.document_type,
        title=title,
        summary=" ".join(summary).rstrip(".") + ".",
        document_date=issued,
        tags=choose_tags(
            [*tags_in([title], tags_in_use), party, name, issued and str(issued.year)], tags_in_use
        ),
        language=document.language,
        confidence=1.0,
    )


class PrintedValues:
    """The values printed on a document's first pages. Amounts have no sign: credit notes print either."""

    def __init__(self, document: Document) -> None:
        pages = [page for page in document.pages[:MAX_PAGES] if page.words.texts]
        self.is_recognised = any(page.source == "ocr" for page in pages)
        self.words = [text for page in pages for text in page.words.texts]
        self._pages = pages

    @cached_property
    def amounts(self) -> set[Decimal]:
        """All numbers, with a point and with a comma as the decimal mark."""
        return {
            abs(written.value(mark))
            for text, is_recognised in self._runs
            for written in find_amounts(text, misread=is_recognised)
            for mark in _MARKS
        }

    @cached_property
    def dates(self) -> set[date]:
        """All dates, with the day and with the month first."""
        dates = [written for text, _ in self._runs for written in find_dates(text)]
        days = (written.value(day_first=day_first) for written in dates for day_first in (True, False))
        return {day for day in days if day is not None}

    def codes(self, find: Callable[[str], Iterator[Code]], form: re.Pattern[str]) -> list[str]:
        """The printed codes of a kind: those with a valid checksum, then other texts that look like one.

        find: finds the codes in a text. form: how they look; not used on scans, which have misread texts.
        """
        texts = [text for text, _ in self._runs]
        codes = [code.value for text in texts for code in find(text) if code.valid]
        if not self.is_recognised:
            codes += [re.sub(r"\s", "", match[0]) for text in texts for match in form.finditer(text)]
        return codes

    def contains(self, value: str) -> bool:
        """Return whether the value is printed, also within longer words or across lines."""
        letters = letters_and_digits(value)
        return any(letters in text for text in self._page_letters)

    @cached_property
    def _page_letters(self) -> list[str]:
        return [letters_and_digits("".join(page.words.texts)) for page in self._pages]

    @cached_property
    def _runs(self) -> list[tuple[str, bool]]:
        """The text of each run of words, and whether it was recognised."""
        return [
            (" ".join(page.words.texts[run.start : run.stop]), page.source == "ocr")
            for page in self._pages
            for run in text_runs(page)
        ]


def _check_dates(values: _Values, findings: _Findings, printed: PrintedValues) -> Iterator[Failure]:
    """Failures of dates. The rules may have read another date of the XML, but not for the date of issue."""
    dates = {value for value in values.values() if isinstance(value, date)}
    for path in _DATES:
        value, other = values.get(path), _likely_value(findings, path)
        if not isinstance(value, date) or value in printed.dates:
            continue
        if other is not None and (path == "issue_date" or other not in dates):
            yield _mismatch(path, value, other)
        elif path == "issue_date" and printed.dates and not printed.is_recognised:
            yield _mismatch(path, value, None)


def _check_amounts(values: _Values, findings: _Findings, printed: PrintedValues) -> Iterator[Failure]:
    """Failures of totals. The rules may have read another one, but total and amount due are mostly equal."""
    for path in _AMOUNTS:
        value, other = values.get(path), _likely_value(findings, path)
        if not isinstance(value, Decimal) or abs(value) in printed.amounts or not printed.amounts:
            continue
        others = [values.get(name) for name in _AMOUNTS if name not in (path, _MOSTLY_EQUAL.get(path))]
        amounts = {abs(amount) for amount in others if isinstance(amount, Decimal)}
        is_reported = path == "amount_due" and value == values.get("gross_total")
        if isinstance(other, Decimal) and abs(other) not in amounts:
            yield _mismatch(path, value, other)
        elif path in _MOSTLY_EQUAL and value and not is_reported and not printed.is_recognised:
            yield _mismatch(path, value, None)


def _check_number(values: _Values, findings: _Findings, printed: PrintedValues) -> Iterator[Failure]:
    """A failure of the number, of which also a part may be printed; the rules may have read another text."""
    value, other = values.get("number"), _likely_value(findings, "number")
    if not isinstance(value, str) or printed.contains(value):
        return
    excused = {letters_and_digits(str(text)) for path, text in values.items() if path != "number"}
    if other is not None:
        if letters_and_digits(str(other)) not in excused.union(re.split(r"[\W_]+", value.casefold())):
            yield _mismatch("number", value, other)
        return
    letters = letters_and_digits(value)
    if printed.is_recognised or len(letters) < _SHORTEST_ALIKE:
        return
    for word in printed.words:
        read = letters_and_digits(word)
        if len(read) != len(letters) or read in excused:
            continue
        if sum(char != wanted for char, wanted in zip(read, letters, strict=True)) == 1:
            yield _mismatch("number", value, word)
            return


def _check_parties(values: _Values, findings: _Findings, printed: PrintedValues) -> Iterator[Failure]:
    """Failures of account and VAT identifier, and of the seller's name if hardly a word of it is printed."""
    texts = {letters_and_digits(value) for value in values.values() if isinstance(value, str)}
    for path, find, form in (
        ("payment.iban", find_ibans, _IBAN_FORM),
        ("seller.vat_id", find_vat_ids, _VAT_FORM),
    ):
        value = values.get(path)
        if isinstance(value, str) and not printed.contains(value):
            codes = (code for code in printed.codes(find, form) if letters_and_digits(code) not in texts)
            other = next(codes, None)
            if other is not None:
                yield _mismatch(path, value, other)
    value, finding = values.get("seller.name"), findings.get("seller.name")
    if isinstance(value, str) and finding is not None and not printed.is_recognised:
        words = _WORD.findall(value)
        missing = [word for word in words if not printed.contains(word)]
        least = LEAST_SURE if missing == words else LEAST_SURE_OF_NAMES
        if words and len(missing) * 2 > len(words) and finding.probability >= least:
            yield _mismatch("seller.name", value, finding.value)


def _likely_value(findings: _Findings, path: str) -> object:
    """The value found for a path if it is likely, and printed, not computed."""
    finding = findings.get(path)
    is_likely = finding is not None and bool(finding.spans) and finding.probability >= LEAST_SURE
    return finding.value if finding is not None and is_likely else None


def _mismatch(path: str, value: object, other: object) -> Failure:
    """A failure of a value of the XML. other: the value that is printed; None if there is none."""
    message = f"The embedded XML says {value} for the {_NAMES[path]}, "
    message += "which the page does not show." if other is None else f"the page shows {other}."
    return Failure(check=CHECK, message=message, fields=(path,))
