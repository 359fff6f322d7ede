"""Recognition of document types by their titles, labels and phrases, as listed in the files of types."""

import re
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from typing import NamedTuple

from rapidfuzz import fuzz
from rapidfuzz.distance import Levenshtein

from docmill.schemas.document_types import DEFINITIONS, DocumentType, TypeDefinition
from docmill.understanding.page.layout import Layout, Segment
from docmill.understanding.page.titles import closed_up, is_title, titled_type
from docmill.understanding.text.folding import fold, token_texts
from docmill.understanding.vocabulary import NUMBER_WORDS

_TOP = 0.4
"""The share of the first page that holds its title."""
_MOST_OF_IT = 0.6
"""Share of a heading's letters that the title takes."""
_LEADS = 0.35
"""The same of a title of several words that leaves no doubt, in a line that is no sentence."""
_LARGE = 1.15
"""Print this many times as high as the page's usual text may go on after the title."""
_LONGEST = 8
"""Words of a heading: longer ones are sentences."""
_AS_LARGE = 0.95
_ALIKE = 90
"""Likeness of two words or phrases of which one is misread, of 100: one letter of ten."""
_SHORTEST_MISREAD = 7
_SHORTEST_WORD = 3
"""Letters of the first word of a title."""
_SHORTEST_BEGINNING = 3
"""Letters before the ending that a title is known by: `Kaufvertrag`."""
_STOPS = (".", ",", ";")
_ENDING, _LINE = "-", "^"
"""Marks of words in the files: it is the end of a longer one; it begins a line."""
_SEARCHED = 20_000
"""Characters of a document in which words are looked for that settle what it is."""
_MOST_PAGES = 4
"""Longer documents are recognised by their titles alone: reports, too, have a letter to the shareholders."""
_LEAST, _EACH, _MOST = 0.93, 0.015, 0.98
"""Confidence in a type that stands alone: least, more for each label and phrase, and most."""
_UNTITLED = 0.9
"""Confidence in a type without a title."""
_MOST_LABELS_OF_OTHERS = 4
"""Labels of a type's fields from which on a document is perhaps of it, though it has no title."""
_TITLE, _SURE_TITLE = 1.6, 3.5
"""Least weight of a title of a trained type, and of one that only documents of this type have."""
_RUN_TOGETHER = re.compile(
    r"(?<=[a-z\u00df-\u00ff])(?=[A-Z\u00c0-\u00de][a-z\u00df-\u00ff])"
    r"|(?<=[^\W\d_]{4})(?=\d{3}|[nN][\u00b0\u00ba])"
)
"""The place of a space that recognition has lost, of words or before a number: `DearSir`, `Offer9270`."""
_DIGITS_AS_LETTERS = str.maketrans("014568", "olasgb")
"""Digits that stand for letters in misread words: `0ffer`."""
_LETTERS_TO_A_DIGIT = 3
"""Least letters of a misread word to each of its digits."""
_LONG_PHRASE = 10
"""Letters of a phrase of several words that is found without its spaces, too."""
_COLUMNS = 3
"""Headings in one row from which on they are those of a table."""


class Recognition(NamedTuple):
    """The type of a document. doubt: a question to a person about it; empty if there is none."""

    document_type: DocumentType
    confidence: float
    doubt: str = ""


class _Phrase(NamedTuple):
    text: str
    words: tuple[str, ...]
    is_doubtful: bool


class _Title(NamedTuple):
    segment: Segment
    phrase: _Phrase

    @property
    def rank(self) -> tuple[bool, float, float]:
        """Sort key of titles: certain ones first, then large ones, then those near the top."""
        return (not self.phrase.is_doubtful, round(self.segment.height, 3), -self.segment.middle)


