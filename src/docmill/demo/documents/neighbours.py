"""Invoices and receipts from Portugal, Poland, Sweden and Denmark."""

import datetime as dt

from docmill.demo import companies as of
from docmill.demo import wording as speak
from docmill.demo.issuers import House
from docmill.demo.letter import Letter
from docmill.demo.plan import Plan
from docmill.demo.sums import Tax, included_taxes, lines, taxes_of, total
from docmill.demo.wording import Wording
from docmill.schemas.fields import Line, Payment
from docmill.schemas.types import Invoice, Receipt


def plans() -> list[Plan]:
    """All of them."""
    return [
        Plan("Fatura FT2026-188.pdf", "born-digital", "band", "invoice", _portuguese_invoice()),
        Plan("FV-2026-09-017.pdf", "born-digital", "ledger", "invoice", _polish_invoice()),
        Plan("faktura_20417.pdf", "born-digital", "sidebar", "invoice", _swedish_invoice()),
        Plan("Faktura 5582.pdf", "born-digital", "envelope", "invoice", _danish_invoice()),
        Plan("talao.pdf", "born-digital", "mono-till", "receipt", _portuguese_receipt()),
        Plan("paragon.png", "scan", "mono-till", "receipt", _polish_receipt()),
        Plan("kvitto.pdf", "born-digital", "boxed-ticket", "receipt", _swedish_receipt()),
        Plan("kassebon.pdf", "born-digital", "bistro", "receipt", _danish_receipt()),
    ]


def _portuguese_invoice() -> Letter:
    bought = lines(
        "Caderno pautado A5, capa de cortiça | 60 | un | 3.85",
        "Envelope reciclado C4, caixa de 250 | 8 | cx | 21.40",
        "Impressão de cartazes A2 | 35 | un | 4.10",
        numbered="",
    )
    taxes = taxes_of(bought, "23")
    fields = Invoice(
        number="FT2026/188",
        issue_date=dt.date(2026, 9, 14),
        due_date=dt.date(2026, 10, 14),
        order_number="NE-3307",
        customer_number="C0412",
        seller=of.ANDORINHA.party(vat=True),
        buyer=of.SARDINHA.party(vat=True),
        currency="EUR",
        lines=bought,
        **total(taxes),
        payment=Payment(terms="30 dias", iban=of.ANDORINHA.iban, bic=of.ANDORINHA.bic),
    )
    thanks = ("Processado por computador. Obrigado pela preferência.",)
    return Letter(fields, "invoice", of.ANDORINHA, of.SARDINHA, speak.PORTUGUESE, taxes, closing=thanks)


def _polish_invoice() -> Letter:
    bought = lines(
        "Koc welniany 150 x 200 cm | 24 | szt. | 89.00",
        "Poduszka pierze gesie | 40 | szt. | 54.50",
        "Dostawa | 1 | usl. | 120.00",
    )
    taxes = taxes_of(bought, "23")
    sums = total(taxes)
    fields = Invoice(
        number="FV/2026/09/017",
        issue_date=dt.date(2026, 9, 21),
        delivery_date=dt.date(2026, 9, 18),
        due_date=dt.date(2026, 10, 5),
        order_number="ZAM-551",
        seller=of.BOCIAN.party(vat=True),
        buyer=of.JANTAR.party(vat=True),
        currency="PLN",
        lines=bought,
        **sums,
        amount_due=sums["gross_total"],
        payment=Payment(method="przelew", iban=of.BOCIAN.iban, bic=of.BOCIAN.bic),
    )
    return Letter(fields, "invoice", of.BOCIAN, of.JANTAR, speak.POLISH, taxes)


def _swedish_invoice() -> Letter:
    bought = lines(
        "Vinglas Midnattssol, handblåst | 48 | st | 189.00",
        "Karaff 1,2 l, rökgrå | 6 | st | 745.00",
        "Frakt | 1 | st | 390.00",
        numbered="",
    )
    taxes = taxes_of(bought, "25")
    sums = total(taxes)
    fields = Invoice(
        number="20417",
        issue_date=dt.date(2026, 8, 31),
        due_date=dt.date(2026, 9, 30),
        order_number="4500-77",
        customer_number="1182",
        seller=of.NORRSKEN.party(vat=True),
        buyer=of.LINGON.party(),
        currency="SEK",
        lines=bought,
        **sums,
        amount_due=sums["gross_total"],
        payment=Payment(terms="30 dagar netto", iban=of.NORRSKEN.iban, bic=of.NORRSKEN.bic),
    )
    warning = ("Efter förfallodagen debiteras dröjsmålsränta enligt räntelagen.",)
    return Letter(fields, "invoice", of.NORRSKEN, of.LINGON, speak.SWEDISH, taxes, closing=warning)


