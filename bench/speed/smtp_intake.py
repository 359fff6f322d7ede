"""Mails that are accepted by SMTP a second: each with an attachment of its own, stored and in the queue.

The clients run in a process of their own, each with a connection over which it sends one mail after another.
"""

import argparse
import asyncio
import os
import smtplib
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from email.message import EmailMessage
from pathlib import Path

from docmill.service.app import open_service
from docmill.service.config.settings import Settings
from docmill.service.sources.smtp.receiver import receiving_mails
from docmill.service.sources.smtp.smtp_source import SMTP
from docmill.service.store.database import DEFAULT_USER_ID

_CLIENTS = 10
_ATTACHMENT_BYTES = 100_000
_GOAL_S = 60


def mail(number: int, to: str) -> bytes:
    message = EmailMessage()
    message["From"], message["To"], message["Subject"] = "anna@example.com", to, f"Invoice {number}"
    message["Message-ID"] = f"<{number}@example.com>"
    message.set_content("The invoice is attached.")
    content = b"%PDF-1.7\n" + os.urandom(_ATTACHMENT_BYTES)
    message.add_attachment(content, maintype="application", subtype="pdf", filename=f"{number}.pdf")
    return message.as_bytes()


def send(port: int, to: str, count: int) -> None:
    """Send `count` mails. Raises SMTPException if one is not taken."""

    def run(first: int) -> None:
        with smtplib.SMTP("127.0.0.1", port, timeout=60) as smtp:
            for number in range(first, count, _CLIENTS):
                smtp.sendmail("anna@example.com", [to], mail(number, to))

    with ThreadPoolExecutor(_CLIENTS) as clients:
        list(clients.map(run, range(_CLIENTS)))


async def measure(count: int) -> float:
    with tempfile.TemporaryDirectory(prefix="docmill-") as name:
        folder = Path(name)
        settings = Settings(data_dir=folder)
        receiver = settings.smtp_receiver.model_copy(update={"port": 0, "domains": ("in.example.org",)})
        settings = settings.model_copy(update={"smtp_receiver": receiver})
        mails = folder / "mails"
        mails.mkdir()
        async with (
            open_service(settings) as service,
            receiving_mails(service.database, service.sources, settings, mails) as taken,
        ):
            port, tenant_id = await taken, service.default_tenant_id
            row = await service.sources.add(
                SMTP.name, "Bench", {}, {}, tenant_id=tenant_id, created_by=DEFAULT_USER_ID
            )
            to = service.sources.address(row) or ""
            began = time.perf_counter()
            clients = await asyncio.create_subprocess_exec(
                sys.executable, "-m", "bench.speed.smtp_intake", "--send", str(port), to, str(count)
            )
            if await clients.wait() != 0:
                raise SystemExit("a mail was not taken")
            took_s = time.perf_counter() - began
            current = await service.sources.get(row.id, tenant_id=tenant_id)
            assert current is not None
            assert current.arrivals == count
            assert (await service.queue.depth()).due == count
    return took_s


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--send", nargs=3, metavar=("PORT", "TO", "COUNT"))
    arguments = parser.parse_args()
    if arguments.send:
        port, to, count = arguments.send
        send(int(port), to, int(count))
        return
    took_s = asyncio.run(measure(arguments.count))
    print(f"{arguments.count} mails accepted in {took_s:.1f} s; goal {_GOAL_S} s for 1,000")


if __name__ == "__main__":
    main()
