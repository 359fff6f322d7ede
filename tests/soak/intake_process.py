"""A process that takes uploads, to be killed: one JSON object a line on each side."""

import asyncio
import json
import logging
import os
import sys

from docmill.errors import DocmillError
from docmill.service.app import Service, open_service
from docmill.service.config.settings import Settings
from support.scripted_steps import once


async def take_uploads(settings: Settings) -> None:
    """Accept what is named on the standard input until it ends."""
    reader = asyncio.StreamReader(limit=1 << 20)
    await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), sys.stdin
    )
    async with open_service(settings) as service, asyncio.TaskGroup() as tasks:
        while line := await reader.readline():
            tasks.create_task(_take(service, json.loads(line)))


async def _take(service: Service, asked: dict[str, str]) -> None:
    ingestion_id: str | None = None
    try:
        accepted = await service.intake.accept(
            once(asked["paper"].encode()), tenant_id=service.default_tenant_id, file_name="paper.pdf"
        )
        ingestion_id = str(accepted.ingestion_id)
    except DocmillError:
        pass
    os.write(1, f"{json.dumps({'name': asked['name'], 'ingestion_id': ingestion_id})}\n".encode())


if __name__ == "__main__":
    logging.disable()
    asyncio.run(take_uploads(Settings(**json.loads(sys.argv[1]))))
