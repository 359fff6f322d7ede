"""Measure the rules' accuracy on the orders and invoices of ../shared/data/adbuy, by S2 of ../shared/eval.

Usage: python -m bench orders_by_rule [--errors FIELD]
"""

import time
from collections import Counter
from datetime import date
from pathlib import Path

from bench.arguments import argument_parser
from bench.data.orders import CACHE, FIELDS, documents, is_right, labels
from bench.data.shared import load_scorer
from docmill.model.result import Classification, Extraction
from docmill.schemas.registry import REGISTRY
from docmill.schemas.types import Invoice, PurchaseOrder
from docmill.understanding.constraints.extractor import extract_by_rules
from docmill.understanding.gate import RuleGate
from docmill.understanding.types.classifier import classify


def answers(extraction: Extraction) -> dict[str, str | None]:
    """Return the five fields by the labels' names; an order's contract number comes before its own number."""
    data = extraction.data
    if not isinstance(data, Invoice | PurchaseOrder):
        return {}
    return {
        "contract_num": data.contract_number or data.number,
        "advertiser": data.buyer.name,
        "gross_amount": None if data.gross_total is None else str(data.gross_total),
        "flight_from": _american(data.period_start),
        "flight_to": _american(data.period_end),
    }


def _american(day: date | None) -> str | None:
    return None if day is None else day.strftime("%m/%d/%Y")


def main() -> None:
    parser = argument_parser(__doc__)
    parser.add_argument("--errors", choices=FIELDS, help="list the wrong answers of one field")
    parser.add_argument("--cache", type=Path, default=CACHE)
    arguments = parser.parse_args()
    score = load_scorer()
    loaded = dict(documents(arguments.cache))
    truth = {entry["id"]: entry for entry in labels() if entry["id"] in loaded}
    gate = RuleGate()
    hits: Counter[str] = Counter()
    known: Counter[str] = Counter()
    types: Counter[tuple[str, str]] = Counter()
    checks: Counter[str] = Counter()
    passed = 0
    seconds = 0.0
    for name, entry in truth.items():
        started = time.perf_counter()
        classification = classify(loaded[name])
        types[entry["doc_class"] or "unknown", classification.document_type] += 1
        if classification.document_type not in ("invoice", "purchase_order"):
            classification = Classification(document_type="purchase_order")
        schema = REGISTRY[classification.document_type]
        started = time.perf_counter()
        extraction = extract_by_rules(loaded[name], schema)
        seconds += time.perf_counter() - started
        verdict = gate.judge(loaded[name], extraction, schema)
        passed += verdict.passed
        checks.update(f"{failure.check}:{','.join(failure.fields)}" for failure in verdict.failures)
        given = answers(extraction)
        for field in FIELDS:
            gold = entry["gold"].get(field) or ""
            known[field] += bool(gold)
            good = is_right(field, given.get(field), gold, score)
            hits[field] += good
            if field == arguments.errors and not good:
                print(name[:8], classification.document_type, "|", gold, "|", given.get(field))
    print(f"{len(truth)} documents, {seconds / len(truth) * 1000:.0f} ms each")
    for field in FIELDS:
        low, high = score.wilson(hits[field], len(truth))
        print(
            f"{field:13} {hits[field] / len(truth):.3f} (95 %: {low:.3f}-{high:.3f}; {known[field]} labelled)"
        )
    print(f"mean S2 accuracy {sum(hits.values()) / len(truth) / len(FIELDS):.3f}")
    print(f"gate: passed {passed}", dict(checks.most_common(8)))
    print("types (label, ours):", dict(types))


if __name__ == "__main__":
    main()
