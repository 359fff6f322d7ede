import datetime as dt
from collections.abc import Callable
from dataclasses import replace

import pytest

from docmill.model.document import Document, Page, Words
from docmill.model.result import Classification
from docmill.understanding.types.classifier import SURE, classify
from docmill.understanding.types.model import TypeModel, shipped

Typeset = Callable[..., Document]

PRICE_LIST = """
Spring price list

Article            Unit        Price
Bolt M8            100         12.50
Nut M8             100          9.80
Washer             500         14.00
Screw 4x40         200         11.20
"""
CONTENTS = """
Contents

1 Invoices and receipts             3
2 Orders                            9
3 Cash and change                  14
4 Delivery notes                   21
5 Bank statements                  30
"""
LETTER = """
Harbour Ltd
4 Mill Lane
Leeds LS1 4AB
                                          12 May 2026

Dear Mr Brown,

thank you for your order. We will send the invoice when the goods
have left our house, and the receipt once you have paid in cash.

Yours sincerely
A. Smith
"""
OFFER = """
Tischlerei Beispiel GmbH
Hauptstr. 1
10115 Berlin

Angebot Nr. A-77
Datum: 03.02.2026

Pos  Bezeichnung        Menge   Einzelpreis     Gesamt
1    Tisch              1       450,00          450,00
2    Stuhl              4       120,00          480,00

                                Summe           930,00 EUR
"""
SLIP = """
          CAFE MARLENE
        12 Harbour Street
         02.05.2026 14:31

2 Espresso               5.00
1 Cake                   4.20
Total                    9.20
Cash                    10.00
Change                   0.80
        Thank you
"""


@pytest.mark.parametrize(
    ("text", "kind", "title"),
    [
        (PRICE_LIST, "other", None),
        (CONTENTS, "other", None),
        (LETTER, "letter", "Letter"),
        (OFFER, "quote", "Quote A-77, Tischlerei Beispiel GmbH"),
        ("HARBOUR\nsince 1921", "other", None),
        (SLIP, "receipt", "Receipt, CAFE MARLENE"),
        ("Rechnung Nr. 12\nDatum 01.02.2026\nBetrag 100,00 EUR", "invoice", "Invoice 12"),
        ("INVOICE 7\nTotal 119.00", "invoice", "Invoice 7"),
    ],
    ids=["prices", "contents", "letter", "offer", "logo", "slip", "short", "shorter"],
)
async def test_a_papers_type_is_told_and_that_it_is_of_none(
    typeset: Typeset, text: str, kind: str, title: str | None
) -> None:
    found = classify(typeset(text))

    assert (found.document_type, found.title) == (kind, title)
    assert found.confidence > 0.5


async def test_a_type_that_is_not_likely_is_left_to_a_person(typeset: Typeset) -> None:
    unsure = TypeModel(shipped().trees, temperature=1000.0)

    found = classify(typeset(SLIP), model=unsure)

    assert (found.document_type, found.title, found.summary) == ("other", None, None)
    assert "please say of which type it is" in found.doubt


async def test_a_type_that_is_clearly_the_likeliest_needs_no_question(typeset: Typeset) -> None:
    assert classify(typeset(SLIP)).doubt == ""


@pytest.mark.parametrize(
    "text",
    [
        "Счёт № 17\nПродавец ООО Ромашка\nПокупатель ИП Иванов\nИтого 5 000,00 руб.",  # noqa: RUF001 - Cyrillic
        "Τιμολόγιο 17\nΠωλητής Άλφα\nΣύνολο 50,00 €",  # noqa: RUF001 - Greek
        "请款单 17\n卖方 某某有限公司\n合计 500.00 元",
    ],
    ids=["Russian", "Greek", "Chinese"],
)
async def test_nobody_is_sure_of_what_cannot_be_read(
    text: str, make_document: Callable[..., Document]
) -> None:
    found = classify(make_document(text))

    assert found.title is None
    assert found.confidence < SURE
    assert found.confidence < 0.5


