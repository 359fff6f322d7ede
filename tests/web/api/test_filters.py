"""The list of documents by filters and orders: what is in it, page by page, whatever is typed."""

from collections.abc import Awaitable, Callable, Mapping
from datetime import date
from decimal import Decimal
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

import httpx
import psycopg
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from psycopg.types.json import Jsonb
from starlette.datastructures import QueryParams

from docmill.schemas.document_types import DEFINITIONS
from docmill.service.app import Service
from docmill.service.store import document_list
from docmill.service.store.document_list import SORTS, Cursor, DocumentFilters
from docmill.web.view.cards import money
from docmill.web.view.filters import Filters, parse_amount

Add = Callable[..., Awaitable[UUID]]
Finish = Callable[..., Awaitable[None]]

PAPERS: tuple[tuple[str, str, str | None, str | None, tuple[str, ...]], ...] = (
    ("rent.pdf", "Häuser & Söhne", "2026-03-01", "900.00", ("rent", "2026")),
    ("bread.pdf", "Corner Bakery", "2026-05-03", "12.90", ("food",)),
    ("cakes.pdf", "Corner Bakery", "2026-05-04", "-12.90", ("food", "2026")),
    ("note.pdf", "", None, None, ()),
    ("old.pdf", "Zebra Ltd", "2019-01-31", "12.90", ("2019",)),
)


@pytest.fixture
async def papers(add: Add, finish: Finish) -> dict[str, UUID]:
    ids: dict[str, UUID] = {}
    for name, seller, day, total, tags in PAPERS:
        ids[name] = await add(name)
        await finish(
            ids[name],
            text=f"some words of {name}",
            classification={
                "document_type": "receipt" if seller else "letter",
                "title": f"Paper {name}",
                "document_date": day,
                "tags": list(tags),
            },
            structured_data={"seller": {"name": seller}, "gross_total": total, "currency": "EUR"},
        )
    return ids


async def listed(client: httpx.AsyncClient, **params: Any) -> list[str]:  # noqa: ANN401  whatever a query has
    answer = await client.get("/api/v1/documents", params=params)
    assert answer.status_code == 200, answer.text
    return [document["file_name"] for document in answer.json()["documents"]]


@pytest.mark.usefixtures("papers")
@pytest.mark.parametrize(
    ("params", "names"),
    [
        ({"tag": "food"}, ["cakes.pdf", "bread.pdf"]),
        ({"tag": ["Food", "2026"]}, ["cakes.pdf"]),
        ({"tag": ["food", "nothing"]}, []),
        ({"counterparty": "corner b"}, ["cakes.pdf", "bread.pdf"]),
        ({"counterparty": "HAUSER"}, ["rent.pdf"]),
        ({"date_from": "2026-05-03"}, ["cakes.pdf", "bread.pdf"]),
        ({"date_to": "2026-03-01"}, ["old.pdf", "rent.pdf"]),
        ({"amount_from": "12.9", "amount_to": "12.90"}, ["old.pdf", "bread.pdf"]),
        ({"amount_to": "0"}, ["cakes.pdf"]),
        ({"document_type": "letter"}, ["note.pdf"]),
        ({"state": "ready", "tag": "food", "q": "words", "sort": "newest"}, ["cakes.pdf", "bread.pdf"]),
        ({"state": "failed"}, []),
        ({"source": "part"}, []),
        ({"source": "upload", "limit": 2}, ["old.pdf", "note.pdf"]),
        ({"sort": "date"}, ["cakes.pdf", "bread.pdf", "rent.pdf", "old.pdf", "note.pdf"]),
        ({"sort": "amount"}, ["rent.pdf", "old.pdf", "bread.pdf", "cakes.pdf", "note.pdf"]),
        ({"sort": "counterparty"}, ["cakes.pdf", "bread.pdf", "rent.pdf", "old.pdf", "note.pdf"]),
        ({"sort": "relevance"}, ["old.pdf", "note.pdf", "cakes.pdf", "bread.pdf", "rent.pdf"]),
        ({"q": "paper cakes"}, ["cakes.pdf"]),
    ],
)
async def test_documents_are_filtered_and_ordered(
    client: httpx.AsyncClient, params: Mapping[str, Any], names: list[str]
) -> None:
    assert await listed(client, **params) == names


