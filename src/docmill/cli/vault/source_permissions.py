"""The command that asks the owner of a mailbox for permission, in a browser."""

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from urllib.parse import parse_qsl, urlsplit

import typer

from docmill.cli.console import stderr, stdout
from docmill.cli.vault.access import existing_service, log_command
from docmill.cli.vault.sources import source_called
from docmill.errors import TimeLimitError, ValidationError
from docmill.service.config.settings import Settings

_LIMIT_S = 600
_MOST_BYTES = 65_536
_ANYWHERE = "http://localhost"
"""The address to which a browser on another machine is sent. Nothing answers there; its query is needed."""
_DONE = "docmill has the answer. You can close this window and go back to the terminal."

Answer = Mapping[str, str]


async def authorize_source(settings: Settings, name: str, *, port: int, has_browser: bool) -> int:
    """Have the owner of a mailbox let docmill read it, and try the source; the exit code.

    port: on which the answer of the provider is waited for, 0 for any. has_browser: False if the browser is
    on another machine; the address to which it was sent is typed then.
    """
    async with existing_service(settings) as service:
        row = await source_called(service, name)
        if has_browser:
            async with _listening(port) as (redirect_uri, answered):
                address, pending = service.sources.ask_permission(row, redirect_uri)
                _show(address)
                answer = await _within_limit(answered)
        else:
            address, pending = service.sources.ask_permission(row, _ANYWHERE)
            _show(address)
            answer = _typed_answer()
        row = await service.sources.keep_permission(row, pending, answer)
        await log_command(service, "authorize_source", str(row.id), {"name": row.name})
        stdout.print(await service.sources.test(row), markup=False)
    return 0


def _show(address: str) -> None:
    stderr.print("Let the owner of the mailbox open this address, and allow what is asked:", markup=False)
    typer.echo(address)  # in one line, however long


def _typed_answer() -> Answer:
    stderr.print(
        f"The browser is then sent to an address that begins with {_ANYWHERE} and cannot be opened.",
        markup=False,
    )
    typed: str = typer.prompt("Copy that address to here", err=True)
    answer = dict(parse_qsl(urlsplit(typed.strip()).query))
    if "state" not in answer:
        raise ValidationError("this is not the address to which the provider sends: it has no state")
    return answer


async def _within_limit(answered: asyncio.Future[Answer]) -> Answer:
    try:
        async with asyncio.timeout(_LIMIT_S):
            return await answered
    except TimeoutError as error:
        raise TimeLimitError(
            f"nobody gave permission within {_LIMIT_S // 60} minutes; begin again"
        ) from error


@asynccontextmanager
async def _listening(port: int) -> AsyncGenerator[tuple[str, asyncio.Future[Answer]]]:
    """An address of this machine for the browser to be sent to, and the answer that it brings."""
    answered: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            target = head.split(b" ", 2)[1].decode("ascii")
            query = dict(parse_qsl(urlsplit(target).query))
            is_answer = head.startswith(b"GET ") and "state" in query
            if is_answer and not answered.done():
                answered.set_result(query)
            status = "200 OK" if is_answer else "404 Not Found"
            body = _DONE if is_answer else "There is nothing here."
            writer.write(
                f"HTTP/1.1 {status}\r\nContent-Type: text/plain\r\nContent-Length: {len(body)}\r\n"
                f"Connection: close\r\n\r\n{body}".encode()
            )
            await writer.drain()
        except (OSError, ValueError, IndexError, EOFError, asyncio.LimitOverrunError):
            pass  # whoever spoke to this port was no browser that comes back
        finally:
            writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", port, limit=_MOST_BYTES) as server:
        yield f"http://localhost:{server.sockets[0].getsockname()[1]}", answered
