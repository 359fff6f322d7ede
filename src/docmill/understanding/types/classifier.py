"""What a document is: by rule alone, and by rule and what was learned."""

import unicodedata
from collections.abc import Callable, Mapping, Sequence

from docmill.model.document import Document
from docmill.model.result import Classification
from docmill.schemas.document_types import DEFINITIONS, TRAINED_TYPES, DocumentType
from docmill.understanding.constraints.extractor import every_finding
from docmill.understanding.fields.analysis_cache import candidates_of
from docmill.understanding.fields.candidates import Candidates
from docmill.understanding.fields.findings import Findings, probabilities
from docmill.understanding.page.titles import TitleScore, title_scores
from docmill.understanding.receipts.extractor import built_in_findings
from docmill.understanding.types.model import Kinds, shipped
from docmill.understanding.types.recognition import recognise
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


def classify_by_rules(document: Document, tags_in_use: Sequence[str] = ()) -> Classification:
    """What a document is by rule: weighted words and structure, offline."""
    return _classified(document, tags_in_use, rule_shares, every_finding)


def classify(
    document: Document, tags_in_use: Sequence[str] = (), model: Kinds | None = None
) -> Classification:
    """What a document is by what was learned of words and looks. model: instead of the shipped one."""
    kinds = model or shipped()

    def learned_shares(candidates: Candidates, said: Mapping[DocumentType, TitleScore]) -> _Shares:
        return kinds.shares(signs(candidates, said))

    return _classified(document, tags_in_use, learned_shares, built_in_findings)


def _classified(
    document: Document,
    tags_in_use: Sequence[str],
    weighed: Callable[[Candidates, Mapping[DocumentType, TitleScore]], _Shares],
    read: Callable[[Candidates, DocumentType], Findings],
) -> Classification:
    candidates = candidates_of(document)
    layout = candidates.layout
    if not layout.segments:
        return _wordless(document)
    shares = weighed(candidates, title_scores(layout))
    kind = max(shares, key=lambda one: shares[one])
    confidence = shares[kind]
    if kind == "other" and _is_foreign(document):
        confidence = min(confidence, _FOREIGN)
    if confidence < SURE:
        kind = "other"
    kind, confidence, doubt = recognise(layout, kind, confidence)
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
        doubt=doubt,
    )


def _wordless(document: Document) -> Classification:
    """A picture or an empty page is of no type, surely so if it could be read."""
    read = bool(document.pages) and all(page.source != "none" for page in document.pages)
    return Classification(language=document.language, confidence=float(read))


def rule_shares(candidates: Candidates, said: Mapping[DocumentType, TitleScore]) -> _Shares:
    """How likely each type is by the weights of the words alone."""
    narrow = _NARROW * is_narrow(candidates.layout)
    scores = {kind: said[kind].total + narrow * DEFINITIONS[kind].is_till_paper for kind in TRAINED_TYPES}
    scores["other"] = _NULL
    return dict(zip(scores, probabilities(list(scores.values()), null=0), strict=True))


def _is_foreign(document: Document) -> bool:
    """Whether most letters are of a script that no language of the vocabulary is written in."""
    letters = [one for one in document.text[:_TELLING] if one.isalpha()]
    foreign = sum(not unicodedata.name(one, "").startswith("LATIN") for one in letters if not one.isascii())
    return foreign > len(letters) / 2


def _only_speaks(document: Document, kind: DocumentType, found: Findings) -> bool:
    """Whether this is a mail that speaks of such a document, enclosed or not, and is none itself."""
    amount = DEFINITIONS[kind].amount
    return document.media_type in MAILS and bool(amount) and amount not in found
