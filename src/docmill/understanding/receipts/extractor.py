"""Extraction of built-in types: receipts by the learned model, everything else by rule."""

from decimal import Decimal

from docmill.model.document import Document
from docmill.model.result import Extraction, Schema
from docmill.model.steps_taken import StepTaken
from docmill.understanding.constraints.extractor import extract_by_rules, listed_findings, ruled_findings
from docmill.understanding.constraints.totals import totals
from docmill.understanding.fields.analysis_cache import candidates_of, once
from docmill.understanding.fields.candidates import Candidates
from docmill.understanding.fields.findings import Finding, Findings, extraction
from docmill.understanding.receipts.answers import answers
from docmill.understanding.receipts.model import PATHS, ReceiptModel, shipped

STEP = StepTaken(
    kind="read",
    by="learned",
    note="offline, from labelled receipts; the rules for its other fields",
)
TOTAL = PATHS["total"]
_PARTS = ("net_total", "tax_total", "amount_due")
"""What was chosen to go with the rules' total, and is chosen anew where that is another."""


def extract_built_in(document: Document, schema: Schema) -> Extraction:
    """The fields of a built-in type: seller, date and total of receipts as learned, all others by rule."""
    if schema.name != "receipt" or not document.pages:
        return extract_by_rules(document, schema)
    candidates = candidates_of(document)
    return extraction(schema, shipped_findings(candidates), candidates.layout, step=STEP)


@once
def shipped_findings(candidates: Candidates) -> Findings:
    """Every field of a receipt by the shipped model, by path."""
    return learned_findings(candidates, shipped())


def learned_findings(candidates: Candidates, model: ReceiptModel) -> Findings:
    """Every field of a receipt, by path."""
    ruled = ruled_findings(candidates, "receipt")
    found = dict(ruled)
    known = (candidates.conventions.currency or "") in model.currencies
    for path, answer in answers(candidates, ruled, model).items():
        share = model.calibrations[path].confidence(answer.signs)
        own = Finding(answer.value, answer.spans, share, calibrated=True)
        found[path] = own if known else _surer(own, ruled.get(path))
    total = found.get(TOTAL)
    before = ruled.get(TOTAL)
    if (
        total is not None
        and isinstance(total.value, Decimal)
        and (before is None or before.value != total.value)
    ):
        parts = {
            path: one for path, one in totals(candidates, "receipt", total.value).items() if path != TOTAL
        }
        found = {path: one for path, one in found.items() if path not in _PARTS} | parts
    return found | listed_findings(candidates, "receipt", found)


def _surer(learned: Finding, ruled: Finding | None) -> Finding:
    """On receipts unlike those it was trained on, the learned value only where the rules are less sure."""
    return ruled if ruled is not None and ruled.probability > learned.probability else learned
