"""Words and codes by which a bank says that a booking returns an earlier one."""

import re
import tomllib
from collections.abc import Iterable
from enum import IntEnum
from functools import lru_cache
from importlib import resources
from typing import NamedTuple

from anyascii import anyascii


class ReturnLevel(IntEnum):
    """Whether the text of a payment says that the bank returned an earlier one.

    POSSIBLE: by words that may mean something else, too. CODE: with a reason code of ISO 20022.
    """

    UNKNOWN = 0
    POSSIBLE = 1
    WORDS = 2
    CODE = 3


class ReturnWords(NamedTuple):
    """What a text says of a return. text: the words or the code, as they stand there."""

    level: ReturnLevel = ReturnLevel.UNKNOWN
    text: str = ""


NO_RETURN = ReturnWords()


class _Patterns(NamedTuple):
    certain: re.Pattern[str]
    possible: re.Pattern[str]
    refund: re.Pattern[str]
    code: re.Pattern[str]


@lru_cache(maxsize=65536)
def return_words(text: str) -> ReturnWords:
    """What the text of a booking says of a return.

    A reason code counts as one only beside words, since article numbers look the same. Words that may as well
    be about returned goods do not count where money is refunded.
    """
    patterns = _patterns()
    folded = anyascii(text).lower()
    certain, possible = patterns.certain.search(folded), patterns.possible.search(folded)
    code = patterns.code.search(anyascii(text))
    if code is not None and (certain or possible):
        return ReturnWords(ReturnLevel.CODE, code[0])
    if certain is not None:
        return ReturnWords(ReturnLevel.WORDS, certain[0])
    found = possible or code
    if found is None or patterns.refund.search(folded):
        return NO_RETURN
    return ReturnWords(ReturnLevel.POSSIBLE, found[0])


@lru_cache(maxsize=1)
def _patterns() -> _Patterns:
    lists = tomllib.loads(
        resources.files("docmill.matching").joinpath("return_words.toml").read_text("utf-8")
    )
    codes = "|".join((*lists["codes"], *(f"(?<=/){code}" for code in lists["codes_of_letters"])))
    return _Patterns(
        _words(lists["certain"]),
        _words(lists["possible"]),
        _words(lists["refund"]),
        re.compile(rf"(?<![A-Za-z0-9])(?:{codes})(?![A-Za-z0-9])"),
    )


def _words(words: Iterable[str]) -> re.Pattern[str]:
    """The longest first, so that what is found says the most."""
    ordered = sorted(words, key=lambda each: (-len(each), each))
    alternatives = "|".join(r"[\s/.:\-]{1,4}".join(map(re.escape, each.split())) for each in ordered)
    return re.compile(rf"(?<![a-z])(?:{alternatives})(?![a-z])")
