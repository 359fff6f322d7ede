"""Files that nobody can read a word of: kept under their names, as those of unknown types are."""

import io
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from zipfile import ZipFile

import docx
import openpyxl
import pytest
from PIL import Image

from docmill.errors import UnsupportedFileTypeError
from docmill.ports import Original
from docmill.reading.convert import LocalConverter
from docmill.reading.files.options import ReadingOptions
from docmill.workers.pool import Pool

WORD = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
EXCEL = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
NOTHING = "no text was found in the file, nor in its pictures"


@pytest.fixture
async def converter() -> AsyncIterator[LocalConverter]:
    async with Pool(1) as pool:
        yield LocalConverter(pool, ReadingOptions())


def empty_letter() -> bytes:
    content = io.BytesIO()
    docx.Document().save(content)
    return content.getvalue()


def letter_with_a_picture(picture: bytes | None) -> bytes:
    """A letter of one picture. picture: what the package holds in its place; None for the blank one."""
    blank, content = io.BytesIO(), io.BytesIO()
    Image.new("RGB", (400, 300), "white").save(blank, "PNG")
    letter = docx.Document()
    letter.add_picture(blank)
    letter.save(content)
    if picture is None:
        return content.getvalue()
    changed = io.BytesIO()
    with ZipFile(content) as old, ZipFile(changed, "w") as new:
        for name in old.namelist():
            new.writestr(name, picture if name.endswith(".png") else old.read(name))
    return changed.getvalue()


def empty_workbook() -> bytes:
    content = io.BytesIO()
    openpyxl.Workbook().save(content)
    return content.getvalue()


def heic() -> bytes:
    content = io.BytesIO()
    Image.new("RGB", (400, 300), "white").save(content, "HEIF", quality=50)
    return content.getvalue()


@pytest.mark.parametrize(
    ("make", "media_type", "reason"),
    [
        (empty_letter, WORD, NOTHING),
        (lambda: letter_with_a_picture(None), WORD, NOTHING),
        (lambda: letter_with_a_picture(b"no picture"), WORD, "no word of the file can be read"),
        (empty_workbook, EXCEL, NOTHING),
        (lambda: b" \n\f \n", "text/plain", NOTHING),
        (lambda: b"<html><!-- only --><body> </body></html>", "text/html", NOTHING),
        (lambda: b"{\\rtf1\\ansi \\par }", "application/rtf", NOTHING),
        (lambda: heic().replace(b"hvc1", b"zzz1"), "image/heic", "the HEIC picture cannot be decoded"),
        (lambda: heic()[:-40], "image/heic", "the HEIC picture cannot be decoded"),
    ],
    ids=[
        "letter",
        "blank-picture",
        "bad-picture",
        "workbook",
        "text",
        "web",
        "rtf",
        "heic-head",
        "heic-half",
    ],
)
async def test_what_has_no_word_is_kept_as_an_unknown_type_is(
    converter: LocalConverter, tmp_path: Path, make: Callable[[], bytes], media_type: str, reason: str
) -> None:
    original = Original(tmp_path / "file", "file", "0" * 64)
    original.path.write_bytes(make())

    with pytest.raises(UnsupportedFileTypeError, match=f"^{reason}") as refusal:
        await converter.convert(original)

    assert refusal.value.media_type == media_type