class _Page:
    """The words on the first pages of a document, prepared for searches."""

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self.first = [segment for segment in layout.segments if segment.page_index == 0]
        self.headings = [segment for segment in self.first if segment.middle < _TOP]
        self.lines = [_words(segment.text) for segment in self.first]
        is_recognised = any(sheet.page.source == "ocr" for sheet in layout.sheets)
        texts = (token_texts(_split_run_together(segment.text)) for segment in layout.segments[:2000])
        lines = (" ".join(map(_as_letters, words) if is_recognised else words) for words in texts)
        # Two marks part lines, so that phrases may go over the end of one.
        self._text = f" {_LINE} {f' {_LINE} '.join(lines)} "[:_SEARCHED]
        self._running = self._text.replace(f" {_LINE} ", " ")
        self._closed = self._text.replace(" ", "") if is_recognised else ""
        self._closed_lines = self._closed.split(_LINE)

    def is_column(self, heading: Segment) -> bool:
        """Return True if the heading stands in a row with others, as above the columns of a table."""
        row = [other for other in self.first if other.box.y0 < heading.middle < other.box.y1]
        return len(row) >= _COLUMNS

    def has_phrase(self, phrase: str) -> bool:
        """Return True if the phrase is printed; a long one may be misread on a recognised page.

        A phrase that begins with the mark `^` must stand at the start of a line.
        """
        words = " ".join(token_texts(fold(phrase.removeprefix(_LINE))))
        mark = _LINE if phrase.startswith(_LINE) else ""
        closed = words.replace(" ", "")
        if self._closed and " " in words and len(closed) >= _LONG_PHRASE and self._has_misread(closed, mark):
            return True
        return f" {_LINE} {words} " in self._text if mark else f" {words} " in self._running

    def _has_misread(self, closed: str, mark: str) -> bool:
        """Return True if a phrase without its spaces is printed, perhaps with a misread letter of ten."""
        if mark + closed in self._closed:
            return True
        if mark:
            return any(
                fuzz.ratio(line[: len(closed)], closed, score_cutoff=_ALIKE) for line in self._closed_lines
            )
        running = "".join(self._closed_lines)
        return len(running) >= len(closed) and bool(fuzz.partial_ratio(closed, running, score_cutoff=_ALIKE))


def recognise(layout: Layout, document_type: DocumentType, confidence: float) -> Recognition:
    """The type by the words of the document; else `document_type`, which the classifier found.

    A type that refines another needs a title. Others may also need labels of their fields, or phrases. A
    larger title of a trained type contradicts both. Without a confidence of its own, the result has that of
    the classifier.
    """
    page = _Page(layout)
    found = [
        (title, recognition)
        for name, definition in DEFINITIONS.items()
        if not definition.is_trained and (title := _find_title(name, page)) is not None
        if (recognition := _by_title(name, page, title, document_type)) is not None
    ]
    certain = [(title, recognition) for title, recognition in found if not recognition.doubt]
    best = max(certain, key=lambda item: item[0].rank)[1] if certain else None
    doubtful = found[0][1] if found else Recognition(document_type, confidence)
    recognition = best or _trained_type(page, document_type) or _untitled(page, document_type) or doubtful
    if recognition.document_type == "other" and not recognition.doubt:
        doubt = _doubt_by_labels(page) or _doubt_by_phrases(page)
        recognition = recognition._replace(doubt=doubt)
    if not recognition.doubt:
        recognition = recognition._replace(doubt=_doubt_by_contrary(recognition.document_type, page))
    return recognition if recognition.confidence else recognition._replace(confidence=confidence)


def _by_title(
    name: DocumentType, page: _Page, title: _Title, document_type: DocumentType
) -> Recognition | None:
    """The recognition by a title of the type `name`; None if other words contradict it.

    document_type: by the classifier.
    """
    definition = DEFINITIONS[name]
    is_contested = _has_larger_title(name, page, title)
    if definition.extends:
        is_sure = not title.phrase.is_doubtful and not is_contested
        is_possible = document_type == definition.extends or (document_type == "other" and is_sure)
        return _refine(name, page, title, is_contested=is_contested) if is_possible else None
    evidence = _evidence(definition, page)
    # Orders and invoices speak of contracts; a paper without amounts is not taken for one.
    is_contradicted = document_type != "other" and (
        not definition.amount or (title.phrase.is_doubtful and _has_title(page, document_type))
    )
    is_rival = title.phrase.is_doubtful or _has_title(page, document_type)
    is_label = document_type != "other" and is_rival and _is_number_label(page, title)
    if is_contested or is_contradicted or is_label:
        return None
    is_settled = not title.phrase.is_doubtful or _is_settled(definition, page, title)
    if evidence is not None and is_settled:
        return Recognition(name, min(_MOST, _LEAST + _EACH * evidence))
    if evidence is None and title.phrase.is_doubtful:
        return None
    words = title.phrase.text.removeprefix(_ENDING).capitalize()
    doubt = f"{words!r} may be the title of a {definition.label.lower()}"
    asked = Recognition("other", 0.0, f"{doubt}: please say of which type the document is.")
    return asked if document_type == "other" else None


