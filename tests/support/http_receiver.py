"""A local web server that takes requests, keeps them, and answers as it is told."""

import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from email.message import Message
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass
class Receiver:
    """statuses: of the next answers; 200 behind them. headers, body: of every answer.

    on_request: is called before each answer, which may be held up there.
    """

    port: int = 0
    statuses: list[int] = field(default_factory=list[int])
    headers: dict[str, str] = field(default_factory=dict[str, str])
    body: bytes = b""
    on_request: Callable[[], object] = lambda: None
    requests: list[tuple[str, Message, bytes]] = field(default_factory=list[tuple[str, Message, bytes]])

    @property
    def url(self) -> str:
        """The address of a page of the server."""
        return f"http://127.0.0.1:{self.port}/hook?key=1"


@contextmanager
def receiving() -> Generator[Receiver]:
    """A server that runs during the block."""
    receiver = Receiver()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            receiver.requests.append((self.path, self.headers, body))
            receiver.on_request()
            self.send_response(receiver.statuses.pop(0) if receiver.statuses else 200)
            for name, value in receiver.headers.items():
                self.send_header(name, value)
            self.end_headers()
            with suppress(ConnectionError):  # who waited has gone
                self.wfile.write(receiver.body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its name
            del format, args

    class Server(ThreadingHTTPServer):
        request_queue_size = 128  # of 5, the rest of many requests at once would wait for seconds

    server = Server(("127.0.0.1", 0), Handler)
    receiver.port = server.server_port
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield receiver
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
