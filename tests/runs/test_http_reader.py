"""Documents by HTTP, from a server on this machine."""

import asyncio
import os
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from docmill.errors import (
    CorruptError,
    DocmillError,
    NetworkError,
    RateLimitedError,
    ServerError,
    TimeLimitError,
    TooLargeError,
    UnauthorizedError,
    ValidationError,
)
from docmill.ports import Ref
from docmill.runs.components.http import HttpReader, HttpReaderConfig
from docmill.runs.context import context_of_one
from docmill.runs.document_bytes import DocumentBytes

LARGE = bytes(range(256)) * 8000


class Server:
    """Answers each path with bytes that the test has given it, and keeps what it was asked."""

    def __init__(self) -> None:
        self.answers: dict[str, bytes] = {}
        self.requests: list[str] = []
        self.port = 0
        self.hangs = asyncio.Event()

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        request = (await reader.readuntil(b"\r\n\r\n")).decode()
        self.requests.append(request)
        path = request.split()[1]
        writer.write(self.answers[path])
        await writer.drain()
        if path == "/hangs":
            await self.hangs.wait()
        writer.close()


def answer(status: str, body: bytes = b"", **headers: str) -> bytes:
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, "", ""]).encode() + body


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    serving = Server()
    async with AsyncExitStack() as stack:
        listening = await asyncio.start_server(serving.answer, "127.0.0.1", 0)
        stack.callback(listening.close)
        stack.callback(serving.hangs.set)
        serving.port = listening.sockets[0].getsockname()[1]
        yield serving


async def read(server: Server, path: str, **config: object) -> DocumentBytes:
    reader = HttpReader(HttpReaderConfig.model_validate({"allow_private": True, **config}))
    return await reader.read(Ref(f"http://127.0.0.1:{server.port}{path}", "a.pdf"), context_of_one())


async def test_a_small_document_stays_in_memory_and_a_large_one_goes_to_a_file(server: Server) -> None:
    server.answers = {"/small?token=1": answer("200 OK", b"small"), "/large": answer("200 OK", LARGE)}
    assert (await read(server, "/small?token=1")).content == b"small"
    large = await read(server, "/large")
    assert large.path is not None
    assert large.read() == LARGE
    large.remove()
    assert not large.path.exists()


async def test_a_document_in_pieces_of_unknown_length_is_read_up_to_the_limit(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    chunk = b"10000\r\n" + bytes(0x10000) + b"\r\n"
    head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    server.answers = {"/a": head + 40 * chunk + b"0\r\n\r\n"}
    with pytest.raises(TooLargeError):
        await read(server, "/a", max_bytes=2_000_000)
    assert not list(tmp_path.iterdir())
    content = await read(server, "/a")
    assert content.read() == bytes(40 * 0x10000)
    content.remove()


async def test_redirects_are_followed_as_far_as_allowed(server: Server) -> None:
    server.answers = {
        "/a": answer("302 Found", Location="/b"),
        "/b": answer("200 OK", b"b"),
        "/circle": answer("301 Moved", Location="/circle"),
        "/away": answer("302 Found", Location="ftp://127.0.0.1/x"),
    }
    assert (await read(server, "/a")).content == b"b"
    for path in ("/circle", "/away"):
        with pytest.raises(ValidationError):
            await read(server, path)
    assert len(server.requests) == 2 + 6 + 1


@pytest.mark.parametrize(
    ("status", "meaning"),
    [
        ("404 Not Found", CorruptError),
        ("410 Gone", CorruptError),
        ("400 Bad Request", ValidationError),
        ("401 Unauthorized", ValidationError),
        ("403 Forbidden", ValidationError),
        ("204 No Content", NetworkError),
        ("503 Unavailable", ServerError),
        ("429 Too Many", RateLimitedError),
    ],
)
async def test_a_status_says_what_follows(server: Server, status: str, meaning: type[DocmillError]) -> None:
    server.answers = {"/a?secret": answer(status, Retry_After="7")}
    with pytest.raises(meaning) as raised:
        await read(server, "/a?secret")
    assert "secret" not in raised.value.message
    if isinstance(raised.value, ServerError | RateLimitedError):
        assert raised.value.retry_after_s == 7


async def test_wrong_credentials_of_a_host_stop_the_run(server: Server) -> None:
    server.answers = {"/a": answer("401 Unauthorized")}
    with pytest.raises(UnauthorizedError):
        await read(server, "/a", headers={"127.0.0.1": {"Authorization": "Bearer old"}})


async def test_an_answer_that_is_cut_off_or_no_answer_may_be_tried_again(server: Server) -> None:
    server.answers = {
        "/cut": answer("200 OK", b"whole")[:-2],
        "/none": b"",
        "/no-http": b"hello\r\n\r\n",
    }
    for path in server.answers:
        with pytest.raises(NetworkError):
            await read(server, path)


async def test_a_server_that_hangs_has_a_time_limit(server: Server) -> None:
    server.answers = {"/hangs": answer("200 OK", b"whole")[:-2]}
    with pytest.raises(TimeLimitError):
        await read(server, "/hangs", limit_s=0.2)


async def test_private_addresses_are_read_only_if_allowed(server: Server) -> None:
    with pytest.raises(ValidationError, match="private network"):
        await read(server, "/a", allow_private=False)
    assert server.requests == []


async def test_headers_are_sent_to_their_host_alone(server: Server) -> None:
    server.answers = {"/a": answer("200 OK", b"a")}
    await read(server, "/a", headers={"127.0.0.1": {"Authorization": "x"}})
    await read(server, "/a", headers={"example.com": {"Authorization": "x"}})
    assert ["uthorization" in request for request in server.requests] == [True, False]


@pytest.mark.parametrize(
    "url", ["ftp://x/a", "a.pdf", "http://", "http://x:99999/", "http://x/a b", "http://ä/"]
)
async def test_what_is_no_address_is_refused_for_good(url: str) -> None:
    with pytest.raises(ValidationError):
        await HttpReader().read(Ref(url, "x"), context_of_one())


async def test_content_that_is_compressed_unasked_is_refused(server: Server) -> None:
    server.answers = {"/a": answer("200 OK", b"a", Content_Encoding="gzip")}
    with pytest.raises(ValidationError, match="compressed"):
        await read(server, "/a")


def test_without_its_extra_it_says_what_to_install() -> None:
    program = (
        "import sys\n"
        "from docmill.errors import MisconfiguredError\n"
        "sys.modules['h11'] = None\n"
        "try:\n"
        "    import docmill.runs.components.http\n"
        "except MisconfiguredError as error:\n"
        "    print(error.message)\n"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True
    )
    assert "pip install 'docmill[service]'" in done.stdout
