"""Invisible text under scans: believed, doubted, and put together with what is recognised."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageDraw
from reportlab.pdfgen.canvas import Canvas

from docmill.model.document import Page, Words
from docmill.reading.pdf import pdf_file, text_merging
from docmill.reading.pdf.text_layer import Layer
from docmill.reading.pdf.text_runs import NO_RUNS, certain_runs

MakePdf = Callable[..., Path]
LINES = ["Invoice number 4711", "Total amount due 12.00", "Thank you for your order"] * 3
A4 = np.array([595, 842], np.float32)


def scan(layer: list[str]) -> Callable[[Canvas], None]:
    """A picture of nine lines with invisible text over it."""
    picture = Image.new("L", (1190, 1684), 255)
    pen = ImageDraw.Draw(picture)
    for row, line in enumerate(LINES):
        pen.text((100, 100 + 60 * row), line, font_size=40)

    def draw(canvas: Canvas) -> None:
        canvas.drawInlineImage(picture, 0, 0, 595, 842)  # pyright: ignore[reportUnknownMemberType]
        for row, line in enumerate(layer):
            text = canvas.beginText(50, 842 - 66 - 30 * row)
            text.setTextRenderMode(3)
            text.setFont("Helvetica", 20)
            text.textLine(line)
            canvas.drawText(text)

    return draw


def text_page(path: Path) -> Page | None:
    with pdf_file.open_document(path) as document, pdf_file.open_page(document, 1) as page:
        return text_merging.text_page(page, 1)


def test_a_good_layer_is_kept(make_pdf: MakePdf) -> None:
    page = text_page(make_pdf(scan(LINES)))

    assert page is not None
    assert page.words.texts[:3] == ["Invoice", "number", "4711"]
    assert (page.source, page.quality > 0.85) == ("text", True)


@pytest.mark.parametrize("layer", [["lnv0ice 05t19t20 tHe ffituH-'*"] * 9, LINES[:4]])
def test_a_layer_of_nonsense_or_with_holes_is_doubted(make_pdf: MakePdf, layer: list[str]) -> None:
    assert text_page(make_pdf(scan(layer))) is None


def test_printed_text_that_makes_no_sense_is_doubted(make_pdf: MakePdf) -> None:
    assert text_page(make_pdf(nonsense)) is None


def nonsense(canvas: Canvas) -> None:
    canvas.drawString(50, 700, '"7+%- (#)+ -/* $%&')


def words(*texts: str, y: float = 0.5, x: float = 0.1) -> Words:
    count = len(texts)
    left = x + 0.2 * np.arange(count)
    boxes = np.stack([left, np.full(count, y), left + 0.15, np.full(count, y + 0.02)], axis=1)
    none = np.zeros(count, np.int32)
    return Words(list(texts), boxes.astype(np.float32), np.full(count, 0.9, np.float32), none, none)


def recognised(*texts: str, **place: float) -> Page:
    return Page(1, 595, 842, words(*texts, **place), source="ocr", quality=0.9)


def placed(*texts: str, y: float = 0.5):  # noqa: ANN201 - as `certain_runs`
    boxes = words(*texts, y=y).boxes * np.tile(A4, 2)
    return certain_runs(list(texts), boxes, np.zeros(len(texts), np.int32))


def test_the_better_of_two_readings_is_kept() -> None:
    layer = Layer(1, A4, 0, scanned=placed("05t19t20", "tHe", "4711"), missing="everything")

    better = text_merging.merge_reading(layer, recognised("05/19/20", "the", "4711"))
    good = layer._replace(scanned=placed("Invoice", "number", "4711"))
    worse = text_merging.merge_reading(good, recognised("05t19t20"))

    assert (better.words.texts, better.source) == (["05/19/20", "the", "4711"], "ocr")
    assert (worse.words.texts, worse.source) == (["Invoice", "number", "4711"], "text")


def test_what_the_file_says_for_sure_replaces_what_was_recognised_there() -> None:
    layer = Layer(1, A4, 0, placed("Ada"), missing="everything", filled=placed("Ada").boxes)

    page = text_merging.merge_reading(layer, recognised("Acla", "Lovelace"))

    assert page.words.texts == ["Ada", "Lovelace"]
    assert page.words.confidences.tolist() == pytest.approx([1, 0.9])
    assert page.quality == pytest.approx(0.95)


def test_gaps_are_filled_and_nothing_else() -> None:
    layer = Layer(1, A4, 0, placed("Total", y=0.2), gaps=placed("12.00").boxes, missing="gaps")

    page = text_merging.merge_reading(layer, recognised("12.00", "noise"))

    assert page.words.texts == ["Total", "12.00"]


def test_what_was_recognised_on_a_turned_page_turns_what_the_file_says() -> None:
    layer = Layer(1, A4, 0, placed("Ada"), missing="everything")
    seen = Page(1, 842, 595, words("Lovelace", y=0.9), source="ocr", quality=0.9, rotation=90)

    page = text_merging.merge_reading(layer, seen)

    assert (page.rotation, sorted(page.words.texts)) == (90, ["Ada", "Lovelace"])
    x0, y0, x1, y1 = page.words.boxes[page.words.texts.index("Ada")]
    assert x1 - x0 == pytest.approx(0.02, abs=0.001)
    assert (y0, y1) == pytest.approx((0.1, 0.25), abs=0.001)


def test_a_page_that_cannot_be_recognised_keeps_what_it_says() -> None:
    broken = Page(1, 595, 842, Words.none(), source="none", quality=0, problem="the page is damaged")

    said = text_merging.merge_reading(Layer(1, A4, 0, placed("Ada"), missing="gaps"), broken)

    assert (said.words.texts, said.problem) == (["Ada"], "the page is damaged")
    assert text_merging.merge_reading(Layer(1, A4, 0, NO_RUNS, missing="everything"), broken) is broken


def test_a_page_without_any_text_is_what_was_recognised() -> None:
    seen = recognised("Total")

    assert text_merging.merge_reading(Layer(1, A4, 0, missing="everything"), seen) is seen
