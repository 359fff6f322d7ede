"""`LocalConverter` on real children: what a file becomes, and what becomes of a bad one."""

import base64
import io
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar, TypeVarTuple, cast

import pikepdf
import pytest
from PIL import Image, ImageDraw, ImageFont
from reportlab.pdfgen.canvas import Canvas

from docmill.errors import (
    CorruptError,
    CrashedError,
    EncryptedError,
    TimeLimitError,
    TooLargeError,
    UnsupportedFileTypeError,
)
from docmill.model.document import Document, Page
from docmill.page_journal import JournalOfPages
from docmill.pipeline import DocumentIO, process
from docmill.ports import Original, Ref
from docmill.reading.child import tasks
from docmill.reading.convert import LocalConverter
from docmill.reading.engines.engine import PageRequest
from docmill.reading.files.options import ReadingOptions
from docmill.reading.images.kept_scans import KeptScan
from docmill.reading.pdf import pdf_file
from docmill.reading.text.quality import dominant_language
from docmill.resilience.time_limits import TimeLimit
from docmill.runs.folder_files import FolderReader
from docmill.runs.in_memory import MemoryExporter, MemoryJournal
from docmill.wiring import steps_for
from docmill.workers.pool import Pool
from docmill.workers.replies import OutOfMemoryError

MakePdf = Callable[..., Path]
Arguments = TypeVarTuple("Arguments")
Result = TypeVar("Result")


async def convert(pool: Pool, path: Path, options: ReadingOptions | None = None) -> Document:
    return await LocalConverter(pool, options).convert(Original(path, path.name, "a" * 64))


def draw_word(text: str) -> Callable[[Canvas], None]:
    return lambda canvas: canvas.drawString(50, 700, text)


async def test_pages_with_text_come_in_order_over_several_tasks(pool: Pool, make_pdf: MakePdf) -> None:
    path = make_pdf(*(draw_word(f"page{number}") for number in range(1, 8)))

    document = await convert(pool, path, ReadingOptions(pages_per_task=3))

    assert document.text.split() == [f"page{number}" for number in range(1, 8)]
    assert [page.number for page in document.pages] == list(range(1, 8))
    assert (document.media_type, document.content_hash) == ("application/pdf", "a" * 64)


async def test_a_text_in_an_old_code_page_is_read_with_all_that_a_child_may_do(
    pool: Pool, tmp_path: Path
) -> None:
    path = tmp_path / "rachunek.txt"
    path.write_bytes("Cena usługi: 12,50 €, zapłacono gotówką".encode("cp1250"))

    document = await convert(pool, path)

    assert document.text.split() == ["Cena", "usługi:", "12,50", "€,", "zapłacono", "gotówką"]


@pytest.fixture
def scan(tmp_path: Path) -> Path:
    image = Image.new("RGB", (640, 240), "white")
    draw = ImageDraw.Draw(image)
    font = ImageFont.load_default(36)
    draw.text((30, 40), "TOTAL", "black", font)
    draw.text((450, 40), "12.50", "black", font)
    draw.text((30, 140), "Thank you", "black", font)
    path = tmp_path / "scan.png"
    image.save(path)
    return path


async def test_a_picture_is_recognised_row_by_row(pool: Pool, scan: Path) -> None:
    document = await convert(pool, scan)

    (page,) = document.pages
    assert [line.text.split() for line in page.lines] == [["TOTAL", "12.50"], ["Thank", "you"]]
    assert (page.source, page.rotation) == ("ocr", 0)
    assert page.quality > 0.8
    x0, y0, x1, y1 = page.words.box(1, 2)
    assert (x0, x1) == pytest.approx((450 / 640, 550 / 640), abs=0.03)
    assert y0 < 60 / 240 < y1


async def test_a_page_without_text_is_recognised_beside_pages_with_text(
    pool: Pool, make_pdf: MakePdf, scan: Path
) -> None:
    def draw_scan(canvas: Canvas) -> None:
        canvas.drawInlineImage(  # pyright: ignore[reportUnknownMemberType] - its picture may be many things
            str(scan), 50, 500, 480, 180
        )

    path = make_pdf(draw_word("typed"), draw_scan)

    document = await convert(pool, path)

    assert [page.source for page in document.pages] == ["text", "ocr"]
    assert document.find("TOTAL 12.50")[0].page_number == 2


