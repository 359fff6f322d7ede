"""Measure the rules' accuracy on the receipts of ../shared/data/sroie, by the scores of ../shared/eval.

Usage: python -m bench receipts_by_rule [--errors FIELD]
"""

import time
from collections import Counter
from types import ModuleType

from bench.arguments import argument_parser
from bench.data.receipts import PATHS, documents, keys, names_with_pictures
from bench.data.shared import load_scorer
from docmill.model.document import Document
from docmill.model.result import Classification, Extraction
from docmill.schemas.registry import REGISTRY
from docmill.schemas.types import Receipt
from docmill.understanding.constraints.extractor import extract_by_rules
from docmill.understanding.gate import RuleGate
from docmill.understanding.types.classifier import classify

Truth = dict[str, dict[str, str]]
RARE = 2
"""Receipts of one vendor, at most, for it to count as rare."""


def answers(extraction: Extraction) -> dict[str, str | None]:
    """Return the four fields in the form of the labels."""
    data = extraction.data
    if not isinstance(data, Receipt):
        return {}
    return {
        "company": data.seller.name,
        "date": data.issue_date.strftime("%d/%m/%Y") if data.issue_date else None,
        "address": data.seller.address,
        "total": str(data.gross_total) if data.gross_total is not None else None,
    }


def run(loaded: dict[str, Document], *, by_type: bool) -> dict[str, tuple[Classification, Extraction]]:
    results: dict[str, tuple[Classification, Extraction]] = {}
    for name, document in loaded.items():
        classification = Classification(document_type="receipt")
        if by_type:
            classification = classify(document)
        results[name] = (
            classification,
            extract_by_rules(document, REGISTRY[classification.document_type]),
        )
    return results


def rare(truth: Truth, score: ModuleType) -> list[str]:
    counts = Counter(score.s2_text(fields.get("company") or "") for fields in truth.values())
    return sorted(
        name for name, fields in truth.items() if counts[score.s2_text(fields.get("company") or "")] <= RARE
    )


def report_gate(
    loaded: dict[str, Document],
    results: dict[str, tuple[Classification, Extraction]],
    truth: Truth,
    score: ModuleType,
) -> None:
    gate = RuleGate()
    passed: list[str] = []
    checks: Counter[str] = Counter()
    for name, (_, extraction) in results.items():
        verdict = gate.judge(loaded[name], extraction, REGISTRY[extraction.document_type])
        checks.update({f"{failure.check}:{','.join(failure.fields)}" for failure in verdict.failures})
        if verdict.passed:
            passed.append(name)
    print(f"gate: passed {len(passed)} of {len(results)} = {len(passed) / len(results):.3f}")
    for field in PATHS:
        right = sum(
            score.hit(field, answers(results[name][1]).get(field) or "", truth[name].get(field) or "", "S2")
            for name in passed
        )
        print(f"  {field:8} right among passed: {right / max(1, len(passed)):.3f}")
    right = sum(
        all(
            score.hit(field, answers(results[name][1]).get(field) or "", truth[name].get(field) or "", "S2")
            for field in ("company", "date", "total")
        )
        for name in passed
    )
    low, high = score.wilson(right, len(passed))
    print(
        f"  company, date and total all right: {right / max(1, len(passed)):.3f} (95 %: {low:.3f}-{high:.3f})"
    )
    print("  failed checks:", dict(checks.most_common(12)))


def coverage(results: dict[str, tuple[Classification, Extraction]], truth: Truth, score: ModuleType) -> None:
    """Print for each field the share answered from the lowest confidence with 99, 95 and 90 % right."""
    for field, path in PATHS.items():
        ranking: list[tuple[float, bool]] = []
        for name, (_, extraction) in results.items():
            answer = answers(extraction).get(field)
            if answer is not None:
                right = bool(score.hit(field, answer, truth[name].get(field) or "", "S2"))
                ranking.append((extraction.evidence[path].confidence, right))
        ranking.sort(reverse=True)
        cells: list[str] = []
        for goal in (0.99, 0.95, 0.9):
            best, right = (0, 0.0), 0
            for count, (confidence, is_right) in enumerate(ranking, 1):
                right += is_right
                if right / count >= goal:
                    best = (count, confidence)
            cells.append(f"{goal:.2f}: {best[0] / len(results):.3f} from {best[1]:.3f}")
        print(f"coverage {field:8}", "; ".join(cells))


def main() -> None:
    parser = argument_parser(__doc__)
    parser.add_argument("--errors", choices=PATHS, help="list the wrong answers of one field")
    arguments = parser.parse_args()
    score = load_scorer()
    labels = keys()
    loaded = {name: document for name, document in documents() if name in labels}
    truth = {name: labels[name] for name in loaded}
    started = time.perf_counter()
    known = run(loaded, by_type=False)
    print(f"{len(loaded)} receipts, {(time.perf_counter() - started) / len(loaded) * 1000:.1f} ms each")
    given = {name: answers(extraction) for name, (_, extraction) in known.items()}
    if arguments.errors:
        for name, fields in truth.items():
            answer = given[name].get(arguments.errors) or ""
            if not score.hit(arguments.errors, answer, fields.get(arguments.errors) or "", "S2"):
                print(name, "|", fields.get(arguments.errors), "|", answer)
        return
    score.show("all", score.score(given, truth, sorted(truth)))
    score.show("with images", score.score(given, truth, sorted(set(truth) & set(names_with_pictures()))))
    score.show("vendors with one or two", score.score(given, truth, rare(truth, score)))
    classified = run(loaded, by_type=True)
    types = Counter(classification.document_type for classification, _ in classified.values())
    print("classified as", dict(types), f"receipt: {types['receipt'] / len(loaded):.3f}")
    score.show(
        "with own classifier",
        {
            "S2": score.score(
                {name: answers(e) for name, (_, e) in classified.items()}, truth, sorted(truth)
            )["S2"]
        },
    )
    report_gate(loaded, classified, truth, score)
    coverage(known, truth, score)


if __name__ == "__main__":
    main()
