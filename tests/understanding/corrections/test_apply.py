"""Corrections of earlier documents, applied when another is read."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from docmill.model.corrections import Corrections, LayoutWeights, ReviewedValues
from docmill.model.document import Box, Document
from docmill.model.paths import leaves
from docmill.model.result import Extraction, Schema
from docmill.schemas.registry import REGISTRY
from docmill.schemas.user_schemas import schema_of
from docmill.understanding.corrections.apply import make_correction
from docmill.understanding.corrections.fit import CorrectedDocument, fit_layout
from docmill.understanding.gate import RuleGate
from docmill.understanding.offline import correct, read_pages
from docmill.understanding.receipts.extractor import extract_built_in

Typeset = Callable[..., Document]

INVOICE, RECEIPT = REGISTRY["invoice"], REGISTRY["receipt"]
JOB = schema_of(
    {
        "title": "job",
        "type": "object",
        "properties": {"job_number": {"type": "string"}, "workshop": {"type": "string"}},
    }
)


def read(document: Document, schema: Schema, *earlier: CorrectedDocument) -> Extraction:
    """What is read of the document after these, the latest first."""
    found = read_pages(document, schema)
    if not earlier:
        return found
    layout = LayoutWeights.of_content(fit_layout(schema, earlier).content())
    return correct(document, schema, found, Corrections(tuple(one.correction for one in earlier), layout))


def said(
    document: Document,
    schema: Schema,
    values: Mapping[str, object],
    places: Mapping[str, tuple[int, Box]] | None = None,
) -> CorrectedDocument:
    """The document with what a person says of it."""
    before = read_pages(document, schema)
    given = ReviewedValues("first.pdf", values, places or {})
    return CorrectedDocument(document, make_correction(document, given, before))


def value(extraction: Extraction, path: str) -> Any:  # noqa: ANN401 - of any field
    return dict(leaves(extraction.data)).get(path)


def receipt(name: str, address: str = "12 JALAN MAWAR 3, TAMAN INDAH\n       81100 JOHOR BAHRU") -> str:
    return f"""
       {name}
          (123456-X)
   {address}
   TEL: 07-355 1234
   GST ID: 001234567890

   Date: 01/03/2018   Receipt 00001

   Pencil                 2.50
   TOTAL                  2.50
