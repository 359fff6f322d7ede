"""Links of documents on pages, without JavaScript."""

import re
from datetime import UTC, datetime
from html.parser import HTMLParser

import httpx
import pytest

from docmill.service.app import Service
from docmill.service.people.accounts import NewPerson
from docmill.service.people.sign_in import Visitor
from docmill.service.protocol.matching_rules import BY_RULES_ALONE
from docmill.service.store.matching_jobs import request_matching
from docmill.web.access import SESSION_COOKIE
from support.matched_papers import CHAIN, INVOICE, ORDER, PARTIES, STATEMENT, Content, Papers
from support.people import PASSWORD

DOUBTFUL: Content = (
    "invoice",
    {
        **PARTIES,
        "number": "RE-7",
        "issue_date": "2026-05-16",
        "net_total": "1000.00",
        "gross_total": "1190.00",
    },
)


class _Text(HTMLParser):
    """The text of a page."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.parts: list[str] = []
        self.feed(html)

    def handle_data(self, data: str) -> None:
        self.parts.append(data)


def text_of(page: httpx.Response) -> str:
    return " ".join(" ".join(_Text(page.text).parts).split())


@pytest.fixture
def made(service: Service) -> Papers:
    return Papers(service, service.default_tenant_id)


async def read_chain(made: Papers) -> None:
    for name, content in CHAIN.items():
        await made.read(name, content, title=f"The {name}")


async def decide(
    client: httpx.AsyncClient, made: Papers, action: str, *, of: str = "order", to: str = ""
) -> httpx.Response:
    """Press a button at the first link of a document."""
    found = (await client.get(f"/api/v1/documents/{made.id_of(of)}/matches")).json()
    form = {"match_id": found["matches"][0]["id"], "action": action, "next": to or f"/docs/{made.id_of(of)}"}
    return await client.post("/matches", data=form, follow_redirects=True)


async def test_the_tab_has_graph_list_discrepancies_and_sums(client: httpx.AsyncClient, made: Papers) -> None:
    dearer: Content = ("invoice", {**INVOICE[1], "net_total": "1100.00", "gross_total": "1309.00"})
    await made.read("order", ORDER, title="The order")
    await made.read("invoice", dearer, title="The invoice")

    page = await client.get(f"/docs/{made.id_of('order')}?tab=matches")

    assert page.text.count('class="edge edge-automatic"') == 1
    text = text_of(page)
    for words in (
        "The invoice Invoice · 2026-01-15 · 1,309.00 EUR",
        "It names the number PO-4711.",
        "Billed 1,100.00, ordered 1,000.00",
        "Billed EUR 1 1,100.00 1,309.00 +119.00",
    ):
        assert words in text


@pytest.mark.parametrize(
    ("status", "error", "words"),
    [
        ("pending", None, "This document is being matched."),
        ("failed", "the model is away", "It could not be matched: The model is away."),
        ("succeeded", None, "No other document is known to belong to this one."),
        (
            "succeeded",
            f"{BY_RULES_ALONE}'small model' is away",
            "since a model stayed away for longer than a document waits: 'small model' is away.",
        ),
    ],
)
async def test_the_tab_says_how_far_the_matching_is(
    client: httpx.AsyncClient, made: Papers, status: str, error: str | None, words: str
) -> None:
    order = await made.read("order", ORDER, title="Order 4711")
    async with made.service.database.tenant(made.tenant_id) as conn:
        await conn.execute(
            "UPDATE document SET matching_status = %s, matching_error = %s WHERE id = %s",
            [status, error, order],
        )

    shown = text_of(await client.get(f"/docs/{order}?tab=matches"))

    assert words in shown
    assert ("No other document is known" in shown) == (status == "succeeded")


@pytest.mark.parametrize(
    ("language", "words"),
    [
        (
            "en",
            "until 2026-03-02 12:30 UTC ; if it stays away, rules alone decide. 'small model' is away.",
        ),
        ("de", "Auf ein Modell für die Zuordnung wird bis 02.03.2026, 12:30 UTC gewartet; bleibt es aus"),
    ],
)
async def test_the_tab_says_until_when_a_model_is_waited_for(
    client: httpx.AsyncClient, made: Papers, language: str, words: str
) -> None:
    order = await made.read("order", ORDER, title="Order 4711")
    async with made.service.database.tenant(made.tenant_id) as conn:
        await request_matching(conn, [order], types=["order"])
        await conn.execute(
            "UPDATE matching_job SET waiting_since = %s WHERE document_id = %s",
            [datetime(2026, 3, 1, 12, 30, tzinfo=UTC), order],
        )
        await conn.execute(
            "UPDATE document SET matching_error = %s WHERE id = %s", ["'small model' is away", order]
        )

    page = await client.get(f"/docs/{order}?tab=matches", headers={"accept-language": language})

    assert words in text_of(page)


async def test_german_pages_have_everything_in_german(client: httpx.AsyncClient, made: Papers) -> None:
    await read_chain(made)

    page = await client.get(f"/docs/{made.id_of('invoice')}?tab=matches", headers={"accept-language": "de"})

    text = text_of(page)
    for words in (
        "Automatisch zugeordnet",
        "Rechnung und Zahlung",
        "Es nennt die Nummer PO-4711.",
        "Die Daten sind wie erwartet: 15.01.2026 und 30.01.2026.",
        "Die Beträge sind 1.190,00 und 1.190,00.",
        "Bestellt, geliefert, berechnet, bezahlt",
        "Zahlung an SOMMER",
    ):
        assert words in text


async def test_a_german_page_says_that_rules_alone_have_linked_a_document(
    client: httpx.AsyncClient, made: Papers
) -> None:
    order = await made.read("order", ORDER, title="Order 4711")
    async with made.service.database.tenant(made.tenant_id) as conn:
        await conn.execute(
            "UPDATE document SET matching_status = 'succeeded', matching_error = %s WHERE id = %s",
            [f"{BY_RULES_ALONE}'small model' is away", order],
        )

    page = await client.get(f"/docs/{order}?tab=matches", headers={"accept-language": "de"})

    assert "Es wurde nur nach Regeln zugeordnet, da ein Modell länger ausblieb" in text_of(page)


async def test_a_link_is_parted_and_that_undone(client: httpx.AsyncClient, made: Papers) -> None:
    await made.read("order", ORDER, title="The order")
    await made.read("invoice", INVOICE, title="The invoice")

    parted = await decide(client, made, "unlink")
    undone = await decide(client, made, "undo")

    assert parted.url.path == f"/docs/{made.id_of('order')}"
    assert "Unlinked" not in text_of(undone)
    tab = await client.get(str(parted.url.copy_merge_params({"tab": "matches"})))
    assert "Linked automatically" in text_of(tab)


async def test_what_was_done_is_told_with_a_way_back(client: httpx.AsyncClient, made: Papers) -> None:
    await made.read("order", ORDER, title="The order")
    await made.read("invoice", INVOICE, title="The invoice")

    page = await decide(client, made, "unlink", to=f"/docs/{made.id_of('order')}?tab=matches")

    assert "Unlinked The order, The invoice" in text_of(page)
    assert 'id="match-notice"' in page.text
    assert "1 declined link" in text_of(page)


async def test_undo_pressed_twice_takes_one_decision_back(client: httpx.AsyncClient, made: Papers) -> None:
    await made.read("order", ORDER, title="The order")
    await made.read("invoice", INVOICE, title="The invoice")
    await decide(client, made, "confirm")
    await decide(client, made, "unlink")
    tab = await client.get(f"/docs/{made.id_of('order')}?tab=matches")
    fields = dict(re.findall(r'name="(match_id|decided_at)" value="([^"]*)"', tab.text))
    form = {**fields, "action": "undo", "next": "/matches?status=all"}

    answers = [await client.post("/matches", data=form, follow_redirects=True) for _ in range(2)]

    assert [answer.status_code for answer in answers] == [200, 200]
    assert "Linked by a person" in text_of(answers[1])


async def test_a_document_is_found_and_linked_by_hand(client: httpx.AsyncClient, made: Papers) -> None:
    await made.read("statement", CHAIN["statement"], title="Statement of January")
    await made.read("invoice", DOUBTFUL, title="The invoice")
    address = f"/docs/{made.id_of('invoice')}"

    found = await client.get(address, params={"tab": "matches", "find": "statement"})
    value = f"{made.id_of('invoice')} {made.id_of('statement')}#2 invoice_to_payment"
    linked = await client.post(f"{address}/matches", data={"link": value}, follow_redirects=True)

    assert f'<option value="{value}">invoice and payment: payment 2 · 2026-01-30 · 1,190.00 EUR' in found.text
    assert "Linked by a person" in text_of(linked)
    assert "Payment to SOMMER" in text_of(linked)


async def test_a_link_that_cannot_be_is_refused_on_the_page(client: httpx.AsyncClient, made: Papers) -> None:
    await made.read("order", ORDER, title="The order")
    order = made.id_of("order")

    refused = await client.post(f"/docs/{order}/matches", data={"link": f"{order} {order} related"})
    back = await client.get(f"/docs/{order}/matches")

    assert refused.status_code == 422
    assert "A document cannot be linked with itself." in text_of(refused)
    assert back.headers["location"] == f"/docs/{order}?tab=matches#panel"


async def test_the_page_of_matches_has_what_is_to_be_decided(client: httpx.AsyncClient, made: Papers) -> None:
    await made.read("order", ORDER, title="The order")
    await made.read("other", DOUBTFUL, title="The other invoice")
    empty = await client.get("/matches")
    await made.suggest("order", "other")

    page = await client.get("/matches")
    decided = await decide(client, made, "decline", to="/matches")

    assert "Nothing to decide" in text_of(empty)
    assert "The other invoice" in text_of(page)
    assert decided.url.path == "/matches"
    assert "Nothing to decide" in text_of(decided)
    declined = await client.get("/matches?status=declined")
    assert "The other invoice" in text_of(declined)


async def test_the_page_of_matches_filters(client: httpx.AsyncClient, made: Papers) -> None:
    await read_chain(made)

    paid = text_of(await client.get("/matches?status=automatic&relation=invoice_to_payment"))
    differing = text_of(await client.get("/matches?status=all&discrepancies=1"))

    assert "Payment to SOMMER" in paid
    assert "The delivery" not in paid
    assert "No link found" in differing


async def test_the_review_of_a_document_shows_what_was_matched(
    client: httpx.AsyncClient, made: Papers
) -> None:
    await read_chain(made)

    page = text_of(await client.get(f"/review/{made.id_of('invoice')}"))

    assert "Matched documents" in page
    assert re.search(r"Payment to SOMMER .{0,80} · \d\d %", page), page[page.find("Matched documents") :][
        :400
    ]


async def test_who_may_only_read_is_offered_no_decision(
    client: httpx.AsyncClient, service: Service, made: Papers
) -> None:
    await read_chain(made)
    address = f"/docs/{made.id_of('order')}?tab=matches"
    for_all = await client.get(address)
    await service.accounts.create_first(NewPerson("anna@example.org", "Anna", PASSWORD), "Acme")
    user_id, _ = await service.accounts.add(
        "ben@example.org", "Ben", "viewer", tenant_id=service.default_tenant_id
    )
    session = await service.sign_in.begin_session(user_id, Visitor())

    client.cookies.set(SESSION_COOKIE, session.token)
    page = await client.get(address)

    for control in ('class="match-actions"', 'id="link-another"'):
        assert control in for_all.text
        assert control not in page.text
    assert "The invoice" in text_of(page)


async def test_a_payment_and_its_return_of_one_statement_are_both_named(
    client: httpx.AsyncClient, made: Papers
) -> None:
    out = {**STATEMENT[1]["transactions"][1], "counterparty": "Sommer GmbH"}
    back = {
        **out,
        "date": "2026-02-03",
        "amount": "1190.00",
        "description": "RE-2026-0815 Rücklastschrift AC04",
    }
    returned: Content = ("bank_statement", {**STATEMENT[1], "transactions": [out, back]})
    await made.read("invoice", INVOICE, title="The invoice")
    await made.read("statement", returned, title="The statement")

    of_statement = text_of(await client.get(f"/docs/{made.id_of('statement')}?tab=matches"))
    assert (
        "Payment to Sommer GmbH Payment · 2026-01-30 · 1,190.00 EUR "
        "Payment from Sommer GmbH Payment · 2026-02-03 · 1,190.00 EUR" in of_statement
    )
    assert "payment and its return" in of_statement.casefold()
    assert "It gives a reason for which banks return payments: AC04." in of_statement
    of_invoice = text_of(await client.get(f"/docs/{made.id_of('invoice')}?tab=matches"))
    assert "Payment returned: 0.00 paid of 1,190.00" in of_invoice
