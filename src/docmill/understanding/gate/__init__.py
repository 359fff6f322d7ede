"""The gate: checks that decide whether an extraction is ready or needs a person."""

from docmill.model.document import Document
from docmill.model.result import Extraction, Schema, Verdict
from docmill.ports import Gate
from docmill.resilience.concurrency import VALUE, off_loop
from docmill.understanding.gate.currencies import check_currency, check_euro, check_item_currencies
from docmill.understanding.gate.dates import check_ambiguous_dates, check_date_label, check_dates
from docmill.understanding.gate.fields import (
    check_codes,
    check_confidence,
    check_few_values,
    check_formulas,
    check_found,
    check_ranges,
    check_schema,
    check_withheld,
)
from docmill.understanding.gate.inputs import GateInput
from docmill.understanding.gate.lists import check_lists, check_rows
from docmill.understanding.gate.numbers import check_listed_numbers, check_numbers
from docmill.understanding.gate.pages import check_edges, check_subtotal, check_text_layers
from docmill.understanding.gate.parties import check_parties, check_party_label
from docmill.understanding.gate.party_names import check_party_names
from docmill.understanding.gate.taxes import (
    check_items_taxed,
    check_printed_tax,
    check_tax_rate,
    check_tax_rows,
)
from docmill.understanding.gate.titles import check_credit
from docmill.understanding.gate.totals import (
    check_amount_due,
    check_old_balance,
    check_tax_label,
    check_totals,
    check_type_rules,
)

_CHECKS = (
    check_schema,
    check_formulas,
    check_withheld,
    check_found,
    check_few_values,
    check_totals,
    check_tax_rate,
    check_tax_rows,
    check_printed_tax,
    check_items_taxed,
    check_tax_label,
    check_type_rules,
    check_amount_due,
    check_old_balance,
    check_lists,
    check_rows,
    check_dates,
    check_date_label,
    check_ambiguous_dates,
    check_numbers,
    check_listed_numbers,
    check_parties,
    check_party_label,
    check_party_names,
    check_edges,
    check_text_layers,
    check_subtotal,
    check_credit,
    check_currency,
    check_euro,
    check_item_currencies,
    check_ranges,
    check_codes,
    check_confidence,
)


class RuleGate:
    """`Gate` by fixed rules. Dates are compared with each other, never with today."""

    def judge(self, document: Document, extraction: Extraction, schema: Schema) -> Verdict:
        """See `Gate.judge`."""
        judged = GateInput(document, extraction, schema)
        failures = (failure for check in _CHECKS for failure in check(judged))
        return Verdict(failures=(*extraction.failures, *failures))


async def judge_off_loop(gate: Gate, document: Document, extraction: Extraction, schema: Schema) -> Verdict:
    """See `Gate.judge`; runs in a thread if the document is so large that it would block the event loop."""
    size = document.word_count + VALUE * len(extraction.evidence)
    return await off_loop(gate.judge, document, extraction, schema, size=size)
