"""Mails as they are sent (RFC 5322, MIME), and mailboxes of them."""

import email.policy
import mimetypes
import re
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email import message_from_bytes
from email.generator import BytesGenerator
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias, cast

from docmill.errors import CorruptError, EncryptedError, TooLargeError
from docmill.reading.containers.members import Member
from docmill.reading.files.file_types import MAIL_IN_BOX
from docmill.reading.files.options import ReadingOptions
from docmill.reading.layout.typeset import Block
from docmill.reading.mail import smime, tnef
from docmill.reading.mail.headers import file_name, header, shown_fields
from docmill.reading.mail.message import MailMessage, MailText
from docmill.reading.text import encodings

if TYPE_CHECKING:
    from email.message import Message

ENCRYPTED = "the mail is encrypted ({}); open it in your mail program, save it as a PDF and use that"
DEEPEST = 50
"""Multiparts within each other; no program nests a tenth of that."""
DECORATION_BYTES = 100_000
"""A picture that the body shows in place is a logo or a signature up to here, and beyond it what was sent."""

_SIGNATURES = frozenset(
    {
        "application/pgp-signature",
        "application/pkcs7-signature",
        "application/x-pkcs7-signature",
        "application/pgp-keys",
    }
)
_SEALED = frozenset({"application/pkcs7-mime", "application/x-pkcs7-mime"})
_TNEF = frozenset({"application/ms-tnef", "application/vnd.ms-tnef"})
_READABLE = frozenset({"text/plain", "text/html", "text/rfc822-headers", "text/enriched", "text/richtext"})
_ENDINGS = {"image/jpeg": ".jpg", "text/plain": ".txt", "text/html": ".html", "application/octet-stream": ""}

_RICH = frozenset({"text/rtf", "application/rtf"})
_ALTERNATIVE = "multipart/alternative"

_Part: TypeAlias = "Message[str, str]"
_POLICY = email.policy.compat32
"""The old policy: the new one raises on headers that real mails have."""


def read(path: Path, options: ReadingOptions) -> list[Block]:
    """Head and body. Raises EncryptedError, CorruptError, TooLargeError."""
    del options
    return parse_mail(_source(path)).blocks()


@contextmanager
def open_attachments(path: Path, options: ReadingOptions) -> Generator[list[Member]]:
    """Open a mail's attachments. Raises EncryptedError, CorruptError, TooLargeError."""
    held = list(parse_mail(_source(path)).enclosed)
    if len(held) > options.max_parts:
        raise TooLargeError(f"the mail holds {len(held)} files, more than {options.max_parts}")
    yield held


@contextmanager
def open_mailbox(path: Path, options: ReadingOptions) -> Generator[list[Member]]:
    """The mails of a mailbox (RFC 4155). Raises TooLargeError."""
    data = path.read_bytes()
    starts = [found.end() for found in MAIL_IN_BOX.finditer(data)]
    if len(starts) > options.max_parts:
        raise TooLargeError(
            f"the mailbox holds {len(starts)} mails, more than {options.max_parts}; split it into several"
        )
    yield [_boxed(data[start:stop]) for start, stop in zip(starts, [*starts[1:], len(data)], strict=True)]


def _boxed(source: bytes) -> Member:
    """One mail without the line that begins it in a box."""
    content = re.sub(rb"(?m)^>(>*From )", rb"\1", source.partition(b"\n")[2]).rstrip(b"\r\n") + b"\n"
    subject = header(message_from_bytes(content[:20_000], policy=_POLICY), "Subject")
    return Member(MailMessage({"Subject": subject}).file_name, "member", lambda: content)


def _source(path: Path) -> bytes:
    """The bytes of the mail; one saved as UTF-16 text is turned back."""
    data = path.read_bytes()
    if b"\0" in data[:4] or data.startswith((b"\xff\xfe", b"\xfe\xff", b"\xef\xbb\xbf")):
        data = encodings.decode(data).lstrip("\ufeff").encode("utf-8", "replace")
    return data.lstrip(b"\r\n\t ")


