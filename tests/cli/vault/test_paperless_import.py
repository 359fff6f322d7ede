"""`docmill import paperless`, on a vault of its own."""

import hashlib
import tempfile
from collections.abc import Iterator
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from support.commands import run_docmill
from support.paperless_exports import PaperlessExport


@pytest.fixture
def folder() -> Iterator[Path]:
    # Not pytest's folder: it is closed to the user under whom the server runs when tests run as root.
    with tempfile.TemporaryDirectory(prefix="docmill-") as name:
        yield Path(name)


def run_import(folder: Path, *arguments: str | Path) -> CompletedProcess[str]:
    return run_docmill("import", "paperless", *arguments, "--data-dir", folder)


def test_an_export_is_imported_and_what_became_of_it_is_told(folder: Path, tmp_path: Path) -> None:
    export = PaperlessExport(tmp_path / "export", metadata={"__crypto__": {}})
    export.add(1, b"%PDF-1.7 a")
    export.add(2, b"%PDF-1.7 b")
    export.add(3, None, title="Lost\x1b[31m")
    no_vault = run_import(folder, export.write())
    run_docmill("add", export.root / "2024-05-01 Stadtwerke Strom 2.pdf", "--data-dir", folder)

    dry = run_import(folder, export.root, "--dry-run")
    first = run_import(folder, export.root)
    again = run_import(folder, export.pack())

    left = (
        "not imported: 1 user, 1 workflow, 1 mail account\n"
        "not imported: passwords and tokens that the export has encrypted\n"
    )
    head = "3 documents in the export of paperless-ngx 2.14.7\n"
    refusal = (
        "✗ 3  Lost\\x1b[31m: '2024-05-01 Stadtwerke Strom 3.pdf' is missing in the export; export again\n"
    )
    assert (no_vault.returncode, "there is no vault" in no_vault.stderr) == (2, True)
    assert dry.stdout == (
        head
        + "  1 to import\n  1 already here, metadata to add\n  1 to be refused\n"
        + left
        + "a dry run: nothing was changed\n"
    )
    assert (first.returncode, first.stderr) == (1, refusal)
    assert first.stdout == head + (
        "  1 imported\n  1 already here, with metadata added\n  1 refused\n" + left
    )
    assert again.stdout == head + "  2 imported before\n  1 refused\n" + left
    shown = run_docmill("show", "scan 1.pdf", "--data-dir", folder).stdout
    assert "Strom 1" in shown
    assert "Inbox, Steuer 2024" in shown


def test_a_file_that_is_another_than_the_exported_one_is_told(folder: Path, tmp_path: Path) -> None:
    export = PaperlessExport(tmp_path / "export")
    export.add(1, b"%PDF-1.7 whole")
    export.add(2, b"%PDF-1.7 other", checksum=hashlib.sha256(b"%PDF-1.7 other").hexdigest())
    root = export.write()
    run_docmill("add", root / "2024-05-01 Stadtwerke Strom 2.pdf", "--data-dir", folder)
    (root / "2024-05-01 Stadtwerke Strom 1.pdf").write_bytes(b"%PDF-1.7 wh")

    done = run_import(folder, root)

    assert done.returncode == 0
    assert "1 imported\n" in done.stdout
    (told,) = done.stderr.splitlines()
    assert told.startswith("! 1  Strom 1: the file is not the one that was exported")


def test_what_is_no_export_is_told(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "a.pdf").write_bytes(b"%PDF-1.7")
    run_docmill("add", tmp_path / "a.pdf", "--data-dir", folder)

    refused = run_import(folder, tmp_path)

    assert refused.returncode == 2
    assert "is no export of paperless-ngx" in refused.stderr
