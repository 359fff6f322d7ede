"""Requests with a signed address of a file."""

from typing import Annotated

from fastapi import Depends, Query, Request
from starlette.exceptions import HTTPException

from docmill.web.context import TheVault, Vault, not_found


async def _signed_vault(
    request: Request,
    vault: TheVault,
    token: Annotated[
        str | None, Query(max_length=200, description="of a signed address, in place of signing in")
    ] = None,
) -> Vault:
    """Return the vault of the tenant that signed the address; of the visitor without a signature.

    Answers 403 for a signature that is not valid, or not any more.
    """
    if token is None:
        return vault
    signature = await vault.service.signed_addresses.verify(request.url.path, token)
    if signature is None:
        raise HTTPException(403, "This signed address is not valid, or not any more. Ask for a new one.")
    if signature.tenant_id != vault.tenant_id:
        raise not_found()
    return vault


FilesVault = Annotated[Vault, Depends(_signed_vault)]
"""The vault, for a route whose addresses can be signed."""
