"""Documents are photographed with a phone, wait without a connection, and arrive once."""

import asyncio
from io import BytesIO
from pathlib import Path
from typing import Any
from uuid import UUID

import pikepdf
import pytest
from PIL import Image
from playwright.async_api import BrowserContext, Page, Route, expect

from docmill.service.app import Service
from docmill.service.people.accounts import NewPerson
from docmill.service.people.sign_in import Visitor
from docmill.service.store import document_list
from docmill.service.store.document_list import DocumentFilters
from docmill.testing.steps import PaintedPages
from support.accessibility import violations
from support.people import PASSWORD
from support.photographs import page_picture

WORKER_IS_THERE = "navigator.serviceWorker.ready.then(() => navigator.serviceWorker.controller !== null)"


@pytest.fixture
def renderer() -> PaintedPages:
    return PaintedPages()


@pytest.fixture
def launch_options(launch_options: dict[str, Any], tmp_path: Path) -> dict[str, Any]:
    """A browser on a phone, whose camera sees a page."""
    film = tmp_path / "camera.mjpeg"
    film.write_bytes(page_picture(size=(720, 960)) * 3)
    flags = [
        "--use-fake-device-for-media-stream",
        "--use-fake-ui-for-media-stream",
        f"--use-file-for-fake-video-capture={film}",
    ]
    return {
        **launch_options,
        "args": [*launch_options["args"], *flags],
        "viewport": {"width": 390, "height": 844},
        "has_touch": True,
        "permissions": ["camera"],
    }


@pytest.fixture
def refusals() -> tuple[str, ...]:
    """The console tells of each request without a connection, and of each refusal."""
    return ("net::ERR_", "the server responded with a status of")


async def choose(page: Page, *pictures: bytes) -> None:
    """Take photographs with the camera app."""
    before = await page.locator("#pages li").count()
    files = [
        {"name": f"{index}.jpg", "mimeType": "image/jpeg", "buffer": picture}
        for index, picture in enumerate(pictures)
    ]
    await page.locator("#camera-app").set_input_files(files)  # pyright: ignore[reportArgumentType]  a list of theirs
    await expect(page.locator("#pages li")).to_have_count(before + len(pictures))


async def stored_files(service: Service, tenant_id: UUID | None = None) -> list[bytes]:
    """The originals of all documents."""
    async with service.database.tenant(tenant_id or service.default_tenant_id) as conn:
        listed = await document_list.page(conn, DocumentFilters(), limit=50)
    return [await service.blobs.get(row.file_path) for row in listed.rows]


def image_of(page: pikepdf.Page) -> Any:  # noqa: ANN401  pikepdf's objects have no types of their own
    """The only picture of a page."""
    (image,) = page.resources["/XObject"].values()
    return image


async def test_the_camera_takes_two_pages_that_become_one_document(
    page: Page, address: str, service: Service
) -> None:
    await page.goto(f"{address}capture")
    shutter = page.get_by_role("button", name="Take photo")
    await shutter.click()
    await expect(page.locator("#pages li")).to_have_count(1)
    await shutter.click()
    await expect(page.locator("#pages li")).to_have_count(2)

    await page.get_by_role("button", name="Rotate, page 2").click()
    await page.get_by_role("button", name="Send").click()
    await expect(page.locator("#waiting")).to_contain_text("Sent")

    (file,) = await stored_files(service)
    with pikepdf.open(BytesIO(file)) as pdf:
        assert [int(each.Rotate) for each in pdf.pages] == [0, 90]
        image = image_of(pdf.pages[0])
        assert (image.Width, image.Height) == (720, 960)
        assert pdf.check_pdf_syntax() == []


async def test_pages_are_put_in_order_deleted_and_taken_again(
    page: Page, address: str, service: Service
) -> None:
    await page.goto(f"{address}capture")
    sizes = [(600, 800), (640, 800), (680, 800)]
    await choose(page, *[page_picture(size=size) for size in sizes])

    await page.get_by_role("button", name="Earlier, page 3").click()
    await expect(page.get_by_role("button", name="Earlier, page 2")).to_be_focused()
    await page.get_by_role("button", name="Delete, page 1").click()
    await expect(page.locator("#pages li")).to_have_count(2)
    await page.get_by_role("button", name="Retake, page 2").click()
    await expect(page.locator("#capture-note")).to_contain_text("takes the place of page 2")
    await page.locator("#camera-app").set_input_files(
        {"name": "again.jpg", "mimeType": "image/jpeg", "buffer": page_picture(size=(720, 800))}
    )
    await expect(page.locator("#capture-note")).to_be_hidden()
    await page.get_by_role("button", name="Send 2 pages").click()
    await expect(page.locator("#waiting")).to_contain_text("Sent")

    (file,) = await stored_files(service)
    with pikepdf.open(BytesIO(file)) as pdf:
        widths = [image_of(each).Width for each in pdf.pages]
    assert widths == [680, 720]


