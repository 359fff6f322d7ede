from collections.abc import Callable
from pathlib import Path

import numpy as np
import pikepdf
import pytest
from PIL import Image, ImageDraw
from reportlab.pdfgen.canvas import Canvas

from docmill.errors import CorruptError, EncryptedError
from docmill.model.document import Page
from docmill.reading.pdf import pdf_file, text_layer, text_merging

MakePdf = Callable[..., Path]
Draw = Callable[[Canvas], None]


def typed(text: str, x: float = 50, y: float = 700) -> Draw:
    return lambda canvas: canvas.drawString(x, y, text)


def a_box(canvas: Canvas) -> None:
    canvas.rect(50, 50, 100, 100)


def nothing(_: Canvas) -> None:
    pass


def read(path: Path, number: int = 1) -> Page | None:
    with pdf_file.open_document(path) as document, pdf_file.open_page(document, number) as page:
        return text_merging.text_page(page, number)


def text_of(path: Path) -> str:
    page = read(path)
    assert page is not None
    return page.text


def test_words_stand_where_they_were_printed(make_pdf: MakePdf) -> None:
    page = read(make_pdf(typed("Total", 59.5, 421)))

    assert page is not None
    assert page.words.texts == ["Total"]
    x0, y0, x1, y1 = page.words.boxes[0]
    assert x0 == pytest.approx(0.1, abs=0.005)
    assert y0 < 0.5 < y1 < 0.51
    assert 0.13 < x1 < 0.16
    assert (page.source, page.quality, page.rotation) == ("text", 1.0, 0)


def test_the_order_in_the_file_means_nothing(make_pdf: MakePdf) -> None:
    def draw(canvas: Canvas) -> None:
        canvas.drawString(300, 700, "12.00")
        canvas.drawString(50, 600, "below")
        canvas.drawString(50, 700, "Total")

    assert text_of(make_pdf(draw)).split() == ["Total", "12.00", "below"]


def test_columns_keep_their_gap(make_pdf: MakePdf) -> None:
    def draw(canvas: Canvas) -> None:
        canvas.drawString(50, 700, "Total amount")
        canvas.drawString(300, 700, "12.00")

    assert "Total amount     " in text_of(make_pdf(draw))


@pytest.mark.parametrize("rotation", [0, 90, 180, 270])
def test_a_stored_rotation_is_obeyed(make_pdf: MakePdf, rotation: int) -> None:
    def draw(canvas: Canvas) -> None:
        canvas.setPageRotation(rotation)  # stores the page so that it is displayed as A4 upright
        canvas.translate(*((421, 297.5) if rotation % 180 else (297.5, 421)))
        canvas.rotate(rotation)
        canvas.drawString(-200, 100, "Total amount")
        canvas.drawString(-200, -100, "below")

    page = read(make_pdf(draw))

    assert page is not None
    assert page.rotation == rotation
    assert page.words.texts == ["Total", "amount", "below"]
    assert page.words.boxes[0, 0] < page.words.boxes[1, 0]
    assert page.words.boxes[0, 1] < 0.5 < page.words.boxes[2, 1]
    assert (page.width_pt, page.height_pt) == (595, 842)


@pytest.mark.parametrize("angle", [90, 180, 270])
def test_text_written_sideways_turns_the_page(make_pdf: MakePdf, angle: int) -> None:
    def draw(canvas: Canvas) -> None:
        canvas.translate(297.5, 421)
        canvas.rotate(angle)
        canvas.drawString(-200, 100, "Total amount due")
        canvas.drawString(-200, -100, "below")

    page = read(make_pdf(draw))

    assert page is not None
    assert page.rotation == angle
    assert page.words.texts == ["Total", "amount", "due", "below"]


def test_words_printed_twice_count_once(make_pdf: MakePdf) -> None:
    def draw(canvas: Canvas) -> None:
        for shift in (0, 0.4):
            canvas.drawString(50 + shift, 700, "$38.25 and more")

    assert text_of(make_pdf(draw)).split() == ["$38.25", "and", "more"]


