"""Fields by rule: typed candidates, scored by the labels around them, chosen together."""

from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal

from docmill.model.document import Document
from docmill.model.result import Extraction, Schema, StepTaken
from docmill.schemas.document_types import DEFINITIONS, DocumentType, known_type
from docmill.schemas.filling import filled
from docmill.understanding.belief.model import believed
from docmill.understanding.constraints.bookings import account_iban, find_bookings
from docmill.understanding.constraints.header_fields import (
    account_codes,
    dates,
    numbers,
    undecided,
)
from docmill.understanding.constraints.letters import letter_fields
from docmill.understanding.constraints.parties import parties, shop
from docmill.understanding.constraints.payment_method import payment_method
from docmill.understanding.constraints.payment_terms import payment_terms, settlement
from docmill.understanding.constraints.sale_time import sale_time
from docmill.understanding.constraints.tax_category import tax_category
from docmill.understanding.constraints.totals import balances, currency, tip, totals
from docmill.understanding.constraints.withheld_tax import with_withheld_tax
from docmill.understanding.fields.analysis_cache import candidates_of, once
from docmill.understanding.fields.candidates import Candidates
from docmill.understanding.fields.findings import Finding, Findings, extraction
from docmill.understanding.tables.items import NO_ITEMS, Items, items
from docmill.understanding.tables.till_items import till_items
from docmill.understanding.text.money import CENT

_COMPUTED_FROM = {"due_date": "issue_date", "amount_due": "gross_total"}
STEP = StepTaken(kind="read", by="rules", note="no embedded data", without_model="no model needed")


def extract_by_rules(document: Document, schema: Schema) -> Extraction:
    """The fields of a built-in type by rule: offline, the same answer every time."""
    document_type = known_type(schema.name)
    if document_type == "other" or not document.pages:
        return Extraction(
            document_type=schema.name, data=filled(schema.fields, {}), evidence={}, steps=(STEP,)
        )
    candidates = candidates_of(document)
    return extraction(schema, every_finding(candidates, document_type), candidates.layout, step=STEP)


@once
def every_finding(candidates: Candidates, document_type: DocumentType) -> Findings:
    """All values that the rules find in a document of this type, by path."""
    findings = find_by_rules(candidates, document_type)
    is_till = DEFINITIONS[document_type].is_till_paper
    if is_till:
        return findings
    return _no_surer_than_source(believed(findings, candidates, "business") | undecided(findings))


def _no_surer_than_source(findings: Findings) -> Findings:
    """The findings, of which no computed one is surer than the value it is computed from."""
    bounded = dict(findings)
    for path, source in _COMPUTED_FROM.items():
        finding, origin = findings.get(path), findings.get(source)
        if finding is not None and origin is not None and not finding.spans:
            bounded[path] = replace(finding, probability=min(finding.probability, origin.probability))
    return bounded


def find_by_rules(candidates: Candidates, document_type: DocumentType) -> Findings:
    """The values that the rules find, with their probabilities among rivals."""
    table = items(candidates) if DEFINITIONS[document_type].line_items == "table" else NO_ITEMS
    findings = ruled_findings(candidates, document_type, table)
    findings |= listed_findings(candidates, document_type, findings, table)
    return with_positive_amounts(findings) if DEFINITIONS[document_type].is_positive else findings


def listed_findings(
    candidates: Candidates, document_type: DocumentType, findings: Findings, table: Items = NO_ITEMS
) -> dict[str, Finding]:
    """Line items or bookings, by path such as `lines[0].quantity`, and what they prove of other fields.

    findings: of the other fields. table: the items of documents that have headings for them.
    """
    line_items = DEFINITIONS[document_type].line_items
    if line_items == "bookings":
        return find_bookings(candidates, findings)
    if line_items == "till":
        return dict(till_items(candidates, items(candidates)).findings())
    if line_items == "table":
        if table.rows:
            return dict(table.findings())
        priced = till_items(candidates)  # rows of nothing but amounts are sums, such as those of rates of tax
        return dict(priced.findings()) if any("description" in row for row in priced.rows) else {}
    return {}


def ruled_findings(
    candidates: Candidates, document_type: DocumentType, table: Items = NO_ITEMS
) -> dict[str, Finding]:
    """Every field but lists, by path, whether or not the type's schema has it. table: the items."""
    definition = DEFINITIONS[document_type]
    findings = {
        **numbers(candidates, document_type),
        **dates(candidates, document_type),
        **totals(candidates, document_type, table=table),
        **dict(account_codes(candidates)),
        **dict(currency(candidates)),
    }
    if definition.line_items == "bookings":
        findings.update(balances(candidates))
        findings.update(account_iban(candidates))
    if definition.line_items == "till":
        findings.update(tip(candidates))
        findings.update(shop(candidates))
        findings.update(sale_time(candidates, findings.get("issue_date")))
    else:
        findings = {**parties(candidates, document_type), **findings}
    if definition.payment_method:
        findings.update(payment_method(candidates, document_type, findings.get("gross_total")))
    if definition.line_items == "table":
        findings.update(tax_category(candidates, findings))
    if definition.payment_terms:
        findings.update(payment_terms(candidates))
    if "subject" in definition.fields:
        findings.update(letter_fields(candidates, findings))
    if definition.settlement:
        findings = dict(with_withheld_tax(candidates, findings))
        findings.update(settlement(candidates, findings))
    return findings


_TOTALS = ("net_total", "tax_total", "gross_total", "amount_due")
_FACTORS = ("quantity", "unit_price")


def with_positive_amounts(findings: Findings) -> dict[str, Finding]:
    """The amounts without a minus, if every total is printed with one.

    In an item with a negative amount, the sign of the quantity, else that of the price, changes as well.
    """
    positive = dict(findings)
    totals = {path: amount for path in _TOTALS if (amount := _amount(findings.get(path)))}
    negative = [path for path, amount in totals.items() if amount < 0]
    turned = negative if len(negative) == len(totals) or _add_up_without_signs(totals) else []
    lines = [
        path for path in findings if path.startswith("lines[") and path.rpartition(".")[2] == "net_amount"
    ]
    is_turned = bool(totals) and len(turned) == len(negative)
    if is_turned and sum((_amount(findings[path]) or Decimal(0) for path in lines), Decimal(0)) < 0:
        for path in lines:
            factors = [f"{path.rpartition('.')[0]}.{factor}" for factor in _FACTORS]
            turned += [path, *[factor for factor in factors if (_amount(findings.get(factor)) or 0) < 0][:1]]
    for path in turned:
        amount = _amount(findings[path])
        if amount is not None:
            positive[path] = replace(findings[path], value=-amount if amount else amount)
    return positive


def _add_up_without_signs(totals: Mapping[str, Decimal]) -> bool:
    """True if net and tax make the gross total when no amount has a sign."""
    net, tax, gross = (abs(totals.get(path, Decimal(0))) for path in _TOTALS[:3])
    return bool(net) and abs(net + tax - gross) <= CENT


def _amount(finding: Finding | None) -> Decimal | None:
    return finding.value if finding is not None and isinstance(finding.value, Decimal) else None
