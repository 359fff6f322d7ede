"""Pages from templates."""

import hashlib
import json
import re
from contextvars import ContextVar
from datetime import UTC, datetime
from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import cast

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from jinja2.ext import Extension
from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import HTMLResponse

from docmill.model.result import percent_text
from docmill.schemas.registry import in_schema_order
from docmill.service.people.tokens import form_token
from docmill.web import languages
from docmill.web.access import FORM_TOKEN, page_address
from docmill.web.view import cards, messages, words

ROOT = Path(str(files("docmill.web")))
STATIC = ROOT / "static"
THEME_NAMES = {
    "auto": languages.gettext_noop("auto"),
    "light": languages.gettext_noop("light"),
    "dark": languages.gettext_noop("dark"),
}
THEMES = tuple(THEME_NAMES)
THEME_COOKIE = "docmill-theme"


_form_token: ContextVar[str] = ContextVar("form_token", default="")
"""Of the page that is rendered. Macros see no variables of their page, so it is no variable."""


class _FormTokens(Extension):
    """Puts the token into every form that is posted, so that no template can forget it."""

    _FORM = re.compile(r"<form\b(?:[^>{]|\{\{.*?\}\}|\{%.*?%\}|\{)*>", re.DOTALL)

    def preprocess(self, source: str, name: str | None, filename: str | None = None) -> str:
        """See Extension."""
        del name, filename
        return self._FORM.sub(
            lambda form: form[0] + ("{{ form_token_field() }}" if 'method="post"' in form[0] else ""), source
        )


def _form_token_field() -> Markup:
    token = _form_token.get()
    field = Markup('<input type="hidden" name="{}" value="{}">')
    return field.format(FORM_TOKEN, token) if token else Markup()


class Templates:
    """The templates, loaded at the start. An unknown name in one is an error."""

    def __init__(self) -> None:
        self._environment = Environment(
            loader=FileSystemLoader(ROOT / "templates"),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            auto_reload=False,
            extensions=[_FormTokens, "jinja2.ext.i18n"],
        )
        self._common = {
            "static": f"/static/{static_version()}",
            "words": words,
            "themes": THEMES,
            "theme_names": THEME_NAMES,
            "languages": languages.LANGUAGES,
            "now": partial(datetime.now, UTC),
        }
        install = getattr(self._environment, "install_gettext_callables")  # noqa: B009  the extension adds it
        install(_message, _message_with_number, newstyle=True)
        self._environment.policies["ext.i18n.trimmed"] = True
        cast("dict[str, object]", self._environment.globals)["form_token_field"] = _form_token_field
        filters = cast("dict[str, object]", self._environment.filters)
        filters.update(
            moment=languages.moment_element,
            day=languages.day_text,
            number=languages.number_text,
            told=messages.told,
            duration=words.duration,
            size=cards.size,
            pretty=partial(json.dumps, indent=2, ensure_ascii=False),
            sentence=words.sentence,
            percent=percent_text,
            in_schema_order=in_schema_order,
        )
        for name in self._environment.list_templates():
            self._environment.get_template(name)  # now, so that no request reads a file

    def page(self, request: Request, name: str, *, status_code: int = 200, **content: object) -> HTMLResponse:
        """Render a page in the visitor's theme and language, to be fetched anew each time."""
        language = languages.current_language()
        theme = request.cookies.get(THEME_COOKIE, "auto")
        secret: str | None = getattr(request.state, "session_token", None) or getattr(
            request.state, "visit_token", None
        )
        reset = _form_token.set(form_token(secret) if secret else "")
        html = self._environment.get_template(name).render(
            self._common,
            theme=theme if theme in THEMES else "auto",
            language=language,
            texts=texts_address(language),
            here=page_address(request) or "/",
            access=getattr(request.state, "access", None),
            **content,
        )
        _form_token.reset(reset)
        headers = {
            "cache-control": "no-store",  # it may show a secret once, and Back shows it after the sign-out
            "content-language": language,
            "vary": "Accept-Language, Cookie",
        }
        return HTMLResponse(html, status_code, headers=headers)


def _message(text: str) -> str:
    return languages.catalogue(languages.current_language()).gettext(text)


def _message_with_number(singular: str, plural: str, num: int) -> str:
    return languages.catalogue(languages.current_language()).ngettext(singular, plural, num)


def texts_address(language: str) -> str:
    """Return the address of the modules' texts; empty for the language that they are written in."""
    if not languages.script_texts(language):
        return ""
    return f"/texts/{language}/{languages.script_texts_version(language)}.json"


def static_version() -> str:
    """Return a digest of the static files, as a part of their address: they may be cached for ever."""
    digest = hashlib.sha256()
    for path in sorted(STATIC.iterdir()):
        digest.update(path.name.encode() + path.read_bytes())
    return digest.hexdigest()[:12]
