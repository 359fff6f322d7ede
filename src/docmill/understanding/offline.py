"""Offline understanding: documents are classified and read by rules and trained models."""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from docmill.model.corrections import Corrections
from docmill.model.document import Document
from docmill.model.result import TYPE_CHECK, Classification, Extraction, Failure, Schema
from docmill.schemas.document_types import DEFINITIONS, DocumentType, known_type
from docmill.schemas.registry import REGISTRY, is_built_in
from docmill.sections.splitting import sections
from docmill.understanding.built_in_fields import extract_own_fields
from docmill.understanding.coded_values.comparison import compare_codes
from docmill.understanding.corrections.apply import apply_corrections
from docmill.understanding.corrections.fit import make_example, with_reading
from docmill.understanding.einvoice.extractor import classify_einvoice, extract_einvoice
from docmill.understanding.einvoice.reading import EmbeddedInvoice, find_einvoice
from docmill.understanding.formulas import withhold_neighbours
from docmill.understanding.receipts.extractor import extract_built_in
from docmill.understanding.statement_files import (
    ask_for_columns,
    classify_statement,
    extract_statement,
    find_statement,
)
from docmill.understanding.types.classifier import classify
from docmill.understanding.user_schemas.schema_model import Example, SchemaModel

_PDF = "application/pdf"

_STATEMENT = "bank_statement"
MOST_PAGES = 100
"""Longer documents are not searched for several documents: no single set of values is expected of them."""


class SchemaWithModel(NamedTuple):
    """A schema to read a document by. model: its trained model, for a schema of the user's own."""

    schema: Schema
    model: SchemaModel | None = None


def choose_built_in(document_type: str) -> SchemaWithModel:
    """Choose the built-in schema of a document type."""
    return SchemaWithModel(REGISTRY.get(document_type) or REGISTRY["other"])


class OfflineUnderstanding(NamedTuple):
    """The type of a document, and its fields by the schema of that type."""

    classification: Classification
    extraction: Extraction


def understand(
    document: Document,
    choose_schema: Callable[[str], SchemaWithModel] = choose_built_in,
    tags_in_use: Sequence[str] = (),
) -> OfflineUnderstanding:
    """Classify a document and extract its fields.

    choose_schema: returns the schema for a document type. tags_in_use: preferred as tags.
    """
    data, statement = find_einvoice(document), find_statement(document)
    if statement is not None:
        classification = classify_statement(document, statement, tags_in_use)
    elif data.invoice is not None:
        classification = classify_einvoice(document, data.invoice, tags_in_use)
    else:
        classification = classify(document, tags_in_use)
    schema, model = choose_schema(classification.document_type)
    extraction = _extract(document, schema, model, data, known_type(classification.document_type))
    if classification.doubt:
        doubt = Failure(check=TYPE_CHECK, message=classification.doubt)
        extraction = extraction.model_copy(update={"failures": (*extraction.failures, doubt)})
    return OfflineUnderstanding(classification, extraction)


def extract(document: Document, schema: Schema, model: SchemaModel | None = None) -> Extraction:
    """Extract the fields of a schema, whatever type the document has."""
    return _extract(document, schema, model, find_einvoice(document))


def _extract(
    document: Document,
    schema: Schema,
    model: SchemaModel | None,
    data: EmbeddedInvoice,
    document_type: DocumentType | None = None,
) -> Extraction:
    xml = DEFINITIONS[known_type(schema.name)].xml
    message = xml.message if xml is not None and is_built_in(schema) else None
    statement = find_statement(document) if schema.name == _STATEMENT and is_built_in(schema) else None
    if statement is not None:
        pages = None
        if statement.source in ("CSV", "workbook"):
            pages = withhold_neighbours(document, read_pages(document, schema), schema)
        # Not withheld: bookings are read cell by cell, and a row without a result is left out.
        return check_for_several(document, extract_statement(document, statement, pages))
    if data.invoice is not None and data.invoice.kind.message == message:
        extraction = extract_einvoice(document, data.invoice, known_type(schema.name))
    else:
        extraction = read_pages(document, schema, model, document_type)
        extraction = ask_for_columns(document, extraction)
    if data.failures:
        extraction = extraction.model_copy(update={"failures": (*extraction.failures, *data.failures)})
    extraction = withhold_neighbours(document, extraction, schema)
    return check_for_several(document, compare_codes(document, extraction, schema))


def read_pages(
    document: Document,
    schema: Schema,
    model: SchemaModel | None = None,
    document_type: DocumentType | None = None,
) -> Extraction:
    """Read the fields from the pages alone, without the corrections of the tenant.

    document_type: of the document, if it is known.
    """
    if is_built_in(schema):
        return extract_built_in(document, schema)
    return extract_own_fields(document, schema, model, document_type or _type_of(document))


def make_judged_example(document: Document, schema: Schema, values: Mapping[str, object]) -> Example:
    """The document as an example to learn from, with what is read of it with nothing learned.

    values: those known, by path.
    """
    read = read_pages(document, schema)
    return with_reading(make_example(document, schema, values), document, schema, values, read)


def _type_of(document: Document) -> DocumentType:
    return known_type(classify(document).document_type)


def correct(document: Document, schema: Schema, read: Extraction, corrections: Corrections) -> Extraction:
    """Apply people's corrections of similar documents to an extraction; values of an XML are not changed."""
    if not document.pages or any(step.is_from_xml for step in read.steps):
        return read
    corrected = apply_corrections(document, schema, read, corrections)
    return corrected if read.evidence else check_for_several(document, corrected)


def check_for_several(document: Document, extraction: Extraction) -> Extraction:
    """The extraction, with a failure if the file seems to hold several documents."""
    # Sections are documents already, and the pages of a mail are one text.
    is_whole = not document.parts or (document.media_type == _PDF and not document.is_collection)
    may_hold_several = 1 < len(document.pages) <= MOST_PAGES and is_whole and not document.embedded
    parts = sections(document) if extraction.evidence and may_hold_several else ()
    if len(parts) <= 1:
        return extraction
    begins = ", ".join(str(part.start) for part in parts)
    message = (
        f"This file seems to hold {len(parts)} documents, which begin on pages {begins}: its values may "
        "be of different ones. Add them one by one, or have files split (setting reading.split)."
    )
    failure = Failure(check="several_documents", message=message)
    return extraction.model_copy(update={"failures": (*extraction.failures, failure)})
