"""Labels found in text: phrases of the vocabulary, also written as one word, hyphenated or misread."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray
from rapidfuzz import process
from rapidfuzz.distance import Levenshtein

from docmill.understanding.text.folding import (
    LONGEST_CACHED,
    Token,
    letters_for_digits,
    parts,
    token_texts,
    tokens,
)
from docmill.understanding.vocabulary import LANGUAGES, NUMBER_WORDS, Column, Concept, Language

Meaning = TypeVar("Meaning")

_SHORTEST_FUZZY = 5
_SHORTEST_FUZZY_TWICE = 8
_SHORTEST_PART = 3
_SHORTEST_KNOWN, _LONGEST_KNOWN = 4, 24
"""Letters of the words that a misread one may be (the longest excluded)."""
_MOST_PARTS = 4
_LONGEST_GLUED = 40
_FUZZY_QUALITY = 0.85
_UNITS_OF_LABELS = frozenset(word for language in LANGUAGES for word in language.glued) | {
    "rm",
    "eur",
    "usd",
    "chf",
}
_HEADS = tuple(head for language in LANGUAGES for head in language.heads)
_OTHER_HEADS = tuple(head for language in LANGUAGES for head in language.other_heads)
_NEVER_MISREAD = frozenset(
    word
    for language in LANGUAGES
    for word in (*language.common, *language.address.regions)
    if " " not in word
)
"""Words that are never taken for a misread label: `Paris` is no price."""
_CODES = frozenset(language.code for language in LANGUAGES)


def _codes_of_words() -> dict[str, frozenset[str]]:
    """The languages in whose labels, headings or titles a word is."""
    codes: dict[str, set[str]] = {}
    for language in LANGUAGES:
        for phrases in (*language.labels.values(), *language.columns.values(), *language.titles.values()):
            for word in (word for phrase in phrases for word in token_texts(phrase)):
                codes.setdefault(word, set()).add(language.code)
    return {word: frozenset(of_word) for word, of_word in codes.items()}


_CODES_OF_WORDS: Mapping[str, frozenset[str]] = _codes_of_words()


class Label(NamedTuple, Generic[Meaning]):
    """A known phrase at characters `start` to `stop` (exclusive) of a text.

    quality: in (0, 1]; 1 if the phrase is printed as the vocabulary spells it, less where letters differ.
    """

    meanings: tuple[Meaning, ...]
    start: int
    stop: int
    quality: float


class _Word(NamedTuple):
    text: str
    start: int
    stop: int
    quality: float


class Spelling:
    """Recognises known words in a text, also written as one word, inside a compound, or misread."""

    def __init__(self, words: frozenset[str]) -> None:
        self._words = words
        self._glued = (
            frozenset(word for word in words | NUMBER_WORDS if len(word) >= _SHORTEST_PART) | _UNITS_OF_LABELS
        )
        self._by_length: Mapping[int, list[str]] = {
            length: sorted(word for word in words if len(word) == length)
            for length in range(_SHORTEST_KNOWN, _LONGEST_KNOWN)
        }
        self._by_about_length: dict[int, tuple[list[str], NDArray[np.uint32]]] = {}
        self.spelt = lru_cache(maxsize=20_000)(self._spelt)

    def words(self, text: str) -> list[_Word]:
        """The words of the text as the vocabulary spells them; words for `number` in a row are one `#`."""
        words: list[_Word] = []
        for token in tokens(text):
            at = token.start
            for word, length, quality in self.spelt(token.text):
                if word == "#" and words and words[-1].text == "#":
                    words[-1] = words[-1]._replace(stop=at + length)
                else:
                    words.append(_Word(word, at, at + length, quality))
                at += length
        return words

    def _spelt(self, token: str) -> tuple[tuple[str, int, float], ...]:
        """The known words a token consists of: each with the letters it takes and how well it fits."""
        if token in self._words or token in NUMBER_WORDS or token in _NEVER_MISREAD or token.isdecimal():
            return ((_canonical(token), len(token), 1.0),)
        if not token.isalpha():
            letters = letters_for_digits(token)
            if letters in self._words and any(map(str.isalpha, token)):
                return ((_canonical(letters), len(token), _FUZZY_QUALITY),)
            pieces = parts(Token(token, 0, len(token)))
            if len(pieces) > 1:
                return tuple(word for piece in pieces for word in self._spelt(piece.text))
            return ((token, len(token), 1.0),)
        glued = self._split(token) if len(token) <= _LONGEST_GLUED else ()
        if glued:
            return tuple((_canonical(word), len(word), 1.0) for word in glued)
        # `Mietrechnung` is a `Rechnung`
        heads = () if token.endswith(_OTHER_HEADS) else _HEADS
        near = self._nearest(token) or next(
            (head for head in heads if token.endswith(head) and len(token) >= len(head) + _SHORTEST_PART),
            None,
        )
        return ((_canonical(near), len(token), _FUZZY_QUALITY),) if near else ((token, len(token), 1.0),)

    def _split(self, token: str) -> tuple[str, ...]:
        """`token` as two to four known words of one language written together, the fewest possible.

        `Restless` is no Swedish `rest` before an English `less`.
        """
        best: list[tuple[tuple[str, ...], frozenset[str]] | None] = [None] * (len(token) + 1)
        best[0] = (), _CODES
        for start in range(len(token)):
            before = best[start]
            if before is None:
                continue
            for stop in range(start + 1, min(len(token), start + _LONGEST_KNOWN) + 1):
                here, word = best[stop], token[start:stop]
                if word not in self._glued:
                    continue
                of_all_languages = word in NUMBER_WORDS or word in _UNITS_OF_LABELS
                codes = before[1] if of_all_languages else before[1] & _CODES_OF_WORDS.get(word, _CODES)
                if codes and (here is None or len(before[0]) + 1 < len(here[0])):
                    best[stop] = (*before[0], word), codes
        words = best[-1][0] if best[-1] else ()
        return words if 1 < len(words) <= _MOST_PARTS else ()

    def _nearest(self, token: str) -> str | None:
        """The known word one letter away, two in long ones; of several the one that most languages know."""
        if len(token) < _SHORTEST_FUZZY:
            return None
        allowed = 1 if len(token) < _SHORTEST_FUZZY_TWICE else 2
        known = self._by_about_length.get(len(token))
        if known is None:
            lengths = range(len(token) - allowed, len(token) + allowed + 1)
            several = [word for length in lengths for word in self._by_length.get(length, ())]
            known = several, _letter_sets(several)
            self._by_about_length[len(token)] = known
        # An error changes two letters of a word at most; few words are left to compare.
        others = np.bitwise_count(known[1] ^ _letter_sets([token]))
        words = [known[0][index] for index in np.flatnonzero(others <= 2 * allowed).tolist()]
        near = process.extract(token, words, scorer=Levenshtein.distance, score_cutoff=allowed, limit=None)
        ranked = ((distance, -len(_CODES_OF_WORDS.get(word, ())), word) for word, distance, _ in near)
        return min(ranked, default=(0, 0, None))[2]


class Phrases(Generic[Meaning]):
    """A set of phrases with the meanings of each."""

    def __init__(self, phrases: Iterable[tuple[str, Meaning]], spelling: Spelling) -> None:
        """spelling: recognises the words of the phrases."""
        self._spelling = spelling
        meanings: dict[tuple[str, ...], list[Meaning]] = {}
        for phrase, meaning in phrases:
            key = tuple(_canonical(word) for word in token_texts(phrase))
            if meaning not in meanings.setdefault(key, []):
                meanings[key].append(meaning)
        self._meanings = {key: tuple(several) for key, several in meanings.items()}
        lengths: dict[str, set[int]] = {}
        for key in meanings:
            if key:
                lengths.setdefault(key[0], set()).add(len(key))
        self._lengths = {first: sorted(several, reverse=True) for first, several in lengths.items()}
        self._begins = lru_cache(maxsize=20_000)(self._spells_beginning)
        self._find_in_line = lru_cache(maxsize=4096)(self._find)

    def find(self, text: str) -> list[Label[Meaning]]:
        """The phrases of `text` from left to right, the longest at each place; they never overlap."""
        return [*(self._find_in_line if len(text) <= LONGEST_CACHED else self._find)(text)]

    def _find(self, text: str) -> Sequence[Label[Meaning]]:
        if not any(map(self._begins, token_texts(text))):
            return ()
        words = self._spelling.words(text)
        labels: list[Label[Meaning]] = []
        at = 0
        while at < len(words):
            length = 1
            for count in self._lengths.get(words[at].text, ()):
                run = words[at : at + count]
                meanings = self._meanings.get(tuple([word.text for word in run]))
                if meanings is not None and len(run) == count:
                    quality = min(word.quality for word in run)
                    labels.append(Label(meanings, run[0].start, run[-1].stop, quality))
                    length = count
                    break
            at += length
        return labels

    def _spells_beginning(self, token: str) -> bool:
        """True if a phrase begins with the token or a part of it; in most texts none does."""
        return any(word in self._lengths for word, _, _ in self._spelling.spelt(token))


def _letter_sets(words: Iterable[str]) -> NDArray[np.uint32]:
    """The letters of each word as bits; several letters share one."""
    return np.array([sum({1 << (ord(letter) & 31) for letter in word}) for word in words], np.uint32)


def _canonical(word: str) -> str:
    return "#" if word in NUMBER_WORDS else word


def _phrases_of_languages(
    meanings: Callable[[Language], Mapping[Meaning, Iterable[str]]], spelling: Spelling | None = None
) -> Phrases[Meaning]:
    """Phrases of every language. meanings: phrases by their meaning. spelling: by default of their words."""
    phrases = [
        (phrase, meaning)
        for language in LANGUAGES
        for meaning, several in meanings(language).items()
        for phrase in several
    ]
    if spelling is None:
        spelling = Spelling(frozenset(word for phrase, _ in phrases for word in token_texts(phrase)))
    return Phrases(phrases, spelling)


def covered_share(text: str, labels: Iterable[Label[Meaning]]) -> float:
    """The share of a text's letters that lie within its labels, in [0, 1]; 1 for a text without letters."""
    letters = sum(map(str.isalpha, text))
    covered = sum(sum(map(str.isalpha, text[label.start : label.stop])) for label in labels)
    return covered / letters if letters else 1.0