@pytest.mark.usefixtures("papers")
async def test_pages_of_every_order_hold_each_document_once(client: httpx.AsyncClient) -> None:
    for sort in SORTS:
        whole = await listed(client, sort=sort, q="words")
        names: list[str] = []
        link: str | None = f"/api/v1/documents?sort={sort}&q=words&limit=2"
        while link:
            answer = (await client.get(link)).json()
            names += [document["file_name"] for document in answer["documents"]]
            link = answer["next"]
        assert (sort, names) == (sort, whole)
        assert len(set(names)) == len(PAPERS)


async def test_a_document_that_goes_or_comes_meanwhile_moves_no_page(
    client: httpx.AsyncClient, service: Service, papers: dict[str, UUID], add: Add
) -> None:
    first = (await client.get("/api/v1/documents?sort=date&limit=2")).json()
    await add("new.pdf")
    async with service.database.tenant(service.default_tenant_id) as conn:
        await conn.execute("DELETE FROM document WHERE id = %s", [papers["bread.pdf"]])
    second = (await client.get(first["next"])).json()

    names = [document["file_name"] for document in second["documents"]]
    assert names == ["rent.pdf", "old.pdf"]


@pytest.mark.parametrize(
    "after", ["x", "WzEsMl0=", "e30=", "é", "[" * 900, Cursor("date", "soon", UUID(int=0)).text]
)
async def test_a_place_that_is_none_is_refused(client: httpx.AsyncClient, after: str) -> None:
    answer = await client.get("/api/v1/documents", params={"after": after})

    assert (answer.status_code, answer.json()["code"]) == (422, "validation")


texts = st.one_of(
    st.text(max_size=50),
    st.sampled_from(
        ["<", "'", "\\", "%", "\0", "x" * 10_000, "🙂" * 300, "\ud800", "a:*", "1,0,0", "-inf", "nan"]
    ),
)


@given(
    filters=st.builds(
        DocumentFilters,
        query=st.none() | texts,
        state=st.none() | texts,
        document_type=st.none() | texts,
        tags=st.lists(texts, max_size=3).map(tuple),
        counterparty=st.none() | texts,
        date_from=st.none() | st.dates(),
        amount_from=st.none() | st.decimals(),
        amount_to=st.none() | st.decimals(allow_nan=False),
    ),
    sort=st.none() | st.sampled_from(SORTS),
    after=st.none() | st.builds(Cursor, st.sampled_from(SORTS), texts, st.uuids()),
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=150)
async def test_no_filter_and_no_place_breaks_the_list(
    service: Service, filters: DocumentFilters, sort: str | None, after: Cursor | None
) -> None:
    async with service.database.tenant(service.default_tenant_id) as conn:
        place = Cursor.parse(after.text) if after else None
        assert (await document_list.page(conn, filters, sort=sort, after=place)).rows == []


LONGEST_ADDRESS = 60_000
"""The client refuses longer ones."""
PARAMETERS = (
    "q", "state", "type", "tag", "counterparty", "from", "to", "min", "max", "source", "sort", "after",
)  # fmt: skip


@given(st.dictionaries(st.sampled_from(PARAMETERS), texts))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=100)
async def test_every_address_of_the_page_is_safe(client: httpx.AsyncClient, params: dict[str, str]) -> None:
    plain = {key: value.encode("utf-8", "replace") for key, value in params.items()}
    assume(len(urlencode(plain)) < LONGEST_ADDRESS)

    assert (await client.get("/", params=plain)).status_code == 200


@given(
    st.builds(
        Filters,
        query=st.text("ab <&🙂", max_size=9).map(str.strip),
        tags=st.lists(st.sampled_from(["a", "<b>", "ü & c"]), unique=True).map(tuple),
        date_from=st.none() | st.dates(min_value=date(1000, 1, 1)),
        amount_from=st.none() | st.decimals(-9999, 9999, places=2),
        amount_to=st.none() | st.just(Decimal("1E+3")),
        sort=st.sampled_from(["", *SORTS]),
    )
)
def test_an_address_gives_its_filters_back(filters: Filters) -> None:
    again = Filters.of(QueryParams(filters.link().removeprefix("/?")), types=())

    assert again == filters


