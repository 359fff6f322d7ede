from decimal import Decimal
from pathlib import Path

import pytest

import docmill
from docmill.schemas.types import Invoice
from support import raising_classifier

BILL = """Acme Trading Ltd
12 High Street, Leeds LS1 4AB

Invoice number: INV-2041
Invoice date: 12 March 2026

Total                  GBP 119.00
"""


def test_a_file_is_read_by_the_schema_that_is_asked_for(tmp_path: Path) -> None:
    file = tmp_path / "bill.txt"
    file.write_text(BILL)

    extracted = docmill.extract(file, Invoice)

    assert isinstance(extracted.data, Invoice)
    assert extracted.data.gross_total == Decimal("119.00")
    assert extracted.evidence["gross_total"].page == 1


def test_a_file_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "tune.mid"
    file.write_bytes(b"MThd\0\0\0\6" + bytes(range(256)))

    with pytest.raises(docmill.DocumentError) as caught:
        docmill.extract(file, Invoice)

    assert caught.value.code == "unsupported_file_type"


async def test_a_file_is_read_within_an_event_loop(tmp_path: Path) -> None:
    file = tmp_path / "bill.txt"
    file.write_text(BILL)

    extracted = await docmill.aextract(file, Invoice)
    result = await docmill.aprocess_file(file)

    assert extracted.data.gross_total == Decimal("119.00")
    assert result.document is not None
    assert len(result.document.pages) == 1


async def test_an_event_loop_that_runs_is_explained(tmp_path: Path) -> None:
    with pytest.raises(docmill.SetupError, match=r"await docmill\.aextract"):
        docmill.extract(tmp_path / "bill.txt", Invoice)
    with pytest.raises(docmill.SetupError, match=r"await docmill\.aprocess_file"):
        docmill.process_file(tmp_path / "bill.txt")


def test_a_path_without_a_file_is_named(tmp_path: Path) -> None:
    def extract(path: Path) -> object:
        return docmill.extract(path, Invoice)

    for call in (docmill.process_file, extract):
        with pytest.raises(docmill.SetupError, match=r"there is no file .*nowhere\.pdf"):
            call(tmp_path / "nowhere.pdf")
        with pytest.raises(docmill.SetupError, match="is a folder"):
            call(tmp_path)


def test_a_file_is_read_by_the_type_that_the_caller_knows(tmp_path: Path) -> None:
    file = tmp_path / "bill.txt"
    file.write_text(BILL)

    result = docmill.process_file(file, document_type="receipt")

    assert result.classification.document_type == "receipt"
    assert result.extraction is not None
    assert result.extraction.document_type == "receipt"
    assert (result.classification.title or "").startswith("Receipt")
    with pytest.raises(docmill.SetupError, match="do you mean 'receipt'"):
        docmill.process_file(file, document_type="reciept")


def test_a_fault_in_the_classification_is_raised_with_its_code_and_step(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    raising_classifier.install(monkeypatch)
    file = tmp_path / "bill.txt"
    file.write_text(BILL)

    with pytest.raises(docmill.DocmillError, match="failed with KeyError") as caught:
        docmill.process_file(file)
    read = docmill.process_file(file, document_type="invoice")

    assert (caught.value.code, caught.value.step) == ("internal", "classify")
    assert "12 High Street" not in f"{caught.value}{caplog.text}"
    assert read.extraction is not None
    assert read.extraction.data.model_dump()["gross_total"] == Decimal("119.00")
