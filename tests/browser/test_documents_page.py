"""The documents page in a real browser."""

import asyncio
from collections.abc import Awaitable, Callable
from uuid import UUID

import pytest
from playwright.async_api import BrowserContext, FileChooser, FilePayload, Page, Response, expect

from docmill.service.app import Service
from docmill.testing.steps import PaintedPages

SHOW_OR_HIDE = """hidden => {
    Object.defineProperty(document, "hidden", { value: hidden, configurable: true });
    document.dispatchEvent(new Event("visibilitychange"));
}"""
"""As when a person changes to another tab: for Playwright, all tabs are in front."""

Add = Callable[[str], Awaitable[UUID]]
Fail = Callable[[UUID], Awaitable[None]]


@pytest.fixture
def renderer() -> PaintedPages:
    return PaintedPages()


def file(name: str, content: bytes = b"content") -> FilePayload:
    return {"name": name, "mimeType": "application/octet-stream", "buffer": content}


async def live(page: Page, address: str) -> None:
    """The documents page, once it hears of changes."""
    await page.goto(address)
    await expect(page.locator("#connection")).to_have_text("Live")


async def test_focus_stays_on_retry_when_an_update_is_pushed(
    page: Page, address: str, service: Service, add: Add, fail: Fail
) -> None:
    document_id = await add("broken.txt")
    await fail(document_id)
    await live(page, address)
    retry = page.get_by_role("button", name="Retry processing: broken.txt")
    await retry.focus()

    async with service.database.tenant(service.default_tenant_id) as conn:
        await conn.execute("UPDATE document SET title = 'Another title' WHERE id = %s", [document_id])
    service.feed.announce()

    await expect(page.locator(".card-title")).to_have_text("Another title")
    await expect(page.get_by_role("button", name="Retry processing: Another title")).to_be_focused()


async def test_retry_shows_that_it_has_begun_and_focus_stays_on_the_card(
    page: Page, address: str, add: Add, fail: Fail
) -> None:
    await fail(await add("broken.txt"))
    await live(page, address)

    await page.keyboard.press("j")
    await page.keyboard.press("r")

    await expect(page.locator(".card .pill")).to_have_text("Processing")
    await expect(page.get_by_role("link", name="broken.txt")).to_be_focused()


async def test_files_are_uploaded_by_keyboard(page: Page, address: str) -> None:
    chosen = asyncio.Future[FileChooser]()
    page.on("filechooser", lambda chooser: chosen.set_result(chooser))  # noqa: PLW0108  it marks its handlers
    await live(page, address)

    await page.keyboard.press("u")
    await (await asyncio.wait_for(chosen, 10)).set_files([file("one.txt", b"1"), file("two.txt", b"2")])

    uploads = page.locator("#uploads li")
    await expect(uploads).to_have_count(2)
    await expect(uploads.filter(has_text="Added")).to_have_count(2)
    await expect(page.locator(".card")).to_have_count(2)


async def test_a_file_that_is_here_already_is_pointed_to(page: Page, address: str, add: Add) -> None:
    document_id = await add("known.txt")
    await live(page, address)

    await page.locator("#upload input[type=file]").set_input_files(file("again.txt", b"known.txt"))

    upload = page.locator("#uploads li")
    await expect(upload).to_contain_text("Already here")
    await expect(upload.get_by_role("link")).to_have_attribute("href", f"/docs/{document_id}")
    await upload.get_by_role("button", name="Dismiss").click()
    await expect(upload).to_have_count(0)


async def test_refused_files_are_listed_before_all_others(context: BrowserContext, address: str) -> None:
    page = await context.new_page()  # Chromium reports refusals as errors
    await live(page, address)

    files = [file("one.txt", b"1"), file("empty.txt", b""), file("two.txt", b"2"), file("nothing.txt", b"")]
    await page.locator("#upload input[type=file]").set_input_files(files)

    uploads = page.locator("#uploads li")
    await expect(uploads.filter(has_text="Added")).to_have_count(2)
    names = ["empty.txt", "nothing.txt", "one.txt", "two.txt"]
    await expect(uploads.locator(".name")).to_have_text(names)
    await expect(page.locator("#uploads-head span")).to_have_text("2 added, 2 not uploaded")
    await page.locator("#upload input[type=file]").set_input_files([file("again.txt", b"1")])
    sum_of_all = "2 added, 1 already here, 2 not uploaded"
    await expect(page.locator("#uploads-head span")).to_have_text(sum_of_all)
    await expect(page.locator("#announcements")).to_have_text(sum_of_all)


