"""Measure the accuracy of a finished `docmill run` by the shared scorer.

python -m bench run_records sroie out.jsonl
python -m bench run_records adbuy out.jsonl
"""

import json
from pathlib import Path
from typing import Any

from bench.arguments import argument_parser
from bench.data import orders, receipts
from bench.data.shared import load_scorer

Records = dict[str, dict[str, Any]]


def main() -> None:
    parser = argument_parser(__doc__)
    parser.add_argument("dataset", choices=("sroie", "adbuy"))
    parser.add_argument("records", type=Path)
    arguments = parser.parse_args()
    lines = arguments.records.read_text(encoding="utf-8").splitlines()
    records = {Path(record["source"]).stem: record for record in map(json.loads, lines)}
    _accounted(records)
    (score_receipts if arguments.dataset == "sroie" else score_orders)(records)


def _accounted(records: Records) -> None:
    statuses = [record["status"] for record in records.values()]
    types = [record["document_type"] for record in records.values()]
    print(f"{len(records)} records: " + _counted(statuses))
    print("document types: " + _counted(types))
    seconds = sum(record["timings_s"].get("transcribe", 0) for record in records.values())
    print(f"reading took {seconds / max(1, len(records)):.2f} s per document (sum over processes)")


def _counted(values: list[Any]) -> str:
    return ", ".join(f"{value} {values.count(value)}" for value in sorted(set(values), key=str))


def score_receipts(records: Records) -> None:
    """Print S0 to S3 and doc4 of company, date, address, total: for all, and those that passed the gate."""
    scorer = load_scorer()
    ids = receipts.names_with_pictures()
    labels = receipts.keys()
    gold = {key: labels[key] for key in ids}
    predicted = {key: receipt_prediction(records.get(key)) for key in ids}
    scorer.show(f"all ({len(ids)})", scorer.score(predicted, gold, ids))
    passed = [key for key in ids if key in records and records[key]["status"] == "completed"]
    if passed:
        scorer.show(f"passed the gate ({len(passed)})", scorer.score(predicted, gold, passed))


def receipt_prediction(record: dict[str, Any] | None) -> dict[str, str | None]:
    data: dict[str, Any] = (record and record["data"]) or {}
    seller: dict[str, Any] = data.get("seller") or {}
    return {
        "company": seller.get("name"),
        "address": seller.get("address"),
        "date": data.get("issue_date"),
        "total": data.get("gross_total"),
    }


def score_orders(records: Records) -> None:
    """Print the S2 accuracy of each field with its 95 % interval."""
    scorer = load_scorer()
    hits: dict[str, list[bool]] = {}
    for label in orders.labels():
        predicted = order_prediction(records.get(label["id"]))
        for field, truth in label["gold"].items():
            if truth:
                hits.setdefault(field, []).append(orders.is_right(field, predicted[field], truth, scorer))
    for field, results in hits.items():
        low, high = scorer.wilson(sum(results), len(results))
        print(f"{field:14} {sum(results) / len(results):.3f}  n={len(results)}  95 % {low:.3f}-{high:.3f}")
    means = [sum(results) / len(results) for results in hits.values()]
    print(f"{'mean':14} {sum(means) / len(means):.3f}")


def order_prediction(record: dict[str, Any] | None) -> dict[str, str | None]:
    data: dict[str, Any] = (record and record["data"]) or {}
    buyer: dict[str, Any] = data.get("buyer") or {}
    return {
        "contract_num": data.get("contract_number") or data.get("number"),
        "advertiser": buyer.get("name"),
        "gross_amount": data.get("gross_total"),
        "flight_from": data.get("period_start"),
        "flight_to": data.get("period_end"),
    }


if __name__ == "__main__":
    main()