def _danish_invoice() -> Letter:
    bought = lines(
        "Egetræsbord, olieret, 220 cm | 2 | stk. | 8950.00",
        "Stol med flettet sæde | 12 | stk. | 1495.00",
        "Levering og opstilling | 3 | timer | 550.00",
        numbered="",
    )
    taxes = taxes_of(bought, "25")
    sums = total(taxes)
    fields = Invoice(
        number="5582",
        issue_date=dt.date(2026, 10, 2),
        delivery_date=dt.date(2026, 9, 29),
        due_date=dt.date(2026, 10, 16),
        customer_number="70031",
        seller=of.HAVFRUE.party(vat=True),
        buyer=of.TROLDE.party(),
        currency="DKK",
        lines=bought,
        **sums,
        amount_due=sums["gross_total"],
        payment=Payment(terms="Netto 14 dage", iban=of.HAVFRUE.iban, bic=of.HAVFRUE.bic),
    )
    return Letter(fields, "invoice", of.HAVFRUE, of.TROLDE, speak.DANISH, taxes)


def _receipt(  # noqa: PLR0913 - what is printed on a roll
    seller: House,
    wording: Wording,
    *,
    number: str,
    currency: str,
    day: dt.date,
    time: str,
    bought: tuple[Line, ...],
    taxes: tuple[Tax, ...],
    method: str,
    closing: tuple[str, ...],
    opening: str = "",
) -> Letter:
    fields = Receipt(
        number=number,
        issue_date=day,
        time=time,
        seller=seller.party(vat=True),
        currency=currency,
        lines=bought,
        **total(taxes),
        payment=Payment(method=method),
    )
    return Letter(
        fields,
        "receipt",
        seller,
        of.ANYBODY,
        wording,
        taxes,
        opening=opening,
        closing=closing,
        size=(80, 118),
    )


def _portuguese_receipt() -> Letter:
    bought = lines(
        "Sardinhas em azeite | 4 | x | 2.95",
        "Pão de Mafra | | | 1.80",
        "Queijo da serra | | | 9.40",
        numbered="",
    )
    return _receipt(
        of.SARDINHA,
        speak.PORTUGUESE,
        number="FS2026/7731",
        currency="EUR",
        day=dt.date(2026, 8, 6),
        time="18:22",
        bought=bought,
        taxes=included_taxes(bought, "23", "6", "6"),
        method="Multibanco",
        closing=("IVA incluído", "Obrigado pela sua visita!", "Volte sempre"),
    )


def _polish_receipt() -> Letter:
    bought = lines(
        "Herbata cytrynowa | 2 | x | 12.00",
        "Szarlotka z lodami | 2 | x | 19.50",
        "Woda gazowana | | | 8.00",
        numbered="",
    )
    return _receipt(
        of.JANTAR,
        speak.POLISH,
        number="004512",
        currency="PLN",
        day=dt.date(2026, 7, 11),
        time="15:04",
        bought=bought,
        taxes=included_taxes(bought, "8"),
        method="Karta platnicza",
        closing=("PARAGON FISKALNY", "Dziekujemy i zapraszamy ponownie!"),
    )


def _swedish_receipt() -> Letter:
    bought = lines(
        "Kaffe | 2 | | 38.00",
        "Kanelbulle | 3 | | 32.00",
        "Lingonsaft | 1 | | 29.00",
        numbered="",
    )
    return _receipt(
        of.LINGON,
        speak.SWEDISH,
        number="88021",
        currency="SEK",
        day=dt.date(2026, 9, 5),
        time="14:37",
        bought=bought,
        taxes=included_taxes(bought, "12"),
        method="Bankkort",
        closing=("Spara kvittot", "Tack för besöket, välkommen åter!"),
        opening="KVITTO",
    )


def _danish_receipt() -> Letter:
    eaten = lines(
        "Stjerneskud | 2 | | 165.00",
        "Smørrebrød med sild | 1 | | 92.00",
        "Hyldeblomst | 3 | | 42.00",
        numbered="",
    )
    taxes = included_taxes(eaten, "25")
    unpriced = tuple(line.model_copy(update={"unit_price": None}) for line in eaten)
    return _receipt(
        of.TROLDE,
        speak.DANISH,
        number="10233",
        currency="DKK",
        day=dt.date(2026, 6, 20),
        time="12:58",
        bought=unpriced,
        taxes=taxes,
        method="Dankort",
        closing=("Tak for besøget - på gensyn!",),
        opening="Kvittering   Bord 7",
    )
