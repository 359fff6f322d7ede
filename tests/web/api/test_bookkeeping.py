"""Bookings of the vault's documents, as they are downloaded."""

import csv
import io
import zipfile
from collections.abc import Awaitable, Callable
from decimal import Decimal
from typing import Any
from uuid import UUID

import httpx
import pytest
from lxml import etree

from docmill.service.app import Service
from docmill.service.config.bookkeeping import Bookkeeping
from docmill.service.config.settings import Settings
from docmill.service.exports.bookings import COPY
from docmill.service.exports.datev import COLUMNS
from docmill.service.store import documents

Add = Callable[..., Awaitable[UUID]]
Finish = Callable[..., Awaitable[None]]

YEAR = {"from": "2026-01-01", "to": "2026-12-31"}
BILL: dict[str, Any] = {
    "number": "RE-2026/0815",
    "issue_date": "2026-11-03",
    "due_date": "2026-12-03",
    "seller": {"name": "Müller & Söhne GmbH", "vat_id": "DE136695976"},
    "buyer": {"name": "Käufer AG", "vat_id": "DE811569869"},
    "currency": "EUR",
    "net_total": "1000.00",
    "tax_total": "190.00",
    "gross_total": "1190.00",
}


@pytest.fixture
def bookkeeping() -> Bookkeeping:
    return Bookkeeping(consultant_number=29098, client_number=55003)


@pytest.fixture
def settings(settings: Settings, bookkeeping: Bookkeeping) -> Settings:
    return settings.model_copy(update={"bookkeeping": bookkeeping})


@pytest.fixture
def bill(add: Add, finish: Finish) -> Callable[..., Awaitable[UUID]]:
    """Adds a bill. changes: to its values."""
    count = 0

    async def add_bill(kind: str = "invoice", *, ready: bool = True, **changes: object) -> UUID:
        nonlocal count
        count += 1
        document_id = await add(f"{kind} {count}.pdf")
        await finish(
            document_id,
            classification={"document_type": kind, "title": "Bill"},
            structured_data={**BILL, **changes},
            valid_structured_data=ready,
        )
        return document_id

    return add_bill


Bill = Callable[..., Awaitable[UUID]]


async def datev(client: httpx.AsyncClient, **params: str) -> tuple[str, list[dict[str, str]], bytes]:
    """The header and the rows of the file, and its bytes."""
    response = await client.get("/api/v1/exports/datev.csv", params={**YEAR, **params})
    assert response.status_code == 200, response.text
    head, columns, *rows = response.content.decode("windows-1252").split("\r\n")
    assert rows.pop() == ""
    assert columns.split(";") == list(COLUMNS)
    reader = csv.reader(rows, delimiter=";")
    return head, [dict(zip(COLUMNS, row, strict=True)) for row in reader], response.content


async def left_out(client: httpx.AsyncClient, **params: str) -> list[str]:
    response = await client.get("/api/v1/exports/bookings", params={**YEAR, **params})
    assert response.status_code == 200, response.text
    return [document["reason"] for document in response.json()["left_out"]]


async def test_an_invoice_is_booked_in_the_datev_format(client: httpx.AsyncClient, bill: Bill) -> None:
    document_id = await bill()

    head, (row,), content = await datev(client)

    fields = head.split(";")
    assert len(fields) == 31
    assert fields[:5] == ['"EXTF"', "700", "21", '"Buchungsstapel"', "13"]
    assert len(fields[5]) == 17
    assert fields[10:16] == ["29098", "55003", "20260101", "4", "20260101", "20261231"]
    assert fields[18:22] == ["1", "0", "0", '"EUR"']
    assert fields[26] == '"03"'
    assert len(COLUMNS) == 125
    assert row["Umsatz (ohne Soll/Haben-Kz)"] == "1190,00"
    assert (row["Soll/Haben-Kennzeichen"], row["WKZ Umsatz"]) == ("H", "EUR")
    assert (row["Konto"], row["Gegenkonto (ohne BU-Schlüssel)"], row["BU-Schlüssel"]) == (
        "70000",
        "4980",
        "9",
    )
    assert (row["Belegdatum"], row["Belegfeld 1"], row["Belegfeld 2"]) == ("0311", "RE-2026/0815", "031226")
    assert row["Buchungstext"] == "Müller & Söhne GmbH RE-2026/0815"
    assert row["Beleginfo - Inhalt 1"] == str(document_id)
    assert '"Müller & Söhne GmbH RE-2026/0815"'.encode("windows-1252") in content
    assert b';"H";"EUR";;;"";70000;4980;"9";0311;' in content


