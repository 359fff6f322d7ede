"""Names for new rows."""

from uuid import UUID

import uuid_utils


def new_id() -> UUID:
    """A UUIDv7: ids grow with time, so that new rows share index pages."""
    return UUID(bytes=uuid_utils.uuid7().bytes)
