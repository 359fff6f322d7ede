"""Lists, redrives and purges messages that a queue gave up."""

import json
import sys
from collections.abc import Sequence

import typer

from docmill.cli.console import FAILED, counted, shown, stderr, stdout
from docmill.cli.vault.access import existing_service, log_command
from docmill.errors import ValidationError
from docmill.service.config.settings import Settings
from docmill.service.dead_messages import DeadMessages, open_dead_messages
from docmill.service.ports import DeadMessage
from docmill.service.protocol.queues import MATCHING

_MOST = 1000


async def list_dead(settings: Settings, queue: str, *, limit: int, as_json: bool) -> int:
    """Print dead messages; the exit code."""
    async with existing_service(settings) as service, open_dead_messages(service, queue) as dead:
        messages = await dead.find(limit=limit)
    if as_json:
        stdout.print_json(json.dumps([_as_json(queue, message) for message in messages]))
        return 0
    if not messages:
        stdout.print("no dead messages")
    for message in messages:
        stdout.print(f"{message.id}  {shown(_subject(queue, message))}", markup=False)
    return 0


async def redrive(
    settings: Settings, queue: str, ids: Sequence[str] | None, *, every: bool, dry_run: bool, as_json: bool
) -> int:
    """Send dead messages again; the exit code."""
    _check_selection(ids, every=every)
    async with existing_service(settings) as service, open_dead_messages(service, queue) as dead:
        messages = await _selected(dead, ids)
        if not dry_run:
            count = await dead.redrive(messages)
            await log_command(service, "redrive_messages", details={"queue": queue, "messages": count})
    return _report(messages, ids, "sent again", dry_run=dry_run, as_json=as_json)


async def purge(
    settings: Settings,
    queue: str,
    ids: Sequence[str] | None,
    *,
    every: bool,
    dry_run: bool,
    as_json: bool,
    yes: bool,
) -> int:
    """Delete dead messages, after asking; the exit code."""
    _check_selection(ids, every=every)
    async with existing_service(settings) as service, open_dead_messages(service, queue) as dead:
        messages = await _selected(dead, ids)
        if messages and not dry_run:
            if not yes and not sys.stdin.isatty():
                raise ValidationError("cannot ask for confirmation here: give --yes to delete dead messages")
            if not yes and not typer.confirm(f"delete {counted(len(messages), 'dead message')}?", err=True):
                stderr.print("nothing was deleted")
                return FAILED
            count = await dead.purge(messages)
            await log_command(service, "purge_messages", details={"queue": queue, "messages": count})
    return _report(messages, ids, "deleted", dry_run=dry_run, as_json=as_json)


def _check_selection(ids: Sequence[str] | None, *, every: bool) -> None:
    if bool(ids) == every:
        raise ValidationError("select them in one of these ways: ids, --all")


async def _selected(dead: DeadMessages, ids: Sequence[str] | None) -> list[DeadMessage]:
    return await dead.find(ids or None, limit=_MOST)


def _report(
    messages: Sequence[DeadMessage], ids: Sequence[str] | None, done: str, *, dry_run: bool, as_json: bool
) -> int:
    """Print the outcome; the exit code."""
    unknown = len(set(ids or ()) - {message.id for message in messages})
    if as_json:
        found = [message.id for message in messages]
        stdout.print_json(json.dumps({"ids": found, "unknown": unknown, "dry_run": dry_run}))
    elif dry_run:
        for message in messages:
            stdout.print(message.id, markup=False)
        stdout.print(f"{counted(len(messages), 'dead message')} selected; nothing was changed")
    else:
        stdout.print(f"{len(messages)} {done}")
        if len(messages) == _MOST:
            stdout.print("there may be more: repeat the command")
    if unknown and not as_json:
        stderr.print(f"{unknown} not there (any more)", style="yellow")
    return FAILED if unknown else 0


def _as_json(queue: str, message: DeadMessage) -> dict[str, str | int]:
    return {"id": message.id, "about": _subject(queue, message), "receive_count": message.receive_count}


def _subject(queue: str, message: DeadMessage) -> str:
    """Subject of a message: a document, or the objects of a bucket that are mails."""
    if queue == MATCHING.name:
        return f"document {message.body}"
    from docmill.service.sources.bucket.s3_events import UnknownMessageError  # noqa: PLC0415  an extra
    from docmill.service.sources.ses.ses_messages import received_mails  # noqa: PLC0415

    try:
        mails = received_mails(message.body)
    except UnknownMessageError:
        return "no message about a mail"
    named = (
        f"{mail.bucket}/{mail.key}" + (f" for {', '.join(mail.recipients)}" if mail.recipients else "")
        for mail in mails
    )
    return "; ".join(named) or "no mail"
