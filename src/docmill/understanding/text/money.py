"""Amounts of money as printed: marks, currency, sign; and percentages."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from functools import cache
from typing import Literal, cast

from babel.core import get_global
from babel.dates import get_day_names
from babel.numbers import get_currency_precision, get_territory_currencies, list_currencies

from docmill.understanding.text.folding import alternatives, fold, remembered
from docmill.understanding.vocabulary.languages import LANGUAGES

Mark = Literal[".", ","]

CENT = Decimal("0.01")
CASH_ROUNDING = Decimal("0.05")
"""The most a till rounds: to the nearest 0.05 or 0.10, by at most half of it."""

_THREE = 3
_CODES = frozenset(list_currencies())
SYMBOLS = {
    "€": "EUR",
    "£": "GBP",
    "¥": "JPY",
    "₹": "INR",
    "RM": "MYR",
    "Fr.": "CHF",
    "SFr.": "CHF",
    "zł": "PLN",
    "Kč": "CZK",
    "R$": "BRL",
    "S$": "SGD",
    "A$": "AUD",
    "C$": "CAD",
    "US$": "USD",
    "HK$": "HKD",
    "₺": "TRY",
    "₽": "RUB",
    "₩": "KRW",
    "฿": "THB",
    "₱": "PHP",
    "Rp": "IDR",
    "Rp.": "IDR",
    "Rs": "INR",
    "Rs.": "INR",
    "Dhs": "AED",
    "Dhs.": "AED",
    "Baht": "THB",
    "₫": "VND",
    "$": "USD",
    "EURO": "EUR",
    "KN": "HRK",
    "KUNA": "HRK",
    "KUNE": "HRK",
}
"""Currencies by their printed form. `$` alone means USD unless the document suggests another."""
_BY_LANGUAGE = {
    language.code: {symbol.upper(): code for symbol, code in language.currencies.items()}
    for language in LANGUAGES
}
_EVERYWHERE = {symbol.upper(): code for symbol, code in SYMBOLS.items()}
_CODE_OF = {
    symbol: code for meanings in (*_BY_LANGUAGE.values(), _EVERYWHERE) for symbol, code in meanings.items()
}
"""By the symbol in capitals."""
_COMMON_CODES = (
    "EUR", "USD", "GBP", "CHF", "MYR", "SGD", "AUD", "CAD", "JPY", "CNY", "INR", "SEK", "NOK", "DKK", "PLN",
    "CZK", "HUF", "RON", "BGN", "BRL", "MXN", "ZAR", "TRY", "THB", "HKD", "IDR", "NZD", "AED", "PHP", "VND",
    "KWD", "OMR", "JOD", "TND", "LYD", "IQD", "ISK", "HRK", "LTL", "EEK", "SKK",
)  # fmt: skip
"""Not BHD, the dinar of Bahrain: in Malaysia it is the legal form of a firm, `Sdn Bhd`. Of those that
the euro replaced, only those of the last decades that are no words."""
_EURO, _EURO_CASH = "EUR", date(2002, 1, 1)
_LATEST_END = timedelta(days=31)
"""Days before the euro on which its predecessor ends in the tables."""
_LATER_EUROS = {"BG": date(2026, 1, 1)}
"""Countries that took the euro after the tables of Unicode (CLDR) in use were made."""
_SIGNS_OF_LANGUAGES = [sign for language in LANGUAGES for sign in language.currencies]
_CURRENCY = f"(?:{alternatives([*SYMBOLS, *_SIGNS_OF_LANGUAGES, *_COMMON_CODES])})"
_NUMBER = (
    r"(?:\d{1,2}(?:,\d{2})+,\d{3}(?:\.\d{1,2}(?!\d))?"  # lakhs and crores: 3,27,285.00
    r"|\d{1,3}(?:(?P<group>[.,'\u2019 \u00a0\u202f])\d{3})(?:(?P=group)\d{3})*(?:\s?[.,]\s?\d{1,3}(?!\d))?"
    r"|\d+(?:\s?[.,]\s?\d{1,4}|[.,]\d{5,9})?)"  # shares of funds have up to nine decimals
)
_AMOUNT = re.compile(
    rf"(?<![\w.,/:#])(?P<open>\()?(?P<sign>[-\u2212\u2013]\s?)?(?:(?P<before>{_CURRENCY})\s?)?"
    rf"(?P<sign2>[-\u2212]\s?)?(?P<number>{_NUMBER})(?P<dash>[.,][-\u2013\u2014]{{1,2}})?"
    rf"(?P<sign3>-(?!\w))?(?:\s?(?P<after>{_CURRENCY})(?![^\W\d_]))?(?P<close>\))?(?P<percent>\s?%)?"
    r"(?![\d/:]|[.,]\d|[^\W\d_]{3}|-\d)",
    re.IGNORECASE,
)
_NUMBER_OF_ACCOUNT = re.compile(r"\d{1,3}(?:(?:\.\d{3}){2,}\.\d{1,2}|(?:,\d{3}){2,},\d{1,2})")
"""Groups that end in one of fewer digits, behind the same mark: no amount has decimals behind that."""
_PRINTED = re.compile(rf"(?<![^\W\d_]){_CURRENCY}(?![^\W\d_])")
_PRINTED_IN_ANY_CASE = re.compile(_PRINTED.pattern, re.IGNORECASE)
_MISREAD_DOLLAR = re.compile(r"(?<![^\W_])S(?=\d{1,6}[.,]\d\d(?!\d))")
_MISREAD = re.compile(r"(?<![^\W_])\d[\dOoQlI|SB]{0,8}\s?[.,]\s?[\dOoQSBlI|]{2}(?![^\W_])")
_CENTS = re.compile(r"[.,]\s?\d\d$")
_DAYS = {
    fold(name).strip(". ")
    for language in LANGUAGES
    for locale in language.dates.locales
    for width in ("wide", "abbreviated")
    for name in cast("dict[int, str]", get_day_names(width, "format", locale)).values()
}
_DAY_BEFORE = re.compile(rf"(?<![^\W\d_])(?:{alternatives(_DAYS)})\.?\s?[-\u2013+,/]\s?$")
_HOURS = alternatives(word for language in LANGUAGES for word in language.dates.hours)
_HOURS_BEHIND = re.compile(rf"(?:\s?[-\u2013]\s?\d{{1,2}}[.:]\d\d)?\s?(?:{_HOURS}|h)\b")
_DIGITS = str.maketrans("OoQlI|SB", "00011158")


@dataclass(frozen=True, slots=True)
class WrittenAmount:
    """A number at `start` to `stop` of a text, with the code of the currency that stands beside it.

    digits: the number as printed, without sign and currency.
    """

    start: int
    stop: int
    digits: str
    negative: bool
    currency: str | None
    percent: bool
    symbol: str | None = None

    def value(self, mark: Mark) -> Decimal:
        """The amount if `mark` parts the decimals."""
        amount = number(self.digits, mark)
        return -amount if self.negative else amount

    @property
    def has_cents(self) -> bool:
        """Two decimals were printed."""
        return _CENTS.search(self.digits) is not None


@remembered
def find_amounts(text: str, *, misread: bool) -> tuple[WrittenAmount, ...]:
    """The numbers of `text` that could be money or rates. misread: mend letters that stand for digits."""
    if misread:
        text = _MISREAD_DOLLAR.sub("$", text)
        text = _MISREAD.sub(lambda match: match[0].translate(_DIGITS), text)
    amounts: list[WrittenAmount] = []
    at = 0
    while match := _AMOUNT.search(text, at):
        at = match.end()
        if _NUMBER_OF_ACCOUNT.fullmatch(match["number"]):
            continue
        symbol, stop = match["before"] or match["after"], match.end()
        if symbol is not None and _is_friday(match):
            symbol = None
        if match["before"] is None and match["after"] and _is_of_next(match):
            symbol, stop = None, match.end("number")
            at = match.start("after")
        signs = match["sign"] or match["sign2"] or match["sign3"] or (match["open"] and match["close"])
        amounts.append(
            WrittenAmount(
                start=match.start(),
                stop=stop,
                digits=match["number"],
                negative=bool(signs),
                currency=currency_code(symbol) if symbol else None,
                percent=bool(match["percent"]),
                symbol=symbol,
            )
        )
    return tuple(amounts)


def _is_of_next(match: re.Match[str]) -> bool:
    """True if the currency behind a number is that of the next one: `STK 2,1524 EUR 46,4580`."""
    following = _AMOUNT.match(match.string, match.start("after"))
    return (
        following is not None
        and following["after"] is None
        and not _CENTS.search(match["number"])
        and re.search(r"[.,]", following["number"]) is not None
    )


def _is_friday(match: re.Match[str]) -> bool:
    """True if `Fr.` stands for Friday and not for Swiss francs: `Mo.-Fr. 08.30 - 12.30 Uhr`."""
    if match["before"] is None or match["before"].upper() != "FR.":
        return False
    folded = fold(match.string)
    is_behind_day = _DAY_BEFORE.search(folded[: match.start("before")]) is not None
    return is_behind_day or _HOURS_BEHIND.match(folded[match.end() :]) is not None


def currency_code(symbol: str, language: str | None = None) -> str | None:
    """The ISO 4217 code of a printed currency; `kr` is the crown of the language's own country."""
    return currency_in(symbol, language) or _CODE_OF.get(symbol.upper())


