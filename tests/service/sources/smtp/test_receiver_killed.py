import asyncio
import random
import smtplib
import socket
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path

from docmill.service.app import Service
from docmill.service.store import arrivals
from support import mail_receiver_process
from support.mail_clients import MAIL, Mailbox, MailClient

KILLS = 5
MAILS = 60


async def test_no_mail_is_lost_or_taken_twice_when_the_receiver_is_killed(
    service: Service, add_mailbox: Callable[..., Awaitable[Mailbox]], database_url: str, tmp_path: Path
) -> None:
    mailbox = await add_mailbox()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    client = MailClient(port)

    async def send(number: int) -> None:
        for _ in range(2000):
            with suppress(OSError, smtplib.SMTPException):
                if (await client.send(mailbox.address, MAIL + b"%d\r\n" % number))[0] == 250:
                    return
            await asyncio.sleep(0.05)
        raise AssertionError(f"mail {number} was never taken")

    async def send_some(first: int) -> None:
        for number in range(first, MAILS, 6):
            await send(number)

    def start() -> subprocess.Popen[bytes]:
        script = mail_receiver_process.__file__
        return subprocess.Popen([sys.executable, script, database_url, str(tmp_path), str(port)])

    async def kill_again_and_again() -> None:
        for _ in range(KILLS):
            process = await asyncio.to_thread(start)
            await asyncio.to_thread(until_it_listens, port)
            await asyncio.sleep(random.uniform(0.02, 0.4))  # noqa: S311  no secret
            process.kill()
            await asyncio.to_thread(process.wait)

    sending = asyncio.gather(*(send_some(first) for first in range(6)))
    await kill_again_and_again()
    last = await asyncio.to_thread(start)
    try:
        await asyncio.wait_for(sending, 120)
    finally:
        last.kill()
        await asyncio.to_thread(last.wait)

    async with service.database.tenant(mailbox.row.tenant_id) as conn:
        taken = await arrivals.of_source(conn, mailbox.row.id, limit=1000)
    assert len(taken) == len({arrival.document_id for arrival in taken}) == MAILS
    assert (await service.queue.depth()).due == MAILS


def until_it_listens(port: int) -> None:
    deadline = time.monotonic() + 60
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=5).close()
        except OSError:
            assert time.monotonic() < deadline
            time.sleep(0.02)
        else:
            return
