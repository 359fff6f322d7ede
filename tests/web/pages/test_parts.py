"""What documents hold and what holds them, on a document's page."""

import re
from collections.abc import Awaitable, Callable
from uuid import UUID

import httpx

from docmill.web.view.words import LISTED_PARTS

Add = Callable[..., Awaitable[UUID]]
Finish = Callable[..., Awaitable[None]]
Hold = Callable[..., Awaitable[None]]


def text_of(html: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", html)).replace(" ,", ",")


def parts_of(html: str) -> list[str]:
    (block,) = re.findall(r'<details class="parts" open>(.*?)</details>', html, re.DOTALL)
    return [text_of(item).strip() for item in re.findall(r"<li.*?</li>", block, re.DOTALL)]


async def test_a_page_lists_the_parts_with_their_states(
    client: httpx.AsyncClient, add: Add, finish: Finish, hold: Hold
) -> None:
    mail, bill, new, broken = [await add(name) for name in ("mail.eml", "bill.pdf", "new.pdf", "broken.pdf")]
    await finish(bill)
    await finish(
        broken,
        status="failed",
        classification=None,
        error_code="corrupt",
        error_message="the PDF is damaged; save it again",
    )
    await hold(mail, {"bill.pdf": bill, "new.pdf": new, "broken.pdf": broken, "a.txt": "the file is empty"})

    page = (await client.get(f"/docs/{mail}")).text

    assert "4 documents in it, 1 not added" in page
    assert parts_of(page) == [
        "bill.pdf Ready Corner Bakery",
        "new.pdf Processing",
        "broken.pdf Failed The PDF is damaged; save it again.",
        "a.txt Not added The file is empty.",
    ]
    assert f'<li data-part="{bill}">' in page
    assert f'<a href="/docs/{bill}" translate="no">bill.pdf</a>' in page


async def test_a_page_says_what_the_document_is_a_part_of(
    client: httpx.AsyncClient, add: Add, hold: Hold
) -> None:
    scan, archive, bill = await add("scan.pdf"), await add("all.zip"), await add("bill.pdf")
    await hold(scan, {"pages 1 to 2": bill}, kind="section", pages=2)
    await hold(archive, {"bill.pdf": bill}, kind="member")

    page = (await client.get(f"/docs/{bill}")).text

    assert f'<a href="/docs/{scan}" translate="no">scan.pdf</a>' in page
    assert "Part of: scan.pdf, pages 1 to 2, all.zip" in text_of(page)
    assert 'class="parts"' not in page


async def test_an_archive_points_to_what_it_holds(
    client: httpx.AsyncClient, add: Add, finish: Finish, hold: Hold
) -> None:
    archive, bill = await add("all.zip"), await add("bill.pdf")
    await finish(archive, media_type="application/zip", page_count=0)
    await hold(archive, {"bill.pdf": bill}, kind="member")

    page = (await client.get(f"/docs/{archive}")).text

    assert "1 document in it" in page
    assert '<details class="parts" open>' in page
    assert "The documents in it are listed above" in page
    assert 'class="toolbar"' not in page


async def test_a_card_tells_what_its_document_came_in(
    client: httpx.AsyncClient, add: Add, finish: Finish, hold: Hold
) -> None:
    scan, archive, bill = await add("scan.pdf"), await add("all.zip"), await add("bill.pdf")
    await finish(bill)
    await hold(scan, {"pages 1 to 2": bill}, kind="section", pages=2)
    await hold(archive, {"bill.pdf": bill}, kind="member")

    page = (await client.get("/")).text

    assert re.findall(r'<p class="card-whole">(.*?)</p>', page) == [
        f'From: <a href="/docs/{scan}" translate="no">scan.pdf</a>, pages 1 to 2'
    ]
    cards = re.findall(r'<li class="card([^"]*)" id="doc-([^"]*)"', page)
    assert {UUID(id_) for classes, id_ in cards if "part" in classes.split()} == {bill}


async def test_a_section_goes_by_its_title(
    client: httpx.AsyncClient, add: Add, finish: Finish, hold: Hold
) -> None:
    scan, bill, unread = await add("scan.pdf"), await add("bill.pdf"), await add("unread.pdf")
    await finish(bill)
    await hold(scan, {"pages 1 to 2": bill, "pages 3 to 4": unread}, kind="section", pages=2)

    page = (await client.get(f"/docs/{scan}")).text

    assert parts_of(page) == [
        "Corner Bakery, pages 1 to 2 Ready Receipt",
        "pages 3 to 4 Processing",
    ]


async def test_a_long_list_of_parts_leaves_room_for_the_page_above_which_it_stands(
    client: httpx.AsyncClient, add: Add, finish: Finish, hold: Hold
) -> None:
    mail = await add("mail.eml")
    several = {f"{number}.txt": "the file is empty" for number in range(LISTED_PARTS + 1)}
    await hold(mail, several)

    beside_a_page = (await client.get(f"/docs/{mail}")).text
    await finish(mail, media_type="application/zip", page_count=0)
    alone = (await client.get(f"/docs/{mail}")).text

    assert '<details class="parts">' in beside_a_page
    assert '<details class="parts" open>' in alone


async def test_names_of_parts_are_no_markup(client: httpx.AsyncClient, add: Add, hold: Hold) -> None:
    mail, bill = await add("mail.eml"), await add("bill.pdf")
    await hold(mail, {"<b>bill</b>.pdf": bill, "<i>.pdf": "<u>broken</u>"})

    page = (await client.get(f"/docs/{mail}")).text

    assert "&lt;b&gt;bill&lt;/b&gt;.pdf" in page
    assert not re.search(r"<(b|i|u)>", page)


async def test_a_document_alone_says_nothing_of_parts(client: httpx.AsyncClient, add: Add) -> None:
    page = (await client.get(f"/docs/{await add('a.pdf')}")).text

    assert 'class="parts"' not in page
    assert 'class="part-of"' not in page


async def test_the_matches_of_a_document_are_what_it_holds_and_what_holds_it(
    client: httpx.AsyncClient, add: Add, hold: Hold
) -> None:
    mail, bill, alone = await add("order.eml"), await add("bill.pdf"), await add("alone.pdf")
    await hold(mail, {"bill.pdf": bill})

    of_mail, of_bill, of_alone = [
        (await client.get(f"/docs/{key}?tab=matches")).text for key in (mail, bill, alone)
    ]

    assert f'<a href="/docs/{bill}" translate="no">bill.pdf</a>' in of_mail
    assert "A part of this one" in of_mail
    assert f'<a href="/docs/{mail}" translate="no">order.eml</a>' in of_bill
    assert "This one is a part of it" in of_bill
    assert "No other document is known to belong to this one." in of_alone
