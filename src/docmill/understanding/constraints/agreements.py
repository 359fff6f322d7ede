"""The preamble of a contract, which names its day and two parties: `made on … between … and …`."""

import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import accumulate
from typing import NamedTuple

from docmill.model.document import letters_and_digits
from docmill.schemas.document_types import DEFINITIONS, DocumentType
from docmill.understanding.constraints.address_features import is_name
from docmill.understanding.constraints.signatures import SHORT_FORM, SignedName, signed_names
from docmill.understanding.fields.analysis_cache import once
from docmill.understanding.fields.candidates import Candidates
from docmill.understanding.fields.findings import Finding, Findings
from docmill.understanding.page.layout import Layout, Segment, Span
from docmill.understanding.text.dates import find_dates
from docmill.understanding.text.folding import alternatives, fold, token_texts, tokens
from docmill.understanding.text.legal_forms import LEGAL_FORMS, legal_form_end, without_legal_form
from docmill.understanding.vocabulary import LANGUAGES

_PATHS = ("first_party.name", "second_party.name")
_DAY = "issue_date"
_OF_OTHERS = (_DAY, "number")
_LONGEST_LABEL = 4
"""Words beside a value that are its label."""
_SEARCHED = 20_000
"""Characters of a document in which a preamble is looked for."""
_TOP = 3000
"""Characters of a document in which a preamble may name one party alone."""
_LEAD = 600
"""Characters before the first name in which a preamble begins."""
_LONGEST = 1500
"""Characters from the opening of the names to the second one: addresses and forms of business lie between."""
_MOST_OPENINGS, _MOST_JOINTS = 60, 40
"""Openings of a document, and joints of two names behind each, that are looked at; real ones: 31, 13."""
_LONGEST_NAME = 10
"""Words of a name."""
_MOST = 300
"""Characters of a name at most; where nothing ends one, all the text behind would be taken apart."""
_LONGEST_HEADING = 12
"""Words of a line that is the title of a contract."""
_LEGAL_FORM = 24
"""Characters behind a comma or bracket in which a legal form ends."""
_CLEAR, _LIKELY = 0.9, 0.7
"""Confidence in what a preamble names in a clear form, and in other finds."""
_DELIMITER = re.compile(
    r"\s*[,;:(\[\"\u201e\u201c]|\s+[-\u2013\u2014]\s|(?<=\w{4})\.\s+(?=[A-Z\u00a7\d])|\.\s*$"
    r"|\n(?=[^\n,]*\d)"  # a line of an address
    r"|(?<=\.)\s+[a-z]n?\s+(?=[A-Z])"  # `Inc. a Maine corporation`
)
_DEFINITION = re.compile(rf"[\s,]*{SHORT_FORM.pattern}")
_QUOTED, _BEFORE_SHORT_FORM = re.compile(r"[\"\u201c\u201e\u00ab]"), 80
"""The beginning of a short form, and the most characters between it and the name."""
_BEFORE_FORM = re.compile(r"\s*(?:[,.]|\([^()\"\u201c]{2,30}\))\s*(?=[^\W\d_a-z])")
_FORMS, _WORDS_OF_FORM = frozenset({*LEGAL_FORMS, ("n", "a")}), 4  # N.A. is that of banks
_AFTER_FORM = re.compile(r"\s+[\w(]")
"""Text behind a legal form that is no part of the name."""
_ENUMERATION = re.compile(r"\(?(?:\d{1,2}|[a-zA-Z]|[ivx]{1,3})[.)]\s+(?=[^\W_])")
"""The number of a party in a list: `(1) `."""
_LISTED = re.compile(r"(?<=[)\"\u201d])\s*,\s+(?=[^\W_])|;\s+(?=[^\W_a-z])")
"""Between two parties of a list, without a word."""
_SENTENCE_END = re.compile(r"(?:(?<=[^\W\d_]{5})|(?<=[)\"\u201d]))\.\s+(?=[A-Z])")
_COMMON = frozenset(word for language in LANGUAGES for word in language.common)
_BLANK = re.compile(r"_{2,}|\.{4,}|\u2026|\[[\W_]*\]")
"""A place that is left open, or was taken out."""
_CLAUSE = re.compile(r"\n[\s\u2022*]{0,3}(?:\d{1,2}(?:\.\d)?[.)]|\u00a7\s*\d+)\s")
"""The beginning of a numbered clause."""
_BEFORE_DATE = 30
"""Characters before a date that say what it is."""
_BEHIND_NOUN = 20
"""Characters between the name of a paper and its day."""
_BEHIND_CLOSING = 60
"""Characters behind the words above signatures in which their day stands."""


