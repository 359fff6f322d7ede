"""What people type into the search box, as a query of PostgreSQL's text search.

Words are found by their beginning, in any form that the stemmers know, with or without accents; text in
quotation marks as it stands; amounts, days, IBANs, codes and archive serial numbers (`ASN 123`) in any
notation. What is indexed is written by
`folded_words` and `exact_terms` of the database (revision 0030), which these functions repeat.
"""

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, NamedTuple

import snowballstemmer

from docmill.sections.serial_numbers import find_serial_numbers
from docmill.service.search.days import typed_days, written_forms

_MOST_TERMS = 16
"""Terms of a query; more are left out."""
_LONGEST = 100
"""Letters of a word; PostgreSQL takes no more than some thousand."""
_SHORTEST_STEM = 3
_SHORTEST_NUMBER = 3
"""Digits of a number that is looked for as the beginning of others; `2` begins every year."""
_LANGUAGES = (
    "danish", "dutch", "english", "french", "german", "italian", "norwegian", "portuguese", "spanish",
    "swedish",
)  # fmt: skip
_TERM = re.compile(r'(-?)"([^"]*)"?|(\S+)')
_MARKS = re.compile(
    r"[\x01-\x2f\x3a-\x60\x7b-\x7f\u00ab\u00bb\u201c-\u201e\u2018-\u201a\u2013\u2014\u2026\u2022"
    r"\u00b7\u00bf\u00a1\u00a7\u00b0]+"
)
_LETTERS = str.maketrans(
    {"ß": "ss", "æ": "ae", "œ": "oe", "ł": "l", "ø": "o", "ð": "d", "đ": "d", "\u0131": "i"}
)
_UMLAUTS = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "å": "aa", "ø": "oe"})
_TWO_LETTERS = re.compile("ae|oe|ue")
_GROUPED = r"[0-9]{1,3}(?:[.,'\u2019\u00a0\u202f ][0-9]{3})+"
_AMOUNT = re.compile(rf"(?<![0-9.,])((?:{_GROUPED}|[0-9]+)[.,][0-9]{{2}})(?![0-9])")
_WHOLE_AMOUNT = re.compile(rf"(?<![0-9.,])({_GROUPED})(?![0-9.,])")
_INTEGER = re.compile(r"[0-9]{1,12}")
_ISO_DAY = re.compile(r"(?<![0-9])([12][0-9]{3})-([01][0-9])-([0-3][0-9])(?![0-9])")
_DAY = re.compile(r"(?<![0-9])([0-3]?[0-9])[./-]([0-3]?[0-9])[./-]([12][0-9]{3})(?![0-9])")
_IBAN = re.compile(
    r"(?<![A-Za-z0-9])([A-Z]{2}[0-9]{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?)(?![A-Za-z0-9])"
)
_CODE = re.compile(r"(?<![A-Za-z0-9])((?=[A-Za-z/.-]*[0-9])[A-Za-z0-9]+(?:[-/.][A-Za-z0-9]+)+)")
_MONTHS = 12
_NO_TAGS: Mapping[str, str] = {}


class ExactTerm(NamedTuple):
    """An amount, a day or a code at `start` to `stop` of a text, in the one form that is indexed."""

    term: str
    start: int
    stop: int


@dataclass(frozen=True, slots=True)
class SearchTerm:
    """One word, phrase, amount, day or code of a query.

    words: small letters without accents. is_phrase: typed in quotes. is_excluded: typed with a minus.
    variants: the same word with umlauts written otherwise. stems: in the languages that have another form.
    exact: its forms as an amount, a day, a code or an archive serial number. tags: words of the index for the
    tags of this name. typed: as it stands in the query.
    """

    words: tuple[str, ...]
    is_phrase: bool = False
    is_excluded: bool = False
    variants: frozenset[str] = frozenset()
    stems: frozenset[str] = frozenset()
    exact: frozenset[str] = frozenset()
    tags: frozenset[str] = frozenset()
    typed: str = ""

    @property
    def is_whole(self) -> bool:
        """True if the last word is looked for as it stands, and not as the beginning of others."""
        is_short = bool(self.words) and self.words[-1].isdecimal() and len(self.words[-1]) < _SHORTEST_NUMBER
        return self.is_phrase or is_short

    @property
    def tsquery(self) -> str:
        """The term in the syntax of `tsquery`: any of its forms."""
        last = len(self.words) - 1
        marks = "" if self.is_whole else ":*"
        phrase = " <-> ".join(
            f"{_quoted(word)}{marks if index == last else ''}" for index, word in enumerate(self.words)
        )
        forms = [f"({phrase})"] if self.words else []
        forms += [f"{_quoted(word)}:*" for word in sorted(self.variants)]
        forms += [_quoted(word) for word in sorted(self.stems | self.exact | self.tags)]
        forms += [day for day in map(written_forms, sorted(self.exact)) if day]
        return f"{'!' if self.is_excluded else ''}({' | '.join(forms)})"

    def is_in(self, words: Sequence[str]) -> bool:
        """Whether one of the term's forms, but those of `exact`, stands in folded words."""
        length = len(self.words)
        for at in range(len(words) - length + 1 if length else 0):
            run = tuple(words[at : at + length])
            ends = run[-1] == self.words[-1] if self.is_whole else run[-1].startswith(self.words[-1])
            if run[:-1] == self.words[:-1] and ends:
                return True
        others = (*self.variants, *self.stems)
        return any(word.startswith(other) for word in words for other in others)


def fold(text: str) -> str:
    """Small letters without accents, parted by spaces."""
    decomposed = unicodedata.normalize("NFKD", text.replace("\0", " ")).lower()
    plain = "".join(letter for letter in decomposed if not "\u0300" <= letter <= "\u036f")
    return _MARKS.sub(" ", plain.translate(_LETTERS)).strip()


