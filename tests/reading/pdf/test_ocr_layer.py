"""Invisible text under scans: believed, doubted, and put together with what is recognised."""

import codecs
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pikepdf
import pytest
from PIL import Image, ImageDraw
from reportlab.lib.colors import Color
from reportlab.pdfgen.canvas import Canvas
from reportlab.pdfgen.textobject import PDFTextObject

from docmill.model.document import Page, Words
from docmill.reading.pdf import pdf_file, text_merging
from docmill.reading.pdf.text_layer import Layer, page_from_layer
from docmill.reading.pdf.text_runs import NO_RUNS, certain_runs

MakePdf = Callable[..., Path]
LINES = ["Invoice number 4711", "Total amount due 12.00", "Thank you for your order"] * 3
IDENTITY = b"""/CIDInit /ProcSet findresource begin 12 dict begin begincmap /CMapName /I def /CMapType 2 def
1 begincodespacerange <00> <ff> endcodespacerange 1 beginbfrange <20> <7e> <0020> endbfrange
endcmap CMapName currentdict /CMap defineresource pop end end"""
A4 = np.array([595, 842], np.float32)


Style = Callable[[PDFTextObject], object]


def invisible(text: PDFTextObject) -> None:
    text.setTextRenderMode(3)


def white_beside_the_ink(text: PDFTextObject) -> None:
    text.setFillGray(1)  # pyright: ignore[reportUnknownMemberType]
    text.moveCursor(320, 0)


def transparent(text: PDFTextObject) -> None:
    text.setFillColor(Color(0, 0, 0, alpha=0))  # pyright: ignore[reportUnknownMemberType]


def black(text: PDFTextObject) -> None:
    text.setFillGray(0)  # pyright: ignore[reportUnknownMemberType]


def scan(layer: list[str], style: Style = invisible, *, strips: int = 1) -> Callable[[Canvas], None]:
    """A picture of nine lines with a text layer over it. strips: pieces of the picture."""
    picture = Image.new("L", (1190, 1680), 255)
    pen = ImageDraw.Draw(picture)
    for row, line in enumerate(LINES):
        pen.text((100, 100 + 60 * row), line, font_size=40)

    def draw(canvas: Canvas) -> None:
        height = 1680 // strips
        for strip in range(strips):
            part = picture.crop((0, height * strip, 1190, height * (strip + 1)))
            y = 842 - 842 / strips * (strip + 1)
            canvas.drawInlineImage(part, 0, y, 595, 842 / strips)  # pyright: ignore[reportUnknownMemberType]
        for row, line in enumerate(layer):
            text = canvas.beginText(50, 842 - 66 - 30 * row)
            text.setFont("Helvetica", 20)
            style(text)
            text.textLine(line)
            canvas.drawText(text)

    return draw


def read_layer(path: Path) -> Layer:
    with pdf_file.open_document(path) as document, pdf_file.open_page(document, 1) as page:
        return text_merging.read_sound_layer(page, 1)


def text_page(path: Path) -> Page | None:
    with pdf_file.open_document(path) as document, pdf_file.open_page(document, 1) as page:
        return text_merging.text_page(page, 1)


@pytest.mark.parametrize("strips", [1, 4])
@pytest.mark.parametrize("style", [invisible, transparent, white_beside_the_ink])
def test_text_that_leaves_no_mark_on_a_scan_is_an_earlier_recognition(
    make_pdf: MakePdf, style: Style, strips: int
) -> None:
    path = make_pdf(scan(LINES, style, strips=strips))

    layer = read_layer(path)

    assert text_page(path) is None
    assert layer.scanned.texts[:3] == ["Invoice", "number", "4711"]
    assert (layer.upright.texts, layer.missing) == ([], "everything")


def test_text_in_a_font_without_outlines_is_an_earlier_recognition(make_pdf: MakePdf) -> None:
    path = make_pdf(scan(LINES))
    with pikepdf.open(path, allow_overwriting_input=True) as pdf:
        page = pdf.pages[0]
        glyphless = pikepdf.Dictionary(
            Type=pikepdf.Name.Font,
            Subtype=pikepdf.Name.Type3,
            FontBBox=[0, 0, 1000, 1000],
            FontMatrix=[0.001, 0, 0, 0.001, 0, 0],
            CharProcs=pikepdf.Dictionary(blank=pikepdf.Stream(pdf, b"500 0 d0")),
            Encoding=pikepdf.Dictionary(
                Type=pikepdf.Name.Encoding, Differences=[32, *[pikepdf.Name.blank] * 95]
            ),
            FirstChar=32,
            LastChar=126,
            Widths=[500] * 95,
            ToUnicode=pikepdf.Stream(pdf, IDENTITY),
        )
        for name in list(page.Resources.Font.keys()):
            page.Resources.Font[name] = pdf.make_indirect(glyphless)
        page.contents_coalesce()
        page.Contents.write(page.Contents.read_bytes().replace(b"3 Tr", b"0 Tr"))
        pdf.save(path)

    layer = read_layer(path)

    assert (layer.upright.texts, layer.scanned.texts[:2]) == ([], ["Invoice", "number"])


