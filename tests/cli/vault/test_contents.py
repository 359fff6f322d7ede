import json
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from email.message import EmailMessage
from pathlib import Path

import httpx
import pytest

from docmill.cli.vault.access import load_settings
from support.commands import run_docmill

DOCMILL = Path(sys.executable).with_name("docmill")
WritePdf = Callable[..., Path]


class Vault:
    """A data folder and the commands on it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __call__(self, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
        return run_docmill(*arguments, "--data-dir", self.folder)

    def up(self) -> subprocess.Popen[str]:
        command = [DOCMILL, "up", "--port", "0", "--data-dir", self.folder]
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)


@pytest.fixture
def vault() -> Iterator[Vault]:
    # Not pytest's folder: it is closed to the user under whom the server runs when tests run as root.
    with tempfile.TemporaryDirectory(prefix="docmill-") as folder:
        yield Vault(Path(folder))


def say(reviews: str, said: dict[str, str]) -> None:
    """Say something of a value through the API. reviews: the document's address of them."""
    seen = httpx.get(reviews).raise_for_status().json()
    httpx.post(reviews, json={"ingestion_id": seen["ingestion_id"], "reviews": [said]}).raise_for_status()


def test_add_says_how_to_start_a_vault_that_is_not_running(
    vault: Vault, tmp_path: Path, write_pdf: WritePdf
) -> None:
    added = vault("add", write_pdf(tmp_path / "invoice.pdf"))

    assert added.returncode == 0
    assert f"start it with: docmill up --data-dir {vault.folder}\n" in added.stderr


def test_a_document_goes_through_a_vault_from_add_to_show(
    vault: Vault, tmp_path: Path, write_pdf: WritePdf
) -> None:
    invoice = write_pdf(tmp_path / "invoice.pdf")
    running = vault.up()
    with running:
        assert running.stdout is not None
        try:
            address = running.stdout.readline()
            added = vault("add", invoice, "--wait")
            document_id = added.stdout.split()[0]
            again = vault("add", invoice)
            shown = vault("show", document_id)
            by_name = vault("show", "Invoice.pdf")
            by_end = vault("show", document_id[-6:])
            by_beginning = vault("show", "inv")
            nobody = vault("show", "nobody.pdf")
            content = vault("show", document_id, "--json")
            reviews = f"{address.split()[-1]}api/v1/documents/{document_id}/reviews"
            say(reviews, {"path": "number", "action": "correct", "value": "INV-105"})
            say(reviews, {"path": "gross_total", "action": "confirm"})
            corrected = vault("show", document_id)
            second = vault("up", "--port", "0")
            status = vault("status")
            forced = vault("add", invoice, "--force")
        finally:
            running.send_signal(signal.SIGTERM)
            last_words = running.stdout.read()

    assert "docmill is at http://127.0.0.1:" in address
    assert second.returncode == 2
    assert address.split()[-1] in second.stderr
    assert "this machine only" in last_words
    assert running.returncode == 0
    assert added.returncode == 0, added.stderr
    assert "INV-104" in added.stdout
    assert again.stdout.endswith("(already here)\n")
    assert forced.stdout.endswith("(already here, being processed)\n")
    assert "119.00" in shown.stdout
    assert re.search(r"^number .*^seller.name .*^gross_total ", shown.stdout, re.MULTILINE | re.DOTALL)
    assert by_name.stdout == by_end.stdout == by_beginning.stdout == shown.stdout
    assert re.search(r"^number +INV-105 .* corrected$", corrected.stdout, re.MULTILINE)
    assert re.search(r"^gross_total +119.00 +119.00 .* 1 +confirmed$", corrected.stdout, re.MULTILINE)
    assert nobody.returncode == 2
    assert "no document has a file name that begins with 'nobody.pdf'" in nobody.stderr
    assert json.loads(content.stdout)["structured_data"]["gross_total"] == "119.00"
    assert address.split()[-1] in status.stdout
    assert "documents: 1" in status.stdout


def test_what_a_mail_encloses_is_waited_for_and_shown(
    vault: Vault, tmp_path: Path, write_pdf: WritePdf
) -> None:
    message = EmailMessage()
    message["Subject"] = "Your invoice"
    message.set_content("Please find our invoice attached.")
    invoice = write_pdf(tmp_path / "invoice.pdf").read_bytes()
    message.add_attachment(invoice, "application", "pdf", filename="invoice.pdf")
    message.add_attachment(b"", "application", "pdf", filename="empty.pdf")
    (tmp_path / "invoice mail.eml").write_bytes(message.as_bytes())

    with vault.up() as running:
        assert running.stdout is not None
        try:
            running.stdout.readline()
            added = vault("add", tmp_path / "invoice mail.eml", "--wait")
            mail_id = added.stdout.split()[0]
            whole = vault("show", mail_id)
            links = json.loads(vault("show", mail_id, "--json").stdout)
            part = vault("show", links["parts"][0]["child_id"])
            either = vault("set-type", "invoice", "receipt")
        finally:
            running.send_signal(signal.SIGTERM)

    assert added.returncode == 0, added.stderr
    _, first, second = added.stdout.splitlines()
    assert "mail.eml" in first
    assert "INV-104" in second
    assert f"✓ {links['parts'][0]['child_id']}  invoice.pdf" in whole.stdout
    assert "! empty.pdf: the file is empty" in whole.stdout
    assert "'invoice' means more than one document" in either.stderr
    assert f"{mail_id}  invoice mail.eml: Your invoice" in either.stderr
    assert f"part of {mail_id}  Your invoice" in part.stdout
    assert links["part_of"] == []