def exact_terms(text: str) -> Iterator[ExactTerm]:
    """The amounts, days, IBANs and codes of a text; a day that may be two is given as both."""
    for found in _AMOUNT.finditer(text):
        yield ExactTerm("n" + re.sub(r"\D", "", found[1]), *found.span(1))
    for found in _WHOLE_AMOUNT.finditer(text):
        yield ExactTerm("n" + re.sub(r"\D", "", found[1]) + "00", *found.span(1))
    for found in _ISO_DAY.finditer(text):
        yield ExactTerm("d" + "".join(found.groups()), *found.span())
    for found in _DAY.finditer(text):
        for day, month in ((found[1], found[2]), (found[2], found[1])):
            if 1 <= int(month) <= _MONTHS:
                yield ExactTerm(f"d{found[3]}{month:0>2}{day:0>2}", *found.span())
    for found in _IBAN.finditer(text):
        yield ExactTerm(found[1].replace(" ", "").lower(), *found.span(1))
    for found in _CODE.finditer(text):
        yield ExactTerm(re.sub(r"[^A-Za-z0-9]", "", found[1]).lower(), *found.span(1))


@lru_cache(maxsize=256)
def search_terms(query: str) -> tuple[SearchTerm, ...]:
    """The terms of a query, all of which a document must have; empty if it has no letter and no digit."""
    whole = query.strip()
    if _is_one(whole):
        return (replace(_term(whole), typed=whole),)
    terms: list[SearchTerm] = []
    for typed in reversed(typed_days(whole)):
        if whole[: typed.start].count('"') % 2 == 0:  # not within a phrase
            day = whole[typed.start : typed.stop]
            exact = frozenset({f"d{typed.day:%Y%m%d}"})
            terms.append(SearchTerm(tuple(fold(day).split()), exact=exact, typed=day))
            whole = f"{whole[: typed.start]} {whole[typed.stop :]}"
    for number, start, stop in reversed(list(find_serial_numbers(whole))):
        if whole[:start].count('"') % 2 == 0:
            label = whole[start:stop]
            exact = frozenset({f"asn:{number}"})
            terms.append(SearchTerm(tuple(fold(label).split()), is_phrase=True, exact=exact, typed=label))
            whole = f"{whole[:start]} {whole[stop:]}"
    for minus, phrase, word in _TERM.findall(whole)[:_MOST_TERMS]:
        is_excluded = bool(minus) or (len(word) > 1 and word[0] == "-" and word[1].isalpha())
        term = _term(phrase or word, is_phrase=bool(phrase), is_excluded=is_excluded)
        if term.words or term.exact:
            terms.append(replace(term, typed=f'{minus}"{phrase}"' if phrase else word))
    return tuple(terms)


def tsquery_of(query: str, tags: Mapping[str, str] = _NO_TAGS) -> str:
    """The query in the syntax of `tsquery`; "" if it can find nothing.

    tags: their names, by the word that the index has for each.
    """
    terms = search_terms(query)
    if tags:
        names = {word: _folded_words(name) for word, name in tags.items()}
        terms = tuple(
            replace(term, tags=frozenset(word for word, name in names.items() if term.is_in(name)))
            for term in terms
        )
    if all(term.is_excluded for term in terms):
        return ""
    return " & ".join(term.tsquery for term in terms)


@lru_cache(maxsize=20_000)
def _folded_words(name: str) -> tuple[str, ...]:
    return tuple(fold(name).split())


def _is_one(query: str) -> bool:
    """True if the whole query is one amount or IBAN that holds spaces."""
    grouped = _AMOUNT.fullmatch(query) or _WHOLE_AMOUNT.fullmatch(query)
    return " " in query and bool(grouped or _IBAN.fullmatch(query.upper()))


def _term(typed: str, *, is_phrase: bool = False, is_excluded: bool = False) -> SearchTerm:
    words = tuple(word[:_LONGEST] for word in fold(typed).split())
    if is_phrase:
        return SearchTerm(words, is_phrase=True, is_excluded=is_excluded)
    bare = typed.lstrip("+-").rstrip(".,;:")
    exact = {
        each.term
        for text in (bare, bare.upper())  # an IBAN may be typed in small letters
        for each in exact_terms(text)
        if each.stop - each.start == len(text)
    }
    joined = "".join(words)
    if _INTEGER.fullmatch(joined) and len(words) == 1:
        exact.add(f"n{joined}00")
    elif len(words) > 1 and not exact and any(map(str.isdecimal, joined)):
        exact.add(joined[:_LONGEST])
    if len(words) != 1:
        return SearchTerm(words, is_excluded=is_excluded, exact=frozenset(exact))
    (word,) = words
    variants = {fold(unicodedata.normalize("NFC", typed[:_LONGEST]).lower().translate(_UMLAUTS))}
    variants.add(_TWO_LETTERS.sub(lambda pair: pair[0][0], word))
    stems = {_stem(language, word) for language in _LANGUAGES if len(word) > _SHORTEST_STEM}
    return SearchTerm(
        words,
        is_excluded=is_excluded,
        variants=frozenset(one for one in variants if one and " " not in one and one != word),
        stems=frozenset(stem for stem in stems if len(stem) >= _SHORTEST_STEM and stem != word),
        exact=frozenset(exact),
    )


@lru_cache(maxsize=4096)
def _stem(language: str, word: str) -> str:
    stemmer: Any = snowballstemmer
    stem: str = stemmer.stemmer(language).stemWord(word)
    return stem


def _quoted(word: str) -> str:
    escaped = word.replace("\\", "\\\\").replace("'", "''")
    return f"'{escaped}'"