"""


NAME = "Kedai Buku Maju Sdn Bhd"
ADDRESS = "12 Jalan Mawar 3, Taman Indah, 81100 Johor Bahru"


class TestVendors:
    @pytest.fixture
    def before(self, typeset: Typeset) -> CorrectedDocument:
        document = typeset(receipt("K3DAI BUKU MAJ0 SDN 8HD"), source="ocr")
        return said(document, RECEIPT, {"seller.name": NAME, "seller.address": ADDRESS})

    def test_the_reason_which_is_logged_names_no_value_and_no_file(
        self, typeset: Typeset, before: CorrectedDocument
    ) -> None:
        found = read(typeset(receipt("KEDA1 BUKU MAJU S0N BHD"), source="ocr"), RECEIPT, before)

        assert "first.pdf" in " ".join(proof.reason for proof in found.evidence.values())
        assert "first.pdf" not in found.reason
        assert [leaf for _, leaf in leaves(found.data) if str(leaf) in found.reason] == []

    def test_a_misread_name_is_put_right_where_it_was_read(
        self, typeset: Typeset, before: CorrectedDocument
    ) -> None:
        found = read(typeset(receipt("KEDA1 BUKU MAJU S0N BHD"), source="ocr"), RECEIPT, before)

        proof = found.evidence["seller.name"]
        assert value(found, "seller.name") == NAME
        assert (proof.text, proof.match) == ("KEDA1 BUKU MAJU S0N BHD", "normalised")
        assert proof.reason == "as you confirmed on first.pdf"
        assert value(found, "seller.address") == ADDRESS
        assert found.reason.endswith("; 2 values as people confirmed before")

    def test_an_address_that_is_not_printed_here_is_not_given(
        self, typeset: Typeset, before: CorrectedDocument
    ) -> None:
        other = receipt(NAME.upper(), "77 JALAN BESAR\n       47500 SUBANG JAYA")
        none = receipt(NAME.upper(), "")

        moved = read(typeset(other, source="ocr"), RECEIPT, before)
        missing = read(typeset(none, source="ocr"), RECEIPT, before)

        assert "MAWAR" not in str(value(moved, "seller.address")).upper()
        assert not moved.evidence["seller.address"].reason
        assert "MAWAR" not in str(value(missing, "seller.address")).upper()

    def test_an_address_that_says_more_than_the_known_one_is_that_of_another_branch(
        self, typeset: Typeset
    ) -> None:
        head = "12 JALAN MAWAR 3, TAMAN INDAH\n       81100 JOHOR BAHRU"
        first = typeset(receipt(NAME.upper(), head), source="ocr")
        address = value(read(first, RECEIPT), "seller.address")
        before = said(first, RECEIPT, {"seller.address": address})
        second = typeset(receipt(NAME.upper(), f"{head} 1422-TMN DESA JAYA CAWANGAN BESAR"), source="ocr")

        assert value(read(second, RECEIPT, before), "seller.address") == value(
            read(second, RECEIPT), "seller.address"
        )

    def test_a_name_that_is_not_printed_goes_to_a_person(
        self, typeset: Typeset, before: CorrectedDocument
    ) -> None:
        document = typeset(receipt("@@ ~~~"), source="ocr")

        found = read(document, RECEIPT, before)

        proof = found.evidence["seller.name"]
        assert (value(found, "seller.name"), proof.match, proof.box) == (NAME, "none", None)
        assert "not found on this document" in proof.reason
        verdict = RuleGate().judge(document, found, RECEIPT)
        assert any("seller.name" in failure.fields for failure in verdict.failures)

    def test_another_vendor_is_read_as_before(self, typeset: Typeset, before: CorrectedDocument) -> None:
        other = typeset(
            receipt("KEDAI ROTI SDN BHD")
            .replace("123456-X", "654321-A")
            .replace("1234567890", "9876543210")
            .replace("355 1234", "777 8888"),
            source="ocr",
        )

        assert read(other, RECEIPT, before) == read(other, RECEIPT)


INVOICE_TEXT = """
                                        Northwind Supplies
                                        VAT ID DE136695976

Invoice to: Example Company Ltd
            4 River Street, 10115 Berlin

Our sign        RX-{number:04}
Invoice number  {number:04}/2026
Invoice date    {day:02}.03.2026

Consulting                           100.00 EUR
VAT 19 %                              19.00 EUR
Total amount                         119.00 EUR