async def test_a_broken_page_leaves_the_others_readable(pool: Pool, make_pdf: MakePdf) -> None:
    path = make_pdf(draw_word("first"), draw_word("second"))
    content = path.read_bytes()
    path.write_bytes(content.replace(b"/Count 2", b"/Count 3"))

    document = await convert(pool, path)

    assert [page.source for page in document.pages] == ["text", "text", "none"]
    assert document.pages[2].problem == "the page is damaged"


BROKEN: list[Callable[[pikepdf.Pdf, Any], None]] = [
    lambda _, page: page.obj.__setitem__("/Type", pikepdf.Name.Font),
    lambda pdf, page: page.obj.__setitem__("/Contents", pikepdf.Stream(pdf, b"\xff\x00 neither text")),
    lambda pdf, page: page.obj.__setitem__("/Contents", pikepdf.Array([pikepdf.Stream(pdf, b"hello there")])),
    lambda _, page: page.obj.__setitem__("/Contents", pikepdf.String("what is this")),
    lambda _, page: page.obj.__setitem__("/Contents", pikepdf.Array([None, pikepdf.Dictionary(A=1)])),
    lambda _, page: page.obj.__setitem__("/Contents", pikepdf.Array([None])),
    lambda _, page: page.obj.__delitem__("/Contents"),
    lambda _, page: page.Contents.write(b"\x78\x9c not deflated", filter=pikepdf.Name.FlateDecode),
]


@pytest.fixture
def with_seventh_page(make_pdf: MakePdf) -> Callable[[Callable[[pikepdf.Pdf, Any], None]], Path]:
    def make(damage: Callable[[pikepdf.Pdf, Any], None]) -> Path:
        path = make_pdf(*(draw_word(f"Invoice page{number}") for number in range(1, 10)))
        with pikepdf.open(path, allow_overwriting_input=True) as whole:
            damage(whole, whole.pages[6])
            whole.save(path)
        return path

    return make


@pytest.mark.parametrize("damage", BROKEN)
def test_a_page_that_cannot_be_made_out_says_so(
    with_seventh_page: Callable[..., Path], damage: Callable[[pikepdf.Pdf, Any], None]
) -> None:
    pages = tasks.open_original(with_seventh_page(damage), ReadingOptions()).pages

    assert [page and page.problem for page in pages] == [None] * 6 + ["the page is damaged"] + [None] * 2


async def test_of_a_file_whose_seventh_page_is_broken_the_others_are_understood(
    pool: Pool,
    with_seventh_page: Callable[..., Path],
) -> None:
    path = with_seventh_page(BROKEN[1])
    patient = ReadingOptions(open_limit_s=60)
    steps = steps_for(pool, reading=patient)
    io = DocumentIO(FolderReader(path), MemoryExporter(), MemoryJournal())

    document = (await process(Ref(path.name, path.name), steps, io)).document

    assert document is not None
    assert [(page.number, page.problem) for page in document.pages if page.source == "none"] == [
        (7, "the page is damaged")
    ]
    assert [hit.page_number for hit in document.find("Invoice")] == [1, 2, 3, 4, 5, 6, 8, 9]


def test_a_page_that_is_empty_is_not_broken(make_pdf: MakePdf) -> None:
    path = make_pdf(draw_word("first"), draw_word(" "), draw_word(""))
    with pikepdf.open(path, allow_overwriting_input=True) as whole:
        whole.add_blank_page()
        whole.pages[2].obj["/Contents"] = pikepdf.Stream(whole, b"q Q " * 10_000)
        whole.save(path, encryption=pikepdf.Encryption(user="häslein", owner="boss"))

    opened = tasks.open_original(path, ReadingOptions(passwords=("wrong", "häslein")))

    assert [page and page.problem for page in opened.pages] == [None] * 4


def test_what_cannot_be_looked_into_again_is_not_called_broken(tmp_path: Path) -> None:
    (tmp_path / "bad.pdf").write_bytes(b"%PDF-1.7 but nothing else")

    assert pdf_file.unreadable_pages(tmp_path / "bad.pdf", [1], ()) == []


