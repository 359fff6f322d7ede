import httpx
import pytest

from docmill.model.statement_columns import StatementColumns
from docmill.service.app import Service
from docmill.service.store import statement_columns
from docmill.service.store.statement_columns import StatementColumnsRow

FOUND = StatementColumns(
    delimiter=";",
    headings=("Buchungstag", "Valuta", "Name", "Buchungstext", "Zweck", "Betrag"),
    date=0,
    date_order="dmy",
    decimal_mark=",",
    amount=5,
    counterparty=2,
    description=(4,),
)


async def rows(service: Service) -> list[StatementColumnsRow]:
    async with service.database.tenant(service.default_tenant_id) as conn:
        return await statement_columns.of_tenant(conn, tenant_id=service.default_tenant_id)


@pytest.fixture
async def row(service: Service) -> StatementColumnsRow:
    async with service.database.tenant(service.default_tenant_id) as conn:
        await statement_columns.keep(conn, FOUND, tenant_id=service.default_tenant_id)
    (row,) = await rows(service)
    return row


async def save(client: httpx.AsyncClient, row: StatementColumnsRow, *meanings: str) -> httpx.Response:
    form = {"meaning": list(meanings), "date_order": "ymd", "decimal_mark": "."}
    return await client.post(f"/settings/bank-tables/{row.id}", data=form)


@pytest.mark.usefixtures("row")
async def test_the_page_shows_what_was_found(client: httpx.AsyncClient) -> None:
    page = (await client.get("/settings/bank-tables")).text

    assert "Buchungstext" in page
    assert "found in a file" in page
    for chosen in ("date", "counterparty", "description", "amount", "dmy", ","):
        assert page.count(f'value="{chosen}" selected') == 1, chosen
    assert "/settings/bank-tables" in (await client.get("/settings")).text


async def test_a_person_sets_what_columns_mean(
    service: Service, client: httpx.AsyncClient, row: StatementColumnsRow
) -> None:
    response = await save(client, row, "date", "-", "counterparty", "description", "description", "amount")

    assert response.status_code == 303
    (changed,) = await rows(service)
    assert changed.set_by is not None
    assert changed.content == FOUND.model_copy(
        update={"description": (3, 4), "date_order": "ymd", "decimal_mark": "."}
    )
    assert "set by a person" in (await client.get("/settings/bank-tables")).text


@pytest.mark.parametrize(
    ("meanings", "told"),
    [
        (("amount", "-", "-", "-", "-", "-"), "date of the booking"),
        (("date", "date", "-", "-", "-", "amount"), "Two columns cannot both be"),
        (("date", "debit", "-", "-", "-", "-"), "which column has the amount"),
    ],
)
async def test_what_cannot_be_is_told_and_changes_nothing(
    service: Service,
    client: httpx.AsyncClient,
    row: StatementColumnsRow,
    meanings: tuple[str, ...],
    told: str,
) -> None:
    response = await save(client, row, *meanings)

    assert response.status_code == 422
    assert told in response.text
    assert [each.content for each in await rows(service)] == [FOUND]


async def test_a_table_is_forgotten(
    service: Service, client: httpx.AsyncClient, row: StatementColumnsRow
) -> None:
    assert (await client.post(f"/settings/bank-tables/{row.id}/forget")).status_code == 303
    assert await rows(service) == []
    assert "No table of a bank has come yet" in (await client.get("/settings/bank-tables")).text
    assert (await save(client, row, "date", "amount")).status_code == 404
