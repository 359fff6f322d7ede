"""What the gate knows of countries, and the country whose rules a document follows."""

import re
import tomllib
from collections.abc import Iterable, Mapping
from decimal import Decimal
from functools import cached_property
from importlib import resources
from typing import Literal

from pydantic import BaseModel, ConfigDict

from docmill.understanding.gate.inputs import GateInput
from docmill.understanding.text.folding import alternatives, fold
from docmill.understanding.vocabulary import LANGUAGES

DateOrder = Literal["day first", "month first", "either"]


class Country(BaseModel):
    """Taxes, currency and dates of a country.

    rates: of its tax, in percent; none where it has no such tax. highest: the highest sum of taxes, where
    states and towns add theirs. date_order: which is written first. words: on its papers in English, folded.
    states: before a ZIP code.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    rates: tuple[Decimal, ...] = ()
    highest: Decimal = Decimal(0)
    currency: str
    date_order: DateOrder = "day first"
    words: tuple[str, ...] = ()
    states: tuple[str, ...] = ()

    @cached_property
    def highest_share(self) -> Decimal:
        """The highest share of the net total that its tax can be."""
        return max((*self.rates, self.highest)) / 100


COUNTRIES: Mapping[str, Country] = {
    code: Country.model_validate(table)
    for code, table in tomllib.loads(
        resources.files(__package__ or "").joinpath("countries.toml").read_text(encoding="utf-8")
    ).items()
}
"""By ISO 3166-1 code."""
US_ADDRESS = re.compile(
    rf"(?<![^\W_])(?:{'|'.join(COUNTRIES['US'].states)})\.?,?\s+\d{{5}}(?:-\d{{4}})?(?!\d)"
)
"""A state and ZIP code."""
_GENERIC = frozenset({"CO"})
"""Countries whose domain is used everywhere."""
_STATE = 3
"""Letters: `SA` and `AG` are legal forms, and may be anything."""
_COUNTRY_OF_WORD = {word: code for code, country in COUNTRIES.items() for word in country.words}
_WORDS = re.compile(rf"(?<![^\W_])(?:{alternatives(_COUNTRY_OF_WORD)})(?![^\W_])")
_ELSEWHERE = [
    fold(word)
    for language in LANGUAGES
    if language.code != "en"
    for word in (*language.address.regions, *language.legal)
    if len(word) > _STATE and fold(word) not in _COUNTRY_OF_WORD
]
_OTHER_LANGUAGES = re.compile(rf"(?<![^\W_])(?:{alternatives(_ELSEWHERE)})(?![^\W_])")
"""Regions and legal forms of countries where other languages are spoken, which write the day first."""

_CODES_OF_VAT_IDS = {"EL": "GR", "XI": "GB"}
"""Where a VAT identifier begins otherwise than with its country's code."""
_EVERYWHERE = "USD"
"""The currency in which firms of all countries write invoices."""


def countries_of(judged: GateInput) -> Mapping[str, Country]:
    """The countries that the document may be of, by code; none if nothing tells.

    By the seller's VAT identifier; else by an address in the United States; else by the currency.
    """
    vat_id = judged.values.get("seller.vat_id")
    if isinstance(vat_id, str):
        code = _CODES_OF_VAT_IDS.get(vat_id[:2], vat_id[:2])
        return _those({code})
    currency = judged.values.get("currency")
    address = judged.values.get("seller.address")
    if currency in (None, "USD") and isinstance(address, str) and US_ADDRESS.search(address):
        return _those({"US"})
    if currency is None or currency == _EVERYWHERE:
        return {}
    return {code: country for code, country in COUNTRIES.items() if country.currency == currency}


_DOMAIN = re.compile(r"(?:www\.|@)[\w.\-]+\.([a-z]{2})(?![\w.])", re.IGNORECASE)
_COUNTRY_OF_DOMAIN = {"uk": "GB", **{code.lower(): code for code in COUNTRIES if code not in _GENERIC}}


def date_order_of(text: str) -> DateOrder | None:
    """Return which of day and month stands first in the countries that a text names; None for no country."""
    if US_ADDRESS.search(text):
        return "month first"
    domains = {_COUNTRY_OF_DOMAIN.get(ending.lower()) for ending in _DOMAIN.findall(text)} - {None}
    if len(domains) == 1:
        return COUNTRIES[str(domains.pop())].date_order
    folded = re.sub(r"[^\w]+", " ", fold(text))
    if _OTHER_LANGUAGES.search(folded):
        return "day first"
    orders: set[DateOrder] = {COUNTRIES[_COUNTRY_OF_WORD[word]].date_order for word in _WORDS.findall(folded)}
    return orders.pop() if len(orders) == 1 else "either" if orders else None


def _those(codes: Iterable[str]) -> Mapping[str, Country]:
    return {code: COUNTRIES[code] for code in codes if code in COUNTRIES}
