"""Classification of documents: the trained model first, then rules for types that it does not know."""

import unicodedata
from collections.abc import Mapping, Sequence
from decimal import Decimal

from babel import Locale

from docmill.model.document import Document
from docmill.model.result import Classification
from docmill.schemas.document_types import DEFINITIONS, DocumentType
from docmill.schemas.registry import REGISTRY
from docmill.understanding.constraints.agreements import states_agreement
from docmill.understanding.constraints.bookings import has_list_of_bookings
from docmill.understanding.fields.analysis_cache import candidates_of
from docmill.understanding.fields.candidates import Candidates
from docmill.understanding.fields.findings import Findings, evidence_of
from docmill.understanding.formulas import rows_without_result
from docmill.understanding.page.card_slips import TYPE as CARD_SLIP
from docmill.understanding.page.card_slips import is_card_slip
from docmill.understanding.page.layout import Layout
from docmill.understanding.page.titles import title_scores
from docmill.understanding.receipts.extractor import built_in_findings
from docmill.understanding.types.model import TypeModel, shipped, type_features
from docmill.understanding.types.recognition import Recognition, recognise
from docmill.understanding.types.summary import MAILS, describe_as_type, name_of
from docmill.understanding.vocabulary import LANGUAGES
from docmill.understanding.withholding import is_below_floor

SURE = 0.5
"""Least confidence in a type that is given to a document; below, a person should say."""
_CLEARLY = 0.4
"""Least lead of the likeliest type over the next. Measured: bench/results/document-types.md."""
_SURE_OF_FOREIGN = 0.4
"""The most confidence that a document in a foreign script is of none of the types."""
_LEAST_CHARACTERS = 120
"""Characters of a text whose language is told; less may be a name and a number."""
_KNOWN_LANGUAGES = frozenset(language.code for language in LANGUAGES)
_SCRIPT_CHARACTERS = 5000
"""Characters by which the script is told."""
_EXPORTS = ("text/csv", "text/tab-separated-values")
"""Types of files that hold one table, which tells what they are."""
_LISTED = 0.95
"""Confidence that a file with a table of bookings is a bank statement, and a slip of a card payment one."""
_REFINED = DEFINITIONS[CARD_SLIP].extends
_STATED = 0.95
"""Confidence that a document is an agreement whose first sentence says so and names the parties."""
_NO_FINDINGS: Findings = {}


def classify(
    document: Document, tags_in_use: Sequence[str] = (), model: TypeModel | None = None
) -> Classification:
    """The classification of a document: type, confidence, title, summary, tags and language.

    tags_in_use: preferred as tags. model: used instead of the shipped one.
    """
    candidates = candidates_of(document)
    layout = candidates.layout
    if not layout.segments:  # a picture or an empty page is of no type, surely so if it could be read
        is_read = bool(document.pages) and all(page.source != "none" for page in document.pages)
        return Classification(language=document.language, confidence=float(is_read))
    document_type, confidence, doubt = _recognise_type(candidates, model or shipped())
    findings = _NO_FINDINGS if document_type == "other" else built_in_findings(candidates, document_type)
    turned = _type_of_negative(document_type, findings)
    if turned is not None:
        document_type, findings, doubt = turned, built_in_findings(candidates, turned), ""
    definition = DEFINITIONS[document_type]
    needed = definition.amount or not definition.is_trained
    if document.media_type in MAILS and needed and definition.amount not in findings:
        # The mail speaks of such a document and is none.
        document_type, findings, doubt = "other", _NO_FINDINGS, ""
    if document_type == "other" and not doubt and document.media_type not in MAILS:
        doubt = _doubt_of_language(document)
    believed = _believed_findings(document_type, findings, layout)
    described = describe_as_type(candidates, document_type, believed, tags_in_use)
    return described.model_copy(
        update={
            "title": described.title if confidence >= SURE else None,
            "language": document.language or candidates.conventions.language,
            "confidence": round(confidence, 4),
            "doubt": doubt,
        }
    )


