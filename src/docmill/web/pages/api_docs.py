"""The interactive page of the API, with Swagger UI as a package brings it: nothing comes from other sites."""

from importlib.resources import files
from pathlib import Path
from typing import Literal

import fastapi_offline
from fastapi import APIRouter, Request
from starlette.responses import FileResponse, Response

from docmill.web.context import TheVault
from docmill.web.security import POLICY

router = APIRouter(include_in_schema=False)

_ASSETS = Path(str(files(fastapi_offline))) / "static"
_POLICY = POLICY.replace("img-src 'self'", "img-src 'self' data:")
"""The icons of Swagger UI stand in its style sheet."""

_DAY_S = 86_400


@router.get("/api/docs")
async def show_api(request: Request, vault: TheVault) -> Response:
    """Every operation of the API, to read and to try."""
    response = vault.templates.page(request, "api_docs.html")
    response.headers["content-security-policy"] = _POLICY
    return response


@router.get("/api/docs/assets/{name}")
async def get_asset(name: Literal["swagger-ui-bundle.js", "swagger-ui.css"]) -> Response:
    """A file of Swagger UI."""
    return FileResponse(_ASSETS / name, headers={"cache-control": f"public, max-age={_DAY_S}"})
