"""Requests to a mailbox: functions of a client, run in the thread of its connection."""

import imaplib
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from pydantic import JsonValue

from docmill.service.sources.imap.body_structure import attachment_names
from docmill.service.sources.imap.imap_client import ImapClient
from docmill.service.sources.imap.imap_connection import is_passing
from docmill.service.sources.imap.imap_settings import ImapSettings
from docmill.service.sources.mail.mail_item import header_fields
from docmill.service.sources.mail.mail_rules import AttachmentName

_HEADER_BYTES = 65_536
_HEADER = f"BODY.PEEK[HEADER.FIELDS (FROM TO SUBJECT MESSAGE-ID)]<0.{_HEADER_BYTES}>"
"""Its beginning: of many mails at once, headers without end would be more than an answer may be."""


@dataclass(frozen=True, slots=True)
class MailHead:
    """A mail before it is fetched. attachments: None if nobody asked, or it is not known."""

    uid: int
    size: int
    fields: dict[str, JsonValue]
    attachments: list[AttachmentName] | None


@dataclass(frozen=True, slots=True)
class Fetched:
    """The answer to a request for several mails. failed: uids of those that the server did not hand over.

    Those that are in neither have vanished meanwhile.
    """

    answers: dict[int, dict[bytes, Any]] = field(default_factory=dict[int, dict[bytes, Any]])
    failed: list[int] = field(default_factory=list[int])


@dataclass(frozen=True, slots=True)
class Selected:
    """A folder in use. uid_validity: another one if the server has numbered its mails anew."""

    uid_validity: int
    count: int


def prepare_target(client: ImapClient, settings: ImapSettings) -> None:
    """Make the folder to which mails are moved, unless it is there."""
    if settings.afterwards == "move" and not client.folder_exists(settings.move_to):
        client.create_folder(settings.move_to)


def select(client: ImapClient, folder: str, settings: ImapSettings) -> Selected:
    """Use a folder; for reading alone, if nothing is done with its mails."""
    answer = client.select_folder(folder, readonly=settings.afterwards == "nothing")
    return Selected(int(answer.get(b"UIDVALIDITY", 0)), int(answer.get(b"EXISTS", 0)))


def new_uids(client: ImapClient, after: int, settings: ImapSettings) -> tuple[list[int], bool]:
    """The mails after this uid that the server finds; True if more have arrived meanwhile."""
    client.has_new_mail()
    criteria: list[Any] = ["UID", f"{after + 1}:*"]
    if settings.since is not None:
        criteria += ["SINCE", settings.since]
    if settings.only_unseen:
        criteria.append("UNSEEN")
    uids = sorted(uid for uid in client.search(criteria) if uid > after)  # the last one is always found
    return uids, client.has_new_mail()


def fetch_heads(
    client: ImapClient, uids: Sequence[int], *, with_attachments: bool
) -> tuple[list[MailHead], list[int]]:
    """The mails by uid, and the uids of those of which the server told nothing."""
    wanted = ["RFC822.SIZE", _HEADER]
    fetched = _fetch(client, uids, [*wanted, "BODYSTRUCTURE"] if with_attachments else wanted)
    if with_attachments and fetched.failed:  # its structure is what some servers fail on; the mail is taken
        again = _fetch(client, fetched.failed, wanted)
        fetched = Fetched({**fetched.answers, **again.answers}, again.failed)
    heads: list[MailHead] = []
    for uid, answer in sorted(fetched.answers.items()):
        header = next((value for key, value in answer.items() if key.startswith(b"BODY[HEADER")), None)
        structure = answer.get(b"BODYSTRUCTURE")
        heads.append(
            MailHead(
                uid,
                int(answer.get(b"RFC822.SIZE") or 0),
                header_fields((header or b"")[:_HEADER_BYTES]),
                None if structure is None else attachment_names(structure),
            )
        )
    return heads, fetched.failed


