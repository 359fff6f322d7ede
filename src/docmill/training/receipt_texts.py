"""The texts of made-up receipts: shops, addresses, dates, times and amounts as printed in 36 countries.

Words and forms stand in `receipt_words.toml`; names of people and towns are Faker's.
"""

import random
import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from datetime import date, time
from decimal import Decimal
from functools import cache
from importlib import resources
from typing import Any

from faker import Faker

from docmill.model.document import letters_and_digits

_POOL = 150
"""Names of each kind that are drawn for a country."""
_BEHIND = 0.6
"""Share of the countries with a decimal comma that print the currency behind the amount."""
_SHORTEST_REGION = 4
"""Characters from which on a region may stand on a line of its own."""
_MARK = re.compile(r"[#?]")
_SLOT = re.compile(r"\{(\w+)\}")
_MONTHS: Mapping[str, str] = {
    "en": "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec",
    "de": "Jan Feb Mrz Apr Mai Jun Jul Aug Sep Okt Nov Dez",
    "fr": "janv févr mars avr mai juin juil août sept oct nov déc",
    "es": "ene feb mar abr may jun jul ago sep oct nov dic",
    "it": "gen feb mar apr mag giu lug ago set ott nov dic",
    "nl": "jan feb mrt apr mei jun jul aug sep okt nov dec",
    "pt": "jan fev mar abr mai jun jul ago set out nov dez",
    "pl": "sty lut mar kwi maj cze lip sie wrz paź lis gru",
    "sv": "jan feb mar apr maj jun jul aug sep okt nov dec",
    "da": "jan feb mar apr maj jun jul aug sep okt nov dec",
    "ms": "Jan Feb Mac Apr Mei Jun Jul Ogos Sep Okt Nov Dis",
}


@cache
def words() -> Mapping[str, Any]:
    """The words and forms of all countries and languages."""
    path = resources.files("docmill.training").joinpath("receipt_words.toml")
    return tomllib.loads(path.read_text(encoding="utf-8"))


@cache
def _names(locale: str) -> Mapping[str, Sequence[str]]:
    """People and towns of a country; the same in every run."""
    faker = Faker(locale)
    faker.seed_instance(7)
    return {
        "surname": [faker.last_name() for _ in range(_POOL)],
        "first": [faker.first_name() for _ in range(_POOL)],
        "city": [faker.city() for _ in range(_POOL)],
        "street0": [faker.last_name() for _ in range(_POOL)],
    }


