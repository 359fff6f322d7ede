"""Violations that axe finds on pages, and the pages that links lead to."""

import re
from collections import Counter
from collections.abc import AsyncIterator, Iterable, Sequence
from urllib.parse import urljoin, urlsplit

from axe_playwright_python.base import AXE_SCRIPT
from playwright.async_api import Page, ViewportSize

RULES = {
    "runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"],
    "resultTypes": ["violations"],
}
NARROW: ViewportSize = {"width": 320, "height": 640}
WIDE: ViewportSize = {"width": 1280, "height": 900}
LOOKS = (("light", WIDE), ("dark", WIDE), ("light", NARROW))
"""Themes and sizes."""


async def violations(page: Page, looks: Sequence[tuple[str, ViewportSize]] = LOOKS) -> list[str]:
    """What the rules of WCAG 2.2, A and AA, find wrong on a page, in each look."""
    found: list[str] = []
    await page.evaluate(AXE_SCRIPT)
    for theme, size in looks:
        await page.set_viewport_size(size)
        await page.emulate_media(color_scheme="dark" if theme == "dark" else "light", reduced_motion="reduce")
        results = await page.evaluate("rules => axe.run(document, rules)", RULES)
        found += [
            f"{page.url} {theme} {size['width']} px: {violation['id']}: {node['target']}: "
            f"{node['failureSummary']}"
            for violation in results["violations"]
            for node in violation["nodes"]
        ]
    return found


async def linked_pages(
    page: Page, start: str, *, of_a_kind: int, others: Iterable[str] = (), with_filters: bool = True
) -> AsyncIterator[str]:
    """Go to every page of the vault that links lead to, and to `others`; the kind of each.

    of_a_kind: so many pages of one kind are gone to, see `kind_of`. others: always gone to, and first.
    with_filters: whether a list with a filter, or a document with a value at hand, is another kind.
    """
    always = [urljoin(start, other) for other in others]
    todo, seen, visited = [*always, start], Counter[str](), set[str]()
    while todo:
        address = todo.pop(0)
        kind = kind_of(address, with_filters=with_filters)
        if address in visited or seen[kind] == of_a_kind:
            continue
        visited.add(address)
        seen[kind] += address not in always
        await page.goto(address)
        yield kind
        todo += await _links(page)


async def _links(page: Page) -> list[str]:
    """The addresses of other pages of the vault that a page links to."""
    given: list[str] = await page.eval_on_selector_all(
        "a[href]:not([download])", "links => links.map(link => link.getAttribute('href'))"
    )
    whole = [urljoin(page.url, address).partition("#")[0] for address in given]
    here = urlsplit(page.url).netloc
    return [
        address
        for address in whole
        if urlsplit(address).netloc == here and not urlsplit(address).path.startswith(("/api/", "/static/"))
    ]


def kind_of(address: str, *, with_filters: bool = True) -> str:
    """The address without ids and without the values of filters: pages of one kind are alike."""
    parts = urlsplit(address)
    path = re.sub(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "id", parts.path)
    path = re.sub(r"(?<=/types/)\w+", "type", path)
    names = [re.sub(r"^(?!tab=)([^=]*)=.*", r"\1", pair) for pair in parts.query.split("&") if pair]
    return f"{path}?{'&'.join(sorted(name for name in names if with_filters or name.startswith('tab=')))}"