async def test_a_credit_note_and_a_receipt_are_booked_on_their_sides(
    client: httpx.AsyncClient, bill: Bill
) -> None:
    await bill("credit_note")
    await bill("receipt")
    await bill("receipt", payment={"method": "48"})

    _, rows, _ = await datev(client)

    booked = [(row["Konto"], row["Soll/Haben-Kennzeichen"]) for row in rows]
    assert booked == [("1360", "H"), ("1000", "H"), ("70000", "S")]


async def test_each_tax_rate_is_a_line(client: httpx.AsyncClient, bill: Bill) -> None:
    lines = [{"net_amount": "100.00", "tax_rate": "19"}, {"net_amount": "100.00", "tax_rate": "7"}]
    await bill(lines=lines, net_total="200.00", tax_total="26.00", gross_total="226.00")

    _, rows, _ = await datev(client)

    amounts = [(row["Umsatz (ohne Soll/Haben-Kz)"], row["BU-Schlüssel"]) for row in rows]
    assert amounts == [("107,00", "8"), ("119,00", "9")]


class TestOwnInvoices:
    @pytest.fixture
    def bookkeeping(self) -> Bookkeeping:
        return Bookkeeping(
            chart="SKR04",
            account_length=5,
            consultant_number=1001,
            client_number=1,
            own_vat_ids=("DE 136695976",),
            debtors={"Käufer AG": 100001},
        )

    async def test_one_s_own_invoice_is_a_revenue(self, client: httpx.AsyncClient, bill: Bill) -> None:
        await bill()

        head, (row,), _ = await datev(client)

        assert head.split(";")[26] == '"04"'
        assert (row["Konto"], row["Gegenkonto (ohne BU-Schlüssel)"]) == ("100001", "42000")
        assert (row["Soll/Haben-Kennzeichen"], row["BU-Schlüssel"]) == ("S", "3")


async def test_what_cannot_be_booked_is_named_with_the_reason(client: httpx.AsyncClient, bill: Bill) -> None:
    await bill("delivery_note")
    await bill(ready=False)
    await bill(issue_date=None)
    await bill(currency="USD")
    await bill(currency=None)
    await bill(gross_total=None)
    await bill(tax_total="120.00", net_total="1070.00")
    rate_5 = [{"net_amount": "1000.00", "tax_rate": "5"}]
    await bill(lines=rate_5, tax_total="50.00", gross_total="1050.00")

    _, rows, _ = await datev(client)

    assert rows == []
    assert sorted(await left_out(client)) == [
        "it is no bill but: delivery note",
        "it is not ready: needs review",
        "its currency is USD, and no exchange rate is known",
        "its currency is not known: correct it, or set bookkeeping.currency",
        "its date is not known",
        "its tax rates are not known, or its amounts do not add up by them",
        "its total is not known",
        "there is no tax key for 5 %: set bookkeeping.input_tax_keys",
    ]
    assert len((await datev(client, every_state="true"))[1]) == 1


async def test_a_known_duplicate_is_booked_once(
    client: httpx.AsyncClient, bill: Bill, service: Service
) -> None:
    first, second = await bill(), await bill()
    async with service.database.tenant(service.default_tenant_id) as conn:
        await conn.execute(
            """
            INSERT INTO near_duplicate (document_id, other_id, tenant_id, why, is_duplicate, decided_at)
            VALUES (%s, %s, %s, 'same number', true, now())
            """,
            [second, first, service.default_tenant_id],
        )

    _, rows, _ = await datev(client)

    assert [row["Beleginfo - Inhalt 1"] for row in rows] == [str(first)]
    assert await left_out(client) == ["it is a duplicate of another document"]


async def test_only_bills_of_the_period_are_booked(client: httpx.AsyncClient, bill: Bill) -> None:
    await bill()
    await bill(issue_date="2026-10-31")
    november = {"from": "2026-11-01", "to": "2026-11-30"}

    _, rows, _ = await datev(client, **november)
    preview = (await client.get("/api/v1/exports/bookings", params=november)).json()

    assert [row["Belegdatum"] for row in rows] == ["0311"]
    assert preview == {"booked": 1, "outside": 1, "left_out": []}


@pytest.mark.parametrize(
    "period",
    [
        {},
        {"from": "2026-01-01"},
        {"from": "2026-02-01", "to": "2026-01-01"},
        {"from": "2025-12-01", "to": "2026-01-31"},
        {"from": "soon", "to": "2026-01-31"},
    ],
)
async def test_a_period_lies_in_one_fiscal_year(client: httpx.AsyncClient, period: dict[str, str]) -> None:
    response = await client.get("/api/v1/exports/datev.csv", params=period)

    assert response.status_code == 422
    assert response.json()["code"] == "validation"


