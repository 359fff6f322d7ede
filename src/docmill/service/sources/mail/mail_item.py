"""A mail as an item: its name, by which it is taken once, and what its header says about it."""

import email.policy
import hashlib
import re
from dataclasses import dataclass
from email.parser import BytesHeaderParser
from typing import Any

from pydantic import JsonValue

HEADER_BYTES = 65_536
_LONGEST = 500
_LONGEST_RAW = 4000
"""Of a field as it was sent: of more recipients, the first."""
_END_OF_HEADER = re.compile(rb"\r?\n\r?\n")
_BLANKS = re.compile(r"[\s\x00-\x1f\x7f]+")
_FIELDS = {"sender": "From", "recipient": "To", "subject": "Subject", "message_id": "Message-ID"}


@dataclass(frozen=True, slots=True)
class MailItem:
    """A mail that has arrived. name: of the item. metadata: sender, recipient, subject, message id."""

    name: str
    file_name: str
    metadata: dict[str, JsonValue]


def mail_item(content: bytes) -> MailItem:
    """Name a mail by its message id and its content, and read its header."""
    return item_of_header(header_of(content), hashlib.sha256(content).hexdigest())


def header_of(content: bytes) -> bytes:
    """The header of a mail, or its first 64 KiB. content: the mail, or so much of its beginning."""
    head = content[:HEADER_BYTES]
    end = _END_OF_HEADER.search(head)
    return head[: end.end()] if end else head


def item_of_header(header: bytes, digest: str) -> MailItem:
    """Name a mail by the message id in its header and the SHA-256 digest of its content.

    The header is read by Python's own parser: attachments are opened where all untrusted files are. A field
    that cannot be read is left out.
    """
    fields = header_fields(header)
    message_id = str(fields.get("message_id") or "")
    subject = re.sub(r'[\s/\\:*?"<>|]+', " ", str(fields.get("subject") or "")).strip()
    return MailItem(f"{message_id[:100]} {digest}".strip(), f"{subject[:120] or 'message'}.eml", fields)


def from_addresses(header: bytes) -> list[str]:
    """The addresses of the field From; none if there is no such field, more than one, or a very long one."""
    message = BytesHeaderParser(policy=email.policy.default).parsebytes(header)
    raw = [str(value) for field, value in message.raw_items() if field.lower() == "from"]
    if len(raw) != 1 or len(raw[0]) > _LONGEST_RAW:  # programs show the first or the last of several
        return []
    try:
        field: Any = email.policy.default.header_fetch_parse("From", raw[0])
        return [address.addr_spec for address in field.addresses if address.domain]
    except (ValueError, IndexError, AttributeError, LookupError, RecursionError):  # of Python's parser
        return []


def header_fields(header: bytes) -> dict[str, JsonValue]:
    """Sender, recipient, subject and message id, decoded, each on one line; those that are there."""
    message = BytesHeaderParser(policy=email.policy.default).parsebytes(header)
    raw: dict[str, str] = {}
    for field, value in message.raw_items():
        raw.setdefault(field.lower(), str(value))
    found: dict[str, JsonValue] = {}
    for name, field in _FIELDS.items():
        try:
            value = _decoded(field, raw.get(field.lower()))
        except (ValueError, IndexError, AttributeError, LookupError, RecursionError):  # of Python's parser
            value = None
        if value is not None:
            text = _BLANKS.sub(" ", str(value)).strip()[:_LONGEST]
            if text:
                found[name] = text.encode("utf-8", "replace").decode()
    return found


def _decoded(field: str, raw: str | None) -> str | None:
    """The text of a field. Of a long one its beginning: Python's parser takes seconds for 64 KiB."""
    if raw is None:
        return None
    return str(email.policy.default.header_fetch_parse(field, raw[:_LONGEST_RAW]))
