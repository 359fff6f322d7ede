"""`docmill learned` on a vault whose people have decided about links."""

import asyncio
import json
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from docmill.matching.aliases import PartyAlias
from docmill.matching.calibration import Correction, Trial
from docmill.matching.parties import identity
from docmill.service.app import open_service
from docmill.service.config.settings import Settings
from docmill.service.storage.postgres_server import EmbeddedPostgres
from docmill.service.store import match_calibrations, party_aliases
from docmill.service.store.match_decisions import Pair
from support.commands import run_docmill
from support.decided_papers import DecidedPapers


async def _fill(folder: Path) -> None:
    async with open_service(Settings(data_dir=folder)) as service:
        tenant_id = service.default_tenant_id
        papers = DecidedPapers(service, tenant_id)
        await papers.add("bill", "invoice")
        await papers.add("paid", "bank_statement")
        await papers.decide("bill", "paid#1", "invoice_to_payment", "confirmed")
        pair = Pair(papers.record_id("bill"), papers.record_id("paid#1"), "invoice_to_payment")
        alias = PartyAlias(identity("Amazon EU"), identity("AMZN MKTP"))
        trial = Trial("promoted", 60, 40, 0.3, 0.2, Correction(1.5, 0.5))
        async with service.database.tenant(tenant_id) as conn:
            await party_aliases.replace_of_decision(conn, pair, [alias], tenant_id=tenant_id)
            await match_calibrations.add(conn, trial, tenant_id=tenant_id)


@pytest.fixture
def folder() -> Iterator[Path]:
    # Not pytest's folder: it is closed to the user under whom the server runs when tests run as root.
    with tempfile.TemporaryDirectory(prefix="docmill-") as name:
        server = EmbeddedPostgres(Path(name) / "postgres")
        server.start()  # once, and not for every command
        try:
            yield Path(name)
        finally:
            server.stop()


def test_what_was_learned_is_shown_and_the_correction_is_reset(folder: Path) -> None:
    empty = run_docmill("learned", "show", "--data-dir", folder)
    asyncio.run(_fill(folder))

    shown = run_docmill("learned", "show", "--data-dir", folder)
    content = json.loads(run_docmill("learned", "show", "--json", "--data-dir", folder).stdout)
    reset = run_docmill("learned", "reset", "--data-dir", folder)
    after = run_docmill("learned", "show", "--data-dir", folder)

    assert empty.stdout == "no names or accounts of one party\nscores are as shipped\n"
    assert "Amazon EU = AMZN MKTP  (1 decision)" in shown.stdout
    assert "scores are corrected" in shown.stdout
    assert "promoted, 60 confirmed and 40 declined, log loss 0.300 -> 0.200" in shown.stdout
    assert content["aliases"] == [{"first_name": "Amazon EU", "second_name": "AMZN MKTP", "decisions": 1}]
    assert (content["is_corrected"], content["trials"][0]["slope"]) == (True, 1.5)
    assert reset.returncode == 0
    assert "scores are as shipped" in after.stdout
    assert "reset" in after.stdout
    assert "Amazon EU = AMZN MKTP" in after.stdout
