"""Labels found in text: phrases of the vocabulary, also glued, hyphenated or misread."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import chain
from typing import Generic, NamedTuple, TypeVar

from rapidfuzz import process
from rapidfuzz.distance import Levenshtein

from docmill.understanding.text.folding import Token, letters_for_digits, parts, token_texts, tokens
from docmill.understanding.vocabulary import LANGUAGES, NUMBER_WORDS, Column, Concept, Language

Meaning = TypeVar("Meaning")

_SHORTEST_FUZZY = 5
_SHORTEST_FUZZY_TWICE = 8
_SHORTEST_PART = 3
_LONGEST_GLUED = 40
_FUZZY_QUALITY = 0.85


class Label(NamedTuple, Generic[Meaning]):
    """A phrase at `start` to `stop` of a text. quality: 1 as spelt, less where letters differ."""

    meanings: tuple[Meaning, ...]
    start: int
    stop: int
    quality: float


class _Word(NamedTuple):
    text: str
    start: int
    stop: int
    quality: float


class Phrases(Generic[Meaning]):
    """A set of phrases with what each means."""

    def __init__(self, phrases: Iterable[tuple[str, Meaning]], spelling: "Spelling | None" = None) -> None:
        """spelling: knows the words of the phrases; that of all labels and titles if none is given."""
        self._spelling = spelling or _SPELLING
        meanings: dict[tuple[str, ...], list[Meaning]] = {}
        for phrase, meaning in phrases:
            key = tuple(_canonical(token.text) for token in tokens(phrase))
            known = meanings.setdefault(key, [])
            if meaning not in known:
                known.append(meaning)
        self._meanings: Mapping[tuple[str, ...], tuple[Meaning, ...]] = {
            key: tuple(found) for key, found in meanings.items()
        }
        self._lengths: dict[str, tuple[int, ...]] = {}
        for first in {key[0] for key in meanings if key}:
            lengths = {len(key) for key in meanings if key and key[0] == first}
            self._lengths[first] = tuple(sorted(lengths, reverse=True))
        self._begins = lru_cache(maxsize=20_000)(self._spells_beginning)

    def find(self, text: str) -> list[Label[Meaning]]:
        """The phrases of `text` from left to right, the longest at each place, none within another."""
        if not any(map(self._begins, token_texts(text))):
            return []
        words = self._spelling.words(text)
        found: list[Label[Meaning]] = []
        at = 0
        while at < len(words):
            length = 0
            for count in self._lengths.get(words[at].text, ()):
                run = words[at : at + count]
                meanings = self._meanings.get(tuple([word.text for word in run]))
                if meanings is not None and len(run) == count:
                    quality = min(word.quality for word in run)
                    found.append(Label(meanings, run[0].start, run[-1].stop, quality))
                    length = count
                    break
            at += max(1, length)
        return found

    def _spells_beginning(self, token: str) -> bool:
        """Whether a phrase begins with the token or a part of it; in most texts none does."""
        return any(word in self._lengths for word, _, _ in self._spelling.spelt(token))


def _is_headed(token: str, head: str) -> bool:
    """Whether a word is a compound that ends in `head`, as `Mietrechnung` is a `Rechnung`."""
    return (
        token.endswith(head) and not token.endswith(_OTHER_HEADS) and len(token) >= len(head) + _SHORTEST_PART
    )


def _canonical(token: str) -> str:
    return "#" if token in NUMBER_WORDS else token


def _vocabulary() -> frozenset[str]:
    phrases = [phrase for language in LANGUAGES for found in language.labels.values() for phrase in found]
    phrases += [phrase for language in LANGUAGES for found in language.titles.values() for phrase in found]
    return frozenset(token.text for phrase in phrases for token in tokens(phrase))


def _codes_of_words() -> dict[str, frozenset[str]]:
    """The languages in whose labels, headings or titles a word is."""
    codes: dict[str, set[str]] = {}
    for language in LANGUAGES:
        for phrases in (*language.labels.values(), *language.columns.values(), *language.titles.values()):
            for token in (token for phrase in phrases for token in tokens(phrase)):
                codes.setdefault(token.text, set()).add(language.code)
    return {word: frozenset(of_word) for word, of_word in codes.items()}


_COMMON = frozenset(
    word
    for language in LANGUAGES
    for word in (*language.common, *language.address.regions)
    if " " not in word
)
"""Words that are never taken for a misread label: `Paris` is no price."""
_CODES = frozenset(language.code for language in LANGUAGES)
_CODES_OF_WORDS: Mapping[str, frozenset[str]] = _codes_of_words()
_HEADS = tuple(head for language in LANGUAGES for head in language.heads)
_OTHER_HEADS = tuple(head for language in LANGUAGES for head in language.other_heads)
_UNITS_OF_LABELS = frozenset({"no", "nr", "rm", "eur", "usd", "chf"})


class Spelling:
    """Known words, and how they are found where they are glued, split or misread."""

    def __init__(self, known: frozenset[str]) -> None:
        self._known = known
        self._glued = (
            frozenset(word for word in known | NUMBER_WORDS if len(word) >= _SHORTEST_PART) | _UNITS_OF_LABELS
        )
        self._by_length: Mapping[int, tuple[str, ...]] = {
            length: tuple(sorted(word for word in known if len(word) == length)) for length in range(4, 24)
        }
        self._by_about_length: dict[int, tuple[str, ...]] = {}
        self.spelt = lru_cache(maxsize=20_000)(self._spelling)

    def words(self, text: str) -> list[_Word]:
        """The text's tokens as the vocabulary spells them; number signs in a row count once."""
        found: list[_Word] = []
        for token in tokens(text):
            at = token.start
            for word, length, quality in self.spelt(token.text):
                if word == "#" and found and found[-1].text == "#":
                    found[-1] = found[-1]._replace(stop=at + length)
                else:
                    found.append(_Word(word, at, at + length, quality))
                at += length
        return found

    def _spelling(self, token: str) -> tuple[tuple[str, int, float], ...]:
        """The known words a token consists of: each with the letters it takes and how well it fits."""
        return tuple((_canonical(word), length, quality) for word, length, quality in self._parts(token))

    def _parts(self, token: str) -> tuple[tuple[str, int, float], ...]:
        if token in self._known or token in NUMBER_WORDS or token in _COMMON or token.isdecimal():
            return ((token, len(token), 1.0),)
        if not token.isalpha():
            letters = letters_for_digits(token)
            if letters in self._known and any(map(str.isalpha, token)):
                return ((letters, len(token), _FUZZY_QUALITY),)
            pieces = parts(Token(token, 0, len(token)))
            if len(pieces) > 1:
                return tuple(word for piece in pieces for word in self._parts(piece.text))
            return ((token, len(token), 1.0),)
        glued = self._split(token) if len(token) <= _LONGEST_GLUED else None
        if glued is not None:
            return tuple((word, len(word), 1.0) for word in glued)
        near = self._nearest(token) or next((head for head in _HEADS if _is_headed(token, head)), None)
        return ((near, len(token), _FUZZY_QUALITY),) if near else ((token, len(token), 1.0),)

    def _split(self, token: str) -> tuple[str, ...] | None:
        """`token` as two to four known words of one language written together, the fewest possible.

        `Restless` is no Swedish `rest` before an English `less`.
        """
        best: list[tuple[tuple[str, ...], frozenset[str]] | None] = [None] * (len(token) + 1)
        best[0] = (), _CODES
        for stop in range(1, len(token) + 1):
            for start in range(max(0, stop - 24), stop):
                before, here, word = best[start], best[stop], token[start:stop]
                if before is None or word not in self._glued:
                    continue
                of_all_languages = word in NUMBER_WORDS or word in _UNITS_OF_LABELS
                codes = before[1] if of_all_languages else before[1] & _CODES_OF_WORDS.get(word, _CODES)
                if codes and (here is None or len(before[0]) + 1 < len(here[0])):
                    best[stop] = (*before[0], word), codes
        found = best[-1][0] if best[-1] else ()
        return found if 1 < len(found) <= 4 else None  # noqa: PLR2004 - as the first line says

    def _of_about_length(self, length: int, allowed: int) -> tuple[str, ...]:
        """The known words whose length differs by no more than that."""
        words = self._by_about_length.get(length)
        if words is None:
            lengths = range(length - allowed, length + allowed + 1)
            words = tuple(chain.from_iterable(self._by_length.get(each, ()) for each in lengths))
            self._by_about_length[length] = words
        return words

    def _nearest(self, token: str) -> str | None:
        """The known word one letter away, two in long ones; of several the one that most languages know."""
        if len(token) < _SHORTEST_FUZZY:
            return None
        allowed = 1 if len(token) < _SHORTEST_FUZZY_TWICE else 2
        words = self._of_about_length(len(token), allowed)
        near = process.extract(token, words, scorer=Levenshtein.distance, score_cutoff=allowed, limit=None)
        return min(
            ((distance, -len(_CODES_OF_WORDS.get(word, ())), word) for word, distance, _ in near),
            default=(0, 0, None),
        )[2]


