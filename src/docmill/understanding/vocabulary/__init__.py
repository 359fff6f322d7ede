"""What labels, titles and addresses look like: one table of data per language, `en.toml` and so on."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources

from docmill.model.result import DocumentType
from docmill.understanding.vocabulary.concepts import Column, Concept

CODES = ("en", "de", "fr", "es", "it", "nl", "ms")
NUMBER_WORDS = frozenset(
    ("#", "no", "nos", "nr", "num", "number", "numero", "nummer", "nro", "n", "id", "nbr", "numbers")
)
"""Every word that `#` in a phrase stands for."""


@dataclass(frozen=True, slots=True)
class Terms:
    """How a language says when to pay. Stems, but for days, month_end, settled and until.

    days: words for days. payment: words of paying. other: words of discounts, arrears and other terms than
    those of payment. discount: those of `other` that speak of discounts. month_end: that the end of the month
    is meant. settled: that nothing is left to pay. until: what stands before the last day.
    """

    days: tuple[str, ...]
    payment: tuple[str, ...]
    other: tuple[str, ...]
    discount: tuple[str, ...]
    month_end: tuple[str, ...]
    settled: tuple[str, ...]
    until: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PaymentWords:
    """How a language introduces the terms and the means of payment. Whole phrases.

    terms: labels of the terms of payment. method: labels of the means of payment. generic: labels that
    are words of sentences, too. offered: headings of means to choose from, and of more than terms of
    payment. paid: what stands right before the means that was used. collected: that the seller takes the
    money. conditional: words of sentences that say what may be or is not. transfer: that the buyer is
    asked for a bank transfer. immediate: terms of payment without a number of days that are clear beside
    a word of paying. clauses: others, clear behind a label only.
    """

    terms: tuple[str, ...]
    method: tuple[str, ...]
    generic: tuple[str, ...]
    offered: tuple[str, ...]
    paid: tuple[str, ...]
    collected: tuple[str, ...]
    conditional: tuple[str, ...]
    transfer: tuple[str, ...]
    immediate: tuple[str, ...]
    clauses: tuple[str, ...]


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
    firms' names. terms: how it says when to pay. payment: labels of terms and means of payment. methods:
    names of means of payment by their code in UNTDID 4461 (BT-81 of EN 16931). heads: words of labels that
    end longer ones, which mean the same. other_heads: ends of words that mean something else.
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
    terms: Terms
    payment: PaymentWords
    methods: Mapping[str, tuple[str, ...]]
    heads: tuple[str, ...]
    other_heads: tuple[str, ...]


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
        heads=tuple(table.get("heads", ())),
        other_heads=tuple(table.get("other_heads", ())),
        terms=Terms(**{name: tuple(words) for name, words in table["terms"].items()}),
        payment=PaymentWords(**{name: tuple(phrases) for name, phrases in table["payment"].items()}),
        methods={method: tuple(phrases) for method, phrases in table["methods"].items()},
    )


LANGUAGES: tuple[Language, ...] = tuple(map(_language, CODES))

__all__ = ["CODES", "LANGUAGES", "NUMBER_WORDS", "Column", "Concept", "Language", "PaymentWords", "Terms"]
