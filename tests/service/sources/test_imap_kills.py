from pathlib import Path

from docmill.service.app import open_service
from docmill.service.config.settings import Settings
from soak.mailbox_kills import take_under_kills, watcher_settings
from support.dovecot import Dovecot
from support.mails import mail


async def test_no_mail_is_lost_or_taken_twice_when_the_process_is_killed(
    database_url: str, tmp_path: Path, dovecot: Dovecot
) -> None:
    settings = watcher_settings(tmp_path, database_url)
    mails = [mail(number, attachment="bill.pdf") for number in range(60)]

    async with open_service(Settings(**settings)) as service:
        counts = await take_under_kills(service, dovecot, mails, settings=settings, kills=5)

    assert (counts.lost, counts.twice, counts.refused, counts.left) == (0, 0, 0, 0)
