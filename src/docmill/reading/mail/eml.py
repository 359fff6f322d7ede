"""Mails as they are sent (RFC 5322, MIME), and mailboxes of them. No signature is verified."""

import base64
import binascii
import contextlib
import email.policy
import mimetypes
import quopri
import re
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from email import message_from_bytes
from email.generator import BytesGenerator
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import NamedTuple, cast

from docmill.errors import CorruptError, EncryptedError, TooLargeError
from docmill.reading.files.containers import Member
from docmill.reading.files.file_types import MAIL_IN_BOX
from docmill.reading.files.options import ReadingOptions
from docmill.reading.layout.typeset import Block
from docmill.reading.mail import tnef
from docmill.reading.mail.linked_documents import linked_documents
from docmill.reading.mail.message import SHOWN, HeaderPart, MailMessage, MailText, file_name, header
from docmill.reading.mail.uuencode import split_uuencoded
from docmill.reading.text import encodings

ENCRYPTED = "the mail is encrypted ({}); open it in your mail program, save it as a PDF and use that"
DEEPEST = 50
"""Multiparts within each other; programs nest a few."""
DECORATION_BYTES = 100_000
"""A smaller picture that the body shows in place is a logo or a signature; a larger one is an attachment."""

_SIGNATURES = frozenset(
    f"application/{name}" for name in ("pgp-signature", "pkcs7-signature", "x-pkcs7-signature", "pgp-keys")
)
_SEALED = frozenset({"application/pkcs7-mime", "application/x-pkcs7-mime"})
_TNEF = frozenset({"application/ms-tnef", "application/vnd.ms-tnef"})
_READABLE = frozenset({"text/plain", "text/html", "text/rfc822-headers", "text/enriched", "text/richtext"})
_ENDINGS = {"image/jpeg": ".jpg", "text/plain": ".txt", "text/html": ".html", "application/octet-stream": ""}

_RICH = frozenset({"text/rtf", "application/rtf"})
_ALTERNATIVE = "multipart/alternative"

_POLICY = email.policy.compat32
"""The old policy: the new one raises on headers that real mails have."""
_SEQUENCE, _OCTETS, _OCTETS_IN_PIECES = 0x30, 0x04, 0x24
_SIGNED_DATA = bytes.fromhex("2a864886f70d010702")
_NOT_QUOTED = re.compile(rb"=(?![0-9A-Fa-f]{2}|[ \t]*(?:\r?\n|\Z))")
"""An equals sign that quoted-printable does not have."""
_LONG = 0x80
"""From this value on a length is the number of bytes of the length; with none, an end mark follows."""
_DEEPEST_VALUE = 30


def read(path: Path) -> list[Block]:
    """Read header and body. Raises EncryptedError, CorruptError, TooLargeError."""
    return parse_mail(_source(path)).blocks()


@contextmanager
def open_attachments(path: Path, options: ReadingOptions) -> Generator[list[Member]]:
    """Open a mail's attachments; without any, links to documents. Raises as `read` does."""
    mail = parse_mail(_source(path))
    yield check_count(mail.enclosed, options) or linked_documents(mail.writings)


def check_count(attachments: Sequence[Member], options: ReadingOptions) -> list[Member]:
    """Return the attachments of a mail. Raises TooLargeError for too many."""
    if len(attachments) > options.max_parts:
        raise TooLargeError(f"the mail holds {len(attachments)} files, more than {options.max_parts}")
    return list(attachments)


@contextmanager
def open_mailbox(path: Path, options: ReadingOptions) -> Generator[list[Member]]:
    """Open the mails of a mailbox (RFC 4155). Raises TooLargeError."""
    data = path.read_bytes()
    starts = [match.end() for match in MAIL_IN_BOX.finditer(data)]
    if len(starts) > options.max_parts:
        raise TooLargeError(
            f"the mailbox holds {len(starts)} mails, more than {options.max_parts}; split it into several"
        )
    mails: list[Member] = []
    for start, stop in zip(starts, [*starts[1:], len(data)], strict=True):
        _, _, content = data[start:stop].partition(b"\n")  # without the line that begins a mail in a box
        content = re.sub(rb"(?m)^>(>*From )", rb"\1", content).rstrip(b"\r\n") + b"\n"
        subject = header(message_from_bytes(content[:20_000], policy=_POLICY), "Subject")
        mails.append(Member(MailMessage({"Subject": subject}).file_name, "member", partial(bytes, content)))
    yield mails


def _source(path: Path) -> bytes:
    """The bytes of the mail; one saved as UTF-16 text is turned back."""
    data = path.read_bytes()
    if b"\0" in data[:4] or data.startswith((b"\xff\xfe", b"\xfe\xff", b"\xef\xbb\xbf")):
        data = encodings.decode(data).lstrip("\ufeff").encode("utf-8", "replace")
    return data.lstrip(b"\r\n\t ")


