"""A mail, independent of its format: header fields, body and attachments."""

import binascii
import contextlib
import email.policy
import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from email.errors import HeaderParseError
from email.header import decode_header
from email.message import EmailMessage, Message
from typing import TypeAlias
from urllib.parse import quote

from docmill.errors import CorruptError
from docmill.reading.files.containers import Member, with_clean_names
from docmill.reading.formats import html, rtf
from docmill.reading.formats.pictures import Album
from docmill.reading.layout.typeset import Block, Paragraph, beside_text
from docmill.reading.text import encodings

SHOWN = ("From", "To", "Cc", "Bcc", "Date", "Subject")
"""The header fields that a person reads, in this order."""

_SET_UP_TO = 110
"""Lines up to this length keep their gaps; longer lines are running text."""
_POOR = 0.5
"""A web page with less than this share of the plain text's letters is not used."""
_PGP = re.compile(r"\A\s*-----BEGIN PGP MESSAGE-----")
_LONGEST_FIELD = 2000
_FOLD = re.compile(r"\r?\n[ \t]*|[\x00-\x1f\x7f]+")
_NAME_FIELDS = (("Content-Disposition", "filename"), ("Content-Type", "name"))
_GLUED = re.compile(r"(\?=)(?=\S)|(?<=\S)(?==\?[\w.*-]+\?[bBqQ]\?)")
"""Encoded words without the space around them that RFC 2047 asks for."""

HeaderPart: TypeAlias = "Message[str, str]"


@dataclass(frozen=True, slots=True)
class MailText:
    """A text in all forms in which it was sent.

    charset: of a web page in bytes; pictures: those that it shows in place, by content id.
    """

    plain: str | None = None
    page: bytes | str | None = None
    rich: bytes | None = None
    charset: str | None = None
    pictures: Mapping[str, Callable[[], bytes]] = field(
        default_factory=dict[str, Callable[[], bytes]], compare=False, repr=False
    )

    def blocks(self) -> list[Block]:
        """The most complete form: the web page, unless the plain text holds more, or the rich text."""
        page: list[Block] = []
        text: list[Block] = []
        lines = (self.plain or "").replace("\r\n", "\n").replace("\r", "\n").strip("\n")
        if lines.strip():
            longest = max(map(len, lines.split("\n")))
            text = [Paragraph(lines, is_set=longest <= _SET_UP_TO)]
        if self.page:
            with contextlib.suppress(CorruptError):
                page = html.blocks(self.page, self.charset, self.pictures)
        if page and _letters(page) >= _POOR * _letters(text):
            return page
        if not text and self.rich:
            with contextlib.suppress(CorruptError):
                text = rtf.blocks(self.rich)
        return [*text, *beside_text(page)]

    def shows(self, content_id: str) -> bool:
        """True if the web page has a place for this picture."""
        page = self.page.encode("utf-8", "replace") if isinstance(self.page, str) else self.page or b""
        return any(f"cid:{name}".encode() in page for name in (content_id, quote(content_id)))

    @property
    def is_encrypted(self) -> bool:
        """True for a message that only PGP can read."""
        return bool(self.plain and _PGP.match(self.plain))


