"""Tells people of parts that fail for long and are left alone, once, and again when they answer."""

from collections.abc import Collection
from uuid import UUID

from docmill.service.store import notifications, outages
from docmill.service.store.database import Conn, Database
from docmill.service.store.notifications import Notification
from docmill.service.store.outages import Outage

_MINUTE_S = 60


async def end_outages(
    conn: Conn, parts: Collection[str], *, tenant_id: UUID, how: str = "answers again"
) -> None:
    """Forget the outages of parts that no worker leaves alone now, and tell people who were told of them.

    tenant_id: the one that notifications of the installation are filed under, which the transaction has.
    """
    for outage in await outages.end(conn, parts):
        text = f"{outage.part!r} {how}, after {_minutes(outage)}; documents that waited for it go on"
        await notifications.add(conn, Notification("outage_over", tenant_id, None, text, link="/ops"))


async def tell_of_outages(database: Database, *, tenant_id: UUID) -> None:
    """Tell of the outages that last for long; end those that no worker has confirmed for long."""
    async with database.tenant(tenant_id) as conn:
        silent = await outages.unconfirmed(conn)
        await end_outages(conn, silent, tenant_id=tenant_id, how="is no longer left alone by any worker")
        for outage in await outages.take_untold(conn):
            text = (
                f"{outage.part!r} has failed for {_minutes(outage)} ({outage.code}) and is left alone; "
                "documents wait for it, and are finished without it after worker.patience_s"
            )
            await notifications.add(conn, Notification("outage", tenant_id, None, text, link="/ops"))


def _minutes(outage: Outage) -> str:
    return f"{max(1, round(outage.for_s / _MINUTE_S))} minutes"
