"""Numbers by which documents name each other, normalised so that spelling and misreading do not part them."""

import re
from collections.abc import Iterator
from functools import lru_cache

from anyascii import anyascii
from rapidfuzz.distance import OSA
from stdnum import iso11649
from stdnum.ch import esr

from docmill.matching.match_record import Reference, ReferenceKind

_LOOK_ALIKE = str.maketrans("OQDILSBZG", "000115826")
_SEVERAL = re.compile(r"\s*(?:[,;+&|]|/(?=\s)|\b(?:and|und|et|e|y|u\.)\b)\s*", re.IGNORECASE)
"""What parts several numbers in one field; a stroke alone is part of many numbers."""
_NUMBER_WORD = re.compile(
    r"(?<![^\W_])[A-Za-z]{0,6}[\-_./#]?\d[0-9A-Za-z]*(?:[\-_./][0-9A-Za-z]+)*(?![^\W_])"
)
_CREDITOR_REFERENCE = re.compile(r"\bRF\s?\d{2}(?:\s?[0-9A-Za-z]){1,21}(?![0-9A-Za-z])")
_SWISS_REFERENCE = re.compile(r"(?<!\d)\d{2}(?:\s?\d{5}){5}(?!\d)")
_BELGIAN_REFERENCE = re.compile(r"\+{3}\s?(\d{3})\s?/\s?(\d{4})\s?/\s?(\d{5})\s?\+{3}")
_DATE_OR_AMOUNT = re.compile(
    r"(?<![\w.,/\-])(?:\d{1,2}[./]\d{1,2}[./](?:\d{4}|\d{2})|\d{4}-\d{2}-\d{2}|\d{1,3}(?:[.,']\d{3})*[.,]\d{2})(?![\w/])"
)
_SERIES = re.compile(r"(?<![A-Za-z])([A-Z]{1,4})\s$")
"""A series of a number before a space, in capitals."""
_SERIES_OF_KEY = re.compile(r"[A-Z]{2,}(?=\d)")
_REVISION = re.compile(r"(?<=\d\d\d\d)[A-Z]\d{1,3}$")
"""A letter with a count behind a number."""
_FILLED_COUNT = re.compile(r"(?<=[A-Z])0+([1-9]\d{2,})$")
_DIGIT = re.compile(r"\d")
_LEAST_DIGITS = 3
_COUNTED_DIGITS = 2
"""Digits at the end in which neighbouring numbers differ."""
_FEWEST_OF_PART = 4
"""Least length of the part of a number that tells anything."""
_SHORTEST_TEXT_KEY = 4
_LONGEST_KEY = 34
_CORE_DIGITS = 4
"""Least length of the last run of digits that stands for a number whose series is left out."""
_FEWEST_FOR_ERRORS = 5
"""Least length of keys that are compared with an error."""
_ALIKE = "17 38 56 68 08 06 89 58 35 49 27 09 14 MN UV EF PR CG C0 HN WN VY KX O0 D0 Q0 I1 L1 S5 B8 Z2 G6"
_ALIKE_PAIRS = frozenset(frozenset(pair) for pair in _ALIKE.split())
"""Characters that recognition takes for each other."""


@lru_cache(maxsize=65536)
def reference_key(value: str) -> str:
    """A number as it is compared: capitals and digits without what parts them, letters like digits as digits.

    Two or more letters before the first digit stay letters: `RE-0O12/5` and `re 00125` are `RE00125`. Zeros
    at the beginning are left out.
    """
    compact = "".join(filter(str.isalnum, anyascii(value))).upper()
    series = _SERIES_OF_KEY.match(compact)
    start = series.end() if series else 0
    return (compact[:start] + compact[start:].translate(_LOOK_ALIKE)).lstrip("0")[:_LONGEST_KEY]


@lru_cache(maxsize=65536)
def reference_core(key: str) -> str:
    """The longest run of digits in a key, without zeros before it; empty if it has fewer than four.

    Payers often leave the series before a number out, and add a year or a word.
    """
    runs = [run.lstrip("0") for run in re.findall(r"\d+", key)]
    longest = max(runs, key=len, default="")
    return longest if len(longest) >= _CORE_DIGITS else ""


def reference_keys(key: str) -> tuple[str, ...]:
    """The keys under which a number is found: itself and its core."""
    core = reference_core(key)
    return (key, core) if core and core != key else (key,) if key else ()


def references(kind: ReferenceKind, value: str | None) -> Iterator[Reference]:
    """The numbers in a field, which may hold several: `4711, 4712`."""
    if value is None:
        return
    parts = [part for part in _SEVERAL.split(value) if sum(map(str.isdigit, part)) >= _LEAST_DIGITS]
    for part in parts if len(parts) > 1 else [value]:
        key = reference_key(part)
        if key:
            yield Reference(kind, part.strip(), key)


def payment_references(text: str) -> Iterator[Reference]:
    """Structured references of payments in a text whose check digits hold.

    ISO 11649 (`RF`), the Swiss QR and ISR reference of 27 digits, and the Belgian `+++123/4567/89012+++`.
    """
    for match in _CREDITOR_REFERENCE.finditer(text):
        words = match[0].split()
        for count in range(len(words), 0, -1):  # a word behind it may not belong to it
            compact = "".join(words[:count]).upper()
            if iso11649.is_valid(compact):
                yield Reference("payment", compact, reference_key(compact))
                inner = reference_key(compact[4:])
                if inner:
                    yield Reference("payment", compact[4:], inner)
                break
    for match in _SWISS_REFERENCE.finditer(text):
        if esr.is_valid(match[0]):
            yield Reference("payment", match[0], reference_key(match[0]))
    for match in _BELGIAN_REFERENCE.finditer(text):
        digits = "".join(match.groups())
        if int(digits[:10]) % 97 in (int(digits[10:]), int(digits[10:]) % 97):
            yield Reference("payment", match[0], reference_key(digits))


