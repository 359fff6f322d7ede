"""Trying the channels of notifications."""

import asyncio
from datetime import UTC, datetime

from docmill.cli.console import FAILED, USAGE, stderr, stdout
from docmill.errors import DocmillError
from docmill.service.config.settings import Settings
from docmill.service.notify.channels import Channel, open_channels
from docmill.service.notify.message import Digest
from docmill.service.store.database import DEFAULT_TENANT_ID, new_id
from docmill.service.store.notifications import ErrorCount, Notification

_TEXT = "this is a test message of docmill; nothing has failed"


def try_channels(settings: Settings, *, is_test: bool) -> int:
    """Print the channels, after a test message by each if that is wanted; the exit code."""
    channels = open_channels(settings)
    if not channels:
        stderr.print("docmill: no channel is configured; see notifications in the settings", markup=False)
        return USAGE
    if not is_test:
        for channel in channels:
            stdout.print(channel.name, markup=False)
        return 0
    return asyncio.run(_send_tests(channels, settings))


async def _send_tests(channels: list[Channel], settings: Settings) -> int:
    exit_code = 0
    for channel in channels:
        test = Notification("setup_error", DEFAULT_TENANT_ID, None, _TEXT, link="/")
        digest = Digest(
            f"msg_{new_id().hex}",
            test.tenant_id,
            1,
            datetime.now(UTC),
            [ErrorCount(test.kind, test.error, 1)],
            [test],
            settings.web.public_url,
        )
        try:
            await channel.send(digest)
        except DocmillError as error:
            exit_code = FAILED
            stdout.print(f"{channel.name}: {error.message}", markup=False)
        else:
            stdout.print(f"{channel.name}: sent", markup=False)
    return exit_code
