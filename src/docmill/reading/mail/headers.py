"""The header fields of mails, in whatever encoding they were written."""

import binascii
import re
from email.errors import HeaderParseError
from email.header import decode_header
from email.message import Message
from typing import TypeAlias

from docmill.reading.mail.message import SHOWN
from docmill.reading.text import encodings

_Part: TypeAlias = "Message[str, str]"
_LONGEST = 2000
_FOLD = re.compile(r"\r?\n[ \t]*|[\x00-\x1f\x7f]+")
_NAMING = (("Content-Disposition", "filename"), ("Content-Type", "name"))
_GLUED = re.compile(r"(\?=)(?=\S)|(?<=\S)(?==\?[\w.*-]+\?[bBqQ]\?)")
"""Encoded words without the space around them that RFC 2047 asks for."""


def shown_fields(message: _Part) -> dict[str, str]:
    """The fields that a person reads, by their names as in `SHOWN`."""
    return {name: value for name in SHOWN if (value := header(message, name))}


def header(message: _Part, name: str) -> str:
    """A field's text on one line, empty if there is none."""
    raw = _raw(message, name)
    return _FOLD.sub(" ", _decoded(raw)).strip()[:_LONGEST] if raw else ""


def file_name(part: _Part) -> str:
    """The name of an attachment, empty if it has none (RFC 2231, and RFC 2047 as many programs do it)."""
    for field, parameter in _NAMING:
        raw = _raw(part, field)
        if not raw:
            continue
        plain: _Part = Message()
        plain[field] = _FOLD.sub(" ", raw)
        value = _parameter(plain, field, parameter)
        if value:
            return _FOLD.sub(" ", _decoded(value)).strip()
    return ""


def _parameter(plain: _Part, field: str, name: str) -> str:
    try:
        value = plain.get_param(name, header=field)
    except (ValueError, LookupError, TypeError):  # of percent signs that mean nothing
        return ""
    if isinstance(value, tuple):
        charset, _, text = value
        return encodings.decode(text.encode("latin-1", "replace"), charset)
    return value or ""


def _raw(message: _Part, name: str) -> str:
    """The field as it stands there. What is not ASCII has come as it is, in some encoding."""
    for key, value in message.raw_items():
        if key.lower() == name.lower():
            text = str(value)
            if text.isascii():
                return text
            return encodings.decode(text.encode("utf-8", "surrogateescape"))
    return ""


def _decoded(text: str) -> str:
    """With its encoded words in plain."""
    if "=?" not in text:
        return text
    try:
        pieces = decode_header(_GLUED.sub(r"\1 ", text))
    except (HeaderParseError, binascii.Error, ValueError):
        return text
    return "".join(_in_plain(piece, charset) for piece, charset in pieces)


def _in_plain(piece: bytes | str, charset: str | None) -> str:
    if isinstance(piece, str):
        return piece
    # What stood beside encoded words comes back in this codec.
    return encodings.decode(piece, charset) if charset else piece.decode("raw-unicode-escape", "replace")
