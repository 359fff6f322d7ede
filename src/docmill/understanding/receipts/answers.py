"""A receipt's learned fields: the best spans and values, corrected, with the features of their confidence."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal

import numpy as np
from numpy.typing import NDArray

from docmill.model.document import letters_and_digits
from docmill.understanding.fields.candidates import Candidates
from docmill.understanding.fields.findings import Finding, cleaned
from docmill.understanding.page.layout import Span
from docmill.understanding.page.titles import is_title
from docmill.understanding.receipts.amounts import Amounts, amounts
from docmill.understanding.receipts.head import Head, head
from docmill.understanding.receipts.mending import Mender
from docmill.understanding.receipts.model import FIELDS, PATHS, ReceiptModel, signs
from docmill.understanding.receipts.spans import Choices, Field, enumerated, spans

_LEAST = 0.03
"""Belief below which nothing is answered: there is always a best span, also where there is no name."""
_RIVALS = 8
"""Of the best answers, those compared."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A field's value with its places and the features of its confidence."""

    value: date | Decimal | str
    spans: tuple[Span, ...]
    signs: NDArray[np.float64]


def answers(candidates: Candidates, ruled: Mapping[str, Finding], model: ReceiptModel) -> dict[str, Answer]:
    """The learned fields, by path. ruled: the findings of the rules on the same receipt."""
    found = head(candidates)
    shares = model.tags(found)
    every: dict[str, Answer | None] = {}
    for field in FIELDS:
        choices = enumerated(found, field, shares)
        if choices.choices:
            scores = model.span_scores(choices, shares)
            every[PATHS[field]] = spanned(candidates, ruled, model.mender, Ranked(found, choices, scores))
    sums = amounts(candidates, ruled)
    if sums.values:
        every[PATHS["total"]] = summed(candidates, ruled, sums, model.total_scores(sums))
    every[PATHS["date"]] = dated(candidates, ruled)
    return {path: answer for path, answer in every.items() if answer is not None}


@dataclass(frozen=True, slots=True)
class Ranked:
    """The spans of one field with their scores."""

    head: Head
    choices: Choices
    scores: NDArray[np.float64]


def spanned(
    candidates: Candidates, ruled: Mapping[str, Finding], mender: Mender, ranked: Ranked
) -> Answer | None:
    """The best span as it was probably printed."""
    field: Field = ranked.choices.field
    order: list[int] = np.argsort(-ranked.scores, kind="stable")[:_RIVALS].tolist()
    order = [index for index in order if not is_title(ranked.choices.text(ranked.head, index))] or order
    texts = [letters_and_digits(ranked.choices.text(ranked.head, index)) for index in order]
    places = _untitled(spans(ranked.head, ranked.choices.choices[order[0]]))
    read = cleaned(" ".join(span.text for span in places), plain=candidates.plain)
    recognised = any(candidates.layout.sheet(span.segment).page.source == "ocr" for span in places)
    value = cleaned(mender.mended(read, field), plain=False) if recognised else read
    if not value or ranked.scores[order[0]] < _LEAST:
        return None
    other = ruled.get(PATHS[field])
    return Answer(
        value,
        places,
        signs(
            _distinct([float(ranked.scores[index]) for index in order], texts),
            recognised=_recognised(candidates, places),
            quality=_quality(candidates, places),
            length=len(texts[0]),
            mended=value != read,
            known=mender.known(value),
            repeated=ranked.head.text.replace("\n", "").count(texts[0]) > 1,
            agrees=other is not None and letters_and_digits(str(other.value)) == letters_and_digits(read),
        ),
    )


def _untitled(places: tuple[Span, ...]) -> tuple[Span, ...]:
    """Without lines that say what the paper is: such a line stands above the name, and is none of it."""
    others = tuple(one for one in places if not is_title(one.text))
    return others or places


def summed(
    candidates: Candidates, ruled: Mapping[str, Finding], sums: Amounts, scores: NDArray[np.float64]
) -> Answer | None:
    """The best value, where labels speak most for it."""
    order: list[int] = np.argsort(-scores, kind="stable")[:_RIVALS].tolist()
    if scores[order[0]] < _LEAST:
        return None
    best = max(sums.places[order[0]], key=lambda one: sum(one.clues.values()))
    places = (Span(best.segment, best.start, best.stop),)
    other = ruled.get(PATHS["total"])
    value = sums.values[order[0]]
    return Answer(
        value if best.value >= 0 else best.value,
        places,
        signs(
            [float(scores[index]) for index in order],
            recognised=_recognised(candidates, places),
            quality=_quality(candidates, places),
            length=len(sums.places[order[0]]),
            mended=False,
            agrees=other is not None and other.value == value,
        ),
    )


def dated(candidates: Candidates, ruled: Mapping[str, Finding]) -> Answer | None:
    """The rules' date: learning found no better one."""
    found = ruled.get(PATHS["date"])
    if found is None or not isinstance(found.value, date):
        return None
    values = {one.value for one in candidates.dates}
    times = sum(one.value == found.value for one in candidates.dates)
    return Answer(
        found.value,
        found.spans,
        signs(
            [found.probability],
            recognised=_recognised(candidates, found.spans),
            quality=_quality(candidates, found.spans),
            length=len(values),
            mended=times > 1,
            agrees=sum(map(str.isdecimal, found.spans[0].text)) >= 6,  # noqa: PLR2004 - two each of day, month, year
        ),
    )


def _distinct(scores: Sequence[float], texts: Sequence[str]) -> list[float]:
    """The scores of different texts: the same words trimmed otherwise are no rival."""
    found: dict[str, float] = {}
    for score, text in zip(scores, texts, strict=True):
        found.setdefault(text, score)
    return list(found.values())


def _recognised(candidates: Candidates, places: Sequence[Span]) -> float:
    """The least confidence of the words of an answer."""
    least = 1.0
    for span in places:
        words = candidates.layout.sheet(span.segment).page.words
        start, stop = span.segment.words(span.start, span.stop)
        least = min(least, float(words.confidences[start:stop].min()))
    return least


def _quality(candidates: Candidates, places: Sequence[Span]) -> float:
    return candidates.layout.sheet(places[0].segment).page.quality
