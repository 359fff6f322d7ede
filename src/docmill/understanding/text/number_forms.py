"""Forms of numbers that are no document numbers: measures of goods, post boxes, amounts, phone numbers."""

import re
import tomllib
from importlib import resources
from typing import Any

from docmill.understanding.text.folding import alternatives, fold

_WORDS: dict[str, Any] = tomllib.loads(
    resources.files(__package__ or "").joinpath("number_forms.toml").read_text(encoding="utf-8")
)
_UNITS = alternatives(_WORDS["units"])
_BOXES = alternatives(word for words in _WORDS["post_boxes"].values() for word in words)
_MEASURE = re.compile(rf"(?:\d+\s?x\s?)?\d{{1,4}}(?:[.,]\d+)?\s?(?:{_UNITS})|x\s?\d{{1,3}}|\d{{1,3}}\s?x")
_POST_BOX = re.compile(rf"(?<![^\W_])(?:{_BOXES})\W*$")
_NUMBERED_POST_BOX = re.compile(rf"(?<![^\W_])(?:{_BOXES})\W*\d")
_ONLY_POST_BOX = re.compile(rf"\W*(?:{_BOXES})\W*\d[\d ]*\W*")
_AMOUNT = re.compile(r"[$€£]?\s?(?:\d{1,3}(?:,\d{3})+|\d{1,6})\.\d\d")
_TWO_DECIMALS = re.compile(r"[\d.,]*\d[.,]\d\d")
_REFERENCE = re.compile(r"(?=\S*\d)\S+")
_DIALLED = re.compile(r"(?<!\w)(?:\+|00)\s?[1-9]\d{0,2}[\s\d()/.\-]*$")
"""The beginning of a phone number with the code of its country."""


def is_measure(text: str) -> bool:
    """True for a measure or quantity of goods: `500ML`, `6x1.5L`, `2X`."""
    return _MEASURE.fullmatch(fold(text)) is not None


def is_reference(text: str) -> bool:
    """True for one word with a digit, which is a reference wherever a text is expected: `SEC/114-26`."""
    return _REFERENCE.fullmatch(text.strip()) is not None


def is_after_post_box(before: str) -> bool:
    """True if the text before a number ends with words for a post box."""
    return _POST_BOX.search(fold(before)) is not None


def names_post_box(text: str) -> bool:
    """True for a line with a post box and its number: `PO Box 6120, Flagstaff, AZ 86011`."""
    return _NUMBERED_POST_BOX.search(fold(text)) is not None


def is_post_box(text: str) -> bool:
    """True for a post box without its town: `PO Box 4417`."""
    return _ONLY_POST_BOX.fullmatch(fold(text)) is not None


def is_amount(text: str) -> bool:
    """True for an amount with cents after a point, which is hardly anything else: `100.00`, `$1,234.50`."""
    return _AMOUNT.fullmatch(text) is not None


def may_be_amount(text: str) -> bool:
    """True for a number with two decimals after a point or comma, which codes may have, too: `1.234,50`."""
    return _TWO_DECIMALS.fullmatch(text) is not None


def is_dialled(before: str) -> bool:
    """True if the text before a number ends with the beginning of a phone number: `+49 40`."""
    return _DIALLED.search(before) is not None