async def test_texts_keep_to_the_format(client: httpx.AsyncClient, bill: Bill) -> None:
    await bill(number='=1+1";x\n', seller={"name": '=cmd|"A" \u0141ódź\r\n\u5317\u4eac' + "x" * 80})

    _, (row,), content = await datev(client)

    assert content.count(b"\r\n") == 3
    assert row["Belegfeld 1"] == "1+1x"
    assert row["Buchungstext"].startswith('cmd|"A" ')
    assert len(row["Buchungstext"]) <= 60
    assert "ód" in row["Buchungstext"]


class TestWithoutNumbers:
    @pytest.fixture
    def bookkeeping(self) -> Bookkeeping:
        return Bookkeeping()

    async def test_datev_asks_for_consultant_and_client(self, client: httpx.AsyncClient) -> None:
        response = await client.get("/api/v1/exports/datev.csv", params=YEAR)

        assert response.status_code == 422
        assert "bookkeeping.consultant_number" in response.json()["detail"]


async def test_the_ledger_is_balanced(client: httpx.AsyncClient, bill: Bill) -> None:
    ids = [await bill(), await bill("credit_note"), await bill("receipt", currency="USD", number="=1+1")]

    response = await client.get("/api/v1/exports/ledger.csv")

    rows = list(csv.DictReader(io.StringIO(response.content.decode("utf-8-sig"), newline="")))
    for document_id in ids:
        own = [row for row in rows if row["document_id"] == str(document_id)]
        debit = sum(Decimal(row["debit"] or 0) for row in own)
        assert debit == sum(Decimal(row["credit"] or 0) for row in own) == Decimal("1190.00")
    invoice = [row for row in rows if row["document_id"] == str(ids[0])]
    moves = [(row["account"], row["debit"], row["credit"]) for row in invoice]
    assert moves == [("4980", "1000.00", ""), ("1576", "190.00", ""), ("70000", "", "1190.00")]
    assert {row["number"] for row in rows if row["currency"] == "USD"} == {"'=1+1"}


class TestWithACurrencyOfItsOwn:
    @pytest.fixture
    def bookkeeping(self) -> Bookkeeping:
        return Bookkeeping(currency="EUR")

    async def test_bills_without_one_are_booked_in_it(self, client: httpx.AsyncClient, bill: Bill) -> None:
        await bill("receipt", currency=None)
        await bill("receipt", currency="CHF")

        response = await client.get("/api/v1/exports/ledger.csv")

        rows = list(csv.DictReader(io.StringIO(response.content.decode("utf-8-sig"), newline="")))
        assert {row["currency"] for row in rows} == {"EUR", "CHF"}


WITHOUT_VAT = {"net_total": "500.00", "tax_total": "0.00", "gross_total": "500.00"}
OWN = {"seller": BILL["buyer"], "buyer": {"name": "Kunde SARL", "vat_id": "FR 40303265045"}}


@pytest.mark.parametrize(
    ("changes", "key"),
    [
        ({"tax_category": "AE"}, "94"),
        ({"tax_category": "K"}, "19"),
        ({"tax_category": "AE", "seller": {"name": "Buchhaus BV"}}, "91"),
        ({"tax_category": "K", "seller": {"name": "Buchhaus", "vat_id": "NL 004495445 B01"}}, "18"),
        ({"tax_category": "E"}, ""),
        ({"tax_category": "O"}, ""),
        ({"tax_category": "E O"}, ""),
        ({"tax_category": "K", **OWN}, "11"),
        ({"tax_category": "G", **OWN}, "1"),
        ({"tax_category": None}, ""),
    ],
)
class TestBillsWithoutVat:
    @pytest.fixture
    def bookkeeping(self) -> Bookkeeping:
        return Bookkeeping(
            consultant_number=29098,
            client_number=55003,
            own_vat_ids=("DE811569869",),
            reduced_sellers=("Buchhaus BV", "NL004495445B01"),
        )

    async def test_the_key_is_that_of_the_category(
        self, client: httpx.AsyncClient, bill: Bill, changes: dict[str, Any], key: str
    ) -> None:
        await bill(**{**WITHOUT_VAT, **changes})

        _, (row,), _ = await datev(client)

        assert (row["Umsatz (ohne Soll/Haben-Kz)"], row["BU-Schlüssel"]) == ("500,00", key)
        is_supply = changes["tax_category"] == "K" and "buyer" in changes
        assert row["EU-Land u. UStID (Bestimmung)"] == ("FR40303265045" if is_supply else "")


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        (
            {"tax_category": "G"},
            "Export outside the EU (G): no tax key is set; set bookkeeping.input_category_keys",
        ),
        (
            {"tax_category": "AE K"},
            "it has several VAT categories without VAT (AE, K); book it by hand",
        ),
    ],
)
async def test_a_bill_without_vat_and_without_a_key_is_left_out(
    client: httpx.AsyncClient, bill: Bill, changes: dict[str, Any], reason: str
) -> None:
    await bill(**{**WITHOUT_VAT, **changes})

    _, rows, _ = await datev(client)

    assert rows == []
    assert await left_out(client) == [reason]


