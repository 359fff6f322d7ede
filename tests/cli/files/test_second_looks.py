"""Parts of documents in `docmill run`: what needs their pages once more has them, as for any other file."""

import asyncio
import io
import json
from collections.abc import AsyncIterator
from email.message import EmailMessage
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest
from PIL import Image, ImageDraw, ImageFont

from docmill.cli.files.run import RunOptions, run_folder
from support.llm_server import Server, serving, spoken

_LINES = """{seller}
12 Quay Street, Leeds
INVOICE
Invoice number {number}
Date 05.03.2024
Net 20.00
VAT 20 % 4.00
Total 24.90 EUR"""
"""Its amounts do not add up, so that they are doubted."""


def scan(number: str, seller: str = "Harbour Ltd") -> Image.Image:
    sheet = Image.new("RGB", (1000, 1400), "white")
    font = ImageFont.load_default(40)
    for row, line in enumerate(_LINES.format(number=number, seller=seller).splitlines()):
        ImageDraw.Draw(sheet).text((80, 80 + 90 * row), line, "black", font=font)
    return sheet


def png(sheet: Image.Image) -> bytes:
    buffer = io.BytesIO()
    sheet.save(buffer, "PNG")
    return buffer.getvalue()


def mail(name: str, content: bytes) -> bytes:
    message = EmailMessage()
    message["From"], message["To"], message["Subject"] = "a@example.org", "b@example.org", "Bill"
    message.set_content("See the attachment.")
    message.add_attachment(content, maintype="image", subtype="png", filename=name)
    return message.as_bytes()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "inbox"
    folder.mkdir()
    return folder


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    async with serving() as server:
        yield server


def run(folder: Path) -> dict[str, dict[str, Any]]:
    out = folder.parent / "out.jsonl"
    run_folder(RunOptions(folder=folder, out=out, jobs=1, quiet=True))
    records = [json.loads(line) for line in out.read_text().splitlines()]
    return {record["source"]: record for record in records}


def test_a_doubted_part_is_looked_at_again_wherever_it_came_in(folder: Path) -> None:
    (folder / "scan.png").write_bytes(png(scan("R-1001")))
    (folder / "mail.eml").write_bytes(mail("scan.png", png(scan("R-1002"))))
    with ZipFile(folder / "all.zip", "w") as archive:
        archive.writestr("scan.png", png(scan("R-1003")))

    records = run(folder)

    scans = ("scan.png", "mail.eml/scan.png", "all.zip/scan.png")
    assert [source for source in scans if "looked again at" not in records[source]["reason"]] == []


def test_the_documents_of_a_split_scan_are_looked_at_again(folder: Path) -> None:
    (folder.parent / "docmill.toml").write_text('[reading]\nsplit = "auto"\n')
    first, second = scan("R-1001"), scan("BT-77", "Berg Tools GmbH")
    first.save(folder / "stack.pdf", save_all=True, append_images=[second])

    records = run(folder)

    parts = [part["source"] for part in records["stack.pdf"]["parts"]]
    assert len(parts) == 2
    assert all("looked again at" in records[part]["reason"] for part in parts)


async def test_a_model_that_sees_is_shown_the_pages_of_parts(folder: Path, server: Server) -> None:
    (folder.parent / "docmill.toml").write_text(
        f"""
        [llm]
        base_url = "{server.url("openai")}"
        [understanding]
        classify = "small"
        [understanding.small]
        model = "own"
        sees = true
        """
    )
    blank = png(Image.new("RGB", (400, 300), "white"))
    # Answers without a field that was asked for would have the document tried again after a minute.
    server.replies = [
        spoken("openai", {"title": "A sheet", "document_type": "invoice"}),
        spoken("openai", {"number": None}),
    ]
    with ZipFile(folder / "all.zip", "w") as archive:
        archive.writestr("blank.png", blank)

    records = await asyncio.to_thread(run, folder)

    assert set(records) == {"all.zip", "all.zip/blank.png"}
    assert len(server.requests) == 2
    assert all("data:image/jpeg;base64," in request for request in server.requests)
