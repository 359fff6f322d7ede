"""Names of parties, normalised and compared word by word; VAT identifiers and IBANs count for more."""

import re
import tomllib
from enum import IntEnum
from functools import lru_cache
from importlib import resources

from anyascii import anyascii
from rapidfuzz.distance import OSA
from stdnum import iban

from docmill.matching.match_record import PartyIdentity
from docmill.understanding.text.codes import is_vat_id

SAME_NAME = 0.985
"""Likeness of names from which on they are taken for the same."""
CLOSE_NAME = 0.92
"""Likeness of names that may differ by a misread letter; there are firms whose names differ by no more."""
SIMILAR_NAME = 0.6
"""Least likeness of names that may be the same; names below are of different firms."""

_WORD = re.compile(r"[a-z0-9]+")
_INITIALS = re.compile(r"\b(?:[a-z]\.\s?){2,}")
_JOINED = re.compile(r"[.'\u2019`]")
_LATINISED = (("ae", "a"), ("oe", "o"), ("ue", "u"), ("ss", "s"), ("ph", "f"))
"""Spellings of umlauts and other sounds where a letter is missing, such as `Mueller` in a bank line."""
_LOOK_ALIKE = str.maketrans("015862", "olsbgz")
_RN = re.compile("rn|vv")
_CONJUNCTIONS = frozenset({"und", "and", "et", "och", "og"})
"""Words that are written as `&` as well, which is left out."""
_GENERIC_WEIGHT = 0.25
_SHORT_WORD = 4
_SHORTEST_PREFIX = 3
_PREFIX_LIKENESS = 0.9
_ABBREVIATED = 0.7
_CONTRACTED = 0.5
"""Likeness of a word to its abbreviation by some of its letters: `Dt.` for `Deutsche`."""
_LEAST_WORD_LIKENESS = 0.75
_BANK_LENGTHS = frozenset({26, 27, 34, 35, 69, 70})
"""Lengths at which bank formats cut names off (DTAUS 27, SEPA 35 and 70), or one less for a space."""
_LETTERS_OF_KEY = 5


class Likeness(IntEnum):
    """How sure it is that two parties are the same; UNKNOWN where one of them is not known."""

    DIFFERENT = 0
    UNKNOWN = 1
    SIMILAR = 2
    CLOSE_NAME = 3
    SAME_NAME = 4
    SAME_IDENTIFIER = 5


def _simplified(text: str) -> str:
    """Text in small letters of the Latin alphabet; abbreviations such as `S.p.A.` become one word."""
    lowered = anyascii(text).casefold()
    lowered = _INITIALS.sub(lambda match: match[0].replace(".", "").replace(" ", "") + " ", lowered)
    return _JOINED.sub("", lowered.replace("&", " & "))


def _legal_forms() -> tuple[dict[str, list[tuple[str, ...]]], frozenset[str]]:
    content = tomllib.loads(
        resources.files("docmill.matching").joinpath("legal_forms.toml").read_text("utf-8")
    )
    generic = frozenset(content.pop("generic")["words"])
    forms = {tuple(_WORD.findall(_simplified(form))) for forms in content.values() for form in forms}
    by_last: dict[str, list[tuple[str, ...]]] = {}
    for form in sorted(filter(None, forms), key=len, reverse=True):
        by_last.setdefault(form[-1], []).append(form)
    return by_last, generic


_FORMS, _GENERIC = _legal_forms()
_FIRST_FORMS = frozenset(form for forms in _FORMS.values() for form in forms if len("".join(form)) > 1)
_GLUED_FORMS = re.compile("株式会社|有限会社|合同会社|股份有限公司|有限公司")
"""Legal forms of scripts without spaces."""


@lru_cache(maxsize=65536)
def party_key(name: str) -> str:
    """A party's name as it is compared: words of small Latin letters, no legal form, no `and`.

    Legal forms are left out at the end, at the beginning, and in between where they have more than three
    letters. A name of legal forms alone keeps its first word.
    """
    words = _WORD.findall(_simplified(_GLUED_FORMS.sub(" ", name)))
    kept = [word for word in words if word not in _CONJUNCTIONS] or words
    while len(kept) > 1 and (form := _form_at_end(kept)):
        del kept[len(kept) - len(form) :]
    for length in (3, 2, 1):  # `AB Volvo`, `OOO Romaschka`
        if len(kept) > length and tuple(kept[:length]) in _FIRST_FORMS:
            del kept[:length]
            break
    for stop in range(len(kept) - 1, 1, -1):  # `Meier GmbH Stuttgart`
        form = _form_at_end(kept[:stop])
        if form and len("".join(form)) > _SHORTEST_PREFIX and len(form) < stop:
            del kept[stop - len(form) : stop]
            break
    return " ".join(kept)


def _form_at_end(words: list[str]) -> tuple[str, ...]:
    for form in _FORMS.get(words[-1], ()):
        if len(form) < len(words) and tuple(words[len(words) - len(form) :]) == form:
            return form
    return ()


@lru_cache(maxsize=65536)
def _comparable_words(key: str) -> tuple[str, ...]:
    """The words of a key without spellings and confusions that do not tell firms apart."""
    words: list[str] = []
    for word in key.split():
        folded = _RN.sub(lambda match: "m" if match[0] == "rn" else "w", word)
        if not folded.isdecimal():
            folded = folded.translate(_LOOK_ALIKE).replace("i", "l")
        for spelling, letter in _LATINISED:
            folded = folded.replace(spelling, letter)
        words.append(folded)
    return tuple(words)