class ReceiptTexts:
    """Draws the texts of one receipt."""

    def __init__(self, random_: random.Random) -> None:
        countries: Sequence[Mapping[str, Any]] = words()["countries"]
        self.random = random_
        self.country = random_.choices(countries, [country["weight"] for country in countries])[0]
        self.code: str = random_.choice(self.country["languages"])
        languages = words()["languages"]
        self._own: Mapping[str, Sequence[str]] = languages[self.code]
        self._english: Mapping[str, Sequence[str]] = languages["en"]
        self._english_share = 0.35 if self.country["code"] in {"ID", "MY", "CZ", "FI"} else 0.08
        self.mark: str = random_.choice(self.country["marks"])
        self.is_mark_behind = (
            bool(self.mark) and bool(self.country.get("comma")) and random_.random() < _BEHIND
        )
        self._date_form = random_.choice(_DATE_FORMS[self.country["order"]])
        self._has_half_days = random_.random() < self.country["half_day"]
        self._time_form = random_.choice(_HALF_DAY_FORMS if self._has_half_days else _TIME_FORMS)
        self.domain = ""

    def chance(self, share: float) -> bool:
        """True for this share of all draws."""
        return self.random.random() < share

    def phrase(self, kind: str, brand: str = "") -> str:
        """A phrase of this kind, in the receipt's language or now and then in English."""
        phrases = self._english[kind] if self.chance(self._english_share) else self._own[kind]
        chosen = self.random.choice(phrases or self._english[kind])
        return self.fill(chosen.replace("{0}", brand))

    def fill(self, template: str) -> str:
        """The template with its slots and marks filled in."""
        text = _SLOT.sub(lambda match: self._slot(match[1]), template)
        return _MARK.sub(lambda match: self._character(match[0]), text).replace("§", "#")

    def _character(self, mark: str) -> str:
        return self.random.choice("0123456789" if mark == "#" else "ABCDEFGHJKLMNPRSTUVWXYZ")

    def _slot(self, name: str) -> str:
        country, choose, pools = self.country, self.random.choice, words()["words"]
        if name == "city" and "cities" in country:
            return choose(country["cities"])
        if name in {"surname", "first", "city", "street0"}:
            return choose(_names(country["locale"])[name])
        drawn: Mapping[str, Callable[[], str]] = {
            "n": self._house_number,
            "initial": lambda: choose("ABCDEFGHJKLMNPRST"),
            "adjective": lambda: choose(pools["adjectives"]),
            "domain": lambda: self.domain or letters_and_digits(self._word()).lower(),
            "a": lambda: f"{self.random.randint(100, 9999) / 100:.2f}",
            "b": lambda: f"{self.random.randint(100, 9999) / 100:.2f}",
            "mall": lambda: self.fill(choose(pools["malls"])),
            "street": lambda: self.fill(choose(country["streets"])),
            "code": lambda: self.fill(choose(country["codes"])),
            "region": lambda: self.fill(choose(country["regions"])),
            "unit": lambda: self.fill(choose(country["units"])),
        }
        return drawn[name]()

    def _house_number(self) -> str:
        digits = self.random.choice(
            (1, 2, 2, 3, 3, 4, 4, 5) if self.country["code"] == "US" else (1, 2, 2, 3)
        )
        return str(self.random.randint(1 if digits == 1 else 10 ** (digits - 1), 10**digits - 1))

    def _word(self) -> str:
        return "".join(
            self.random.choices(words()["words"]["syllables"], k=self.random.choice((1, 2, 2, 3)))
        ).title()

    def brand(self) -> str:
        """The name of a shop."""
        pools = words()["words"]
        choose = self.random.choice
        surname, city, first = self._slot("surname"), self._slot("city"), self._slot("first")
        adjective, noun, firm = choose(pools["adjectives"]), choose(pools["nouns"]), choose(pools["firms"])
        second_noun, second_firm = choose(pools["nouns"]), choose(pools["firms"])
        word, other_word, other_surname = self._word(), self._word(), self._slot("surname")
        made = choose(
            (
                word, word, f"{word} {other_word}", f"{word} {firm}", f"{surname}'s", f"{first}'s {firm}",
                f"{surname} {firm}", f"The {adjective} {noun}", f"{adjective} {noun}", f"{noun}",
                f"{adjective} {noun} {firm}", f"{noun} & {second_noun}", f"{surname} & {other_surname}",
                f"{city} {firm}", f"{firm} {surname}", f"{firm} {word}", f"{noun} {firm}", f"{noun}mart",
                f"{word}-{other_word}", self.fill("???"), self.fill("?&?"),
                f"{firm} {self.random.randint(1, 99)}", f"Al {word} {firm}", f"La {word}", f"El {noun}",
                f"Le {word}", f"{adjective} {firm}", f"{word} {noun} {firm}", f"{first} {surname}",
                f"{city} {noun} {firm}", f"{surname} {noun}s", f"{noun} in the {second_noun}",
                f"{word} {firm} & {second_firm}", f"{adjective} {noun} - {firm}",
            )
        )  # fmt: skip
        self.domain = letters_and_digits(made).lower()
        return made

    def legal_name(self, brand: str) -> str:
        """The name of the company behind a brand, or behind none."""
        form = self.random.choice(self.country["legal"])
        owner = (
            brand
            if self.chance(0.5)
            else f"{self._slot('surname')} {self.random.choice(words()['words']['firms'])}"
        )
        return self.fill(form.replace("{0}", owner) if "{0}" in form else f"{owner} {form}")

    def address(self) -> list[str]:
        """The lines of an address."""
        lines = self.fill(self.random.choice(self.country["addresses"])).split("|")
        if len(lines) > 1 and self.chance(0.06):
            lines.insert(0, self._slot("mall"))
        if self.chance(0.06):
            lines.append(
                self.random.choice(
                    [region for region in self.country["regions"] if len(region) >= _SHORTEST_REGION]
                    or [lines[-1]]
                )
            )
        if len(lines) > 1 and self.chance(0.08):
            lines[0] = f"{lines[0]},"
        return [line.strip() for line in dict.fromkeys(lines) if len(line.strip()) > 1]

    def date(self) -> tuple[str, date]:
        """A date as it is printed, and what it means."""
        day = date(self.random.randint(2009, 2026), self.random.randint(1, 12), self.random.randint(1, 28))
        month = _MONTHS[self.code].split()[day.month - 1]
        if self.chance(0.4):
            month = month.upper()
        year = day.year
        return self._date_form.format(
            d=day.day,
            D=f"{day.day:02}",
            m=day.month,
            M=f"{day.month:02}",
            y=f"{year % 100:02}",
            Y=year,
            b=month,
        ), day

    def time(self) -> str:
        """A time of day as it is printed."""
        moment = time(
            self.random.choices(range(24), [1] * 7 + [4] * 16 + [2])[0],
            self.random.randint(0, 59),
            self.random.randint(0, 59),
        )
        half = moment.hour % 12 or 12
        noon = f"{moment:%p}"
        hour = half if self._has_half_days else moment.hour
        return self._time_form.format(
            h=hour,
            H=f"{hour:02}",
            m=f"{moment.minute:02}",
            s=f"{moment.second:02}",
            p=noon,
            q=noon.lower(),
            o=noon[0],
        )

    def amount(self, value: Decimal, *, marked: bool = True) -> str:
        """An amount as it is printed. marked: whether it may have the currency's mark."""
        text = (
            f"{value:,.0f}" if self.country.get("whole") or self.country["code"] == "ID" else f"{value:,.2f}"
        )
        if self.country.get("comma") or (self.country["code"] == "ID" and self.domain[:1] < "m"):
            text = text.translate(str.maketrans(",.", ".,"))
        if not marked or not self.mark:
            return text
        return f"{text} {self.mark.strip()}" if self.is_mark_behind else f"{self.mark}{text}"


