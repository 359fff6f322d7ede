import io
from collections.abc import Callable
from dataclasses import replace
from datetime import date
from decimal import Decimal
from importlib import resources

import numpy as np
import pytest

from docmill.model.corrections import CorrectedValue, Correction
from docmill.model.document import Document, Page, Words
from docmill.model.paths import leaves
from docmill.schemas.registry import REGISTRY
from docmill.schemas.types import Invoice, Receipt
from docmill.training.generated_receipts import generate_receipts
from docmill.understanding.corrections.apply import with_confirmed_values
from docmill.understanding.corrections.counterparties import identifiers
from docmill.understanding.fields.analysis_cache import candidates_of
from docmill.understanding.fields.findings import Finding
from docmill.understanding.receipts.extractor import extract_built_in, learned_findings, shipped_findings
from docmill.understanding.receipts.model import FILE, shipped

Typeset = Callable[..., Document]

MALAYSIAN = """
         KEDAI BUKU MAJU SDN BHD
               (123456-X)
     NO 12, JALAN MAWAR 3, TAMAN INDAH,
          81100 JOHOR BAHRU, JOHOR
            TEL: 07-355 1234
          GST ID: 001234567890
               TAX INVOICE
DATE: 15/03/2018  10:22:31
PENCIL 2B                          2.50
EXERCISE BOOK                      7.70
SUBTOTAL                          10.20
GST 6%                             0.61
TOTAL                             10.81
ROUNDING                          -0.01
ROUNDED TOTAL                     10.80
CASH                              20.00
CHANGE                             9.20
       THANK YOU, COME AGAIN
"""
ITALIAN = """
   DOCUMENTO COMMERCIALE
   GELATERIA NUVOLA ROSA
   Piazza del Sogno, 3
   50199 Firenze FI
   P. IVA IT05172840638
Documento n.: 0087-0023
Data: 05/07/2026   17:38
Descrizione              Q.ta   Prezzo   Importo
Cono tre gusti              3     3,50     10,50
Granita limone              2     4,20      8,40
Imponibile                              17,18
IVA 10 %                                 1,72
TOTALE                                  18,90
"""
GERMAN = """
          Buchhandlung Lesezeit GmbH
              Hauptstr. 12
              10115 Berlin
         Tel. 030 1234567
Datum 15.03.2026   10:22
Notizbuch                    8,50 EUR
Stift                        2,00 EUR
Summe                       10,50 EUR
Gegeben                     20,00 EUR
Rückgeld                     9,50 EUR
enthaltene MwSt 19%          1,68 EUR
       Vielen Dank für Ihren Einkauf
"""


def correction(document: Document, **values: str) -> Correction:
    """The seller that a person confirmed on a document with these numbers."""
    given = {f"seller.{name}": CorrectedValue(value) for name, value in values.items()}
    return Correction("first.pdf", identifiers(document), frozenset(), given)


async def receipt(document: Document, *corrections: Correction) -> Receipt:
    schema = REGISTRY["receipt"]
    extraction = with_confirmed_values(document, schema, extract_built_in(document, schema), corrections)
    data = extraction.data
    assert isinstance(data, Receipt)
    assert set(dict(leaves(data))) == set(extraction.evidence)
    return data


async def test_a_recognised_receipt_is_read_as_printed(typeset: Typeset) -> None:
    data = await receipt(typeset(MALAYSIAN, source="ocr"))

    assert data.seller.name == "KEDAI BUKU MAJU SDN BHD"
    assert data.seller.address == "NO 12, JALAN MAWAR 3, TAMAN INDAH, 81100 JOHOR BAHRU, JOHOR"
    assert data.issue_date == date(2018, 3, 15)
    assert data.gross_total == Decimal("10.80")


async def test_a_receipt_in_another_language_and_currency_is_read_too(typeset: Typeset) -> None:
    data = await receipt(typeset(GERMAN))

    assert data.seller.name == "Buchhandlung Lesezeit GmbH"
    assert data.issue_date == date(2026, 3, 15)
    assert data.gross_total == Decimal("10.50")
    assert data.currency == "EUR"


async def test_what_a_paper_is_called_is_no_part_of_the_name(typeset: Typeset) -> None:
    data = await receipt(typeset(ITALIAN, source="ocr"))

    assert data.seller.name == "GELATERIA NUVOLA ROSA"


@pytest.mark.parametrize(
    ("old", "new", "total"),
    [
        ("Gegeben                     20,00", "Total EC-Karte             -10,50", "10.50"),
        (" 10,50 EUR", "-10,50 EUR", "-10.50"),
    ],
)
def test_a_negative_payment_makes_no_refund_of_a_receipt(
    typeset: Typeset, old: str, new: str, total: str
) -> None:
    paper = GERMAN.replace(old, new)
    if total.startswith("-"):
        paper = paper.replace(" 8,50", "-8,50").replace(" 2,00", "-2,00").replace("20,00 EUR", "-10,50 EUR")

    assert learned_findings(candidates_of(typeset(paper)), shipped())["gross_total"].value == Decimal(total)


