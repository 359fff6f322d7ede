"""Files of banks from their bytes to judged bookings with their places."""

from pathlib import Path
from typing import cast

import pytest

from docmill.errors import CorruptError, TooLargeError
from docmill.model import codec
from docmill.model.document import Document
from docmill.model.result import Extraction, Failure
from docmill.reading.child import tasks
from docmill.reading.files.options import ReadingOptions
from docmill.reading.statements.parsed import MAX_BYTES
from docmill.reading.statements.statement_files import UNREADABLE
from docmill.schemas.registry import REGISTRY
from docmill.schemas.statement_data import STATEMENT_DATA
from docmill.schemas.types import BankStatement
from docmill.understanding.gate import RuleGate
from docmill.understanding.offline import extract, understand
from support.bank_statements import (
    CAMT_ENTRY,
    CREDIT_DETAILS,
    MT940,
    OFX_1,
    OFX_2,
    OTHER_IBAN,
    OWN_IBAN,
    camt,
)

OPTIONS = ReadingOptions()
TABLE = f"""\
Konto;{OWN_IBAN}

Buchungstag;Valuta;Name;IBAN;Referenz;Verwendungszweck;Soll;Haben
13.11.2026;13.11.2026;Stadtwerke;{OTHER_IBAN};E-1;Strom;45,20;
14.11.2026;14.11.2026;Stadtwerke;{OTHER_IBAN};E-1;Strom;45,20;
14.11.2026;14.11.2026;Groot BV;;;INV 4711;;1.250,00
"""


def entry(amount: str, side: str = "CRDT") -> str:
    return CAMT_ENTRY.format(amount=amount, side=side, more="", status="BOOK", details="")


def document_of(content: bytes, folder: Path) -> Document:
    path = folder / "statement"
    path.write_bytes(content)
    opened = tasks.open_original(path, OPTIONS)
    pages = tasks.read_flow(path, opened.media_type, OPTIONS).pages
    document = Document("0" * 64, opened.media_type, pages, embedded=opened.embedded)
    return codec.loads(codec.dumps(document))


def statement_of(extraction: Extraction) -> BankStatement:
    return cast("BankStatement", extraction.data)


def failures_of(document: Document, extraction: Extraction) -> list[Failure]:
    return list(RuleGate().judge(document, extraction, REGISTRY["bank_statement"]).failures)


@pytest.mark.parametrize(
    ("content", "media_type", "by"),
    [
        (camt(entry("2.00"), closing="102.00"), "application/x-camt+xml", "CAMT.053"),
        (camt(entry("2.00"), version="054.001.08"), "application/x-camt+xml", "CAMT.054"),
        (MT940.encode(), "application/x-mt940", "MT940"),
        (OFX_1.encode("cp1252"), "application/x-ofx", "OFX"),
        (TABLE.encode(), "text/csv", "CSV"),
    ],
)
def test_a_file_of_a_bank_is_a_believed_statement_with_places(
    content: bytes, media_type: str, by: str, tmp_path: Path
) -> None:
    document = document_of(content, tmp_path)

    classification, extraction = understand(document)

    assert document.media_type == media_type
    assert classification.document_type == "bank_statement"
    assert classification.confidence == 1
    assert classification.document_date is not None
    assert extraction.steps[0].by == f"bookings of the {by} file"
    assert failures_of(document, extraction) == []
    assert {proof.match for proof in extraction.evidence.values()} <= {"exact", "normalised"}
    for index, booking in enumerate(statement_of(extraction).transactions):
        proof = extraction.evidence[f"transactions[{index}].amount"]
        assert proof.page == 1
        assert f"{abs(booking.amount or 0):.2f}" in (proof.text or "").replace(".", "").replace(",", ".") or (
            str(booking.amount) == proof.text
        )


def test_equal_bookings_have_places_of_their_own(tmp_path: Path) -> None:
    extraction = extract(document_of(TABLE.encode(), tmp_path), REGISTRY["bank_statement"])

    boxes = [extraction.evidence[f"transactions[{index}].description"].box for index in range(3)]
    assert len(set(boxes)) == 3
    assert [extraction.evidence[f"transactions[{index}].amount"].text for index in range(3)] == [
        "45,20",
        "45,20",
        "1.250,00",
    ]
    assert statement_of(extraction).iban == OWN_IBAN


