import json
from pathlib import Path
from typing import Any

import pytest

from docmill.matching import match, records_of
from support.commands import run_docmill

SELLER, BUYER = {"name": "Sommer GmbH"}, {"name": "Kunde AG"}
TOTALS = {
    "seller": SELLER,
    "buyer": BUYER,
    "currency": "EUR",
    "net_total": "1000.00",
    "gross_total": "1190.00",
}

LINE = {"description": "Schraube M4", "quantity": "100", "unit_price": "10.00", "tax_rate": "19"}


DAMAGED = {"code": "corrupt", "step": "transcribe", "message": "it is damaged"}


def record(
    source: str, document_type: str | None, data: dict[str, Any] | None, error: dict[str, str] | None = None
) -> str:
    values = {"source": source, "content_hash": source, "status": "completed", "document_type": document_type}
    return json.dumps({**values, "data": data, "error": error, "parts": []})


@pytest.fixture
def records(tmp_path: Path) -> Path:
    """An order, its invoice with another tax rate, a letter, and a file that could not be read."""
    path = tmp_path / "records.jsonl"
    invoice = {
        **TOTALS,
        "number": "RE-2026-0815",
        "order_number": "PO-4711",
        "issue_date": "2026-01-15",
        "lines": [{**LINE, "tax_rate": "7"}],
    }
    lines = [
        record(
            "order.pdf",
            "purchase_order",
            {**TOTALS, "number": "PO-4711", "issue_date": "2026-01-05", "lines": [LINE]},
        ),
        record("invoice [1].pdf", "invoice", invoice),
        record("letter.pdf", "letter", {}),
        record("broken.pdf", None, None, DAMAGED),
    ]
    path.write_text("\n".join(lines) + "\n")
    return path


def test_what_belongs_together_is_printed_with_reasons_and_differences(records: Path) -> None:
    done = run_docmill("match", records)

    assert done.returncode == 0, done.stderr
    assert "order.pdf - invoice [1].pdf: order and invoice" in done.stdout
    assert "It names the number PO-4711." in done.stdout
    assert "invoice [1].pdf: Tax rate 7 % instead of 19 % (line 1)" in done.stdout
    assert "4 documents, 2 of types that can be matched, 1 group, 1 discrepancy" in done.stdout


def test_the_result_is_written_and_printed_as_json(records: Path, tmp_path: Path) -> None:
    out = tmp_path / "matches.json"

    done = run_docmill("match", records, "--json", "--out", out)

    printed = json.loads(done.stdout)
    assert printed == json.loads(out.read_text())
    assert printed["clusters"] == [["invoice [1].pdf", "order.pdf"]]
    assert printed["links"][0]["reasons"][0]["text"] == "It names the number PO-4711."
    assert printed["discrepancies"][0]["code"] == "tax"
    assert printed["not_matched"] == [
        {"source": "letter.pdf", "document_type": "letter", "error": None},
        {"source": "broken.pdf", "document_type": None, "error": DAMAGED},
    ]


def test_a_folder_is_read_first_and_its_records_are_kept(tmp_path: Path) -> None:
    folder = tmp_path / "inbox"
    folder.mkdir()
    (folder / "note.txt").write_text("Dear Sir,\nthank you.\n")
    kept = tmp_path / "kept.jsonl"

    done = run_docmill("match", folder, "--records", kept, "--jobs", "1")

    assert done.returncode == 0, done.stderr
    record = json.loads(kept.read_text())
    assert (record["source"], record["text"]) == ("note.txt", "Dear Sir,\nthank you.")
    assert "records: " in done.stdout
    assert "records: " not in run_docmill("match", folder, "--jobs", "1").stdout
    assert "1 document, 0 of types that can be matched, 0 groups, 0 discrepancies" in done.stdout


def test_a_number_in_the_text_of_a_document_counts_as_in_python(tmp_path: Path) -> None:
    order = {**TOTALS, "number": "PO-4711", "issue_date": "2026-01-05"}
    invoice = {**TOTALS, "number": "RE-2026-0815", "issue_date": "2026-01-15"}
    text = "We thank you for PO-4711."
    path = tmp_path / "records.jsonl"
    path.write_text(
        record("order.pdf", "purchase_order", order)
        + "\n"
        + json.dumps({**json.loads(record("invoice.pdf", "invoice", invoice)), "text": text})
        + "\n"
    )

    done = run_docmill("match", path, "--json")

    (link,) = json.loads(done.stdout)["links"]
    (expected,) = match(
        [
            *records_of("order.pdf", "purchase_order", order),
            *records_of("invoice.pdf", "invoice", invoice, text),
        ]
    ).links
    assert link["score"] == expected.score
    assert "PO-4711" in {value for reason in link["reasons"] for value in reason["values"].values()}


def test_a_file_of_other_lines_is_refused_without_advice_about_an_option(tmp_path: Path) -> None:
    path = tmp_path / "other.jsonl"
    path.write_text("[]\n")

    done = run_docmill("match", path)

    assert done.returncode == 2
    assert "line 1" in done.stderr
    assert "--out" not in done.stderr


def test_a_folder_that_is_not_there_is_told(tmp_path: Path) -> None:
    done = run_docmill("match", tmp_path / "nowhere")

    assert done.returncode == 2
    assert "exist" in done.stderr


def test_a_link_that_a_person_confirmed_is_marked(records: Path, tmp_path: Path) -> None:
    decisions = tmp_path / "decisions.json"
    decisions.write_text('{"confirmed": [["invoice [1].pdf", "order.pdf"]]}')

    found = run_docmill("match", records)
    confirmed = run_docmill("match", records, "--decisions", decisions)
    (link,) = json.loads(run_docmill("match", records, "--json").stdout)["links"]
    (same,) = json.loads(run_docmill("match", records, "--json", "--decisions", decisions).stdout)["links"]

    assert "✓ order.pdf - invoice [1].pdf: order and invoice, confirmed." in confirmed.stdout
    assert "confirmed" not in found.stdout
    assert (link["status"], same["status"]) == ("automatic", "confirmed")


def test_decisions_of_people_are_read_from_a_file(records: Path, tmp_path: Path) -> None:
    decisions = tmp_path / "decisions.json"
    decisions.write_text('{"declined": [["order.pdf", "invoice [1].pdf"]]}')
    declined = run_docmill("match", records, "--json", "--decisions", decisions)
    decisions.write_text('{"confirmed": [["order.pdf", "gone.pdf"]]}')
    unknown = run_docmill("match", records, "--decisions", decisions)
    refused = {
        '{"agreed": []}': "there is no key 'agreed'; there are confirmed, declined, aliases",
        '{"confirmed": [["order.pdf"]]}': "confirmed.0.1: give lists of two names, such as",
        '{"declined": [["order.pdf", 7]]}': "declined.0.1: give lists of two names, such as",
        "[]": "the file: give lists of two names, such as",
        "{": "this is no JSON",
    }

    assert json.loads(declined.stdout)["links"] == []
    assert (unknown.returncode, "'gone.pdf'" in unknown.stderr) == (2, True)
    for content, message in refused.items():
        decisions.write_text(content)
        malformed = run_docmill("match", records, "--decisions", decisions)
        assert (malformed.returncode, message in malformed.stderr) == (2, True), malformed.stderr
