"""The code lists that the rules ask for (EN 16931-1, annexes; CEF's lists of 2023)."""

import re
from collections.abc import Mapping
from typing import Literal, NamedTuple, cast

from babel import Locale
from babel.numbers import list_currencies

from docmill.schemas.einvoice_kinds import EInvoiceKind

# fmt: off
INVOICE_TYPES = frozenset(map(str, (
    71, 80, 81, 82, 83, 84, 102, 130, 202, 203, 204, 211, 218, 219, 261, 262, 295, 296, 308, 325, 326,
    331, 380, 381, 382, 383, 384, 385, 386, 387, 388, 389, 390, 393, 394, 395, 396, 420, 456, 457, 458,
    471, 472, 473, 500, 501, 502, 503, 527, 532, 553, 575, 623, 633, 751, 780, 817, 870, 875, 876, 877,
    935,
)))
# fmt: on
"""UNTDID 1001: those that EN 16931 allows for invoices and credit notes."""
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
"""The part of a rule's name for each VAT category (UNTDID 5305)."""
UNTAXED = frozenset({"Z", "E", "AE", "K", "G", "O"})
"""Categories in which no VAT is charged."""
REASONED = frozenset({"E", "AE", "K", "G", "O"})
"""Categories that need a reason why no VAT is charged."""


Level = Literal["minimum", "without_lines", "en16931", "zugferd1", "order", "other"]
"""The set of rules that applies: of EN 16931 or a part of it, of ZUGFeRD 1 or of orders; none for `other`."""


class Profile(NamedTuple):
    """The standard, or the part of one, that an XML says it follows. name: as shown to people."""

    name: str
    level: Level


_FACTUR_X = r"(?:factur-x\.eu|zugferd\.de):\d+p\d+:"
_CORE = r"urn:cen\.eu:en16931:2017"
_BELOW = rf"{_CORE}[#:](?:compliant|conformant)[#:]"

_CII: Mapping[str, Profile] = {
    rf"urn:{_FACTUR_X}minimum": Profile("Factur-X MINIMUM", "minimum"),
    rf"urn:{_FACTUR_X}basicwl": Profile("Factur-X BASIC WL", "without_lines"),
    rf"{_BELOW}(?:urn:)?{_FACTUR_X}basic": Profile("Factur-X BASIC", "en16931"),
    rf"{_BELOW}(?:urn:)?{_FACTUR_X}extended": Profile("Factur-X EXTENDED", "en16931"),
}
_EN16931: Mapping[str, Profile] = {
    _CORE: Profile("EN 16931", "en16931"),
    rf"{_BELOW}urn:(?:xoev-de:kosit:standard|xeinkauf\.de:kosit):.*": Profile("XRechnung", "en16931"),
    rf"{_BELOW}urn:fdc:peppol\.eu:2017:poacc:billing:3\.0.*": Profile("Peppol BIS Billing 3", "en16931"),
    rf"{_CORE}#.+": Profile("EN 16931 with rules of its country or trade", "en16931"),
}
_ZUGFERD_1 = {
    rf"urn:ferd:(?:CrossIndustryDocument:invoice:1p0|invoice:rc):{level}": Profile(
        f"ZUGFeRD 1 {level.upper()}", "zugferd1"
    )
    for level in ("basic", "comfort", "extended")
}
_ORDERS = {
    rf"urn:order-x\.eu:1p0:{level}": Profile(f"Order-X {level.upper()}", "order")
    for level in ("basic", "comfort", "extended")
}
_UBL = Profile("UBL", "other")


def find_profile(identifier: str | None, kind: EInvoiceKind) -> Profile | None:
    """Find the profile with this identifier (BT-24); None if there is none for XML of this kind."""
    if kind.syntax == "ubl":
        profiles: Mapping[str, Profile] = _EN16931 if kind.message == "billing" else {}
    elif kind.syntax == "cio":
        profiles = _ORDERS
    else:
        profiles = {**_CII, **_EN16931} if kind.name == "UN/CEFACT CII" else _ZUGFERD_1
    for pattern, candidate in profiles.items():
        if re.fullmatch(pattern, identifier or ""):
            return candidate
    return _UBL if kind.syntax == "ubl" else None
