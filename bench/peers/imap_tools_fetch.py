"""Print the seconds in which imap_tools fetches a mailbox; runs in an environment of its own.

Each attachment is written to a folder, and a job for it put into procrastinate's queue: so paperless-ngx
takes mails, with Celery instead of procrastinate. Nothing is remembered about mails that were taken.

Arguments: database URL, port of the mail server on this machine, user, password, folder, number of mails.
"""

import sys
import time
from pathlib import Path

from imap_tools import AND, MailBoxUnencrypted
from procrastinate import App, SyncPsycopgConnector


def main(url: str, port: int, user: str, password: str, folder: Path, count: int) -> None:
    app = App(connector=SyncPsycopgConnector(conninfo=url))
    taken = 0
    with app.open():
        app.schema_manager.apply_schema()
        started = time.perf_counter()
        with MailBoxUnencrypted("127.0.0.1", port).login(user, password) as mailbox:
            for message in mailbox.fetch(AND(all=True), mark_seen=False, bulk=50):
                for attachment in message.attachments:
                    place = folder / f"{message.uid}-{attachment.filename}"
                    place.write_bytes(attachment.payload)
                    app.configure_task("consume").defer(path=str(place))
                taken += 1
        seconds = time.perf_counter() - started
    assert taken == count, taken
    print(seconds)


if __name__ == "__main__":
    url, port, user, password, folder, count = sys.argv[1:]
    main(url, int(port), user, password, Path(folder), int(count))
