"""Pages from templates."""

import hashlib
import json
import re
from contextvars import ContextVar
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
from docmill.web.access import FORM_TOKEN
from docmill.web.view import cards, words

ROOT = Path(str(files("docmill.web")))
STATIC = ROOT / "static"
THEMES = ("auto", "light", "dark")
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
            extensions=[_FormTokens],
        )
        self._common = {"static": f"/static/{static_version()}", "words": words, "themes": THEMES}
        cast("dict[str, object]", self._environment.globals)["form_token_field"] = _form_token_field
        filters = cast("dict[str, object]", self._environment.filters)
        filters.update(
            moment=words.moment,
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
        """Render a page in the visitor's theme, to be fetched anew each time."""
        theme = request.cookies.get(THEME_COOKIE, "auto")
        address = request.url.path + (f"?{request.url.query}" if request.url.query else "")
        secret: str | None = getattr(request.state, "session_token", None) or getattr(
            request.state, "visit_token", None
        )
        reset = _form_token.set(form_token(secret) if secret else "")
        html = self._environment.get_template(name).render(
            self._common,
            theme=theme if theme in THEMES else "auto",
            here=address,
            access=getattr(request.state, "access", None),
            **content,
        )
        _form_token.reset(reset)
        return HTMLResponse(html, status_code, headers={"cache-control": "private, no-cache"})


def static_version() -> str:
    """Return a digest of the static files, as a part of their address: they may be cached for ever."""
    digest = hashlib.sha256()
    for path in sorted(STATIC.iterdir()):
        digest.update(path.name.encode() + path.read_bytes())
    return digest.hexdigest()[:12]