@pytest.mark.parametrize("turn", [90, 180, 270])
@pytest.mark.parametrize("style", [invisible, transparent])
def test_a_layer_is_noticed_on_a_page_that_is_stored_turned(
    make_pdf: MakePdf, style: Style, turn: int
) -> None:
    path = make_pdf(scan(LINES, style))
    with pikepdf.open(path, allow_overwriting_input=True) as pdf:
        pdf.pages[0].Rotate = turn
        pdf.save(path)

    layer = read_layer(path)

    assert layer.upright.texts == [text for part in layer.sideways for text in part.texts] == []
    assert sorted(layer.scanned.texts) == sorted(" ".join(LINES).split())


def test_what_the_scanner_printed_visibly_stays_beside_the_layer(make_pdf: MakePdf) -> None:
    def stamped(canvas: Canvas) -> None:
        canvas.saveState()  # pyright: ignore[reportUnknownMemberType]
        scan(LINES)(canvas)
        canvas.restoreState()  # pyright: ignore[reportUnknownMemberType]
        canvas.drawString(300, 100, "Scanned 2026-11-28")

    layer = read_layer(make_pdf(stamped))

    assert layer.upright.texts == ["Scanned", "2026-11-28"]
    assert len(layer.scanned.texts) == len(" ".join(LINES).split())
    seen = Page(1, 595, 842, Words.none(), source="ocr", quality=0.9)
    page = text_merging.merge_reading(layer, seen)
    assert {"Scanned", "Invoice"} <= set(page.words.texts)


def test_of_two_layers_over_each_other_neither_replaces_what_was_read(make_pdf: MakePdf) -> None:
    def doubled(canvas: Canvas) -> None:
        scan(LINES)(canvas)
        scan(["Invo1ce nunnber 47ll", "TotaI arnount 12.00"])(canvas)

    layer = read_layer(make_pdf(doubled))
    single = read_layer(make_pdf(scan(LINES), name="single.pdf"))
    seen = replace(page_from_layer(single), source="ocr", quality=0.9)

    assert len(layer.scanned.texts) > len(single.scanned.texts)
    assert text_merging.merge_reading(layer, seen).words.texts == seen.words.texts


def test_print_over_a_picture_that_fills_the_page_stays_as_it_is(make_pdf: MakePdf) -> None:
    page = text_page(make_pdf(scan(["Paid in full with many thanks for your kind order of May"] * 3, black)))

    assert page is not None
    assert (page.words.texts[:3], page.source, page.quality) == (["Paid", "in", "full"], "text", 1)


def test_printed_text_that_makes_no_sense_is_doubted(make_pdf: MakePdf) -> None:
    assert text_page(make_pdf(nonsense)) is None


def nonsense(canvas: Canvas) -> None:
    canvas.drawString(50, 700, '"7+%- (#)+ -/* $%&')


LETTER = (
    "We thank you for your kind order and deliver the following goods to your address in the next days.",
    "Please pay the amount within fourteen days after receipt of this letter, without any deduction.",
    "The goods remain our property until they are paid. Complaints are accepted within one week only.",
)
SHIFTED = [codecs.encode(line, "rot13") for line in LETTER]


def set_lines(lines: Sequence[str]) -> Callable[[Canvas], None]:
    def draw(canvas: Canvas) -> None:
        for row, line in enumerate(lines):
            canvas.drawString(20, 700 - 30 * row, line)

    return draw


def test_printed_text_in_no_language_is_compared_with_what_the_page_shows(make_pdf: MakePdf) -> None:
    path = make_pdf(set_lines(SHIFTED))
    layer = read_layer(path)
    stated = page_from_layer(layer)
    shown = replace(stated, words=replace(stated.words, texts=" ".join(LETTER).split()), source="ocr")

    assert text_page(path) is None
    confirmed = text_merging.merge_reading(layer, stated)
    assert (confirmed.words.texts, confirmed.source, confirmed.layer_doubt) == (
        stated.words.texts,
        "text",
        None,
    )
    believed = text_merging.merge_reading(layer, shown)
    assert (believed.words.texts, believed.layer_doubt) == (shown.words.texts, "nonsense")


def test_printed_text_in_a_language_needs_no_recognition(make_pdf: MakePdf) -> None:
    page = text_page(make_pdf(set_lines(LETTER)))

    assert page is not None
    assert page.words.texts == " ".join(LETTER).split()


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