def _doubt_by_labels(page: _Page) -> str:
    """The question whether a document without a title is of a type whose labels it has; "" if it has few."""
    for name, definition in DEFINITIONS.items():
        if definition.is_trained or definition.extends or name == "other":
            continue
        found = sum(
            any(_starts_with(words, label) for words in page.lines for label in labels)
            for _, labels in _label_phrases(definition)
        )
        if found >= _MOST_LABELS_OF_OTHERS:
            return f"The document may be a {definition.label.lower()}: please say of which type it is."
    return ""


def _doubt_by_phrases(page: _Page) -> str:
    """The question whether a document is of a type whose phrases and doubtful titles it has; "" if not."""
    for definition in DEFINITIONS.values():
        if not definition.recognition.phrases or _evidence(definition, page) is None:
            continue
        titles = (
            (title.removeprefix(_ENDING), settling)
            for titles in definition.words.doubtful.values()
            for title, settling in titles.items()
        )
        if any(page.has_phrase(title) and any(map(page.has_phrase, settling)) for title, settling in titles):
            return f"The document may be a {definition.label.lower()}: please say of which type it is."
    return ""


def _doubt_by_contrary(document_type: DocumentType, page: _Page) -> str:
    """The question whether a document is of a trained type, if it says that it is none; "" if it does not."""
    definition = DEFINITIONS[document_type]
    contrary = definition.words.contrary.values() if definition.is_trained else ()
    printed = next((phrase for phrases in contrary for phrase in phrases if page.has_phrase(phrase)), None)
    if printed is None:
        return ""
    label = definition.label.lower()
    return f"With {printed!r} the document may be no {label}: please say of which type it is."


def _is_number_label(page: _Page, title: _Title) -> bool:
    """Return True if a number stands behind the words in running print: `Estimate no. E-818` on an order."""
    is_large = title.segment.height >= _LARGE * page.layout.sheets[0].text_height
    return not is_large and any(map(str.isdecimal, title.segment.text))


def _evidence(definition: TypeDefinition, page: _Page) -> int | None:
    """The number of the type's labels and phrases in the document; None if the type needs more."""
    wanted = definition.recognition
    labelled = sum(
        any(_starts_with(words, label) for words in page.lines for label in labels)
        for path, labels in _label_phrases(definition)
        if path in wanted.fields
    )
    phrases = len(_phrase_groups(definition, page))
    return labelled + phrases if labelled >= wanted.labels and phrases >= wanted.phrases else None


def _phrase_groups(definition: TypeDefinition, page: _Page) -> list[str]:
    """The groups of the type's phrases of which at least one is printed."""
    return [
        group
        for group, by_language in definition.words.phrases.items()
        if any(page.has_phrase(phrase) for phrases in by_language.values() for phrase in phrases)
    ]


def _untitled(page: _Page, document_type: DocumentType) -> Recognition | None:
    """The type of a document without a title, by the phrases of its text; None if no type has enough of them.

    Where the classifier found the type that it refines, it has that one's confidence; where it found another
    business type with amounts, a person is asked.
    """
    if len(page.layout.document.pages) > _MOST_PAGES:
        return None
    for name, definition in DEFINITIONS.items():
        wanted = definition.recognition.untitled
        if not wanted or len(_phrase_groups(definition, page)) < wanted:
            continue
        if document_type == "other":
            return Recognition(name, _UNTITLED)
        if definition.extends == document_type:
            return Recognition(name, 0.0)
        given = DEFINITIONS[document_type]
        if definition.amount and given.amount and not _has_title(page, document_type):
            doubt = f"The document may be a {definition.label.lower()} or an {given.label.lower()}"
            return Recognition(document_type, 0.0, f"{doubt}: please say of which type it is.")
    return None


def _has_title(page: _Page, document_type: DocumentType) -> bool:
    """True if a heading is a title of this trained type."""
    headings = (heading.text for heading in page.headings if ":" not in heading.text)
    titles = (titled_type(" ".join(_words(text)), _TITLE) for text in headings)
    return document_type in titles


