"""Credit notes in several languages, each with the invoice that it corrects."""

import datetime as dt
from typing import TYPE_CHECKING, Any, cast

from docmill.demo import companies as of
from docmill.demo import wording as speak
from docmill.demo.issuers import House
from docmill.demo.letter import Letter
from docmill.demo.plan import Plan
from docmill.demo.sums import lines, taxes_of, total
from docmill.demo.wording import Wording
from docmill.schemas.fields import Line, Payment
from docmill.schemas.registry import REGISTRY

if TYPE_CHECKING:
    from docmill.schemas.types import Invoice

TYPE = "credit_note"


def plans() -> list[Plan]:
    """All of them."""
    return [
        Plan("gutschrift_GS-2026-021.pdf", "born-digital", "band", TYPE, _austrian()),
        Plan("credit-note-CN-1184.pdf", "born-digital", "envelope", TYPE, _british()),
        Plan("avoir_AV-2026-014.png", "scan", "facture", TYPE, _french()),
        Plan("kreditfaktura_20431.pdf", "born-digital", "sidebar", TYPE, _swedish()),
        Plan("nota di credito 12.pdf", "born-digital", "airy", TYPE, _italian()),
    ]


def _credit_note(  # noqa: PLR0913 - what is printed on the paper
    seller: House,
    buyer: House,
    wording: Wording,
    *,
    number: str,
    day: dt.date,
    invoice: str,
    bought: tuple[Line, ...],
    rates: tuple[str, ...],
    currency: str,
    opening: str = "",
    **others: Any,  # noqa: ANN401 - values of the fields
) -> Letter:
    taxes = taxes_of(bought, *rates)
    fields = REGISTRY[TYPE].fields(
        number=number,
        issue_date=day,
        preceding_invoice_number=invoice,
        seller=seller.party(vat=True),
        buyer=buyer.party(),
        currency=currency,
        lines=bought,
        **total(taxes),
        **others,
    )
    return Letter(cast("Invoice", fields), "credit", seller, buyer, wording, taxes, opening=opening)


def _austrian() -> Letter:
    bought = lines(
        "Gutschrift Werbefläche Seilbahn, KW 33 nicht ausgeliefert | 1 | Wo | 640.00",
        "Nachlass Plakatdruck, Farbabweichung | 120 | Stk | 1.15",
        numbered="{:02d}",
    )
    return _credit_note(
        of.KREATIV,
        of.FAMILIE,
        speak.AUSTRIAN,
        number="GS-2026-021",
        day=dt.date(2026, 9, 7),
        invoice="RE-2026-188",
        bought=bought,
        rates=("20",),
        currency="EUR",
        customer_number="10077",
        payment=Payment(terms="Der Betrag wird mit der nächsten Rechnung verrechnet."),
        opening="Zu unserer Rechnung RE-2026-188 vom 17.8.2026 schreiben wir Ihnen gut:",
    )


def _british() -> Letter:
    bought = lines(
        "Brass door knocker, returned | 4 | pcs | 38.50",
        "Carriage charged twice | 1 | pcs | 14.00",
        numbered="",
    )
    return _credit_note(
        of.QUIBBLE,
        of.BADGER,
        speak.BRITISH,
        number="CN-1184",
        day=dt.date(2026, 9, 18),
        invoice="INV-10371",
        bought=bought,
        rates=("20",),
        currency="GBP",
        opening="We have credited your account as follows.",
    )


def _french() -> Letter:
    bought = lines(
        "Farine T65, sac endommagé | 6 | sac | 21.40",
        "Remise sur livraison tardive | 1 | u | 35.00",
        numbered="",
    )
    return _credit_note(
        of.CROUTE,
        of.HORIZON,
        speak.FRENCH,
        number="AV-2026-014",
        day=dt.date(2026, 10, 5),
        invoice="F-2026-0377",
        bought=bought,
        rates=("20",),
        currency="EUR",
    )


def _swedish() -> Letter:
    bought = lines(
        "Vinglas Midnattssol, returnerade | 6 | st | 189.00",
        numbered="",
    )
    return _credit_note(
        of.NORRSKEN,
        of.LINGON,
        speak.SWEDISH,
        number="20431",
        day=dt.date(2026, 9, 15),
        invoice="20417",
        bought=bought,
        rates=("25",),
        currency="SEK",
        customer_number="1182",
    )


def _italian() -> Letter:
    bought = lines(
        "Reso lampada Luna, vetro scheggiato | 3 | pz | 142.00",
        numbered="",
    )
    return _credit_note(
        of.LUNARE,
        of.FANTASIA,
        speak.ITALIAN,
        number="NC-12",
        day=dt.date(2026, 10, 9),
        invoice="77/2026",
        bought=bought,
        rates=("22",),
        currency="EUR",
    )
