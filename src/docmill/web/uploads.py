"""Uploads: files of a multipart form into the vault, with the outcome of each.

A file is taken in as it arrives: never whole in memory, never on disk before it reaches its place.
"""

from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Collection, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, NamedTuple
from uuid import UUID

from python_multipart import MultipartParser
from python_multipart.exceptions import FormParserError
from python_multipart.multipart import parse_options_header
from starlette.requests import ClientDisconnect, Request

from docmill.errors import CorruptError, DocmillError, EncryptedError, TooLargeError, ValidationError
from docmill.text_input import check_text
from docmill.web.access import FORM_TOKEN, check_form_token
from docmill.web.context import Vault
from docmill.web.problems import status_of

_LONGEST_HEADER = 8192
_PASSWORD = "password"  # noqa: S105  the name of a field

_REFUSALS = (TooLargeError, CorruptError, EncryptedError)
"""Errors of one file; the other files of the form are still taken in. Any other error fails the request."""


@dataclass(frozen=True, slots=True)
class Uploaded:
    """One file. document_id, ingestion_id: None for one that was refused; error: then why."""

    file_name: str
    status: Literal["accepted", "already_here", "restored", "refused"]
    document_id: UUID | None = None
    ingestion_id: UUID | None = None
    error: DocmillError | None = None


async def receive(request: Request, vault: Vault, *, force: bool = False) -> list[Uploaded]:
    """Take in every file of the form. Raises ValidationError if there is none."""
    results: list[Uploaded] = []
    async for part in read_files(request):
        check_form_token(request, part.form_token)
        try:
            accepted = await vault.service.intake.accept(
                part.chunks,
                tenant_id=vault.tenant_id,
                file_name=part.file_name,
                uploaded_by=vault.user_id,
                force=force,
                unlock=vault.unlocking(part.password),
            )
        except _REFUSALS as error:
            results.append(Uploaded(part.file_name, "refused", error=error))
        else:
            status = "accepted" if accepted.is_new else "restored" if accepted.is_restored else "already_here"
            results.append(Uploaded(part.file_name, status, accepted.document_id, accepted.ingestion_id))
        vault.metrics.upload_ended(results[-1].status)
    vault.audit_details["files"] = len(results)
    if not results:
        raise ValidationError("the form holds no file; choose at least one")
    return results


def refusal_of(results: Sequence[Uploaded]) -> DocmillError | None:
    """Return the first error if every file was refused, else None."""
    errors = [result.error for result in results if result.error]
    return errors[0] if len(errors) == len(results) else None


def upload_status(results: Sequence[Uploaded]) -> int:
    """201 when a document was made, 200 when all were here before, else why the first was refused."""
    refusal = refusal_of(results)
    if refusal is not None:
        return status_of(refusal)
    return 201 if any(result.status == "accepted" for result in results) else 200


@dataclass(frozen=True, slots=True)
class FilePart:
    """A file of a form. chunks: its bytes, to be read before the next part is asked for.

    password, form_token: the form's fields of these names before the file; empty without them.
    """

    file_name: str
    chunks: AsyncIterator[bytes]
    password: str = field(default="", repr=False)
    form_token: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True)
class FormField:
    """A field of a form that is no file."""

    name: str
    value: str = field(repr=False)


async def read_files(request: Request) -> AsyncGenerator[FilePart]:
    """Read the files of a multipart form, one by one; unread rests of files and other fields are skipped.

    Raises ValidationError for a body that is no such form, and for a password after the files it is for.
    """
    password, token, has_files = "", "", False
    async for part in read_parts(request, fields=(_PASSWORD, FORM_TOKEN)):
        if isinstance(part, FilePart):
            has_files = True
            yield replace(part, password=password, form_token=token)
        elif part.name == FORM_TOKEN:
            token = part.value
        else:
            password = part.value
            if has_files and password:
                raise ValidationError("the password comes after the files; put its field before them")


async def read_parts(request: Request, *, fields: Collection[str]) -> AsyncGenerator[FilePart | FormField]:
    """Read the files of a multipart form and its fields of these names, in its order; the rest is skipped.

    Raises ValidationError for a body that is no such form.
    """
    events = _parse_form(request, {name.encode() for name in fields})
    async for event in events:
        if event.kind == "file":
            content = _content(events)
            yield FilePart(_text(event.data), content)
            async for _ in content:
                pass
        elif event.kind == "field":
            yield FormField(event.name.decode(), _text(event.data))


def _text(data: bytes) -> str:
    """The text of a field or the name of a file. Raises ValidationError for one that cannot be stored."""
    text = data.decode("utf-8", "replace")
    check_text(text)
    return text


class _Event(NamedTuple):
    """An event of the parser. data: the name of a file, bytes of it, or the value of a field."""

    kind: Literal["file", "data", "end", "field"]
    data: bytes
    name: bytes = b""


async def _content(events: AsyncIterator[_Event]) -> AsyncGenerator[bytes]:
    """Read the bytes up to the end of the part."""
    async for event in events:
        if event.kind == "end":
            return
        yield event.data


async def _parse_form(request: Request, fields: Collection[bytes]) -> AsyncGenerator[_Event]:
    media_type, options = parse_options_header(request.headers.get("content-type", ""))
    if media_type != b"multipart/form-data" or b"boundary" not in options:
        raise ValidationError("send the files as multipart/form-data")
    parts = _Parts(fields)
    try:
        parser = MultipartParser(options[b"boundary"], parts.callbacks)  # pyright: ignore[reportArgumentType]  its types are narrower than what it takes
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
        raise ValidationError("the form is incomplete; send it again")


class _Parts:
    """Collects what the parser reports. Files, and the fields of these names, give events."""

    def __init__(self, fields: Collection[bytes]) -> None:
        self._fields = fields
        self.events: deque[_Event] = deque()
        self.is_complete = False
        self._name = b""
        self._value = b""
        self._disposition = b""
        self._is_file = False
        self._field: bytes | None = None
        self._text = b""
        self.callbacks: dict[str, object] = {
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
        self._field, self._text = None, b""

    def _header_name(self, data: bytes, start: int, end: int) -> None:
        self._name = self._limit(self._name + data[start:end])

    def _header_value(self, data: bytes, start: int, end: int) -> None:
        self._value = self._limit(self._value + data[start:end])

    def _limit(self, header: bytes) -> bytes:
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
            self.events.append(_Event("file", name))
        elif (field_name := options.get(b"name", b"")) in self._fields:
            self._field = field_name

    def _data(self, data: bytes, start: int, end: int) -> None:
        if self._is_file:
            self.events.append(_Event("data", data[start:end]))
        elif self._field is not None:
            self._text = self._limit(self._text + data[start:end])

    def _part_end(self) -> None:
        if self._is_file:
            self.events.append(_Event("end", b""))
        elif self._field is not None:
            self.events.append(_Event("field", self._text, self._field))

    def _end(self) -> None:
        self.is_complete = True