def fetch_contents(client: ImapClient, uids: Sequence[int]) -> tuple[dict[int, bytes], list[int]]:
    """The mails, and the uids of those that the server did not hand over. None is marked as read."""
    fetched = _fetch(client, uids, ["BODY.PEEK[]"])
    contents: dict[int, bytes] = {}
    failed = fetched.failed
    for uid, answer in fetched.answers.items():
        content = answer.get(b"BODY[]")
        if content:
            contents[uid] = content
        else:
            failed.append(uid)
    return contents, failed


def _fetch(client: ImapClient, uids: Sequence[int], items: Sequence[str]) -> Fetched:
    """Ask for several mails at once; where that is refused, one by one, so that no mail stops the others."""
    if not uids:
        return Fetched()
    refused: list[int] = []
    try:
        answers = _own_answers(client, uids, items)
        refused = _still_there(client, [uid for uid in uids if uid not in answers])
    except imaplib.IMAP4.abort:
        raise
    except imaplib.IMAP4.error as error:
        if is_passing(error):
            raise
        if len(uids) == 1:
            return Fetched(failed=_still_there(client, uids))
        answers, refused = {}, list(uids)
    if len(uids) == 1:
        return Fetched(answers, refused)
    failed: list[int] = []
    for uid in refused:
        single = _fetch(client, [uid], items)
        answers.update(single.answers)
        failed += single.failed
    return Fetched(answers, failed)


def _own_answers(
    client: ImapClient, uids: Sequence[int], items: Sequence[str]
) -> dict[int, dict[bytes, Any]]:
    """The answers that hold what was asked for: servers also tell of flags that have changed meanwhile."""
    answers = client.fetch(uids, items).items()
    return {uid: answer for uid, answer in answers if set(answer) - {b"SEQ", b"FLAGS"}}


def _still_there(client: ImapClient, uids: Sequence[int]) -> list[int]:
    """Those of the mails that have not vanished."""
    return list(client.search(["UID", ",".join(map(str, uids))])) if uids else []


def act_afterwards(client: ImapClient, uids: Sequence[int], settings: ImapSettings) -> None:
    """Do with the mails what the settings say. Mails that have vanished are no error."""
    if uids:
        _AFTERWARDS[settings.afterwards](client, uids, settings)


def _mark_read(client: ImapClient, uids: Sequence[int], _: ImapSettings) -> None:
    client.add_flags(uids, [rb"\Seen"], silent=True)


def _flag(client: ImapClient, uids: Sequence[int], _: ImapSettings) -> None:
    client.add_flags(uids, [rb"\Flagged"], silent=True)


def _move(client: ImapClient, uids: Sequence[int], settings: ImapSettings) -> None:
    if client.has_capability("MOVE"):
        client.move(uids, settings.move_to)
    else:
        client.copy(uids, settings.move_to)
        _delete(client, uids, settings)


def _delete(client: ImapClient, uids: Sequence[int], _: ImapSettings) -> None:
    client.delete_messages(uids, silent=True)
    # Without UIDPLUS a server can only remove all that are marked as deleted, also by other programs.
    if client.has_capability("UIDPLUS"):
        client.uid_expunge(uids)


_AFTERWARDS: dict[str, Callable[[ImapClient, Sequence[int], ImapSettings], None]] = {
    "nothing": lambda _, __, ___: None,
    "read": _mark_read,
    "flag": _flag,
    "move": _move,
    "delete": _delete,
}


def wait_for_mail(client: ImapClient, longest_s: float) -> bool:
    """Wait until the server announces a mail (RFC 2177); False if it has announced none for so long."""
    deadline = time.monotonic() + longest_s
    client.idle()
    has_mail = _announces_mail(client.idle_check(0))
    while not has_mail and (left_s := deadline - time.monotonic()) > 0:
        responses = client.idle_check(left_s)
        if not responses and time.monotonic() < deadline:
            break  # readable without a response: the connection has ended, and the next command fails
        has_mail = _announces_mail(responses)
    _, late = client.idle_done()
    return has_mail or _announces_mail(late)


def _announces_mail(responses: Sequence[Any]) -> bool:
    return any(b"EXISTS" in response[:2] for response in responses)