def currency_in(symbol: str, language: str | None) -> str | None:
    """As `currency_code`, but None for a sign that means a currency in other languages only."""
    upper = symbol.upper()
    if upper in _CODES:
        return upper
    return _BY_LANGUAGE.get(language or "", {}).get(upper) or _EVERYWHERE.get(upper)


def symbols_of_currency(code: str) -> list[str]:
    """The symbols of a currency."""
    return [
        symbol
        for meanings in (SYMBOLS, *(language.currencies for language in LANGUAGES))
        for symbol, meant in meanings.items()
        if meant == code
    ]


def currency_spans(text: str) -> list[tuple[str, int, int]]:
    """The currencies printed in `text`, beside amounts or as words, with start and stop."""
    return [(match[0], match.start(), match.end()) for match in _PRINTED.finditer(text)]


def without_currencies(text: str) -> str:
    """`text` with codes and signs of currencies, in capitals or not, replaced by spaces."""
    return _PRINTED_IN_ANY_CASE.sub(" ", text)


def find_currencies(text: str) -> list[str]:
    """The codes of currencies that stand in `text` as words."""
    return [word for word in re.findall(r"\b[A-Z]{3}\b", text) if word in _COMMON_CODES]


def number(digits: str, mark: Mark) -> Decimal:
    """`digits` as a decimal; the other mark, spaces and apostrophes part thousands.

    Where that makes no sense, as in `12,50` under `.`, the last mark is taken for the decimal mark.
    """
    compact = re.sub(r"[\s'\u2019]", "", digits)
    marks = re.findall(r"[.,]", compact)
    if not marks:
        return Decimal(compact)
    head, tail = compact.rsplit(marks[-1], 1)
    whole = re.sub(r"[.,]", "", head)
    if len(tail) == _THREE and (marks.count(marks[-1]) > 1 or marks[-1] != mark):
        return Decimal(whole + tail)
    return Decimal(f"{whole or '0'}.{tail}")