class _Name:
    """A name that begins at `start` of a text.

    strength: 2 with a legal form or a definition behind it, 1 if the text after it cannot belong to it.
    """

    def __init__(self, text: str, start: int, words: Mapping[str, re.Pattern[str]]) -> None:
        folded = fold(text)
        while before := (
            _ENUMERATION.match(text, start)
            or words["address"].match(folded, start)
            or words["opening"].match(folded, start)
        ):
            if text[start].isupper() and before[0].strip() in _COMMON and not text.isupper():
                break  # `The Old Mill Ltd`
            start = before.end()
        self.start = start
        self.stop, has_legal_form = _name_end(text, start, words)
        self.text = " ".join(text[start : self.stop].split())
        is_defined = _DEFINITION.match(text, self.stop) is not None
        is_name = len(self.text.split()) > 1 and not any(map(str.isdecimal, self.text))
        is_closed = self.stop < len(text.rstrip()) and is_name
        self.strength = 2 if has_legal_form or is_defined else int(is_closed)

    @property
    def is_plausible(self) -> bool:
        """Return True if it looks like the name of a person or business."""
        is_short = 0 < len(self.text.split()) <= _LONGEST_NAME
        return is_short and self.text[0].isupper() and is_name(self.text)


def _name_end(text: str, start: int, words: Mapping[str, re.Pattern[str]]) -> tuple[int, bool]:
    """The end of the name that begins at `start`, and whether it has a legal form."""
    ends = [_DELIMITER.search(text, start), words["end"].search(fold(text), start)]
    stop = min([start + _MOST, *(match.start() for match in ends if match), len(text)])
    form = legal_form_end(text[start:stop])
    if form and _AFTER_FORM.match(text[:stop], start + form):
        stop = start + form
    elif not form and (behind := _form_behind(text, stop)):
        form, stop = behind - start, behind
    stop = start + len(text[start:stop].rstrip())
    if form and text[stop : stop + 1] == ".":  # of an abbreviation
        stop += 1
    if alias := words["alias"].match(fold(text), stop):
        stop, _ = _name_end(text, alias.end(), words)
    last = token_texts(without_legal_form(text[start:stop]))[-1:]
    is_role = bool(last) and words["address"].fullmatch(f"{last[0]} ") is not None  # `the Company`
    return stop, bool(form) and not is_role


def _form_behind(text: str, stop: int) -> int:
    """The end of a legal form behind a comma or a town in brackets: `, Lda.`, ` (Leith) Ltd`; 0 for none."""
    behind = _BEFORE_FORM.match(text, stop)
    if behind is None:
        return 0
    following = tokens(text[behind.end() : behind.end() + _LEGAL_FORM])
    lengths = range(min(_WORDS_OF_FORM, len(following)), 0, -1)
    forms = (length for length in lengths if tuple(word.text for word in following[:length]) in _FORMS)
    longest = next(forms, 0)
    return behind.end() + following[longest - 1].stop if longest else 0


@dataclass(frozen=True, slots=True)
class _Preamble:
    """A sentence that names parties.

    start: where it says what it is, `This Agreement`; the same as opening, the words before the names, if it
    does not. stop: the end of the sentence.
    """

    start: int
    opening: int
    stop: int
    names: tuple[_Name, ...]

    @property
    def strength(self) -> int:
        return sum(name.strength for name in self.names) if len(self.names) > 1 else 0

    @property
    def is_clear(self) -> bool:
        """Return True if it says what it is, and the end of each name is sure."""
        return self.start < self.opening and all(name.strength for name in self.names)


class _Text(NamedTuple):
    """The text of segments, with a line break or space between two."""

    segments: Sequence[Segment]
    text: str

    @classmethod
    def of(cls, segments: Sequence[Segment]) -> "_Text":
        parts = [""] * len(segments)
        for index, segment in enumerate(segments):
            before = segments[index - 1] if index else None
            is_beside = before is not None and (before.page_index, before.line) == (
                segment.page_index,
                segment.line,
            )
            parts[index] = ("" if before is None else " " if is_beside else "\n") + segment.text
        return cls(segments, "".join(parts))

    def spans(self, start: int, stop: int) -> tuple[Span, ...]:
        """The places of a part of the text."""
        starts = accumulate((len(segment.text) + 1 for segment in self.segments), initial=0)
        return tuple(
            Span(segment, max(0, start - begin), min(len(segment.text), stop - begin))
            for segment, begin in zip(self.segments, starts, strict=False)
            if begin < stop and start < begin + len(segment.text)
        )


