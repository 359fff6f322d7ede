"""A process that watches sources, to be killed. It says on its standard output when it begins."""

import asyncio
import json
import logging
import os
import sys

from docmill.service.app import open_service
from docmill.service.config.settings import Settings
from docmill.service.sources.watching import SourceWatching


async def watch(settings: Settings) -> None:
    """Watch all sources until killed."""
    async with open_service(settings) as service:
        watching = SourceWatching(
            service.sources,
            service.database,
            f"watcher-{os.getpid()}",
            lease_s=settings.sources.lease_s,
            concurrency=5,
        )
        os.write(1, b"ready\n")
        await watching.work_for_ever()


if __name__ == "__main__":
    logging.disable()
    asyncio.run(watch(Settings(**json.loads(sys.argv[1]))))
