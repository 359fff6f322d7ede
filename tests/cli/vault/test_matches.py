"""`docmill matches` on a vault with matched documents."""

import asyncio
import json
import subprocess
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from docmill.service.app import open_service
from docmill.service.config.settings import Settings
from docmill.service.storage.postgres_server import EmbeddedPostgres
from docmill.service.store import audit_log, documents, match_decisions
from docmill.service.store.database import DEFAULT_USER_ID
from docmill.service.store.match_decisions import Pair
from support.commands import run_docmill
from support.matched_papers import CHAIN, INVOICE, ORDER, Content, Papers

DEARER: Content = ("invoice", {**INVOICE[1], "net_total": "1100.00", "gross_total": "1309.00"})


def same_beginning(pairs: Iterable[Pair]) -> tuple[Pair, Pair]:
    """The first two whose ids begin alike, in four digits."""
    by_beginning: dict[str, Pair] = {}
    for pair in pairs:
        other = by_beginning.setdefault(str(pair.id)[:4], pair)
        if other != pair:
            return other, pair
    raise AssertionError("no ids begin alike")


@dataclass(frozen=True)
class Commands:
    """The commands on one data folder."""

    folder: Path

    def __call__(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return run_docmill("matches", *arguments, "--data-dir", self.folder)

    def data(self, *arguments: str) -> Any:  # noqa: ANN401  any JSON
        done = self(*arguments, "--json")
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def add_namesakes(self) -> tuple[Pair, Pair]:
        """Confirm two links whose ids begin alike, in four digits."""

        async def add() -> tuple[Pair, Pair]:
            async with (
                open_service(Settings(data_dir=self.folder)) as service,
                service.database.tenant(service.default_tenant_id) as conn,
            ):
                rows = await documents.called(conn, "", limit=10)
                ids = {row.file_name: str(row.id) for row in rows}
                payments = (f"{ids['statement.xml']}#{number}" for number in count(100))
                found = same_beginning(
                    Pair(ids["invoice.pdf"], each, "invoice_to_payment") for each in payments
                )
                for each in found:
                    await match_decisions.decide(
                        conn,
                        each,
                        "confirmed",
                        tenant_id=service.default_tenant_id,
                        decided_by=DEFAULT_USER_ID,
                    )
                return found

        return asyncio.run(add())

    def actions(self) -> list[str]:
        """What the audit log says that commands have done, the first one first."""

        async def read() -> list[str]:
            async with (
                open_service(Settings(data_dir=self.folder)) as service,
                service.database.tenant(service.default_tenant_id) as conn,
            ):
                rows = await audit_log.page(conn, limit=50)
                return [row.action for row in rows][::-1]

        return asyncio.run(read())


async def _fill(folder: Path) -> None:
    async with open_service(Settings(data_dir=folder)) as service:
        made = Papers(service, service.default_tenant_id)
        await made.read("order.pdf", ORDER, title="The order")
        await made.read("invoice.pdf", DEARER, title="The invoice")
        await made.read("statement.xml", CHAIN["statement"], title="The statement")
        await made.read("letter.pdf", ("letter", {}), title="The letter")


@pytest.fixture
def matches() -> Iterator[Commands]:
    # Not pytest's folder: it is closed to the user under whom the server runs when tests run as root.
    with tempfile.TemporaryDirectory(prefix="docmill-") as folder:
        server = EmbeddedPostgres(Path(folder) / "postgres")
        server.start()  # once, and not for every command
        try:
            asyncio.run(_fill(Path(folder)))
            yield Commands(Path(folder))
        finally:
            server.stop()


def test_links_are_listed_shown_decided_about_and_made(matches: Commands) -> None:
    listed = matches.data("list", "--status", "automatic", "--relation", "order_to_invoice")
    (link,) = listed
    text = matches("list", "--discrepancies")
    shown = matches("show", "order")
    confirmed = matches.data("confirm", link["id"])
    parted = matches("unlink", link["id"])
    declined = matches.data("list", "--status", "declined")
    undone = matches.data("undo", link["id"][:11].upper())
    related = matches("link", "order", "letter")
    paid = matches.data("link", "statement", "invoice", "--payment", "1", "--relation", "invoice_to_payment")
    whole = matches.data("show", "order")

    assert link["first"]["title"] == "The order"
    assert f"✓ {link['id']}  The order - The invoice" in text.stdout
    assert "order and invoice, automatic" in text.stdout
    assert "≠ Billed 1100.00" in text.stdout
    assert "ordered: 1 document, 1000.00 net, 1190.00 with tax EUR" in shown.stdout
    assert confirmed["status"] == "confirmed"
    assert f"✗ {link['id']}" in parted.stdout
    assert [each["id"] for each in declined] == [link["id"]]
    assert undone["status"] == "confirmed"
    assert "related documents, confirmed" in related.stdout
    assert (paid["second"]["payment"], paid["relation"]) == (1, "invoice_to_payment")
    assert {each["relation"] for each in whole["matches"]} == {"order_to_invoice", "related"}
    assert matches.actions() == [
        "confirm_match", "unlink_documents", "undo_match", "link_documents", "link_documents",
    ]  # fmt: skip


def test_nothing_is_done_if_several_links_begin_as_it_was_typed(matches: Commands) -> None:
    one, other = map(str, (pair.id for pair in matches.add_namesakes()))
    differing = next(index for index, (a, b) in enumerate(zip(one, other, strict=True)) if a != b)

    unclear = matches("decline", one[:4])
    clear = matches.data("decline", one[: differing + 1])

    assert unclear.returncode == 2
    assert "means more than one link; give more of the id" in unclear.stderr
    assert f"\n  {one}  The invoice - payment " in unclear.stderr
    assert f"\n  {other}  The invoice - payment " in unclear.stderr
    assert (clear["id"], clear["status"]) == (one, "declined")
    assert [each["id"] for each in matches.data("list", "--status", "declined")] == [one]


def test_what_cannot_be_is_refused_with_a_reason(matches: Commands) -> None:
    unknown = "019ab2c4-0000-7000-8000-000000000000"
    (link,) = matches.data("list", "--relation", "order_to_invoice")

    malformed = [
        matches(action, typed) for action in ("confirm", "undo") for typed in ("the order", "12", "")
    ]
    missing = [matches(action, unknown) for action in ("confirm", "decline", "unlink", "undo")]
    undecided = matches("undo", link["id"])
    itself = matches("link", "order", "order")
    no_relation = matches("link", "order", "letter", "--relation", "friends")
    no_document = matches("show", "nothing")
    limited = matches("list", "--limit", "1")
    none = matches("list", "--status", "declined")

    assert [done.returncode for done in malformed] == [2] * 6
    assert "'the order' is no id of a link" in malformed[0].stderr
    assert [done.returncode for done in missing] == [1] * 4
    assert "there is no link" in missing[0].stderr
    assert (undecided.returncode, "no decision" in undecided.stderr) == (1, True)
    assert (itself.returncode, "linked with itself" in itself.stderr) == (2, True)
    assert (no_relation.returncode, "no relation 'friends'" in no_relation.stderr) == (2, True)
    assert no_document.returncode == 2
    assert len(limited.stdout.split("%")) >= 2
    assert none.stdout == "no such links\n"