def parse_mail(source: bytes) -> MailMessage:
    """Parse the bytes of a mail. Raises EncryptedError, CorruptError."""
    try:
        message = message_from_bytes(source, policy=_POLICY)
        collector = _Collector()
        collector.add(message)
    except RecursionError as error:
        raise CorruptError("the mail is nested too deep to be read; save it as a PDF") from error
    if any(writing.is_encrypted for writing in collector.writings):
        raise EncryptedError(ENCRYPTED.format("PGP"))
    fields = {name: value for name in SHOWN if (value := header(message, name))}
    return MailMessage(fields, collector.writings, collector.enclosed, collector.pictures)


@dataclass
class _Collector:
    """Collector of texts and attachments on a walk through a mail."""

    writings: list[MailText] = field(default_factory=list[MailText])
    enclosed: list[Member] = field(default_factory=list[Member])
    pictures: dict[str, Callable[[], bytes]] = field(default_factory=dict[str, Callable[[], bytes]])

    def add(self, part: HeaderPart, depth: int = 0, within: str = "") -> None:
        """Add a part and everything in it. within: the media type of the part around it."""
        if depth > DEEPEST:
            raise RecursionError
        kind = part.get_content_type()
        children = cast("list[HeaderPart]", part.get_payload()) if part.is_multipart() else []
        name = file_name(part)
        # The first text may have a name, a later one with a name is a file.
        is_body = part.get_content_disposition() != "attachment" and not (name and self.writings)
        if kind.startswith("message/") and children:
            self._add_message(part, kind, children)
        elif children:
            self._add_several(kind, children, depth)
        elif kind in _SEALED:
            self._add_sealed(part, depth)
        elif kind in _TNEF or name.lower() == "winmail.dat":
            self._add_tnef(part)
        elif kind in _READABLE and is_body:
            self._add_text(part, kind)
        elif kind in _RICH and within == _ALTERNATIVE:
            self.writings.append(MailText(rich=_bytes(part)))
        elif kind not in _SIGNATURES and not self._is_decoration(part, kind, within):
            self._add_file(part, kind)

    def _add_several(self, kind: str, children: list[HeaderPart], depth: int) -> None:
        if kind == "multipart/encrypted":
            raise EncryptedError(ENCRYPTED.format("PGP"))
        if kind != _ALTERNATIVE:
            for child in children:
                self.add(child, depth + 1, kind)
            return
        forms: list[list[MailText]] = []
        for child in children:
            form = _Collector(pictures=self.pictures)
            form.add(child, depth + 1, kind)
            forms.append(form.writings)
            self.enclosed += form.enclosed
        self.writings += _merge_forms(forms)

    def _add_sealed(self, part: HeaderPart, depth: int) -> None:
        """Add the content of a signed part; a certificate alone is left out."""
        kind = (_parameter(part, "smime-type") or "").lower()
        if kind == "certs-only":
            return
        try:
            wrapped = unwrap_signed(_bytes(part))
        except CorruptError:
            wrapped = None
        if wrapped is not None:
            self.add(message_from_bytes(wrapped, policy=_POLICY), depth + 1)
        elif kind == "signed-data":
            self._add_file(part, kind)
        else:
            raise EncryptedError(ENCRYPTED.format("S/MIME"))

    def _add_message(self, part: HeaderPart, kind: str, children: list[HeaderPart]) -> None:
        if kind in ("message/rfc822", "message/global"):
            encoded = _encoded_mail(part, children[0])
            inner = children[0] if encoded is None else message_from_bytes(encoded, policy=_POLICY)
            subject = MailMessage({"Subject": header(inner, "Subject")}).file_name
            read = partial(_flatten, inner) if encoded is None else partial(bytes, encoded)
            self.enclosed.append(Member(file_name(part) or subject, "attachment", read))
        else:  # the report of a delivery: blocks of header lines
            lines = (_flatten(child).decode("utf-8", "replace") for child in children)
            self.writings.append(MailText("\n".join(lines)))

    def _is_decoration(self, part: HeaderPart, kind: str, within: str) -> bool:
        """True for a logo that the body shows in place, or the picture of a signature."""
        content_id = header(part, "Content-ID").strip("<>")
        if not content_id or not kind.startswith("image/") or len(_bytes(part)) >= DECORATION_BYTES:
            return False
        if within != "multipart/related" and part.get_content_disposition() == "attachment":
            address = f"cid:{content_id}".encode()
            pages = (writing.page for writing in self.writings)
            if not any(isinstance(page, bytes) and address in page for page in pages):
                return False
        self.pictures[content_id] = partial(_bytes, part)
        return True

    def _add_text(self, part: HeaderPart, kind: str) -> None:
        content, charset = _bytes(part), _parameter(part, "charset")
        if kind == "text/html":
            self.writings.append(MailText(page=content, charset=charset, pictures=self.pictures))
            return
        text, files = split_uuencoded(encodings.decode(content, charset))
        self.enclosed += files
        if _parameter(part, "format") == "flowed":
            deletes_space = _parameter(part, "delsp") == "yes"
            lines: list[str] = []
            goes_on = False
            for line in text.replace("\r\n", "\n").split("\n"):
                is_fixed = line.startswith(">") or line == "-- "
                if goes_on and not is_fixed:
                    lines[-1] += line.removeprefix(" ")
                else:
                    lines.append(line.removeprefix(" "))
                goes_on = line.endswith(" ") and not is_fixed
                if goes_on and deletes_space:
                    lines[-1] = lines[-1][:-1]
            text = "\n".join(lines)
        self.writings.append(MailText(text))

    def _add_tnef(self, part: HeaderPart) -> None:
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

    def _add_file(self, part: HeaderPart, kind: str) -> None:
        name = file_name(part)
        if not name:
            ending = _ENDINGS.get(kind, mimetypes.guess_extension(kind) or "")
            name = f"attachment {len(self.enclosed) + 1}{ending}"
        self.enclosed.append(Member(name, "attachment", partial(_bytes, part)))