async def test_news_of_documents_that_a_later_page_of_the_list_shows_go_away(
    page: Page, address: str, add: Add
) -> None:
    await live(page, address)
    for number in range(25):
        await add(f"{number}.txt")
    await expect(page.locator("#arrivals")).to_have_text("25 new documents")

    await page.locator("#upload input[type=file]").set_input_files(file("mine.txt", b"mine"))

    await expect(page.locator(".card")).to_have_count(24)
    await expect(page.locator("#arrivals")).to_be_hidden()


async def test_a_dropped_file_is_uploaded(page: Page, address: str) -> None:
    await live(page, address)
    transfer = await page.evaluate_handle(
        """() => {
            const data = new DataTransfer();
            data.items.add(new File(["x"], "dropped.txt"));
            return data;
        }"""
    )

    await page.dispatch_event("body", "dragenter", {"dataTransfer": transfer})
    await expect(page.get_by_text("Drop files to upload")).to_be_visible()
    await page.dispatch_event("body", "drop", {"dataTransfer": transfer})

    await expect(page.locator("#uploads li")).to_contain_text("Added")
    await expect(page.get_by_text("Drop files to upload")).to_be_hidden()


async def test_documents_of_others_are_announced_and_move_nothing(page: Page, address: str, add: Add) -> None:
    await add("first.txt")
    await live(page, address)
    before = await page.locator(".card").bounding_box()

    await add("second.txt")
    await add("third.txt")

    news = page.locator("#arrivals")
    await expect(news).to_have_text("2 new documents")
    await expect(page.locator(".card")).to_have_count(1)
    assert await page.locator(".card").bounding_box() == before
    await news.click()
    await expect(page.locator(".card")).to_have_count(3)


async def test_a_search_filters_while_typing_and_is_in_the_address(
    page: Page, address: str, add: Add
) -> None:
    await add("apples.txt")
    await add("pears.txt")
    await live(page, address)

    await page.keyboard.press("/")
    await page.keyboard.type("pear")

    await expect(page.locator(".card")).to_have_count(1)
    await expect(page).to_have_url(f"{address}?q=pear")
    await expect(page.locator("#search")).to_be_focused()
    await page.get_by_label("Remove the filter “pear”").click()
    await expect(page.locator(".card")).to_have_count(2)


async def test_the_theme_changes_at_once_and_is_remembered(page: Page, address: str) -> None:
    await live(page, address)
    html = page.locator("html")

    async with page.expect_response("**/theme"):
        await page.get_by_role("button", name="Theme: auto").click()
    await expect(html).to_have_attribute("data-theme", "light")
    async with page.expect_response("**/theme"):
        await page.get_by_role("button", name="Theme: light").click()
    await page.reload()

    await expect(html).to_have_attribute("data-theme", "dark")


async def test_shortcuts_are_listed_and_can_be_turned_off(page: Page, address: str, add: Add) -> None:
    await add("one.txt")
    await live(page, address)

    await page.keyboard.press("?")
    await page.get_by_label("Use these shortcuts").uncheck()
    await page.get_by_role("button", name="Close").click()
    await page.keyboard.press("j")

    await expect(page.get_by_role("link", name="one.txt")).not_to_be_focused()


async def test_keys_lead_from_document_to_document_and_from_page_to_page(
    page: Page, address: str, add: Add
) -> None:
    older, newer = await add("older.txt"), await add("newer.txt")
    await live(page, address)

    # j and k stop at both ends.
    for key, expected in (("j", newer), ("j", older), ("j", older), ("k", newer), ("k", newer), ("j", older)):
        await page.keyboard.press(key)
        await expect(page.locator(f"#doc-{expected} .card-title a")).to_be_focused()
    await page.keyboard.press("Enter")
    await page.wait_for_url(f"**/docs/{older}")
    await expect(page.locator("#connection")).to_have_text("Live")

    for keys, path in (("gr", "review"), ("gd", ""), ("go", "ops"), ("/", "#search")):
        await page.keyboard.type(keys)
        await page.wait_for_url(f"{address}{path}")
    await expect(page.locator("#search")).to_be_focused()

    # Letters are typed there; Escape leaves the field, and they are shortcuts again.
    await page.keyboard.type("older")
    await expect(page.locator(".card")).to_have_count(1)
    await page.keyboard.press("Escape")
    await expect(page.locator("#search")).not_to_be_focused()
    await page.keyboard.press("?")
    await expect(page.locator("#shortcuts")).to_be_visible()
    await page.keyboard.press("Escape")
    await expect(page.locator("#shortcuts")).to_be_hidden()