def parse_mail(source: bytes) -> MailMessage:
    """A mail by its bytes. Raises EncryptedError, CorruptError."""
    try:
        message = message_from_bytes(source, policy=_POLICY)
        collecting = _Collecting()
        collecting.add(message)
    except RecursionError as error:
        raise CorruptError("the mail is nested too deep to be read; save it as a PDF") from error
    if any(writing.is_encrypted for writing in collecting.writings):
        raise EncryptedError(ENCRYPTED.format("PGP"))
    return MailMessage(shown_fields(message), collecting.writings, collecting.enclosed, collecting.pictures)


@dataclass
class _Collecting:
    """Collector of texts and attachments on a walk through a mail."""

    writings: list[MailText] = field(default_factory=list[MailText])
    enclosed: list[Member] = field(default_factory=list[Member])
    pictures: dict[str, Callable[[], bytes]] = field(default_factory=dict[str, Callable[[], bytes]])

    def add(self, part: _Part, depth: int = 0, within: str = "") -> None:
        """A part and everything in it. within: the kind of what it stands in."""
        if depth > DEEPEST:
            raise RecursionError
        kind = part.get_content_type()
        children = cast("list[_Part]", part.get_payload()) if part.is_multipart() else []
        if kind.startswith("message/") and children:
            self._add_message(part, kind, children)
        elif children:
            self._add_several(kind, children, depth)
        elif kind in _SEALED:
            self._add_sealed(part, depth)
        elif kind in _TNEF or file_name(part).lower() == "winmail.dat":
            self._add_tnef(part)
        elif self._is_text(part, kind):
            self._add_text(part, kind)
        elif kind in _RICH and within == _ALTERNATIVE:
            self.writings.append(MailText(rich=_bytes(part)))
        elif kind not in _SIGNATURES and not self._is_decoration(part, kind, within):
            self._add_file(part, kind)

    def _add_several(self, kind: str, children: list[_Part], depth: int) -> None:
        if kind == "multipart/encrypted":
            raise EncryptedError(ENCRYPTED.format("PGP"))
        if kind != _ALTERNATIVE:
            for child in children:
                self.add(child, depth + 1, kind)
            return
        forms: list[list[MailText]] = []
        for child in children:
            form = _Collecting(pictures=self.pictures)
            form.add(child, depth + 1, kind)
            forms.append(form.writings)
            self.enclosed += form.enclosed
        self.writings += _one_of(forms)

    def _add_sealed(self, part: _Part, depth: int) -> None:
        """Add the content of a signed part; a certificate alone is left out."""
        kind = (_parameter(part, "smime-type") or "").lower()
        if kind == "certs-only":
            return
        try:
            wrapped = smime.content(_bytes(part))
        except CorruptError:
            wrapped = None
        if wrapped is not None:
            self.add(message_from_bytes(wrapped, policy=_POLICY), depth + 1)
        elif kind == "signed-data":
            self._add_file(part, kind)
        else:
            raise EncryptedError(ENCRYPTED.format("S/MIME"))

    def _add_message(self, part: _Part, kind: str, children: list[_Part]) -> None:
        if kind in ("message/rfc822", "message/global"):
            name = file_name(part)
            subject = MailMessage({"Subject": header(children[0], "Subject")}).file_name
            self.enclosed.append(Member(name or subject, "attachment", partial(_flattened, children[0])))
        else:  # the report of a delivery: blocks of header lines
            self.writings.append(
                MailText("\n".join(_flattened(child).decode("utf-8", "replace") for child in children))
            )

    def _is_text(self, part: _Part, kind: str) -> bool:
        """True for a part of the body; the first may have a name, a later one with a name is a file."""
        if kind not in _READABLE or part.get_content_disposition() == "attachment":
            return False
        return not file_name(part) or not self.writings

    def _is_decoration(self, part: _Part, kind: str, within: str) -> bool:
        """True for a logo that the body shows in place, or the picture of a signature."""
        content_id = header(part, "Content-ID").strip("<>")
        if not content_id or not kind.startswith("image/") or len(_bytes(part)) >= DECORATION_BYTES:
            return False
        pages = (writing.page for writing in self.writings)
        shown = within == "multipart/related" or part.get_content_disposition() != "attachment"
        if not shown and not any(
            isinstance(page, bytes) and f"cid:{content_id}".encode() in page for page in pages
        ):
            return False
        self.pictures[content_id] = partial(_bytes, part)
        return True

    def _add_text(self, part: _Part, kind: str) -> None:
        content, charset = _bytes(part), _parameter(part, "charset")
        if kind == "text/html":
            self.writings.append(MailText(page=content, charset=charset, pictures=self.pictures))
        else:
            text = encodings.decode(content, charset)
            if _parameter(part, "format") == "flowed":
                deletes_space = _parameter(part, "delsp") == "yes"
                lines: list[str] = []
                goes_on = False
                for line in text.replace("\r\n", "\n").split("\n"):
                    quoted = line.startswith(">")
                    if goes_on and not quoted and line != "-- ":
                        lines[-1] += line.removeprefix(" ")
                    else:
                        lines.append(line.removeprefix(" "))
                    goes_on = line.endswith(" ") and not quoted and line != "-- "
                    if goes_on and deletes_space:
                        lines[-1] = lines[-1][:-1]
                text = "\n".join(lines)
            self.writings.append(MailText(text))

    def _add_tnef(self, part: _Part) -> None:
        """Add the members of a winmail.dat; its text counts if the mail has no other."""
        content = _bytes(part)
        try:
            wrapped = tnef.decode_mail(content)
        except CorruptError:
            self.enclosed.append(Member("winmail.dat", "attachment", lambda: content))
            return
        self.enclosed += wrapped.enclosed
        if not any(writing.blocks() for writing in self.writings):
            self.writings += wrapped.writings

    def _add_file(self, part: _Part, kind: str) -> None:
        name = file_name(part)
        if not name:
            ending = _ENDINGS.get(kind, mimetypes.guess_extension(kind) or "")
            name = f"attachment {len(self.enclosed) + 1}{ending}"
        self.enclosed.append(Member(name, "attachment", partial(_bytes, part)))