def test_a_label_that_runs_into_its_value_is_parted_from_it(make_pdf: MakePdf) -> None:
    def draw(canvas: Canvas) -> None:
        canvas.drawString(50, 700, "Advertiser Group")
        canvas.drawString(50 + canvas.stringWidth("Advertiser Group") - 5, 700, "Advertiser Inc")

    assert text_of(make_pdf(draw)).split() == ["Advertiser", "Group", "Advertiser", "Inc"]


def test_letters_set_apart_by_kerning_stay_one_word(make_pdf: MakePdf) -> None:
    def draw(canvas: Canvas) -> None:
        text = canvas.beginText(50, 700)
        text.setCharSpace(0.8)
        text.textOut("INVOICE")
        canvas.drawText(text)

    assert text_of(make_pdf(draw)).split() == ["INVOICE"]


def test_a_page_without_anything_on_it_is_empty_text(make_pdf: MakePdf) -> None:
    page = read(make_pdf(nothing))

    assert page is not None
    assert (page.source, len(page.words)) == ("text", 0)


def test_a_page_of_lines_alone_must_be_recognised(make_pdf: MakePdf) -> None:
    assert read(make_pdf(a_box)) is None


@pytest.mark.parametrize(("side", "recognised"), [(600, True), (100, False)])
def test_a_stamp_on_a_scan_does_not_stand_for_its_text(
    make_pdf: MakePdf,
    side: int,
    recognised: bool,  # noqa: FBT001 - a column of the table above
) -> None:
    def draw(canvas: Canvas) -> None:
        canvas.drawInlineImage(  # pyright: ignore[reportUnknownMemberType] - its picture may be many things
            Image.new("L", (10, 10), 200), 0, 100, side, side
        )
        canvas.drawString(50, 50, "Received 2026-11-21")

    assert (read(make_pdf(draw)) is None) == recognised


def test_a_password_is_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "locked.pdf"
    canvas = Canvas(str(path), encrypt="secret")
    canvas.drawString(50, 700, "hidden")
    canvas.save()

    with pytest.raises(EncryptedError, match="password"):
        read(path)


def test_a_broken_file_is_corrupt(tmp_path: Path) -> None:
    path = tmp_path / "broken.pdf"
    path.write_bytes(b"%PDF-1.4 and nothing else")

    with pytest.raises(CorruptError, match="damaged"):
        read(path)


def test_a_lost_header_is_put_back(make_pdf: MakePdf) -> None:
    path = make_pdf(typed("Total"))
    path.write_bytes(path.read_bytes().removeprefix(b"%PDF-1.4").lstrip())

    assert text_of(path).strip() == "Total"


def test_rendering_fits_the_picture(make_pdf: MakePdf) -> None:
    def draw(canvas: Canvas) -> None:
        canvas.setFillColorRGB(1, 0, 0)
        canvas.rect(0, 421, 595, 421, stroke=0, fill=1)

    path = make_pdf(draw)

    with pdf_file.open_document(path) as document, pdf_file.open_page(document, 1) as page:
        upright = pdf_file.render(page, (100, 1000))
        turned = pdf_file.render(page, (1000, 100), rotation=90)

    assert upright.pixels.shape == (142, 100, 3)
    assert upright.pixels[10, 50].tolist() == [255, 0, 0]
    assert turned.pixels.shape == (100, 142, 3)
    assert turned.pixels[50, 130].tolist() == [255, 0, 0]
    assert np.asarray(turned.pixels[50, 10]).tolist() == [255, 255, 255]
    assert (turned.width_pt, turned.rotation) == (842, 90)