@pytest.mark.parametrize(
    ("picture", "warning"),
    [
        (page_picture(blur_px=4), "This page may be blurred."),
        (page_picture(light=0.25), "This page may be too dark."),
        (page_picture(), None),
        (page_picture(size=(3000, 4000)), None),
    ],
    ids=["blurred", "dark", "sharp", "sharp and large"],
)
async def test_a_page_that_cannot_be_read_well_is_told_before_it_is_sent(
    page: Page, address: str, picture: bytes, warning: str | None
) -> None:
    await page.goto(f"{address}capture")
    await choose(page, picture)

    if warning is None:
        await expect(page.locator("#pages .pill")).to_have_count(0)
        await expect(page.get_by_role("button", name="Send 1 page")).to_be_visible()
    else:
        await expect(page.locator("#pages .pill")).to_have_text(warning)
        await expect(page.get_by_role("button", name="Send anyway")).to_be_visible()
        await page.get_by_role("button", name="Keep, page 1").click()
        await expect(page.get_by_role("button", name="Send 1 page")).to_be_visible()


async def test_a_photograph_keeps_what_a_reader_needs(page: Page, address: str, service: Service) -> None:
    await page.goto(f"{address}capture")
    await choose(page, page_picture(size=(3000, 4000)), page_picture(size=(4500, 6000)))
    await page.get_by_role("button", name="Send").click()
    await expect(page.locator("#waiting")).to_contain_text("Sent")

    (file,) = await stored_files(service)
    with pikepdf.open(BytesIO(file)) as pdf:
        images = [image_of(each) for each in pdf.pages]
        assert [(image.Width, image.Height) for image in images] == [(3000, 4000), (3072, 4096)]
        with Image.open(BytesIO(images[0].read_raw_bytes())) as jpeg:
            # The sum of the table of quantisation is less the better the quality: 0.9 has 685.
            assert sum(jpeg.quantization[0]) <= 700  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType, reportUnknownArgumentType]


async def test_without_a_connection_documents_wait_and_survive_the_page(
    page: Page, context: BrowserContext, address: str, service: Service
) -> None:
    await page.goto(f"{address}capture")
    await page.evaluate(WORKER_IS_THERE)
    await choose(page, page_picture(1))
    await context.set_offline(True)

    # The unsent page is there after the page was closed and opened again without a connection.
    await page.reload()
    await expect(page.locator("#pages li")).to_have_count(1)
    await choose(page, page_picture(2))
    await page.get_by_role("button", name="Send 2 pages").click()
    await expect(page.locator("#waiting li")).to_contain_text("Waits for a connection")
    await page.reload()
    await expect(page.locator("#waiting li")).to_contain_text("2 pages")
    assert await stored_files(service) == []

    await context.set_offline(False)
    await expect(page.locator("#waiting li")).to_contain_text("Sent")
    (file,) = await stored_files(service)
    with pikepdf.open(BytesIO(file)) as pdf:
        assert len(pdf.pages) == 2
    await page.reload()
    await expect(page.locator("#waiting")).to_be_hidden()


async def test_the_device_keeps_no_document_of_the_vault(page: Page, address: str) -> None:
    await page.goto(f"{address}capture")
    await page.evaluate(WORKER_IS_THERE)
    await page.goto(address)
    await page.goto(f"{address}capture")

    kept = await page.evaluate(
        """async () => {
            const addresses = [];
            for (const name of await caches.keys()) {
                const cache = await caches.open(name);
                addresses.push(...(await cache.keys()).map(({ url }) => new URL(url).pathname));
            }
            return addresses;
        }"""
    )

    others = [path for path in kept if not path.startswith(("/static/", "/texts/"))]
    assert others == ["/capture/shell"]
    assert any(path.endswith("/capture.js") for path in kept)


