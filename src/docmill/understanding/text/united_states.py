"""Signs that a paper is from the United States, where the month is written before the day."""

import re
import tomllib
from importlib import resources

_WORDS = tomllib.loads(
    resources.files(__package__ or "").joinpath("united_states.toml").read_text(encoding="utf-8")
)
_STATES, _OTHERS, _PHONES = ("|".join(_WORDS[key]) for key in ("states", "elsewhere", "phones"))
_ADDRESS = re.compile(rf"(?<![^\W_])(?:{_STATES})\.?,?\s+\d{{5}}(?:-\d{{4}})?(?!\d)")
"""A state and ZIP code."""
_PHONE = re.compile(r"(?<![\d+])(?:\+?1[-. ]?)?\(?[2-9]\d\d\)?[-. /]{1,2}[2-9]\d\d[-. ]\d{4}(?!\d)")
"""A number of the North American plan: area code, exchange, line."""
_PHONE_WORD = re.compile(rf"\b(?:{_PHONES})\b[^a-z]*$", re.IGNORECASE)
_ELSEWHERE = re.compile(rf"\b(?:{_OTHERS})\b", re.IGNORECASE)
"""A word of another country."""
_CANADIAN_POSTCODE = re.compile(r"\b[ABCEGHJ-NPRSTVXY]\d[A-Z] ?\d[A-Z]\d\b", re.IGNORECASE)


def has_us_address(text: str) -> bool:
    """Return whether the text has a state with its ZIP code."""
    return _ADDRESS.search(text) is not None


def has_canadian_postcode(text: str) -> bool:
    """Return whether the text has a postal code of Canada, such as `M5V 2T6`."""
    return _CANADIAN_POSTCODE.search(text) is not None


def _is_phone(text: str, number: re.Match[str]) -> bool:
    """True unless three groups parted by spaces stand behind a word that is none for telephones."""
    if not re.fullmatch(r"[\d ]+", number[0]):
        return True
    before = text[: number.start()].rpartition("\n")[2]
    return not any(map(str.isalpha, before)) or _PHONE_WORD.search(before) is not None


def has_us_phone(text: str) -> bool:
    """Return whether the text has a North American telephone number, and nothing of another country.

    Of 106 papers with such a number and a date that can be read in one order only, all had the month first.
    """
    is_phone = any(_is_phone(text, number) for number in _PHONE.finditer(text))
    return is_phone and _ELSEWHERE.search(text) is None and not has_canadian_postcode(text)
