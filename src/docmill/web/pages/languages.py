"""The choice of a language by who has not signed in, and the texts of the modules."""

from typing import Annotated

from fastapi import Form
from starlette.responses import JSONResponse, RedirectResponse

from docmill.web.access import Router, needs
from docmill.web.choices import remember
from docmill.web.context import not_found
from docmill.web.languages import LANGUAGE_COOKIE, LANGUAGES, script_texts, script_texts_version

router = Router(include_in_schema=False)

_YEAR_S = 365 * 24 * 3600


@router.post("/language")
@needs("public", form="unchecked")
async def set_language(
    *, language: Annotated[str, Form()], to: Annotated[str, Form(alias="next")] = "/"
) -> RedirectResponse:
    """Remember the language, and go back."""
    return remember(LANGUAGE_COOKIE, language, LANGUAGES, to)


@router.get("/texts/{language}/{version}.json")
@needs("public")
async def get_script_texts(language: str, version: str) -> JSONResponse:
    """The texts of the modules. version: makes the address of other texts another one.

    Under the address of another version, which a page of a newer web server asks for, no cache keeps ours.
    """
    if language not in LANGUAGES:
        raise not_found("language")
    is_ours = version == script_texts_version(language)
    caching = f"public, max-age={_YEAR_S}, immutable" if is_ours else "no-store"
    return JSONResponse(script_texts(language), headers={"cache-control": caching})
