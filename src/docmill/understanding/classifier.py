"""What a document is, by the words its titles and labels use."""

import re
from collections import Counter
from collections.abc import Mapping
from datetime import date

from docmill.model import DOCUMENT_TYPES, Classification, Document, DocumentType
from docmill.understanding.conventions import conventions
from docmill.understanding.extractor import findings
from docmill.understanding.findings import Finding, probabilities
from docmill.understanding.labels import Phrases
from docmill.understanding.layout import Layout
from docmill.understanding.vocabulary import LANGUAGES

NAMES: Mapping[DocumentType, str] = {
    "invoice": "Invoice",
    "receipt": "Receipt",
    "purchase_order": "Purchase order",
    "delivery_note": "Delivery note",
    "bank_statement": "Bank statement",
    "other": "Document",
}

_Title = tuple[DocumentType, float]
_TITLES: Phrases[_Title] = Phrases(
    (phrase, (kind, weight))
    for language in LANGUAGES
    for kind, phrases in language.titles.items()
    for phrase, weight in phrases.items()
)
_MAILS = frozenset({"message/rfc822", "application/vnd.ms-outlook", "application/ms-tnef"})
_SUBJECT = "Subject:"
_HEADS = ("From:", "To:", "Cc:", "Bcc:", "Date:", _SUBJECT)
"""How the lines begin that reading sets above the text of a mail."""
_NULL = 2.0
"""The score a document of no known type is given."""
_HEADING = 2.0
"""How much more a phrase counts that stands alone at the top of the first page."""
_TOP = 0.35
_AMOUNTS: Mapping[DocumentType, str] = {
    "invoice": "gross_total",
    "receipt": "gross_total",
    "bank_statement": "closing_balance",
}
"""What a document of these types is about."""
_NARROW_CHARACTERS = 46
_NARROW = 1.6


class RuleClassifier:
    """`Classifier` by rule: weighted words and structure, offline."""

    async def classify(self, document: Document) -> Classification:
        """See `Classifier.classify`. Raises nothing."""
        layout = Layout(document)
        if not layout.segments:
            return Classification(language=document.language)
        kind, confidence = _type(layout)
        convention = conventions(layout)
        found = findings(layout, kind) if kind != "other" else {}
        if _only_speaks(document, kind, found):
            kind, found = "other", {}
        return Classification(
            document_type=kind,
            title=_title(kind, found) or _subject(document),
            summary=_summary(kind, found),
            document_date=_date(found),
            language=document.language or convention.language,
            confidence=confidence,
        )


def type_scores(layout: Layout) -> dict[DocumentType, float]:
    """For each type how much the document's words speak for it."""
    scores: dict[DocumentType, float] = dict.fromkeys(DOCUMENT_TYPES, 0.0)
    seen: Counter[tuple[DocumentType, str]] = Counter()
    for segment in layout.segments:
        for label in _TITLES.find(segment.text):
            heading = (
                segment.page_index == 0
                and segment.middle < _TOP
                and label.stop - label.start > 0.6 * len(segment.text)
            )
            for kind, weight in label.meanings:
                phrase = segment.text[label.start : label.stop].casefold()
                seen[kind, phrase] += 1
                if seen[kind, phrase] > 1 and not heading:
                    continue
                scores[kind] += (
                    weight * label.quality * (_HEADING if heading and seen[kind, phrase] == 1 else 1)
                )
    if _narrow(layout):
        scores["receipt"] += _NARROW
    scores["other"] = _NULL
    return scores


def _narrow(layout: Layout) -> bool:
    """Printed by a till: few characters to the line, one page, taller than wide."""
    if len(layout.document.pages) != 1:
        return False
    widths = sorted(len(line.text.strip()) for line in layout.sheets[0].page.lines)
    page = layout.sheets[0].page
    return widths[int(0.9 * (len(widths) - 1))] <= _NARROW_CHARACTERS and page.height_pt > 1.3 * page.width_pt


def _type(layout: Layout) -> tuple[DocumentType, float]:
    scores = type_scores(layout)
    shares = dict(zip(scores, probabilities(list(scores.values()), null=0), strict=True))
    kind = max(shares, key=lambda one: shares[one])
    return kind, round(shares[kind], 4)


def _only_speaks(document: Document, kind: DocumentType, found: Mapping[str, Finding]) -> bool:
    """Whether this is a mail that speaks of such a document, enclosed or not, and is none itself."""
    return document.media_type in _MAILS and kind in _AMOUNTS and _AMOUNTS[kind] not in found


def _title(kind: DocumentType, found: Mapping[str, Finding]) -> str | None:
    if kind == "other":
        return None
    parts = [NAMES[kind]]
    if "number" in found:
        parts[0] += f" {found['number'].value}"
    party = found.get("buyer.name" if kind == "purchase_order" else "seller.name")
    if party is not None:
        parts.append(str(party.value))
    return ", ".join(parts)


def _subject(document: Document) -> str | None:
    """What the writer of a mail says that it is about."""
    if document.media_type not in _MAILS:
        return None
    text = document.pages[0].text.lstrip()
    lines = text.splitlines() if text.startswith(_HEADS) else []
    subject = next((line for line in lines if line.startswith(_SUBJECT)), "")
    return re.sub(r"\s+", " ", subject.removeprefix(_SUBJECT)).strip() or None


def _summary(kind: DocumentType, found: Mapping[str, Finding]) -> str | None:
    """One sentence from what was found, or None if nothing was."""
    facts = {path: str(finding.value) for path, finding in found.items()}
    words = [NAMES[kind]]
    for path, preposition in (("number", ""), ("seller.name", "from "), ("buyer.name", "to ")):
        if path in facts:
            words.append(preposition + facts[path])
    if "issue_date" in facts:
        words.append(f"of {facts['issue_date']}")
    if "gross_total" in facts:
        words.append(f"over {facts['gross_total']} {facts.get('currency', '')}".rstrip())
    return " ".join(words).rstrip(".") + "." if len(words) > 1 else None


def _date(found: Mapping[str, Finding]) -> date | None:
    for path in ("issue_date", "period_end", "delivery_date"):
        finding = found.get(path)
        if finding is not None and isinstance(finding.value, date):
            return finding.value
    return None