_SPELLING = Spelling(_vocabulary())

LABELS: Phrases[Concept] = Phrases(
    (phrase, concept)
    for language in LANGUAGES
    for concept, phrases in language.labels.items()
    for phrase in phrases
)
"""Every label of every language."""

_HEADINGS = [
    (phrase, column)
    for language in LANGUAGES
    for column, phrases in language.columns.items()
    for phrase in phrases
]


_NAMES = [(phrase, language.code) for language in LANGUAGES for phrase in language.names]
_SALUTATIONS = [(phrase, language.code) for language in LANGUAGES for phrase in language.salutations]
_BOOKINGS = [(phrase, language.code) for language in LANGUAGES for phrase in language.bookings.kinds]
_CARRIED = [(phrase, language.code) for language in LANGUAGES for phrase in language.carried]


def _known(phrases: Sequence[tuple[str, Meaning]]) -> Phrases[Meaning]:
    """Phrases whose own words alone are known."""
    words = frozenset(token.text for phrase, _ in phrases for token in tokens(phrase))
    return Phrases(phrases, Spelling(words))


def _of_languages(meanings: Callable[[Language], Mapping[str, Sequence[str]]]) -> Phrases[str]:
    """Phrases of every language. meanings: the phrases of one language by what they mean."""
    return _known(
        [
            (phrase, meaning)
            for language in LANGUAGES
            for meaning, phrases in meanings(language).items()
            for phrase in phrases
        ]
    )


