"""Judge what a system says of stored pages by the truth of ../shared, as its scorers do."""

import importlib.util
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from docmill.model.document import Document, Page, Words
from docmill.understanding.fields.candidates import AnyCandidate, Form
from tools.page_model.decode import PlacedValue
from tools.page_model.samples import Sample

SHARED = Path(__file__).resolve().parents[3] / "shared"
PATHS = {
    "seller": "seller.name",
    "address": "seller.address",
    "date": "issue_date",
    "time": "time",
    "total": "gross_total",
    "number": "number",
    "tax": "tax_total",
    "currency": "currency",
}
"""Path by the field's name in the labels."""
FORMS: Mapping[str, Form] = {
    "issue_date": "date",
    "time": "time",
    "gross_total": "money",
    "tax_total": "money",
    "number": "code",
}
"""Form of the candidates by path."""
SROIE_KEYS = {"seller": "company", "address": "address", "date": "date", "total": "total"}
PRECISION = 0.97
_QUALITY = 0.9
_MARGIN = 1.02
"""Height of a page by its lowest word."""


@dataclass(slots=True)
class Answer:
    """Answer of a system for a page. values: by field, each value with its probability, the best first.

    believed: the fields whose first value the system gives as data.
    """

    key: str
    source: str
    fold: int
    values: dict[str, list[tuple[str, float]]]
    believed: list[str] = field(default_factory=list[str])


def document_of(sample: Sample) -> Document:
    """The stored page as docmill's reading would give it."""
    height = float(sample.boxes[:, 3].max(initial=1.0)) * _MARGIN
    boxes = (sample.boxes / np.array([1, height, 1, height], np.float32)).clip(0, 1)
    count = len(sample)
    words = Words(sample.texts, boxes, np.ones(count, np.float32), sample.lines, np.zeros(count, np.int32))
    page = Page(number=1, width_pt=600, height_pt=600 * height, words=words, source="ocr", quality=_QUALITY)
    return Document(content_hash=sample.key.rjust(64, "0")[-64:], media_type="image/jpeg", pages=[page])


def places(found: Iterable[AnyCandidate]) -> list[PlacedValue]:
    """Candidates as values with their places on the page. Amounts are taken without their sign."""
    placed: list[PlacedValue] = []
    for candidate in found:
        words: list[int] = []
        characters = 0
        for span in candidate.spans:
            start, stop = span.segment.words(span.start, span.stop)
            words.extend(range(start, stop))
            first, last = start - span.segment.start, stop - span.segment.start
            ends = (*span.segment.offsets, len(span.segment.text) + 1)
            characters += ends[last] - 1 - ends[first]
        value = abs(candidate.value) if isinstance(candidate.value, Decimal) else candidate.value
        placed.append(PlacedValue(value, tuple(words), min(1.0, len(candidate.text) / max(1, characters))))
    return placed


def shown(value: object) -> str:
    """The value as a string: ISO dates, plain decimals."""
    return (
        value.isoformat()
        if isinstance(value, date)
        else f"{value:f}"
        if isinstance(value, Decimal)
        else str(value)
    )


