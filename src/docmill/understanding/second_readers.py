"""Second readers of doubted fields: repeated recognition of their places, and language models.

The router calls them through the protocols at the top. Texts that both readings agree on are more often
right. Where amounts do not add up, the second reading may have the amount that does.
"""

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from itertools import chain, combinations
from typing import Protocol

from docmill.model.document import Box, Document, Words, letters_and_digits
from docmill.model.paths import is_same_value, leaves, set_value, value_at
from docmill.model.result import Evidence, Extraction, Schema, StepTaken
from docmill.ports import Original
from docmill.resilience.spending import Meter
from docmill.resilience.time_limits import inner_limit
from docmill.schemas.filling import ValueWithEvidence, filled, replace_values
from docmill.understanding.log_odds import shift_probability
from docmill.understanding.text.money import Mark, WrittenAmount, find_amounts

MOST = 8
"""Places that are looked at again in one document: each takes a fraction of a second."""
LIMIT_S = 20.0
"""For all of them: an extraction must not be lost because all processes are busy."""
ALIKE, UNLIKE = 0.25, -1.65
"""Change of the log-odds of a text; those of amounts stay: bench/results/reading.md."""
_CLIP = 1e-4
_MARKS: tuple[Mark, Mark] = (".", ",")
_CENTS = -2
"""The exponent of an amount with two decimals."""


@dataclass(frozen=True, slots=True)
class Question:
    """A request to a second reader. meter: counts the cost of its answer."""

    document: Document
    schema: Schema
    original: Original | None
    meter: Meter


@dataclass(frozen=True, slots=True)
class SecondReading:
    """The answer of a second reader.

    best: the extraction it was given, with other confidences or more failures. alternatives: extractions with
    other values of doubted fields; the router takes the first that the gate doubts less. step: the step to
    record, without its outcome.
    """

    best: Extraction
    alternatives: Iterable[Extraction]
    step: StepTaken


class SecondReader(Protocol):
    """Reads doubted fields again. name: shown to people. is_paid: whether its answers cost money."""

    @property
    def name(self) -> str: ...  # noqa: D102

    @property
    def is_paid(self) -> bool: ...  # noqa: D102

    async def read_again(
        self, best: Extraction, doubted: Sequence[str], question: Question
    ) -> SecondReading | None:
        """Read the values at these paths again; None if there is nothing that it can read.

        A paid reader raises as `Extractor.extract`, and SetupError; a free one raises nothing.
        """
        ...


class FieldModel(Protocol):
    """A model that reads some of the fields. name: shown to people."""

    @property
    def name(self) -> str: ...  # noqa: D102

    async def ask(
        self,
        document: Document,
        schema: Schema,
        original: Original | None = None,
        *,
        meter: Meter,
        only: Sequence[str] = (),
    ) -> Extraction:
        """The values at these paths; their cost is added to the meter. Raises as `Extractor.extract`."""
        ...


class PageRereader(Protocol):
    """Reads a part of a page once more."""

    async def reread(
        self, original: Original, document: Document, page_number: int, *, region: Box
    ) -> Words | None:
        """The words recognised in a region at another scale; None if it cannot be read again."""
        ...


