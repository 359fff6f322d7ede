"""Choices that a browser keeps, such as the theme: whoever has no account has them, too."""

from collections.abc import Collection

from starlette.responses import RedirectResponse

from docmill.web.access import local_address

_YEAR_S = 365 * 24 * 3600


def remember(cookie: str, choice: str, known: Collection[str], to: str) -> RedirectResponse:
    """Go back to an address of this vault, with the choice in a cookie; one that is not known is not kept."""
    response = RedirectResponse(local_address(to), 303)
    if choice in known:
        response.set_cookie(cookie, choice, max_age=_YEAR_S, httponly=True, samesite="lax")
    return response