LABELS: Phrases[Concept] = _phrases_of_languages(
    lambda language: language.labels,
    # A word that is in neither labels nor titles is taken for the nearest of both.
    Spelling(
        frozenset(
            word
            for language in LANGUAGES
            for phrases in (*language.labels.values(), *language.titles.values())
            for phrase in phrases
            for word in token_texts(phrase)
        )
    ),
)
"""Every label of every language."""


def _columns_of(language: Language) -> Mapping[Column, Sequence[str]]:
    """The headings of a language; those of quantities ordered and delivered name quantities as well."""
    quantities = (Column.QUANTITY, Column.ORDERED, Column.DELIVERED)
    words = [word for column in quantities for word in language.columns.get(column, ())]
    return {**language.columns, Column.QUANTITY: words}


COLUMNS: Phrases[Column] = _phrases_of_languages(_columns_of)
"""Every heading of a table's column in every language."""

TERMS: Phrases[str] = _phrases_of_languages(lambda language: language.fields.terms)
"""Terms of business papers that fields of users' schemas have, by their names."""

CARRIED: Phrases[str] = _phrases_of_languages(lambda language: {language.code: language.carried})
"""Names of rows that carry a sum from one page to the next, such as `carried forward`, with the language."""

NAMES: Phrases[str] = _phrases_of_languages(lambda language: {language.code: language.names})
"""Labels of the name of a party in a form, with the language."""

