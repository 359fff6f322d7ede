"""The photographs of ../shared/data/photos: their labels, and the rules by which a value agrees with them.

They are measured on and never trained on. The labels have no spaces and often list a value several times.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import date
from decimal import Decimal
from typing import Any

from bench.data.shared import DATA

PHOTOS = DATA / "photos"
FIELDS = (
    "seller.name",
    "seller.address",
    "issue_date",
    "time",
    "gross_total",
    "net_total",
    "tax_total",
    "tip",
)
"""The header fields that are labelled, by their paths in the data of a receipt."""

_AMOUNT = re.compile(r"\d[\d.,]*|[.,]\d+")
_CLOCK = re.compile(r"(\d{1,2})\D(\d{2})(?:\D(\d{2}))?")
_MONTHS = ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC")
_HALF_DAY = 12
_CENTURY = 100
_UPRIGHT = 3
"""Characters from which on an upright text is wider than high."""


def labels() -> dict[str, dict[str, list[str]]]:
    """Load the accepted texts of each field, in reading order, by the picture's file name."""
    rows = map(json.loads, (PHOTOS / "labels.jsonl").read_text(encoding="utf-8").splitlines())
    return {
        row["file"]: {
            field: in_reading_order(row["values"][field]) for field in FIELDS if row["values"].get(field)
        }
        for row in rows
    }


def in_reading_order(items: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the texts of labels line by line and each line from the left; they are listed in any order.

    Those of a picture that lies on its side stay as they are listed.
    """
    boxes = [(item["box"][::2], item["box"][1::2]) for item in items]
    placed = [
        ((min(y) + max(y)) / 2, max(y) - min(y), min(x), max(x) - min(x), item["text"])
        for item, (x, y) in zip(items, boxes, strict=True)
    ]
    if any(height > width for _, height, _, width, text in placed if len(text) > _UPRIGHT):
        return [item["text"] for item in items]
    lines: list[list[tuple[float, float, float, float, str]]] = []
    for label in sorted(placed):
        if lines and label[0] - lines[-1][0][0] < min(label[1], lines[-1][0][1]) / 2:
            lines[-1].append(label)
        else:
            lines.append([label])
    return [label[-1] for line in lines for label in sorted(line, key=lambda label: label[2])]


def is_right(field: str, answer: str, accepted: Sequence[str], score: Any) -> bool:
    """Return whether the answer equals an accepted text, or all of them joined.

    Texts are equal by letters and digits, amounts to the cent with a comma before two final digits as decimal
    mark, dates as calendar days with day and month in either order, times by the hour modulo 12 and minute.
    """
    if field in ("seller.name", "seller.address"):
        texts = [*accepted, "".join(accepted)]
        return score.s2_text(answer) in {score.s2_text(text) for text in texts}
    read_by: Mapping[str, Callable[[str], set[Any]]] = {"issue_date": days, "time": clock_times}
    read = read_by.get(field, amounts)
    return bool(read(answer) & set().union(*map(read, accepted)))


def amounts(text: str) -> set[Any]:
    """Read the last amount of the text."""
    found = _AMOUNT.findall(text.replace(" ", ""))
    if not found:
        return set()
    digits = found[-1]
    if re.search(r",\d\d$", digits):
        digits = digits.replace(".", "").replace(",", ".")
    digits = digits.replace(",", "")
    if digits.count(".") > 1:
        whole, _, cents = digits.rpartition(".")
        digits = f"{whole.replace('.', '')}.{cents}"
    return {Decimal(digits).quantize(Decimal("0.01"))}


def days(text: str) -> set[Any]:
    """Read the calendar days that the text may mean, of either order of day and month."""
    text = text.upper()
    found: set[Any] = set()
    for year, month, day in re.findall(r"(?<!\d)(\d{4})\D(\d{1,2})\D(\d{1,2})", text):
        found |= _day(year, month, day)
    for first, second, year in re.findall(
        r"(?<!\d)(\d{1,2})[^\dA-Z](\d{1,2})[^\dA-Z](\d{4}|\d{2})(?!\d)", text
    ):
        found |= _day(year, second, first) | _day(year, first, second) | _day(first, second, year)
    for day, name, year in re.findall(
        r"(\d{1,2})[^\dA-Z]*([A-Z]{3})[A-Z]*[^\dA-Z]*(\d{4}|\d{2})(?!\d)", text
    ):
        found |= _day(year, _month(name), day)
    for name, day, year in re.findall(
        r"([A-Z]{3})[A-Z]*[^\dA-Z]*(\d{1,2})[^\dA-Z]+(\d{4}|\d{2})(?!\d)", text
    ):
        found |= _day(year, _month(name), day)
    for name, day, year in re.findall(r"([A-Z]{3})[A-Z]*[^\dA-Z]*(\d{2})((?:19|20)\d{2})", text):
        found |= _day(year, _month(name), day)
    for year, month, day in re.findall(r"(?<!\d)((?:19|20)\d\d)(\d\d)(\d\d)(?!\d)", text):
        found |= _day(year, month, day)
    return found


def _month(name: str) -> int:
    return _MONTHS.index(name) + 1 if name in _MONTHS else 0


def _day(year: str, month: str | int, day: str) -> set[Any]:
    whole = int(year) + (2000 if int(year) < _CENTURY else 0)
    try:
        return {date(whole, int(month), int(day))}
    except ValueError:
        return set()


def clock_times(text: str) -> set[Any]:
    """Read the times of day in the text, as hour modulo 12 and minute."""
    return {(int(hour) % _HALF_DAY, int(minute)) for hour, minute, _ in _CLOCK.findall(text)}