@pytest.mark.parametrize(
    ("typed", "amount"),
    [("12", "12"), ("1.234,50", "1234.50"), ("1,234.50", "1234.50"), ("1'000", "1000"), ("1.000", "1000"),
     ("-3,5", "-3.5"), ("0.75", "0.75"), ("", None), ("x", None), ("1e9", None), ("9" * 16, None),
     ("\u0661", None)],
)  # fmt: skip
def test_amounts_are_understood_in_any_notation(typed: str, amount: str | None) -> None:
    assert parse_amount(typed) == (None if amount is None else Decimal(amount))


def test_the_database_and_the_card_agree_on_amount_and_counterparty(database_url: str) -> None:
    amounts = {
        "gross_total": "12.90",
        "amount_due": "3",
        "closing_balance": "-4.005",
        "net_pay": "x",
        "net_total": 7,
    }
    with psycopg.connect(database_url) as conn:
        for name, definition in {**DEFINITIONS, "own_type": DEFINITIONS["other"]}.items():
            party, _, field = definition.counterparty.partition(".")
            for left_out in (0, 1, 2, 3, 4, 5):
                data = {**dict(list(amounts.items())[left_out:]), party: {field: "ACME"}}
                for tax in ({}, {"tax_total": "1"}):
                    row = conn.execute(
                        """
                        SELECT document_amount(%(data)s, %(type)s),
                               document_counterparty(%(data)s, %(type)s)
                        """,
                        {"data": Jsonb({**data, **tax}), "type": name},
                    ).fetchone()
                    assert row is not None
                    shown = money({**data, **tax}, name)
                    assert row[1] == "ACME"
                    if shown is None:
                        assert row[0] is None
                    else:
                        assert abs(Decimal(row[0]) - Decimal(shown.amount.replace(",", "")) * 100) <= 1


@pytest.mark.usefixtures("papers")
async def test_filters_are_chips_that_can_be_taken_away(client: httpx.AsyncClient) -> None:
    page = (await client.get("/?tag=food&counterparty=corner&min=10&from=2026-01-01&sort=amount")).text

    for chip in ("Tag: food", "Counterparty: corner", "Amount: from 10", "Date: from 2026-01-01"):
        assert f"Remove the filter {chip}" in page
    assert "1 document found" in page
    assert 'href="/?counterparty=corner&amp;from=2026-01-01&amp;min=10&amp;sort=amount"' in page


@pytest.mark.usefixtures("papers")
async def test_a_view_is_saved_shown_and_deleted(client: httpx.AsyncClient) -> None:
    saved = await client.post("/views", data={"name": " Food <3 ", "query": "tag=food&evil=1&after=x&min=zz"})
    replaced = await client.post("/api/v1/views", json={"name": "Food <3", "query": "?tag=food&sort=date"})
    page = (await client.get(f"/?{replaced.json()['query']}")).text
    views = (await client.get("/api/v1/views")).json()["views"]
    gone = await client.delete(f"/api/v1/views/{views[0]['id']}")
    again = await client.post(f"/views/{views[0]['id']}/delete")
    nameless = await client.post("/api/v1/views", json={"name": " ", "query": ""})

    assert (saved.status_code, saved.headers["location"]) == (303, "/?tag=food")
    assert [(view["name"], view["query"]) for view in views] == [("Food <3", "tag=food&sort=date")]
    assert "Food &lt;3" in page
    assert "Delete the view" in page
    assert (gone.status_code, again.status_code, nameless.status_code) == (204, 404, 422)


@pytest.mark.parametrize(
    ("typed", "number"),
    [
        ("12", 12),
        ("ASN 12", 12),
        ("asn00012", 12),
        (" ASN:12 ", 12),
        ("#12", 12),
        ("", None),
        ("ASN", None),
        ("-12", None),
        ("1.5", None),
        ("4294967296", None),
    ],
)
def test_an_archive_serial_number_is_taken_as_it_stands_on_its_label(typed: str, number: int | None) -> None:
    filters = Filters.of(QueryParams({"asn": typed}), types=())

    assert (filters.asn, filters.asn_refused) == (number, typed if typed and number is None else "")
    assert filters.are_set == (number is not None)
