"""A mail whatever it was stored as: who wrote what to whom, and what was enclosed."""

import email.policy
import hashlib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from email.message import EmailMessage
from urllib.parse import quote

from docmill.errors import CorruptError
from docmill.reading.containers.members import Member, with_clean_names
from docmill.reading.formats import html, rtf
from docmill.reading.formats.pictures import Album
from docmill.reading.layout.typeset import Block, Paragraph, beside_text

SHOWN = ("From", "To", "Cc", "Bcc", "Date", "Subject")
"""The lines of a mail's head that a person reads, in this order."""

_SET_UP_TO = 110
"""A text whose lines are shorter stands as it was typed; longer lines are running text."""
_POOR = 0.5
"""A web page with less than this share of the plain text's letters hides something."""
_PGP = re.compile(r"\A\s*-----BEGIN PGP MESSAGE-----")


@dataclass(frozen=True, slots=True)
class MailText:
    """One text in as many forms as it was sent in.

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
        """The form that says most: the web page, unless the plain text says more, or the rich text."""
        plain = _plain_blocks(self.plain or "")
        page = _page_blocks(self.page, self.charset, self.pictures) if self.page else []
        if page and _letters(page) >= _POOR * _letters(plain):
            return page
        return [*(plain or (_rich_blocks(self.rich) if self.rich else [])), *beside_text(page)]

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

    fields: the lines of its head, by their names in `SHOWN`. writings: its body. pictures: those that belong
    to the body, by content id.
    """

    fields: dict[str, str] = field(default_factory=dict[str, str])
    writings: Sequence[MailText] = ()
    enclosed: Sequence[Member] = ()
    pictures: Mapping[str, Callable[[], bytes]] = field(
        default_factory=dict[str, Callable[[], bytes]], compare=False, repr=False
    )

    def blocks(self) -> list[Block]:
        """The head, the names of what is enclosed, and the body."""
        lines = [f"{name}: {self.fields[name]}" for name in SHOWN if self.fields.get(name)]
        names = [member.name for member in with_clean_names(self.enclosed)]
        if names:
            lines.append(f"Attachments: {', '.join(names)}")
        body = [block for writing in self.writings for block in writing.blocks()]
        body += self._loose()
        if not lines and not body:
            raise CorruptError("the mail is empty; save or send it again")
        head: list[Block] = [Paragraph("\n".join(lines))] if lines else []
        return head + body

    def _loose(self) -> Iterator[Block]:
        """The pictures that no web page has a place for: rich text says where they stand only to Outlook."""
        album = Album()
        for content_id, content in self.pictures.items():
            if not any(writing.shows(content_id) for writing in self.writings):
                yield from album.blocks(content)

    @property
    def file_name(self) -> str:
        """File name for a mail within another, made from its subject."""
        subject = re.sub(r"[\s/\\:*?\"<>|]+", " ", self.fields.get("Subject", "")).strip()
        return f"{subject[:120] or 'message'}.eml"

    def as_eml(self) -> bytes:
        """The mail as a file that every mail program reads; the same mail gives the same bytes.

        Raises a DocumentError if something enclosed cannot be taken out.
        """
        message = EmailMessage(policy=email.policy.SMTP.clone(refold_source="none"))
        for name, value in self.fields.items():
            message[name] = _one_line(value)
        writing = self.writings[0] if self.writings else MailText("")
        message.set_content(writing.plain or "", cte="base64")
        if writing.page is not None:
            content = (
                writing.page if isinstance(writing.page, bytes) else writing.page.encode("utf-8", "replace")
            )
            charset = writing.charset if isinstance(writing.page, bytes) else "utf-8"
            message.add_alternative(content, maintype="text", subtype="html", params=_charset(charset))
        elif writing.rich is not None:
            message.add_alternative(writing.rich, maintype="text", subtype="rtf")
        for content_id, content in self.pictures.items():
            message.add_attachment(
                content(), "image", "png", disposition="inline", cid=f"<{_one_line(content_id)}>"
            )
        for member in with_clean_names(self.enclosed):
            if member.problem is None:
                message.add_attachment(member.read(), "application", "octet-stream", filename=member.name)
        return _with_boundaries(message)


def _with_boundaries(message: EmailMessage) -> bytes:
    """Random boundaries would make another file of the same mail each time."""
    for number, part in enumerate(message.walk()):
        if part.is_multipart():
            part.set_boundary(
                f"part-{number}-{hashlib.sha256(str(message['Subject']).encode()).hexdigest()[:24]}"
            )
    return message.as_bytes()


def _charset(charset: str | None) -> dict[str, str]:
    return {"charset": charset} if charset else {}


def _one_line(text: str) -> str:
    return re.sub(r"[\x00-\x1f\x7f]+", " ", text).strip()


def _page_blocks(
    page: bytes | str, charset: str | None, pictures: Mapping[str, Callable[[], bytes]]
) -> list[Block]:
    try:
        return html.blocks(page, charset, pictures)
    except CorruptError:
        return []


def _rich_blocks(rich: bytes) -> list[Block]:
    try:
        return rtf.blocks(rich)
    except CorruptError:
        return []


def _plain_blocks(text: str) -> list[Block]:
    lines = text.replace("\r\n", "\n").replace("\r", "\n").strip("\n")
    if not lines.strip():
        return []
    longest = max(map(len, lines.split("\n")))
    return [Paragraph(lines, is_set=longest <= _SET_UP_TO)]


def _letters(blocks: Sequence[Block]) -> int:
    return sum(character.isalnum() for character in repr(blocks))  # of a picture its size at most
