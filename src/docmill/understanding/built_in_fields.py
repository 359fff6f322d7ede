"""Fields of a user's schema that equal built-in fields under another name, such as `supplier` or `netto`.

Rules of business papers read them better than labels alone: a seller rarely has a label, and of several
amounts beside the word "net" one is the total. Both readers are asked, and the more probable value is taken.
"""

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Literal

from docmill.model.document import Document
from docmill.model.result import Extraction, Schema
from docmill.schemas.document_types import DocumentType
from docmill.schemas.outline import FieldOutline, outline
from docmill.schemas.registry import REGISTRY
from docmill.understanding.fields.analysis_cache import candidates_of
from docmill.understanding.fields.findings import Finding
from docmill.understanding.fields.meaning import FieldMeaning, built_in_meaning
from docmill.understanding.receipts.extractor import built_in_findings
from docmill.understanding.user_schemas.extractor import extract_user_schema, meanings_of
from docmill.understanding.user_schemas.schema_model import SchemaModel
from docmill.understanding.vocabulary import Concept

NUMBER = "number"
"""The path of a document's own number, in every type that has one."""
AMOUNT_DUE = "amount_due"
_OTHER_NUMBERS = ("order_number", "contract_number", "delivery_note_number")
"""Numbers of other papers, which a description may name beside the document's own."""
_OF_NAME = 0.5
"""Least weight of a label of a number's name: its description may name the numbers of several papers."""
LEAST_SCORE = 2.0
"""Score of a field's words for a built-in field from which on both are the same."""
_OF_SEVERAL = 0.5
"""The belief in a number, as far as the description of a field says that it may be another paper's."""
_LEAST_OF_DESCRIPTION = 1.0
"""The same for one of the papers whose number a description names."""
_Sort = Literal["date", "amount", "name", "address", "code", "iban", "bic", "vat id", "currency"]
_BY_NAME: Mapping[str, _Sort] = {
    "name": "name",
    "address": "address",
    "iban": "iban",
    "bic": "bic",
    "vat_id": "vat id",
    "currency": "currency",
}
_UNMISTAKABLE: tuple[_Sort, ...] = ("iban", "bic", "currency")
"""Sorts of which a document type has one field, which needs no label to be the same."""


def extract_own_fields(
    document: Document, schema: Schema, model: SchemaModel | None, document_type: DocumentType
) -> Extraction:
    """The fields of a user's schema; those that equal built-in fields are read in both ways.

    model: learned weights; a field that has some is read by them alone. document_type: decides the rules.
    """
    if document_type == "other" or not document.pages:
        return extract_user_schema(document, schema, model)
    built_in = find_built_in(document, meanings_of(outline(schema)), document_type)
    return extract_user_schema(document, schema, model, built_in)


def find_built_in(
    document: Document, meanings: Mapping[str, FieldMeaning], document_type: DocumentType
) -> dict[str, tuple[Finding, ...]]:
    """The values of built-in fields that equal a user's fields, by the user's paths; empty for no value.

    A description may name several papers, as in "number of the contract or invoice". Then the document's own
    number is a second value, after the one that the name of the field asks for. So is the amount due after
    the total for a field that may be either, as "total to be paid".
    """
    found = built_in_findings(candidates_of(document), document_type)
    paths = built_in_paths(meanings, document_type)
    values = {path: [found[other]] if other in found else [] for path, other in paths.items()}
    if NUMBER in found and NUMBER not in paths.values():
        labels = built_in_meaning(NUMBER, document_type).labels
        for path, meaning in meanings.items():
            if _describes(meaning, labels) and not (values.get(path) and _names(meaning, labels)):
                number = replace(found[NUMBER], probability=found[NUMBER].probability * _OF_SEVERAL)
                values.setdefault(path, []).append(number)
                values[path] += [
                    replace(found[other], probability=found[other].probability * _OF_SEVERAL)
                    for other in _OTHER_NUMBERS
                    if other in found
                    and other not in paths.values()
                    and _describes(meaning, built_in_meaning(other).labels)
                ]
    if AMOUNT_DUE in found and AMOUNT_DUE not in paths.values():
        for path, meaning in meanings.items():
            if meaning.form == "money" and Concept.DUE in meaning.labels:
                values.setdefault(path, []).append(found[AMOUNT_DUE])
    return {path: tuple(some) for path, some in values.items()}


def _describes(meaning: FieldMeaning, labels: Mapping[Concept, float]) -> bool:
    """Return whether a code's name or description has words for a number with these labels, among others."""
    scores = (weight * labels.get(concept, 0.0) for concept, weight in meaning.labels.items())
    return meaning.form == "code" and max(scores, default=0.0) >= _LEAST_OF_DESCRIPTION


def _names(meaning: FieldMeaning, labels: Mapping[Concept, float]) -> bool:
    """Return whether the name alone of a field may mean a number with these labels."""
    return any(
        weight >= _OF_NAME and labels.get(concept, 0.0) > 0 for concept, weight in meaning.labels.items()
    )


def built_in_paths(meanings: Mapping[str, FieldMeaning], document_type: DocumentType) -> dict[str, str]:
    """The built-in field that equals each field, by the user's path; each is given to one field at most."""
    best: dict[str, tuple[float, str]] = {}
    for path, meaning in meanings.items():
        score, other = _same_field(meaning, document_type)
        if score >= LEAST_SCORE and score > best.get(other, (0.0, ""))[0]:
            best[other] = score, path
    return {path: other for other, (_, path) in best.items()}


@lru_cache(maxsize=500)
def _same_field(meaning: FieldMeaning, document_type: DocumentType) -> tuple[float, str]:
    """Score and path of the built-in field that fits best; score 0 and "" if none does."""
    scores: list[tuple[float, str]] = [(0.0, "")]
    for field in outline(REGISTRY[document_type]):
        sort = _sort_of(field)
        if field.is_listed or not _may_be(meaning, sort):
            continue
        labels = built_in_meaning(field.path, document_type).labels
        score = sum(
            weight * labels.get(concept, 0.0)
            for concept, weight in meaning.labels.items()
            if sort != "code" or weight >= _OF_NAME
        )
        if sort == "currency" and meaning.terms:
            score = 0.0  # that of an amount of the paper need not be that of the paper
        elif sort in _UNMISTAKABLE:
            score = LEAST_SCORE
        elif Concept.ADVERTISER in meaning.labels:
            score = 0.0  # who advertises may buy through an agency, which is then the buyer
        scores.append((score, field.path))
    return max(scores)


def _sort_of(field: FieldOutline) -> _Sort:
    if field.kind == "date":
        return "date"
    return "amount" if field.kind == "decimal" else _BY_NAME.get(field.name, "code")


def _may_be(meaning: FieldMeaning, sort: _Sort) -> bool:
    """Return whether a field's values can be of this sort."""
    is_address = Concept.ADDRESS in meaning.labels
    match meaning.form:
        case "date":
            return sort == "date"
        case "money" | "number":
            return sort == "amount"
        case "name" | "text":
            return sort == ("address" if is_address else "name") or (
                meaning.form == "text" and sort == "code"
            )
        case "code":
            return sort == "code"
        case _:
            return meaning.form == sort
