"""The vault for routes whose addresses can be signed."""

from typing import Annotated

from fastapi import Depends, Query

from docmill.web.context import TheVault, Vault


async def _signed_vault(
    vault: TheVault,
    token: Annotated[
        str | None, Query(max_length=200, description="of a signed address, in place of signing in")
    ] = None,
) -> Vault:
    """Return the vault. `AccessRoute` has checked the token, which stands here for the description alone."""
    del token
    return vault


FilesVault = Annotated[Vault, Depends(_signed_vault)]
"""The vault, for a route that declares `signable=True`."""
