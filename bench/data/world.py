"""The receipts of ../shared/data/world: labels, labelled examples of kept readings, and what is right."""

import json
from collections.abc import Iterator
from difflib import SequenceMatcher
from functools import cache
from pathlib import Path
from typing import Any

from rapidfuzz import fuzz

from bench.accuracy.trust import is_set_aside
from bench.data.shared import DATA
from docmill.model import codec
from docmill.model.document import Document, letters_and_digits
from docmill.training.receipts import LabelledReceipt, is_right

WORLD = DATA / "world"
FIELDS = {
    "seller.name": "seller",
    "seller.address": "address",
    "issue_date": "date",
    "time": "time",
    "number": "number",
    "currency": "currency",
    "gross_total": "total",
    "net_total": "net",
    "tax_total": "tax_total",
}
"""The label of each path."""
_PRINTED = 90
"""Likeness, in percent, of a name that is printed on the page to one that was read there."""
_LIKE = 0.9
"""Likeness of a text that is right though some letters of it were misread."""
_FEWEST = 4
"""Letters of a name that may be part of another."""


@cache
def labels() -> dict[str, dict[str, Any]]:
    """Load the labels of each legible paper, by its name; names and numbers as lists of what is accepted."""
    rows = map(json.loads, (WORLD / "labels.jsonl").read_text(encoding="utf-8").splitlines())
    legible = (row for row in rows if row.get("legible", True))
    return {row["id"]: row | {key: _listed(row[key]) for key in ("number", "seller")} for row in legible}


def _listed(accepted: str | list[str] | None) -> list[str]:
    return [accepted] if isinstance(accepted, str) else accepted or []


def papers(readings: Path) -> Iterator[tuple[str, Document]]:
    """Yield the kept reading of each paper that is not set aside, by its name."""
    for path in sorted(readings.glob("*.json.zst")):
        name = path.name.partition(".")[0]
        if name in labels() and not is_set_aside(labels()[name]["vendor"]):
            yield name, codec.loads(path.read_bytes())


def receipts(readings: Path) -> Iterator[LabelledReceipt]:
    """Yield the papers as labelled receipts; of several names, the longest that was read."""
    for name, document in papers(readings):
        label = labels()[name]
        read = letters_and_digits(" ".join(text for page in document.pages for text in page.words.texts))
        names, numbers = (
            sorted(label[name], key=lambda text: (_is_printed(text, read), len(text)))
            for name in ("seller", "number")
        )
        truth = {
            "seller.name": names[-1] if names else None,
            "seller.address": label["address"],
            "issue_date": label["date"],
            "time": label["time"],
            "number": numbers[-1] if numbers else None,
            "gross_total": label["total"],
        }
        known = {path: text for path, text in truth.items() if text}
        yield LabelledReceipt(name, f"world {label['vendor']}", document, known)


def _is_printed(text: str, read: str) -> bool:
    return fuzz.partial_ratio(letters_and_digits(text), read) > _PRINTED


def is_value_right(name: str, path: str, value: Any) -> bool | None:
    """Return whether a value of a paper is right; None where nobody has said."""
    label = labels()[name]
    truth = label[FIELDS[path]]
    if not truth:
        return None
    text = str(value)
    match path:
        case "seller.name" | "seller.address":
            accepted: list[str] = label["seller"] if path == "seller.name" else [truth, label["address_alt"]]
            right = any(_is_like(one, text) for one in accepted if one)
        case "number":
            right = any(letters_and_digits(one) == letters_and_digits(text) for one in truth)
        case "time":
            right = text[:5] == truth[:5]
        case "currency":
            right = text == truth
        case _:
            right = is_right(value, truth)
    return right


def _is_like(text: str, value: str) -> bool:
    """Return whether two texts are the same, but for a misread letter or what only one of them has."""
    some, others = letters_and_digits(text), letters_and_digits(value)
    if min(len(some), len(others)) < _FEWEST:
        return some == others
    return some in others or others in some or SequenceMatcher(None, some, others).ratio() >= _LIKE
