"""A proxy before an emulator of AWS, which records the requests as the permissions that they need there."""

import json
import re
import threading
from collections.abc import Generator
from contextlib import contextmanager
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

_HOP_BY_HOP = {"connection", "content-length", "transfer-encoding"}
_BATCH = re.compile("Batch$")
_OF_OBJECT = {
    "GET": "s3:GetObject",
    "HEAD": "s3:GetObject",
    "PUT": "s3:PutObject",
    "DELETE": "s3:DeleteObject",
}


class Recorder(ThreadingHTTPServer):
    """Forwards requests to one emulator. uses: pairs of a permission and a resource, as ARNs name it."""

    daemon_threads = True

    def __init__(self, port: int) -> None:
        super().__init__(("127.0.0.1", 0), _Forwarder)
        self.port = port
        self.uses: set[tuple[str, str]] = set()

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that has gone, as one does that waits for no answer any more, is no fault."""

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


@contextmanager
def recording(port: int) -> Generator[Recorder]:
    """The proxy before the emulator at a port, for the length of the block."""
    with Recorder(port) as recorder:
        thread = threading.Thread(target=recorder.serve_forever)
        thread.start()
        try:
            yield recorder
        finally:
            recorder.shutdown()
            thread.join()


class _Forwarder(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    @property
    def _recorder(self) -> Recorder:
        assert isinstance(self.server, Recorder)
        return self.server

    def _forward(self) -> None:
        body = self._body()
        self._recorder.uses |= self._uses(body)
        connection = HTTPConnection("127.0.0.1", self._recorder.port, timeout=60)
        try:
            headers = {name: value for name, value in self.headers.items() if name.lower() not in _HOP_BY_HOP}
            connection.request(self.command, self.path, body, headers)
            answer = connection.getresponse()
            content = answer.read()
        finally:
            connection.close()
        self.send_response(answer.status)
        for name, value in answer.getheaders():
            if name.lower() not in _HOP_BY_HOP:
                self.send_header(name, value)
        length = answer.getheader("content-length") if self.command == "HEAD" else None
        self.send_header("content-length", length or str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = _forward  # noqa: N815  the names that the base class calls

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  the name that the base class has
        """Nothing is told of requests."""

    def _body(self) -> bytes:
        if self.headers.get("transfer-encoding", "").lower() != "chunked":
            return self.rfile.read(int(self.headers.get("content-length") or 0))
        content = b""
        while size := int(self.rfile.readline().split(b";")[0], 16):
            content += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return content

    def _uses(self, body: bytes) -> set[tuple[str, str]]:
        target = self.headers.get("x-amz-target")
        if target is not None:
            return {_of_sqs(target.partition(".")[2], json.loads(body))}
        url = urlsplit(self.path)
        bucket, _, key = unquote(url.path).lstrip("/").partition("/")
        query = parse_qs(url.query, keep_blank_values=True)
        if not key and self.command == "POST" and "delete" in query:
            return {("s3:DeleteObject", f"{bucket}/*")}  # several at once
        if not key:
            return {(_of_bucket(self.command, query), bucket)}
        uses = {(_of_object(self.command, query), f"{bucket}/{key}")}
        if source := self.headers.get("x-amz-copy-source"):
            uses.add(("s3:GetObject", unquote(source).lstrip("/").partition("?")[0]))
        return uses


def _of_sqs(operation: str, parameters: dict[str, Any]) -> tuple[str, str]:
    queue = parameters.get("QueueName") or parameters["QueueUrl"].rpartition("/")[2]
    return f"sqs:{_BATCH.sub('', operation)}", queue


def _of_bucket(method: str, query: dict[str, list[str]]) -> str:
    if method in {"GET", "HEAD"}:
        return "s3:ListBucket"
    return "s3:PutLifecycleConfiguration" if "lifecycle" in query else "s3:CreateBucket"


def _of_object(method: str, query: dict[str, list[str]]) -> str:
    if "tagging" in query:
        return "s3:GetObjectTagging" if method == "GET" else "s3:PutObjectTagging"
    if method == "GET" and "versionId" in query:
        return "s3:GetObjectVersion"
    if method == "DELETE" and "uploadId" in query:
        return "s3:AbortMultipartUpload"
    return "s3:PutObject" if method == "POST" else _OF_OBJECT[method]
