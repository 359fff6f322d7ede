"""The page of one document, without JavaScript."""

import re
from collections.abc import Awaitable, Callable
from dataclasses import replace
from uuid import UUID

import httpx
import pytest
import zstandard

from docmill.model import codec
from docmill.service.app import Service

Read = Callable[..., Awaitable[UUID]]


async def test_fields_and_boxes_lead_to_each_other(client: httpx.AsyncClient, read: Read) -> None:
    document_id = await read()

    page = (await client.get(f"/docs/{document_id}")).text
    from_field = (await client.get(f"/docs/{document_id}?field=gross_total")).text

    box = re.search(r'<a class="box sure" href="(.+?)" data-path="gross_total"', page)
    assert box is not None
    assert box[1] == "?field=gross_total#field-gross_total"
    assert 'href="?field=gross_total#viewer">page 1</a>' in page
    assert '<a class="box sure selected" href="?field=gross_total#field-gross_total"' in from_field
    assert '<form class="field sure selected" id="field-gross_total"' in from_field


async def test_boxes_stand_where_the_words_stand_and_only_on_their_page(
    client: httpx.AsyncClient, read: Read
) -> None:
    document_id = await read()

    first = (await client.get(f"/docs/{document_id}")).text
    second = (await client.get(f"/docs/{document_id}?page=2")).text

    assert 'viewBox="0 0 1000 1415"' in first  # 595 by 842 points
    assert '<rect x="497" y="705" width="86" height="76" rx="4"/>' in first
    assert re.findall(r'class="box [^>]*data-path="(.+?)"', second) == ["issue_date"]


async def test_the_boxes_of_a_page_are_one_tab_stop_from_top_to_bottom(
    client: httpx.AsyncClient, read: Read
) -> None:
    document_id = await read()

    page = (await client.get(f"/docs/{document_id}")).text

    boxes = re.findall(r'class="box .*?data-path="(.+?)" tabindex="(.+?)"', page)
    assert boxes == [
        ("seller.name", "0"),
        ("lines[0].description", "-1"),
        ("lines[0].net_amount", "-1"),
        ("gross_total", "-1"),
        ("currency", "-1"),
    ]


async def test_how_sure_a_value_is_shows_in_words_and_form(client: httpx.AsyncClient, read: Read) -> None:
    document_id = await read()

    page = (await client.get(f"/docs/{document_id}")).text

    assert '<form class="field unsure" id="field-seller-name"' in page
    assert '<form class="field low" id="field-issue_date"' in page
    assert "80 %" in page
    assert "<strong>2</strong> values with lower confidence" in page


async def test_a_value_that_was_taught_tells_by_which_document(client: httpx.AsyncClient, read: Read) -> None:
    taught = {
        "page": 1,
        "box": [0.05, 0.1, 0.3, 0.15],
        "text": "Corner Bakery",
        "match": "exact",
        "confidence": 0.99,
        "reason": "as you confirmed on <first>.pdf",
    }
    document_id = await read(evidence={"seller.name": taught})

    page = (await client.get(f"/docs/{document_id}")).text

    assert '<p class="field-reason">As you confirmed on &lt;first&gt;.pdf.</p>' in page


async def test_a_value_that_cannot_be_learned_says_so_beside_its_suggestions(
    client: httpx.AsyncClient, read: Read
) -> None:
    proof = {
        "page": 1,
        "box": [0.05, 0.1, 0.3, 0.15],
        "text": "4711",
        "match": "exact",
        "confidence": 0.5,
        "reason": "cannot be learned: where number ends",
    }
    document_id = await read(suggestions={"number": [{"value": "4711", "evidence": proof}]})

    page = (await client.get(f"/docs/{document_id}")).text

    assert '<p class="field-reason">Cannot be learned: where number ends.</p>' in page


async def test_what_the_document_is_stands_above_it(client: httpx.AsyncClient, read: Read) -> None:
    document_id = await read(
        classification={
            "document_type": "receipt",
            "title": "Corner",
            "summary": "Bread <and> salt.",
            "tags": ["Corner & Co"],
        }
    )

    page = (await client.get(f"/docs/{document_id}")).text
    cards = (await client.get("/")).text

    assert '<p translate="no">Bread &lt;and&gt; salt.</p>' in page
    assert ">Corner &amp; Co</a>" in page
    assert '<li translate="no">Corner &amp; Co</li>' in cards