Northwind Supplies, 12 Harbour Road, 20095 Hamburg
"""


def invoice(number: int) -> str:
    return INVOICE_TEXT.format(number=number, day=number)


class TestInvoices:
    def test_what_the_seller_calls_the_number_is_read_after_one_correction(self, typeset: Typeset) -> None:
        assert value(read(typeset(invoice(2)), INVOICE), "number") == "0002/2026"
        before = said(typeset(invoice(1)), INVOICE, {"number": "RX-0001"})

        found = read(typeset(invoice(2)), INVOICE, before)

        assert value(found, "number") == "RX-0002"
        assert found.evidence["number"].text == "RX-0002"
        assert found.evidence["number"].reason == "where you said it stands on first.pdf"
        assert value(found, "gross_total") == value(read(typeset(invoice(2)), INVOICE), "gross_total")

    def test_a_name_is_taken_where_it_is_printed(self, typeset: Typeset) -> None:
        before = said(typeset(invoice(1)), INVOICE, {"seller.name": "Northwind Supplies"})

        found = read(typeset(invoice(2)), INVOICE, before)

        assert value(found, "seller.name") == "Northwind Supplies"
        assert found.evidence["seller.name"].reason == "as you confirmed on first.pdf"

    @pytest.mark.parametrize("source", ["text", "ocr"])
    def test_another_account_is_never_taken_for_the_known_one(self, typeset: Typeset, source: str) -> None:
        known, other = "DE89370400440532013000", "DE02120300000000202051"
        first = typeset(invoice(1) + f"IBAN  {known}\n", source=source)
        before = said(first, INVOICE, {"payment.iban": known, "currency": "EUR"})
        second = typeset(
            invoice(2).replace("EUR", "USD") + f"IBAN  {other}\n{known} and EUR are not used any more\n",
            source=source,
        )

        found = read(second, INVOICE, before)

        assert value(read(first, INVOICE, before), "payment.iban") == known
        assert value(found, "payment.iban") == other
        assert value(found, "currency") == "USD"

    def test_corrections_that_contradict_each_other_change_nothing(self, typeset: Typeset) -> None:
        corrected = said(typeset(invoice(1)), INVOICE, {"number": "RX-0001"})
        confirmed = [
            said(typeset(invoice(number)), INVOICE, {"number": f"{number:04}/2026"}) for number in (2, 3)
        ]

        found = read(typeset(invoice(4)), INVOICE, *confirmed, corrected)

        assert value(found, "number") == "0004/2026"

    def test_a_value_that_stands_nowhere_teaches_no_place(self, typeset: Typeset) -> None:
        before = said(typeset(invoice(1)), INVOICE, {"number": "not printed at all"})

        assert value(read(typeset(invoice(2)), INVOICE, before), "number") == "0002/2026"

    def test_a_value_is_left_out_where_people_cleared_it(self, typeset: Typeset) -> None:
        before = said(typeset(invoice(1)), INVOICE, {"number": None, "order_number": None})
        lower = typeset("Copy\n\n\n\n\n" + invoice(2))

        found = read(typeset(invoice(2)), INVOICE, before)

        assert value(found, "number") is None
        assert "number" not in found.evidence
        assert found.reason.endswith("; 1 value left out where people cleared them before")
        assert value(read(lower, INVOICE, before), "number") == "0002/2026"

    def test_a_value_that_was_confirmed_since_is_read(self, typeset: Typeset) -> None:
        cleared = said(typeset(invoice(1)), INVOICE, {"number": None})
        confirmed = said(typeset(invoice(2)), INVOICE, {"number": "0002/2026"})

        assert value(read(typeset(invoice(3)), INVOICE, confirmed, cleared), "number") == "0003/2026"


TICKET = """
Riverside Bicycles of the old town

Workshop ticket of the garage by the river
Please bring this paper along when collecting
Kennung       KN{number:05}
Job number    {number}4711
"""


class TestOwnSchemas:
    def test_a_text_is_taken_where_it_stood_before(self, typeset: Typeset) -> None:
        first = typeset(TICKET.format(number=1))
        place = next(first.pages[0].find("Riverside Bicycles")).box
        assert value(read(first, JOB), "workshop") != "Riverside Bicycles"
        before = said(first, JOB, {"workshop": "Riverside Bicycles"}, {"workshop": (1, place)})

        found = read(typeset(TICKET.format(number=2)), JOB, before)
        elsewhere = read(
            typeset("\n\n\n\n" + TICKET.format(number=2).replace("Riverside Bicycles", "Other Garage")),
            JOB,
            before,
        )

        assert value(found, "workshop") == "Riverside Bicycles"
        assert value(elsewhere, "workshop") != "Riverside Bicycles"

    def test_a_text_that_was_cleared_since_is_not_taken(self, typeset: Typeset) -> None:
        first = typeset(TICKET.format(number=1))
        place = next(first.pages[0].find("Riverside Bicycles")).box
        given = said(first, JOB, {"workshop": "Riverside Bicycles"}, {"workshop": (1, place)})
        cleared = said(first, JOB, {"workshop": None})

        assert value(read(typeset(TICKET.format(number=2)), JOB, cleared, given), "workshop") is None

    def test_a_place_where_no_such_value_stands_gives_none(self, typeset: Typeset) -> None:
        counted = schema_of(
            {"title": "count", "type": "object", "properties": {"job_number": {"type": "integer"}}}
        )
        text = "Workshop by the river\nplease bring this paper\nKennung       {}\nJob number  7\n"
        before = said(typeset(text.format(41)), counted, {"job_number": 41})

        assert value(read(typeset(text.format(42)), counted, before), "job_number") == 42
        assert value(read(typeset(text.format("42.5")), counted, before), "job_number") != 42

    def test_a_corrected_place_is_read_again(self, typeset: Typeset) -> None:
        before = said(typeset(TICKET.format(number=1)), JOB, {"job_number": "KN00001"})

        assert value(read(typeset(TICKET.format(number=2)), JOB, before), "job_number") == "KN00002"


def test_without_earlier_documents_nothing_changes(typeset: Typeset) -> None:
    document = typeset(invoice(1))

    assert read(document, INVOICE) == extract_built_in(document, INVOICE)


POWER_TEXT = """{name}
{street}
50667 Musterstadt