async def test_a_file_of_which_no_page_can_be_read_is_corrupt(pool: Pool, make_pdf: MakePdf) -> None:
    path = make_pdf(draw_word("lost"))
    content = path.read_bytes()
    path.write_bytes(content.replace(b"/Kids [ 3 0 R ]", b"/Kids [       ]"))

    with pytest.raises(CorruptError, match="no page can be read: the page is damaged") as caught:
        await convert(pool, path)
    assert caught.value.media_type == "application/pdf"


async def test_every_kind_of_refusal_has_its_type(pool: Pool, make_pdf: MakePdf, tmp_path: Path) -> None:
    long = make_pdf(*[draw_word("page")] * 3)
    locked = tmp_path / "locked.pdf"
    canvas = Canvas(str(locked), encrypt="secret")
    canvas.showPage()
    canvas.save()
    letter = tmp_path / "letter.pdf"
    letter.write_bytes(b"MZ\x90\0 a program")

    with pytest.raises(TooLargeError, match="3 pages"):
        await convert(pool, long, ReadingOptions(max_pages=2))
    with pytest.raises(EncryptedError) as protected:
        await convert(pool, locked)
    assert protected.value.media_type == "application/pdf"
    with pytest.raises(UnsupportedFileTypeError, match="do not start it; ask whoever sent it") as refusal:
        await convert(pool, letter)
    assert refusal.value.media_type == "application/x-msdownload"


async def test_a_page_that_takes_too_long_ends_the_reading(pool: Pool, scan: Path) -> None:
    with pytest.raises(TimeLimitError):
        await convert(pool, scan, ReadingOptions(ocr_limit_s=0.001))


class Forgetful(Pool):
    """A pool whose processes run out of memory as often as told when they recognise."""

    def __init__(self, *, times: int) -> None:
        super().__init__(1)
        self.times = times

    async def run(
        self, function: Callable[[*Arguments], Result], *args: *Arguments, limit_s: float
    ) -> Result:
        if function is tasks.recognise_picture and self.times:
            self.times -= 1
            raise OutOfMemoryError("too much")
        return await super().run(function, *args, limit_s=limit_s)


class Preprocessing:
    """`PageReader` that reads even pages in a preprocessed picture, if it says so."""

    name = "scripted"
    at_once = 1

    def __init__(self, words: Page) -> None:
        self._words = words
        self.shown: list[Path | bytes] = []

    async def read(self, request: PageRequest, so_far: Page | None) -> Page:
        assert so_far is None
        self.shown.append(request.source)
        page = replace(self._words, number=request.number, engine=self.name, source="ocr")
        if request.number % 2 == 0:
            request.scans.add(page, KeptScan(b"picture of %d" % request.number, 30, 40))
        return page


def pages_kept_in(journal: MemoryJournal) -> JournalOfPages:
    return JournalOfPages(journal, "", TimeLimit(600), page_s=10)


async def test_pictures_that_pages_were_read_in_are_kept_for_the_document(
    pool: Pool, tmp_path: Path, make_document: Callable[..., Document]
) -> None:
    frames = [Image.new("L", (40, 30), shade) for shade in (50, 100, 150, 200)]
    frames[0].save(tmp_path / "scan.tiff", save_all=True, append_images=frames[1:])
    reader = Preprocessing(make_document("Total").pages[0])

    original = Original(tmp_path / "scan.tiff", "scan.tiff", "a" * 64)
    journal = pages_kept_in(kept := MemoryJournal())
    document = await LocalConverter(pool, readers=[reader]).convert(original, journal)

    assert [page.preprocessed for page in document.pages] == [False, True, False, True]
    with pikepdf.open(io.BytesIO(await kept.get("preprocessed") or b"")) as pictures:
        assert [page.label for page in pictures.pages] == ["2", "4"]
        assert pictures.pages[1].Resources["/XObject"]["/P"].read_raw_bytes() == b"picture of 4"


