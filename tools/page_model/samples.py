"""Labelled pages for the page model, and their files of JSON lines.

A line of such a file is one page:

    {"id", "source", "group", "kind",
     "page": {"type", "country", "language", "currency"},
     "known": [roles], "values": {path: [accepted texts]},
     "words": [{"t": text, "b": [x0, y0, x1, y1], "l": line, "r": role, "c": goes on}]}
"""

import gzip
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

ITEMS = ("items.description", "items.quantity", "items.unit", "items.unit_price", "items.amount")
_DIGITS = 4


@dataclass(frozen=True)
class PageFacts:
    """Facts about a whole page; None where nobody has said."""

    type: str | None = None
    country: str | None = None
    language: str | None = None
    currency: str | None = None


@dataclass
class Sample:
    """A page of n words in reading order, with their roles.

    group: of papers that must not be in training and test together. boxes: float32, shape (n, 4), x0, y0,
    x1, y1 in fractions of the page's width, also y. lines: int32, shape (n,). roles: a path, `label:PATH`,
    `none`, or None if nobody knows. goes_on: whether a word goes on with the value that the last word of the
    same role belongs to. known: the roles with which all words of the page were labelled; a word `none` has
    none of these, though it may have another one. values: accepted texts of the fields that the paper has.
    """

    key: str
    source: str
    group: str
    kind: str
    facts: PageFacts
    texts: list[str]
    boxes: NDArray[np.float32]
    lines: NDArray[np.int32]
    roles: list[str | None]
    goes_on: list[bool]
    known: tuple[str, ...] = ()
    values: Mapping[str, Sequence[str]] = field(default_factory=dict[str, Sequence[str]])

    def __len__(self) -> int:
        return len(self.texts)


def to_record(sample: Sample) -> dict[str, Any]:
    """The sample for JSON."""
    columns = zip(
        sample.texts,
        sample.boxes.tolist(),
        sample.lines.tolist(),
        sample.roles,
        sample.goes_on,
        strict=True,
    )
    return {
        "id": sample.key,
        "source": sample.source,
        "group": sample.group,
        "kind": sample.kind,
        "page": vars(sample.facts),
        "known": list(sample.known),
        "values": {path: list(texts) for path, texts in sample.values.items()},
        "words": [
            {"t": text, "b": [round(edge, _DIGITS) for edge in box], "l": line, "r": role, "c": goes_on}
            for text, box, line, role, goes_on in columns
        ],
    }


def of_record(record: Mapping[str, Any]) -> Sample:
    """The sample that `to_record` was given."""
    words = record["words"]
    return Sample(
        key=record["id"],
        source=record["source"],
        group=record["group"],
        kind=record["kind"],
        facts=PageFacts(**record["page"]),
        texts=[word["t"] for word in words],
        boxes=np.array([word["b"] for word in words], np.float32).reshape(-1, 4),
        lines=np.array([word["l"] for word in words], np.int32),
        roles=[word["r"] for word in words],
        goes_on=[word["c"] for word in words],
        known=tuple(record["known"]),
        values=record["values"],
    )


def write_samples(path: Path, samples: Iterable[Sample]) -> int:
    """Write a file of samples, whole or not at all. Returns their number."""
    unfinished = path.with_suffix(".unfinished")
    count = 0
    with gzip.open(unfinished, "wt", encoding="utf-8") as lines:
        for sample in samples:
            lines.write(json.dumps(to_record(sample), ensure_ascii=False) + "\n")
            count += 1
    unfinished.rename(path)
    return count


def read_samples(path: Path) -> Iterator[Sample]:
    """Yield the samples of a file."""
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            yield of_record(json.loads(line))
