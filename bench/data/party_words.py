"""Made-up names and addresses of firms, and the phrases around them, in many languages and countries."""

import random
import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

_LETTERS = "ABCDEFGHJKLMNPRSTUWXY"
_TABLES: dict[str, Any] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
_NAMES: dict[str, list[str]] = _TABLES["names"]
_COUNTRIES: dict[str, dict[str, Any]] = _TABLES["countries"]


@dataclass(frozen=True, slots=True)
class Firm:
    """A firm or person. printed_name: its lines, with the brand above or the name on two lines.

    box_address: an address with a post box, where the country has them; else another one.
    """

    name: str
    printed_name: tuple[str, ...]
    brand: str
    address: tuple[str, ...]
    box_address: tuple[str, ...]
    domain: str


@dataclass(frozen=True)
class Phrases:
    """The phrases of one language by their kind."""

    language: str

    def __getitem__(self, name: str) -> list[str]:
        return _TABLES["languages"][self.language][name]

    @staticmethod
    def languages() -> list[str]:
        """The codes of the languages there are."""
        return list(_TABLES["languages"])

    @property
    def countries(self) -> list[str]:
        """The codes of the countries in which it is written."""
        return [code for code, country in _COUNTRIES.items() if self.language in country["languages"]]

    def bank(self, random_: random.Random) -> str:
        """The name of a bank."""
        return random_.choice(_NAMES["banks"])

    def carrier(self, random_: random.Random) -> str:
        """The name of a carrier."""
        return random_.choice(_NAMES["carriers"])

    def agency(self, random_: random.Random) -> str:
        """The name of an advertising agency."""
        return random_.choice(_NAMES["agencies"])


@cache
def phrases_of(language: str) -> Phrases:
    """The phrases of a language, by its code."""
    return Phrases(language)


def draw_person(random_: random.Random) -> str:
    """A person's name."""
    return random_.choice(_NAMES["persons"])


def draw_firm(
    random_: random.Random, phrases: Phrases, *, is_foreign: bool = False, may_be_person: bool = False
) -> Firm:
    """A firm of a country that speaks the language, or of any. may_be_person: it is a private person."""
    code = random_.choice(list(_COUNTRIES) if is_foreign else phrases.countries)
    country = _COUNTRIES[code]
    name = draw_person(random_) if may_be_person else _firm_name(random_, phrases, country["forms"])
    printed, brand = (name,), ""
    words = name.split(" ")
    chance = random_.random()
    if may_be_person or not name.casefold().endswith(tuple(form.casefold() for form in country["forms"])):
        pass  # without a legal form nobody could tell a brand from the name, or one from two lines
    elif chance < 0.12 and len(words) > 2:
        cut = random_.randint(1, len(words) - 2)
        printed = (" ".join(words[:cut]), " ".join(words[cut:]))
    elif chance < 0.24:
        brand = random_.choice(_NAMES["brands"])
        printed = (brand, name)
    address = _address(random_, country, country["format"], with_country=is_foreign or random_.random() < 0.2)
    box = _address(random_, country, country.get("box", country["format"]), with_country=False)
    return Firm(
        name, printed, brand, address, box, f"{re.sub(r'[^a-z]', '', words[0].lower())}.{code.lower()}"
    )


def _firm_name(random_: random.Random, phrases: Phrases, forms: Sequence[str]) -> str:
    words = random_.sample(_NAMES["words"], k=random_.choice((1, 1, 2)))
    joined = random_.choice((" ", " & ", "-")).join(words)
    parts = [joined]
    if random_.random() < 0.6:
        parts.append(random_.choice(phrases["firms"]))
    if random_.random() < 0.8:
        parts.append(random_.choice(forms))
    name = " ".join(parts)
    return name.upper() if random_.random() < 0.15 else name


def _address(
    random_: random.Random, country: dict[str, Any], template: str, *, with_country: bool
) -> tuple[str, ...]:
    """The lines of an address."""

    def drawn(mark: re.Match[str]) -> str:
        return str(random_.randint(0, 9)) if mark[0] == "#" else random_.choice(_LETTERS)

    first = re.sub("[#@]", drawn, country["postcode"])
    postcode = f"{random_.randint(1, 9)}{first[1:]}" if first[0].isdecimal() else first
    lines = template.format(
        street=random_.choice(country["streets"]),
        house=random_.randint(1, 199),
        postcode=postcode,
        town=random_.choice(country["towns"]),
        state=random_.choice(country.get("states", [""])),
        box=random_.randint(100, 9999),
    ).split("|")
    if with_country:
        lines.append(random_.choice(country["names"]))
    return tuple(lines)