async def test_an_upload_that_is_broken_off_goes_on_where_it_was(
    page: Page, context: BrowserContext, address: str, service: Service
) -> None:
    await page.goto(f"{address}capture")
    offsets: list[str] = []

    async def watch(route: Route) -> None:
        if route.request.method != "PATCH":
            await route.continue_()
            return
        offsets.append(route.request.headers["upload-offset"])
        if len(offsets) == 3:
            await context.set_offline(True)
            await route.abort("connectionreset")
        elif len(offsets) == 5:  # it arrives, and its answer is lost
            await route.fetch()
            await route.abort("connectionreset")
        else:
            await route.continue_()

    await context.route("**/api/v1/uploads/*", watch)
    await choose(page, page_picture(size=(2000, 2700), noise=20))
    await page.get_by_role("button", name="Send 1 page").click()
    await expect(page.locator("#waiting li .waiting-status")).to_have_text("Waits for a connection")
    await context.set_offline(False)
    await expect(page.locator("#waiting li")).to_contain_text("Sent", timeout=30_000)

    assert len(await stored_files(service)) == 1
    assert offsets[3] == offsets[2], "nothing that had arrived is sent again"
    assert len(set(offsets)) == len(offsets) - 1, "the part whose answer was lost is not sent again"


async def _sign_in(service: Service, context: BrowserContext, address: str, user_id: UUID) -> None:
    session = await service.sign_in.begin_session(user_id, Visitor())
    await context.clear_cookies()
    await context.add_cookies([{"name": "docmill-session", "value": session.token, "url": address}])


async def test_what_one_person_photographed_is_not_sent_by_another(
    page: Page, context: BrowserContext, address: str, service: Service
) -> None:
    anna = await service.accounts.create_first(NewPerson("anna@example.org", "Anna", PASSWORD), "Acme")
    ben, _ = await service.accounts.add(
        "ben@example.org", "Ben", "reviewer", tenant_id=service.default_tenant_id
    )
    await _sign_in(service, context, address, anna)
    await page.goto(f"{address}capture")
    await page.evaluate(WORKER_IS_THERE)
    await context.set_offline(True)
    await choose(page, page_picture(1))
    await page.get_by_role("button", name="Send 1 page").click()
    await choose(page, page_picture(2))

    await _sign_in(service, context, address, ben)
    await context.set_offline(False)
    await page.goto(f"{address}capture")

    await expect(page.locator("#others")).to_have_text(
        "1 document of somebody else waits on this device. It is sent when they sign in here."
    )
    await expect(page.locator("#pages li")).to_have_count(0)
    await choose(page, page_picture(3))
    await page.get_by_role("button", name="Send 1 page").click()
    await expect(page.locator("#waiting li")).to_contain_text("Sent")
    async with service.database.tenant(service.default_tenant_id) as conn:
        cur = await conn.execute("SELECT uploaded_by FROM ingestion")
        assert await cur.fetchall() == [(ben,)]

    await _sign_in(service, context, address, anna)
    await page.goto(f"{address}capture")
    await expect(page.locator("#pages li")).to_have_count(1)
    await expect(page.locator("#waiting li")).to_contain_text("Sent")
    async with service.database.tenant(service.default_tenant_id) as conn:
        cur = await conn.execute("SELECT uploaded_by FROM ingestion ORDER BY created_at")
        assert await cur.fetchall() == [(ben,), (anna,)]


async def test_after_a_sign_out_photographs_wait_for_the_sign_in(
    page: Page, context: BrowserContext, address: str, service: Service
) -> None:
    anna = await service.accounts.create_first(NewPerson("anna@example.org", "Anna", PASSWORD), "Acme")
    await _sign_in(service, context, address, anna)
    await page.goto(f"{address}capture")
    await expect(page.locator("#capture-for")).to_have_text("For Anna, Acme")
    await context.clear_cookies()

    await choose(page, page_picture())
    await page.get_by_role("button", name="Send 1 page").click()
    await page.evaluate("dispatchEvent(new Event('online'))")
    await expect(page.locator("#signed-out")).to_be_visible()
    assert await stored_files(service) == []

    await page.locator("#signed-out").get_by_role("link", name="Sign in").click()
    await page.get_by_label("E-mail address").fill("anna@example.org")
    await page.get_by_label("Password", exact=True).fill(PASSWORD)
    await page.get_by_role("button", name="Sign in").click()
    await expect(page.locator("#waiting li")).to_contain_text("Sent")
    assert len(await stored_files(service)) == 1


