"""Names and media types of a mail's attachments, from the structure that an IMAP server tells.

Nothing of the mail is fetched for that. Source: RFC 9051, 7.5.2.
"""

from collections.abc import Iterator, Sequence
from email.errors import HeaderParseError
from email.header import decode_header, make_header
from typing import Any, TypeGuard, cast
from urllib.parse import unquote

from docmill.service.sources.mail.mail_rules import AttachmentName

_BASIC_FIELDS = 7
"""Type, subtype, parameters, id, description, encoding and size, which each part has."""
_TEXTS = frozenset({"text/plain", "text/html"})
_DEEPEST = 20


def attachment_names(structure: object) -> list[AttachmentName]:
    """The attachments, also those of mails within the mail; the text of a mail is none."""
    return list(_attachments(structure, 0))


def _attachments(part: object, depth: int) -> Iterator[AttachmentName]:
    if not _is_sequence(part) or not part or depth > _DEEPEST:
        return
    if not isinstance(part[0], bytes):  # several parts: they come first, in a list or one by one
        children = cast("list[object]", part[0]) if isinstance(part[0], list) else list(part)
        for child in children:
            yield from _attachments(child, depth + 1)
        return
    if len(part) < _BASIC_FIELDS or not isinstance(part[1], bytes):
        return
    media_type = f"{_text(part[0])}/{_text(part[1])}".lower()
    disposition, parameters = _disposition(part)
    name = _parameter(parameters, "filename") or _parameter(part[2], "name")
    if media_type == "message/rfc822":
        inner = [child for child in part[_BASIC_FIELDS:] if _is_body(child)]
        for child in inner:
            yield from _attachments(child, depth + 1)
        if not inner:
            yield AttachmentName(name, media_type)
    elif media_type not in _TEXTS or disposition == "attachment" or name:
        yield AttachmentName(name, media_type)


def _disposition(part: Sequence[Any]) -> tuple[str, object]:
    """`attachment` or `inline` with its parameters; empty for a part that says nothing."""
    for value in part[_BASIC_FIELDS:]:
        if _is_sequence(value) and len(value) == 2 and isinstance(value[0], bytes):  # noqa: PLR2004  a pair
            kind = _text(value[0]).lower()
            if kind in ("attachment", "inline"):
                return kind, value[1]
    return "", None


def _is_body(value: object) -> bool:
    """True for the structure of the mail in a part `message/rfc822`, which also has its envelope there."""
    if not _is_sequence(value) or not value:
        return False
    is_single = (
        len(value) >= _BASIC_FIELDS
        and isinstance(value[0], bytes)
        and isinstance(value[1], bytes)
        and (value[2] is None or _is_sequence(value[2]))
        and isinstance(value[6], int)
    )
    return is_single or (isinstance(value[0], list) or (_is_sequence(value[0]) and _is_body(value[0])))


def _parameter(values: object, name: str) -> str:
    """The value of a parameter, also of one in pieces (RFC 2231)."""
    if not _is_sequence(values):
        return ""
    pieces: list[tuple[str, str]] = []
    for key, value in zip(values[::2], values[1::2], strict=False):
        found, text = _text(key).lower(), _text(value)
        if found == name:
            return _decoded(text)
        if found.startswith(f"{name}*"):
            pieces.append((found, unquote(text.rpartition("'")[2]) if found.endswith("*") else text))
    return "".join(text for _, text in sorted(pieces))


def _decoded(text: str) -> str:
    try:
        return str(make_header(decode_header(text)))
    except (HeaderParseError, ValueError, LookupError):
        return text


def _text(value: object) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else ""


def _is_sequence(value: object) -> TypeGuard[Sequence[Any]]:
    return isinstance(value, list | tuple)
