"""The documents page, without JavaScript."""

from collections.abc import Awaitable, Callable
from html.parser import HTMLParser
from uuid import UUID, uuid4

import httpx
import pytest

from docmill.service.app import Service
from docmill.service.config.settings import Settings
from docmill.service.config.user_schemas import OwnField, OwnSchema
from docmill.service.store import documents

Add = Callable[..., Awaitable[UUID]]
Finish = Callable[..., Awaitable[None]]


class Elements(HTMLParser):
    """Every element of a page with its attributes."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str]]] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, {name: value or "" for name, value in attrs}))


async def test_an_empty_vault_says_what_to_do(client: httpx.AsyncClient) -> None:
    page = await client.get("/")

    assert "No documents yet" in page.text
    assert "This vault has no account" in page.text


async def test_a_search_that_finds_nothing_says_so(client: httpx.AsyncClient, add: Add) -> None:
    await add("a.pdf")

    page = await client.get("/?q=zebra")

    assert "No document found" in page.text
    assert 'aria-label="Remove the filter “zebra”"' in page.text


async def test_what_is_no_archive_serial_number_is_told_and_filters_nothing(
    client: httpx.AsyncClient, add: Add
) -> None:
    await add("a.pdf")

    refused, accepted = await client.get("/?asn=tw%3Clve"), await client.get("/?asn=ASN+12")

    assert "“tw&lt;lve” is no archive serial number" in refused.text
    assert "1 document" in refused.text
    assert 'aria-label="Remove the filter Archive serial number: 12"' in accepted.text
    assert "is no archive serial number" not in accepted.text


async def test_every_state_is_told_in_words_and_offers_what_helps(
    client: httpx.AsyncClient,
    service: Service,
    add: Add,
    finish: Finish,
    read: Callable[..., Awaitable[UUID]],
) -> None:
    await add("processing.pdf")
    stale = await add("stale.pdf")
    unknown, failed, kept = await add("unknown.pdf"), await add("failed.pdf"), await add("kept.exe")
    await finish(kept, error_code="unsupported_file_type", error_message="It is a program.")
    await finish(unknown, classification={"document_type": "other", "title": None})
    await finish(
        failed, status="failed", classification=None, error_code="corrupt", error_message="It is damaged."
    )
    failure = {"check": "sums", "message": "The sums differ.", "fields": ["gross_total"]}
    await read("review.png", verdict={"failures": [failure]}, valid_structured_data=False)
    await read("ready.png")
    await _let_rest(service, stale, minutes=14)

    page = (await client.get("/")).text

    for words in [
        "Waiting for its turn",
        '<span class="pill warn">Kept, not read</span>',
        "No progress for <span data-minutes>14</span> min",
        "It is damaged.",
        "It is a program.",
    ]:
        assert words in page
    for words in ["Nobody could tell what this document is.", "The sums differ.", "12.90 <small>EUR</small>"]:
        assert words in page
    cards = {attrs["data-state"] for _, attrs in Elements(page).found if "data-state" in attrs}
    assert cards == set(documents.STATES)
    assert page.count("/retry") == 3
    assert "7 documents" in page


async def test_a_document_of_unknown_type_says_why(
    client: httpx.AsyncClient, read: Callable[..., Awaitable[UUID]]
) -> None:
    question = "The words of Japanese are not known here: please say of which type the document is."
    document_id = await read(
        "unknown.pdf",
        classification={"document_type": "other", "title": None},
        verdict={"failures": [{"check": "document_type", "message": question, "fields": []}]},
        valid_structured_data=False,
    )

    card, page = (await client.get("/")).text, (await client.get(f"/docs/{document_id}")).text

    assert question in card
    assert f"<strong>Needs classification</strong> <span>{question}</span>" in page


async def test_a_document_that_waits_for_its_next_attempt_says_why(
    client: httpx.AsyncClient, service: Service, add: Add
) -> None:
    document_id = await add("waiting.pdf")
    async with service.database.tenant(service.default_tenant_id) as conn:
        await conn.execute(
            """
            UPDATE ingestion
               SET error_code = 'network',
                   error_message = 'the model cannot be reached',
                   next_attempt_at = now() + interval '1 min'
            """
        )

    card, page = (await client.get("/")).text, (await client.get(f"/docs/{document_id}")).text

    async with service.database.tenant(service.default_tenant_id) as conn:
        await conn.execute("UPDATE ingestion SET error_code = 'unauthorized'")
    for_a_person = (await client.get(f"/docs/{document_id}")).text

    assert "Waiting to be tried again" in for_a_person
    assert "Next try" not in for_a_person
    assert "Waiting to be tried again. The model cannot be reached." in card
    assert "data-waiting" in card
    assert "Waiting to be tried again" in page
    assert "The model cannot be reached. Next try: " in page


async def test_filters_are_in_the_address_and_can_be_taken_away(
    client: httpx.AsyncClient, add: Add, finish: Finish
) -> None:
    await add("new.pdf")
    done = await add("done.pdf")
    await finish(done)

    page = await client.get("/?q=done&state=ready&type=receipt")

    found = Elements(page.text).found
    chips = [attrs["href"] for tag, attrs in found if tag == "a" and attrs.get("class") == "chip"]
    assert chips == ["/?state=ready&type=receipt", "/?q=done&type=receipt", "/?q=done&state=ready"]
    assert [attrs["id"] for _, attrs in found if attrs.get("id", "").startswith("doc-")] == [f"doc-{done}"]
    assert "1 document found" in page.text


async def test_files_that_were_kept_and_not_read_are_found_by_their_state(
    client: httpx.AsyncClient, add: Add, finish: Finish
) -> None:
    ready, kept = await add("ready.pdf"), await add("kept.exe")
    await finish(ready)
    await finish(kept, error_code="unsupported_file_type", error_message="It is a program.")

    page, of_ready = await client.get("/?state=not_read"), await client.get("/?state=ready")

    assert '<option value="not_read" selected>Kept, not read</option>' in page.text
    assert f'id="doc-{kept}"' in page.text
    assert f'id="doc-{ready}"' not in page.text
    assert f'id="doc-{kept}"' not in of_ready.text
    assert f'id="doc-{ready}"' in of_ready.text


async def test_filters_that_do_not_exist_are_ignored(client: httpx.AsyncClient, add: Add) -> None:
    await add()

    page = await client.get("/?state=lost&type=poem&after=x")

    assert page.status_code == 200
    assert "1 document\n" in page.text


async def test_older_documents_are_on_further_pages(client: httpx.AsyncClient, add: Add) -> None:
    for number in range(26):
        await add(f"{number}.pdf")

    first = Elements((await client.get("/?q=.pdf")).text).found
    (older,) = [attrs["href"] for _, attrs in first if attrs.get("rel") == "next"]
    second = (await client.get(older)).text

    assert second.count('class="card ') == 2
    assert 'href="/?q=.pdf">First page' in second


async def test_text_of_documents_cannot_become_a_part_of_the_page(
    client: httpx.AsyncClient, add: Add, finish: Finish
) -> None:
    document_id = await add("<script>alert(1)</script>.png")
    await finish(document_id, classification={"document_type": "receipt", "title": '"><img src=x onerror=a>'})

    for address in ["/", f"/docs/{document_id}", "/?q=%3Cscript%3E"]:
        page = (await client.get(address)).text
        assert "<script>alert" not in page
        assert "<img src=x" not in page


async def test_no_page_styles_or_scripts_inline(
    client: httpx.AsyncClient, read: Callable[..., Awaitable[UUID]]
) -> None:
    document_id = await read()

    for address in ["/", f"/docs/{document_id}", "/nothing"]:
        for tag, attrs in Elements((await client.get(address)).text).found:
            assert tag != "style"
            assert "style" not in attrs
            assert not [name for name in attrs if name.startswith("on")]
            assert tag != "script" or attrs["src"].startswith("/static/")


async def test_cards_can_be_asked_for_one_by_one(client: httpx.AsyncClient, add: Add) -> None:
    one, other = await add("one.pdf"), await add("other.pdf")

    page = await client.get(f"/cards?id={one}&id={uuid4()}")

    assert f'id="doc-{one}"' in page.text
    assert str(other) not in page.text


async def test_files_are_uploaded_by_a_form(client: httpx.AsyncClient, add: Add, small_files: None) -> None:
    del small_files
    known = await add("known.pdf", b"known")
    files = [
        ("file", ("new.pdf", b"new")),
        ("file", ("again.pdf", b"known")),
        ("file", ("big.pdf", b"x" * 11)),
    ]

    page = await client.post("/upload", files=files)

    assert page.status_code == 201
    assert "Added" in page.text
    assert f'Already here</span> <a href="/docs/{known}"' in page.text
    assert "Not uploaded: the file is larger than" in page.text
    assert page.text.index("big.pdf") < min(page.text.index("new.pdf"), page.text.index("again.pdf"))


async def test_an_upload_of_nothing_is_an_error_page(client: httpx.AsyncClient) -> None:
    page = await client.post("/upload", files={"file": ("", b"")})

    assert page.status_code == 422
    assert "choose at least one" in page.text


async def test_retry_starts_again_and_leads_back(client: httpx.AsyncClient, add: Add, finish: Finish) -> None:
    document_id = await add()
    await finish(document_id, status="failed", error_code="corrupt", error_message="It is damaged.")

    answer = await client.post(f"/docs/{document_id}/retry", data={"next": "/?state=failed"})
    page = await client.get("/")

    assert (answer.status_code, answer.headers["location"]) == (303, "/?state=failed")
    assert 'data-state="processing"' in page.text


@pytest.mark.parametrize("document_id", ["x", "824646b4-1618-4127-819e-21468ade2d39"])
async def test_what_does_not_exist_cannot_be_retried(client: httpx.AsyncClient, document_id: str) -> None:
    page = await client.post(f"/docs/{document_id}/retry")

    assert page.status_code == 404
    assert "There is no such document here." in page.text


async def _let_rest(service: Service, document_id: UUID, *, minutes: int) -> None:
    async with service.database.tenant(service.default_tenant_id) as conn:
        await conn.execute(
            """
            UPDATE ingestion
               SET progress_at = now() - make_interval(mins => %s), lease_until = now() - interval '1 s'
             WHERE document_id = %s
            """,
            [minutes, document_id],
        )


class TestTypesOfTheSettings:
    """A schema of the settings that a person can choose as a type."""

    @pytest.fixture
    def settings(self, settings: Settings) -> Settings:
        job = OwnSchema(fields={"job_number": OwnField()})
        return settings.model_copy(update={"schemas": {"job": job}})

    async def test_documents_are_found_by_them(
        self, client: httpx.AsyncClient, read: Callable[..., Awaitable[UUID]]
    ) -> None:
        await read("job.png", classification={"document_type": "job", "title": "The job"})
        await read("receipt.png")

        page = (await client.get("/", params={"type": "job"})).text

        assert '<option value="job" selected>job</option>' in page
        assert "The job" in page
        assert "Corner Bakery" not in page
