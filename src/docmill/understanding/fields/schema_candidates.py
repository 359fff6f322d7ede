"""Candidates for the fields of a user's schema: the document's, and others that only such fields have."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import date
from decimal import Decimal
from functools import cached_property
from typing import TypeAlias

from docmill.model.document import letters_and_digits
from docmill.understanding.fields.candidates import MOST_CANDIDATES, Candidate, Candidates, Form
from docmill.understanding.fields.meaning import NO, YES
from docmill.understanding.page.context import ValueContext
from docmill.understanding.page.layout import Segment, Span
from docmill.understanding.text.dates import find_times
from docmill.understanding.text.folding import fold
from docmill.understanding.text.money import currency_code, currency_spans

AnyCandidate: TypeAlias = Candidate[date] | Candidate[Decimal] | Candidate[str]
MatchStrength: TypeAlias = Callable[[str], float]
"""How strongly a text names a field."""

_NEXT_LINE = 0.9
"""Text heights to the line in which a name goes on."""
_FLUSH = 0.005
_LONGEST_NAME = 11
_ANY_END = 6
_LONGEST_LABEL = 4
_LEAST_MATCH = 0.3
"""How strongly the texts around must name the field before the runs of words in a text are tried."""
_IS_LABEL = 1.2
_FEWEST_LETTERS = 2
_SHORTEST = 3
_LONGEST_CODE = 24
_LONGEST_CONTINUED = 8
_LONGEST_CONTINUATION = 6

_WORD_WITH_DIGIT = re.compile(r"[^\W_](?:[^\W_]|[\-_/.](?=[^\W_]))*")
_FILE_ENDING = re.compile(r"\.[a-z]{2,3}$")
_REVISION = re.compile(r"\s?/\s?\d{1,2}\b| ?\((?:Rev|Ver)\.? ?\d+\)", re.IGNORECASE)
_MAIL = re.compile(r"[\w.+\-]+@[\w\-]+(?:\.[\w\-]+)+")
_YES, _NO = frozenset((*YES, "\u2713", "\u2714", "\u2612", "\u2611")), frozenset((*NO, "\u2610"))
_ANSWER = re.compile(r"\[[xX ]\]|[\u2610-\u2612\u2713\u2714]|(?<![^\s:])[^\W\d_]+(?![^\s.,;])")


class SchemaCandidates:
    """The candidates of a document for any field, by form; each form is made when first asked for."""

    def __init__(self, candidates: Candidates) -> None:
        self._candidates = candidates
        self._segments = candidates.layout.segments

    def of_form(self, form: Form) -> Sequence[AnyCandidate]:
        """The candidates of a form that needs to know no more of the field."""
        candidates = self._candidates
        sources: dict[Form, Callable[[], Sequence[AnyCandidate]]] = {
            "date": lambda: candidates.dates,
            "time": lambda: self._times,
            "money": lambda: self._amounts,
            "number": lambda: candidates.numbers[:MOST_CANDIDATES],
            "boolean": lambda: self._answers,
            "code": lambda: self.codes,
            "iban": lambda: candidates.ibans,
            "bic": lambda: candidates.bics,
            "vat id": lambda: candidates.vat_ids,
            "mail": lambda: self._mails,
            "currency": lambda: self._currencies,
        }
        return sources[form]()

    @cached_property
    def _amounts(self) -> list[Candidate[Decimal]]:
        """Numbers that are no percentage."""
        numbers = self._candidates.numbers
        return [number for number in numbers if number.form == "money"][:MOST_CANDIDATES]

    @cached_property
    def codes(self) -> list[Candidate[str]]:
        """Words with a digit, whole and without their last part."""
        codes = (
            code for segment in self._segments if _has_digit(segment) for code in self._codes_of(segment)
        )
        return list(codes)[:MOST_CANDIDATES]

    def _codes_of(self, segment: Segment) -> Iterator[Candidate[str]]:
        text = segment.text
        dates = [
            written
            for written in self._candidates.written_dates[segment.index]
            if not text[written.start : written.stop].isdecimal()
        ]
        for match in _WORD_WITH_DIGIT.finditer(text):
            word, (start, stop) = match[0], match.span()
            if not any(map(str.isdecimal, word)) or _FILE_ENDING.search(word) or text[:start].endswith("@"):
                continue
            if not _SHORTEST <= len(letters_and_digits(word)) <= _LONGEST_CODE:
                continue
            is_date = any(start < written.stop and written.start < stop for written in dates)
            revision = _REVISION.match(text, stop)
            for end in (
                stop,
                start + word.index("/") if "/" in word else 0,
                revision.end() if revision else 0,
            ):
                value = text[start:end]
                if len(letters_and_digits(value)) >= _SHORTEST:
                    yield self._candidates.candidate("code", value, segment, start, end, plain=is_date)

    @cached_property
    def _times(self) -> list[Candidate[str]]:
        """Times of day as HH:MM:SS."""
        return self._made("time", find_times, filter(_has_digit, self._segments))

    @cached_property
    def _mails(self) -> list[Candidate[str]]:
        return self._made(
            "mail", lambda text: ((match[0], *match.span()) for match in _MAIL.finditer(text)), self._segments
        )

    @cached_property
    def _answers(self) -> list[Candidate[str]]:
        """Yes and no, as words and as ticked or empty boxes."""
        return self._made("boolean", _find_answers, self._segments)

    @cached_property
    def _currencies(self) -> list[Candidate[str]]:
        code = self._candidates.conventions.currency
        if code is None:
            return []

        def find(text: str) -> Iterator[tuple[str, int, int]]:
            for printed, start, stop in currency_spans(text):
                if currency_code(printed, self._candidates.conventions.language) in (
                    code,
                    "USD" if printed == "$" else code,
                ):
                    yield code, start, stop

        return self._made("currency", find, self._segments)

    def choices(self, wanted: Sequence[str]) -> list[Candidate[str]]:
        """The places of any of the texts that a field may have, as whole words."""
        found: list[Candidate[str]] = []
        for choice in wanted:
            pattern = re.compile(r"(?<!\w)" + re.escape(fold(choice.replace("_", " "))) + r"(?!\w)")
            for segment in self._segments:
                found.extend(
                    self._candidates.candidate("choice", choice, segment, *match.span())
                    for match in pattern.finditer(fold(segment.text))
                )
        return found[:MOST_CANDIDATES]

    def _made(
        self,
        form: Form,
        find: Callable[[str], Iterable[tuple[str, int, int]]],
        segments: Iterable[Segment],
    ) -> list[Candidate[str]]:
        return [
            self._candidates.candidate(form, value, segment, start, stop)
            for segment in segments
            for value, start, stop in find(segment.text)
        ][:MOST_CANDIDATES]

    def names(self, match_strength: MatchStrength) -> list[Candidate[str]]:
        """Runs of words in whose context the field is named at all."""
        return [name for segment in self._segments for name in self._names_of(segment, match_strength)][
            :MOST_CANDIDATES
        ]

    def _names_of(self, segment: Segment, match_strength: MatchStrength) -> Iterator[Candidate[str]]:
        around = self._candidates.contexts.texts(segment)
        page = self._candidates.layout.sheet(segment).page
        texts = page.words.texts[segment.start : segment.stop]
        outside = max(map(match_strength, (around.left, around.above, around.head, around.row)))
        starts = {0} if outside >= _LEAST_MATCH else set[int]()
        for count in range(1, min(len(texts), _LONGEST_LABEL + 1)):
            is_marked = texts[count - 1].endswith((":", "#"))
            if is_marked or match_strength(" ".join(texts[:count])) >= _LEAST_MATCH:
                starts.add(count)
        if not starts or (len(texts) < _LONGEST_LABEL and match_strength(segment.text) >= _IS_LABEL):
            return
        for start in sorted(starts):
            for stop in _ends(texts, start):
                yield from self._names_at(segment, texts, start, stop)

    def _names_at(
        self, segment: Segment, texts: Sequence[str], start: int, stop: int
    ) -> Iterator[Candidate[str]]:
        """The words `start` to `stop` as a name; the same with the next line, and cut at a bracket."""
        offsets = segment.offsets
        first, last = offsets[start], offsets[stop - 1] + len(texts[stop - 1])
        whole = self._name(segment, (first, last), texts, start, stop)
        if whole is not None:
            yield whole
            if stop == len(texts) and stop - start <= _LONGEST_CONTINUED:
                yield from self._continued(whole)
        cut = segment.text.find("(", offsets[stop - 1] + 2, last)
        if cut > 0:
            shorter = self._name(segment, (first, cut), texts, start, stop)
            if shorter is not None:
                yield shorter

    def _name(
        self, segment: Segment, at: tuple[int, int], texts: Sequence[str], start: int, stop: int
    ) -> Candidate[str] | None:
        text = segment.text[at[0] : at[1]]
        value = text.strip(" :-,;")
        if sum(map(str.isalpha, value)) < _FEWEST_LETTERS or len(letters_and_digits(value)) < _SHORTEST:
            return None
        begin = at[0] + text.index(value[0])
        following = texts[stop] if stop < len(texts) else ""
        return Candidate(
            "name",
            value,
            (Span(segment, begin, begin + len(value)),),
            ValueContext(self._candidates.contexts, segment, begin),
            previous=texts[start - 1] if start else "",
            following="(" if segment.text[at[1] : at[1] + 1] == "(" else following,
        )

    def _continued(self, name: Candidate[str]) -> Iterator[Candidate[str]]:
        """The name with the next line, if that stands right under it and begins where it does."""
        segment = name.segment
        sheet = self._candidates.layout.sheet(segment)
        below = sheet.below(segment.box)
        if not below:
            return
        other = below[0]
        is_near = other.box.y0 - segment.box.y1 < _NEXT_LINE * segment.height
        x0 = sheet.page.words.boxes[segment.words(name.start, name.stop)[0], 0]
        if is_near and abs(other.box.x0 - x0) <= _FLUSH and len(other.offsets) <= _LONGEST_CONTINUATION:
            spans = (*name.spans, Span(other, 0, len(other.text)))
            value = f"{name.value} {other.text}"
            yield Candidate("name", value, spans, name.context, previous=name.previous)


def _has_digit(segment: Segment) -> bool:
    return any(map(str.isdecimal, segment.text))


def _find_answers(text: str) -> Iterator[tuple[str, int, int]]:
    for match in _ANSWER.finditer(text):
        word = fold(match[0])
        if word in _YES or word in _NO:
            yield "true" if word in _YES else "false", match.start(), match.end()


def _ends(texts: Sequence[str], start: int) -> list[int]:
    """The ends of names that start there: anywhere near, then only before marks and labels."""
    return [
        stop
        for stop in range(start + 1, min(len(texts), start + _LONGEST_NAME) + 1)
        if stop == len(texts)
        or stop - start <= _ANY_END
        or texts[stop].startswith(("(", "[", "-", "/", "|"))
        or texts[stop].endswith(":")
    ]