async def test_a_failed_check_stands_with_its_values(client: httpx.AsyncClient, read: Read) -> None:
    failure = {"check": "sums", "message": "The sums differ.", "fields": ["gross_total", "net_total"]}
    document_id = await read(verdict={"failures": [failure]}, valid_structured_data=False)

    page = (await client.get(f"/docs/{document_id}")).text

    assert 'id="field-gross_total-problem">The sums differ.</p>' in page
    assert 'aria-invalid="true"' in page
    assert 'id="field-net_total"' in page
    assert "Not found" in page


async def test_what_failed_is_told_once_above_the_values_fraud_first(
    client: httpx.AsyncClient, read: Read
) -> None:
    failures = [
        {"check": "confidence", "message": "The total is uncertain.", "fields": ["gross_total"]},
        {"check": "sum", "message": "It does not add up.", "fields": ["net_total", "gross_total"]},
        {"check": "BR-CO-15", "message": "Net and tax differ.", "fields": ["net_total", "gross_total"]},
        {"check": "line_amount", "message": "A row is wrong.", "fields": ["lines[0].net_amount"]},
        {"check": "xml_mismatch", "message": "The XML says 1.", "fields": ["gross_total"]},
        {"check": "BR-01", "message": "No profile.", "fields": ["profile"]},
        {"check": "confidence", "message": "The seller is uncertain.", "fields": ["seller.name"]},
    ]
    document_id = await read(verdict={"failures": failures}, valid_structured_data=False)

    page = (await client.get(f"/docs/{document_id}")).text
    card = (await client.get("/")).text

    above = re.findall(r'<li class="failed">.*?<(?:a href="(.+?)"|span)>(.+?)<', page, re.DOTALL)
    assert above == [
        ("#field-gross_total-value", "The XML says 1."),
        ("#field-net_total-value", "Net and tax differ."),
        ("?field=lines%5B0%5D.net_amount#field-lines-0-net_amount", "A row is wrong."),
        ("", "No profile."),
    ]
    assert "The XML says 1. Net and tax differ.</p>" in page
    assert "The seller is uncertain.</p>" in page
    assert "values to check" in page
    assert "The XML says 1." in card


async def test_checks_that_hold_are_told(client: httpx.AsyncClient, read: Read) -> None:
    document_id = await read(verdict={"failures": []})
    sure = await read(
        "sure.png",
        verdict={"failures": []},
        structured_data={
            "currency": "EUR",
            "gross_total": "1.00",
            "seller": {"name": "A"},
            "issue_date": "2026-11-03",
        },
        evidence={
            path: {"page": 1, "box": None, "text": "x", "match": "exact", "confidence": 0.99}
            for path in ("currency", "gross_total", "seller.name", "issue_date")
        },
    )

    assert (
        "Every check passed; values with lower confidence may still be looked at"
        in (await client.get(f"/docs/{document_id}")).text
    )
    page = (await client.get(f"/docs/{sure}")).text
    assert "Every value has high confidence" in page
    assert "Every check passed" in page


async def test_line_items_are_a_table(client: httpx.AsyncClient, read: Read) -> None:
    document_id = await read()

    page = (await client.get(f"/docs/{document_id}")).text

    assert re.findall(r'<th scope="col"[^>]*>(.+?)</th>', page) == ["Description", "Net amount"]
    assert 'data-path="lines[0].net_amount" translate="no" data-page="1"' in page
    assert "Salt" in page


async def test_tabs_and_pages_are_links(client: httpx.AsyncClient, read: Read) -> None:
    document_id = await read(extraction_reason="rules; asked small model for number: number mended")

    text = (await client.get(f"/docs/{document_id}?tab=text&page=2")).text
    history = (await client.get(f"/docs/{document_id}?tab=history")).text
    data = (await client.get(f"/docs/{document_id}?tab=json")).text

    assert "Nothing to see" in text
    assert "the text came with the file" in text
    assert 'rel="prev" href="?tab=text"' in text
    assert 'href="?page=2&amp;tab=json"' in text
    assert "Text quality" in history
    assert "Rules; asked small model for number: number mended." in history
    assert "&#34;gross_total&#34;: &#34;12.90&#34;" in data


