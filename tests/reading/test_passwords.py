from collections.abc import Callable
from pathlib import Path

import pikepdf
import pytest
from reportlab.pdfgen.canvas import Canvas

from docmill.errors import CorruptError, EncryptedError
from docmill.ports import Original
from docmill.reading.child import tasks
from docmill.reading.convert import LocalConverter, PooledUnlocker
from docmill.reading.files.options import ReadingOptions
from docmill.reading.pdf import pdf_file
from docmill.workers.pool import Pool


def locked(path: Path, *, user: str = "häslein", owner: str = "boss") -> Path:
    plain = path.with_name("plain.pdf")
    canvas = Canvas(str(plain))
    canvas.drawString(50, 700, "hidden treasure")
    canvas.save()
    with pikepdf.open(plain) as document:
        document.save(path, encryption=pikepdf.Encryption(user=user, owner=owner))
    return path


def texts(path: Path, *passwords: str) -> list[str]:
    page = tasks.open_original(path, ReadingOptions(passwords=passwords)).pages[0]
    assert page is not None
    return page.words.texts


def test_without_a_password_one_is_asked_for(tmp_path: Path) -> None:
    with pytest.raises(EncryptedError, match="give the password"):
        texts(locked(tmp_path / "a.pdf"))


@pytest.mark.parametrize("passwords", [("häslein",), ("wrong", "häslein"), ("boss",)])
def test_the_first_password_that_fits_opens_the_file(tmp_path: Path, passwords: tuple[str, ...]) -> None:
    assert texts(locked(tmp_path / "a.pdf"), *passwords) == ["hidden", "treasure"]


def test_a_wrong_password_is_called_wrong(tmp_path: Path) -> None:
    with pytest.raises(EncryptedError, match="does not open"):
        texts(locked(tmp_path / "a.pdf"), "wrong")


def test_an_owner_s_password_alone_keeps_nobody_from_reading(tmp_path: Path) -> None:
    path = locked(tmp_path / "a.pdf", user="")

    assert texts(path) == ["hidden", "treasure"]
    assert tasks.unlock(path, "any") is None


def test_passwords_show_in_no_representation() -> None:
    assert "secret" not in repr(ReadingOptions(passwords=("secret",)))


def test_an_unlocked_copy_needs_no_password_and_is_always_the_same(tmp_path: Path) -> None:
    path = locked(tmp_path / "a.pdf")

    copy = tasks.unlock(path, "häslein")

    assert copy is not None
    (tmp_path / "copy.pdf").write_bytes(copy)
    assert texts(tmp_path / "copy.pdf") == ["hidden", "treasure"]
    assert tasks.unlock(path, "häslein") == copy


def test_nothing_is_unlocked_with_a_wrong_password(tmp_path: Path) -> None:
    with pytest.raises(EncryptedError, match="does not open"):
        tasks.unlock(locked(tmp_path / "a.pdf"), "wrong")


def test_other_files_are_left_as_they_are(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("open to all")

    assert tasks.unlock(tmp_path / "a.txt", "any") is None


async def test_unlocking_happens_in_a_child(tmp_path: Path) -> None:
    async with Pool(1) as pool:
        copy = await PooledUnlocker(pool).unlock(locked(tmp_path / "a.pdf"), "häslein")

    assert copy is not None
    assert copy.startswith(b"%PDF")


def test_what_pdfium_cannot_open_is_repaired(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = locked(tmp_path / "a.pdf", user="")
    open_pdf = pdf_file.pdfium.PdfDocument

    def refuse_files(source: Path | bytes, password: str | None = None) -> pdf_file.PdfDocument:
        if isinstance(source, bytes):  # what qpdf has repaired
            return open_pdf(source, password)
        raise pdf_file.pdfium.PdfiumError("format", err_code=pdf_file.raw.FPDF_ERR_FORMAT)

    monkeypatch.setattr(pdf_file.pdfium, "PdfDocument", refuse_files)

    assert texts(path) == ["hidden", "treasure"]


def test_what_nobody_can_repair_is_corrupt(tmp_path: Path) -> None:
    (tmp_path / "a.pdf").write_bytes(b"%PDF-1.7 " + b"\0" * 500)

    with pytest.raises(CorruptError, match="beyond repair"):
        texts(tmp_path / "a.pdf")


def test_a_pdf_without_pages_is_not_called_locked_after_one_that_is(tmp_path: Path) -> None:
    empty = tmp_path / "empty.pdf"
    with pikepdf.new() as document:
        document.save(empty)
    with pytest.raises(EncryptedError):
        texts(locked(tmp_path / "a.pdf"))

    with pytest.raises(CorruptError):
        texts(empty)


def test_what_is_encrypted_for_certain_people_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object) -> pdf_file.PdfDocument:
        raise pdf_file.pdfium.PdfiumError("security", err_code=pdf_file.raw.FPDF_ERR_SECURITY)

    monkeypatch.setattr(pdf_file.pdfium, "PdfDocument", refused)

    with pytest.raises(EncryptedError, match="certain people"):
        texts(locked(tmp_path / "a.pdf"), "häslein")


async def test_each_password_has_the_whole_time_for_opening(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    limits: dict[str, float] = {}
    passwords = ("one", "two", "häslein")
    original = Original(locked(tmp_path / "a.pdf"), "a.pdf", "0" * 64)
    async with Pool(1) as pool:
        run = pool.run

        async def watched(task: Callable[..., object], *arguments: object, limit_s: float) -> object:
            limits[task.__name__] = limit_s
            return await run(task, *arguments, limit_s=limit_s)

        monkeypatch.setattr(pool, "run", watched)
        await LocalConverter(pool, ReadingOptions(passwords=passwords, open_limit_s=20)).convert(original)

    assert limits["open_original"] == 60