def test_bookings_that_do_not_lead_to_the_closing_balance_are_for_a_person(tmp_path: Path) -> None:
    document = document_of(camt(entry("2.00"), closing="103.00"), tmp_path)

    failures = failures_of(document, understand(document).extraction)

    assert [failure.check for failure in failures] == ["bookings_sum"]


@pytest.mark.parametrize(("old", "new"), [(b"2026-11-03", b"0001-01-01"), (b"2026-11-05", b"9999-12-31")])
def test_the_first_and_the_last_of_all_days_are_for_a_person(old: bytes, new: bytes, tmp_path: Path) -> None:
    document = document_of(camt(entry("2.00"), closing="102.00").replace(old, new), tmp_path)

    failures = failures_of(document, understand(document).extraction)

    assert "date_range" in [failure.check for failure in failures]


@pytest.mark.parametrize("content", [MT940, OFX_1.replace("CHARSET:1252", "CHARSET:NONE"), TABLE])
def test_a_single_umlaut_is_read(content: str, tmp_path: Path) -> None:
    for old in ("Müller", "Stadtwerke"):
        content = content.replace(old, "Muller")
    document = document_of(content.replace("Muller", "Müller", 1).encode("cp1252"), tmp_path)

    extraction = understand(document).extraction

    bookings = statement_of(extraction).transactions
    ((index, booking),) = [each for each in enumerate(bookings) if "Müller" in (each[1].counterparty or "")]
    assert "ü" in (booking.counterparty or "")
    assert extraction.evidence[f"transactions[{index}].counterparty"].match == "exact"
    assert "statement_rows" not in [failure.check for failure in failures_of(document, extraction)]


@pytest.mark.parametrize("content", [MT940, OFX_1, TABLE])
def test_characters_that_cannot_be_read_are_for_a_person(content: str, tmp_path: Path) -> None:
    for old in ("Müller", "Stadtwerke"):
        content = content.replace(old, "M\ufffdller")
    document = document_of(content.encode(), tmp_path)

    failures = failures_of(document, understand(document).extraction)

    assert ("statement_rows", UNREADABLE) in [(failure.check, failure.message) for failure in failures]


def test_a_table_without_an_account_is_for_a_person(tmp_path: Path) -> None:
    document = document_of(TABLE.replace(OWN_IBAN, "").encode(), tmp_path)

    failures = failures_of(document, understand(document).extraction)

    assert [(failure.check, failure.fields) for failure in failures] == [("critical_missing", ("iban",))]


def test_rows_that_were_left_out_are_for_a_person(tmp_path: Path) -> None:
    content = (
        TABLE + "".join(f"{day}.11.2026;;A;;;x;;1,00\n" for day in range(15, 20)) + "offen;;B;;;y;;2,00\n"
    )

    extraction = understand(document_of(content.encode(), tmp_path)).extraction

    assert "statement_rows" in [failure.check for failure in extraction.failures]


def test_the_currency_of_the_account_is_that_of_bookings_that_state_none(tmp_path: Path) -> None:
    balance = f"Kontostand;1.159,60 EUR\n{TABLE}"

    extraction = understand(document_of(balance.encode(), tmp_path)).extraction

    assert [booking.currency for booking in statement_of(extraction).transactions] == ["EUR"] * 3


def test_a_booking_that_takes_more_than_a_page_has_no_place(tmp_path: Path) -> None:
    details = CREDIT_DETAILS.format(
        reference="R", name="<Nm>N</Nm>", remittance=f"<Ustrd>{'much to say ' * 2000}</Ustrd>"
    )
    content = camt(CAMT_ENTRY.format(amount="2.00", side="CRDT", more="", status="BOOK", details=details))
    document = document_of(content, tmp_path)

    extraction = understand(document).extraction

    assert extraction.evidence["transactions[0].amount"].match == "embedded"
    assert extraction.evidence["iban"].match == "exact"
    assert failures_of(document, extraction) == []


def test_bookings_keep_a_currency_of_their_own(tmp_path: Path) -> None:
    table = (
        f"Konto;{OWN_IBAN}\nKontostand;10,00 EUR\n\nBuchungstag;Name;Betrag;Währung\n"
        "13.11.2026;A;1,50;USD\n14.11.2026;B;2,50;\n"
    )

    extraction = understand(document_of(table.encode(), tmp_path)).extraction

    assert [booking.currency for booking in statement_of(extraction).transactions] == ["USD", "EUR"]