def text_references(text: str, *, most: int = 200) -> frozenset[str]:
    """Keys of the numbers in a free text, without dates and amounts; the first `most` of them.

    A number with at least three digits and four characters. Words on both sides of a space may be one number:
    `RE 4711` gives `4711` and `RE4711`.
    """
    keys: dict[str, None] = {}
    text = _DATE_OR_AMOUNT.sub(lambda match: " " * len(match[0]), text)
    for match in _NUMBER_WORD.finditer(text):
        word = match[0]
        if sum(map(str.isdigit, word)) < _LEAST_DIGITS:
            continue
        key = reference_key(word)
        if sum(map(str.isalnum, word)) >= _SHORTEST_TEXT_KEY and key:
            keys[key] = None
        before = _SERIES.search(text, max(0, match.start() - 6), match.start())
        if before and word[0].isdigit():
            keys[reference_key(before[1] + word)] = None
        if len(keys) >= most:
            break
    return frozenset(keys)


def is_misreading(one: str, other: str) -> bool:
    """Whether two keys differ by one character that was misread, left out, doubled or swapped.

    Another digit alone is no misreading, nor is one of the last two digits: that is a neighbouring number.
    """
    if min(len(one), len(other)) < _FEWEST_FOR_ERRORS or one == other:
        return False
    if len(one) != len(other):
        return OSA.distance(one, other, score_cutoff=1) <= 1
    differing = [place for place, pair in enumerate(zip(one, other, strict=True)) if pair[0] != pair[1]]
    if len(differing) == 1:
        place = differing[0]
        is_counted = place >= len(one) - _COUNTED_DIGITS and (one[place] + other[place]).isdecimal()
        return frozenset((one[place], other[place])) in _ALIKE_PAIRS and not is_counted
    is_swapped = len(differing) == 2 and OSA.distance(one, other, score_cutoff=1) <= 1  # noqa: PLR2004
    return is_swapped and differing[0] < len(one) - _COUNTED_DIGITS


def is_partial(number: str, named: str) -> bool:
    """Whether `named` is the beginning or end of a number."""
    is_long = len(number) > len(named) >= max(_FEWEST_OF_PART, len(number) / 2)
    return is_long and (number.startswith(named) or number.endswith(named))


def is_mistyped(number: str, named: str) -> bool:
    """Whether `named` has another digit where nobody counts on.

    The last two digits differ between neighbouring numbers, so that these are not taken for mistyped.
    """
    if len(number) != len(named) or len(number) < _FEWEST_FOR_ERRORS:
        return False
    places = [index for index, (one, other) in enumerate(zip(number, named, strict=True)) if one != other]
    return len(places) == 1 and places[0] < len(number) - _COUNTED_DIGITS


def is_with_more(number: str, named: str) -> bool:
    """Whether `named` is the number with another one in front or behind, as in a field with two."""
    is_longer = len(number) >= _FEWEST_FOR_ERRORS and len(named) > len(number)
    return is_longer and (named.startswith(number) or named.endswith(number))


def is_revision(number: str, other: str) -> bool:
    """Whether a number is another one with a letter and more behind it, as `PO-4711-C02` of `PO-4711`."""
    is_longer = len(number) >= _FEWEST_FOR_ERRORS and other.startswith(number)
    return is_longer and other[len(number) : len(number) + 1].isalpha()


def are_revisions(one: str, other: str) -> bool:
    """Whether two numbers are revisions of one number, such as `PO-4711-C02` and `PO-4711-R01`."""
    return one != other and _REVISION.sub("", one) == _REVISION.sub("", other)


def has_same_pattern(number: str, other: str) -> bool:
    """Whether two keys have letters and digits at the same places; of digits alone, about as many."""
    if number.isdecimal() and other.isdecimal():
        return abs(len(number) - len(other)) <= 1
    return len(number) == len(other) and _pattern(number) == _pattern(other)


@lru_cache(maxsize=65536)
def _pattern(key: str) -> str:
    return _DIGIT.sub("0", key)


def is_contained(key: str, keys: frozenset[str]) -> bool:
    """Whether one of the `keys` of a text is the number, alone or with a word or year around it."""
    core, count = reference_core(key), _filled_count(key)
    cores, counts = _cores_and_counts(keys)
    is_itself = key in keys or (count != "" and count in keys)
    return is_itself or (core != "" and core in cores) or (key != "" and key in counts)


@lru_cache(maxsize=65536)
def _cores_and_counts(keys: frozenset[str]) -> tuple[frozenset[str], frozenset[str]]:
    return frozenset(map(reference_core, keys)), frozenset(map(_filled_count, keys))


@lru_cache(maxsize=65536)
def _filled_count(key: str) -> str:
    """The digits behind the letters of a key without the zeros that fill them: `355` of `INV000355`.

    Empty where no zeros do, or fewer than three digits are left.
    """
    match = _FILLED_COUNT.search(key)
    return match[1] if match else ""