Rechnung                                Rechnungsnummer: {number}
                                        Datum: 05.03.2024
An: Blue Whale AG   USt-IdNr. DE136695976
Hafenweg 1, 20095 Hamburg

Strom                                       119.00
Gesamtbetrag                                119.00 EUR
"""


class TestRecipientsNumbers:
    """The reader's own VAT identifier stands on papers of everybody who writes to it."""

    @pytest.fixture
    def before(self, typeset: Typeset) -> CorrectedDocument:
        text = POWER_TEXT.format(name="Stadtwerke Köln GmbH", street="Domstrasse 1", number="K-100")
        return said(typeset(text, source="ocr"), INVOICE, {"seller.name": "Stadtwerke Köln GmbH"})

    @pytest.mark.parametrize("name", ["Stadtwerke Bonn GmbH", "Alpha Software AG"])
    def test_another_seller_is_not_taken_for_the_known_one(
        self, name: str, typeset: Typeset, before: CorrectedDocument
    ) -> None:
        text = POWER_TEXT.format(name=name, street="Rheinweg 9", number="B-200")

        found = read(typeset(text, source="ocr"), INVOICE, before)

        assert value(found, "seller.name") == name
        assert not found.evidence["seller.name"].reason

    def test_a_letter_misread_is_still_put_right(self, typeset: Typeset, before: CorrectedDocument) -> None:
        text = POWER_TEXT.format(name="Stadtwerke Koln GmbH", street="Domstrasse 1", number="K-101")

        found = read(typeset(text, source="ocr"), INVOICE, before)

        assert value(found, "seller.name") == "Stadtwerke Köln GmbH"


def ticket(workshop: str, number: int) -> str:
    return f"""
    Riverside workshop ticket
    Please bring this paper along when collecting

    Workshop      {workshop} ({number})
    Job number    {number}4711
    """


@pytest.mark.parametrize(("kept", "asked"), [(2, True), (0, False)])
def test_where_people_disagree_on_a_part_in_brackets_its_end_is_asked_about(
    typeset: Typeset, kept: int, *, asked: bool
) -> None:
    names = ("Harbour Ltd", "Quay Brothers", "Mill and Sons", "Lock Works")
    earlier = [
        said(
            typeset(ticket(name, 20 + index)),
            JOB,
            {"workshop": f"{name} ({20 + index})" if index < kept else name},
        )
        for index, name in enumerate(names)
    ]

    found = read(typeset(ticket("Pier Garage", 77)), JOB, *earlier)

    proof = found.evidence["workshop"]
    assert ("cannot be learned" in (proof.reason or "")) is asked
    assert (proof.confidence <= 0.5) is asked
