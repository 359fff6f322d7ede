"""The code lists that the rules ask for (EN 16931-1, annexes; CEF's lists of 2023)."""

import re
from collections.abc import Mapping
from typing import cast

from babel import Locale
from babel.numbers import list_currencies


def _codes(text: str) -> frozenset[str]:
    return frozenset(text.split())


INVOICE_TYPES = _codes(
    "71 80 81 82 83 84 102 130 202 203 204 211 218 219 261 262 295 296 308 325 326 331 380 381 382 383 384"
    " 385 386 387 388 389 390 393 394 395 396 420 456 457 458 471 472 473 500 501 502 503 527 532 553"
    " 575 623 633 751 780 817 870 875 876 877 935"
)
"""UNTDID 1001, of those what EN 16931 takes for invoices and credit notes."""
ORDER_TYPES = frozenset({"220", "221", "226", "227", "230", "231"})
"""UNTDID 1001: orders, changes of orders and answers to them."""
PAYMENT_MEANS = frozenset([*map(str, (*range(1, 71), *range(74, 79), *range(91, 99))), "ZZZ"])
"""UNTDID 4461."""
CREDIT_TRANSFERS = frozenset({"30", "58"})
CURRENCIES = frozenset(list_currencies())
"""ISO 4217, with those that have been replaced."""
_TERRITORIES = cast("Mapping[str, str]", Locale("en").territories)
COUNTRIES = frozenset(code for code in _TERRITORIES if re.fullmatch("[A-Z]{2}", code)) | {"1A", "EL"}
"""ISO 3166-1, with Kosovo and the European Union's own code for Greece."""
UNIT_CODE = r"[0-9A-Z]{1,3}"
"""The form of codes of UN/ECE Recommendations 20 and 21, of which there are 2,000."""

CATEGORIES: Mapping[str, str] = {
    "S": "S",
    "Z": "Z",
    "E": "E",
    "AE": "AE",
    "K": "IC",
    "G": "G",
    "O": "O",
    "L": "AF",
    "M": "AG",
    "B": "B",
}
"""VAT category (UNTDID 5305) to the part of a rule's name that stands for it."""
UNTAXED = frozenset({"Z", "E", "AE", "K", "G", "O"})
"""Categories in which no VAT is charged."""
REASONED = frozenset({"E", "AE", "K", "G", "O"})
"""Those that must say why."""
