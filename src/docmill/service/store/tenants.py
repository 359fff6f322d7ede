"""Who owns documents."""

from uuid import UUID

DEFAULT_TENANT_ID = UUID("00000000-0000-7000-8000-000000000001")
"""The tenant that the first migration makes, for an installation that serves one organisation."""

DEFAULT_USER_ID = UUID("00000000-0000-7000-8000-000000000002")
"""Who uploaded a document where nobody signs in."""
