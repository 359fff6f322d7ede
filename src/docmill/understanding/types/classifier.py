"""Classification of documents: by rule alone, and by rule and the trained model."""

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
from docmill.understanding.types.model import Kinds, is_narrow, shipped, signs
from docmill.understanding.types.recognition import recognise
from docmill.understanding.types.summary import MAILS, describe_as_type

SURE = 0.5
"""Least confidence in a type that is given to a document; below, a person should say."""
_SURE_OF_FOREIGN = 0.4
"""The most confidence that a document in a foreign script is of none of the types."""
_SCRIPT_CHARACTERS = 5000
"""Characters by which the script is told."""
_NULL = 2.0
"""The score a document of no known type is given."""
_NARROW = 1.6
"""The score of a narrow page for what a till prints."""

Shares = Mapping[DocumentType, float]
"""The probability of each trained type."""


def classify_by_rules(document: Document, tags_in_use: Sequence[str] = ()) -> Classification:
    """The classification by rule: weighted words and structure, offline."""
    return _classify(document, tags_in_use, rule_shares, every_finding)


def classify(
    document: Document, tags_in_use: Sequence[str] = (), model: Kinds | None = None
) -> Classification:
    """The classification by the model trained on words and looks. model: instead of the shipped one."""
    kinds = model or shipped()

    def learned_shares(candidates: Candidates, scores: Mapping[DocumentType, TitleScore]) -> Shares:
        return kinds.shares(signs(candidates, scores))

    return _classify(document, tags_in_use, learned_shares, built_in_findings)


def _classify(
    document: Document,
    tags_in_use: Sequence[str],
    shares_of: Callable[[Candidates, Mapping[DocumentType, TitleScore]], Shares],
    findings_of: Callable[[Candidates, DocumentType], Findings],
) -> Classification:
    candidates = candidates_of(document)
    layout = candidates.layout
    if not layout.segments:  # a picture or an empty page is of no type, surely so if it could be read
        is_read = bool(document.pages) and all(page.source != "none" for page in document.pages)
        return Classification(language=document.language, confidence=float(is_read))
    shares = shares_of(candidates, title_scores(layout))
    document_type = max(shares, key=lambda name: shares[name])
    confidence = shares[document_type]
    if document_type == "other" and _is_in_foreign_script(document):
        confidence = min(confidence, _SURE_OF_FOREIGN)
    if confidence < SURE:
        document_type = "other"
    document_type, confidence, doubt = recognise(layout, document_type, confidence)
    findings: Findings = findings_of(candidates, document_type) if document_type != "other" else {}
    amount = DEFINITIONS[document_type].amount
    if document.media_type in MAILS and amount and amount not in findings:
        document_type, findings, doubt = "other", {}, ""  # the mail speaks of such a document and is none
    described = describe_as_type(candidates, document_type, findings, tags_in_use)
    return described.model_copy(
        update={
            "title": described.title if confidence >= SURE else None,
            "language": document.language or candidates.conventions.language,
            "confidence": round(confidence, 4),
            "doubt": doubt,
        }
    )


def rule_shares(candidates: Candidates, title_scores: Mapping[DocumentType, TitleScore]) -> Shares:
    """The probability of each type by the weights of the words alone."""
    narrow = _NARROW * is_narrow(candidates.layout)
    scores = {
        name: title_scores[name].total + narrow * DEFINITIONS[name].is_till_paper for name in TRAINED_TYPES
    }
    scores["other"] = _NULL
    return dict(zip(scores, probabilities(list(scores.values()), null=0), strict=True))


def _is_in_foreign_script(document: Document) -> bool:
    """True if most letters are of a script that no language of the vocabulary is written in."""
    letters = [character for character in document.text[:_SCRIPT_CHARACTERS] if character.isalpha()]
    foreign = sum(
        not unicodedata.name(letter, "").startswith("LATIN") for letter in letters if not letter.isascii()
    )
    return foreign > len(letters) / 2
