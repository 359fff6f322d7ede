"""A local web server that takes requests, keeps them, and answers as it is told."""

import threading
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email.message import Message
from http.server import BaseHTTPRequestHandler, HTTPServer


@dataclass
class Receiver:
    """statuses: of the next answers; 200 behind them. headers: of every answer."""

    port: int = 0
    statuses: list[int] = field(default_factory=list[int])
    headers: dict[str, str] = field(default_factory=dict[str, str])
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
            self.send_response(receiver.statuses.pop(0) if receiver.statuses else 200)
            for name, value in receiver.headers.items():
                self.send_header(name, value)
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its name
            del format, args

    server = HTTPServer(("127.0.0.1", 0), Handler)
    receiver.port = server.server_port
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield receiver
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