@cache
def _shared_module(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, SHARED / "eval" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@cache
def _world_truth() -> dict[str, dict[str, Any]]:
    with (SHARED / "data/world/labels.jsonl").open(encoding="utf-8") as lines:
        truth = {row["id"]: row for row in map(json.loads, filter(str.strip, lines))}
    for row in truth.values():
        for name in ("number", "seller"):
            row[name] = [row[name]] if isinstance(row.get(name), str) else row.get(name)
        row["tax"] = row.get("tax_total")
    return truth


@cache
def _sroie_truth(key: str) -> dict[str, str]:
    return json.loads((SHARED / f"data/sroie/key/{key}.json").read_text(encoding="utf-8"))


def judge(source: str, key: str) -> dict[str, Callable[[str], bool]]:
    """For each labelled field of a page, whether a value is right."""
    if source.startswith("world"):
        truth = _world_truth()[key]
        fields = _shared_module("world").FIELDS
        # Defaults bind the field of this turn.
        return {
            name: lambda value, is_right=fields[name][1]: bool(is_right(truth, value))
            for name in PATHS
            if truth.get(name) not in (None, "", [])
        }
    labels, scorer = _sroie_truth(key), _shared_module("score")
    return {
        name: lambda value, label=label, own=own: bool(scorer.hit(own, value, label, "S2"))
        for name, own in SROIE_KEYS.items()
        if (label := (labels.get(own) or "").strip())
    }


def coverage(
    chances: NDArray[np.float64], right: NDArray[np.bool_], folds: NDArray[np.int64], count: int
) -> tuple[float, float]:
    """Share of papers believed and right, and the precision, with each fold's threshold set on the others.

    count: of papers that have the field; those without an answer have none here.
    """
    given = good = 0
    for fold in np.unique(folds):
        rest = folds != fold
        threshold = least_threshold(chances[rest], right[rest])
        kept = (folds == fold) & (chances >= threshold)
        given, good = given + int(kept.sum()), good + int(right[kept].sum())
    return good / max(1, count), good / max(1, given)


def least_threshold(chances: NDArray[np.float64], right: NDArray[np.bool_]) -> float:
    """The least threshold with the wanted precision above it."""
    order = np.argsort(-chances, kind="stable")
    precision = np.cumsum(right[order]) / np.arange(1, len(order) + 1)
    enough = np.flatnonzero(precision >= PRECISION)
    return float(chances[order[enough[-1]]]) if len(enough) else 2.0


def table(systems: Mapping[str, Sequence[Answer]], sources: Sequence[str]) -> str:
    """Markdown: by source, field and system the first values that are right, and the coverage."""
    rows: list[str] = []
    for source in sources:
        rows.append(f"| {source} | " + " | ".join(PATHS) + " |")
        rows.append("|---" * (len(PATHS) + 1) + "|")
        for name, answers in systems.items():
            cells = [
                _cell([answer for answer in answers if answer.source == source], field) for field in PATHS
            ]
            rows.append(f"| {name} | " + " | ".join(cells) + " |")
        rows.append("")
    return "\n".join(rows)


def _cell(answers: Sequence[Answer], name: str) -> str:
    count = 0
    given: list[tuple[float, bool, int, bool]] = []
    for answer in answers:
        judges = judge(answer.source, answer.key)
        if name not in judges:
            continue
        count += 1
        values = answer.values.get(PATHS[name], [])
        if values:
            is_believed = PATHS[name] in answer.believed
            given.append((values[0][1], judges[name](values[0][0]), answer.fold, is_believed))
    if not count:
        return "-"
    chances = np.array([chance for chance, *_ in given], np.float64)
    right = np.array([is_right for _, is_right, *_ in given], np.bool_)
    folds = np.array([fold for *_, fold, _ in given], np.int64)
    sure = np.array([is_believed for *_, is_believed in given], np.bool_)
    share, precision = coverage(chances, right, folds, count)
    cell = f"{100 * right.sum() / count:.0f}; {100 * share:.0f} ({100 * precision:.0f})"
    if sure.any():
        cell += f"; now {100 * right[sure].sum() / count:.0f} ({100 * right[sure].mean():.0f})"
    return cell


def write_answers(path: Path, answers: Sequence[Answer]) -> None:
    """Keep answers as JSON lines."""
    with path.open("w", encoding="utf-8") as lines:
        for answer in answers:
            row = [answer.key, answer.source, answer.fold, answer.values, answer.believed]
            lines.write(json.dumps(row, default=str) + "\n")


def read_answers(path: Path) -> list[Answer]:
    """Kept answers."""
    with path.open(encoding="utf-8") as lines:
        return [Answer(*json.loads(line)) for line in lines]
