"""What a document is: by rule alone, and by rule and what was learned."""

import unicodedata
from collections.abc import Callable, Mapping, Sequence

from docmill.model.document import Document
from docmill.model.result import DOCUMENT_TYPES, Classification, DocumentType
from docmill.understanding.constraints.extractor import every_finding
from docmill.understanding.fields.analysis_cache import candidates_of
from docmill.understanding.fields.candidates import Candidates
from docmill.understanding.fields.findings import Findings, probabilities
from docmill.understanding.page.titles import Spoken, spoken
from docmill.understanding.receipts.extractor import shipped_findings
from docmill.understanding.types.model import Kinds, shipped
from docmill.understanding.types.signs import is_narrow, signs
from docmill.understanding.types.summary import MAILS, day_of, summary_of, tags_of, title_of

SURE = 0.5
"""A type less likely than that is not told: a person should say."""
_FOREIGN = 0.4
"""As sure as one can be, at most, that a paper is none of these which nobody here can read."""
_TELLING = 5000
"""Characters that tell the script."""
_Shares = Mapping[DocumentType, float]
_NULL = 2.0
"""The score a document of no known type is given."""
_NARROW = 1.6
_AMOUNTS: Mapping[DocumentType, str] = {
    "invoice": "gross_total",
    "receipt": "gross_total",
    "bank_statement": "closing_balance",
}
"""What a document of these types is about."""


def classify_by_rules(document: Document, tags_in_use: Sequence[str] = ()) -> Classification:
    """What a document is by rule: weighted words and structure, offline."""
    return _classified(document, tags_in_use, rule_shares, every_finding)


def classify(
    document: Document, tags_in_use: Sequence[str] = (), model: Kinds | None = None
) -> Classification:
    """What a document is by what was learned of words and looks. model: instead of the shipped one."""
    kinds = model or shipped()
    return _classified(
        document, tags_in_use, lambda candidates, said: kinds.shares(signs(candidates, said)), _learned
    )


def _learned(candidates: Candidates, kind: DocumentType) -> Findings:
    """As the default extractor reads it, so that a receipt's title names whom its fields name."""
    return shipped_findings(candidates) if kind == "receipt" else every_finding(candidates, kind)


def _classified(
    document: Document,
    tags_in_use: Sequence[str],
    weighed: Callable[[Candidates, Mapping[DocumentType, Spoken]], _Shares],
    read: Callable[[Candidates, DocumentType], Findings],
) -> Classification:
    candidates = candidates_of(document)
    layout = candidates.layout
    if not layout.segments:
        return _wordless(document)
    shares = weighed(candidates, spoken(layout))
    kind = max(shares, key=lambda one: shares[one])
    confidence = shares[kind]
    if kind == "other" and _is_foreign(document):
        confidence = min(confidence, _FOREIGN)
    if confidence < SURE:
        kind = "other"
    found: Findings = read(candidates, kind) if kind != "other" else {}
    if _only_speaks(document, kind, found):
        kind, found = "other", {}
    day = day_of(candidates, kind, found)
    return Classification(
        document_type=kind,
        title=title_of(document, layout, kind, found) if confidence >= SURE else None,
        summary=summary_of(kind, found),
        document_date=day,
        tags=tags_of(document, layout, kind, found, day=day, tags_in_use=tags_in_use),
        language=document.language or candidates.conventions.language,
        confidence=round(confidence, 4),
    )


def _wordless(document: Document) -> Classification:
    """A picture or an empty page is of no type, surely so if it could be read."""
    read = bool(document.pages) and all(page.source != "none" for page in document.pages)
    return Classification(language=document.language, confidence=float(read))


def rule_shares(candidates: Candidates, said: Mapping[DocumentType, Spoken]) -> _Shares:
    """How likely each type is by the weights of the words alone."""
    scores: dict[DocumentType, float] = {kind: said[kind].total for kind in DOCUMENT_TYPES}
    scores["receipt"] += _NARROW * is_narrow(candidates.layout)
    scores["other"] = _NULL
    return dict(zip(scores, probabilities(list(scores.values()), null=0), strict=True))


def _is_foreign(document: Document) -> bool:
    """Whether most letters are of a script that no language of the vocabulary is written in."""
    letters = [one for one in document.text[:_TELLING] if one.isalpha()]
    foreign = sum(not unicodedata.name(one, "").startswith("LATIN") for one in letters if not one.isascii())
    return foreign > len(letters) / 2


def _only_speaks(document: Document, kind: DocumentType, found: Findings) -> bool:
    """Whether this is a mail that speaks of such a document, enclosed or not, and is none itself."""
    return document.media_type in MAILS and kind in _AMOUNTS and _AMOUNTS[kind] not in found
