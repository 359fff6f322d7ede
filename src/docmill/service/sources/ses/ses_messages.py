"""Messages about mails that Amazon SES wrote to a bucket, and what their headers say."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from email import policy
from email.parser import BytesHeaderParser
from typing import Any, cast

from docmill.service.sources.bucket.s3_events import UnknownMessageError, new_objects, unwrapped

_VERDICTS = ("spf", "dkim", "dmarc", "spam", "virus")
_SETUP = "AMAZON_SES_SETUP_NOTIFICATION"
"""Name of an object that SES writes once, to see whether it may."""
_TOKEN = re.compile(r"\+([a-z0-9]{10})@")
_TOKEN_FOLDER = re.compile(r"[a-z0-9]{10}")
_MOST_TOKENS = 50
_RECIPIENT_FIELDS = ("To", "Cc", "Delivered-To", "X-Original-To")
_HEADER_BYTES = 65_536
_END_OF_HEADER = re.compile(rb"\r?\n\r?\n")
_STATUS = re.compile(r"[A-Za-z_]{1,20}")


@dataclass(frozen=True, slots=True)
class ReceivedMail:
    """A mail in a bucket. recipients: of its envelope; None if the message does not tell them.

    verdicts: what SES found out about the sender and the content, such as `{"spf": "pass"}`.
    """

    bucket: str
    key: str
    recipients: tuple[str, ...] | None = None
    verdicts: Mapping[str, str] = field(default_factory=dict[str, str])


def received_mails(body: str) -> list[ReceivedMail]:
    """The mails that a message tells of: a notification of SES (through SNS), or an event of the bucket.

    Raises UnknownMessageError.
    """
    message = unwrapped(body)
    if message.get("notificationType") == "Received":
        mails = [_of_receipt(message)]
    else:
        mails = [ReceivedMail(entry.bucket, entry.key) for entry in new_objects(body)]
    return [mail for mail in mails if not mail.key.endswith(_SETUP)]


def _of_receipt(message: dict[str, Any]) -> ReceivedMail:
    match message:
        case {
            "receipt": {
                "recipients": [*recipients],
                "action": {"type": "S3", "bucketName": str(bucket), "objectKey": str(key)},
            }
        } if bucket and key:
            receipt: dict[str, Any] = message["receipt"]
        case _:
            raise UnknownMessageError
    verdicts = {
        name: _status(cast("object", receipt.get(f"{name}Verdict")))
        for name in _VERDICTS
        if f"{name}Verdict" in receipt
    }
    addresses = tuple(address for address in cast("list[object]", recipients) if isinstance(address, str))
    return ReceivedMail(bucket, key, addresses, verdicts)


def _status(verdict: object) -> str:
    match verdict:
        case {"status": str(status)} if _STATUS.fullmatch(status):
            return status.lower()
        case _:
            return "unknown"


def with_header(mail: ReceivedMail, content: bytes) -> ReceivedMail:
    """A mail with the recipients and verdicts in its header, as far as the message did not tell them.

    SES writes its own fields above those that come with a mail, so the first of a name counts.
    """
    if mail.recipients is not None:
        return mail
    head = content[:_HEADER_BYTES]
    end = _END_OF_HEADER.search(head)
    header = BytesHeaderParser(policy=policy.compat32).parsebytes(head[: end.end()] if end else head)
    fields = [str(value) for name in _RECIPIENT_FIELDS for value in header.get_all(name, [])]
    received = str(header.get("Received", ""))
    if " for " in received:
        fields.append(received.partition(" for ")[2].partition(";")[0])
    verdicts: dict[str, str] = {}
    for name in ("spam", "virus"):
        verdict = header.get(f"X-SES-{name.capitalize()}-Verdict")
        if verdict is not None:
            verdicts[name] = _status({"status": str(verdict).strip()})
    results = str(header.get("Authentication-Results", ""))
    for name in ("spf", "dkim", "dmarc"):
        if found := re.search(rf"\b{name}=([a-z]+)", results):
            verdicts[name] = found.group(1)
    return ReceivedMail(mail.bucket, mail.key, tuple(fields), verdicts)


def tokens(mail: ReceivedMail) -> dict[str, str]:
    """The tokens of sources that a mail is for, each with the recipient that has it, or "".

    A token stands in a recipient, `invoices+TOKEN@example.com`, or is a folder of the object's key.
    """
    found: dict[str, str] = {}
    for address in mail.recipients or ():
        for token in _tokens_in(address):
            found.setdefault(token, address.strip())
    for folder in mail.key.split("/")[:-1]:
        if _TOKEN_FOLDER.fullmatch(folder):
            found.setdefault(folder, "")
    return dict(_first(found.items()))


def _tokens_in(address: str) -> Sequence[str]:
    return _TOKEN.findall(address.lower())


def _first(items: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    return list(items)[:_MOST_TOKENS]
