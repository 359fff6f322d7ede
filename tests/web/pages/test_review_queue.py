"""The review queue as plain forms: approve, reject, skip, undo and redo, drafts and locks."""

import re
from collections.abc import AsyncIterator, Awaitable, Callable
from html import unescape
from uuid import UUID

import httpx
import pytest

from docmill.service.app import Service
from docmill.service.config.settings import Settings
from docmill.service.store.database import new_id
from docmill.testing.steps import PaintedPages
from docmill.web.app import create_app
from docmill.web.context import Vault

Read = Callable[..., Awaitable[UUID]]

UNCERTAIN = {"check": "confidence", "message": "Date is uncertain.", "fields": ["issue_date"]}
DATA = {
    "currency": "EUR",
    "gross_total": "12.90",
    "seller": {"name": "Corner Bakery"},
    "issue_date": "2026-11-03",
}


def _found(text: str, confidence: float, box: list[float]) -> dict[str, object]:
    return {"page": 1, "box": box, "text": text, "match": "exact", "confidence": confidence}


EVIDENCE = {
    "currency": _found("EUR", 0.99, [0.6, 0.5, 0.65, 0.55]),
    "gross_total": _found("12.90", 0.95, [0.5, 0.5, 0.58, 0.55]),
    "seller.name": _found("Corner Bakery", 0.8, [0.05, 0.1, 0.3, 0.15]),
    "issue_date": _found("2026-11-03", 0.5, [0.5, 0.1, 0.6, 0.15]),
}
TO_REVIEW: dict[str, object] = {
    "structured_data": DATA,
    "evidence": EVIDENCE,
    "verdict": {"failures": [UNCERTAIN]},
    "valid_structured_data": False,
}


@pytest.fixture
def to_review(read: Read) -> Read:
    """Adds a receipt that needs a review."""

    async def read_one(name: str = "receipt.png", **columns: object) -> UUID:
        return await read(name, **{**TO_REVIEW, **columns})

    return read_one