def test_a_file_without_a_word_is_kept_in_the_vault_under_its_name(vault: Vault, tmp_path: Path) -> None:
    (tmp_path / "blank.txt").write_text(" \n")

    with vault.up() as running:
        assert running.stdout is not None
        try:
            address = running.stdout.readline().split()[-1]
            added = vault("add", tmp_path / "blank.txt", "--wait")
            document_id = added.stdout.split()[0]
            shown = json.loads(vault("show", document_id, "--json").stdout)
            for_people, status = vault("show", document_id).stdout, vault("status").stdout
            page = httpx.get(f"{address}docs/{document_id}").raise_for_status().text
        finally:
            running.send_signal(signal.SIGTERM)
            running.communicate()

    assert added.returncode == 0, added.stdout + added.stderr
    assert (shown["state"], shown["title"]) == ("ready", "blank.txt")
    assert shown["error_code"] == "unsupported_file_type"
    assert "○ blank.txt" in added.stdout
    assert "not read" in for_people
    assert "ready" not in for_people
    assert "○ 1 not read" in status
    assert "ready" not in status
    assert shown["error_message"].startswith("no text was found in the file")
    assert "Kept, not read" in page
    assert "No text was found in the file" in page


def test_a_file_added_while_no_vault_runs_waits_for_one(
    vault: Vault, tmp_path: Path, write_pdf: WritePdf
) -> None:
    added = vault("add", write_pdf(tmp_path / "a.pdf"), tmp_path / "absent.pdf")
    status = vault("status")
    shown = vault("show", "ffffffff")

    assert added.returncode == 1
    assert "a.pdf" in added.stdout
    assert "absent.pdf: cannot read" in added.stderr
    assert "docmill up" in added.stderr
    assert "not running" in status.stdout
    assert "queue: 1 due" in status.stdout
    assert shown.returncode == 2
    assert "no document has a file name that begins with 'ffffffff', or such an id" in shown.stderr


def test_a_vault_does_not_open_itself_to_other_machines(vault: Vault, tmp_path: Path) -> None:
    config = tmp_path / "docmill.toml"
    config.write_text('[web]\nhost = "0.0.0.0"\n')

    done = vault("up", "--config", config)

    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert "web.tls_certificate" in done.stderr


def test_a_setting_that_does_not_exist_is_named(tmp_path: Path, vault: Vault) -> None:
    config = tmp_path / "docmill.toml"
    config.write_text("[wbe]\nport = 1\n")

    done = vault("status", "--config", config)

    assert done.returncode == 2
    assert "wbe" in done.stderr


def test_the_command_line_switches_aws_on(tmp_path: Path) -> None:
    config = tmp_path / "docmill.toml"
    config.write_text("[aws]\nregion = 'eu-west-1'\n")

    settings = load_settings(config, aws=True)

    assert (settings.aws.enabled, settings.aws.region) == (True, "eu-west-1")
    assert not load_settings(config).aws.enabled


def test_the_type_of_a_document_is_set_and_taken_back(
    vault: Vault, tmp_path: Path, write_pdf: WritePdf
) -> None:
    invoice = write_pdf(tmp_path / "invoice.pdf")
    with vault.up() as running:
        assert running.stdout is not None
        try:
            running.stdout.readline()
            vault("add", invoice, "--wait")
            changed = vault("set-type", "invoice.pdf", "credit_note", "--wait")
            shown = vault("show", "invoice.pdf")
            same = vault("set-type", "invoice.pdf", "credit_note", "--wait")
            vault("set-type", "invoice.pdf", "quote", "--wait")
            before = vault("set-type", "invoice.pdf", "--undo", "--wait")
            back = vault("set-type", "invoice.pdf", "--undo", "--wait")
            after = vault("show", "invoice.pdf")
            nothing = vault("set-type", "invoice.pdf", "--undo", "--wait")
            unknown = vault("set-type", "invoice.pdf", "novel")
            neither = vault("set-type", "invoice.pdf")
        finally:
            running.send_signal(signal.SIGTERM)

    assert changed.returncode == 0, changed.stderr
    assert "invoice.pdf: read again as credit_note" in changed.stdout
    assert "credit_note (chosen by a person)" in shown.stdout
    assert "has the type credit_note by choice already; nothing is read again" in same.stdout
    assert "nobody has chosen its type; nothing is read again" in nothing.stdout
    assert "read again as credit_note" in before.stdout
    assert back.returncode == 0, back.stderr
    assert "read again as recognised" in back.stdout
    assert "chosen by a person" not in after.stdout
    assert (unknown.returncode, neither.returncode) == (2, 2)
    assert "there is no type 'novel'" in unknown.stderr
    assert "give either a TYPE or --undo" in neither.stderr


def test_an_archive_serial_number_is_given_and_taken_away(
    vault: Vault, tmp_path: Path, write_pdf: WritePdf
) -> None:
    invoice = write_pdf(tmp_path / "invoice.pdf")
    with vault.up() as running:
        assert running.stdout is not None
        try:
            running.stdout.readline()
            vault("add", invoice, "--wait")
            given = vault("set-asn", "invoice.pdf", "123")
            shown = vault("show", "invoice.pdf")
            cleared = vault("set-asn", "invoice.pdf", "--clear")
            back = vault("set-asn", "invoice.pdf", "--undo")
            wrong = vault("set-asn", "invoice.pdf", "--undo", "--clear")
        finally:
            running.send_signal(signal.SIGTERM)

    assert given.returncode == 0, given.stderr
    assert "invoice.pdf: ASN 123" in given.stdout
    assert "ASN 123" in shown.stdout
    assert "invoice.pdf: no archive serial number" in cleared.stdout
    assert "invoice.pdf: ASN 123" in back.stdout
    assert wrong.returncode == 2
    assert "give one of: a NUMBER, --clear, --undo" in wrong.stderr
