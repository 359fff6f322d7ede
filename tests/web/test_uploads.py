"""Files of a form, as they arrive."""

from collections.abc import Sequence

import pytest
from starlette.requests import Request
from starlette.types import Message

from docmill.errors import ValidationError
from docmill.web.uploads import read_files

FORM = (
    b'--b\r\nContent-Disposition: form-data; name="note"\r\n\r\nno file\r\n'
    b"--b\r\nContent-Type: text/plain\r\n"
    b'Content-Disposition: form-data; name="file"; filename="a.txt"\r\n\r\nfirst file\r\n'
    b'--b\r\nContent-Disposition: form-data; name="file"; filename="b.txt"\r\n\r\nsecond\r\n--b--\r\n'
)


def request_of(chunks: Sequence[bytes], *, broken_off: bool = False) -> Request:
    messages: list[Message] = [{"type": "http.request", "body": chunk, "more_body": True} for chunk in chunks]
    messages.append({"type": "http.disconnect"} if broken_off else {"type": "http.request", "body": b""})
    incoming = iter(messages)

    async def receive() -> Message:
        return next(incoming)

    headers = [(b"content-type", b"multipart/form-data; boundary=b")]
    return Request({"type": "http", "method": "POST", "headers": headers}, receive)


@pytest.mark.parametrize("piece", [1, 7, 1000])
async def test_files_come_one_by_one_however_the_form_is_cut(piece: int) -> None:
    chunks = [FORM[at : at + piece] for at in range(0, len(FORM), piece)]

    read = [
        (part.file_name, b"".join([chunk async for chunk in part.chunks]))
        async for part in read_files(request_of(chunks))
    ]

    assert read == [("a.txt", b"first file"), ("b.txt", b"second")]


async def test_what_is_not_read_of_a_file_is_skipped() -> None:
    names = [part.file_name async for part in read_files(request_of([FORM]))]

    assert names == ["a.txt", "b.txt"]


async def test_a_form_that_is_broken_off_is_not_taken_for_whole() -> None:
    parts = read_files(request_of([FORM[:-20]], broken_off=True))

    with pytest.raises(ValidationError, match="broken off"):
        _ = [chunk async for part in parts async for chunk in part.chunks]