def _trained_type(page: _Page, document_type: DocumentType) -> Recognition | None:
    """The trained type whose title is a heading, if the classifier found another; None otherwise.

    Where the classifier found a type, the heading must be large, since a label may have the same words.
    """
    large = 0.0 if document_type == "other" else _LARGE * page.layout.sheets[0].text_height
    headings = [
        heading for heading in page.headings if heading.height >= large and not page.is_column(heading)
    ]
    types = {titled_type(" ".join(_words(heading.text)), _SURE_TITLE) for heading in headings} - {None}
    if len(types) != 1:
        return None
    (name,) = types
    if name is None or name in ("other", document_type):
        return None
    return None if _has_title(page, document_type) else Recognition(name, _LEAST)


def _refine(name: DocumentType, page: _Page, title: _Title, *, is_contested: bool) -> Recognition:
    """The type that the title names, or the one that it extends; without a confidence.

    is_contested: a larger heading is the title of a trained type.
    """
    definition = DEFINITIONS[name]
    label = definition.label.lower()
    base = DEFINITIONS[definition.extends].label.lower()
    phrase = title.phrase.text
    if is_contested:
        doubt = f"The document is titled both {base} and {phrase!r}: please say of which type it is."
        return Recognition(definition.extends, 0.0, doubt)
    if not title.phrase.is_doubtful:
        return Recognition(name, 0.0)
    if any(page.has_phrase(against) for phrases in definition.words.contrary.values() for against in phrases):
        return Recognition(definition.extends, 0.0)
    if _is_settled(definition, page, title):
        return Recognition(name, 0.0)
    doubt = f"{phrase.capitalize()!r} may mean {base} or {label}: please say of which type it is."
    return Recognition(definition.extends, 0.0, doubt)


def _is_settled(definition: TypeDefinition, page: _Page, title: _Title) -> bool:
    """True if other words of the document show what its doubtful title means."""
    settling = (titles.get(title.phrase.text, ()) for titles in definition.words.doubtful.values())
    return any(page.has_phrase(word) for phrases in settling for word in phrases)


def _find_title(name: DocumentType, page: _Page) -> _Title | None:
    """The best heading that is a title of the type; see `_Title.rank`."""
    large = _LARGE * page.layout.sheets[0].text_height
    titles: list[_Title] = []
    for segment in page.headings:
        words = _words(segment.text)
        words = words[words[:1] in _subject_labels() :]
        phrase = _title_at_start(name, words) or _title_within(name, words)
        if phrase is None and (phrase := _title_at_end(name, segment.text, words)) is not None:
            titles.append(_Title(segment, phrase))
        elif phrase is not None:
            share = _length(phrase, words) / sum(map(len, words))
            leads = _is_unambiguous(phrase) and not segment.text.endswith(_STOPS) and share >= _LEADS
            is_large = segment.height >= large and _starts_with(words, phrase.words)
            if share >= _MOST_OF_IT or (len(words) <= _LONGEST and (is_large or leads)):
                titles.append(_Title(segment, phrase))
    return max(titles, key=lambda title: title.rank, default=None)


def _length(phrase: _Phrase, words: Sequence[str]) -> int:
    """The letters of a title; if its first word is only an ending, the letters of the whole printed word."""
    endings = sum(len(word) for word in words[:1] if phrase.words[0].startswith(_ENDING))
    return endings or sum(map(len, phrase.words))


def _is_unambiguous(phrase: _Phrase) -> bool:
    """True for a title of several words without doubt; it may then stand anywhere in a heading."""
    return len(phrase.words) > 1 and not phrase.is_doubtful


def _title_within(name: DocumentType, words: Sequence[str]) -> _Phrase | None:
    """An unambiguous title inside a short heading: `Second reminder: overdue account`."""
    starts = range(1, len(words)) if len(words) <= _LONGEST else ()
    phrases = (_title_at_start(name, words[start:]) for start in starts)
    return next((phrase for phrase in phrases if phrase is not None and _is_unambiguous(phrase)), None)


def _title_at_end(name: DocumentType, text: str, words: Sequence[str]) -> _Phrase | None:
    """The title with which a heading of several words ends, as English ones do: `Web Hosting Agreement`."""
    is_heading = 1 < len(words) <= _LONGEST and not any(
        word[0].islower() for word in text.split() if len(word) > _SHORTEST_WORD
    )
    ending = (_ENDING + words[-1],) if is_heading else ()
    return next((phrase for phrase in _title_phrases(name) if phrase.words == ending), None)


def _title_at_start(name: DocumentType, words: Sequence[str]) -> _Phrase | None:
    """The longest title with which the words start."""
    if not words or len(words[0]) < _SHORTEST_WORD:
        return None
    beginnings = _titles_starting_with(name, words[0])
    return next(
        (phrase for phrase in beginnings if _starts_with(words, phrase.words)), None
    ) or _title_without_spaces(name, "".join(words))


