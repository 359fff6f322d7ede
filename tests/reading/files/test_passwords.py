"""Office files under a password."""

import asyncio
import io
from pathlib import Path
from typing import Any

import pytest
import xlwt
from docx import Document
from msoffcrypto.format.ooxml import OOXMLFile
from openpyxl import Workbook

from docmill.api.one_file import process_file
from docmill.errors import EncryptedError
from docmill.reading.child import tasks
from docmill.reading.convert import PooledUnlocker
from docmill.reading.files import passwords as protected
from docmill.reading.files.options import ReadingOptions
from docmill.workers.pool import Pool

PASSWORD = "open sesame"
WORD = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"


def locked(path: Path, plain: bytes, password: str = PASSWORD) -> Path:
    encrypted = io.BytesIO()
    OOXMLFile(io.BytesIO(plain)).encrypt(password, encrypted)  # pyright: ignore[reportUnknownMemberType] - untyped
    path.write_bytes(encrypted.getvalue())
    return path


@pytest.fixture
def letter(tmp_path: Path) -> Path:
    plain = io.BytesIO()
    document = Document()
    document.add_paragraph("hidden treasure")
    document.save(plain)
    return locked(tmp_path / "letter.docx", plain.getvalue())


def workbook() -> bytes:
    plain = io.BytesIO()
    book = Workbook()
    assert book.active is not None
    book.active.append(["hidden", "treasure"])
    book.save(plain)
    return plain.getvalue()


@pytest.fixture
def sheet(tmp_path: Path) -> Path:
    return locked(tmp_path / "sheet.xlsx", workbook())


def options(*passwords: str) -> ReadingOptions:
    return ReadingOptions(passwords=passwords)


def test_without_a_password_one_is_asked_for(letter: Path) -> None:
    with pytest.raises(EncryptedError, match="give the password"):
        tasks.open_original(letter, options())


def test_a_wrong_password_is_called_wrong(letter: Path) -> None:
    with pytest.raises(EncryptedError, match="does not open"):
        tasks.open_original(letter, options("wrong", "also wrong"))
    with pytest.raises(EncryptedError, match="does not open"):
        tasks.unlock(letter, "wrong")


def test_the_password_that_fits_opens_the_file(letter: Path) -> None:
    found = tasks.open_original(letter, options("wrong", PASSWORD))
    read = tasks.read_flow(letter, found.media_type, options("wrong", PASSWORD))

    assert found.media_type == WORD
    assert read.pages[0].words.texts == ["hidden", "treasure"]


def test_a_workbook_is_read_in_a_child_of_its_own(sheet: Path) -> None:
    result = process_file(sheet, passwords=[PASSWORD])

    assert result.document is not None
    assert "treasure" in result.document.text


async def unlocked(path: Path) -> bytes | None:
    async with Pool(1) as pool:
        return await PooledUnlocker(pool).unlock(path, PASSWORD)


def test_an_unlocked_copy_needs_no_password(letter: Path) -> None:
    copy = asyncio.run(unlocked(letter))

    assert copy is not None
    letter.write_bytes(copy)
    assert not protected.is_locked(letter)
    assert tasks.open_original(letter, options()).media_type == WORD
    assert tasks.unlock(letter, PASSWORD) is None


@pytest.mark.parametrize("cut", [100, 600, 3000])
def test_a_damaged_file_is_refused_with_or_without_a_password(letter: Path, cut: int) -> None:
    content = letter.read_bytes()
    letter.write_bytes(content[:-cut] if cut > 1000 else content[:cut])

    for given in ((), (PASSWORD,)):
        with pytest.raises(Exception) as refused:  # noqa: PT011 - whichever of ours it is
            tasks.open_original(letter, options(*given))
        assert type(refused.value).__module__ == "docmill.errors"


def test_a_film_that_comes_with_a_password_is_left_as_it_is(tmp_path: Path) -> None:
    film = tmp_path / "film.mp4"
    film.write_bytes(b"\0\0\0\x18ftypisom\0\0\2\0isomiso2" + bytes(100))

    assert tasks.unlock(film, PASSWORD) is None


def test_an_old_workbook_of_another_sort_is_taken_for_one_without_a_password(tmp_path: Path) -> None:
    workbook: Any = xlwt.Workbook()  # pyright: ignore[reportUnknownMemberType] - untyped
    workbook.add_sheet("A").write(0, 0, "Rechnung")
    workbook.save(str(tmp_path / "a.xls"))
    content = (tmp_path / "a.xls").read_bytes()
    (tmp_path / "a.xls").write_bytes(content.replace(b"\x09\x08\x10\0", b"\x09\x04\x10\0", 1))

    assert not protected.is_locked(tmp_path / "a.xls")


@pytest.mark.parametrize("passwords", [(), ("wrong",)])
def test_a_workbook_that_excel_opens_unasked_is_opened_unasked(
    tmp_path: Path, passwords: tuple[str, ...]
) -> None:
    path = locked(tmp_path / "sheet.xlsx", workbook(), "VelvetSweatshop")

    opened = tasks.open_original(path, options(*passwords))

    (page,) = tasks.read_flow(path, opened.media_type, options(*passwords)).pages
    assert "treasure" in page.text