class Answering(Pool):
    """A pool whose processes recognise what they are told."""

    def __init__(self, answer: tasks.Recognition) -> None:
        super().__init__(1)
        self._told = answer

    async def run(
        self, function: Callable[[*Arguments], Result], *args: *Arguments, limit_s: float
    ) -> Result:
        if function is tasks.recognise_picture:
            return cast("Result", self._told)
        return await super().run(function, *args, limit_s=limit_s)


async def test_the_picture_that_a_child_hands_over_is_kept_for_the_document(
    scan: Path, make_document: Callable[..., Document]
) -> None:
    page = replace(make_document("Total").pages[0], engine="rapidocr", source="ocr")
    async with Answering(tasks.Recognition(page, KeptScan(b"picture", 30, 40))) as pool:
        original = Original(scan, scan.name, "a" * 64)
        document = await LocalConverter(pool).convert(original, pages_kept_in(kept := MemoryJournal()))

    assert document.pages[0].preprocessed
    assert b"picture" in (await kept.get("preprocessed") or b"")


async def test_a_picture_within_a_page_is_kept_under_the_number_of_the_page(
    pool: Pool, tmp_path: Path, make_document: Callable[..., Document]
) -> None:
    reader = Preprocessing(make_document("Total").pages[0])
    pictures = [_letters(seed) for seed in (1, 2)]
    encoded = [base64.b64encode(picture).decode() for picture in pictures]
    page = "".join(f'<p>text</p><img src="data:image/png;base64,{picture}">' for picture in encoded)
    (tmp_path / "page.html").write_text(f"<html><body>{page}</body></html>")

    original = Original(tmp_path / "page.html", "page.html", "a" * 64)
    journal = pages_kept_in(stored := MemoryJournal())
    document = await LocalConverter(pool, readers=[reader]).convert(original, journal)

    assert reader.shown == pictures  # and the file was not parsed again for each
    assert [page.preprocessed for page in document.pages] == [False, True]
    with pikepdf.open(io.BytesIO(await stored.get("preprocessed") or b"")) as kept:
        assert [page.label for page in kept.pages] == ["2"]


def _letters(seed: int) -> bytes:
    """A picture as high as a page, with enough spots of a letter's size."""
    image = Image.new("RGB", (600, 800), "white")
    draw = ImageDraw.Draw(image)
    for index in range(60):
        x, y = 20 + 50 * (index % 10), 20 + 60 * (index // 10)
        draw.rectangle((x, y, x + 8 + seed, y + 14), fill="black")
    file = io.BytesIO()
    image.save(file, "PNG")
    return file.getvalue()


async def test_a_page_is_read_again_in_a_fresh_process_when_memory_ran_out(scan: Path) -> None:
    async with Forgetful(times=1) as pool:
        document = await convert(pool, scan)

    assert document.pages[0].source == "ocr"


async def test_a_page_that_needs_too_much_memory_says_so(scan: Path) -> None:
    async with Forgetful(times=2) as pool:
        with pytest.raises(CorruptError, match="more memory than is allowed"):
            await convert(pool, scan)


async def test_a_process_that_ran_out_of_memory_is_replaced(pool: Pool) -> None:
    before = await pool.run(os.getpid, limit_s=30)

    with pytest.raises(OutOfMemoryError):
        await pool.run(bytearray, 10**11, limit_s=30)

    assert await pool.run(os.getpid, limit_s=30) != before


async def test_a_document_knows_its_language(pool: Pool, make_pdf: MakePdf) -> None:
    path = make_pdf(draw_word("Die Rechnung ist zahlbar innerhalb von dreißig Tagen ohne Abzug."))

    assert (await convert(pool, path)).language == "de"


class Speechless(Pool):
    """A pool that cannot tell languages."""

    async def run(
        self, function: Callable[[*Arguments], Result], *args: *Arguments, limit_s: float
    ) -> Result:
        if function is dominant_language:
            raise CrashedError("it died")
        return await super().run(function, *args, limit_s=limit_s)


async def test_a_document_whose_language_cannot_be_told_is_still_read(make_pdf: MakePdf) -> None:
    async with Speechless(1) as pool:
        document = await convert(pool, make_pdf(draw_word("Rechnung")))

    assert (document.text.split(), document.language) == (["Rechnung"], None)
