"""Files of a form as they arrive: never whole in memory, never on disk before they reach their place."""

from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator
from dataclasses import dataclass, field
from typing import Literal

from python_multipart import MultipartParser
from python_multipart.exceptions import FormParserError
from python_multipart.multipart import parse_options_header
from starlette.requests import ClientDisconnect, Request

from docmill.errors import ValidationError

_LONGEST_HEADER = 8192
_Event = tuple[Literal["file", "data", "end", "password"], bytes]


@dataclass(frozen=True, slots=True)
class FilePart:
    """A file of a form. chunks: its bytes, to be read before the next part is asked for.

    password: what the form's field of that name held before the file; empty without one.
    """

    file_name: str
    chunks: AsyncIterator[bytes]
    password: str = field(default="", repr=False)


async def files(request: Request) -> AsyncGenerator[FilePart]:
    """The files of a multipart form, one by one. What is not read of one is skipped; other fields are, too.

    Raises ValidationError for a body that is no such form, and for a password after the files it is for.
    """
    events = _events(request)
    password, seen = "", False
    async for kind, data in events:
        if kind == "file":
            content, seen = _content(events), True
            yield FilePart(data.decode("utf-8", "replace"), content, password)
            async for _ in content:
                pass
        elif kind == "password":
            password = data.decode("utf-8", "replace")
            if seen and password:
                raise ValidationError("the password comes after the files; put its field before them")


async def _content(events: AsyncIterator[_Event]) -> AsyncGenerator[bytes]:
    """Bytes up to the end of the part."""
    async for kind, data in events:
        if kind == "end":
            return
        yield data


async def _events(request: Request) -> AsyncGenerator[_Event]:
    parts, boundary = _Parts(), _boundary(request)
    try:
        parser = MultipartParser(boundary, parts.callbacks)  # pyright: ignore[reportArgumentType]  its types are narrower than what it takes
        async for chunk in request.stream():
            parser.write(chunk)
            while parts.events:
                yield parts.events.popleft()
        parser.finalize()
    except FormParserError as error:
        raise ValidationError("the form cannot be read; send it as multipart/form-data") from error
    except ClientDisconnect as error:
        raise ValidationError("the upload was broken off before its end") from error
    if not parts.is_complete:
        raise ValidationError("the form ends before its end; send it again")


def _boundary(request: Request) -> bytes:
    kind, options = parse_options_header(request.headers.get("content-type", ""))
    if kind != b"multipart/form-data" or b"boundary" not in options:
        raise ValidationError("send the files as multipart/form-data")
    return options[b"boundary"]


class _Parts:
    """Collects what the parser reports. Only parts with a file name, and the password, give events."""

    def __init__(self) -> None:
        self.events: deque[_Event] = deque()
        self.is_complete = False
        self._name = b""
        self._value = b""
        self._disposition = b""
        self._is_file = False
        self._password: bytes | None = None

    @property
    def callbacks(self) -> dict[str, object]:
        return {
            "on_part_begin": self._begin,
            "on_header_field": self._header_name,
            "on_header_value": self._header_value,
            "on_header_end": self._header_end,
            "on_headers_finished": self._headers_finished,
            "on_part_data": self._data,
            "on_part_end": self._part_end,
            "on_end": self._end,
        }

    def _begin(self) -> None:
        self._name = self._value = self._disposition = b""
        self._is_file = False
        self._password = None

    def _header_name(self, data: bytes, start: int, end: int) -> None:
        self._name = self._held(self._name + data[start:end])

    def _header_value(self, data: bytes, start: int, end: int) -> None:
        self._value = self._held(self._value + data[start:end])

    def _held(self, header: bytes) -> bytes:
        if len(header) > _LONGEST_HEADER:
            raise FormParserError("header too long")
        return header

    def _header_end(self) -> None:
        if self._name.lower() == b"content-disposition":
            self._disposition = self._value
        self._name = self._value = b""

    def _headers_finished(self) -> None:
        _, options = parse_options_header(self._disposition)
        name = options.get(b"filename")
        self._is_file = bool(name)  # a browser sends an empty name where no file was chosen
        if name:
            self.events.append(("file", name))
        elif options.get(b"name") == b"password":
            self._password = b""

    def _data(self, data: bytes, start: int, end: int) -> None:
        if self._is_file:
            self.events.append(("data", data[start:end]))
        elif self._password is not None:
            self._password = self._held(self._password + data[start:end])

    def _part_end(self) -> None:
        if self._is_file:
            self.events.append(("end", b""))
        elif self._password is not None:
            self.events.append(("password", self._password))

    def _end(self) -> None:
        self.is_complete = True