def test_a_statement_without_bookings_or_balances_is_one(tmp_path: Path) -> None:
    content = camt("", version="054.001.08").replace(b"<Ccy>EUR</Ccy>", b"").replace(OWN_IBAN.encode(), b"")
    document = document_of(content, tmp_path)

    classification, extraction = understand(document)

    assert classification.document_date is None
    assert classification.summary == "Bank statement with 0 bookings."
    assert {failure.check for failure in failures_of(document, extraction)} >= {"critical_missing"}


def test_a_file_that_is_too_large_or_has_too_many_statements_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "statement.sta"
    path.write_bytes(MT940.encode() + b"-\n" * (MAX_BYTES // 2))
    cards = tmp_path / "cards.ofx"
    cards.write_text(OFX_2)

    with pytest.raises(TooLargeError, match="download shorter periods"):
        tasks.open_original(path, OPTIONS)
    with pytest.raises(TooLargeError, match="2 statements, more than 1"):
        tasks.list_parts(cards, "application/x-ofx", ReadingOptions(max_parts=1))


def test_several_statements_of_a_file_are_parts(tmp_path: Path) -> None:
    path = tmp_path / "cards.ofx"
    path.write_text(OFX_2)

    opened = tasks.open_original(path, OPTIONS)
    parts = tasks.list_parts(path, opened.media_type, OPTIONS)
    taken = tasks.take_parts(path, opened.media_type, 0, 1_000_000, OPTIONS)

    assert opened.embedded == ()
    assert [(part.name, part.kind) for part in parts] == [
        ("4111 EUR.ofx", "section"),
        ("4222 USD.ofx", "section"),
    ]
    accounts = [document_of(content or b"", tmp_path) for content in taken.contents]
    assert [document.embedded[0].media_type for document in accounts] == [STATEMENT_DATA] * 2
    pages = tasks.read_flow(path, opened.media_type, OPTIONS).pages
    assert Document("0" * 64, opened.media_type, pages, parts=tuple(parts)).is_collection


def test_a_file_of_one_statement_has_no_parts(tmp_path: Path) -> None:
    path = tmp_path / "statement.sta"
    path.write_text(MT940)

    assert tasks.list_parts(path, "application/x-mt940", OPTIONS) == []


def test_a_person_may_choose_another_type(tmp_path: Path) -> None:
    extraction = extract(document_of(TABLE.encode(), tmp_path), REGISTRY["invoice"])

    assert extraction.document_type == "invoice"


def test_data_of_another_release_is_left_aside(tmp_path: Path) -> None:
    document = document_of(TABLE.encode(), tmp_path)
    (file,) = document.embedded
    other = Document(
        document.content_hash,
        document.media_type,
        document.pages,
        embedded=(type(file)(file.name, file.media_type, b'{"source": "CSV", "form": 2}'),),
    )

    extraction = understand(other).extraction

    assert len(statement_of(extraction).transactions) == 3


def test_long_statements_keep_every_booking(tmp_path: Path) -> None:
    document = document_of(camt(entry("2.00") * 3000, closing="6100.00"), tmp_path)

    extraction = understand(document).extraction

    assert len(statement_of(extraction).transactions) == 3000
    assert extraction.evidence["transactions[2999].amount"].page == len(document.pages)


@pytest.mark.parametrize(
    "content",
    [
        camt("")[:-20],
        camt("").replace(b"<Document", b"<!DOCTYPE Document SYSTEM 'a.dtd'>\n<Document"),
        camt("").replace(b"<Document", b"<!DOCTYPE Document [<!ENTITY a '>'>]>\n<Document"),
        camt("").replace(b"EUR", b"E\0R"),
        b":20:1\n:25:1\n:60F:C1\n",
        MT940.encode().replace(b"EUR", b"E\0R"),
        MT940.replace(":86:", ":86:" + "text\n" * 1000).encode() + b"\0",
        b"OFXHEADER:100\n\n<OFX>",
        OFX_2.replace("Shop", "Sh\0p").encode(),
    ],
)
def test_damaged_files_are_typed_errors_that_name_their_type(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "statement"
    path.write_bytes(content)

    with pytest.raises(CorruptError) as caught:
        tasks.open_original(path, OPTIONS)
    assert (caught.value.media_type or "").startswith("application/x-")