def _merge_forms(forms: list[list[MailText]]) -> list[MailText]:
    """Merge the forms of a text, each of which may be in pieces with files between them."""
    pages = next((form for form in forms if any(piece.page is not None for piece in form)), list[MailText]())
    if len(pages) > 1 and any(piece.blocks() for piece in pages):
        return pages
    page = pages[0] if len(pages) == 1 else MailText()
    texts = (
        "\n".join(piece.plain for piece in form if piece.plain is not None)
        for form in forms
        if all(piece.page is None for piece in form)
    )
    plain = next(filter(None, texts), page.plain)
    rich = next((piece.rich for form in forms for piece in form if piece.rich is not None), None)
    writing = MailText(plain, page.page, rich, page.charset, page.pictures)
    return [] if writing == MailText() else [writing]


def _parameter(part: HeaderPart, name: str) -> str | None:
    value = part.get_param(name)
    return value[2] if isinstance(value, tuple) else value


def _bytes(part: HeaderPart) -> bytes:
    """The content of a part without parts."""
    content = part.get_payload(decode=True)
    return content if isinstance(content, bytes) else b""


def _encoded_mail(part: HeaderPart, parsed: HeaderPart) -> bytes | None:
    """A mail within a mail that is sent in base64 or quoted-printable, decoded; None for one sent as it is.

    RFC 2046 forbids such encodings, so that the parser ignores them. parsed: what it made of the mail.
    """
    encoding = header(part, "Content-Transfer-Encoding").lower()
    content = _flatten(parsed)
    if encoding == "base64" and not parsed.keys():
        with contextlib.suppress(binascii.Error):
            return base64.b64decode(b"".join(content.split()), validate=True)
    if encoding == "quoted-printable" and b"=" in content and not _NOT_QUOTED.search(content):
        return quopri.decodestring(content)
    return None


def _flatten(message: HeaderPart) -> bytes:
    """A mail within a mail as a file of its own."""
    target = BytesIO()
    try:
        BytesGenerator(target, mangle_from_=False, maxheaderlen=0, policy=_POLICY).flatten(message)
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise CorruptError("this mail within the mail is damaged; have it sent again by itself") from error
    return target.getvalue()


class _Value(NamedTuple):
    tag: int
    content: memoryview


def unwrap_signed(data: bytes) -> bytes | None:
    """Content of a mail that S/MIME wraps into its signature (RFC 5652, signed-data), not verified.

    None if nothing readable is wrapped. Raises CorruptError.
    """
    try:
        (message,) = _values(memoryview(data))
        kind, *rest = _values(message.content)
        if bytes(kind.content) != _SIGNED_DATA or not rest:
            return None
        (signed,) = _values(rest[0].content)
        wrapped = next((value for value in _values(signed.content) if value.tag == _SEQUENCE), None)
        if wrapped is None:
            return None
        _, *octets = _values(wrapped.content)
        return b"".join(piece for value in octets for piece in _pieces(value.content)) or None
    except (IndexError, ValueError) as error:
        raise CorruptError("the signed mail is damaged; have it sent again") from error


def _pieces(data: memoryview, depth: int = 0) -> Iterator[memoryview]:
    """Contents of octet strings, which may be nested."""
    for value in _values(data):
        if value.tag == _OCTETS:
            yield value.content
        elif value.tag == _OCTETS_IN_PIECES and depth < _DEEPEST_VALUE:
            yield from _pieces(value.content, depth + 1)


def _values(data: memoryview) -> Iterator[_Value]:
    at = 0
    while at < len(data):
        value, at = _value(data, at)
        yield value


def _value(data: memoryview, at: int, depth: int = 0) -> tuple[_Value, int]:
    """A value, and where it ends. Raises IndexError, ValueError."""
    if depth > _DEEPEST_VALUE:
        raise ValueError
    tag, length = data[at], data[at + 1]
    at += 2
    if length == _LONG:
        start = at
        while data[at] or data[at + 1]:
            _, at = _value(data, at, depth + 1)
        return _Value(tag, data[start:at]), at + 2
    if length > _LONG:
        count = length - _LONG
        length = int.from_bytes(data[at : at + count], "big")
        at += count
    if at + length > len(data):
        raise IndexError
    return _Value(tag, data[at : at + length]), at + length