def test_a_total_has_the_decimals_that_it_is_printed_with(typeset: Typeset) -> None:
    paper = MALAYSIAN.replace(
        "PENCIL 2B                          2.50\nEXERCISE BOOK                      7.70",
        "EXERCISE BOOK         10.800      10.80",
    )
    for line in ("SUBTOTAL                          10.20\n", "GST 6%                             0.61\n"):
        paper = paper.replace(line, "")

    assert str(learned_findings(candidates_of(typeset(paper)), shipped())["gross_total"].value) == "10.80"


async def test_what_the_rules_alone_read_stays(typeset: Typeset) -> None:
    data = await receipt(typeset(MALAYSIAN, source="ocr"))

    assert data.time == "10:22:31"


async def test_a_confirmed_vendor_is_known_again(typeset: Typeset) -> None:
    document = typeset(MALAYSIAN, source="ocr")
    address = "No. 12, Jalan Mawar 3, Taman Indah, 81100 Johor Bahru, Johor"

    data = await receipt(document, correction(document, name="Kedai Buku Maju", address=address))

    assert data.seller.name == "Kedai Buku Maju"
    assert data.seller.address == address


async def test_a_correction_of_others_changes_nothing(typeset: Typeset) -> None:
    document = typeset(MALAYSIAN, source="ocr")
    other = correction(typeset(GERMAN), name="Buchhandlung")

    assert await receipt(document, other) == await receipt(document)


async def test_nothing_confirmed_is_put_where_nothing_was_read(typeset: Typeset) -> None:
    document = typeset("GST ID: 001234567890")

    assert (await receipt(document, correction(document, address="1 High Street"))).seller.address is None


async def test_other_kinds_are_read_by_rule(typeset: Typeset) -> None:
    extraction = extract_built_in(typeset(GERMAN), REGISTRY["invoice"])

    assert isinstance(extraction.data, Invoice)
    assert extraction.reason.startswith("rules")


@pytest.mark.parametrize(
    "document",
    [
        Document("0" * 64, "application/pdf", []),
        Document("0" * 64, "image/png", [Page(1, 100, 100, Words.none(), "none", 0)]),
    ],
)
async def test_a_document_without_words_has_no_values(document: Document) -> None:
    assert not dict(leaves(await receipt(document)))


async def test_a_huge_number_is_left_to_the_rules(typeset: Typeset) -> None:
    total = Decimal("123456789012345678901234567890.00")

    assert (await receipt(typeset(f"TOTAL {total}"))).gross_total == total


def test_no_character_is_in_both_the_name_and_the_address() -> None:
    given = 0
    for example in generate_receipts(150, seed=77):
        candidates = candidates_of(example.document)
        found = learned_findings(candidates, shipped())
        name, address = found.get("seller.name"), found.get("seller.address")
        if name and address:
            given += 1
            assert not characters(name) & characters(address), example.key

    assert given > 100


def characters(finding: Finding) -> set[tuple[int, int]]:
    return {(span.segment.index, at) for span in finding.spans for at in range(span.start, span.stop)}


def test_the_shipped_model_is_small_and_the_same_when_stored_again() -> None:
    content = resources.files("docmill.understanding.receipts").joinpath(FILE).read_bytes()

    # Compared by their arrays: how they are packed depends on the version of Python.
    with np.load(io.BytesIO(content)) as stored, np.load(io.BytesIO(shipped().dumps())) as again:
        assert stored.files == again.files
        assert all(np.array_equal(stored[name], again[name]) for name in stored.files)
    assert len(content) < 5_000_000


def test_a_receipt_of_more_pages_than_are_laid_out_is_read(typeset: Typeset) -> None:
    document = typeset("\f".join([MALAYSIAN] * 8))

    read = extract_built_in(document, REGISTRY["receipt"]).data

    assert isinstance(read, Receipt)
    assert read.gross_total == Decimal("10.80")


@pytest.mark.parametrize(("height", "width_pt"), [(0.0, 595), (1.0, 0)])
def test_words_without_height_and_a_page_without_width_are_read(
    typeset: Typeset, height: float, width_pt: float
) -> None:
    document = typeset(MALAYSIAN)
    page = document.pages[0]
    boxes = page.words.boxes.copy()
    boxes[:, 3] = boxes[:, 1] + height * (boxes[:, 3] - boxes[:, 1])
    flat = replace(page, width_pt=width_pt, words=replace(page.words, boxes=boxes))

    read = extract_built_in(replace(document, pages=[flat]), REGISTRY["receipt"]).data

    assert isinstance(read, Receipt)
    assert read.gross_total == Decimal("10.80")


LETTERHEAD_BELOW = "\n".join(
    [
        *(f"ARTICLE {number:02}             {number + 1}.00" for number in range(20)),
        "TOTAL                 210.00",
        "14/03/2024 18:42",
        "   MAISON DUPONT SARL",
        "   3 rue de la Gare",
        "   75010 Paris",
    ]
)


async def test_what_the_page_model_alone_sees_is_suggested_and_never_believed(typeset: Typeset) -> None:
    found = shipped_findings(candidates_of(typeset(LETTERHEAD_BELOW)))

    assert found["seller.name"].value == "MAISON DUPONT SARL"
    assert found["seller.address"].value == "3 rue de la Gare 75010 Paris"
    assert max(found[path].probability for path in ("seller.name", "seller.address")) <= 0.5
