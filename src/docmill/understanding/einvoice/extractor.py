"""`Extractor` and `Classifier` for documents that bring their data along."""

from docmill.model.document import Document
from docmill.model.paths import leaves
from docmill.model.result import Classification, Evidence, Extraction, Failure, Schema
from docmill.model.steps_taken import StepTaken
from docmill.ports import Classifier, Extractor, Original
from docmill.understanding.einvoice.carried import carried, is_bare
from docmill.understanding.einvoice.crosscheck import mismatches
from docmill.understanding.einvoice.places import EMBEDDED, Places
from docmill.understanding.einvoice.printed import Printed
from docmill.understanding.einvoice.reading import EInvoice
from docmill.understanding.types.tags import chosen, said

_CREDIT_NOTES = frozenset({"81", "83", "261", "262", "296", "308", "381", "396", "420", "458", "532"})
"""UNTDID 1001, those of EN 16931's credit notes."""
_TITLES = {"invoice": "Invoice", "purchase_order": "Purchase order", "delivery_note": "Delivery note"}


class EInvoiceExtractor:
    """`Extractor` that takes the XML a document carries, and asks another where there is none it can read.

    The other is asked for a schema of the user's own, too: the XML has the fields of ours.
    """

    def __init__(self, otherwise: Extractor) -> None:
        self._otherwise = otherwise

    async def extract(
        self, document: Document, schema: Schema, original: Original | None = None
    ) -> Extraction:
        """See `Extractor.extract`. Raises what the other raises."""
        found = carried(document)
        invoice = found.invoice
        if invoice is not None and schema.fields is type(invoice.data):
            return _with(extraction(document, invoice), found.failures)
        return _with(await self._otherwise.extract(document, schema, original), found.failures)


class EInvoiceClassifier:
    """`Classifier` that takes the word of the XML a document carries, and asks another if there is none."""

    def __init__(self, otherwise: Classifier) -> None:
        self._otherwise = otherwise

    async def classify(self, document: Document, original: Original | None = None) -> Classification:
        """See `Classifier.classify`. Raises what the other raises."""
        invoice = carried(document).invoice
        return (
            classification(document, invoice)
            if invoice
            else await self._otherwise.classify(document, original)
        )


def extraction(document: Document, invoice: EInvoice) -> Extraction:
    """What the XML says, where the pages show it, and what is wrong with it."""
    said = dict(leaves(invoice.data))
    evidence: dict[str, Evidence] = dict.fromkeys(said, EMBEDDED)
    differences: tuple[Failure, ...] = ()
    if not is_bare(document):
        printed = Printed(document)
        places = Places(document, invoice)
        evidence = {path: places.evidence(path, value) for path, value in said.items()}
        differences = mismatches(said, places.shown, printed)
    return Extraction(
        document_type=invoice.kind.document_type,
        data=invoice.data,
        evidence=evidence,
        steps=(StepTaken(kind="read", by=f"{'' if is_bare(document) else 'embedded '}{invoice.name} XML"),),
        failures=(*invoice.failures, *differences),
    )


def classification(document: Document, invoice: EInvoice) -> Classification:
    """What the XML says that the document is."""
    terms = invoice.terms
    document_type = invoice.kind.document_type
    name = "Credit note" if terms.text("BT-3") in _CREDIT_NOTES else _TITLES[document_type]
    number, seller, buyer = (" ".join((terms.text(one) or "").split()) for one in ("BT-1", "BT-27", "BT-44"))
    issued, total = terms.date("BT-2"), terms.number("BT-112")
    called = f"{name} {number}" if number else name
    party = buyer if document_type == "purchase_order" else seller
    summary = [called]
    summary += [f"from {seller}"] if seller else []
    summary += [f"to {buyer}"] if buyer else []
    summary += [f"of {issued}"] if issued else []
    summary += [f"over {total} {terms.text('BT-5') or ''}".rstrip()] if total is not None else []
    title = ", ".join(filter(None, (called, party)))
    used = document.tags_in_use
    return Classification(
        document_type=document_type,
        title=title,
        summary=" ".join(summary).rstrip(".") + ".",
        document_date=issued,
        tags=chosen([*said([title], used), party, name, str(issued.year) if issued else None], used),
        language=document.language,
        confidence=1.0,
    )


def _with(extraction: Extraction, failures: tuple[Failure, ...]) -> Extraction:
    return extraction.model_copy(update={"failures": (*extraction.failures, *failures)})