@dataclass(frozen=True, slots=True)
class MailMessage:
    """A mail.

    fields: of its header, by their names in `SHOWN`. writings: its body. pictures: those that belong
    to the body, by content id.
    """

    fields: dict[str, str] = field(default_factory=dict[str, str])
    writings: Sequence[MailText] = ()
    enclosed: Sequence[Member] = ()
    pictures: Mapping[str, Callable[[], bytes]] = field(
        default_factory=dict[str, Callable[[], bytes]], compare=False, repr=False
    )

    def blocks(self) -> list[Block]:
        """The header, the names of the attachments, and the body."""
        lines = [f"{name}: {self.fields[name]}" for name in SHOWN if self.fields.get(name)]
        names = [member.name for member in with_clean_names(self.enclosed)]
        if names:
            lines.append(f"Attachments: {', '.join(names)}")
        body = [block for writing in self.writings for block in writing.blocks()]
        album = Album()
        for content_id, content in self.pictures.items():
            # Those that no web page has a place for: rich text states their places only for Outlook.
            if not any(writing.shows(content_id) for writing in self.writings):
                body += album.blocks(content)
        if not lines and not body:
            raise CorruptError("the mail is empty; save or send it again")
        head: list[Block] = [Paragraph("\n".join(lines))] if lines else []
        return head + body

    @property
    def file_name(self) -> str:
        """File name for a mail within another, made from its subject."""
        subject = re.sub(r"[\s/\\:*?\"<>|]+", " ", self.fields.get("Subject", "")).strip()
        return f"{subject[:120] or 'message'}.eml"

    def as_eml(self) -> bytes:
        """The mail as a file that every mail program reads; the same mail gives the same bytes.

        Raises a DocumentError if an attachment cannot be taken out.
        """
        message = EmailMessage(policy=email.policy.SMTP.clone(refold_source="none"))
        for name, value in self.fields.items():
            message[name] = _one_line(value)
        writing = self.writings[0] if self.writings else MailText("")
        message.set_content(writing.plain or "", cte="base64")
        if writing.page is not None:
            content, charset = writing.page, writing.charset
            if isinstance(content, str):
                content, charset = content.encode("utf-8", "replace"), "utf-8"
            params = {"charset": charset} if charset else {}
            message.add_alternative(content, maintype="text", subtype="html", params=params)
        elif writing.rich is not None:
            message.add_alternative(writing.rich, maintype="text", subtype="rtf")
        for content_id, content in self.pictures.items():
            message.add_attachment(
                content(), "image", "png", disposition="inline", cid=f"<{_one_line(content_id)}>"
            )
        for member in with_clean_names(self.enclosed):
            if member.problem is None:
                message.add_attachment(member.read(), "application", "octet-stream", filename=member.name)
        # Random boundaries would make another file of the same mail each time.
        digest = hashlib.sha256(str(message["Subject"]).encode()).hexdigest()[:24]
        for number, part in enumerate(message.walk()):
            if part.is_multipart():
                part.set_boundary(f"part-{number}-{digest}")
        return message.as_bytes()


def _one_line(text: str) -> str:
    return re.sub(r"[\x00-\x1f\x7f]+", " ", text).strip()


def _letters(blocks: Sequence[Block]) -> int:
    return sum(character.isalnum() for character in repr(blocks))  # of a picture its size at most


def header(message: HeaderPart, name: str) -> str:
    """A field's text on one line, empty if there is none."""
    return _decoded_words(_raw_field(message, name))[:_LONGEST_FIELD]


def file_name(part: HeaderPart) -> str:
    """The name of an attachment, empty if it has none (RFC 2231, and RFC 2047 as many programs do it)."""
    for field_name, parameter in _NAME_FIELDS:
        raw = _raw_field(part, field_name)
        if not raw:
            continue
        plain: HeaderPart = Message()
        plain[field_name] = _FOLD.sub(" ", raw)
        try:
            value = plain.get_param(parameter, header=field_name)
        except (ValueError, LookupError, TypeError):  # a percent sign without a number
            continue
        if isinstance(value, tuple):
            charset, _, text = value
            value = encodings.decode(text.encode("latin-1", "replace"), charset)
        if value:
            return _decoded_words(value)
    return ""


def _raw_field(message: HeaderPart, name: str) -> str:
    """The field as stored; bytes beyond ASCII, in whatever encoding, are decoded."""
    for key, value in message.raw_items():
        if key.lower() == name.lower():
            text = str(value)
            if text.isascii():
                return text
            return encodings.decode(text.encode("utf-8", "surrogateescape"))
    return ""


def _decoded_words(text: str) -> str:
    """The text on one line, its encoded words (RFC 2047) decoded."""
    if "=?" in text:
        with contextlib.suppress(HeaderParseError, binascii.Error, ValueError):
            parts: list[str] = []
            for piece, charset in decode_header(_GLUED.sub(r"\1 ", text)):
                if isinstance(piece, str):
                    parts.append(piece)
                elif charset:
                    parts.append(encodings.decode(piece, charset))
                else:  # text beside encoded words comes back in this codec
                    parts.append(piece.decode("raw-unicode-escape", "replace"))
            text = "".join(parts)
    return _FOLD.sub(" ", text).strip()
