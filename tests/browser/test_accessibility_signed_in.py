"""The pages of people who have signed in, and those on the way there, keep the rules of WCAG 2.2, too.

What they share with a vault without accounts is checked on narrow pages as well, in test_accessibility.py.
"""

from collections.abc import Awaitable, Callable
from uuid import UUID

import pytest
from playwright.async_api import BrowserContext, Page, expect

from docmill.service.app import Service
from docmill.service.people.access import machine_access
from docmill.service.people.accounts import NewPerson
from docmill.service.protocol.pause import Cause
from docmill.service.review.review import FieldReview
from docmill.service.store import pauses, review_locks, saved_views, webhooks
from docmill.service.store.database import new_id
from docmill.service.store.memberships import Role
from docmill.testing.steps import PaintedPages
from support.accessibility import WIDE, linked_pages, violations
from support.people import PASSWORD

OPEN_EVERYTHING = "for (const each of document.querySelectorAll('details')) each.open = true"
OF_OWNERS = {"/people?", "/keys?", "/webhooks?", "/webhooks/id?", "/audit-log?"}
CAUSE = Cause("small model", "extract", "unauthorized", "the key is refused; set another")


@pytest.fixture
def renderer() -> PaintedPages:
    return PaintedPages()


@pytest.fixture
async def owner_id(service: Service) -> UUID:
    return await service.accounts.create_first(NewPerson(_email("owner"), "Olga", PASSWORD), "Acme")


@pytest.fixture
async def documents(
    service: Service,
    owner_id: UUID,
    add: Callable[[str], Awaitable[UUID]],
    read: Callable[[str], Awaitable[UUID]],
    fail: Callable[[UUID], Awaitable[None]],
) -> list[str]:
    """Paths of documents in several states, in a vault with something in every list."""
    tenant_id = service.default_tenant_id
    reviewed, rejected, locked, waiting, failed, deleted = [
        await make(f"{name}.png")
        for make, name in (
            (read, "reviewed"),
            (read, "rejected"),
            (read, "locked"),
            (add, "waiting"),
            (add, "failed"),
            (add, "deleted"),
        )
    ]
    await fail(failed)
    await service.bin.delete(deleted, tenant_id=tenant_id, deleted_by=owner_id)
    colleague, _ = await service.accounts.add("carl@example.org", "Carl", "reviewer", tenant_id=tenant_id)
    async with service.database.tenant(tenant_id) as conn:
        cur = await conn.execute("SELECT id, result_ingestion_id FROM document")
        results: dict[UUID, UUID] = dict(await cur.fetchall())
        await review_locks.take(conn, locked, tenant_id=tenant_id, user_id=colleague)
        await saved_views.save(
            conn, tenant_id=tenant_id, user_id=owner_id, name="Failed ones", query="state=failed"
        )
        await webhooks.add(
            conn,
            webhook_id := new_id(),
            tenant_id=tenant_id,
            url="https://hook.invalid/",
            events=["document.failed"],
            with_data=False,
            secret=b"sealed",
            created_by=owner_id,
        )
    await service.webhooks.test(webhook_id, tenant_id=tenant_id)  # fails, since its secret cannot be opened
    corrected = FieldReview("gross_total", "correct", "13.00")
    of_reviewed = {"tenant_id": tenant_id, "ingestion_id": results[reviewed], "reviewed_by": owner_id}
    await service.reviews.add(reviewed, [corrected], **of_reviewed)
    of_rejected = {"tenant_id": tenant_id, "ingestion_id": results[rejected], "reviewed_by": owner_id}
    await service.reviews.reject(rejected, "It is not for us", **of_rejected)
    await service.api_keys.create(machine_access(tenant_id), "Scanner", ["read"], None)
    await service.invitations.invite(
        "viewer", tenant_id=tenant_id, email="d@example.org", invited_by=owner_id
    )
    async with service.database.connection() as conn:
        await pauses.record(conn, "worker", [CAUSE])
    paths = [f"docs/{each}" for each in (reviewed, rejected, waiting, failed)]
    return [*paths, f"review/{reviewed}", f"review/{locked}"]


def _email(role: str) -> str:
    return f"{role}@example.org"


async def _sign_in(page: Page, address: str, role: str, language: str) -> None:
    """Sign in, and choose the language of the pages."""
    await page.goto(f"{address}login?next=/profile")
    await page.get_by_label("E-mail address").fill(_email(role))
    await page.get_by_label("Password", exact=True).fill(PASSWORD)
    await page.get_by_role("button", name="Sign in").click()
    await page.get_by_label("Language of the pages").select_option(language)
    await page.get_by_role("button", name="Save the language").click()
    await expect(page.locator("html")).to_have_attribute("lang", language)


@pytest.mark.parametrize(
    ("role", "language", "theme"),
    [
        ("owner", "en", "light"),
        ("owner", "de", "dark"),
        ("reviewer", "de", "light"),
        ("viewer", "en", "dark"),
    ],
)
async def test_no_page_of_who_has_signed_in_breaks_a_rule(
    page: Page,
    address: str,
    service: Service,
    documents: list[str],
    *,
    role: Role,
    language: str,
    theme: str,
) -> None:
    if role != "owner":
        _, link = await service.accounts.add(_email(role), role, role, tenant_id=service.default_tenant_id)
        assert link is not None
        await service.accounts.set_password(link, PASSWORD)
    await _sign_in(page, address, role, language)

    kinds, found = set[str](), list[str]()
    is_first = (role, language) == ("owner", "en")
    async for kind in linked_pages(page, address, of_a_kind=1, others=documents, with_filters=is_first):
        kinds.add(kind)
        await page.evaluate(OPEN_EVERYTHING)
        found += await violations(page, [(theme, WIDE)])
    await page.goto(address)
    await expect(page.locator("#connection")).to_have_attribute("data-state", "live")
    await page.keyboard.press("?")
    await expect(page.locator("#shortcuts")).to_be_visible()
    found += await violations(page, [(theme, WIDE)])

    assert found == []
    assert {"/?", "/docs/id?tab=history", "/review?", "/tags?", "/bin?", "/ops?", "/profile?"} <= kinds
    assert OF_OWNERS & kinds == (OF_OWNERS if role == "owner" else set())


@pytest.mark.parametrize(("language", "theme"), [("en", "light"), ("de", "dark")])
async def test_no_page_on_the_way_into_the_vault_breaks_a_rule(
    context: BrowserContext, address: str, service: Service, owner_id: UUID, *, language: str, theme: str
) -> None:
    tenant_id = service.default_tenant_id
    invitation = await service.invitations.invite("viewer", tenant_id=tenant_id, invited_by=owner_id)
    page = await context.new_page()  # not the fixture: a refusal is an error in the console
    await page.set_extra_http_headers({"accept-language": language})

    found: list[str] = []
    for path in (
        "login",
        "forgotten",
        f"join?token={invitation}",
        "join?token=over",
        f"password?token={await service.accounts.password_link(owner_id)}",
    ):
        await page.goto(f"{address}{path}")
        await expect(page.locator("html")).to_have_attribute("lang", language)
        found += await violations(page, [(theme, WIDE)])
    await page.goto(f"{address}login")
    await page.locator("[name=email]").fill(_email("owner"))
    await page.locator("[name=password]").fill("no such password")
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("alert")).to_be_visible()
    found += await violations(page, [(theme, WIDE)])

    assert found == []
