"""Languages of the pages: which one a visitor reads, its texts, and how it writes dates and numbers.

English source texts are the ids of the messages; `docmill.web.extraction` collects them.
"""

import hashlib
import io
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, date, datetime
from decimal import Decimal
from functools import cache
from importlib.resources import files
from pathlib import Path

from babel.dates import format_date, format_datetime
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po
from babel.numbers import format_decimal
from babel.support import NullTranslations, Translations
from markupsafe import Markup
from starlette.datastructures import Headers
from starlette.requests import cookie_parser
from starlette.types import ASGIApp, Receive, Scope, Send

SOURCE = "en"
LANGUAGES = {SOURCE: "English", "de": "Deutsch"}
"""Each under the name that it has for itself."""
LANGUAGE_COOKIE = "docmill-language"
LOCALES = Path(str(files("docmill.web"))) / "locales"
IN_SCRIPTS = "docmill/web/static/"
"""Where messages of the modules come from, as the catalogues name it."""

_language: ContextVar[str] = ContextVar("language", default=SOURCE)
_PATTERNS = {SOURCE: ("yyyy-MM-dd", "yyyy-MM-dd HH:mm")}
"""English pages have dates as ISO 8601, which Americans and Britons read alike."""


def current_language() -> str:
    """Return the language of the request at hand."""
    return _language.get()


def set_language(language: str) -> None:
    """Set the language for the rest of the request at hand."""
    _language.set(language)


@contextmanager
def in_language(language: str) -> Generator[None]:
    """Have texts in this language inside the block."""
    before = _language.set(language)
    try:
        yield
    finally:
        _language.reset(before)


@cache
def catalogue(language: str) -> NullTranslations:
    """Return the messages of a language, compiled from its catalogue once per process."""
    if language == SOURCE:
        return NullTranslations()
    compiled = io.BytesIO()
    with path_of(language).open("rb") as file:
        write_mo(compiled, read_po(file, locale=language))
    compiled.seek(0)
    return Translations(compiled)


def path_of(language: str) -> Path:
    """Return the path of a language's catalogue."""
    return LOCALES / language / "LC_MESSAGES" / "messages.po"


@cache
def script_texts(language: str) -> Mapping[str, str | list[str]]:
    """Return the messages of the modules; of one with a plural, the list of its forms."""
    if language == SOURCE:
        return {}
    with path_of(language).open("rb") as file:
        messages = read_po(file, locale=language)
    return {
        message.id if isinstance(message.id, str) else message.id[0]: (
            message.string if isinstance(message.string, str) else list(message.string or ())
        )
        for message in messages
        if message.id and any(IN_SCRIPTS in path for path, _ in message.locations)
    }


@cache
def script_texts_version(language: str) -> str:
    """Return a digest of `script_texts`, as a part of their address: they may be cached for ever."""
    return hashlib.sha256(repr(script_texts(language)).encode()).hexdigest()[:12]


def gettext(message: str, **values: object) -> str:
    """Return a text in the language of the request, with the values in its places `%(name)s`, if any."""
    text = catalogue(current_language()).gettext(message)
    return text % values if values else text


def ngettext(singular: str, plural: str, num: int, **values: object) -> str:
    """Return a text in the form for a number, which is `%(num)s` in it."""
    text = catalogue(current_language()).ngettext(singular, plural, num)
    return text % {"num": num, **values}


def gettext_noop(message: str) -> str:
    """Mark a text for the catalogues that is translated where it is shown."""
    return message


def choose(cookie: str | None, accepted: str) -> str:
    """Return the language of a visitor without a setting: of the cookie, else the best of Accept-Language."""
    return cookie if cookie in LANGUAGES else _best_of(accepted)


def _best_of(accepted: str) -> str:
    """The language of ours with the highest weight in a header Accept-Language; of equals the first."""
    weights: dict[str, float] = {}
    for part in accepted.split(","):
        name, _, parameter = part.partition(";")
        try:
            weight = float(parameter.strip().removeprefix("q=") or 1)
        except ValueError:
            continue
        weights.setdefault(name.strip().lower().partition("-")[0], weight)
    ours = [language for language in weights if language in LANGUAGES and weights[language] > 0]
    return max(ours, key=lambda language: weights[language], default=SOURCE)


class LanguageOfVisitor:
    """Middleware that sets the language of each request by its cookie and headers; the API is English."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """See ASGI."""
        language = SOURCE
        if scope["type"] == "http" and not scope["path"].startswith("/api/v"):
            headers = Headers(scope=scope)
            cookies = cookie_parser(headers.get("cookie", ""))
            language = choose(cookies.get(LANGUAGE_COOKIE), headers.get("accept-language", ""))
        with in_language(language):
            await self._app(scope, receive, send)


def day_text(day: date | None) -> str:
    """Return a day as the language writes it; empty for none."""
    language = current_language()
    pattern = _PATTERNS[language][0] if language in _PATTERNS else "medium"
    return format_date(day, pattern, locale=language) if day else ""


def moment_text(when: datetime | None) -> str:
    """Return a time to the minute, in UTC, or a dash."""
    if when is None:
        return "-"
    language = current_language()
    if language in _PATTERNS:
        text = format_datetime(when, _PATTERNS[language][1], locale=language)
    else:
        text = f"{format_date(when, 'medium', locale=language)}, {when:%H:%M}"
    return f"{text} UTC"


def moment_element(when: datetime | None) -> Markup:
    """Return a time in UTC as an element that the page shows in the time zone of the browser, or a dash."""
    text = moment_text(when)
    if when is None:
        return Markup(text)  # noqa: S704  ours
    return Markup('<time datetime="{}">{}</time>').format(when.astimezone(UTC).isoformat(), text)


def amount_text(amount: Decimal) -> str:
    """Return an amount of money with two decimals."""
    return format_decimal(amount, "#,##0.00", locale=current_language())


def number_text(number: float, decimals: int = 0) -> str:
    """Return a number with so many decimals."""
    return format_decimal(number, "0." + "0" * decimals if decimals else "#,##0", locale=current_language())