async def test_the_list_of_shortcuts_begins_at_its_top_on_a_phone(page: Page, address: str) -> None:
    await page.set_viewport_size({"width": 320, "height": 640})
    await live(page, address)

    await page.keyboard.press("?")

    await expect(page.get_by_role("heading", name="Keyboard shortcuts")).to_be_in_viewport()


async def test_nothing_is_wider_than_a_phone(page: Page, address: str, add: Add, fail: Fail) -> None:
    document_id = await add("a-very-long-file-name-without-any-place-to-break-it-anywhere.pdf")
    await fail(document_id)
    await page.set_viewport_size({"width": 320, "height": 640})

    for path in ["", f"docs/{document_id}", f"docs/{document_id}?tab=history"]:
        await page.goto(f"{address}{path}")
        assert await page.evaluate("document.documentElement.scrollWidth") <= 320


async def test_the_list_is_shown_as_a_table_that_stays_live(
    page: Page, address: str, service: Service, add: Add
) -> None:
    document_id = await add("bill.pdf")
    await page.set_viewport_size({"width": 1280, "height": 900})
    await live(page, address)

    await page.keyboard.press("v")
    await expect(page.locator(".cards.compact")).to_be_visible()
    await expect(page.locator("#connection")).to_have_text("Live")
    await page.keyboard.press("v")
    table = page.locator(".cards.table")
    await expect(table).to_be_visible()
    await expect(page.locator("#connection")).to_have_text("Live")
    async with service.database.tenant(service.default_tenant_id) as conn:
        await conn.execute("UPDATE document SET title = 'Another title' WHERE id = %s", [document_id])
    service.feed.announce()
    await expect(table.locator(".card-title")).to_have_text("Another title")
    card = await table.locator(".card").bounding_box()
    assert card is not None
    assert card["height"] == 60

    # Its headings order it, and it stays a table.
    await page.get_by_role("link", name="Amount").click()
    await page.wait_for_url("**/?sort=amount")
    await expect(page.locator(".list-head [aria-current]")).to_have_text("Amount")
    await expect(page.locator("#connection")).to_have_text("Live")
    await expect(table).to_be_visible()
    await page.keyboard.press("v")
    await expect(page.locator(".cards.cards")).to_be_visible()
    await expect(page).to_have_url(f"{address}?sort=amount")


async def test_documents_are_marked_with_the_keyboard(page: Page, address: str, add: Add) -> None:
    for name in ("a.pdf", "b.pdf"):
        await add(name)
    await live(page, address)

    await page.keyboard.press("j")
    await page.keyboard.press(" ")
    await expect(page.get_by_label("Mark b.pdf")).to_be_checked()
    await expect(page.get_by_role("button", name="Delete")).to_be_visible()
    await page.keyboard.press("j")
    await page.keyboard.press(" ")
    await page.keyboard.press(" ")
    await expect(page.get_by_label("Mark a.pdf")).not_to_be_checked()

    await page.get_by_role("button", name="Delete").press(" ")
    await expect(page.get_by_text("1 document is in the bin")).to_be_visible()


@pytest.mark.parametrize("width", [320, 768, 1280])
async def test_what_a_search_found_is_shown_in_whole_lines(
    page: Page, address: str, service: Service, add: Add, width: int
) -> None:
    document_id = await add("a long name of a document that takes two lines of its card.txt")
    async with service.database.tenant(service.default_tenant_id) as conn:
        await conn.execute(
            "UPDATE document SET text = %s WHERE id = %s", ["\f" + "the crane is lifted " * 20, document_id]
        )
    await page.set_viewport_size({"width": width, "height": 900})

    await page.goto(f"{address}?q=crane")

    place = page.locator(".card-found")
    await expect(place).to_contain_text("Page 2: the crane is lifted")
    await expect(place.locator("mark").first).to_have_text("crane")
    for block in await page.locator(".card-title, .card-found").all():
        lines = await block.evaluate(
            "(each) => each.clientHeight / parseFloat(getComputedStyle(each).lineHeight)"
        )
        assert abs(lines - round(lines)) < 0.1
    assert await page.locator(".card-body").evaluate("(each) => each.scrollHeight <= each.clientHeight + 1")