def _one_of(forms: list[list[MailText]]) -> list[MailText]:
    """One text that was sent in several forms, each of which may be in pieces with files between them."""
    paged = next((form for form in forms if any(piece.page is not None for piece in form)), list[MailText]())
    if len(paged) > 1 and any(piece.blocks() for piece in paged):
        return paged
    page = paged[0] if len(paged) == 1 else MailText()
    said = (
        "\n".join(piece.plain for piece in form if piece.plain is not None)
        for form in forms
        if all(piece.page is None for piece in form)
    )
    plain = next(filter(None, said), page.plain)
    rich = next((piece.rich for form in forms for piece in form if piece.rich is not None), None)
    writing = MailText(plain, page.page, rich, page.charset, page.pictures)
    return [] if writing == MailText() else [writing]


def _parameter(part: _Part, name: str) -> str | None:
    value = part.get_param(name)
    return value[2] if isinstance(value, tuple) else value


def _bytes(part: _Part) -> bytes:
    """The content of a part that has no others."""
    content = part.get_payload(decode=True)
    return content if isinstance(content, bytes) else b""


def _flattened(message: _Part) -> bytes:
    """A mail within a mail as a file of its own."""
    target = BytesIO()
    try:
        BytesGenerator(target, mangle_from_=False, maxheaderlen=0, policy=_POLICY).flatten(message)
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise CorruptError("this mail within the mail is damaged; have it sent again by itself") from error
    return target.getvalue()