async def test_a_refusal_is_told_in_words_and_can_be_discarded(
    page: Page, address: str, service: Service
) -> None:
    async def refuse(route: Route) -> None:
        await route.fulfill(status=413, json={"detail": "the file is larger than 1 MB", "code": "too_large"})

    await page.route("**/api/v1/uploads", refuse)
    await page.goto(f"{address}capture")
    await choose(page, page_picture())
    await page.get_by_role("button", name="Send 1 page").click()

    await expect(page.locator("#waiting li")).to_contain_text("Not taken: the file is larger than 1 MB")
    await page.get_by_role("button", name="Discard").click()
    await expect(page.locator("#waiting")).to_be_hidden()
    assert await stored_files(service) == []


async def test_what_is_discarded_on_its_way_is_removed_from_the_vault_too(
    page: Page, context: BrowserContext, address: str, service: Service
) -> None:
    await page.goto(f"{address}capture")
    is_discarded = asyncio.Event()

    async def wait(route: Route) -> None:
        if route.request.method == "PATCH":
            await is_discarded.wait()
        await route.continue_()

    await context.route("**/api/v1/uploads/*", wait)
    await choose(page, page_picture(size=(2000, 2700), noise=20))
    await page.get_by_role("button", name="Send 1 page").click()
    await expect(page.locator("#waiting li")).to_contain_text("Sending")
    await page.get_by_role("button", name="Discard").click()
    async with page.expect_response(lambda answer: answer.request.method == "DELETE"):
        is_discarded.set()

    await expect(page.locator("#waiting")).to_be_hidden()
    assert await stored_files(service) == []
    assert await service.blobs.keys("partial") == []


async def test_a_document_larger_than_the_limit_keeps_its_pages(
    page: Page, address: str, service: Service
) -> None:
    await page.goto(f"{address}capture")
    await choose(page, page_picture(1), page_picture(2))
    await page.evaluate("document.querySelector('#capture').dataset.limitBytes = 100000")
    await page.get_by_role("button", name="Send 2 pages").click()

    await expect(page.locator("#capture-note")).to_contain_text("larger than the limit")
    await expect(page.locator("#pages li")).to_have_count(2)
    assert await stored_files(service) == []


async def test_the_page_keeps_the_rules_of_accessibility(
    page: Page, context: BrowserContext, address: str
) -> None:
    await page.goto(f"{address}capture")
    await page.evaluate(WORKER_IS_THERE)
    await choose(page, page_picture(1))
    await context.set_offline(True)
    await page.get_by_role("button", name="Send 1 page").click()
    await choose(page, page_picture(2), page_picture(3, blur_px=5))

    assert await violations(page) == []
    await page.set_viewport_size({"width": 320, "height": 640})
    assert await page.evaluate("document.documentElement.scrollWidth") <= 320


async def test_the_browser_sends_what_waits_after_the_page_was_closed(
    page: Page, context: BrowserContext, address: str, service: Service
) -> None:
    await page.goto(f"{address}capture")
    await page.evaluate(WORKER_IS_THERE)
    await context.set_offline(True)
    await choose(page, page_picture(1))
    await page.get_by_role("button", name="Send 1 page").click()
    await expect(page.locator("#waiting li")).to_contain_text("Waits for a connection")
    await page.goto("about:blank")
    await context.set_offline(False)
    await page.goto(address)

    # Chromium asks for it when it has a connection; it does not notice one that is emulated.
    devtools: Any = await context.new_cdp_session(page)
    registered = asyncio.Future[str]()

    def note(told: dict[str, Any]) -> None:
        registered.set_result(told["registrations"][0]["registrationId"])

    devtools.on("ServiceWorker.workerRegistrationUpdated", note)
    await devtools.send("ServiceWorker.enable")
    event = {
        "origin": address,
        "registrationId": await registered,
        "tag": "docmill-capture",
        "lastChance": True,
    }
    await devtools.send("ServiceWorker.dispatchSyncEvent", event)

    await expect(page.locator("#arrivals")).to_have_text("1 new document")
    assert len(await stored_files(service)) == 1


async def test_the_application_can_be_installed(page: Page, address: str) -> None:
    await page.goto(f"{address}capture")
    session: Any = await page.context.new_cdp_session(page)

    manifest = await session.send("Page.getAppManifest")
    problems = await session.send("Page.getInstallabilityErrors")

    assert manifest["errors"] == []
    assert problems["installabilityErrors"] == []