async def test_a_lost_connection_is_told_and_found_again(
    context: BrowserContext, address: str, add: Add
) -> None:
    page = await context.new_page()
    await page.route("**/api/v1/events*", lambda route: route.abort())

    await page.goto(address)
    banner = page.get_by_text("No connection to the vault.")
    await expect(page.locator("#connection")).to_have_text("Reconnecting")
    await expect(banner).to_be_visible(timeout=15_000)
    await add("meanwhile.txt")
    await page.unroute_all()

    await expect(page.locator("#arrivals")).to_have_text("1 new document", timeout=15_000)
    await expect(banner).to_be_hidden()


async def test_a_seventh_tab_loads_beside_six_hidden_ones_which_catch_up_when_they_are_shown(
    context: BrowserContext, address: str, add: Add
) -> None:
    # Over HTTP/1.1 a browser has at most six connections to a server, and a stream of changes takes one.
    tabs: list[Page] = []
    for _ in range(7):
        for tab in tabs:
            await tab.evaluate(SHOW_OR_HIDE, True)
        tabs.append(await context.new_page())
        await live(tabs[-1], address)

    await add("meanwhile.txt")
    await expect(tabs[-1].locator("#arrivals")).to_have_text("1 new document")
    await expect(tabs[0].locator("#arrivals")).to_be_hidden()
    await tabs[0].evaluate(SHOW_OR_HIDE, False)
    await expect(tabs[0].locator("#arrivals")).to_have_text("1 new document")


async def test_a_first_visit_fetches_little(page: Page, address: str, add: Add) -> None:
    for number in range(50):
        await add(f"a document of a name of usual length {number}.txt")
    answers: list[Response] = []

    def note(answer: Response) -> None:
        if not answer.url.endswith("svg") and "/events" not in answer.url:
            answers.append(answer)

    page.on("response", note)

    await live(page, address)

    sizes = [await answer.request.sizes() for answer in answers]
    fetched = sum(size["responseBodySize"] + size["responseHeadersSize"] for size in sizes)
    assert 10_000 < fetched <= 40_000


@pytest.mark.parametrize(("language", "shown"), [("en", "2026-01-01 01:30"), ("de", "01.01.2026, 01:30")])
async def test_times_are_those_of_the_persons_zone_and_stay_so(
    page: Page, service: Service, address: str, add: Add, language: str, shown: str
) -> None:
    document_id = await add("letter.pdf")
    async with service.database.tenant(service.default_tenant_id) as conn:
        await conn.execute(
            "UPDATE ingestion SET created_at = '2025-12-31 20:00Z' WHERE document_id = %s", [document_id]
        )
    devtools = await page.context.new_cdp_session(page)
    await devtools.send("Emulation.setTimezoneOverride", {"timezoneId": "Asia/Kolkata"})  # pyright: ignore[reportUnknownMemberType]
    await page.set_extra_http_headers({"accept-language": language})
    await page.goto(f"{address}docs/{document_id}?tab=history")
    await expect(page.locator("#connection")).to_have_attribute("data-state", "live")
    requested = page.locator("time[datetime='2025-12-31T20:00:00+00:00']")
    await expect(requested).to_have_text(shown)

    await page.request.post(f"{address}api/v1/documents/{document_id}/tags", data={"add": ["urgent"]})
    await expect(page.locator("#tags")).to_contain_text("urgent")

    await expect(requested).to_have_text(shown)


async def test_a_picture_that_cannot_be_drawn_stays_replaced_when_the_page_changes(
    page: Page, address: str, read: Callable[[str], Awaitable[UUID]]
) -> None:
    document_id = await read("one.png")
    await live(page, f"{address}docs/{document_id}")
    broken = page.locator("#sheet.broken")
    await expect(broken).to_be_visible()

    await page.request.post(f"{address}api/v1/documents/{document_id}/tags", data={"add": ["urgent"]})
    await expect(page.locator("#tags")).to_contain_text("urgent")

    await expect(broken).to_be_visible()
    await expect(page.locator("#sheet img")).to_be_hidden()
