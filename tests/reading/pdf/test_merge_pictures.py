"""Words of a picture within a page of text: in reading order, where the picture stands."""

from dataclasses import replace
from pathlib import Path

import docx
import numpy as np
import pytest
from docx.shared import Inches

from docmill.model.document import Box, Page, Words
from docmill.ports import Original
from docmill.reading.child import tasks
from docmill.reading.convert import LocalConverter
from docmill.reading.files.options import ReadingOptions
from docmill.reading.layout.tables import add_tables
from docmill.reading.layout.typeset import FigureBlock, Paragraph, TableBlock, UnreadNote, set_on_pages
from docmill.reading.pdf.text_merging import FigurePlace, merge_figure
from docmill.workers.pool import Pool

PLACE = FigurePlace(1, 1, Box(0.2, 0.3, 0.6, 0.5))


def seen(*texts: str, box: Box = Box(0, 0, 0.5, 0.25), rotation: int = 0) -> Page:  # noqa: B008 - immutable
    boxes = np.array(
        [(box.x0, box.y0 + index / 4, box.x1, box.y1 + index / 4) for index in range(len(texts))],
        np.float32,
    )
    count = np.arange(len(texts), dtype=np.int32)
    words = Words(list(texts), boxes.reshape(-1, 4), np.full(len(texts), 0.5, np.float32), count, count)
    return Page(1, 100, 100, words, source="ocr", quality=0.5, rotation=rotation, engine="rapidocr")


def page(*blocks: Paragraph | TableBlock) -> Page:
    (made,) = set_on_pages(blocks).pages
    return made


def test_words_stand_between_those_above_and_below_the_picture() -> None:
    text = page(Paragraph("above\n" + "\n" * 30 + "below"))

    both = merge_figure(text, PLACE, seen("one", "two"))

    assert both.text.split() == ["above", "one", "two", "below"]
    assert both.words.lines.tolist() == [0, 1, 2, 3]
    assert both.words.box(1, 2) == pytest.approx((0.2, 0.3, 0.4, 0.35))
    assert (both.source, both.quality, both.engine) == ("ocr", 0.75, "rapidocr")


@pytest.mark.parametrize(
    ("rotation", "box"),
    [
        (90, (0.2, 0.4, 0.3, 0.5)),
        (180, (0.4, 0.45, 0.6, 0.5)),
        (270, (0.5, 0.3, 0.6, 0.4)),
    ],
)
def test_words_of_a_picture_that_had_to_be_turned_lie_on_it_as_it_is_shown(
    rotation: int, box: tuple[float, ...]
) -> None:
    both = merge_figure(page(Paragraph("")), PLACE, seen("one", rotation=rotation))

    assert both.words.box(0, 1) == pytest.approx(box)


def test_tables_around_and_in_a_picture_keep_their_words() -> None:
    text = page(Paragraph("top" + "\n" * 30), TableBlock([["article", "price"], ["chair", "5.00"]]))
    place = PLACE._replace(box=Box(0.1, 0.1, 0.9, 0.15))
    shown = add_tables(page(TableBlock([["a", "b", "c"], ["d", "1.00", "2.00"], ["e", "3.00", "4.00"]])))

    both = merge_figure(text, place, replace(shown, source="ocr"))

    texts = [table.texts(both.words) for table in both.tables]
    assert texts[0][0] == ["a", "b", "c"]
    assert texts[1] == [["article", "price"], ["chair", "5.00"]]
    assert both.tables[0].box.y1 <= 0.15


def test_a_picture_that_says_little_leaves_the_page_one_of_text() -> None:
    both = merge_figure(page(Paragraph("word " * 60)), PLACE, seen("one"))

    assert both.source == "text"
    assert both.quality == pytest.approx(1 - 0.5 / 61)


def test_a_picture_without_words_changes_nothing_and_one_that_failed_is_said() -> None:
    text = page(Paragraph("text"))
    broken = tasks.broken_page(1, "too dark")

    assert merge_figure(text, PLACE, seen()) is text
    assert merge_figure(text, PLACE, broken).problem == "a picture on this page was not read: too dark"
    assert merge_figure(replace(text, problem="a"), PLACE, broken).problem == (
        "a; a picture on this page was not read: too dark"
    )


def test_a_picture_takes_its_room_and_no_more_than_a_page() -> None:
    blocks = [
        Paragraph("a\n" * 20),
        FigureBlock(b"one", 200, 300),
        FigureBlock(b"two", 900, 4000),
        Paragraph("b"),
    ]

    pages, figures = set_on_pages(blocks)

    assert [figure.page_number for figure in figures] == [1, 2]
    assert (pages[0].words.boxes[:, 3] <= figures[0].box.y0).all()
    assert figures[1].box.y1 == pytest.approx(1 - 48 / 842)
    assert pages[2].text == "b"


def test_a_page_says_once_what_is_not_read_on_it() -> None:
    pages = set_on_pages(
        [UnreadNote("an EMF"), Paragraph("a"), UnreadNote("an EMF"), UnreadNote("a WMF")]
    ).pages

    assert [(one.text, one.problem, one.source) for one in pages] == [("a", "an EMF; a WMF", "text")]
    (alone,) = set_on_pages([UnreadNote("an EMF")]).pages
    assert (alone.source, alone.quality) == ("none", 0)


async def test_a_scan_pasted_into_a_letter_is_read(picture_of_text: Path, tmp_path: Path) -> None:
    document = docx.Document()
    document.add_paragraph("Please see the scan:")
    document.add_picture(str(picture_of_text), width=Inches(6))
    document.add_paragraph("Kind regards")
    path = tmp_path / "letter.docx"
    document.save(str(path))

    async with Pool(1) as pool:
        read = await LocalConverter(pool, ReadingOptions()).convert(Original(path, path.name, "a" * 64))

    (both,) = read.pages
    lines = both.text.splitlines()
    assert lines[0] == "Please see the scan:"
    assert "357,00" in lines[-2]
    assert lines[-1] == "Kind regards"
    assert both.source == "ocr"
