"""Fields by rule: typed candidates, scored by the labels around them, chosen together."""

from dataclasses import replace
from decimal import Decimal

from docmill.model.document import Document
from docmill.model.result import Extraction, Schema
from docmill.model.steps_taken import StepTaken
from docmill.schemas.document_types import DEFINITIONS, DocumentType, known_type
from docmill.schemas.filling import filled
from docmill.understanding.constraints.bookings import bookings
from docmill.understanding.constraints.parties import parties
from docmill.understanding.constraints.payment_method import payment_method
from docmill.understanding.constraints.payment_terms import payment_terms, settlement
from docmill.understanding.constraints.period import dates, time_of_day
from docmill.understanding.constraints.references import account_codes, numbers
from docmill.understanding.constraints.shop import shop
from docmill.understanding.constraints.totals import balances, currency, tip, totals
from docmill.understanding.fields.analysis_cache import candidates_of, once
from docmill.understanding.fields.candidates import Candidates
from docmill.understanding.fields.findings import Finding, Findings, extraction
from docmill.understanding.tables.items import NO_ITEMS, Items, items
from docmill.understanding.tables.till_items import till_items

STEP = StepTaken(kind="read", by="rules", note="no embedded data", without_model="no model needed")


def extract_by_rules(document: Document, schema: Schema) -> Extraction:
    """The fields of a built-in type by rule: offline, the same answer every time."""
    kind = known_type(schema.name)
    if kind == "other" or not document.pages:
        return Extraction(
            document_type=schema.name, data=filled(schema.fields, {}), evidence={}, steps=(STEP,)
        )
    candidates = candidates_of(document)
    return extraction(schema, every_finding(candidates, kind), candidates.layout, step=STEP)


@once
def every_finding(candidates: Candidates, kind: DocumentType) -> Findings:
    """All that the rules read of a document of this type, by path."""
    table = items(candidates) if DEFINITIONS[kind].line_items == "table" else NO_ITEMS
    found = ruled_findings(candidates, kind, table)
    found |= listed_findings(candidates, kind, found, table)
    return with_positive_amounts(found) if DEFINITIONS[kind].is_positive else found


def listed_findings(
    candidates: Candidates, kind: DocumentType, known: Findings, table: Items = NO_ITEMS
) -> dict[str, Finding]:
    """Line items or bookings, by path such as `lines[0].quantity`, and what they prove of other fields.

    known: what was found of the other fields. table: the items of documents that have headings for them.
    """
    lists = DEFINITIONS[kind].line_items
    if lists == "bookings":
        return bookings(candidates, known)
    if lists == "till":
        return dict(till_items(candidates, items(candidates)).findings())
    if lists == "table":
        return dict((table if table.rows else till_items(candidates)).findings())
    return {}


def ruled_findings(candidates: Candidates, kind: DocumentType, table: Items = NO_ITEMS) -> dict[str, Finding]:
    """Every field found but for lists, by path, whether or not the type's schema has it. table: the items."""
    found = {
        **numbers(candidates, kind),
        **dates(candidates, kind),
        **totals(candidates, kind, table=table),
        **dict(account_codes(candidates)),
        **dict(currency(candidates)),
    }
    definition = DEFINITIONS[kind]
    if definition.line_items == "bookings":
        found.update(balances(candidates))
        if "payment.iban" in found:
            found["iban"] = found["payment.iban"]
    if definition.line_items == "till":
        found.update(tip(candidates))
        found.update(shop(candidates))
        found.update(time_of_day(candidates, found.get("issue_date")))
    else:
        found = {**parties(candidates, kind), **found}
    if definition.payment_method:
        found.update(payment_method(candidates, kind, found.get("gross_total")))
    if definition.payment_terms:
        found.update(payment_terms(candidates))
    if definition.settlement:
        found.update(settlement(candidates, found))
    return found


_TOTALS = ("net_total", "tax_total", "gross_total", "amount_due")
_FACTORS = ("quantity", "unit_price")


def with_positive_amounts(found: Findings) -> dict[str, Finding]:
    """The amounts without their minus where every total is printed with one.

    Of a line with a negative amount its quantity, or else its price, is turned with the amount.
    """
    positive = dict(found)
    totals = [amount for path in _TOTALS if (amount := _amount(found.get(path))) is not None]
    if not totals or max(totals) > 0 or not any(totals):
        return positive
    turned = [path for path in _TOTALS if path in found]
    for path in found:
        line, _, name = path.rpartition(".")
        if name == "net_amount" and line.startswith("lines["):
            factors = [f"{line}.{factor}" for factor in _FACTORS]
            turned += [path, *[factor for factor in factors if (_amount(found.get(factor)) or 0) < 0][:1]]
    for path in turned:
        amount = _amount(found[path])
        if amount is not None:
            positive[path] = replace(found[path], value=-amount if amount else amount)
    return positive


def _amount(finding: Finding | None) -> Decimal | None:
    return finding.value if finding is not None and isinstance(finding.value, Decimal) else None
