"""A provider of OAuth 2 on this machine: gives access tokens, and tells a mail server whose they are.

The owner of the mailbox agrees at once to whatever is asked.
"""

import base64
import hashlib
import json
import threading
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, parse_qsl, urlencode, urlsplit


@dataclass
class OAuthServer:
    """The provider. refresh_token: the one that is taken. valid: access tokens that hold.

    rotates: a new refresh token comes with each access token. failure: status and error of all answers.
    agrees: the owner does. permissions: what was asked for, by the codes that were given.
    """

    refresh_token: str = "refresh-0"
    valid: set[str] = field(default_factory=set[str])
    asked: list[dict[str, str]] = field(default_factory=list[dict[str, str]])
    rotates: bool = False
    failure: tuple[int, str] | None = None
    agrees: bool = True
    permissions: dict[str, dict[str, str]] = field(default_factory=dict[str, dict[str, str]])
    life_s: int = 3600
    port: int = 0

    @property
    def token_address(self) -> str:
        return f"http://127.0.0.1:{self.port}/token"

    @property
    def authorization_address(self) -> str:
        return f"http://127.0.0.1:{self.port}/authorize"

    @property
    def introspection(self) -> str:
        return f"http://127.0.0.1:{self.port}/introspect?token="

    def answer(self, form: dict[str, str]) -> tuple[int, dict[str, Any]]:
        self.asked.append(form)
        if self.failure is not None:
            return self.failure[0], {"error": self.failure[1]}
        if form.get("grant_type") == "authorization_code":
            return self._permit(form)
        if form.get("refresh_token") != self.refresh_token or form.get("grant_type") != "refresh_token":
            return 400, {"error": "invalid_grant"}
        token = f"access-{len(self.asked)}"
        self.valid.add(token)
        found: dict[str, Any] = {"access_token": token, "expires_in": self.life_s, "token_type": "Bearer"}
        if self.rotates:
            self.refresh_token = f"refresh-{len(self.asked)}"
            found["refresh_token"] = self.refresh_token
        return 200, found

    def ask_owner(self, query: dict[str, str]) -> str:
        """The address to which the browser of the owner is sent."""
        if not self.agrees:
            return f"{query['redirect_uri']}?{urlencode({'error': 'access_denied', 'state': query['state']})}"
        code = f"code-{len(self.permissions)}"
        self.permissions[code] = query
        return f"{query['redirect_uri']}?{urlencode({'code': code, 'state': query['state']})}"

    def _permit(self, form: dict[str, str]) -> tuple[int, dict[str, Any]]:
        asked = self.permissions.pop(form["code"], None)
        challenge = base64.urlsafe_b64encode(hashlib.sha256(form["code_verifier"].encode()).digest())
        if (
            asked is None
            or asked["code_challenge"] != challenge.decode().rstrip("=")
            or asked["redirect_uri"] != form["redirect_uri"]
            or asked["client_id"] != form["client_id"]
        ):
            return 400, {"error": "invalid_grant"}
        permitted: dict[str, Any] = {"access_token": "unused", "expires_in": self.life_s}
        if asked.get("access_type") == "offline":
            permitted["refresh_token"] = self.refresh_token
        return 200, permitted


@contextmanager
def running_oauth_server() -> Generator[OAuthServer]:
    """The provider, within the block."""
    provider = OAuthServer()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            length = int(self.headers["Content-Length"])
            form = {name: values[0] for name, values in parse_qs(self.rfile.read(length).decode()).items()}
            self._send(*provider.answer(form))

        def do_GET(self) -> None:
            parts = urlsplit(self.path)
            if parts.path == "/authorize":
                self.send_response(303)
                self.send_header("Location", provider.ask_owner(dict(parse_qsl(parts.query))))
                self.end_headers()
                return
            token = parse_qs(parts.query).get("token", [""])[0]
            self._send(200, {"active": "true" if token in provider.valid else "false", "user": "anna"})

        def _send(self, status: int, answer: dict[str, Any]) -> None:
            body = json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002  its name there
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    provider.port = server.server_port
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield provider
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
