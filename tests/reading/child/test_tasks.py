"""What children do, in this process."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from reportlab.pdfgen.canvas import Canvas

from docmill.errors import CorruptError, TooLargeError
from docmill.reading.child import tasks
from docmill.reading.files.options import ReadingOptions
from docmill.reading.ocr.page import RecognisedLines
from docmill.reading.text.quality import page_quality

MakePdf = Callable[..., Path]
OPTIONS = ReadingOptions()


class OneLine:
    """`Engine` that sees the same everywhere, unless it runs out of memory."""

    def __init__(self, *, memory: bool = True) -> None:
        self._memory = memory

    def recognise(self, _: object) -> RecognisedLines:
        if not self._memory:
            raise MemoryError
        corners = np.array([[[0, 0], [20, 0], [20, 10], [0, 10]]], np.float32)
        return RecognisedLines(["ab"], corners, np.array([0.5], np.float32))


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> Callable[[OneLine], None]:
    def use(engine: OneLine) -> None:
        def chosen(_name: str, _options: ReadingOptions) -> OneLine:
            return engine

        monkeypatch.setattr(tasks, "local_engine", chosen)

    return use


def typed(canvas: Canvas) -> None:
    canvas.drawString(50, 700, "Total")


def drawn(canvas: Canvas) -> None:
    canvas.rect(50, 50, 100, 100)


def test_a_first_look_brings_the_first_pages(make_pdf: MakePdf) -> None:
    opened = tasks.open_original(make_pdf(typed, drawn, typed), ReadingOptions(pages_per_task=2))

    assert (opened.media_type, opened.page_count) == ("application/pdf", 3)
    assert [page and page.text.strip() for page in opened.pages] == ["Total", None]


def test_a_picture_is_all_to_be_recognised(tmp_path: Path) -> None:
    Image.new("L", (40, 20)).save(tmp_path / "a.png")

    assert tasks.open_original(tmp_path / "a.png", OPTIONS) == ("image/png", 1, [None], (), ())


def test_too_many_pages_are_refused(make_pdf: MakePdf) -> None:
    with pytest.raises(TooLargeError, match="3 pages, more than 2"):
        tasks.open_original(make_pdf(typed, typed, typed), ReadingOptions(max_pages=2))


def test_a_pdf_without_pages_is_corrupt(tmp_path: Path) -> None:
    path = tmp_path / "empty.pdf"
    path.write_bytes(
        b"%PDF-1.4\n1 0 obj\n<</Type /Catalog /Pages 2 0 R>>\nendobj\n"
        b"2 0 obj\n<</Type /Pages /Kids [] /Count 0>>\nendobj\ntrailer\n<</Root 1 0 R>>\n%%EOF\n"
    )

    with pytest.raises(CorruptError, match="damaged beyond repair"):
        tasks.open_original(path, OPTIONS)


def test_a_recognised_page_tells_where_its_words_stand(
    tmp_path: Path, engine: Callable[[OneLine], None]
) -> None:
    engine(OneLine())
    Image.new("L", (40, 20)).save(tmp_path / "a.png")

    page = tasks.recognise_picture(tmp_path / "a.png", "image/png", 1, OPTIONS, "rapidocr").page

    assert (page.source, page.quality, page.words.texts) == ("ocr", page_quality(page.words), ["ab"])
    assert page.words.boxes.tolist() == [[0, 0, 0.5, 0.5]]


def test_a_page_of_a_pdf_is_drawn_to_be_recognised(
    make_pdf: MakePdf, engine: Callable[[OneLine], None]
) -> None:
    engine(OneLine())

    page = tasks.recognise_picture(make_pdf(typed, drawn), "application/pdf", 2, OPTIONS, "rapidocr").page

    assert (page.number, page.source, page.width_pt) == (2, "ocr", 595)


def test_lack_of_memory_is_for_the_process_to_tell(tmp_path: Path, engine: Callable[[OneLine], None]) -> None:
    engine(OneLine(memory=False))
    Image.new("L", (40, 20)).save(tmp_path / "a.png")

    with pytest.raises(MemoryError):
        tasks.recognise_picture(tmp_path / "a.png", "image/png", 1, OPTIONS, "rapidocr")


@pytest.mark.parametrize("keep", [True, False])
def test_the_picture_that_a_page_was_read_in_comes_with_it_where_it_is_to_be_kept(
    tmp_path: Path, engine: Callable[[OneLine], None], *, keep: bool
) -> None:
    class Reluctant(OneLine):
        looks = 0

        def recognise(self, _: object) -> RecognisedLines:
            self.looks += 1
            read = super().recognise(_)
            return replace(read, turn=0, scores=read.scores * (1 if self.looks == 1 else 1.9))

    engine(Reluctant())
    Image.new("L", (40, 20)).save(tmp_path / "a.png")
    options = ReadingOptions(keep_preprocessed=keep)

    picture = tasks.recognise_picture(tmp_path / "a.png", "image/png", 1, options, "rapidocr").picture

    assert (picture is not None) == keep


def test_a_broken_page_says_so(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(b"nothing")

    page = tasks.recognise_picture(tmp_path / "a.png", "image/png", 1, OPTIONS, "rapidocr").page

    assert (page.source, page.problem) == ("none", "the picture is damaged; save or scan it again")