@pytest.mark.parametrize(("source", "confidence"), [("ocr", 1.0), ("none", 0.0)])
async def test_a_picture_without_words_is_surely_of_no_type_if_it_could_be_read(
    source: str, confidence: float
) -> None:
    page = Page(1, 100, 100, Words.none(), "ocr" if source == "ocr" else "none", 0)

    found = classify(Document("0" * 64, "image/png", [page]))

    assert found == Classification(confidence=confidence)


async def test_large_print_at_the_top_is_a_title(typeset: Typeset) -> None:
    document = typeset("Annual report\nof the harbour\n\n" + "\n".join(["the sea is calm and wide"] * 12))
    words = document.pages[0].words
    boxes = words.boxes.copy()
    boxes[words.lines == 0, 3] += 0.02
    boxes[words.lines == 1, 1:4:2] += [0.02, 0.04]
    large = replace(document.pages[0], words=replace(words, boxes=boxes))

    found = classify(replace(document, pages=[large]))

    assert found.title == "Annual report of the harbour"


async def test_a_receipt_of_two_pages_and_a_page_of_large_print_alone_are_named(typeset: Typeset) -> None:
    slip = classify(typeset(f"{SLIP}\f{SLIP}"))
    page = typeset("The sea\nand the harbour\n\n\n" + "\n" * 14 + "a\n" * 12).pages[0]
    boxes = page.words.boxes.copy()
    boxes[page.words.lines < 2, 3] += 0.02
    large = replace(page, words=replace(page.words, boxes=boxes))

    assert slip.document_type == "receipt"
    found = classify(Document("0" * 64, "application/pdf", [large]))
    assert found.title == "The sea and the harbour"


MAIL = """
From: Ann Berg <ann@acmesupplies.co.uk>
To: office@example.com
Date: Wed, 14 Oct 2026 10:00:00 +0200
Subject: Summer fair of the harbour clubs

Dear all, the fair is on 3 June 2027.
"""


async def test_a_mail_has_its_subject_its_day_and_the_tags_it_speaks_of(typeset: Typeset) -> None:
    mail = replace(typeset(MAIL), media_type="message/rfc822")

    found = classify(mail, ("Harbor", "Fairs", "harbour club"))

    assert found.title == "Summer fair of the harbour clubs"
    assert found.document_date == dt.date(2026, 10, 14)
    assert found.tags == ("Fairs", "harbour club", "2026")


async def test_a_firm_that_is_named_somewhere_is_no_tag(typeset: Typeset) -> None:
    mail = replace(typeset(f"{MAIL}Harbour Clubs Ltd"), media_type="message/rfc822")

    assert classify(mail, ("Harbour Clubs Ltd", "Fairs")).tags == ("Fairs", "2026")


async def test_tags_are_counterparty_type_and_year_spelt_as_they_are_in_use(typeset: Typeset) -> None:
    fresh = classify(typeset(SLIP))
    used = classify(typeset(SLIP), ("Receipts", "Café Marlène", "Rent"))

    assert fresh.tags == ("CAFE MARLENE", "Receipt", "2026")
    assert used.tags == ("Café Marlène", "Receipts", "2026")


async def test_of_several_days_at_the_top_of_a_paper_of_no_type_none_is_its_own(typeset: Typeset) -> None:
    two = LETTER.replace("Dear", "1 June 2026\n\nDear")

    assert classify(typeset(LETTER)).document_date == dt.date(2026, 5, 12)
    assert classify(typeset(two)).document_date is None


HUNGARIAN = """
Számla sorszáma: SZ-2026/00318
Eladó: Napfény Kertészet, 6724 Szeged, Kossuth Lajos sugárút 12.
Vevő: Tavasz Szálloda, 8360 Keszthely, Fő tér 4.
Fizetendő végösszeg: 99 060 Ft
"""


@pytest.mark.parametrize(("language", "asks"), [("hu", True), ("de", False), (None, False)])
def test_a_paper_in_a_language_without_known_words_asks_for_its_type(
    typeset: Typeset, language: str | None, *, asks: bool
) -> None:
    classification = classify(replace(typeset(HUNGARIAN), language=language))

    assert classification.document_type == "other"
    assert ("Hungarian" in classification.doubt) is asks