@cache
def euro_since(country: str) -> date | None:
    """The first day of the euro in a country by its code (ISO 3166-1); None if it has another currency."""
    if country in _LATER_EUROS:
        return _LATER_EUROS[country]
    currencies = get_territory_currencies(country, include_details=True)
    return next((each["from"] for each in currencies if each["currency"] == _EURO), None)


@cache
def replaced_by_euro() -> Mapping[str, date]:
    """The currencies that the euro replaced, each with the first day on which people paid in euros."""
    euros = ((country, euro_since(country)) for country in get_global("territory_currencies"))
    return {
        currency["currency"]: max(day, _EURO_CASH)
        for country, day in euros
        if day is not None
        for currency in get_territory_currencies(country, date.min, date.max, include_details=True)
        if currency["currency"] != _EURO and (currency["to"] is None or currency["to"] >= day - _LATEST_END)
    }


def in_thousandths(currency: str | None) -> bool:
    """True if a currency is written with three decimals, as the dinars of Kuwait and Tunisia."""
    return currency is not None and get_currency_precision(currency) == _THREE


def decimal_mark(numbers: list[str], *, default: Mark, thousandths: bool = False) -> Mark:
    """The mark that parts decimals in these numbers, by vote; `default` if they do not tell.

    thousandths: three digits after a mark are decimals.
    """
    votes = {".": 0, ",": 0}
    for digits in numbers:
        compact = re.sub(r"\s", "", digits)
        if thousandths and (last := re.search(r"\d([.,])\d{3}$", compact)):
            votes[last[1]] += 2
            continue
        both = re.search(r"[.,'\u2019]\d{3}([.,])\d{1,2}$", compact)
        cents = re.search(r"\d([.,])\d\d$", compact)
        if both:
            votes[both[1]] += 3
        elif cents:
            votes[cents[1]] += 2
        elif mixed := re.fullmatch(r"\d{1,3}(?:([.,])\d{3})(?:\1\d{3})*(?!\1)([.,])\d{3}", compact):
            votes[mixed[2]] += 1
        elif match := re.fullmatch(r"\d{1,3}(?:([.,])\d{3})+", compact):
            votes["," if match[1] == "." else "."] += 1
    if votes["."] == votes[","]:
        return default
    return "." if votes["."] > votes[","] else ","
