"""Understanding a document by rule and by what was learned, without any model call: plain functions."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from docmill.model.corrections import Corrections
from docmill.model.document import Document
from docmill.model.result import Classification, Extraction, Failure, Schema
from docmill.schemas.document_types import DEFINITIONS, known_type
from docmill.schemas.registry import REGISTRY
from docmill.sections.splitting import sections
from docmill.understanding.corrections.apply import apply_corrections
from docmill.understanding.einvoice.extractor import classify_einvoice, extract_einvoice
from docmill.understanding.einvoice.reading import EmbeddedInvoice, find_einvoice
from docmill.understanding.gate import check_for_several
from docmill.understanding.receipts.extractor import extract_built_in
from docmill.understanding.types.classifier import classify
from docmill.understanding.user_schemas.extractor import extract_user_schema
from docmill.understanding.user_schemas.schema_model import SchemaModel

TYPE_CHECK = "document_type"
"""The check that fails where a person should say of which type a document is."""


class Wanted(NamedTuple):
    """The schema to read a document by. learned: of a schema of the user's own."""

    schema: Schema
    learned: SchemaModel | None = None


def built_in(document_type: str) -> Wanted:
    """Docmill's own schema of a type."""
    return Wanted(REGISTRY.get(document_type) or REGISTRY["other"])


class Offline(NamedTuple):
    """What a document is, and its fields by the schema that is wanted of that type."""

    classification: Classification
    extraction: Extraction


def understand(
    document: Document, wanted: Callable[[str], Wanted] = built_in, tags_in_use: Sequence[str] = ()
) -> Offline:
    """What a document is and what it says. wanted: what to read from documents of a type."""
    data = find_einvoice(document)
    classification = (
        classify_einvoice(document, data.invoice, tags_in_use)
        if data.invoice
        else classify(document, tags_in_use)
    )
    found = _extract(document, *wanted(classification.document_type), data)
    if classification.doubt:
        doubt = Failure(check=TYPE_CHECK, message=classification.doubt)
        found = found.model_copy(update={"failures": (*found.failures, doubt)})
    return Offline(classification, found)


def extract(document: Document, schema: Schema, learned: SchemaModel | None = None) -> Extraction:
    """The fields of the schema, whatever the document is."""
    return _extract(document, schema, learned, find_einvoice(document))


def _extract(
    document: Document, schema: Schema, learned: SchemaModel | None, data: EmbeddedInvoice
) -> Extraction:
    xml = DEFINITIONS[known_type(schema.name)].xml
    is_built_in = schema.fields is built_in(schema.name).schema.fields
    message = xml.message if xml is not None and is_built_in else None
    if data.invoice is not None and data.invoice.kind.message == message:
        found = extract_einvoice(document, data.invoice, known_type(schema.name))
    else:
        found = read_pages(document, schema, learned)
    if data.failures:
        found = found.model_copy(update={"failures": (*found.failures, *data.failures)})
    return check_for_several(document, found, sections)


def read_pages(document: Document, schema: Schema, learned: SchemaModel | None = None) -> Extraction:
    """The fields as the pages show them, by what nobody of the tenant has said."""
    known = REGISTRY.get(schema.name)
    if known is not None and schema.fields is known.fields:
        return extract_built_in(document, schema)
    return extract_user_schema(document, schema, learned)


def correct(document: Document, schema: Schema, read: Extraction, corrections: Corrections) -> Extraction:
    """Correct an extraction as people corrected documents like this one; the values of an XML stay."""
    if not document.pages or any(step.is_from_xml for step in read.steps):
        return read
    corrected = apply_corrections(document, schema, read, corrections)
    return corrected if read.evidence else check_for_several(document, corrected, sections)