@pytest.mark.parametrize("query", ["page=0", "page=99", "page=x", "page=99999999", "tab=secrets"])
async def test_an_address_that_asks_for_too_much_gets_what_there_is(
    client: httpx.AsyncClient, read: Read, query: str
) -> None:
    document_id = await read()

    page = await client.get(f"/docs/{document_id}?{query}")

    assert page.status_code == 200
    assert re.search(r"Page [12] of 2", page.text)


async def test_a_document_that_is_being_read_shows_how_far_it_is(
    client: httpx.AsyncClient, service: Service, add: Read
) -> None:
    document_id = await add("new.pdf")
    async with service.database.tenant(service.default_tenant_id) as conn:
        await conn.execute("UPDATE ingestion SET step = 'transcribe' WHERE document_id = %s", [document_id])

    for tab, words in [
        ("fields", "The values appear here"),
        ("text", "The text appears here"),
        ("json", "Nothing has been read yet"),
        ("history", "Processing"),
    ]:
        page = (await client.get(f"/docs/{document_id}?tab={tab}")).text
        assert "Reading the page" in page
        assert words in page
        assert "retry" not in page.partition("<main")[2].partition("</main>")[0]


async def test_a_document_can_be_downloaded_whatever_failed(
    client: httpx.AsyncClient, add: Read, finish: Callable[..., Awaitable[None]]
) -> None:
    document_id = await add("broken.docx")
    await finish(
        document_id,
        status="failed",
        classification=None,
        error_code="corrupt",
        error_message="It is damaged.",
        failed_step="transcribe",
        media_type="application/msword",
    )

    page = (await client.get(f"/docs/{document_id}")).text
    history = (await client.get(f"/docs/{document_id}?tab=history")).text

    assert f'href="/api/v1/documents/{document_id}/file">Download' in page
    assert "It is damaged." in page
    assert "Retry processing" in page
    assert "No page of this file can be shown" in page
    assert "It is damaged. (<code>corrupt" in history


@pytest.mark.parametrize("content", [b"torn", zstandard.compress(b'{"format": 99}')])
async def test_a_page_whose_text_cannot_be_read_any_more_is_shown_with_its_values(
    client: httpx.AsyncClient, service: Service, read: Read, content: bytes
) -> None:
    document_id = await read()
    await service.blobs.delete(f"transcriptions/{document_id}")
    await service.blobs.put_once(f"transcriptions/{document_id}", content)

    page = await client.get(f"/docs/{document_id}")
    text = await client.get(f"/docs/{document_id}?tab=text")

    assert (page.status_code, text.status_code) == (200, 200)
    assert "Corner Bakery" in page.text
    assert "No text was read in this document." in text.text


async def test_a_page_read_in_a_better_picture_leads_to_it(
    client: httpx.AsyncClient, service: Service, read: Read
) -> None:
    document_id = await read()
    document = codec.loads(await service.blobs.get(f"transcriptions/{document_id}"))
    pages = [replace(page, preprocessed=page.number == 2) for page in document.pages]
    await service.blobs.delete(f"transcriptions/{document_id}")
    await service.blobs.put_once(f"transcriptions/{document_id}", codec.dumps(replace(document, pages=pages)))

    first, second = [(await client.get(f"/docs/{document_id}?page={number}")).text for number in (1, 2)]

    assert "Preprocessed picture" not in first
    assert f'href="/api/v1/documents/{document_id}/preprocessed.pdf"' in second


async def test_a_transcription_that_is_gone_leaves_the_page_usable(
    client: httpx.AsyncClient, service: Service, read: Read
) -> None:
    document_id = await read()
    await service.blobs.delete(f"transcriptions/{document_id}")

    page = await client.get(f"/docs/{document_id}?tab=text")

    assert page.status_code == 200
    assert "No text was read" in page.text


@pytest.mark.parametrize("document_id", ["x", "824646b4-1618-4127-819e-21468ade2d39"])
async def test_a_document_that_does_not_exist_is_an_error_page(
    client: httpx.AsyncClient, document_id: str
) -> None:
    page = await client.get(f"/docs/{document_id}")

    assert page.status_code == 404
    assert "There is no such document here." in page.text
    assert 'href="/">All documents' in page.text
