"""Measure the memory that open pages cost the web server, and how fast it takes large files.

Usage: python -m bench clients [--clients 500] [--files 25] [--file-mb 40]

A client holds a stream of changes open, as a page does. Files are uploaded in one request each, two at a
time, as the page does. The peer is a bare server in a process of its own that writes what comes over
loopback to a file and syncs it, with the same sizes.
"""

import asyncio
import multiprocessing
import os
import socket
import tempfile
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import chain, count
from multiprocessing.connection import Connection
from pathlib import Path

import httpx

from bench.arguments import argument_parser
from bench.speed.web_process import WebProcess, memory_of, web_process
from docmill.service.app import open_service
from docmill.service.config.settings import Settings

AT_ONCE = 2
"""Uploads that the page has under way at once."""
_MEGABYTE = 1_000_000
_CHUNK = 1 << 20
_SAMPLE_S = 0.1


async def memory_of_clients(web: WebProcess, number: int) -> float:
    """The growth of the server's memory while so many streams are open, in MB."""
    async with httpx.AsyncClient(base_url=web.address) as client:
        for _ in range(20):  # what is loaded once is no client's
            await client.get("")
    before = memory_of(web)
    host, _, port = web.address.removeprefix("http://").strip("/").partition(":")
    open_streams: list[asyncio.StreamWriter] = []
    request = f"GET /api/v1/events?after=0 HTTP/1.1\r\nHost: {host}:{port}\r\n\r\n".encode()
    for _ in range(number):
        reader, writer = await asyncio.open_connection(host, int(port))
        writer.write(request)
        status = await reader.readline()
        assert b"200" in status, status
        open_streams.append(writer)
    await asyncio.sleep(5)
    grown = memory_of(web) - before
    for writer in open_streams:
        writer.close()
    return grown


def body_of(size: int, seed: int) -> Iterator[bytes]:
    """A text file of this size, different for each seed."""
    block = (f"{seed:08}".encode() * (_CHUNK // 8))[:_CHUNK]
    for start in range(0, size, _CHUNK):
        yield block[: min(_CHUNK, size - start)]


def upload(web: WebProcess, files: int, size: int, first: int) -> tuple[float, float]:
    """Seconds for all files, and the server's growth meanwhile, in MB. first: the seed of the first."""
    most, over = 0.0, threading.Event()
    before = memory_of(web)

    def watch() -> None:
        nonlocal most
        while not over.wait(_SAMPLE_S):
            most = max(most, memory_of(web) - before)

    watching = threading.Thread(target=watch)
    watching.start()
    with httpx.Client(base_url=web.address, timeout=120) as client:

        def send(number: int) -> None:
            boundary = f"boundary{number}"
            head = (
                f'--{boundary}\r\nContent-Disposition: form-data; name="file"; filename="{number}.txt"\r\n'
                "Content-Type: text/plain\r\n\r\n"
            ).encode()
            tail = f"\r\n--{boundary}--\r\n".encode()
            headers = {
                "content-type": f"multipart/form-data; boundary={boundary}",
                "content-length": str(len(head) + size + len(tail)),
            }
            content = chain([head], body_of(size, number), [tail])
            answer = client.post("api/v1/documents", content=content, headers=headers)
            assert answer.status_code == 201, answer.text

        start = time.monotonic()
        with ThreadPoolExecutor(AT_ONCE) as sending:
            list(sending.map(send, range(first, first + files)))
    seconds = time.monotonic() - start
    over.set()
    watching.join()
    return seconds, most


def receive(pipe: Connection, folder: Path) -> None:
    """The bare server: one file for each connection."""

    def store(connection: socket.socket, number: int) -> None:
        with connection, (folder / f"{number}").open("wb") as file:
            while part := connection.recv(_CHUNK):
                file.write(part)
            file.flush()
            os.fsync(file.fileno())
            connection.sendall(b"1")

    with socket.create_server(("127.0.0.1", 0)) as listener:
        pipe.send(listener.getsockname()[1])
        for number in count():
            connection, _ = listener.accept()
            threading.Thread(target=store, args=(connection, number)).start()


def bare_copy(folder: Path, files: int, size: int, first: int) -> float:
    """Seconds for the same bytes to the bare server."""
    ours, theirs = multiprocessing.Pipe()
    server = multiprocessing.Process(target=receive, args=(theirs, folder), daemon=True)
    server.start()
    port = ours.recv()

    def send(number: int) -> None:
        with socket.create_connection(("127.0.0.1", port)) as connection:
            for part in body_of(size, number):
                connection.sendall(part)
            connection.shutdown(socket.SHUT_WR)
            assert connection.recv(1) == b"1"

    start = time.monotonic()
    with ThreadPoolExecutor(AT_ONCE) as sending:
        list(sending.map(send, range(first, first + files)))
    seconds = time.monotonic() - start
    server.terminate()
    return seconds


async def measure(clients: int, files: int, size: int) -> None:
    """Print the figures."""
    # Not a folder of root's own: the server runs as another user.
    with tempfile.TemporaryDirectory(prefix="docmill-bench-") as folder:
        settings = Settings(data_dir=Path(folder))
        async with open_service(settings):
            pass
        (Path(folder) / "bare").mkdir()
        with web_process(settings) as web:
            grown = await memory_of_clients(web, clients)
            print(f"{clients} clients: + {grown:.0f} MB (goal: at most 100)", flush=True)
            rounds: list[tuple[float, float]] = []
            for first in range(0, 3 * files, files):
                bare = await asyncio.to_thread(bare_copy, Path(folder) / "bare", files, size, first)
                seconds, most = await asyncio.to_thread(upload, web, files, size, first)
                rounds.append((bare / seconds, most))
                print(
                    f"{files} files of {size / _MEGABYTE:.0f} MB: {seconds:.1f} s, bare copy {bare:.1f} s,"
                    f" ratio {bare / seconds:.2f}; memory + {most:.0f} MB",
                    flush=True,
                )
    ratios = sorted(ratio for ratio, _ in rounds)
    print(f"ratio {ratios[len(ratios) // 2]:.2f} in the median of {len(ratios)} (goal: at least 0.5)")


def main() -> None:
    """Read the arguments."""
    parser = argument_parser(__doc__)
    parser.add_argument("--clients", type=int, default=500)
    parser.add_argument("--files", type=int, default=25)
    parser.add_argument("--file-mb", type=int, default=40)
    arguments = parser.parse_args()
    asyncio.run(measure(arguments.clients, arguments.files, arguments.file_mb * _MEGABYTE))


if __name__ == "__main__":
    main()
