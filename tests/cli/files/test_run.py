import base64
import io
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from email.message import EmailMessage
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pikepdf
import pillow_heif
import pytest
from PIL import Image

from docmill.runs.append_only_file import AppendOnlyFile
from support.bank_statements import CAMT_ENTRY, MT940, OFX_2, camt
from support.commands import run_docmill

pillow_heif.register_heif_opener()  # pyright: ignore[reportUnknownMemberType] - untyped
CAMT_BATCH = CAMT_ENTRY.format(
    amount="12.50",
    side="CRDT",
    more="",
    status="BOOK",
    details=(
        "<NtryDtls><TxDtls><Amt Ccy='EUR'>10.00</Amt></TxDtls>"
        "<TxDtls><Amt Ccy='EUR'>2.50</Amt></TxDtls></NtryDtls>"
    ),
)
DOCMILL = Path(sys.executable).with_name("docmill")
WritePdf = Callable[..., Path]


@pytest.fixture
def folder(tmp_path: Path, write_pdf: WritePdf) -> Path:
    """An invoice, a film and a file that is no PDF whatever its name says."""
    folder = tmp_path / "inbox"
    (folder / "2026").mkdir(parents=True)
    write_pdf(folder / "2026" / "invoice.pdf")
    (folder / "film.mp4").write_bytes(b"\0\0\0\x18ftypisom\0\0\2\0isomiso2" + bytes(100))
    (folder / "broken.pdf").write_bytes(b"%PDF-1.7\nnothing more")
    return folder


def docmill(*arguments: str | Path, **variables: str) -> subprocess.CompletedProcess[str]:
    return run_docmill(*arguments, variables=variables)


def _records(path: Path) -> dict[str, dict[str, Any]]:
    records = [json.loads(line) for line in path.read_text().splitlines()]
    return {record["source"]: record for record in records}


