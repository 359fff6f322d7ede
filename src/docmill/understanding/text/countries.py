"""Names of countries in the languages of addresses."""

from functools import cache

from babel import Locale

from docmill.understanding.text.folding import fold
from docmill.understanding.vocabulary import LANGUAGES

_LOCALES = ("nb", "fi", "cs", "sk", "hu", "ro", "hr", "sl", "el", "bg", "et", "lv", "lt", "tr")
"""Locales beside those of the vocabulary, in which addresses name their countries."""


@cache
def _countries() -> frozenset[str]:
    """The names of all countries in many languages, folded."""
    codes = {*_LOCALES, *(code for language in LANGUAGES for code in language.dates.locales)}
    names: list[dict[str, str]] = [dict(Locale.parse(code).territories) for code in codes]
    return frozenset(fold(name) for of in names for code, name in of.items() if not code.isdecimal())


def is_country_name(text: str) -> bool:
    """True if the text is the name of a country."""
    return fold(text.strip(" .,;")) in _countries()


def is_country(text: str) -> bool:
    """True if the text is the name of a country, or its code of two letters."""
    code = text.strip(" .,;")
    return is_country_name(text) or (len(code) == 2 and code in Locale("en").territories)  # noqa: PLR2004 - ISO 3166
