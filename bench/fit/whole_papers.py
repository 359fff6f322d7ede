"""Values of whole papers, lists and all, with whether they are right: rows to fit beliefs to.

Papers: e-invoices and orders by their text layer and as pictures, the samples of `docmill demo` as they are,
and in other words and layouts. Each layout of these is a source of its own: what is learned from others is
measured on it.

A description counts as right if it holds the whole name of the XML, too, which says less than the paper.
Units in an XML are codes, which no paper prints. Addresses are not judged: an XML orders their parts anew.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from bench.accuracy import trust
from bench.accuracy.einvoice_files import recognise_pages
from bench.data import invoices
from bench.data.varied_samples import varied_samples
from docmill.evaluation.judge import Judge, JudgedValue, leaf_fields
from docmill.model.document import Document, letters_and_digits
from docmill.model.result import StepTaken
from docmill.schemas.document_types import DEFINITIONS, DocumentType, known_type
from docmill.schemas.outline import Kind, outline
from docmill.schemas.registry import REGISTRY
from docmill.understanding.belief.facts import facts_of
from docmill.understanding.belief.row_facts import row_facts_of
from docmill.understanding.constraints.extractor import find_by_rules
from docmill.understanding.einvoice.reading import einvoice
from docmill.understanding.fields.analysis_cache import candidates_of
from docmill.understanding.fields.findings import Findings, evidence_of, extraction
from docmill.understanding.receipts.extractor import find_labelled
from docmill.understanding.types.classifier import classify

SAMPLES, SAMPLES_SEED = 450, 7
_STEP = StepTaken(kind="read", by="rules", note="", without_model="")
_NOT_COMPARED = ("lines[].unit", "seller.address", "buyer.address")
_ADDRESS = "business address"
_DPI = 150

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Row:
    """A value that was found. key: reading and kind. before: the confidence without beliefs.

    papers: those of which it is left out together; the same papers are one source as text and as pictures.
    weight: beside values of other sources.
    """

    source: str
    key: str
    facts: Floats
    before: float
    is_right: bool
    field: str = ""
    papers: str = ""
    weight: float = 1.0


class WholePaper(NamedTuple):
    """A paper and its truth. papers: see `Row`. is_complete: a null is no value that is there."""

    source: str
    papers: str
    document: Document
    document_type: str
    truth: Mapping[str, Any]
    is_complete: bool


def whole_papers(pictures: Path) -> Iterator[WholePaper]:
    """Yield every paper that is not set aside."""
    for path, document in invoices.documents():
        invoice = einvoice(document.embedded[0].content)
        truth = _without_nulls(invoice.data.model_dump(mode="json"))
        seller: Mapping[str, Any] = truth.get("seller", {})
        if not trust.is_set_aside(str(seller.get("name", invoices.name_of(path)))):
            papers = "order-x" if "order-x" in path.parts else "e-invoices"
            for source, read in (
                (papers, replace(document, embedded=())),
                (f"{papers}, pictures", recognise_pages(path, _DPI, pictures)),
            ):
                yield WholePaper(source, papers, read, invoice.document_type, truth, is_complete=False)
    for document, plan in varied_samples(SAMPLES, SAMPLES_SEED):
        truth = plan.truth.model_dump(mode="json")
        name = f"made up: {plan.layout}"
        yield WholePaper(name, name, document, plan.document_type, truth, is_complete=True)


def _without_nulls(data: Mapping[str, Any]) -> dict[str, Any]:
    """Take out what is null, as far as the lists of a paper go."""
    kept: dict[str, Any] = {}
    for name, value in data.items():
        if isinstance(value, Mapping):
            kept[name] = _without_nulls(cast("Mapping[str, Any]", value))
        elif isinstance(value, list):
            kept[name] = [_without_nulls(item) for item in cast("list[Mapping[str, Any]]", value)]
        else:
            kept[name] = value
    return {name: value for name, value in kept.items() if value not in (None, {}, [])}


def rows_of(paper: WholePaper) -> Iterator[Row]:
    """Yield the values that are found in lists and by labels; none if the type is taken for another."""
    document_type = known_type(paper.document_type)
    if not paper.document.pages or classify(paper.document).document_type != document_type:
        return
    candidates = candidates_of(paper.document)
    labelled = find_labelled(candidates, document_type)
    is_ruled = DEFINITIONS[document_type].read_by == "rules"
    ruled: Findings = find_by_rules(candidates, document_type) if is_ruled else {}
    known = {
        path: (f"labelled {value.kind}", value.facts)
        for path, value in facts_of(labelled, candidates).items()
    }
    known |= {path: (key, facts) for path, key, facts in row_facts_of(ruled, candidates)}
    known |= {
        path: (_ADDRESS, value.facts)
        for path, value in facts_of(ruled, candidates).items()
        if value.kind == "address" and paper.is_complete
    }
    found = {**ruled, **labelled}
    data = extraction(REGISTRY[document_type], found, candidates.layout, step=_STEP).data
    for value in judged(paper, document_type, data.model_dump(mode="json")):
        if value.path in known and (paper.is_complete or value.field not in _NOT_COMPARED):
            key, facts = known[value.path]
            before = evidence_of(found[value.path], candidates.layout).confidence
            is_right = value.is_right or (not paper.is_complete and _is_other_label(value))
            yield Row(paper.source, key, facts, before, is_right, value.field, paper.papers)


def judged(paper: WholePaper, document_type: DocumentType, data: Mapping[str, Any]) -> Sequence[JudgedValue]:
    """Judge the values that were read, by the kinds of the type's fields."""
    kinds: dict[str, Kind] = {field.path: field.kind for field in outline(REGISTRY[document_type])}
    cells = Judge(kinds, leaf_fields(paper.truth)).cells(paper.truth, data)
    return [cell for cell in cells if cell.read is not None]


def _is_other_label(value: JudgedValue) -> bool:
    """Return whether an XML says the same in another way: an amount without its minus, less of a name."""
    if value.read is None or value.true is None:
        return False
    if value.field.endswith("description"):
        return letters_and_digits(value.true) in letters_and_digits(value.read)
    try:
        return abs(Decimal(value.read)) == abs(Decimal(value.true))
    except ArithmeticError:
        return False
