"""VAT numbers and IBANs with valid check digits that nobody owns."""

import random
import string
from collections.abc import Callable
from typing import Protocol, cast

from stdnum import get_cc_module, iban

_VAT_PATTERNS = {
    "DE": "#########",
    "AT": "U########",
    "NL": "#########B01",
    "GB": "#########",
    "IT": "#######0012",
    "PL": "##########",
    "CH": "E#########MWST",
    "FR": "###########",
    "SE": "##########01",
    "DK": "########",
    "NO": "#########MVA",
    "FI": "########",
    "BE": "0#########",
}
_ACCOUNT_PATTERNS = {
    "DE": "##################",
    "AT": "################",
    "NL": "XXXX##########",
    "GB": "XXXX##############",
    "IT": "X######################",
    "PL": "########################",
    "CH": "#################",
    "FR": "#######################",
    "SE": "####################",
    "DK": "##############",
    "NO": "###########",
    "FI": "##############",
    "BE": "############",
}
_TRIES = 4000


class _Number(Protocol):
    is_valid: Callable[[str], bool]


def make_vat_id(country: str, random_: random.Random) -> str:
    """A VAT number of a country; empty where it has none or its kind is not known here."""
    pattern = _VAT_PATTERNS.get(country)
    if pattern is None:
        return ""
    is_valid = cast("_Number", get_cc_module(country.lower(), "vat")).is_valid
    return next(filter(is_valid, (country + _filled(pattern, random_) for _ in range(_TRIES))), "")


def make_iban(country: str, random_: random.Random) -> str:
    """An IBAN of a country; of Germany where the country has none."""
    country = country if country in _ACCOUNT_PATTERNS else "DE"
    accounts = (_filled(_ACCOUNT_PATTERNS[country], random_) for _ in range(_TRIES))
    written = (f"{country}{iban.calc_check_digits(f'{country}00{account}')}{account}" for account in accounts)
    return next(
        filter(iban.is_valid, written)
    )  # some countries' account numbers have check digits of their own


def make_bic(country: str, random_: random.Random) -> str:
    """A bank's code of eight characters."""
    return f"{_filled('XXXX', random_)}{country}{_filled('XX', random_)}"


def _filled(pattern: str, random_: random.Random) -> str:
    """Put a digit for each `#` and a letter for each `X`."""
    choices = {"#": string.digits, "X": string.ascii_uppercase}
    return "".join(random_.choice(choices.get(character, character)) for character in pattern)