class TestNoKeys:
    @pytest.fixture
    def bookkeeping(self) -> Bookkeeping:
        return Bookkeeping(
            consultant_number=29098,
            client_number=55003,
            own_vat_ids=("DE811569869",),
            input_category_keys={},
            reduced_category_keys={},
            reduced_sellers=("Buchhaus BV",),
        )

    async def test_each_setting_is_named_that_lacks_a_key(
        self, client: httpx.AsyncClient, bill: Bill
    ) -> None:
        await bill(**WITHOUT_VAT, tax_category="AE")
        await bill(**WITHOUT_VAT, tax_category="K", seller={"name": "Buchhaus BV"})
        await bill(**WITHOUT_VAT, tax_category="AE", **OWN)

        assert sorted(await left_out(client)) == [
            "Intra-Community supply (K): no tax key is set; set bookkeeping.reduced_category_keys",
            "Reverse charge (AE): no tax key is set; set bookkeeping.input_category_keys",
            "Reverse charge (AE): no tax key is set; set bookkeeping.output_category_keys",
        ]


async def test_a_bill_that_is_attached_to_the_same_bill_is_booked_once(
    client: httpx.AsyncClient, service: Service, bill: Bill
) -> None:
    xml, copy, other = await bill(), await bill(), await bill(number="A-1")
    async with service.database.tenant(service.default_tenant_id) as conn:
        for position, child_id in enumerate((copy, other), 1):
            await conn.execute(
                """
                INSERT INTO part (tenant_id, parent_id, position, kind, name, child_id, root_ingestion_id)
                SELECT tenant_id, document_id, %s, 'attachment', %s, %s, id FROM ingestion
                 WHERE document_id = %s
                """,
                (position, f"{position}.pdf", child_id, xml),
            )

    _, rows, _ = await datev(client)

    assert {row["Beleginfo - Inhalt 1"] for row in rows} == {str(xml), str(other)}
    assert await left_out(client) == [COPY]


async def test_an_archive_has_the_bookings_and_the_documents_they_link_to(
    client: httpx.AsyncClient, bill: Bill
) -> None:
    booked = [await bill(), await bill(number="A-2")]
    await bill(currency="USD")

    response = await client.get("/api/v1/exports/datev.zip", params=YEAR)

    assert response.status_code == 200, response.text
    assert 'filename="EXTF_Buchungsstapel_20260101_20261231.zip"' in response.headers["content-disposition"]
    archive = zipfile.ZipFile(io.BytesIO(response.content))
    assert archive.testzip() is None
    bookings, *originals, manifest = archive.namelist()
    assert (bookings, manifest) == ("EXTF_Buchungsstapel_20260101_20261231.csv", "document.xml")
    assert sorted(originals) == ["invoice 1.pdf", "invoice 2.pdf"]
    text = archive.read(bookings).decode("windows-1252")
    rows = list(csv.DictReader(text.splitlines()[1:], delimiter=";"))
    assert {row["Beleglink"] for row in rows} == {f'BEDI "{document_id}"' for document_id in booked}
    assert f'"BEDI ""{booked[0]}"""' in text
    root = etree.fromstring(archive.read(manifest))
    space = "{http://xml.datev.de/bedi/tps/document/v06.0}"
    assert (root.tag, root.get("version")) == (f"{space}archive", "6.0")
    files = {
        document.get("guid"): document[0].get("name") for document in root.iterfind(f".//{space}document")
    }
    assert files == {str(booked[0]): "invoice 1.pdf", str(booked[1]): "invoice 2.pdf"}


async def test_a_file_without_documents_has_no_links(client: httpx.AsyncClient, bill: Bill) -> None:
    await bill()

    _, (row,), _ = await datev(client)

    assert row["Beleglink"] == ""


async def test_an_original_that_is_gone_is_not_in_the_archive(
    client: httpx.AsyncClient, service: Service, bill: Bill
) -> None:
    document_id = await bill()
    async with service.database.tenant(service.default_tenant_id) as conn:
        row = await documents.get(conn, document_id)
    assert row is not None
    await service.blobs.delete(row.file_path)

    response = await client.get("/api/v1/exports/datev.zip", params=YEAR)

    archive = zipfile.ZipFile(io.BytesIO(response.content))
    assert archive.namelist() == ["EXTF_Buchungsstapel_20260101_20261231.csv", "document.xml"]
    assert str(document_id).encode() not in archive.read("document.xml")