_TIME_FORMS = (
    "{H}:{m}",
    "{H}:{m}:{s}",
    "{h}:{m}",
    "{h}:{m}:{s}",
    "{H}:{m}",
    "{H}.{m}",
    "{H}h{m}",
    "{H}:{m} h",
)
_HALF_DAY_FORMS = (
    "{h}:{m} {p}",
    "{H}:{m} {p}",
    "{h}:{m}{p}",
    "{H}:{m}:{s} {p}",
    "{h}:{m}{q}",
    "{h}:{m} {q}",
    "{h}:{m}{o}",
    "{H}:{m}:{s}{p}",
)


_DATE_FORMS: Mapping[str, Sequence[str]] = {
    "mdy": (
        "{M}/{D}/{Y}", "{M}/{D}/{y}", "{m}/{d}/{Y}", "{m}/{d}/{y}", "{M}-{D}-{Y}", "{b} {d}, {Y}",
        "{b} {D},{Y}", "{M}/{D}/{Y}", "{M}-{D}-{y}", "{D}-{b}-{Y}", "{b} {D}'{y}", "{b}{D}'{y}",
        "{D} {b} {Y}",
    ),
    "ymd": (
        "{Y}-{M}-{D}", "{Y}/{M}/{D}", "{Y}-{M}-{D}", "{y}/{M}/{D}", "{D}/{M}/{Y}", "{Y}.{M}.{D}",
        "{b} {D}, {Y}", "{M}/{D}/{y}",
    ),
    "dmy": (
        "{D}/{M}/{Y}", "{D}/{M}/{y}", "{D}.{M}.{Y}", "{D}-{M}-{Y}", "{D}.{M}.{y}", "{d}/{m}/{Y}",
        "{D} {b} {Y}", "{D}-{b}-{Y}", "{D}{b}'{y}", "{D}-{b}-{y}", "{D} {b} {y}", "{d} {b} {Y}",
        "{D}-{M}-{y}", "{b} {D}, {Y}", "{b}{D}'{y}", "{D}/{b}/{Y}",
    ),
}  # fmt: skip
