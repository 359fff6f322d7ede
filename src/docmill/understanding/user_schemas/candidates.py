"""Typed candidates of a document for any field, and the texts that stand around each."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal
from functools import cached_property
from itertools import pairwise

from docmill.model.document import letters_and_digits
from docmill.model.paths import comparison_key
from docmill.understanding.fields.findings import Span
from docmill.understanding.page.conventions import Conventions, decided
from docmill.understanding.page.layout import Layout, Segment
from docmill.understanding.text.codes import Code, find_bics, find_ibans, find_vat_ids
from docmill.understanding.text.dates import RANGE_LINK, WrittenDate, find_dates
from docmill.understanding.text.folding import fold
from docmill.understanding.text.money import WrittenAmount, currency_code, currency_spans, find_amounts
from docmill.understanding.user_schemas.context import Around, surroundings
from docmill.understanding.user_schemas.meaning import NO, YES, Form, Role

Value = date | Decimal | str
Says = Callable[[str], float]

MOST = 1500
"""Candidates of one form: a hostile page must not cost minutes."""
_NEXT_LINE = 0.9
"""Text heights to the line in which a name goes on."""
_FLUSH = 0.005
_LONGEST_NAME = 11
_ANY_END = 6
_LONGEST_LABEL = 4
_SAID = 0.3
"""How strongly the words around must speak before the spans of a text are tried."""
_IS_LABEL = 1.2
_FEWEST_LETTERS = 2
_SHORTEST = 3
_LONGEST_CODE = 24
_LONGEST_CONTINUED = 8
_LONGEST_CONTINUATION = 6

_WORD_WITH_DIGIT = re.compile(r"[^\W_](?:[^\W_]|[\-_/.](?=[^\W_]))*")
_REVISION = re.compile(r"\s?/\s?\d{1,2}\b| ?\((?:Rev|Ver)\.? ?\d+\)", re.IGNORECASE)
_TIME = re.compile(
    r"(?<![\d:.])(?P<hour>[01]?\d|2[0-3])[:h](?P<minute>[0-5]\d)(?::(?P<second>[0-5]\d))?"
    r"(?:\s?(?P<half>[ap])\.?m\b\.?)?(?![\d:])",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True, eq=False)
class Candidate:
    """A value that a document might give to a field.

    spans: where it stands. role: its end of a period. plain: a number without cents or currency.
    marked: with a currency. previous, following: the words beside it in its segment.
    """

    form: Form
    value: Value
    spans: tuple[Span, ...]
    around: Around
    role: Role = ""
    plain: bool = False
    marked: bool = False
    previous: str = ""
    following: str = ""

    @property
    def segment(self) -> Segment:
        """Where it begins."""
        return self.spans[0].segment

    @property
    def text(self) -> str:
        """As read."""
        return " ".join(span.text for span in self.spans)

    @property
    def key(self) -> Value:
        """What makes two candidates the same value."""
        key: Value = comparison_key(self.value)
        return key


_MAIL = re.compile(r"[\w.+\-]+@[\w\-]+(?:\.[\w\-]+)+")


def _mails(text: str) -> Iterator[tuple[str, int, int]]:
    return ((match[0], *match.span()) for match in _MAIL.finditer(text))


def _codes(find: Callable[[str], Iterator[Code]]) -> Callable[[str], Iterator[tuple[str, int, int]]]:
    return lambda text: ((code.value, code.start, code.stop) for code in find(text))


_FORMED: Mapping[Form, Callable[[str], Iterator[tuple[str, int, int]]]] = {
    "iban": _codes(find_ibans),
    "bic": _codes(find_bics),
    "vat id": _codes(find_vat_ids),
    "mail": _mails,
}
_YES, _NO = frozenset((*YES, "\u2713", "\u2714", "\u2612", "\u2611")), frozenset((*NO, "\u2610"))
_ANSWER = re.compile(r"\[[xX ]\]|[\u2610-\u2612\u2713\u2714]|(?<![^\s:])[^\W\d_]+(?![^\s.,;])")


def _answered(text: str) -> str | None:
    word = fold(text)
    if word in _YES:
        return "true"
    return "false" if word in _NO else None


class Candidates:
    """All candidates of a document, by form; each form is made when first asked for."""

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self._surroundings: dict[int, Around] = {}

    @cached_property
    def conventions(self) -> Conventions:
        """How the document writes."""
        texts = [segment.text for segment in self.layout.segments]
        amounts = [one for found in self._amounts for one in found]
        return decided(texts, amounts, [one for found in self._dates for one in found])

    @cached_property
    def _dates(self) -> list[Sequence[WrittenDate]]:
        return [find_dates(segment.text) if _has_digit(segment) else () for segment in self.layout.segments]

    @cached_property
    def _amounts(self) -> list[Sequence[WrittenAmount]]:
        return [
            find_amounts(segment.text, misread=self.layout.sheet(segment).page.source == "ocr")
            if _has_digit(segment)
            else ()
            for segment in self.layout.segments
        ]

    @cached_property
    def dates(self) -> list[Candidate]:
        """Dates, with their part in a period."""
        found: list[Candidate] = []
        for segment in self.layout.segments:
            written = self._dates[segment.index]
            roles = _roles(segment.text, written)
            for index, one in enumerate(written):
                value = one.value(day_first=self.conventions.day_first)
                if value is not None:
                    label_stop = written[index - 1].start if roles[index] == "end" else one.start
                    made = self._made("date", value, segment, (one.start, one.stop), role=roles[index])
                    found.append(replace(made, around=self._with_before(segment, label_stop)))
        return found[:MOST]

    @cached_property
    def amounts(self) -> list[Candidate]:
        """Numbers that are no date and no percentage."""
        return [one for one in self._numbers if one.form == "money"][:MOST]

    @cached_property
    def numbers(self) -> list[Candidate]:
        """Numbers and percentages."""
        return self._numbers[:MOST]

    @cached_property
    def _numbers(self) -> list[Candidate]:
        return [
            self._number(segment, one)
            for segment in self.layout.segments
            for one in self._amounts[segment.index]
            if not any(
                one.start < other.stop and other.start < one.stop for other in self._dates[segment.index]
            )
        ]

    def _number(self, segment: Segment, one: WrittenAmount) -> Candidate:
        return self._made(
            "number" if one.percent else "money",
            one.value(self.conventions.mark),
            segment,
            (one.start, one.stop),
            plain=not one.has_cents and one.currency is None,
            marked=one.currency is not None,
        )

    @cached_property
    def codes(self) -> list[Candidate]:
        """Words with a digit, whole and without their last part."""
        found: list[Candidate] = []
        for segment in self.layout.segments:
            if _has_digit(segment):
                found.extend(self._codes_of(segment))
        return found[:MOST]

    def _codes_of(self, segment: Segment) -> Iterator[Candidate]:
        text = segment.text
        dates = self._dates[segment.index]
        for match in _WORD_WITH_DIGIT.finditer(text):
            word = match[0]
            if text[: match.start()].endswith("@") or re.search(r"\.[a-z]{2,3}$", word):
                continue
            if (
                not any(map(str.isdecimal, word))
                or not _SHORTEST <= len(letters_and_digits(word)) <= _LONGEST_CODE
            ):
                continue
            of_date = any(
                match.start() < one.stop
                and one.start < match.end()
                and not text[one.start : one.stop].isdecimal()
                for one in dates
            )
            revision = _REVISION.match(text, match.end())
            for stop in (
                match.end(),
                match.start() + word.index("/") if "/" in word else 0,
                revision.end() if revision else 0,
            ):
                value = text[match.start() : stop]
                if len(letters_and_digits(value)) >= _SHORTEST:
                    yield self._made("code", value, segment, (match.start(), stop), plain=of_date)

    @cached_property
    def times(self) -> list[Candidate]:
        """Times of day as HH:MM:SS."""
        return [
            self._made("time", _time_of(match), segment, match.span())
            for segment in self.layout.segments
            if _has_digit(segment)
            for match in _TIME.finditer(segment.text)
        ][:MOST]

    def of_form(self, form: Form) -> list[Candidate]:
        """The candidates of a form that needs to know no more of the field."""
        match form:
            case "date":
                return self.dates
            case "time":
                return self.times
            case "money":
                return self.amounts
            case "number":
                return self.numbers
            case "boolean":
                return self.answers
            case _:
                return self.codes if form == "code" else self.formed(form)

    def formed(self, form: Form) -> list[Candidate]:
        """Values that their form tells: identifiers whose checksums hold, mail addresses, currencies."""
        if form == "currency":
            return self._currencies()
        return [
            self._made(form, value, segment, (start, stop))
            for segment in self.layout.segments
            for value, start, stop in _FORMED[form](segment.text)
        ][:MOST]

    def _currencies(self) -> list[Candidate]:
        code = self.conventions.currency
        return [
            self._made("currency", code, segment, (start, stop))
            for segment in self.layout.segments
            for printed, start, stop in currency_spans(segment.text)
            if code is not None and currency_code(printed) in (code, "USD" if printed == "$" else code)
        ][:MOST]

    @cached_property
    def answers(self) -> list[Candidate]:
        """Yes and no, as words and as ticked or empty boxes."""
        return [
            self._made("boolean", value, segment, match.span())
            for segment in self.layout.segments
            for match in _ANSWER.finditer(segment.text)
            if (value := _answered(match[0])) is not None
        ][:MOST]

    def choices(self, wanted: Sequence[str]) -> list[Candidate]:
        """The places of any of the texts that a field may have, as whole words."""
        found: list[Candidate] = []
        for choice in wanted:
            pattern = re.compile(r"(?<!\w)" + re.escape(fold(choice.replace("_", " "))) + r"(?!\w)")
            for segment in self.layout.segments:
                matches = pattern.finditer(fold(segment.text))
                found.extend(self._made("choice", choice, segment, match.span()) for match in matches)
        return found[:MOST]

    def names(self, says: Says) -> list[Candidate]:
        """Runs of words whose surroundings say the field at all, by `says`."""
        found: list[Candidate] = []
        for segment in self.layout.segments:
            found.extend(self._names_of(segment, says))
        return found[:MOST]

    def _names_of(self, segment: Segment, says: Says) -> Iterator[Candidate]:
        around = self.around(segment)
        texts = self.layout.sheet(segment).page.words.texts[segment.start : segment.stop]
        outside = max(map(says, (around.left, around.above, around.head, around.row)))
        starts = {0} if outside >= _SAID else set[int]()
        for count in range(1, min(len(texts), _LONGEST_LABEL + 1)):
            if texts[count - 1].endswith((":", "#")) or says(" ".join(texts[:count])) >= _SAID:
                starts.add(count)
        is_label = len(texts) < _LONGEST_LABEL and says(segment.text) >= _IS_LABEL
        if is_label or not starts:
            return
        for start in sorted(starts):
            for stop in _ends(texts, start):
                yield from self._name(segment, texts, start, stop)

    def _name(self, segment: Segment, texts: Sequence[str], start: int, stop: int) -> Iterator[Candidate]:
        offsets = segment.offsets
        first, last = offsets[start], offsets[stop - 1] + len(texts[stop - 1])
        whole = self._named(segment, (first, last), texts, start, stop)
        if whole is not None:
            yield whole
            if stop == len(texts) and stop - start <= _LONGEST_CONTINUED:
                longer = self._continued(whole)
                if longer is not None:
                    yield longer
        cut = segment.text.find("(", offsets[stop - 1] + 2, last)
        if cut > 0:
            shorter = self._named(segment, (first, cut), texts, start, stop)
            if shorter is not None:
                yield shorter

    def _named(
        self, segment: Segment, at: tuple[int, int], texts: Sequence[str], start: int, stop: int
    ) -> Candidate | None:
        text = segment.text[at[0] : at[1]]
        value = text.strip(" :-,;")
        if sum(map(str.isalpha, value)) < _FEWEST_LETTERS or len(letters_and_digits(value)) < _SHORTEST:
            return None
        begin = at[0] + text.index(value[0])
        return Candidate(
            "name",
            value,
            (Span(segment, begin, begin + len(value)),),
            self._with_before(segment, begin),
            previous=texts[start - 1] if start else "",
            following=(
                "("
                if at[1] < len(segment.text) and segment.text[at[1]] == "("
                else texts[stop]
                if stop < len(texts)
                else ""
            ),
        )

    def _continued(self, name: Candidate) -> Candidate | None:
        """The name with the next line, if that stands right under it and begins where it does."""
        segment = name.segment
        sheet = self.layout.sheet(segment)
        below = sheet.below(segment.box)
        if not below:
            return None
        other = below[0]
        near = other.box.y0 - segment.box.y1 < _NEXT_LINE * segment.height
        x0 = sheet.page.words.boxes[segment.words(name.spans[0].start, name.spans[0].stop)[0], 0]
        if not near or abs(other.box.x0 - x0) > _FLUSH or len(other.offsets) > _LONGEST_CONTINUATION:
            return None
        spans = (*name.spans, Span(other, 0, len(other.text)))
        return Candidate("name", f"{name.value} {other.text}", spans, name.around, previous=name.previous)

    def _made(
        self,
        form: Form,
        value: Value,
        segment: Segment,
        at: tuple[int, int],
        *,
        role: Role = "",
        plain: bool = False,
        marked: bool = False,
    ) -> Candidate:
        before, after = segment.text[: at[0]].rstrip(), segment.text[at[1] :].lstrip()
        return Candidate(
            form,
            value,
            (Span(segment, *at),),
            self._with_before(segment, at[0]),
            role,
            plain,
            marked,
            before.rpartition(" ")[2],
            after.partition(" ")[0],
        )

    def _with_before(self, segment: Segment, at: int) -> Around:
        around = self.around(segment)
        return around._replace(before=segment.text[:at].rstrip()[-60:]) if at else around

    def around(self, segment: Segment) -> Around:
        """The texts around a segment."""
        known = self._surroundings.get(segment.index)
        if known is None:
            sheet = self.layout.sheet(segment)
            self._surroundings.update(
                zip((one.index for one in sheet.segments), surroundings(sheet), strict=True)
            )
            known = self._surroundings[segment.index]
        return known


def _has_digit(segment: Segment) -> bool:
    return any(map(str.isdecimal, segment.text))


def _ends(texts: Sequence[str], start: int) -> list[int]:
    """Where a name that starts there may end: anywhere near, then only before marks and labels."""
    return [
        stop
        for stop in range(start + 1, min(len(texts), start + _LONGEST_NAME) + 1)
        if stop == len(texts)
        or stop - start <= _ANY_END
        or texts[stop].startswith(("(", "[", "-", "/", "|"))
        or texts[stop].endswith(":")
    ]


def _roles(text: str, written: Sequence[WrittenDate]) -> list[Role]:
    """Which dates are the start and end of a period written as one."""
    roles: list[Role] = [""] * len(written)
    folded = fold(text) if len(written) > 1 else ""
    for index, (one, other) in enumerate(pairwise(written)):
        if roles[index] == "" and RANGE_LINK.fullmatch(folded[one.stop : other.start]):
            roles[index], roles[index + 1] = "start", "end"
    return roles


def _time_of(match: re.Match[str]) -> str:
    hour = int(match["hour"])
    half = (match["half"] or "").lower()
    if half == "p" and hour < 12:  # noqa: PLR2004 - noon
        hour += 12
    if half == "a" and hour == 12:  # noqa: PLR2004
        hour = 0
    return f"{hour:02}:{match['minute']}:{match['second'] or '00'}"
