"""Mails that are accepted by SMTP a second: each with an attachment of its own, stored and in the queue.

The clients run in a process of their own, each with a connection over which it sends one mail after another.
All is done with the default limit of starts a second and without one. The peer is the library of the
receiver, aiosmtpd, which writes the mails into a Maildir: no database, no check of senders, no record of what
was taken.
"""

import argparse
import asyncio
import os
import smtplib
import socket
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from email.message import EmailMessage
from email.policy import SMTP as SMTP_POLICY
from pathlib import Path

from aiosmtpd.controller import Controller
from aiosmtpd.handlers import Mailbox

from docmill.service.app import open_service
from docmill.service.config.settings import Settings
from docmill.service.sources.smtp.receiver import receiving_mails
from docmill.service.sources.smtp.smtp_source import SMTP
from docmill.service.store.database import DEFAULT_USER_ID

_CLIENTS = 10
_ATTACHMENT_BYTES = 100_000
_GOAL_S = 60
UNLIMITED = 100_000.0


def mail(number: int, to: str) -> bytes:
    message = EmailMessage()
    message["From"], message["To"], message["Subject"] = "anna@example.com", to, f"Invoice {number}"
    message["Message-ID"] = f"<{number}@example.com>"
    message.set_content("The invoice is attached.")
    content = b"%PDF-1.7\n" + os.urandom(_ATTACHMENT_BYTES)
    message.add_attachment(content, maintype="application", subtype="pdf", filename=f"{number}.pdf")
    return message.as_bytes(policy=SMTP_POLICY)


def send(port: int, to: str, count: int) -> None:
    """Send `count` mails. Raises SMTPException if one is not taken."""

    def run(first: int) -> None:
        with smtplib.SMTP("127.0.0.1", port, timeout=60) as smtp:
            for number in range(first, count, _CLIENTS):
                smtp.sendmail("anna@example.com", [to], mail(number, to))

    with ThreadPoolExecutor(_CLIENTS) as clients:
        list(clients.map(run, range(_CLIENTS)))


async def measure(count: int, starts_per_s: float | None) -> float:
    with tempfile.TemporaryDirectory(prefix="docmill-") as name:
        folder = Path(name)
        settings = Settings(data_dir=folder)
        if starts_per_s is not None:
            sources = settings.sources.model_copy(update={"starts_per_s": starts_per_s})
            settings = settings.model_copy(update={"sources": sources})
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
            took_s = await asyncio.to_thread(sending, port, to, count)
            current = await service.sources.get(row.id, tenant_id=tenant_id)
            assert current is not None
            assert current.arrivals == count
            assert (await service.queue.depth()).due == count
    return took_s


def peer(count: int) -> float:
    with tempfile.TemporaryDirectory(prefix="docmill-") as name:
        maildir = Path(name) / "mails"
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        controller = Controller(Mailbox(maildir), hostname="127.0.0.1", port=port)
        controller.start()
        try:
            took_s = sending(port, "bench@in.example.org", count)
        finally:
            controller.stop()
        assert len(list((maildir / "new").iterdir())) == count
    return took_s


def sending(port: int, to: str, count: int) -> float:
    """The seconds in which the clients, in their own process, send all mails."""
    began = time.perf_counter()
    arguments = ["--send", str(port), to, str(count)]
    subprocess.run([sys.executable, "-m", "bench.speed.smtp_intake", *arguments], check=True)
    return time.perf_counter() - began


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--send", nargs=3, metavar=("PORT", "TO", "COUNT"))
    arguments = parser.parse_args()
    if arguments.send:
        port, to, count = arguments.send
        send(int(port), to, int(count))
        return
    theirs_s = peer(arguments.count)
    print(f"the peer: {arguments.count} mails accepted in {theirs_s:.1f} s")
    for starts_per_s, limit in ((None, "with the default limit"), (UNLIMITED, "without a limit")):
        took_s = asyncio.run(measure(arguments.count, starts_per_s))
        print(
            f"{limit}: {arguments.count} mails accepted in {took_s:.1f} s; goal {_GOAL_S} s for 1,000;"
            f" {took_s / theirs_s:.1f} times the peer's"
        )


if __name__ == "__main__":
    main()
