"""The commands that take data out and bring it back, on a vault with an embedded database."""

import csv
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from support.commands import run_docmill
from support.vault_contents import files_in

DOCMILL = Path(sys.executable).with_name("docmill")
WritePdf = Callable[..., Path]


def docmill(folder: Path, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return run_docmill(*arguments, "--data-dir", folder)


@pytest.fixture
def place() -> Iterator[Path]:
    # Not pytest's folder: it is closed to the user under whom the server runs when tests run as root.
    with tempfile.TemporaryDirectory(prefix="docmill-") as folder:
        Path(folder).chmod(0o711)  # as root, the database's user passes through it
        yield Path(folder)


def test_data_is_taken_out_and_brought_back_by_commands(place: Path, write_pdf: WritePdf) -> None:
    vault, out = place / "vault", place / "out"
    out.mkdir()
    added = docmill(vault, "add", write_pdf(place / "invoice.pdf"))
    document_id = added.stdout.split()[0]

    table = docmill(vault, "export", "table", out / "table.csv")
    again = docmill(vault, "export", "table", out / "table.csv")
    forced = docmill(vault, "export", "table", out / "table.csv", "--force", "--type", "receipt")
    odd = docmill(vault, "export", "table", out / "table.doc")
    unknown = docmill(vault, "export", "table", out / "t.csv", "--state", "odd")
    archive = docmill(vault, "export", "zip", out / "all.zip", "--id", document_id)
    no_period = docmill(vault, "export", "datev", out)
    ledger = docmill(vault, "export", "ledger", out / "ledger.csv")
    backed_up = docmill(vault, "backup", out / "vault.backup")
    refused = docmill(vault, "restore", out / "vault.backup")
    restored = docmill(place / "restored", "restore", out / "vault.backup")
    exported = docmill(vault, "export-tenant", out / "tenant")
    imported = docmill(place / "imported", "import-tenant", out / "tenant")
    shown = docmill(place / "imported", "show", document_id)

    assert table.returncode == 0, table.stderr
    assert table.stdout == f"1 document → {out / 'table.csv'}\n"
    assert (again.returncode, odd.returncode, unknown.returncode, no_period.returncode) == (2, 2, 2, 2)
    assert "--force replaces it" in again.stderr
    assert "must end in one of .csv, .xlsx, .parquet" in odd.stderr
    assert "there is no state 'odd'" in unknown.stderr
    assert "give its first and its last day" in no_period.stderr
    assert forced.returncode == 0, forced.stderr
    with (out / "table.csv").open(encoding="utf-8-sig", newline="") as file:
        assert len(list(csv.reader(file))) == 1
    assert archive.returncode == 0, archive.stderr
    with zipfile.ZipFile(out / "all.zip") as unpacked:
        assert unpacked.namelist() == ["originals/invoice.pdf", "records/invoice.pdf.json"]
    assert ledger.returncode == 1
    assert "0 documents booked, 0 outside the period, 1 left out" in ledger.stdout
    assert f"- {document_id}  invoice.pdf: it is no bill but: document without a type" in ledger.stderr
    assert backed_up.returncode == 0, backed_up.stderr
    assert "compared with its checksums" in backed_up.stdout
    assert refused.returncode == 2
    assert "there is a vault" in refused.stderr
    assert restored.returncode == 0, restored.stderr
    assert files_in(place / "restored") == files_in(vault)
    assert exported.returncode == 0, exported.stderr
    assert imported.returncode == 0, imported.stderr
    assert "invoice.pdf" in shown.stdout
