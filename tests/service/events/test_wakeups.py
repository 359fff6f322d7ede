import asyncio

import psycopg

from docmill.service.app import Service


async def test_a_broken_listening_connection_is_made_anew(service: Service, database_url: str) -> None:
    heard = service.wakeups.next("topic")
    async with await psycopg.AsyncConnection.connect(database_url, autocommit=True) as admin:
        await admin.execute(
            """
            SELECT pg_terminate_backend(pid)
              FROM pg_stat_activity
             WHERE datname = current_database() AND query LIKE 'LISTEN%%'
            """
        )

    # On its return it wakes all who wait, since it cannot know what it missed.
    await asyncio.wait_for(heard.wait(), 20)
    again = service.wakeups.next("topic")
    service.wakeups.announce("topic")
    await asyncio.wait_for(again.wait(), 20)