def test_a_folder_becomes_one_record_per_document(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"

    done = docmill("run", folder, "--out", out, "--jobs", "1")

    records = _records(out)
    assert done.returncode == 1, done.stderr
    assert set(records) == {"2026/invoice.pdf", "film.mp4", "broken.pdf"}
    invoice = records["2026/invoice.pdf"]
    assert invoice["document_type"] == "invoice"
    assert invoice["data"]["gross_total"] == "119.00"
    assert invoice["evidence"]["gross_total"]["page"] == 1
    assert records["film.mp4"]["error"]["code"] == "unsupported_file_type"
    assert records["film.mp4"]["status"] == "completed"
    assert records["broken.pdf"]["error"]["code"] == "corrupt"
    assert "3 documents (1 page)" in done.stdout
    assert "1 completed, 1 failed, 1 not read" in done.stdout
    assert "1 x corrupt" in done.stdout


def test_a_file_without_a_word_is_kept_under_its_name(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    (folder / "broken.pdf").unlink()
    (folder / "blank.txt").write_text(" \n")
    picture = io.BytesIO()
    Image.new("RGB", (400, 300), "white").save(picture, "HEIF", quality=50)
    (folder / "photo.heic").write_bytes(picture.getvalue()[:-40])

    done = docmill("run", folder, "--out", out, "--jobs", "1")

    assert done.returncode == 0, done.stdout + done.stderr
    assert "○ photo.heic  the HEIC picture cannot be decoded; save it as a JPEG and use that" in done.stdout
    assert "1 completed, 3 not read" in done.stdout
    for name in ("blank.txt", "photo.heic"):
        record = _records(out)[name]
        assert record["status"] == "completed"
        assert (record["error"]["code"], record["error"]["step"]) == ("unsupported_file_type", "transcribe")
        assert record["data"] is None


def test_a_second_run_reads_nothing_again_and_still_says_what_failed(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    docmill("run", folder, "--out", out, "--jobs", "1")
    before = out.read_text()

    again = docmill("run", folder, "--out", out, "--jobs", "1")

    assert again.returncode == 1
    assert "3 documents (0 pages)" in again.stdout
    assert "3 unchanged" in again.stdout
    assert "1 failed in an earlier run" in again.stdout
    assert out.read_text() == before


def test_failed_documents_are_tried_again_on_request(
    folder: Path, tmp_path: Path, write_pdf: WritePdf
) -> None:
    out = tmp_path / "out.jsonl"
    docmill("run", folder, "--out", out, "--jobs", "1")
    write_pdf(folder / "broken.pdf", "now whole")

    again = docmill("run", folder, "--out", out, "--jobs", "1", "--retry-failed", "--quiet")

    assert again.returncode == 0, again.stdout + again.stderr
    assert _records(out)["broken.pdf"]["status"] == "completed"
    assert len(out.read_text().splitlines()) == 3


def test_a_dry_run_writes_nothing(folder: Path, tmp_path: Path) -> None:
    done = docmill("run", folder, "--out", tmp_path / "out.jsonl", "--dry-run")

    assert done.returncode == 0
    assert "3 documents: 0 done before, 3 to do; nothing was written" in done.stdout
    assert not (tmp_path / "out.jsonl").exists()


def test_a_dry_run_knows_what_an_earlier_run_did(folder: Path, tmp_path: Path, write_pdf: WritePdf) -> None:
    out = tmp_path / "out.jsonl"
    docmill("run", folder, "--out", out, "--jobs", "1")
    before = out.read_bytes()
    write_pdf(folder / "2026" / "invoice.pdf", "another one")
    (folder / "film.mp4").chmod(0o644)
    write_pdf(folder / "new.pdf")

    dry = docmill("run", folder, "--out", out, "--dry-run")
    dry_anew = docmill("run", folder, "--out", out, "--dry-run", "--retry-failed")

    assert dry.stdout.splitlines() == [
        "2026/invoice.pdf",
        "new.pdf",
        "4 documents: 2 done before, 2 to do; nothing was written",
        "1 failed in an earlier run; --retry-failed tries them again",
    ]
    assert "4 documents: 1 done before, 3 to do" in dry_anew.stdout
    assert out.read_bytes() == before


def test_a_dry_run_counts_a_file_that_is_too_large_as_to_do(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    docmill("run", folder, "--out", out, "--jobs", "1")

    dry = docmill("run", folder, "--out", out, "--dry-run", DOCMILL_LIMITS__FILE_MB="0.0001")

    assert "3 documents: 1 done before, 2 to do" in dry.stdout


def test_a_run_reads_by_the_settings_and_options_win(folder: Path, tmp_path: Path) -> None:
    config = tmp_path / "docmill.toml"
    config.write_text("[limits]\nfile_mb = 0.0001\ndocument_s = 300\n")

    small = docmill("run", folder, "--out", tmp_path / "small.jsonl", "--jobs", "1", "--config", config)
    large = docmill(
        "run", folder, "--out", tmp_path / "large.jsonl", "--jobs", "1", "--config", config, "--max-mb", "1"
    )

    assert "2 x too_large" in small.stdout
    assert "too_large" not in large.stdout
    assert large.returncode == 1  # the broken one


def test_a_wrong_setting_is_one_sentence(folder: Path, tmp_path: Path) -> None:
    done = docmill("run", folder, "--out", tmp_path / "out.jsonl", DOCMILL_OCR__ENGINES='["tesserakt"]')

    assert done.returncode == 2
    assert "ocr.engines" in done.stderr
    assert not (tmp_path / "out.jsonl").exists()


def test_a_password_of_the_environment_may_contain_blanks(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    protected = folder / "protected.pdf"
    with pikepdf.open(folder / "2026" / "invoice.pdf") as pdf:
        pdf.save(protected, encryption=pikepdf.Encryption(user="open sesame now", owner="other"))

    locked = docmill("run", protected, "--out", tmp_path / "locked.jsonl", "--jobs", "1")
    docmill("run", protected, "--out", out, "--jobs", "1", DOCUMENT_PASSWORD="wrong one\nopen sesame now\n")

    assert (
        "1 x encrypted: where a password is missing, --retry-failed --ask-password asks for it"
        in locked.stdout
    )
    assert _records(out)["protected.pdf"]["data"]["gross_total"] == "119.00"


def test_the_output_file_is_not_taken_for_a_document(folder: Path) -> None:
    done = docmill("run", folder, "--out", folder / "out.jsonl", "--fresh", "--jobs", "1")

    assert set(_records(folder / "out.jsonl")) == {"2026/invoice.pdf", "film.mp4", "broken.pdf"}
    assert "out.jsonl  " not in done.stdout


def test_a_link_out_of_the_folder_is_named_and_not_read(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("Total 1.00")
    (folder / "link.txt").symlink_to(tmp_path / "secret.txt")

    done = docmill("run", folder, "--out", tmp_path / "out.jsonl", "--dry-run")

    assert f"leads out of the folder or nowhere: link.txt -> {tmp_path}/secret.txt" in done.stderr
    assert "3 documents" in done.stdout


def test_a_folder_that_is_not_there_is_one_sentence(tmp_path: Path) -> None:
    done = docmill("run", tmp_path / "nowhere", "--out", tmp_path / "out.jsonl")

    assert done.returncode == 2
    assert done.stderr.startswith("docmill: there is no folder")
    assert "Traceback" not in done.stderr


def test_an_interrupted_run_keeps_what_is_done_and_says_how_to_go_on(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    # Recognition loads its models first, so these pages are never done before the signal comes.
    for number in range(5):
        Image.new("L", (1600 + number, 2000), 255).save(folder / f"scan {number}.png")
    running = subprocess.Popen(
        [DOCMILL, "run", folder, "--out", out, "--jobs", "1"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with running:
        assert running.stdout is not None
        assert running.stderr is not None
        assert running.stdout.readline(), "no document was done"
        running.send_signal(signal.SIGINT)
        stderr = running.stderr.read()

    assert running.returncode == 130
    assert "run it again to go on" in stderr
    assert len(_records(out)) < 8
    assert docmill("run", folder, "--out", out, "--jobs", "1").returncode == 1
    assert len(_records(out)) == 8


def test_starting_over_leaves_a_run_alone_that_is_writing_the_same_file(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    docmill("run", folder, "--out", out, "--jobs", "1", "--run", "first")
    before = out.read_text()
    writer = AppendOnlyFile(out)

    refused = docmill("run", folder, "--out", out, "--jobs", "1", "--fresh")
    writer.close()
    runs = docmill("runs", "list", "--store", tmp_path / ".docmill" / "runs.sqlite")

    assert refused.returncode == 2
    assert "another run is writing" in refused.stderr
    assert "first" in runs.stdout
    assert out.read_text() == before


def test_files_may_have_any_name(tmp_path: Path) -> None:
    folder, out = tmp_path / "inbox", tmp_path / "out.jsonl"
    folder.mkdir()
    names = [
        os.fsdecode(name) for name in (b"sk\xe4nk.txt", b"two\nlines.txt", b"\x1b[31mred.txt", b"[b]bold.txt")
    ]
    for name in names:
        (folder / name).write_text("hello")

    done = docmill("run", folder, "--out", out, "--jobs", "1")

    assert done.returncode == 0, done.stderr
    assert set(_records(out)) == set(names)
    printed = {line.split("  ")[0][2:] for line in done.stdout.splitlines() if line.startswith("✓")}
    assert printed == {r"sk\udce4nk.txt", r"two\nlines.txt", r"\x1b[31mred.txt", "[b]bold.txt"}


def test_the_program_says_which_it_is() -> None:
    done = subprocess.run([DOCMILL, "--version"], capture_output=True, text=True, check=False, timeout=60)

    assert done.returncode == 0
    assert done.stdout == f"docmill {version('docmill')}\n"


def test_records_do_not_go_to_standard_output(folder: Path) -> None:
    done = docmill("run", folder, "--out", "-")

    assert done.returncode == 2
    assert "give a file" in done.stderr


def test_every_document_of_a_run_is_of_the_type_that_is_given(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"

    refused = docmill("run", folder, "--out", out, "--type", "invioce")
    done = docmill("run", folder, "--out", out, "--jobs", "1", "--type", "credit_note")

    assert (refused.returncode, done.returncode) == (2, 1)
    assert "do you mean 'invoice'" in refused.stderr
    assert _records(out)["2026/invoice.pdf"]["document_type"] == "credit_note"


def test_a_file_that_is_the_same_document_as_another_of_the_run_names_it(
    tmp_path: Path, write_pdf: WritePdf
) -> None:
    folder = tmp_path / "inbox"
    folder.mkdir()
    with pikepdf.open(write_pdf(tmp_path / "invoice.pdf")) as content:
        content.save(folder / "first.pdf")
        content.docinfo["/Producer"] = "Another program"
        content.save(folder / "second.pdf")
    out = tmp_path / "out.jsonl"

    done = docmill("run", folder, "--out", out, "--jobs", "1")

    assert done.returncode == 0, done.stderr
    told = {
        source: [
            failure["message"] for failure in record["verdict"]["failures"] if failure["check"] == "duplicate"
        ]
        for source, record in _records(out).items()
    }
    assert sorted(map(len, told.values())) == [0, 1]
    ((message,),) = [messages for messages in told.values() if messages]
    assert "“first.pdf”" in message or "“second.pdf”" in message


def test_files_of_banks_become_statements_and_their_accounts_parts(tmp_path: Path) -> None:
    folder, out = tmp_path / "inbox", tmp_path / "out.jsonl"
    folder.mkdir()
    (folder / "november.xml").write_bytes(camt(CAMT_BATCH, closing="112.50"))
    (folder / "december.sta").write_text(MT940)
    (folder / "cards.ofx").write_text(OFX_2)

    done = docmill("run", folder, "--out", out, "--jobs", "1")

    records = _records(out)
    assert done.returncode == 0, done.stdout + done.stderr
    assert {name: record["status"] for name, record in records.items()} == dict.fromkeys(records, "completed")
    november = records["november.xml"]
    assert november["document_type"] == "bank_statement"
    assert [booking["amount"] for booking in november["data"]["transactions"]] == ["10.00", "2.50"]
    assert november["evidence"]["transactions[1].amount"]["page"] == 1
    assert records["december.sta"]["data"]["closing_balance"] == "2194.80"
    parts = [record for name, record in records.items() if name.startswith("cards.ofx/")]
    assert [part["document_type"] for part in parts] == ["bank_statement"] * 2


def test_files_within_files_become_records_at_any_depth(tmp_path: Path, write_pdf: WritePdf) -> None:
    inbox = tmp_path / "inbox"
    inbox.mkdir()
    bill, letter = write_pdf(tmp_path / "bill.pdf"), write_pdf(tmp_path / "letter.pdf")
    content = io.BytesIO()
    with pikepdf.open(letter) as document:
        attached = pikepdf.AttachedFileSpec(document, bill.read_bytes(), filename="bill.pdf")  # pyright: ignore[reportCallIssue] - its stub forgets the defaults
        document.attachments["bill.pdf"] = attached
        document.save(content)
    inner = EmailMessage()
    inner["From"], inner["To"], inner["Subject"] = "a@b.example", "c@d.example", "Our bill"
    inner.set_content("Please find our letter attached.")
    inner.add_attachment(content.getvalue(), "application", "pdf", filename="letter.pdf")
    encoded = base64.encodebytes(inner.as_bytes()).decode()
    head = "From: c@d.example\nTo: e@f.example\nSubject: Forwarded\nMIME-Version: 1.0\n"
    (inbox / "mail.eml").write_text(
        f"{head}Content-Type: message/rfc822\nContent-Transfer-Encoding: base64\n\n{encoded}"
    )

    done = docmill("run", inbox, "--out", tmp_path / "out.jsonl", "--jobs", "1")
    again = docmill("run", inbox, "--out", tmp_path / "out.jsonl", "--jobs", "1")

    records = _records(tmp_path / "out.jsonl")
    assert done.returncode == 0, done.stderr
    path = "mail.eml/Our bill.eml/letter.pdf"
    assert set(records) == {"mail.eml", "mail.eml/Our bill.eml", path, f"{path}/bill.pdf"}
    (part,) = records[path]["parts"]
    assert (part["source"], part["kind"], part["problem"]) == (f"{path}/bill.pdf", "attachment", None)
    assert records[f"{path}/bill.pdf"]["data"]["gross_total"] == "119.00"
    assert "4 unchanged" in again.stdout + again.stderr
