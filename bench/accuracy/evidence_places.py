"""Measure how many true values are located on the pages, and how many of the labelled places are right.

Usage: python -m bench evidence_places [--errors] [--only SET]. Nothing is extracted: the truth itself is
looked for in the words that were read, as the answer of a perfect model would be. For receipts the lines of
`box` tell what truly stands at a place: it is right if the value and the lines there share their letters.
"""

import re
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rapidfuzz import fuzz

from bench.arguments import argument_parser
from bench.data import orders, receipts
from bench.data.shared import load_scorer
from bench.data.text_layer import text_layer
from docmill.demo import generate, load_truth
from docmill.model.document import Document, Page, letters_and_digits
from docmill.model.paths import leaves
from docmill.model.result import Evidence, Schema
from docmill.schemas.registry import REGISTRY
from docmill.schemas.user_schemas import schema_of
from docmill.understanding.locate.evidence import located

Case = tuple[str, Document, Schema, Any]


def sample_cases() -> Iterator[Case]:
    with tempfile.TemporaryDirectory() as folder:
        generate(Path(folder))
        for sample in load_truth(Path(folder)):
            if sample.form == "born-digital":
                yield sample.name, text_layer(sample.path), REGISTRY[sample.document_type], sample.truth


def receipt_cases() -> Iterator[Case]:
    score = load_scorer()
    labels = receipts.keys()
    for name, document in receipts.documents():
        key = labels[name]
        data = {
            "seller": {"name": key.get("company"), "address": key.get("address")},
            "issue_date": score.s2_date(key.get("date", "")),
            "gross_total": score.s2_total(key.get("total", "")),
        }
        yield name, document, REGISTRY["receipt"], data


def order_cases(cache: Path) -> Iterator[Case]:
    properties = {name: {"type": "string"} for name in orders.FIELDS}
    schema = schema_of({"type": "object", "title": "ad_buy", "properties": properties})
    truth = {entry["id"]: entry["gold"] for entry in orders.labels()}
    for name, document in orders.documents(cache):
        if name in truth:
            yield name, document, schema, {field: truth[name].get(field) or None for field in orders.FIELDS}


def is_right(name: str, page: Page, evidence: Evidence) -> bool | None:
    """Tell whether the labelled lines at a place have the text that was read; None without such a line."""
    assert evidence.box is not None
    x0, y0, x1, y1 = evidence.box
    there: list[str] = []
    for line in (receipts.SROIE / f"box/{name}.csv").read_text(encoding="utf-8").splitlines():
        *corners, text = line.split(",", 8)
        if len(corners) < 8:
            continue
        xs, ys = (
            [int(item) / page.width_pt for item in corners[::2]],
            [int(item) / page.height_pt for item in corners[1::2]],
        )
        across = min(x1, max(xs)) - max(x0, min(xs))
        down = min(y1, max(ys)) - max(y0, min(ys))
        if across > 0 and down > 0.4 * min(y1 - y0, max(ys) - min(ys)):
            there.append(text)
    if not there:
        return None
    wanted, joined = letters_and_digits(evidence.text or ""), letters_and_digits("".join(there))
    return fuzz.partial_ratio(wanted, joined) >= 80


def main() -> None:
    parser = argument_parser(__doc__)
    parser.add_argument("--errors", action="store_true", help="list what was not found, or is wrong")
    parser.add_argument("--only", choices=("samples", "receipts", "orders"))
    parser.add_argument("--cache", type=Path, default=orders.CACHE)
    arguments = parser.parse_args()
    sets = {
        "samples": sample_cases,
        "receipts": receipt_cases,
        "orders": lambda: order_cases(arguments.cache),
    }
    for which, cases in sets.items():
        if arguments.only in (None, which):
            measure(which, cases(), errors=arguments.errors)


def measure(which: str, cases: Iterator[Case], *, errors: bool) -> None:
    counts: Counter[tuple[str, str]] = Counter()
    seconds, documents = 0.0, 0
    for name, document, schema, data in cases:
        started = time.perf_counter()
        found = located(document, data, schema)
        seconds, documents = seconds + time.perf_counter() - started, documents + 1
        said = dict(leaves(data))
        for path, evidence in found.items():
            field = re.sub(r"\[\d+\]", "[]", path)
            outcome = evidence.match
            counts[field, outcome] += 1
            right = (
                is_right(name, document.pages[0], evidence) if which == "receipts" and evidence.box else None
            )
            if right is not None:
                counts[field, "right" if right else "wrong"] += 1
            if errors and (outcome == "none" or right is False):
                print(name[:30], outcome, path, "|", said[path], "|", evidence.text)
    print(f"{which}: {documents} documents, {1000 * seconds / documents:.0f} ms each")
    for field in [*sorted({field for field, _ in counts}), None]:
        tally = Counter[str]()
        for (item, outcome), count in counts.items():
            if field in (item, None):
                tally[outcome] += count
        total = sum(tally[match] for match in ("exact", "normalised", "computed", "none"))
        judged = tally["right"] + tally["wrong"]
        right = f", {tally['right']}/{judged} places right" if judged else ""
        print(
            f"  {field or 'all':28} {1 - tally['none'] / total:.3f} of {total} located{right}  {dict(tally)}"
        )


if __name__ == "__main__":
    main()
