"""Mails that S/MIME wraps into their signature (RFC 5652, signed-data). No signature is verified."""

from collections.abc import Iterator
from typing import NamedTuple

from docmill.errors import CorruptError

_SEQUENCE, _OCTETS, _OCTETS_IN_PIECES = 0x30, 0x04, 0x24
_SIGNED_DATA = bytes.fromhex("2a864886f70d010702")
_LONG = 0x80
"""From this value on a length is the number of bytes of the length; with none, an end mark follows."""
_DEEPEST = 30


class _Value(NamedTuple):
    tag: int
    content: memoryview


def content(data: bytes) -> bytes | None:
    """Unwrap signed content; None if nothing readable is wrapped. Raises CorruptError."""
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
        elif value.tag == _OCTETS_IN_PIECES and depth < _DEEPEST:
            yield from _pieces(value.content, depth + 1)


def _values(data: memoryview) -> Iterator[_Value]:
    at = 0
    while at < len(data):
        value, at = _value(data, at)
        yield value


def _value(data: memoryview, at: int, depth: int = 0) -> tuple[_Value, int]:
    """A value, and where it ends. Raises IndexError, ValueError."""
    if depth > _DEEPEST:
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
