"""Routes for signed addresses of files, and for the keys that sign them."""

import time
from datetime import UTC, datetime
from typing import Annotated
from uuid import UUID

from fastapi import Response
from pydantic import BaseModel, ConfigDict, Field

from docmill.service.signed_addresses import LONGEST_S
from docmill.web.access import Router, needs
from docmill.web.context import TheVault
from docmill.web.view.document import page_count_of

router = Router(tags=["files"])


class Signing(BaseModel):
    """The time for which addresses are to work, in seconds."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    expires_s: Annotated[int, Field(ge=1, le=LONGEST_S)] = 3600


class SignedFiles(BaseModel):
    """Addresses of a document's original and its pages that work without signing in until then."""

    model_config = ConfigDict(frozen=True)

    file: str
    pages: list[str]
    expires_at: datetime


class Rotation(BaseModel):
    """A change of the key that signs. revoke: addresses that were signed before stop working at once."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    revoke: bool = False


@router.post("/documents/{document_id}/signed-addresses")
@needs("share files")
async def sign_addresses(
    document_id: UUID, signing: Signing, response: Response, vault: TheVault
) -> SignedFiles:
    """Sign the addresses of a document's original and of the pictures of its pages, for a while."""
    row = await vault.document(document_id)
    expires_at = int(time.time()) + signing.expires_s
    address = f"/api/v1/documents/{document_id}"
    paths = [f"{address}/file"]
    paths += [f"{address}/pages/{number}.webp" for number in range(1, page_count_of(row, None) + 1)]
    tokens = await vault.service.signed_addresses.sign(paths, vault.access, expires_at=expires_at)
    response.headers["cache-control"] = "no-store"
    signed = [f"{path}?token={token}" for path, token in zip(paths, tokens, strict=True)]
    return SignedFiles(file=signed[0], pages=signed[1:], expires_at=datetime.fromtimestamp(expires_at, UTC))


@router.post("/signing-keys/rotate", status_code=204)
@needs("administer")
async def rotate_signing_key(rotation: Rotation, vault: TheVault) -> None:
    """Sign with a new key from now on. With `revoke`, everything that was signed before stops working."""
    await vault.service.signed_addresses.rotate(tenant_id=vault.tenant_id, revoke=rotation.revoke)
