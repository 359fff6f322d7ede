"""A process that receives mails until it is killed: `python mail_receiver_process.py URL FOLDER PORT`."""

import asyncio
import sys
from pathlib import Path

from pydantic import SecretStr

from docmill.service.app import open_service
from docmill.service.config.receiver_settings import SmtpReceiver
from docmill.service.config.settings import Settings
from docmill.service.processing.work_folders import worker_folder
from docmill.service.sources.smtp.receiver import receiving_mails
from docmill.service.store.database import new_id


async def receive(url: str, folder: Path, port: int) -> None:
    """Receive mails, as a worker does."""
    receiver = SmtpReceiver(port=port, domains=("in.example.org",))
    settings = Settings(data_dir=folder, database_url=SecretStr(url), smtp_receiver=receiver)
    async with (
        open_service(settings) as service,
        worker_folder(folder / "receivers", str(new_id())) as place,
        receiving_mails(service.database, service.sources, settings, place),
    ):
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(receive(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])))
