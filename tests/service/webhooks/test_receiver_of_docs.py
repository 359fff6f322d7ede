"""The receiver of the guide takes what docmill sends, and nothing else."""

import re
import threading
import urllib.error
import urllib.request
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from support.webhook_tools import WebhookTools

GUIDE = Path(__file__).parents[3] / "docs" / "how-to" / "receive-webhooks.md"


def print_nothing(*_: object) -> None:
    pass


async def test_the_receiver_of_the_guide_works(
    tools: WebhookTools, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    server = HTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler)
    url = f"http://127.0.0.1:{server.server_port}/"
    webhook = await tools.add(url)
    monkeypatch.setenv("WEBHOOK_SECRET", webhook.secret)
    (code,) = re.findall(r"(?ms)^```python\n(.*?)^```$", GUIDE.read_text())
    namespace: dict[str, Any] = {"__name__": "receiver"}
    exec(code, namespace)  # noqa: S102  the guide's own code
    receiver = server.RequestHandlerClass = namespace["Receiver"]
    receiver.log_message = print_nothing
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        document_id = await tools.read()
        await tools.service.webhook_deliverer.send_due()
        (delivery,) = await tools.log(webhook)
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(url, b"{}")  # noqa: ASYNC210
        refused.value.close()
    finally:
        server.shutdown()
        thread.join()
        server.server_close()

    assert (delivery.state, delivery.log[0]["status"]) == ("succeeded", 204)
    assert refused.value.code == 401
    assert capsys.readouterr().out == f"document.completed {document_id}\n"
