"""A local web server that acts as Gmail, as the server of its tokens, and as that of Google's keys."""

import base64
import json
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from joserfc import jwt
from joserfc.jwk import KeySet, RSAKey


@dataclass
class Gmail:
    """mails: by id. history: of what was added. oldest: position before which nothing is known any more."""

    port: int = 0
    mails: dict[str, bytes] = field(default_factory=dict[str, bytes])
    labels: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    arrived_at: dict[str, float] = field(default_factory=dict[str, float])
    history: list[str] = field(default_factory=list[str])
    oldest: int = 0
    page: int = 2
    refresh_token: str = "refresh"
    mailbox: str = "anna@example.com"
    access_tokens: set[str] = field(default_factory=set[str])
    asked: list[str] = field(default_factory=list[str])
    watches: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    missing_topics: set[str] = field(default_factory=set[str])
    key: RSAKey = field(default_factory=lambda: RSAKey.generate_key(2048, {"kid": "k1"}))

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def deliver(self, mail: bytes, *labels: str, arrived_at: float | None = None) -> str:
        """Put a mail into the mailbox; its id."""
        message_id = f"m{len(self.mails) + 1}"
        self.mails[message_id] = mail
        self.labels[message_id] = list(labels or ("INBOX",))
        self.arrived_at[message_id] = time.time() if arrived_at is None else arrived_at
        self.history.append(message_id)
        return message_id

    def push_token(self, audience: str, *, key: RSAKey | None = None, **claims: Any) -> str:  # noqa: ANN401
        """A token as Pub/Sub signs it."""
        signing = key or self.key
        return jwt.encode(
            {"alg": "RS256", "kid": signing.kid},
            {
                "iss": "https://accounts.google.com",
                "aud": audience,
                "email": "push@project.iam.gserviceaccount.com",
                "email_verified": True,
                "exp": int(time.time()) + 600,
                **claims,
            },
            signing,
        )

    def _access(self, body: bytes) -> tuple[int, Any]:
        if parse_qs(body.decode()).get("refresh_token") != [self.refresh_token]:
            return 400, {"error": "invalid_grant"}
        access = f"access-{time.monotonic_ns()}"
        self.access_tokens.add(access)
        return 200, {"access_token": access, "expires_in": 3600}

    def answer(self, path: str, query: dict[str, list[str]], body: bytes, token: str) -> tuple[int, Any]:
        """The status and the object of the answer."""
        self.asked.append(path)
        if path == "/token":
            return self._access(body)
        if path == "/keys":
            return 200, KeySet([self.key]).as_dict(private=False)
        if token not in self.access_tokens:
            return 401, {"error": {"code": 401, "status": "UNAUTHENTICATED"}}
        _, _, name = path.partition("/gmail/v1/users/me/")
        if name.startswith("messages/"):
            mail = self.mails.get(name.removeprefix("messages/"))
            return (404, {}) if mail is None else (200, {"raw": base64.urlsafe_b64encode(mail).decode()})
        if name == "watch":
            return self._watch(json.loads(body))
        return {
            "profile": self._profile,
            "labels": self._labels,
            "history": self._history,
            "messages": self._messages,
        }[name](query)

    def _watch(self, wanted: dict[str, Any]) -> tuple[int, Any]:
        self.watches.append(wanted)
        if wanted["topicName"] in self.missing_topics:
            return 404, {"error": {"code": 404, "status": "NOT_FOUND"}}
        expiration = int((time.time() + 7 * 86400) * 1000)
        return 200, {"historyId": str(len(self.history)), "expiration": str(expiration)}

    def _profile(self, _: dict[str, list[str]]) -> tuple[int, Any]:
        return 200, {"emailAddress": self.mailbox, "historyId": str(len(self.history))}

    def _labels(self, _: dict[str, list[str]]) -> tuple[int, Any]:
        return 200, {"labels": [{"id": "INBOX", "name": "INBOX"}, {"id": "Label_7", "name": "Invoices"}]}

    def _history(self, query: dict[str, list[str]]) -> tuple[int, Any]:
        start = int(query["startHistoryId"][0])
        if start < self.oldest:
            return 404, {}
        at = int(query.get("pageToken", [str(start)])[0])
        page = self.history[at : at + self.page]
        records = [
            {"messagesAdded": [{"message": {"id": message_id, "labelIds": self.labels[message_id]}}]}
            for message_id in page
        ]
        more = {"nextPageToken": str(at + self.page)} if at + self.page < len(self.history) else {}
        return 200, {"history": records, "historyId": str(len(self.history)), **more}

    def _messages(self, query: dict[str, list[str]]) -> tuple[int, Any]:
        since = int(query["q"][0].partition(":")[2]) if "q" in query else 0
        found = [
            message_id
            for message_id in self.mails
            if query["labelIds"][0] in self.labels[message_id] and self.arrived_at[message_id] >= since
        ]
        at = int(query.get("pageToken", ["0"])[0])
        more = {"nextPageToken": str(at + self.page)} if at + self.page < len(found) else {}
        return 200, {"messages": [{"id": each} for each in found[at : at + self.page]], **more}


@contextmanager
def gmail_server() -> Generator[Gmail]:
    """The server during the block."""
    gmail = Gmail()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._answer(b"")

        def do_POST(self) -> None:
            self._answer(self.rfile.read(int(self.headers["Content-Length"])))

        def _answer(self, body: bytes) -> None:
            parts = urlsplit(self.path)
            token = self.headers.get("Authorization", "").removeprefix("Bearer ")
            status, value = gmail.answer(parts.path, parse_qs(parts.query), body, token)
            content = json.dumps(value).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002  its name
            del format, args

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    gmail.port = server.server_port
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield gmail
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