@dataclass(slots=True)
class Reread:
    """The result of reading places again.

    extraction: with other confidences of its texts. alike, unlike: paths whose text was read alike or
    otherwise. others: amounts that were read instead, by path.
    """

    extraction: Extraction
    alike: list[str] = field(default_factory=list[str])
    unlike: list[str] = field(default_factory=list[str])
    others: dict[str, ValueWithEvidence] = field(default_factory=dict[str, ValueWithEvidence])


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
        """See `SecondReader.read_again`: other confidences, or amounts with which sums add up."""
        if question.original is None:
            return None
        reread = await self.reread(question.document, best, doubted, original=question.original)
        others, schema = reread.others, question.schema
        if not reread.alike and not reread.unlike:
            return None
        # One of the amounts first, then more of them together.
        counts = range(1, len(others) + 1)
        choices = chain.from_iterable(combinations(others, count) for count in counts)
        return SecondReading(
            reread.extraction,
            (
                replace_values(reread.extraction, schema, {path: others[path] for path in paths})
                for paths in choices
            ),
            StepTaken(kind="looked_again", fields=(*reread.alike, *reread.unlike)),
        )

    async def reread(
        self, document: Document, read: Extraction, doubted: Sequence[str], *, original: Original
    ) -> Reread:
        """Read the places of the values at these paths once more. Raises nothing."""
        data, evidence = dict(leaves(read.data)), dict(read.evidence)
        recognised = {page.number for page in document.pages if page.source == "ocr"}
        places = [
            (path, proof.page, proof.box)
            for path in doubted
            if path in data and (proof := evidence.get(path)) is not None
            if proof.page in recognised and proof.box is not None
        ][:MOST]
        reread = Reread(read)
        try:
            async with inner_limit(self._limit_s):
                readings = await asyncio.gather(
                    *(self._pages.reread(original, document, page, region=box) for _, page, box in places)
                )
        except TimeoutError:
            return reread
        for (path, _, _), words in zip(places, readings, strict=True):
            if words is None or not words.texts:
                continue
            value, proof = data[path], evidence[path]
            if isinstance(value, Decimal):
                amounts = find_amounts(" ".join(words.texts), misread=True)
                is_alike = abs(value) in {abs(amount.value(mark)) for amount in amounts for mark in _MARKS}
                if not is_alike and len(amounts) == 1:
                    reread.others[path] = _other_amount(amounts[0], proof)
            else:
                is_alike = _is_text_alike(proof.text or "", words)
                # Their log-odds are added, as far as the second look is independent of the first.
                change = ALIKE if is_alike else UNLIKE
                confidence = round(shift_probability(proof.confidence, change, clip=_CLIP), 4)
                evidence[path] = proof.model_copy(update={"confidence": confidence})
            (reread.alike if is_alike else reread.unlike).append(path)
        reread.extraction = read.model_copy(update={"evidence": evidence})
        return reread


def _is_text_alike(text: str, words: Words) -> bool:
    """Return whether every word of the text was read again, in this order."""
    letters, start = letters_and_digits("".join(words.texts)), 0
    for word in map(letters_and_digits, text.split()):
        index = letters.find(word, start)
        if index < 0:
            return False
        start = index + len(word)
    return True


def _other_amount(written: WrittenAmount, proof: Evidence) -> ValueWithEvidence:
    """The amount that was read instead, with the decimal mark that leaves two decimals."""
    amount = written.value(",")
    if amount.as_tuple().exponent != _CENTS:
        amount = written.value(".")
    reason = f"looked at again, it reads {written.digits}"
    return ValueWithEvidence(amount, proof.model_copy(update={"match": "normalised", "reason": reason}))


class ModelReader:
    """`SecondReader` by a language model. Values that are not printed on the page are not used."""

    is_paid = True

    def __init__(self, model: FieldModel) -> None:
        self._model = model

    @property
    def name(self) -> str:
        """The name of the model."""
        return self._model.name

    async def read_again(self, best: Extraction, doubted: Sequence[str], question: Question) -> SecondReading:
        """See `SecondReader.read_again`."""
        answer = await self._model.ask(
            question.document, question.schema, question.original, meter=question.meter, only=doubted
        )
        failures = tuple(dict.fromkeys((*best.failures, *answer.failures)))
        if failures != best.failures:
            best = best.model_copy(update={"failures": failures})
        step = StepTaken(kind="asked", by=answer.reason, fields=tuple(doubted))
        return SecondReading(best, [_merge_answer(best, answer, doubted, question.schema)], step)


def _merge_answer(best: Extraction, answer: Extraction, paths: Sequence[str], schema: Schema) -> Extraction:
    """The extraction `best` with the answer's values at these paths, as far as they are on the page."""
    data, evidence = best.data.model_dump(), dict(best.evidence)
    answered = answer.data.model_dump()
    for path in paths:
        owner = path.partition("[]")[0]
        value, proof, before = value_at(answered, owner), answer.evidence.get(path), evidence.get(path)
        if "[]" in path:
            # All items at once: those of two readers cannot be told apart.
            inner = f"{owner}["
            proofs = {member: proof for member, proof in answer.evidence.items() if member.startswith(inner)}
            is_printed = all(
                member not in proofs or proofs[member].match != "none" for member, _ in leaves(value, owner)
            )
            if value and is_printed:
                set_value(data, owner, value)
                others = {member: proof for member, proof in evidence.items() if not member.startswith(inner)}
                evidence = {**others, **proofs}
        elif value is None or proof is None or proof.match == "none":
            continue
        elif before is None or not is_same_value(value_at(data, path), value):
            set_value(data, path, value)
            evidence[path] = proof
        elif proof.confidence > before.confidence:
            # Of a value that was read alike twice, only the recognition may still be in doubt.
            evidence[path] = proof
    return best.model_copy(update={"data": filled(schema.fields, data), "evidence": evidence})
