import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, suppress
from socket import gaierror

import pytest

from docmill.errors import (
    DocmillError,
    MisconfiguredError,
    NetworkError,
    RateLimitedError,
    ServerError,
    TimeLimitError,
    UnauthorizedError,
)
from docmill.service.notify.guarded_connection import is_public, resolve_host
from docmill.service.notify.guarded_http import GuardedHttp
from support.http_receiver import Receiver, receiving


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as receiver:
        yield receiver


class Names:
    """A resolver whose answers are given: one for each look-up."""

    def __init__(self, *answers: Sequence[str]) -> None:
        self.answers = list(answers)
        self.asked: list[str] = []

    async def __call__(self, host: str, port: int) -> Sequence[str]:
        del port
        self.asked.append(host)
        return self.answers.pop(0)


Speak = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@asynccontextmanager
async def speaking(speak: Speak) -> AsyncGenerator[int]:
    """The port of a server that speaks in its own way; every connection has ended with the block."""
    ended: list[asyncio.Task[object] | None] = []

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        ended.append(asyncio.current_task())
        with suppress(ConnectionError):
            await speak(reader, writer)
        writer.close()

    async with await asyncio.start_server(handle, "127.0.0.1", 0) as server:
        yield server.sockets[0].getsockname()[1]
    await asyncio.gather(*filter(None, ended))


async def post(http: GuardedHttp, url: str) -> None:
    await http.post(url, b"{}", {"X-Kind": "test"}, what="the hook")


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("93.184.216.34", True),
        ("2606:2800:220:1::1", True),
        ("127.0.0.1", False),
        ("10.1.2.3", False),
        ("172.16.0.1", False),
        ("192.168.0.1", False),
        ("169.254.169.254", False),
        ("100.64.0.1", False),
        ("0.0.0.0", False),  # noqa: S104 - an address to refuse
        ("224.0.0.1", False),
        ("255.255.255.255", False),
        ("::1", False),
        ("::", False),
        ("fe80::1%eth0", False),
        ("fd00::1", False),
        ("ff02::1", False),
        ("::ffff:10.0.0.1", False),
        ("::ffff:93.184.216.34", True),
        ("2002:7f00:1::", False),
        ("64:ff9b::7f00:1", False),
        ("64:ff9b::5db8:d822", True),
        ("2001:0:4136:e378:8000:63bf:3fff:fdd2", False),
        ("fec0::1", False),
        ("::127.0.0.1", False),
        ("::93.184.216.34", False),
        ("64:ff9b:1::7f00:1", False),
        ("64:ff9b::c000:8", False),
        ("192.0.0.8", False),
        ("192.88.99.1", False),
        ("5f00::1", False),
        ("3fff::1", False),
        ("no address", False),
    ],
)
def test_only_addresses_of_the_internet_are_public(address: str, expected: bool) -> None:  # noqa: FBT001 - a parameter
    assert is_public(address) is expected


async def test_a_body_arrives_with_its_headers(receiver: Receiver) -> None:
    await post(GuardedHttp(allow_private=True), receiver.url)

    ((path, headers, body),) = receiver.requests
    assert (path, headers["X-Kind"], body) == ("/hook?key=1", "test", b"{}")


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::1]"])
async def test_nothing_is_sent_to_this_machine(receiver: Receiver, host: str) -> None:
    with pytest.raises(MisconfiguredError, match="leads into a private network"):
        await post(GuardedHttp(allow_private=False), f"http://{host}:{receiver.port}/")

    assert receiver.requests == []


async def test_one_private_address_among_others_is_refused() -> None:
    names = Names(["93.184.216.34", "10.0.0.1"])

    with pytest.raises(MisconfiguredError):
        await post(GuardedHttp(allow_private=False, resolve=names), "http://hook.example/")


async def test_a_name_that_changes_is_looked_up_once_for_each_request(receiver: Receiver) -> None:
    names = Names(["127.0.0.1"], ["10.0.0.1"])
    url = f"http://hook.invalid:{receiver.port}/"

    await post(GuardedHttp(allow_private=True, resolve=names), url)
    with pytest.raises(MisconfiguredError):
        await post(GuardedHttp(allow_private=False, resolve=names), url)

    # The address that was checked is the one connected to: the system knows no such name.
    ((_, headers, _),) = receiver.requests
    assert headers["Host"] == f"hook.invalid:{receiver.port}"
    assert names.asked == ["hook.invalid", "hook.invalid"]


@pytest.mark.parametrize(
    ("status", "error"),
    [
        (302, MisconfiguredError),
        (404, MisconfiguredError),
        (401, UnauthorizedError),
        (429, RateLimitedError),
        (503, ServerError),
    ],
)
async def test_a_refusal_is_a_typed_error(receiver: Receiver, status: int, error: type[DocmillError]) -> None:
    receiver.statuses = [status]
    receiver.headers = {"Location": receiver.url, "Retry-After": "7"}

    with pytest.raises(error, match=f"the hook answered with HTTP {status}") as caught:
        await post(GuardedHttp(allow_private=True), receiver.url)
    assert len(receiver.requests) == 1
    assert getattr(caught.value, "retry_after_s", None) == (7 if status == 429 else None)


async def test_a_server_that_is_not_there_or_speaks_otherwise_is_a_network_error(receiver: Receiver) -> None:
    async def chat(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readline()
        writer.write(replies.pop())

    async def unknown(host: str, port: int) -> Sequence[str]:
        raise gaierror(f"{host}:{port}")

    replies = [b"SSH-2.0\r\n\r\n", b""]
    http = GuardedHttp(allow_private=True)
    async with speaking(chat) as port:
        for _ in range(2):
            with pytest.raises(NetworkError, match="cannot be reached"):
                await post(http, f"http://127.0.0.1:{port}/")
    with pytest.raises(NetworkError, match="cannot be reached"):
        await post(http, f"http://127.0.0.1:{port}/")
    with pytest.raises(NetworkError, match="cannot be reached"):
        await post(http, f"https://127.0.0.1:{receiver.port}/")
    with pytest.raises(NetworkError, match="cannot be looked up"):
        await post(GuardedHttp(allow_private=True, resolve=unknown), "http://hook.invalid/")


async def test_an_answer_may_be_announced() -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readline()
        writer.write(b"HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 200 OK\r\n\r\n")

    async with speaking(answer) as port:
        await post(GuardedHttp(allow_private=True), f"http://127.0.0.1:{port}/")


async def test_a_server_that_does_not_answer_is_given_up_in_time() -> None:
    async def wait(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        del writer
        await reader.read()

    async with speaking(wait) as port:
        with pytest.raises(TimeLimitError, match=r"did not answer within 0\.05 s"):
            await post(GuardedHttp(allow_private=True, limit_s=0.05), f"http://127.0.0.1:{port}/")


async def test_the_system_resolves_names() -> None:
    assert "127.0.0.1" in await resolve_host("127.0.0.1", 80)