@once
def states_agreement(candidates: Candidates, kind: DocumentType) -> bool:
    """Return True if a sentence at the beginning says that it is an agreement, and names two parties."""
    if not DEFINITIONS[kind].words.sentences:
        return False
    text = _beginning(candidates.layout)
    return any(preamble.is_clear and preamble.strength > 2 for preamble in _preambles(text.text, kind))  # noqa: PLR2004 - one of both has a legal form


def agreement_fields(candidates: Candidates, kind: DocumentType, others: Findings) -> Findings:
    """The two parties and the day of an agreement, by its preamble or by who signs it and where.

    others: what other rules found. Of these, numbers and days in a sentence are less sure: contracts speak of
    other papers.
    """
    if not DEFINITIONS[kind].words.sentences:
        return {}
    text = _beginning(candidates.layout)
    preambles = list(_preambles(text.text, kind))
    best = max(preambles, key=lambda preamble: preamble.is_clear, default=None)
    findings = {
        path: replace(others[path], probability=min(_LIKELY, others[path].probability))
        for path in _OF_OTHERS
        if path in others and not _is_alone(others[path])
    }
    signed = signed_names(candidates.layout, kind)
    if best is None or not best.is_clear:
        findings |= _signing_parties(text, signed)
        text, preambles = _behind_cover(candidates.layout, text, preambles, kind)
        best = next(iter(preambles), None)
    if best is not None and (best.is_clear or not set(_PATHS) <= findings.keys()):
        every = letters_and_digits(candidates.layout.document.text)
        for path, name in zip(_PATHS, best.names, strict=False):
            belief = _CLEAR if best.is_clear and _is_confirmed(name, text.text, every, signed) else _LIKELY
            findings[path] = Finding(name.text, text.spans(name.start, name.stop), belief, named=1.0)
    same = (preamble for preamble in preambles if preamble.is_clear and _have_same_names(preamble, best))
    dated = (finding for preamble in same if (finding := _day(text, preamble, kind, candidates)))
    day = next(dated, None) or _day_of_signature(candidates, kind)
    return findings if day is None else findings | {_DAY: day}


def _behind_cover(
    layout: Layout, cover: _Text, preambles: list[_Preamble], kind: DocumentType
) -> tuple[_Text, list[_Preamble]]:
    """The text and the preambles behind the first pages whose parties these pages, a cover, name, too.

    If there are none, what is given stays: the forms at the end of a contract have preambles, too.
    """
    names = letters_and_digits(cover.text)
    text = _text_of_pages(layout, limit=_SEARCHED)
    behind = [
        preamble
        for preamble in _preambles(text.text, kind)
        if preamble.is_clear
        and len(preamble.names) == len(_PATHS)
        and all(letters_and_digits(name.text) in names for name in preamble.names)
    ]
    return (text, behind) if behind else (cover, preambles)


def _is_confirmed(name: _Name, text: str, document: str, signed: Sequence[SignedName]) -> bool:
    """Return True unless others sign, or the end of a name is unsure.

    It is sure by a legal form, by a short form in quotes behind it, or if the name is printed again.
    document: the letters and digits of the whole document.
    """
    if len(signed) > 1 and not any(other.is_like(name.text) for other in signed):
        return False
    if name.strength > 1 or _QUOTED.search(text, name.stop, name.stop + _BEFORE_SHORT_FORM):
        return True
    return document.count(letters_and_digits(name.text)) > 1


def _signing_parties(text: _Text, signed: Sequence[SignedName]) -> Findings:
    """The parties by who signs; believed if just two do, and the text names both first with a short form."""
    places = sorted({place[0]: place for name in signed if (place := name.defined_at(text.text))}.values())
    if len(places) < len(_PATHS):
        return {
            path: Finding(name.text, (name.span,), _LIKELY, named=1.0)
            for path, name in zip(_PATHS, signed, strict=False)
        }
    # Of more, one may be a notary, a guarantor or an agent.
    belief = _CLEAR if len(signed) == len(places) == len(_PATHS) else _LIKELY
    return {
        path: Finding(" ".join(text.text[start:stop].split()), text.spans(start, stop), belief, named=1.0)
        for path, (start, stop) in zip(_PATHS, places, strict=False)
    }


def _is_alone(finding: Finding) -> bool:
    """Return True if a value stands in its line with a label at most."""
    around = sum(len(span.segment.text.replace(span.text, "").split()) for span in finding.spans)
    return around <= _LONGEST_LABEL