def _recognise_type(candidates: Candidates, model: TypeModel) -> Recognition:
    """The type by the model, where neither words on the pages nor a list of bookings decide otherwise."""
    document, layout = candidates.layout.document, candidates.layout
    shares = model.probabilities(type_features(candidates, title_scores(layout)))
    document_type = max(shares, key=shares.__getitem__)
    confidence = shares[document_type]
    if document_type == "other" and _is_in_foreign_script(document):
        confidence = min(confidence, _SURE_OF_FOREIGN)
    by_model = Recognition(document_type if confidence >= SURE else "other", confidence)
    recognised = recognise(layout, *by_model[:2])
    may_be_listed = recognised.document_type == "other" or document.media_type in _EXPORTS
    if may_be_listed and has_list_of_bookings(candidates):
        recognised = Recognition("bank_statement", _LISTED)
    elif recognised.document_type in ("other", _REFINED) and is_card_slip(layout):
        recognised = Recognition(CARD_SLIP, _LISTED)
    if recognised.document_type == "other" or DEFINITIONS[recognised.document_type].is_trained:
        stated = (name for name in DEFINITIONS if states_agreement(candidates, name))
        recognised = next((Recognition(name, _STATED) for name in stated), recognised)
    if recognised == by_model and document.media_type not in MAILS:  # no words settle it
        recognised = recognised._replace(doubt=_doubt(shares))
    return recognised


def _believed_findings(document_type: DocumentType, findings: Findings, layout: Layout) -> Findings:
    """The findings that are not below the floors of their fields.

    No amount is believed where formulas have no result: it may be that of a neighbouring cell.
    """
    schema = REGISTRY[document_type]
    is_calculated = next(rows_without_result(layout.document), None) is None
    return {
        path: finding
        for path, finding in findings.items()
        if not is_below_floor(schema, path, evidence_of(finding, layout))
        and (is_calculated or not isinstance(finding.value, Decimal))
    }


def _doubt(shares: Mapping[DocumentType, float]) -> str:
    """A question to a person if the two most probable types are nearly as probable; "" otherwise."""
    best, second = sorted(shares, key=shares.__getitem__, reverse=True)[:2]
    if shares[best] - shares[second] >= _CLEARLY:
        return ""
    names = [name_of(name).lower() if name != "other" else "of no known type" for name in (best, second)]
    return f"The document may be {names[0]} or {names[1]}: please say of which type it is."


def _doubt_of_language(document: Document) -> str:
    """A question to a person if the text is in a language whose words are not known; "" otherwise."""
    code = document.language
    is_long = len(document.text[:_LEAST_CHARACTERS]) == _LEAST_CHARACTERS
    if code is None or code in _KNOWN_LANGUAGES or not is_long:
        return ""
    languages: dict[str, str] = dict(Locale.parse("en").languages)
    name = languages.get(code, code)
    return f"The words of {name} are not known here: please say of which type the document is."


def _type_of_negative(document_type: DocumentType, findings: Findings) -> DocumentType | None:
    """The type that a negative total means: a credit note for an invoice; None for other totals."""
    amount = findings.get(DEFINITIONS[document_type].amount)
    if amount is None or not isinstance(amount.value, Decimal) or amount.value >= 0:
        return None
    extending = ((name, each) for name, each in DEFINITIONS.items() if each.extends == document_type)
    names = (name for name, each in extending if each.is_positive)
    return next(names, None)


def _is_in_foreign_script(document: Document) -> bool:
    """True if most letters are of a script that no language of the vocabulary is written in."""
    letters = [character for character in document.text[:_SCRIPT_CHARACTERS] if character.isalpha()]
    foreign = sum(
        not unicodedata.name(letter, "").startswith("LATIN") for letter in letters if not letter.isascii()
    )
    return foreign > len(letters) / 2
