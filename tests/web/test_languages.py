"""The pages in several languages: which one is chosen, and that every text is in the catalogues."""

import re
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from decimal import Decimal
from uuid import UUID

import httpx
import pytest
from babel.messages.catalog import Message
from babel.messages.pofile import read_po
from babel.support import NullTranslations
from lxml import html

from docmill.web import languages
from docmill.web.extraction import source_catalogue

VISIBLE = ("aria-label", "title", "placeholder", "alt")
DATA = frozenset({"code", "kbd", "pre", "q", "script", "style"})
"""Elements that hold data or keys, which are not translated."""
MEASURED = r"\d[\d.,:]* ?(?:ms|s|min|h|KB|MB|GB|UTC)\b"
"""Units are the same in every language that pages are written in."""
OF_DOCUMENTS = r"Corner Bakery|Bread|\w+\.(?:pdf|png|exe)|bakery|office"
"""Names of the tests' documents, which stand in labels beside translated words."""
PAGES = (
    "/",
    "/?q=nothing",
    "/review",
    "/tags",
    "/bin",
    "/ops",
    "/keys",
    "/people",
    "/audit-log",
    "/settings",
    "/settings/types/invoice",
    "/settings/installation",
    "/welcome",
    "/no-such",
)


class MarkedTexts(NullTranslations):
    """A language in which every text is between marks."""

    def gettext(self, message: str) -> str:
        return f"⟦{message}⟧"

    def ngettext(self, singular: str, plural: str, num: int, /) -> str:  # pyright: ignore[reportIncompatibleMethodOverride]
        return f"⟦{singular if num == 1 else plural}⟧"


@pytest.fixture
def marked(monkeypatch: pytest.MonkeyPatch) -> None:
    def catalogue(language: str) -> MarkedTexts:
        del language
        return MarkedTexts()

    monkeypatch.setattr(languages, "catalogue", catalogue)


def untranslated(page: str) -> list[str]:
    """The texts of a page that stand outside of marks and are no data."""
    found: list[str] = []
    for element in html.fromstring(page).iter():
        if not isinstance(element.tag, str):
            continue
        around = [element, *element.iterancestors()]
        is_data = any(each.get("translate") == "no" or each.tag in DATA for each in around)
        texts = [] if is_data else [element.text, *(element.get(name) for name in VISIBLE)]
        parent_is_data = any(each.get("translate") == "no" or each.tag in DATA for each in around[1:])
        texts += [] if parent_is_data else [element.tail]
        found += [text.strip() for text in texts if text]
    joined = [re.sub(rf"{MEASURED}|{OF_DOCUMENTS}", "", without_marked(text)) for text in found]
    return [text for text, rest in zip(found, joined, strict=True) if re.search(r"[A-Za-z]", rest)]


def without_marked(text: str) -> str:
    """The text without what stands in marks, also in those of a text that is put into another."""
    rest = re.sub(r"⟦[^⟦⟧]*⟧", "", text)
    return rest if rest == text else without_marked(rest)


def catalogue_of_german() -> dict[str | tuple[str, ...], Message]:
    with languages.path_of("de").open("rb") as file:
        return {key_of(message): message for message in read_po(file) if message.id}


def key_of(message: Message) -> str | tuple[str, ...]:
    return message.id if isinstance(message.id, str) else tuple(message.id)


async def outside_the_catalogues(client: httpx.AsyncClient, address: str) -> list[str]:
    page = (await client.get(address, headers={"accept-language": "de"})).text
    # Texts with elements in them are split by those; their marks open in one node and close in another.
    return untranslated(re.sub(r"⟦[^⟦⟧]*⟧", lambda text: "⟦⟧" if "<" in text[0] else text[0], page))


@pytest.mark.usefixtures("marked")
@pytest.mark.parametrize("address", PAGES)
async def test_no_text_of_a_page_is_outside_the_catalogues(client: httpx.AsyncClient, address: str) -> None:
    assert await outside_the_catalogues(client, address) == []


@pytest.mark.usefixtures("marked")
async def test_no_text_about_documents_is_outside_the_catalogues(
    client: httpx.AsyncClient,
    add: Callable[..., Awaitable[UUID]],
    finish: Callable[..., Awaitable[None]],
    read: Callable[..., Awaitable[UUID]],
) -> None:
    failure = {"check": "sums", "message": "The sums differ.", "fields": ["gross_total"]}
    to_review = await read("review.png", verdict={"failures": [failure]}, valid_structured_data=False)
    unknown, failed, kept = await add("unknown.pdf"), await add("failed.pdf"), await add("kept.exe")
    await finish(unknown, classification={"document_type": "other", "title": None})
    await finish(kept, error_code="unsupported_file_type", error_message="It is a program.")
    await finish(
        failed, status="failed", classification=None, error_code="corrupt", error_message="It is damaged."
    )
    processing, gone = await add("processing.pdf"), await add("gone.pdf")
    await client.post(f"/docs/{to_review}/reviews", data=await _reviewed(client, to_review))
    await client.post(f"/docs/{to_review}/tags", data={"add": "office"})
    await client.delete(f"/api/v1/documents/{gone}")

    addresses = ["/", "/?q=bakery&state=needs_review&sort=date", "/?tag=office", "/review", "/tags", "/bin"]
    addresses += [f"/docs/{key}" for key in (to_review, unknown, failed, kept, processing)]
    addresses += [f"/docs/{to_review}?tab={tab}" for tab in ("text", "matches", "history", "json")]
    addresses += [f"/review/{to_review}"]
    found = {address: await outside_the_catalogues(client, address) for address in addresses}

    assert {address: texts for address, texts in found.items() if texts} == {}


