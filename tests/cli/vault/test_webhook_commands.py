"""`docmill webhooks`, without a running vault."""

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest
from standardwebhooks.webhooks import Webhook

from support.commands import run_docmill
from support.http_receiver import receiving


class Commands:
    """A vault with a document, and `docmill webhooks` on it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __call__(self, *arguments: str | Path, code: int = 0) -> str:
        variables = {"DOCMILL_WEBHOOKS__ALLOW_PRIVATE_ADDRESSES": "true"}
        done = run_docmill(*arguments, "--data-dir", self.folder, variables=variables)
        assert done.returncode == code, done.stderr
        return done.stdout + done.stderr


@pytest.fixture
def docmill() -> Iterator[Commands]:
    # Not pytest's folder: it is closed to the user under whom the server runs when tests run as root.
    with tempfile.TemporaryDirectory(prefix="docmill-") as folder:
        yield Commands(Path(folder))


def test_webhooks_are_managed_from_the_machine(docmill: Commands, tmp_path: Path) -> None:
    paper = tmp_path / "paper.txt"
    paper.write_text("Invoice 17")
    with receiving() as receiver:
        docmill("status", code=2)
        docmill("add", paper)
        made = docmill("webhooks", "add", receiver.url, "--event", "document.failed", "--with-data")
        _, webhook_id, *_, secret = made.split()
        receiver.statuses = [500]
        refused = docmill("webhooks", "test", webhook_id, code=1)
        taken = docmill("webhooks", "test", webhook_id)
        (listed,) = json.loads(docmill("webhooks", "list", "--json"))
        deliveries = json.loads(docmill("webhooks", "deliveries", webhook_id, "--json"))
        shown = docmill("webhooks", "deliveries", webhook_id, "--state", "failed")
        again = docmill("webhooks", "redeliver", webhook_id, deliveries[0]["id"])
        missing = docmill("webhooks", "redeliver", webhook_id, str(uuid4()), code=1)
        failed = docmill("webhooks", "redeliver", webhook_id, "--failed", "--since", "2020-01-01")
        docmill("webhooks", "redeliver", webhook_id, code=2)
        docmill("webhooks", "pause", webhook_id)
        paused = docmill("webhooks", "list")
        docmill("webhooks", "resume", webhook_id)
        rotated = docmill("webhooks", "rotate", webhook_id)
        unsure = docmill("webhooks", "remove", webhook_id, code=2)
        docmill("webhooks", "remove", webhook_id, "--yes")
        gone = docmill("webhooks", "test", webhook_id, code=2)

    _, headers, body = receiver.requests[1]
    Webhook(secret).verify(body, dict(headers))
    assert "the receiver answered with HTTP 500" in refused
    assert "the receiver answered with HTTP 200" in taken
    assert (listed["id"], listed["events"], listed["with_data"]) == (webhook_id, ["document.failed"], True)
    assert [delivery["state"] for delivery in deliveries] == ["succeeded", "failed"]
    assert "attempt 1" in shown
    assert "1 delivery will be sent again" in again
    assert "there is no delivery" in missing
    assert "1 delivery" in failed
    assert "paused" in paused
    assert webhook_id in paused  # whole, however narrow the terminal is
    assert "whsec_" in rotated
    assert secret not in rotated
    assert "--yes" in unsure
    assert "there is no webhook" in gone