def _have_same_names(preamble: _Preamble, best: _Preamble | None) -> bool:
    """Return True for the best preamble, and for one that names a party of it, as below a cover page."""
    names = {letters_and_digits(name.text) for name in best.names} if best is not None else set[str]()
    return any(letters_and_digits(name.text) in names for name in preamble.names)


def _beginning(layout: Layout) -> _Text:
    size, segments = 0, list[Segment]()
    for segment in layout.segments:
        size += len(segment.text) + 1
        if size > _SEARCHED:
            break
        segments.append(segment)
    return _Text.of(segments)


def _text_of_pages(layout: Layout, *, limit: int = sys.maxsize) -> _Text:
    """The text of all pages, also of those in the middle, up to so many characters."""
    pages = range(len(layout.document.pages))
    segments = [segment for index in pages for segment in layout.sheet_of_page(index).segments]
    sizes = accumulate(len(segment.text) + 1 for segment in segments)
    return _Text.of([segment for segment, size in zip(segments, sizes, strict=True) if size <= limit])


def _preambles(text: str, kind: DocumentType) -> Iterator[_Preamble]:
    """Yield the sentences that name two parties, or one if they say what they are, from the first."""
    folded = fold(text)
    openings = sorted(
        (opening.start(), -opening.end(), language)
        for language, words in _patterns(kind).items()
        for opening in words["opening"].finditer(folded)
    )
    for begin, end, language in openings[:_MOST_OPENINGS]:
        words = _patterns(kind)[language]
        start = _anchor(text, begin, words)
        stop = _sentence_stop(text, folded, -end, words)
        names = _names(text[-end:stop], words)
        for name in names:
            name.start, name.stop = name.start - end, name.stop - end
        preamble = _Preamble(begin if start is None else start, begin, stop, names)
        is_single = preamble.is_clear and begin < _TOP and names[0].strength > 1 if names else False
        if len(names) > 1 or is_single:
            yield preamble


def _sentence_stop(text: str, folded: str, start: int, words: Mapping[str, re.Pattern[str]]) -> int:
    """The end of the sentence that names the parties: the recitals, or a numbered clause that is no party."""
    stop = min(len(text), start + _LONGEST)
    ends = (words["recitals"].search(folded, start, stop), _SENTENCE_END.search(text, start, stop))
    stop = min((match.start() for match in ends if match), default=stop)
    for clause in _CLAUSE.finditer(text, start, stop):
        before = folded[start : clause.start()].split()[-1:]
        if before and not before[0].endswith((":", ";", ",")) and not words["joining"].match(before[0] + " "):
            return clause.start()
    return stop


def _anchor(text: str, opening: int, words: Mapping[str, re.Pattern[str]]) -> int | None:
    """The place before the names that says that this is an agreement; None if none does."""
    begin = max(0, opening - _LEAD)
    before = fold(text[begin:opening])
    recital = max((match.end() for match in words["recitals"].finditer(before)), default=0)
    this = max((match.start() for match in words["this"].finditer(before, recital)), default=None)
    if this is not None and _SENTENCE_END.search(text, begin + this, opening) is None:
        return begin + this
    for noun in reversed(list(words["agreement"].finditer(before, recital))):
        line = before[before.rfind("\n", 0, noun.start()) + 1 :].partition("\n")[0]
        is_heading = len(line.split()) <= _LONGEST_HEADING and not line.rstrip().endswith((".", ",", ";"))
        if is_heading and text[begin + noun.start()].isupper():
            return begin + noun.start()
    return None


def _names(text: str, words: Mapping[str, re.Pattern[str]]) -> tuple[_Name, ...]:
    """The two names whose ends are surest, of those before and after each word that may join two parties.

    Only the first if no second is found. A second name without a legal form is not sure if there are others.
    """
    whole = _Name(text, 0, words)
    pairs: list[tuple[_Name, _Name]] = []
    joints = sorted(
        (*words["joining"].finditer(fold(text)), *_LISTED.finditer(text)), key=lambda joint: joint.start()
    )
    for joint in joints[:_MOST_JOINTS]:
        before = text[: joint.start()]
        if before.count("(") <= before.count(")"):
            first, second = _Name(before, 0, words), _Name(text, joint.end(), words)
            if first.is_plausible and second.is_plausible:
                pairs.append((first, second))
    if not pairs:
        return (whole,) if whole.is_plausible else ()
    surest = max(first.strength + second.strength for first, second in pairs)
    likely = [pair for pair in pairs if pair[0].strength + pair[1].strength == surest]
    best = min(likely, key=lambda pair: pair[1].start)
    if len(likely) > 1 and best[1].strength == 1:
        best[1].strength = 0
    return best