@pytest.fixture
async def second_person(
    service: Service, renderer: PaintedPages, settings: Settings
) -> AsyncIterator[httpx.AsyncClient]:
    """The pages as another person of the tenant sees them."""
    async with service.database.accounts() as conn:
        await conn.execute("INSERT INTO users (id, name) VALUES (%s, 'Another')", [another := new_id()])

    class AnothersVault(Vault):
        @property
        def user_id(self) -> UUID:
            return another

    app = create_app(service, renderer, settings)
    vault: Vault = app.state.vault
    app.state.vault = AnothersVault(
        **{name: value for name, value in vars(vault).items() if not name.startswith("_")}
    )
    transport = httpx.ASGITransport(app, raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
        yield client


async def _page(client: httpx.AsyncClient, address: str) -> str:
    response = await client.get(address, follow_redirects=True)
    assert response.status_code == 200, response.text
    return response.text


def _hidden(page: str, marker: str) -> dict[str, str]:
    """The hidden inputs of the form whose start tag holds `marker`."""
    form = next(form for form in re.findall(r"<form.+?</form>", page, re.DOTALL) if marker in form)
    return {
        name: unescape(value) for name, value in re.findall(r'type="hidden" name="(\w+)" value="(.*?)"', form)
    }


async def _approve(
    client: httpx.AsyncClient, document_id: UUID, *, reason: str | None = None
) -> httpx.Response:
    page = await _page(client, f"/review/{document_id}")
    form = _hidden(page, 'id="approve"') | ({} if reason is None else {"reason": reason})
    return await client.post(f"/review/{document_id}/approve", data=form)


async def _say(client: httpx.AsyncClient, document_id: UUID, path: str, **changes: str) -> httpx.Response:
    page = await _page(client, f"/review/{document_id}?field={path}")
    form = _hidden(page, f'data-path="{path}"')
    return await client.post(
        f"/review/{document_id}/reviews", data={**form, "value": form["seen"], "action": "say", **changes}
    )


async def test_the_queue_lists_what_needs_a_person_the_oldest_first(
    client: httpx.AsyncClient, to_review: Read, read: Read
) -> None:
    first, second = await to_review("first.png"), await to_review("second.png")
    ready = await read("ready.png")

    page = await _page(client, "/review")

    assert page.index(f"queue-{first}") < page.index(f"queue-{second}")
    assert str(ready) not in page
    assert "2 documents need a person" in page
    assert "Date is uncertain." in page
    assert f'id="start-review" href="/review/{first}"' in page
    assert 'id="review-count">2<' in await _page(client, "/")


async def test_the_most_urgent_document_comes_first_where_a_person_chose_that(
    client: httpx.AsyncClient, to_review: Read
) -> None:
    later = await to_review("a.png", structured_data={"due_date": "2026-12-24", "gross_total": "1.00"})
    sooner = await to_review("b.png", structured_data={"due_date": "2026-12-01", "gross_total": "1.00"})

    page = await _page(client, "/review?order=due")
    document = await _page(client, f"/review/{sooner}")

    assert page.index(f"queue-{sooner}") < page.index(f"queue-{later}")
    assert "1 of 2" in document
    assert f'id="skip" href="/review/{later}"' in document


async def test_an_empty_queue_says_that_all_is_done(client: httpx.AsyncClient, read: Read) -> None:
    await read()

    page = await _page(client, "/review")
    following = await client.get("/review/next")

    assert "Nothing to review" in page
    assert following.headers["location"] == "/review"


async def test_open_fields_come_first_and_the_bar_counts_them(
    client: httpx.AsyncClient, to_review: Read
) -> None:
    document_id, following = await to_review("one.png"), await to_review("two.png")

    page = await _page(client, f"/review/{document_id}")

    assert page.index('id="field-issue_date"') < page.index('id="field-currency"')
    assert "<span>1 of 2</span>" in page
    assert re.search(r"<strong>\d</strong> open", page)
    assert f'id="skip" href="/review/{following}"' in page
    assert 'id="confirm-all"' not in page


async def test_approving_with_open_fields_leads_to_the_first_of_them(
    client: httpx.AsyncClient, to_review: Read
) -> None:
    document_id = await to_review()

    refused = await _approve(client, document_id)
    field = re.search(r'<form class="field [^>]*id="field-seller-name".+?</form>', refused.text, re.DOTALL)

    assert refused.status_code == 422
    assert "still open" in refused.text
    assert field is not None
    assert "selected" in field[0].split(">")[0]
    assert "autofocus" in field[0]
    state = (await client.get(f"/api/v1/documents/{document_id}/reviews")).json()
    assert state["current"] == {}


async def test_a_document_is_approved_once_its_open_values_were_looked_at(
    client: httpx.AsyncClient, to_review: Read
) -> None:
    document_id, following = await to_review("one.png"), await to_review("two.png")
    for path in ("seller.name", "issue_date", "currency", "gross_total"):
        await _say(client, document_id, path)

    approved = await _approve(client, document_id)
    page = await _page(client, approved.headers["location"])
    state = (await client.get(f"/api/v1/documents/{document_id}")).json()

    assert approved.headers["location"] == f"/review/{following}?approved={document_id}"
    assert "<strong>Approved</strong>" in page
    assert state["state"] == "ready"
    assert "<span>1 of 1</span>" in page


async def test_what_is_approved_unseen_says_so_in_the_history_with_the_reason(
    client: httpx.AsyncClient, to_review: Read
) -> None:
    document_id = await to_review()

    approved = await _approve(client, document_id, reason="Paid in cash")
    history = await _page(client, f"/docs/{document_id}?tab=history")
    reviews = (await client.get(f"/api/v1/documents/{document_id}/reviews")).json()["history"]

    assert approved.headers["location"] == f"/review?approved={document_id}"
    assert "Confirmed unseen: Paid in cash" in history
    assert {review["reason"] for review in reviews} == {"Paid in cash"}


async def test_an_approval_is_undone_from_the_next_page_and_redone(
    client: httpx.AsyncClient, to_review: Read
) -> None:
    document_id = await to_review()
    approved = await _approve(client, document_id, reason="Paid in cash")
    assert f"/review/{document_id}/undo-approved" in await _page(client, approved.headers["location"])

    undone = await client.post(f"/review/{document_id}/undo-approved")
    page = await _page(client, undone.headers["location"])
    await client.post(f"/review/{document_id}/reviews/redo", data=_hidden(page, 'id="redo-last"'))
    state = (await client.get(f"/api/v1/documents/{document_id}")).json()
    history = await _page(client, f"/docs/{document_id}?tab=history")

    assert undone.headers["location"] == f"/review/{document_id}"
    assert "<span>1 of 1</span>" in page
    assert state["state"] == "ready"
    assert "Redone: Confirmed unseen: Paid in cash" in history


async def test_a_new_review_leaves_nothing_to_redo(client: httpx.AsyncClient, to_review: Read) -> None:
    document_id = await to_review()
    await _say(client, document_id, "currency", value="USD")
    await _say(client, document_id, "currency", action="undo")
    page = await _page(client, f"/review/{document_id}")
    form = _hidden(page, 'id="redo-last"')
    await _say(client, document_id, "currency", value="CHF")

    refused = await client.post(f"/review/{document_id}/reviews/redo", data=form)

    assert refused.status_code == 409
    assert "nothing to redo" in refused.text
    data = (await client.get(f"/api/v1/documents/{document_id}")).json()["data"]
    assert data["currency"] == "CHF"


async def test_undo_and_redo_walk_through_the_reviews_one_by_one(
    client: httpx.AsyncClient, to_review: Read
) -> None:
    document_id = await to_review()
    for value in ("USD", "CHF"):
        await _say(client, document_id, "currency", value=value)
    address = f"/api/v1/documents/{document_id}"
    of = {"ingestion_id": (await client.get(f"{address}/reviews")).json()["ingestion_id"]}

    seen: list[str] = []
    for step in ("undo", "undo", "redo", "redo", "undo"):
        assert (await client.post(f"{address}/reviews/{step}", json=of)).status_code == 200
        seen.append((await client.get(address)).json()["data"]["currency"])
    nothing = [await client.post(f"{address}/reviews/redo", json=of) for _ in range(2)]

    assert seen == ["USD", "EUR", "USD", "CHF", "USD"]
    assert [answer.status_code for answer in nothing] == [200, 409]


async def test_a_rejected_document_leaves_the_queue_until_that_is_undone(
    client: httpx.AsyncClient, to_review: Read
) -> None:
    document_id = await to_review()
    page = await _page(client, f"/review/{document_id}")
    form = _hidden(page, f'action="/review/{document_id}/reject"')

    without_reason = await client.post(f"/review/{document_id}/reject", data=form)
    rejected = await client.post(f"/review/{document_id}/reject", data={**form, "reason": "Not for us"})
    queue = await _page(client, rejected.headers["location"])
    listed = (await client.get("/api/v1/documents?state=rejected")).json()["documents"]
    document = await _page(client, f"/docs/{document_id}")
    await client.post(
        f"/docs/{document_id}/reviews", data={**_hidden(document, "Undo the rejection"), "action": "undo"}
    )

    assert without_reason.status_code == 422
    assert rejected.headers["location"] == f"/review?rejected={document_id}"
    assert "Nothing to review" in queue
    assert [(each["id"], each["rejection"]) for each in listed] == [(str(document_id), "Not for us")]
    assert '<span class="pill warn">Rejected</span>' in document
    assert "1 document needs a person" in await _page(client, "/review")


async def test_what_is_typed_is_kept_until_it_is_saved_or_dropped(
    client: httpx.AsyncClient, to_review: Read
) -> None:
    document_id = await to_review()
    draft = {"path": "currency", "typed": "US", "seen": "EUR"}

    kept = await client.post(f"/review/{document_id}/draft", data=draft)
    page = await _page(client, f"/docs/{document_id}")
    asked = await _approve(client, document_id, reason="In a hurry")
    await _say(client, document_id, "currency", action="drop")

    assert kept.status_code == 204
    assert 'id="field-currency-value" value="US"' in page
    assert "Not saved yet." in page
    assert asked.status_code == 422
    assert "What you typed into “Currency” is not saved yet." in asked.text
    assert 'id="field-currency-value" value="EUR"' in await _page(client, f"/docs/{document_id}")


async def test_what_another_person_changed_meanwhile_is_shown_beside_what_one_typed(
    client: httpx.AsyncClient, to_review: Read
) -> None:
    document_id = await to_review()
    stale = _hidden(await _page(client, f"/review/{document_id}"), 'data-path="currency"')
    await _say(client, document_id, "currency", value="CHF")

    refused = await client.post(
        f"/review/{document_id}/reviews", data={**stale, "value": "USD", "action": "say"}
    )
    again = _hidden(await _page(client, f"/review/{document_id}"), 'data-path="currency"')
    kept = await client.post(
        f"/review/{document_id}/reviews", data={**again, "value": "USD", "action": "say", "keep": "CHF"}
    )

    assert refused.status_code == 409
    assert "<strong>Changed meanwhile</strong> to <q>CHF</q>" in refused.text
    assert 'id="field-currency-value" value="USD"' in refused.text
    assert kept.status_code == 303
    data = (await client.get(f"/api/v1/documents/{document_id}")).json()["data"]
    assert data["currency"] == "USD"


async def test_a_second_person_sees_who_reviews_and_can_take_over(
    client: httpx.AsyncClient, second_person: httpx.AsyncClient, to_review: Read
) -> None:
    document_id, other = await to_review("one.png"), await to_review("two.png")
    await _page(client, f"/review/{document_id}")

    page = await _page(second_person, f"/review/{document_id}")
    first = await second_person.get("/review/next")
    refused = await _say(second_person, document_id, "currency", value="CHF")
    await second_person.post(f"/review/{document_id}/take-over")
    mine = await client.post(f"/review/{document_id}/lock")
    saved = await _say(second_person, document_id, "currency", value="CHF")

    assert "Another person reviews this document now" in page
    assert first.headers["location"] == f"/review/{other}"
    assert refused.status_code == 409
    assert mine.json() == {"is_mine": False}
    assert saved.status_code == 303


async def test_a_lock_without_a_sign_of_life_is_free(
    client: httpx.AsyncClient, second_person: httpx.AsyncClient, to_review: Read, service: Service
) -> None:
    document_id = await to_review()
    await _page(client, f"/review/{document_id}")
    async with service.database.tenant(service.default_tenant_id) as conn:
        await conn.execute("UPDATE review_lock SET seen_at = seen_at - interval '121 seconds'")

    page = await _page(second_person, f"/review/{document_id}")

    assert "Another person reviews this document now" not in page
    assert (await client.post(f"/review/{document_id}/lock")).json() == {"is_mine": False}
    await second_person.post(f"/review/{document_id}/release")
    assert (await client.post(f"/review/{document_id}/lock")).json()["is_mine"]


async def test_a_page_that_is_left_lets_go_of_no_lock_that_a_later_page_holds(
    client: httpx.AsyncClient, second_person: httpx.AsyncClient, to_review: Read
) -> None:
    document_id = await to_review()
    lock, release = f"/review/{document_id}/lock", f"/review/{document_id}/release"
    left = (await client.post(lock)).json()
    stayed = (await client.post(lock)).json()

    await client.post(release, data={"seen_at": left["seen_at"]})
    held = (await second_person.post(lock)).json()
    await client.post(release, data={"seen_at": stayed["seen_at"]})
    free = (await second_person.post(lock)).json()

    assert held == {"is_mine": False}
    assert free["is_mine"]


async def test_every_page_tells_how_many_documents_wait(client: httpx.AsyncClient, to_review: Read) -> None:
    await to_review()

    for address in ("/", "/tags", "/bin", "/ops", "/settings", "/people", "/keys", "/audit-log"):
        assert '<span class="nav-count" id="review-count">1</span>' in await _page(client, address), address
