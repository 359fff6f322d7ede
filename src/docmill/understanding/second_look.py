"""A second look at what is doubted: its place is read once more, at another scale.

What both looks read alike is right more often than what they do not; and where amounts do not add up, the
second look may have read the one that does.
"""

import asyncio
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from itertools import combinations, islice

from docmill.model.document import Document, Words, letters_and_digits
from docmill.model.paths import leaves, set_value
from docmill.model.result import Evidence, Extraction, Schema
from docmill.model.steps_taken import StepTaken
from docmill.ports import Original
from docmill.resilience.time_limits import inner_limit
from docmill.schemas.filling import filled
from docmill.understanding.ports import PageRereader, Question, SecondReading
from docmill.understanding.text.money import Mark, WrittenAmount, find_amounts

MOST = 8
"""Places that are looked at again in one document: each takes a fraction of a second."""
LIMIT_S = 20.0
"""How long to wait for them: what has been read must not be lost because all processes are busy."""
ALIKE, UNLIKE = 0.25, -1.65
"""By how much the log-odds of a text change; those of amounts do not: bench/results/reading.md."""
_CLIP = 1e-4
_MARKS: tuple[Mark, Mark] = (".", ",")
_CENTS = -2
"""The exponent of an amount with two decimals."""


Other = tuple[Decimal, Evidence]
"""An amount as the second look reads it, and where."""


@dataclass(slots=True)
class Reread:
    """What a second look tells. extraction: its texts are believed more or less.

    alike, unlike: the paths whose text it read the same, and not the same. others: amounts it read instead.
    """

    extraction: Extraction
    alike: list[str] = field(default_factory=list[str])
    unlike: list[str] = field(default_factory=list[str])
    others: dict[str, Other] = field(default_factory=dict[str, Other])


class SecondLook:
    """`SecondReader` of the places of doubted values on recognised pages. limit_s: for all of a document."""

    name = "second look"
    is_paid = False

    def __init__(self, pages: PageRereader, *, limit_s: float = LIMIT_S) -> None:
        self._pages = pages
        self._limit_s = limit_s

    async def read_again(
        self, best: Extraction, doubted: Sequence[str], question: Question
    ) -> SecondReading | None:
        """See `SecondReader.read_again`: values believed more or less, or amounts with which sums add up."""
        if question.original is None:
            return None
        reread = await self.reread(question.document, best, doubted, original=question.original)
        looked_at = (*reread.alike, *reread.unlike)
        if not looked_at:
            return None
        others = reread.others
        return SecondReading(
            reread.extraction,
            (
                _with_amounts(reread.extraction, {path: others[path] for path in paths}, question.schema)
                for paths in _choices(tuple(others))
            ),
            StepTaken(kind="looked_again", fields=looked_at),
        )

    async def reread(
        self, document: Document, found: Extraction, doubted: Sequence[str], *, original: Original
    ) -> Reread:
        """What it says of the values at these paths. original: of the document. Raises nothing."""
        data, evidence = dict(leaves(found.data)), dict(found.evidence)
        seen = (path for path in doubted if path in data and _is_recognised(document, found, path))
        places = {path: evidence[path] for path in islice(seen, MOST)}
        try:
            async with inner_limit(self._limit_s):
                read = await asyncio.gather(
                    *(self._again(document, known, original) for known in places.values())
                )
        except TimeoutError:
            return Reread(found)
        reread = Reread(found)
        for (path, known), words in zip(places.items(), read, strict=True):
            if words is None:
                continue
            is_alike = _is_alike(data[path], known, words)
            (reread.alike if is_alike else reread.unlike).append(path)
            if not is_alike and isinstance(data[path], Decimal) and (other := _other(known, words)):
                reread.others[path] = other
            if not isinstance(data[path], Decimal):
                confidence = _believed(known.confidence, alike=is_alike)
                evidence[path] = known.model_copy(update={"confidence": confidence})
        reread.extraction = found.model_copy(update={"evidence": evidence})
        return reread

    async def _again(self, document: Document, known: Evidence, original: Original) -> Words | None:
        if known.page is None or known.box is None:
            return None
        words = await self._pages.reread(original, document, known.page, region=known.box)
        return words if words is not None and words.texts else None


def _choices(paths: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """Which of the amounts to take: one of them first, then more together."""
    for count in range(1, len(paths) + 1):
        yield from combinations(paths, count)


def _with_amounts(best: Extraction, others: Mapping[str, Other], schema: Schema) -> Extraction:
    data, evidence = best.data.model_dump(), dict(best.evidence)
    for path, (amount, proof) in others.items():
        set_value(data, path, amount)
        evidence[path] = proof
    return best.model_copy(update={"data": filled(schema.fields, data), "evidence": evidence})


def _is_recognised(document: Document, found: Extraction, path: str) -> bool:
    """Whether the value was read from a picture, so that it can be read otherwise."""
    known = found.evidence.get(path)
    return known is not None and any(
        page.number == known.page and page.source == "ocr" for page in document.pages
    )


def _is_alike(value: object, known: Evidence, words: Words) -> bool:
    if isinstance(value, Decimal):
        return abs(value) in {abs(one.value(mark)) for one in _written(words) for mark in _MARKS}
    return _stands(known.text or "", words)


def _stands(text: str, words: Words) -> bool:
    """Whether every word of the text was read again, in this order."""
    there, at = letters_and_digits("".join(words.texts)), 0
    for word in map(letters_and_digits, text.split()):
        found = there.find(word, at)
        if found < 0:
            return False
        at = found + len(word)
    return True


def _written(words: Words) -> Sequence[WrittenAmount]:
    return find_amounts(" ".join(words.texts), misread=True)


def _other(known: Evidence, words: Words) -> Other | None:
    """The amount that was read instead, if it is one."""
    written = _written(words)
    if len(written) != 1:
        return None
    amount = written[0].value(",")
    if amount.as_tuple().exponent != _CENTS:
        amount = written[0].value(".")
    reason = f"looked at again, it reads {written[0].digits}"
    return amount, known.model_copy(update={"match": "normalised", "reason": reason})


def _believed(confidence: float, *, alike: bool) -> float:
    """The confidence after both looks: their log-odds added, as far as the second says anything new."""
    certain = min(max(confidence, _CLIP), 1 - _CLIP)
    odds = math.log(certain / (1 - certain)) + (ALIKE if alike else UNLIKE)
    return round(1 / (1 + math.exp(-odds)), 4)
