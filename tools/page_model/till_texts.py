"""Texts of tills in 23 languages: names, addresses, items, labels, dates, times and amounts.

Eleven languages are those of `docmill.training.receipt_texts`; words of the others stand in `till_words.toml`
and their names and addresses are Faker's.
"""

import random
import re
import tomllib
from collections.abc import Mapping, Sequence
from datetime import date, time
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any, Literal

from faker import Faker

from docmill.training.receipt_texts import ReceiptTexts, words

LabelKind = Literal["total", "sub", "date", "time", "tip", "change", "numbers", "taxes", "cash", "card"]
_TABLES: Mapping[str, Any] = tomllib.loads(
    Path(__file__).with_name("till_words.toml").read_text(encoding="utf-8")
)
_SHARE_OF_OTHERS = 0.5
"""Share of the receipts in languages of `till_words.toml`."""
_CARDS = ("Visa", "VISA", "Mastercard", "MASTERCARD", "Maestro", "American Express", "girocard", "Debit")
_DAYS = ("{D}.{M}.{Y}", "{D}.{M}.{y}", "{d}.{m}.{Y}", "{D}/{M}/{Y}", "{D}-{M}-{Y}", "{D}.{M}.{Y}.")
_MARK = re.compile(r"[#?]")
_POOL = 200
_FIRST_YEAR, _LAST_YEAR = 2009, 2027


def draw_texts(draw: random.Random) -> "KnownTexts | OtherTexts":
    """The texts of one receipt, in a language drawn by chance."""
    return OtherTexts(draw) if draw.random() < _SHARE_OF_OTHERS else KnownTexts(draw)


@cache
def all_number_labels() -> tuple[str, ...]:
    """Labels of a receipt's number, in all languages."""
    tables = (*_TABLES["numbers"].values(), *(each["numbers"] for each in _TABLES["languages"].values()))
    return tuple(sorted({label for labels in tables for label in labels}))


class KnownTexts(ReceiptTexts):
    """Texts in a language of `docmill.training.receipt_texts`."""

    @property
    def currency(self) -> str:
        """The code of the country's currency."""
        return self.country["currency"]

    @property
    def rates(self) -> Sequence[float]:
        """Rates of tax, in percent."""
        return self.country["rates"]

    @property
    def is_whole(self) -> bool:
        """True if amounts have no cents."""
        return bool(self.country.get("whole")) or self.country["code"] == "ID"

    @property
    def has_tax_included(self) -> bool:
        """True if prices usually include the tax."""
        return bool(self.country.get("comma")) or self.country["code"] in {"GB", "IE", "AU", "NZ"}

    def label(self, kind: LabelKind) -> str:
        """A label of this kind."""
        if kind == "taxes":
            return self.random.choice(self.country["taxes"])
        if kind == "numbers":
            return self.random.choice(_TABLES["numbers"][self.code])
        if kind == "card":
            return self.random.choice(_CARDS)
        return self.phrase({"cash": "paid"}.get(kind, kind))

    @property
    def number_labels(self) -> Sequence[str]:
        """Labels of the receipt's number."""
        return _TABLES["numbers"][self.code]

    def firm(self) -> tuple[str, str]:
        """The brand of a shop, and the company behind it."""
        brand = self.brand()
        return brand, self.legal_name(brand)

    def telephone(self) -> str:
        """A line with a telephone number."""
        return self.fill(self.random.choice(self.country["phones"]))


@cache
def _pools(locale: str) -> Mapping[str, Sequence[str]]:
    """Names and addresses of a country; the same in every run."""
    faker = Faker(locale)
    faker.seed_instance(11)
    return {
        "surname": [faker.last_name() for _ in range(_POOL)],
        "first": [faker.first_name() for _ in range(_POOL)],
        "street": [faker.street_address().replace("\n", ", ") for _ in range(_POOL)],
        "city": [faker.city() for _ in range(_POOL)],
        "code": [faker.postcode() for _ in range(_POOL)],
    }