def identity(
    name: str | None = None, *, vat_id: str | None = None, account: str | None = None
) -> PartyIdentity:
    """A party by what is known of it; identifiers whose checksum does not hold are left out."""
    compact_vat = re.sub(r"[\s.\-]", "", vat_id or "").upper()
    compact_iban = re.sub(r"\s", "", account or "").upper()
    clean = " ".join((name or "").split())
    return PartyIdentity(
        name=clean,
        key=party_key(clean),
        vat_id=compact_vat if compact_vat and is_vat_id(compact_vat) else "",
        iban=compact_iban if compact_iban and iban.is_valid(compact_iban, check_country=False) else "",
    )


def compare_parties(one: PartyIdentity, other: PartyIdentity) -> Likeness:
    """Whether two parties are the same. Identifiers beat names.

    A firm may have several accounts, and one VAT identifier for each country.
    """
    if (one.vat_id and one.vat_id == other.vat_id) or (one.iban and one.iban == other.iban):
        return Likeness.SAME_IDENTIFIER
    if not one.key or not other.key:
        return Likeness.UNKNOWN
    likeness = name_likeness(one.key, other.key)
    level = _level_of(likeness)
    return min(level, Likeness.SIMILAR) if _are_identifiers_different(one, other, likeness) else level


def _level_of(likeness: float) -> Likeness:
    if likeness >= SAME_NAME:
        return Likeness.SAME_NAME
    if likeness >= CLOSE_NAME:
        return Likeness.CLOSE_NAME
    return Likeness.SIMILAR if likeness >= SIMILAR_NAME else Likeness.DIFFERENT


def _are_identifiers_different(one: PartyIdentity, other: PartyIdentity, likeness: float) -> bool:
    """Whether identifiers tell two firms of nearly the same name apart: VAT numbers of the same country.

    Another account does so only where the names differ in a letter.
    """
    vat_ids = one.vat_id, other.vat_id
    if all(vat_ids) and vat_ids[0][:2] == vat_ids[1][:2]:
        return True
    return likeness < 1 and bool(one.iban and other.iban)


@lru_cache(maxsize=65536)
def named_in_text(key: str, text: str) -> Likeness:
    """Whether a name stands in a text, such as that of a payment; UNKNOWN where it does not."""
    if not key or not text:
        return Likeness.UNKNOWN
    words = _comparable_words(key)
    others = _words_of_text(text)
    weights = _weights(key)
    if not others or not any(len(word) >= _SHORT_WORD for word in words):
        return Likeness.UNKNOWN
    level = _level_of(_shared(words, others, weights) / sum(weights))
    return level if level > Likeness.DIFFERENT else Likeness.UNKNOWN


@lru_cache(maxsize=4096)
def _words_of_text(text: str) -> tuple[str, ...]:
    return _comparable_words(" ".join(_WORD.findall(_simplified(text))))


@lru_cache(maxsize=65536)
def name_likeness(one: str, other: str) -> float:
    """Likeness of two keys of names in [0, 1]: the weight of the words that they share.

    Each word of one name is compared with whole words of the other, never with parts: `apple` is not in
    `snapple`. Words may be cut off, misread or mistyped. Generic words have a quarter of the weight of
    others. A name that is the beginning of the other, as long as banks make it, is the same.
    """
    first, second = _comparable_words(one), _comparable_words(other)
    if first == second or "".join(first) == "".join(second):
        return 1.0
    short, long = sorted((one, other), key=len)
    if len(short) >= min(_BANK_LENGTHS) - 12 and long.startswith(short):
        return 0.99 if len(long) - len(short) > 1 else 1.0
    weight_one, weight_two = _weights(one), _weights(other)
    shared_one = _shared(first, second, weight_one)
    shared_two = _shared(second, first, weight_two)
    # What the shorter name has must be in the longer one; what the longer one has more counts half.
    lesser, greater = sorted((shared_one / sum(weight_one), shared_two / sum(weight_two)))
    return greater * (0.5 + 0.5 * lesser) if lesser else 0.0


def _weights(key: str) -> tuple[float, ...]:
    return tuple(
        _GENERIC_WEIGHT if word in _GENERIC or word in _FORMS or len(word) == 1 else 1.0
        for word in key.split()
    )


def _shared(words: tuple[str, ...], others: tuple[str, ...], weights: tuple[float, ...]) -> float:
    return sum(
        weight * max(_word_likeness(word, other) for other in others)
        for word, weight in zip(words, weights, strict=True)
    )


@lru_cache(maxsize=262144)
def _word_likeness(one: str, other: str) -> float:
    if one == other:
        return 1.0
    short, long = (one, other) if len(one) <= len(other) else (other, one)
    if len(short) < _SHORT_WORD:
        if len(short) >= _SHORTEST_PREFIX and long.startswith(short):
            return _ABBREVIATED
        letters = iter(long)
        is_long_enough = len(short) > 1 and len(long) > _SHORT_WORD and long[0] == short[0]
        return _CONTRACTED if is_long_enough and all(letter in letters for letter in short) else 0.0
    if long.startswith(short):
        return _PREFIX_LIKENESS
    likeness = 1 - OSA.distance(one, other) / len(long)
    return likeness if likeness >= _LEAST_WORD_LIKENESS else 0.0


def name_keys(key: str) -> tuple[str, ...]:
    """Up to three beginnings of a name's telling words, under which it is found however it is written."""
    words = _comparable_words(key)
    telling = [word for word, weight in zip(words, _weights(key), strict=True) if weight == 1] or list(words)
    return tuple(dict.fromkeys(word[:_LETTERS_OF_KEY] for word in telling[:3]))