def _title_without_spaces(name: DocumentType, letters: str) -> _Phrase | None:
    """The title of several words with which the letters start, since recognition loses spaces."""
    phrases = _phrases_without_spaces(name)
    if not letters.startswith(tuple(phrases)):
        return None
    return next(phrase for closed, phrase in phrases.items() if letters.startswith(closed))


@cache
def _phrases_without_spaces(name: DocumentType) -> dict[str, _Phrase]:
    phrases = (phrase for phrase in _title_phrases(name) if _is_unambiguous(phrase))
    closed = (("".join(phrase.words), phrase) for phrase in phrases if _ENDING not in phrase.words[0])
    return {letters: phrase for letters, phrase in closed if len(letters) >= _LONG_PHRASE}


def _has_larger_title(name: DocumentType, page: _Page, title: _Title) -> bool:
    """True if a heading that is larger than `title` is the title of a trained type and nothing else."""
    return any(
        _AS_LARGE * heading.height > title.segment.height
        and is_title(heading.text)
        and _title_at_start(name, _words(heading.text)) is None
        for heading in page.headings
    )


@lru_cache(maxsize=20_000)
def _titles_starting_with(name: DocumentType, word: str) -> Sequence[_Phrase]:
    """The titles whose first word is this one, perhaps misread; long ones first, then exact ones."""
    same = [phrase for phrase in _title_phrases(name) if _is_same(word, phrase.words[0])]
    return sorted(same, key=lambda phrase: (-len(phrase.words), phrase.words[0] != word))


@cache
def _title_phrases(name: DocumentType) -> Sequence[_Phrase]:
    words = DEFINITIONS[name].words
    sure = {phrase: False for phrases in words.titles.values() for phrase in phrases}
    doubtful = {phrase: True for titles in words.doubtful.values() for phrase in titles}
    phrases = [
        _Phrase(text, _title_words(text), is_doubtful) for text, is_doubtful in (doubtful | sure).items()
    ]
    return sorted(phrases, key=lambda phrase: -len(phrase.words))


def _title_words(phrase: str) -> tuple[str, ...]:
    first, *rest = _words(phrase)
    return (_ENDING + first if phrase.startswith(_ENDING) else first, *rest)


def _label_phrases(definition: TypeDefinition) -> Iterator[tuple[str, Sequence[tuple[str, ...]]]]:
    for path, labels in definition.labels.items():
        yield path, [_label_words(label) for label in labels]


@lru_cache(maxsize=20_000)
def _label_words(label: str) -> tuple[str, ...]:
    return _words(label)


@cache
def _subject_labels() -> frozenset[tuple[str, ...]]:
    """The words that stand before the subject of a letter, such as `Re` and `Betreff`."""
    labels = (definition.labels.get("subject", ()) for definition in DEFINITIONS.values())
    return frozenset(_words(label)[:1] for each in labels for label in each)


def _words(text: str) -> tuple[str, ...]:
    """The folded words of a text, without words that have digits or mean `number`."""
    return tuple(
        word
        for word in map(_as_letters, token_texts(_split_run_together(closed_up(text))))
        if word not in NUMBER_WORDS and not any(map(str.isdecimal, word))
    )


def _as_letters(word: str) -> str:
    """A word with the letters for which misread digits stand; a code keeps its digits."""
    digits = sum(map(str.isdecimal, word))
    is_word = 0 < digits * (_LETTERS_TO_A_DIGIT + 1) <= len(word)
    return word.translate(_DIGITS_AS_LETTERS) if is_word else word


def _split_run_together(text: str) -> str:
    return _RUN_TOGETHER.sub(" ", text)


def _starts_with(words: Sequence[str], phrase: Sequence[str]) -> bool:
    return bool(phrase) and len(words) >= len(phrase) and all(map(_is_same, words, phrase))


def _is_same(word: str, other: str) -> bool:
    if other.startswith(_ENDING):
        return word.endswith(other[1:]) and len(word) >= len(other) - 1 + _SHORTEST_BEGINNING
    return word == other or (
        min(len(word), len(other)) >= _SHORTEST_MISREAD
        and (fuzz.ratio(word, other) >= _ALIKE or Levenshtein.distance(word, other, score_cutoff=1) == 1)
    )
