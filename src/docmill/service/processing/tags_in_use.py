"""Cache of the tags that each tenant uses, for the classification of new documents."""

import logging
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from uuid import UUID

from docmill.errors import DocmillError
from docmill.service.store import documents
from docmill.service.store.database import Database

log = logging.getLogger(__name__)

OFFERED = 100
NEWEST = 1000
"""Documents whose tags are counted: a house's habits show in them, and asking stays cheap."""
FRESH_S = 60.0
_TENANTS = 1000
"""So many tenants' tags are remembered."""


class TagsInUse:
    """The tags of each tenant, asked of the database once a minute at most."""

    def __init__(self, database: Database, clock: Callable[[], float] = time.monotonic) -> None:
        self._database = database
        self._clock = clock
        self._known: OrderedDict[UUID, tuple[float, Sequence[str]]] = OrderedDict()

    async def of(self, tenant_id: UUID) -> Sequence[str]:
        """The most used first; none if they cannot be had, since no document needs them."""
        asked_at, tags = self._known.get(tenant_id, (float("-inf"), ()))
        if self._clock() - asked_at < FRESH_S:
            return tags
        try:
            async with self._database.tenant(tenant_id) as conn:
                tags = await documents.tags_in_use(conn, documents=NEWEST, limit=OFFERED)
        except DocmillError as error:
            log.warning("the tags in use are not known", extra={"code": error.code})
        self._known[tenant_id] = (self._clock(), tags)
        self._known.move_to_end(tenant_id)
        if len(self._known) > _TENANTS:
            self._known.popitem(last=False)
        return tags
