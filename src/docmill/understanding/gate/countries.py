"""Tax rates, currency and order of dates of countries, and the country whose rules a document follows."""

import re
import tomllib
from collections.abc import Iterable, Mapping
from decimal import Decimal
from importlib import resources
from typing import Annotated, Literal, NamedTuple

from pydantic import BaseModel, BeforeValidator, ConfigDict

from docmill.understanding.gate.inputs import GateInput
from docmill.understanding.text.folding import alternatives, fold
from docmill.understanding.text.united_states import has_us_address, has_us_phone
from docmill.understanding.vocabulary import LANGUAGES

DateOrder = Literal["day first", "month first", "either"]


class Rate(NamedTuple):
    """A rate of tax in percent, with the first and last year in which it was in force."""

    percent: Decimal
    first: int
    last: int

    def held_in(self, year: int | None) -> bool:
        """Return whether documents of a year may have it, one year late included; None means any year."""
        return year is None or self.first <= year <= self.last + 1


_WRITTEN = re.compile(r"(\d+(?:\.\d+)?)(?: (\d{4})?(-)?(\d{4})?)?")
_ALWAYS = (0, 9999)


def parse_rate(text: object) -> Rate:
    """Parse a rate as the table writes it: `20`, `16 2020`, `24 2025-`, `19.6 -2013`, `23 2012-2020`."""
    match = _WRITTEN.fullmatch(str(text))
    if match is None:
        message = f"not a rate: {text!r}"
        raise ValueError(message)
    percent, first, dash, last = match.groups()
    if first and not dash:
        last = first
    return Rate(Decimal(percent), int(first or _ALWAYS[0]), int(last or _ALWAYS[1]))


class Country(BaseModel):
    """Taxes, currency and dates of a country.

    rates: of its sales tax; empty where it has none. highest: the highest sum of several taxes, where states
    and towns add their own. date_order: the part of a date that is written first. words: names of the country
    on its documents, in English, folded.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    rates: tuple[Annotated[Rate, BeforeValidator(parse_rate)], ...] = ()
    highest: Decimal = Decimal(0)
    currency: str
    date_order: DateOrder = "day first"
    words: tuple[str, ...] = ()

    def highest_share(self, year: int | None) -> Decimal:
        """The highest share of the net total that tax can be in a year; None stands for any year."""
        return max((*self.percents(year), self.highest)) / 100

    def percents(self, year: int | None) -> frozenset[Decimal]:
        """The rates that documents of a year may have; None stands for any year."""
        return frozenset(rate.percent for rate in self.rates if rate.held_in(year))


COUNTRIES: Mapping[str, Country] = {
    code: Country.model_validate(table)
    for code, table in tomllib.loads(
        resources.files(__package__ or "").joinpath("countries.toml").read_text(encoding="utf-8")
    ).items()
}
"""By ISO 3166-1 code."""
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
    """The countries that the document may be of, by code; empty if nothing identifies one.

    Identified by the seller's VAT identifier, else by an address in the United States, else by the currency.
    """
    if is_of_paper(judged):
        return _country_of_seller(judged)
    currency = judged.values.get("currency")
    if currency is None or currency == _EVERYWHERE:
        return {}
    return {code: country for code, country in COUNTRIES.items() if country.currency == currency}


def is_of_paper(judged: GateInput) -> bool:
    """Return whether the seller's VAT identifier or address gives the country, not the currency alone."""
    return bool(_country_of_seller(judged)) or isinstance(judged.values.get("seller.vat_id"), str)


def _country_of_seller(judged: GateInput) -> Mapping[str, Country]:
    vat_id = judged.values.get("seller.vat_id")
    if isinstance(vat_id, str):
        code = _CODES_OF_VAT_IDS.get(vat_id[:2], vat_id[:2])
        return _those({code})
    address = judged.values.get("seller.address")
    is_american = isinstance(address, str) and has_us_address(address)
    return _those({"US"}) if is_american and judged.values.get("currency") in (None, _EVERYWHERE) else {}


_DOMAIN = re.compile(r"(?:www\.|@)[\w.\-]+\.([a-z]{2})(?![\w.])", re.IGNORECASE)
_COUNTRY_OF_DOMAIN = {"uk": "GB", **{code.lower(): code for code in COUNTRIES if code not in _GENERIC}}


def date_order_of(text: str) -> DateOrder | None:
    """The order of day and month in the countries named in a text; None if none is named."""
    if has_us_address(text):
        return "month first"
    domains = {_COUNTRY_OF_DOMAIN.get(ending.lower()) for ending in _DOMAIN.findall(text)} - {None}
    if len(domains) == 1:
        return COUNTRIES[str(domains.pop())].date_order
    folded = re.sub(r"[^\w]+", " ", fold(text))
    if _OTHER_LANGUAGES.search(folded):
        return "day first"
    orders: set[DateOrder] = {COUNTRIES[_COUNTRY_OF_WORD[word]].date_order for word in _WORDS.findall(folded)}
    if not orders and has_us_phone(text):
        return "month first"
    return orders.pop() if len(orders) == 1 else "either" if orders else None


def _those(codes: Iterable[str]) -> Mapping[str, Country]:
    return {code: COUNTRIES[code] for code in codes if code in COUNTRIES}
