"""The golden record of some samples: nothing differs where nothing changed, and what differs is told."""

import json
import subprocess
import sys
from email.message import EmailMessage
from pathlib import Path
from typing import Any

import pytest

from docmill.demo.catalogue import plans
from docmill.demo.writing import make_sample

ROOT = Path(__file__).parents[2]
WAYS = ("--way", "readings", "--way", "run")


def golden(command: str, folder: Path, documents: Path, *options: str) -> subprocess.CompletedProcess[str]:
    program = (sys.executable, "-m", "bench.golden", command, folder, "--documents", documents, "--jobs", "1")
    return subprocess.run((*program, *options), cwd=ROOT, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def documents(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An invoice, and a mail with a receipt attached."""
    folder, aside = tmp_path_factory.mktemp("documents"), tmp_path_factory.mktemp("aside")
    of_type = {plan.document_type: plan for plan in plans() if plan.form == "born-digital"}
    make_sample(of_type["invoice"], folder, seed=1).path.rename(folder / "invoice.pdf")
    receipt = make_sample(of_type["receipt"], aside, seed=1).path
    mail = EmailMessage()
    mail["From"], mail["To"], mail["Subject"] = "a@example.org", "b@example.org", "The receipt"
    mail["Date"] = "Mon, 2 Mar 2026 10:00:00 +0000"
    mail.set_content("Here is the receipt of yesterday.")
    mail.add_attachment(receipt.read_bytes(), maintype="application", subtype="pdf", filename="receipt.pdf")
    (folder / "mail.eml").write_bytes(mail.as_bytes())
    return folder


@pytest.fixture(scope="module")
def record(documents: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("golden")
    recorded = golden("record", folder, documents, *WAYS)
    assert recorded.returncode == 0, recorded.stderr
    return folder


def lines(path: Path) -> dict[str, dict[str, Any]]:
    return {record["source"]: record for record in map(json.loads, path.read_text().splitlines())}


def test_a_record_holds_each_document_and_each_part_of_it_in_both_ways(record: Path) -> None:
    for way in ("readings", "run"):
        found = lines(record / way / "documents.jsonl")
        assert list(found) == ["invoice.pdf", "mail.eml", "mail.eml/receipt.pdf"]
        assert found["invoice.pdf"]["data"]["number"]
        assert found["invoice.pdf"]["evidence"]["number"]["box"]
        assert "passed" in found["mail.eml/receipt.pdf"]["verdict"]
    assert found["mail.eml/receipt.pdf"]["document_type"] == "receipt"


def test_nothing_differs_where_nothing_changed(record: Path, documents: Path) -> None:
    compared = golden("compare", record, documents, *WAYS)
    assert compared.returncode == 0, compared.stderr
    assert compared.stdout.splitlines()[-1] == "0 differences in 0 of 6 documents"


def test_a_changed_value_is_told_with_its_document_its_path_and_both_values(
    record: Path, documents: Path
) -> None:
    place = record / "readings" / "documents.jsonl"
    before = place.read_text()
    found = lines(place)
    number = found["invoice.pdf"]["data"]["number"]
    found["invoice.pdf"]["data"]["number"] = "another"
    del found["mail.eml/receipt.pdf"]
    place.write_text("".join(f"{json.dumps(one)}\n" for one in found.values()))
    try:
        compared = golden("compare", record, documents, "--from-readings")
    finally:
        place.write_text(before)
    assert compared.returncode == 1, compared.stderr
    assert compared.stdout.splitlines() == [
        f'readings documents: invoice.pdf: data.number: "another" -> "{number}"',
        "readings documents: mail.eml/receipt.pdf: was not recorded and is there now",
        compared.stdout.splitlines()[2],
        "2 differences in 2 of 2 documents",
    ]


def test_what_was_never_recorded_is_told_and_not_called_equal(tmp_path: Path, documents: Path) -> None:
    compared = golden("compare", tmp_path, documents)
    assert compared.returncode == 1
    assert compared.stderr.startswith("nothing of this is recorded in")