COLUMNS: Phrases[Column] = _known(_HEADINGS)
"""Every heading of a table's column in every language."""

CARRIED: Phrases[str] = _known(_CARRIED)
"""What a row that brings a sum from one page to the next is called, with the language."""

NAMES: Phrases[str] = _known(_NAMES)
"""What stands before the name of a party in a form, with the language."""

BOOKINGS: Phrases[str] = _known(_BOOKINGS)
"""Kinds of bookings, with the language."""

SALUTATIONS: Phrases[str] = _known(_SALUTATIONS)
"""Lines before a name that are not of it, with the language."""

PAYMENT_LABELS: Phrases[str] = _of_languages(
    lambda language: {
        "terms": language.payment.terms,
        "method": language.payment.method,
        "generic": language.payment.generic,
        "offered": language.payment.offered,
    }
)
"""Labels of terms and means of payment, with what they introduce; see `PaymentWords`."""

PAYMENT_PHRASES: Phrases[str] = _of_languages(
    lambda language: {
        "paid": language.payment.paid,
        "collected": language.payment.collected,
        "transfer": language.payment.transfer,
    }
)
"""What sentences say of how it is paid, with what they mean; see `PaymentWords`."""

PAYMENT_CLAUSES: Phrases[str] = _of_languages(
    lambda language: {
        "immediate": language.payment.immediate,
        "clause": language.payment.clauses,
    }
)
"""Terms of payment without a number of days, with their kind; see `PaymentWords`."""

METHODS: Phrases[str] = _of_languages(lambda language: language.methods)
"""Names of means of payment, with their code in UNTDID 4461."""
