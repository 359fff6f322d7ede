"""Which standard, and how much of it, an XML says that it follows (BT-24)."""

import re
from collections.abc import Mapping
from typing import Literal, NamedTuple

from docmill.schemas.einvoice_kinds import EInvoiceKind

Level = Literal["minimum", "without_lines", "en16931", "zugferd1", "order", "other"]
"""Which rules hold: EN 16931's, those of its parts, of ZUGFeRD 1, of orders; or none that we know."""


class Profile(NamedTuple):
    """name: as a person calls it."""

    name: str
    level: Level


_OWN = r"urn:(?:factur-x\.eu|zugferd\.de):\d+p\d+:"
_CORE = r"urn:cen\.eu:en16931:2017"
_BELOW = rf"{_CORE}[#:](?:compliant|conformant)[#:]"

_CII: Mapping[str, Profile] = {
    rf"{_OWN}minimum": Profile("Factur-X MINIMUM", "minimum"),
    rf"{_OWN}basicwl": Profile("Factur-X BASIC WL", "without_lines"),
    rf"{_BELOW}(?:urn:)?(?:factur-x\.eu|zugferd\.de):\d+p\d+:basic": Profile("Factur-X BASIC", "en16931"),
    rf"{_BELOW}(?:urn:)?(?:factur-x\.eu|zugferd\.de):\d+p\d+:extended": Profile(
        "Factur-X EXTENDED", "en16931"
    ),
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


def profile(identifier: str | None, kind: EInvoiceKind) -> Profile | None:
    """The profile of this name; None if there is no such profile for XML of this kind."""
    if kind.syntax == "ubl":
        known: Mapping[str, Profile] = _EN16931 if kind.document_type == "invoice" else {}
    elif kind.syntax == "cio":
        known = _ORDERS
    else:
        known = {**_CII, **_EN16931} if kind.name == "UN/CEFACT CII" else _ZUGFERD_1
    for pattern, found in known.items():
        if re.fullmatch(pattern, identifier or ""):
            return found
    return _UBL if kind.syntax == "ubl" else None