BOOKINGS: Phrases[str] = _phrases_of_languages(lambda language: {language.code: language.bookings.kinds})
"""Kinds of bookings, with the language."""

SALUTATIONS: Phrases[str] = _phrases_of_languages(lambda language: {language.code: language.salutations})
"""Words such as `Mr` or `Attn` that stand before a name and are no part of it, with the language."""

PARTIES: Phrases[str] = _phrases_of_languages(
    lambda language: {
        "payee": language.parties.payees,
        "other": language.parties.others,
        "attention": language.parties.attention,
    }
)
"""Labels of parties that are neither seller nor buyer, and words before a person; see `PartyWords`."""

WRITERS: Phrases[str] = _phrases_of_languages(lambda language: {language.code: language.parties.writers})
"""Labels of the party that wrote the paper, be it seller or buyer, with the language."""

CONSIGNMENTS: Phrases[str] = _phrases_of_languages(
    lambda language: {"sender": language.parties.senders, "receiver": language.parties.receivers}
)
"""Labels of who sends and who receives goods or a letter."""

DEPARTMENTS: Phrases[str] = _phrases_of_languages(
    lambda language: {language.code: language.parties.departments}
)
"""Departments of a firm, which may stand before its address, with the language."""

PAYMENT_LABELS: Phrases[str] = _phrases_of_languages(
    lambda language: {
        "terms": language.payment.terms,
        "method": language.payment.method,
        "generic": language.payment.generic,
        "offered": language.payment.offered,
    }
)
"""Labels of terms and means of payment, with what they introduce; see `PaymentWords`."""

PAYMENT_PHRASES: Phrases[str] = _phrases_of_languages(
    lambda language: {
        "paid": language.payment.paid,
        "collected": language.payment.collected,
        "transfer": language.payment.transfer,
    }
)
"""Phrases of sentences on payment, with their meaning; see `PaymentWords`."""

PAYMENT_CLAUSES: Phrases[str] = _phrases_of_languages(
    lambda language: {
        "immediate": language.payment.immediate,
        "clause": language.payment.clauses,
    }
)
"""Terms of payment without a number of days, with their kind; see `PaymentWords`."""

TAX_CATEGORIES: Phrases[str] = _phrases_of_languages(lambda language: language.taxes.categories)
"""Phrases that say why a bill has no VAT, with the code of the category in UNTDID 5305."""

METHODS: Phrases[str] = _phrases_of_languages(lambda language: language.methods)
"""Names of means of payment, with their code in UNTDID 4461."""
