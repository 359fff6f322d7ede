"""What labels, titles and addresses look like: one table of data per language, `en.toml` and so on."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources

from docmill.model import DocumentType
from docmill.understanding.vocabulary.concepts import Column, Concept

CODES = ("en", "de", "fr", "es", "it", "nl", "ms")
NUMBER_WORDS = frozenset(
    ("#", "no", "nos", "nr", "num", "number", "numero", "nummer", "nro", "n", "id", "nbr", "numbers")
)
"""Every word that `#` in a phrase stands for."""


@dataclass(frozen=True, slots=True)
class Language:
    """What we know of one language.

    labels: phrases per concept; case, accents and punctuation do not matter, and `#` stands for any word or
    sign for `number`. columns: the same for the headings of tables. titles: phrases that speak for a document
    type, with their weight. others: the same for papers that are of none of our types. common: words that
    run through any text of this language. carried: what a row is called that brings a sum from one page to
    the next. names: what stands before a party's name in a form. salutations: lines before a name that are
    not of it. bookings: kinds of bookings of an account. streets: words of addresses; `-weg` is the end of a
    longer word. regions: countries and regions that end an address. legal: legal forms. firms: words of
    firms' names.
    """

    code: str
    labels: Mapping[Concept, tuple[str, ...]]
    columns: Mapping[Column, tuple[str, ...]]
    titles: Mapping[DocumentType, Mapping[str, float]]
    others: Mapping[str, float]
    common: frozenset[str]
    carried: tuple[str, ...]
    names: tuple[str, ...]
    bookings: tuple[str, ...]
    salutations: tuple[str, ...]
    streets: tuple[str, ...]
    regions: tuple[str, ...]
    legal: tuple[str, ...]
    firms: tuple[str, ...]


def _language(code: str) -> Language:
    table = tomllib.loads(resources.files(__name__).joinpath(f"{code}.toml").read_text(encoding="utf-8"))
    return Language(
        code=table["code"],
        labels={Concept(name): tuple(phrases) for name, phrases in table["labels"].items()},
        columns={Column(name): tuple(phrases) for name, phrases in table["columns"].items()},
        titles=table["titles"],
        others=table["others"],
        common=frozenset(table["common"]),
        carried=tuple(table["carried"]),
        names=tuple(table["names"]),
        bookings=tuple(table["bookings"]),
        salutations=tuple(table["salutations"]),
        streets=tuple(table["streets"]),
        regions=tuple(table["regions"]),
        legal=tuple(table["legal"]),
        firms=tuple(table["firms"]),
    )


LANGUAGES: tuple[Language, ...] = tuple(map(_language, CODES))

__all__ = ["CODES", "LANGUAGES", "NUMBER_WORDS", "Column", "Concept", "Language"]