async def _reviewed(client: httpx.AsyncClient, document_id: UUID) -> dict[str, str]:
    """The form that corrects the currency of a document."""
    ingestions = (await client.get(f"/api/v1/documents/{document_id}/ingestions")).json()["ingestions"]
    return {
        "ingestion_id": ingestions[0]["id"],
        "path": "currency",
        "seen": "EUR",
        "value": "CHF",
        "action": "say",
        "page": "1",
    }


@pytest.mark.usefixtures("marked")
def test_a_text_outside_the_catalogues_is_found() -> None:
    page = '<p title="Left">⟦Right⟧ and wrong</p><p translate="no">Ada <b>Lovelace</b></p><code>x</code>'

    assert untranslated(page) == ["⟦Right⟧ and wrong", "Left"]


def test_the_german_catalogue_has_every_text_and_no_other() -> None:
    wanted = {key_of(message) for message in source_catalogue() if message.id}

    assert catalogue_of_german().keys() == wanted


def test_every_text_is_in_german_with_the_same_values() -> None:
    for message in catalogue_of_german().values():
        source = [message.id] if isinstance(message.id, str) else list(message.id)
        german = [message.string] if isinstance(message.string, str) else list(message.string or ())
        assert not message.fuzzy, message.id
        assert all(german), message.id
        for text, original in zip(german, source, strict=True):
            assert set(re.findall(r"%\(\w+\)s", text)) == set(re.findall(r"%\(\w+\)s", original)), message.id


def test_german_texts_have_the_markup_of_the_english_ones_and_nothing_that_ends_an_attribute() -> None:
    # Templates take texts of the catalogues as markup, also in attributes, and fill in their values by `%`.
    for message in catalogue_of_german().values():
        source = [message.id] if isinstance(message.id, str) else list(message.id)
        german = [message.string] if isinstance(message.string, str) else list(message.string or ())
        for text, original in zip(german, source, strict=True):
            assert re.findall(r"<[^>]*>", text) == re.findall(r"<[^>]*>", original), message.id
            rest = re.sub(r"<[^>]*>|&\w+;", "", text)
            assert not re.search(r"[<>&\"]", rest), message.id
            # Texts with names in braces stand in no template; their values are filled in by `format`.
            assert "%" not in re.sub(r"%\(\w+\)s|%%|\{\w+\} %", "", text), message.id


@pytest.mark.parametrize(
    ("cookie", "accepted", "chosen"),
    [
        (None, "", "en"),
        (None, "de-AT,de;q=0.9,en;q=0.8", "de"),
        (None, "fr, en;q=0.4, de;q=0.6", "de"),
        (None, "de;q=0", "en"),
        (None, "de;q=many, en", "en"),
        ("de", "en", "de"),
        ("xx", "de", "de"),
    ],
)
def test_a_cookie_goes_before_the_browser(cookie: str | None, accepted: str, chosen: str) -> None:
    assert languages.choose(cookie, accepted) == chosen


async def test_a_page_is_in_the_language_of_the_browser(client: httpx.AsyncClient) -> None:
    response = await client.get("/", headers={"accept-language": "de"})

    assert '<html lang="de"' in response.text
    assert "<h1>Dokumente</h1>" in response.text
    assert response.headers["content-language"] == "de"
    assert {"Accept-Language", "Cookie"} <= set(re.split(r",\s*", response.headers["vary"]))


async def test_the_choice_is_kept_in_a_cookie(client: httpx.AsyncClient) -> None:
    sent = await client.post("/language", data={"language": "de", "next": "/tags"})
    page = await client.get("/tags")

    assert (sent.status_code, sent.headers["location"]) == (303, "/tags")
    assert "<h1>Schlagwörter</h1>" in page.text


async def test_the_modules_get_their_texts(client: httpx.AsyncClient) -> None:
    page = await client.get("/", headers={"accept-language": "de"})
    address = re.findall(r'data-texts="([^"]+)"', page.text)

    texts = await client.get(address[0])

    assert texts.json()["Cancel"] == "Abbrechen"
    assert texts.json()["%(num)s new document"] == ["%(num)s neues Dokument", "%(num)s neue Dokumente"]
    assert "immutable" in texts.headers["cache-control"]
    assert (await client.get("/texts/xx/1.json")).status_code == 404


async def test_the_api_stays_english(client: httpx.AsyncClient) -> None:
    response = await client.get(
        "/api/v1/documents/00000000-0000-7000-8000-000000000009", headers={"accept-language": "de"}
    )

    assert response.json()["title"] == "Not found"


def test_dates_and_numbers_follow_the_language() -> None:
    when = datetime(2026, 5, 3, 14, 7, tzinfo=UTC)
    with languages.in_language("de"):
        german = [
            languages.moment_text(when),
            languages.day_text(when.date()),
            languages.amount_text(Decimal("1234.5")),
        ]

    assert german == ["03.05.2026, 14:07 UTC", "03.05.2026", "1.234,50"]
    assert languages.moment_text(when) == "2026-05-03 14:07 UTC"
    assert languages.moment_text(None) == "-"
    assert languages.day_text(None) == ""
    assert languages.number_text(2.5, 1) == "2.5"