@pytest.mark.parametrize("size", [(2**31, 200), (0.001, 0.001)])
def test_a_page_of_absurd_size_gives_a_small_picture(tmp_path: Path, size: tuple[float, float]) -> None:
    path = tmp_path / "absurd.pdf"
    canvas = Canvas(str(path), pagesize=size)
    canvas.rect(0, 0, 10, 10)
    canvas.save()

    with pdf_file.open_document(path) as document, pdf_file.open_page(document, 1) as page:
        assert pdf_file.render(page, (500, 500)).pixels.size <= 500 * 500 * 3


def test_a_stretch_that_stands_sideways_keeps_its_words(make_pdf: MakePdf) -> None:
    def draw(canvas: Canvas) -> None:
        for row in range(5):
            canvas.drawString(100, 700 - 20 * row, "An upright line of text")
        canvas.translate(40, 300)
        canvas.rotate(90)
        canvas.drawString(0, 0, "Form 12 revised")

    page = read(make_pdf(draw))

    assert page is not None
    assert page.rotation == 0
    assert page.words.texts[-3:] == ["Form", "12", "revised"]
    x0, y0, x1, y1 = page.words.boxes[-3]
    assert x1 - x0 < y1 - y0
    assert x0 < 40 / 595 < x1 + 0.01


def test_letters_of_a_ligature_stay_together(make_pdf: MakePdf) -> None:
    assert text_of(make_pdf(typed("difference office"))).split() == ["difference", "office"]


def test_the_same_figure_twice_in_a_row_is_there_twice(make_pdf: MakePdf) -> None:
    assert text_of(make_pdf(typed("1 1 1 0 0"))).split() == ["1", "1", "1", "0", "0"]


def test_words_outside_of_the_crop_box_are_not_there(make_pdf: MakePdf) -> None:
    path = make_pdf(typed("outside", 50, 800), typed("inside", 50, 700))
    with pikepdf.open(path, allow_overwriting_input=True) as document:
        for page in document.pages:
            page.cropbox = pikepdf.Array([0, 0, 595, 750])
        document.save(path)

    cut, whole = read(path, 1), read(path, 2)
    assert cut is not None
    assert whole is not None
    assert (cut.words.texts, whole.words.texts) == ([], ["inside"])


def invisible(text: str, x: float = 50, y: float = 700) -> Draw:
    def draw(canvas: Canvas) -> None:
        line = canvas.beginText(x, y)
        line.setTextRenderMode(3)
        line.textLine(text)
        canvas.drawText(line)

    return draw


def test_text_that_nobody_sees_is_not_there(make_pdf: MakePdf) -> None:
    def draw(canvas: Canvas) -> None:
        canvas.drawString(50, 600, "Pay the amount that is printed here")
        invisible("one million")(canvas)

    assert "million" not in text_of(make_pdf(draw))


def test_a_picture_of_text_beside_text_is_to_be_read_too(make_pdf: MakePdf) -> None:
    picture = Image.new("L", (600, 300), 255)
    ImageDraw.Draw(picture).text((10, 10), "\n".join(["Total amount due 12.00"] * 6), font_size=30)

    def draw(canvas: Canvas) -> None:
        for row in range(8):
            canvas.drawString(50, 800 - 20 * row, "A line of text that is printed")
        canvas.drawInlineImage(picture, 50, 100, 400, 200)  # pyright: ignore[reportUnknownMemberType]

    path = make_pdf(draw)

    assert read(path) is None
    with pdf_file.open_document(path) as document, pdf_file.open_page(document, 1) as page:
        layer = text_layer.read_layer(page, 1)
    assert layer.missing == "gaps"
    assert layer.gaps.round().tolist() == [[50, 542, 450, 742]]


def test_a_photograph_beside_text_is_not_read(make_pdf: MakePdf) -> None:
    picture = Image.radial_gradient("L").resize((600, 300))

    def draw(canvas: Canvas) -> None:
        canvas.drawString(50, 800, "A line of text that is printed")
        canvas.drawInlineImage(picture, 50, 100, 400, 200)  # pyright: ignore[reportUnknownMemberType]

    assert text_of(make_pdf(draw)).split()[0] == "A"