class OtherTexts:
    """Texts in a language of `till_words.toml`."""

    def __init__(self, draw: random.Random) -> None:
        self.random = draw
        self.code: str = draw.choice(sorted(_TABLES["languages"]))
        self._words: Mapping[str, Any] = _TABLES["languages"][self.code]
        self._pools = _pools(self._words["locale"])
        self.country: Mapping[str, Any] = {"code": self._words["country"]}
        self.currency: str = self._words["currency"]
        self.number_labels: Sequence[str] = self._words["numbers"]
        self.rates: Sequence[float] = self._words["rates"]
        self.mark: str = draw.choice((self._words["mark"], "", ""))
        self.is_mark_behind = self.mark != "¥"
        self.is_whole = self.currency == "HUF"
        self.has_tax_included = True
        self._has_point = self.code == "zh" or draw.random() < 0.15  # noqa: PLR2004 - a share
        self._form = draw.choice(("{Y}-{M}-{D}", "{Y}/{M}/{D}") if self.code == "zh" else _DAYS)

    def label(self, kind: LabelKind) -> str:
        """A label of this kind."""
        return self.random.choice(self._words[kind])

    def phrase(self, kind: str) -> str:
        """A phrase of this kind; thanks for kinds that the language lacks."""
        return self.fill(self.random.choice(self._words.get(kind) or self._words["thanks"]))

    def fill(self, template: str) -> str:
        """The template with its slots and marks filled in."""
        text = template.replace("{first}", self.random.choice(self._pools["first"]))
        return _MARK.sub(lambda _: str(self.random.randrange(10)), text)

    def firm(self) -> tuple[str, str]:
        """The brand of a shop, and the company behind it."""
        choose = self.random.choice
        surname, noun = choose(self._pools["surname"]), choose(words()["words"]["nouns"])
        brand = choose(
            (surname, noun, f"{noun} {surname}", f"Cafe {surname}", f"Hotel {noun}", f"{surname} & Co")
        )
        owner = choose((brand, surname, f"{surname} {choose(self._pools['first'])}"))
        joined = "" if self.code == "zh" else " "
        return brand, f"{owner}{joined}{choose(self._words['legal'])}"

    def address(self) -> list[str]:
        """The lines of an address."""
        choose = self.random.choice
        street = self.fill(choose(self._words.get("streets") or self._pools["street"]))
        city = choose(self._words.get("towns") or self._pools["city"])
        town = f"{choose(self._pools['code'])} {city}"
        return choose(([street, town], [street, town], [f"{street}, {town}"], [street]))

    def telephone(self) -> str:
        """A line with a telephone number."""
        return self.fill(self.random.choice(("Tel. ### ### ###", "Tel: +### # ### ####", "T ##-###-####")))

    def date(self) -> tuple[str, date]:
        """A date as it is printed, and what it means."""
        day = date(
            self.random.randint(_FIRST_YEAR, _LAST_YEAR),
            self.random.randint(1, 12),
            self.random.randint(1, 28),
        )
        text = self._form.format(
            d=day.day,
            D=f"{day.day:02}",
            m=day.month,
            M=f"{day.month:02}",
            y=f"{day.year % 100:02}",
            Y=day.year,
        )
        return text, day

    def time(self) -> str:
        """A time of day as it is printed."""
        moment = time(self.random.randint(7, 23), self.random.randint(0, 59), self.random.randint(0, 59))
        return moment.strftime(self.random.choice(("%H:%M", "%H:%M:%S", "%H:%M", "%H.%M")))

    def amount(self, value: Decimal, *, marked: bool = True) -> str:
        """An amount as it is printed. marked: whether it may have the currency's mark."""
        text = f"{value:,.0f}".replace(",", " ") if self.is_whole else f"{value:,.2f}"
        if not self._has_point:
            text = text.translate(str.maketrans(",.", ".,"))
        if not marked or not self.mark:
            return text
        return f"{text} {self.mark}" if self.is_mark_behind else f"{self.mark}{text}"
