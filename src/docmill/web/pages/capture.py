"""The page that photographs documents. It can be installed, and opens without a connection."""

import json

from fastapi import Request
from starlette.responses import HTMLResponse, JSONResponse, Response

from docmill.service.people.tokens import form_token
from docmill.web.access import Router, needs
from docmill.web.context import TheVault
from docmill.web.languages import LANGUAGES, current_language, gettext, set_language
from docmill.web.templating import static_version

router = Router(include_in_schema=False)

_ICONS = (
    ("icon-192.png", "192x192", "any"),
    ("icon-512.png", "512x512", "any"),
    ("icon-maskable-512.png", "512x512", "maskable"),
)
"""File, size and purpose. They are drawn after icon.svg."""
_COLOR = "#1d5a9e"
_BACKGROUND = "#f6f7f9"


@router.get("/capture")
@needs("write")
async def show_capture(request: Request, vault: TheVault) -> HTMLResponse:
    """Photographs of pages, which become one document."""
    return vault.templates.page(
        request,
        "capture.html",
        review_count=await vault.review_count(),
        limit_bytes=vault.settings.limits.file_bytes,
    )


@router.get("/capture/shell")
@needs("public")
async def show_capture_shell(request: Request, vault: TheVault, *, language: str = "") -> HTMLResponse:
    """The same page without a person, which the service worker keeps for when there is no connection."""
    _choose(language)
    request.state.access = None
    request.state.session_token = None
    return vault.templates.page(request, "capture.html", limit_bytes=vault.settings.limits.file_bytes)


@router.get("/capture/session")
@needs("write")
async def get_capture_session(request: Request, vault: TheVault) -> JSONResponse:
    """The sender, and the token of their forms: a page from the service worker has neither."""
    secret: str | None = getattr(request.state, "session_token", None)
    access = vault.access
    return JSONResponse(
        {
            "owner": f"{vault.tenant_id}:{vault.user_id}",
            "name": f"{access.user_name}, {access.tenant_name}" if access.is_person else "",
            "form_token": form_token(secret) if secret else "",
        },
        headers={"cache-control": "no-store"},
    )


@router.get("/capture-worker.js")
@needs("public")
async def get_capture_worker(*, language: str = "") -> Response:
    """The service worker. It is another one for each release and language, so that browsers replace it."""
    _choose(language)
    settings = json.dumps(
        {
            "version": f"{static_version()}-{current_language()}",
            "shell": f"/capture/shell?language={current_language()}",
        }
    )
    script = f'import {{ serve }} from "{_static()}/capture-worker.js";\n\nserve({settings});\n'
    return Response(script, media_type="text/javascript", headers={"cache-control": "no-cache"})


@router.get("/capture.webmanifest")
@needs("public")
async def get_manifest(*, language: str = "") -> Response:
    """The name, icons and colours by which a phone shows the installed application."""
    _choose(language)
    manifest = {
        "id": "/capture",
        "name": "docmill",
        "short_name": "docmill",
        "description": gettext("Photograph documents"),
        "lang": current_language(),
        "start_url": "/capture",
        "scope": "/",
        "display": "standalone",
        "background_color": _BACKGROUND,
        "theme_color": _COLOR,
        "icons": [
            {"src": f"{_static()}/{name}", "sizes": sizes, "type": "image/png", "purpose": purpose}
            for name, sizes, purpose in _ICONS
        ],
    }
    return Response(
        json.dumps(manifest, ensure_ascii=False),
        media_type="application/manifest+json",
        headers={"cache-control": "no-cache"},
    )


def _static() -> str:
    return f"/static/{static_version()}"


def _choose(language: str) -> None:
    """Answer in this language, if it is one of ours: a service worker sends no cookies."""
    if language in LANGUAGES:
        set_language(language)
