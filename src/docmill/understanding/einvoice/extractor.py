"""What a document is and says by the XML it carries."""

from collections.abc import Sequence

from docmill.model.document import Document
from docmill.model.paths import leaves
from docmill.model.result import Classification, Evidence, Extraction, Failure
from docmill.model.steps_taken import StepTaken
from docmill.understanding.einvoice.carried import is_bare
from docmill.understanding.einvoice.crosscheck import mismatches
from docmill.understanding.einvoice.places import EMBEDDED, Places
from docmill.understanding.einvoice.printed import Printed
from docmill.understanding.einvoice.reading import EInvoice
from docmill.understanding.types.tags import chosen, said

_CREDIT_NOTES = frozenset({"81", "83", "261", "262", "296", "308", "381", "396", "420", "458", "532"})
"""UNTDID 1001, those of EN 16931's credit notes."""
_TITLES = {"invoice": "Invoice", "purchase_order": "Purchase order", "delivery_note": "Delivery note"}


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


def classification(document: Document, invoice: EInvoice, tags_in_use: Sequence[str] = ()) -> Classification:
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
    return Classification(
        document_type=document_type,
        title=title,
        summary=" ".join(summary).rstrip(".") + ".",
        document_date=issued,
        tags=chosen([*said([title], tags_in_use), party, name, issued and str(issued.year)], tags_in_use),
        language=document.language,
        confidence=1.0,
    )