def _day(text: _Text, preamble: _Preamble, kind: DocumentType, candidates: Candidates) -> Finding | None:
    """The day in a preamble: before the names, else behind them.

    It is less sure beside a place that is left open, and behind the name of another paper.
    """
    for start, stop in ((preamble.start, preamble.opening), (preamble.opening, preamble.stop)):
        finding = _first_day(text, start, stop, kind, candidates)
        if finding is not None:
            is_labelled = start == preamble.start or _is_labelled(finding, kind)
            is_doubtful = _BLANK.search(text.text, start, preamble.opening) is not None
            is_doubtful |= _is_of_other(finding, text.text[preamble.start : stop], kind)
            return replace(finding, probability=_LIKELY) if is_doubtful or not is_labelled else finding
    return None


def _is_of_other(day: Finding, sentence: str, kind: DocumentType) -> bool:
    """Return True for the day of what an agreement changes: `Amendment to the Lease dated 3 May 2015`."""
    before = fold(sentence.partition(day.spans[0].text)[0])
    nouns = (words["agreement"].finditer(before) for words in _patterns(kind).values())
    ends = sorted({noun.end() for of_language in nouns for noun in of_language})
    behind = before[ends[-1] :] if len(ends) > 1 else ""
    return 0 < len(behind) <= _BEHIND_NOUN and not re.search(r"[()\"\u201d]", behind)


def _is_labelled(day: Finding, kind: DocumentType) -> bool:
    """Return True if the words before a day say that it is the agreement's: `dated 3 May`."""
    before = fold(day.spans[0].segment.text[: day.spans[0].start])[-_BEFORE_DATE:]
    return any(fold(label) in before for label in DEFINITIONS[kind].labels.get(_DAY, ()))


def _first_day(
    text: _Text, start: int, stop: int, kind: DocumentType, candidates: Candidates
) -> Finding | None:
    """The first day in a part of the text that is not only when something takes effect, or the only day."""
    part = text.text[start:stop].replace("\n", " ")
    folded = fold(part)
    dates = find_dates(part)
    effective = [
        any(
            words["effective"].search(folded, max(0, written.start - _BEFORE_DATE), written.start)
            for words in _patterns(kind).values()
        )
        for written in dates
    ]
    others = [written for written, is_effective in zip(dates, effective, strict=True) if not is_effective]
    first = next(iter(others or dates), None)
    value = first and first.value(day_first=candidates.conventions.day_first)
    if first is None or value is None:
        return None
    belief = _CLEAR if len({(each.year, each.first, each.second) for each in others}) < 2 else _LIKELY  # noqa: PLR2004 - of several days, one may be of another paper
    return Finding(value, text.spans(start + first.start, start + first.stop), belief, named=1.0)


def _day_of_signature(candidates: Candidates, kind: DocumentType) -> Finding | None:
    """The day above the signatures, `executed this 7th day of April`; less sure if there are several."""
    text = _text_of_pages(candidates.layout)
    folded = fold(text.text)
    findings = [
        finding
        for words in _patterns(kind).values()
        for closing in words["closing"].finditer(folded)
        if (finding := _first_day(text, closing.end(), closing.end() + _BEHIND_CLOSING, kind, candidates))
    ]
    if len({finding.value for finding in findings}) > 1:
        return replace(findings[0], probability=_LIKELY)
    return findings[0] if findings else None


@cache
def _patterns(kind: DocumentType) -> Mapping[str, Mapping[str, re.Pattern[str]]]:
    """Regular expressions for the words of such sentences, by language and role; see `TypeWords`."""
    sentences = DEFINITIONS[kind].words.sentences
    return {
        language: {role: re.compile(_pattern(role, language, sentences)) for role in sentences}
        for language in sentences["opening"]
    }


def _pattern(role: str, language: str, sentences: Mapping[str, Mapping[str, Sequence[str]]]) -> str:
    phrases = sentences[role].get(language, ())
    whole = alternatives(fold(phrase) for phrase in phrases if not phrase.startswith("-"))
    endings = alternatives(fold(phrase[1:]) for phrase in phrases if phrase.startswith("-"))
    pattern = rf"(?<!\w)(?:{whole}|\w*(?:{endings}))(?!\w)"
    match role:
        case "this":  # `This Loan Agreement`
            return rf"{pattern}(?:\W+\w+){{0,8}}?\W+{_pattern('agreement', language, sentences)}"
        case "alias":
            return rf"\s*,?\s*{pattern}\s+"
        case "opening" | "joining" | "address":
            return rf"{pattern}\s*[:,]?\s+"
        case _:
            return pattern
