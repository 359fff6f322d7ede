"""Pictures within documents: those with text are kept, icons are not, and what cannot be read is said."""

import base64
import io
import re
import zipfile
from collections.abc import Callable, Sequence
from email.message import EmailMessage
from pathlib import Path

import docx
import numpy as np
import openpyxl
import pptx
import pytest
from docx.shared import Inches
from openpyxl.drawing.image import Image as SheetImage
from PIL import Image
from pptx.util import Emu

from docmill.errors import CorruptError
from docmill.reading.formats import docx as word
from docmill.reading.formats import html, odf, rtf, text_files, xlsx
from docmill.reading.formats import pptx as slides
from docmill.reading.formats.pictures import BEYOND, BROKEN, MOST, TOO_LARGE, Album, Size
from docmill.reading.layout.typeset import Block, FigureBlock, HeadingBlock, Paragraph, TableBlock, UnreadNote
from docmill.reading.mail import eml

Pictured = Callable[[Path, Path], Sequence[Block]]


def from_word(picture: Path, path: Path) -> Sequence[Block]:
    document = docx.Document()
    document.add_paragraph("see the scan")
    document.add_picture(str(picture), width=Inches(6))
    document.save(str(path))
    return word.read(path)


def from_slides(picture: Path, path: Path) -> Sequence[Block]:
    deck = pptx.Presentation()
    slide = deck.slides.add_slide(deck.slide_layouts[6])
    slide.shapes.add_picture(str(picture), Emu(0), Emu(0), width=Emu(6 * 914_400))
    deck.save(str(path))
    return slides.read(path)


def from_workbook(picture: Path, path: Path) -> Sequence[Block]:
    book = openpyxl.Workbook()
    sheet = book.worksheets[0]
    sheet["A1"] = "see the scan"
    image = SheetImage(str(picture))
    image.width, image.height = 576, 336
    sheet.add_image(image, "A3")
    book.save(path)
    return xlsx.read(path)


OPEN_TEXT = """<office:document-content xmlns:office="o" xmlns:text="t" xmlns:draw="d" xmlns:svg="s"
 xmlns:xlink="x" xmlns:table="b"><office:body>
<{kind}>{body}</{kind}></office:body></office:document-content>"""
FRAME = """<draw:frame svg:width="15.24cm" svg:height="8.89cm"><draw:image xlink:href="Pictures/a.svg"/>
<draw:image xlink:href="Pictures/a.png"/></draw:frame>"""


def of_open_document(picture: Path, path: Path, kind: str, body: str) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("content.xml", OPEN_TEXT.format(kind=kind, body=body))
        archive.write(picture, "Pictures/a.png")
    return path


def from_open_text(picture: Path, path: Path) -> Sequence[Block]:
    body = f"<text:p>see the scan{FRAME}</text:p>"
    return odf.read(of_open_document(picture, path, "office:text", body))


def from_open_slides(picture: Path, path: Path) -> Sequence[Block]:
    body = f"<draw:page>{FRAME}</draw:page>"
    return odf.read(of_open_document(picture, path, "office:presentation", body))


def from_open_sheets(picture: Path, path: Path) -> Sequence[Block]:
    body = f'<table:table table:name="a"><table:shapes>{FRAME}</table:shapes></table:table>'
    return odf.read_sheets(of_open_document(picture, path, "office:spreadsheet", body))


def inline(picture: Path) -> str:
    return "data:image/png;base64," + base64.b64encode(picture.read_bytes()).decode()


def from_page(picture: Path, path: Path) -> Sequence[Block]:
    path.write_text(f'<p>see <img width="576" height="336px" src="{inline(picture)}"> here</p>')
    return html.read(path)


def from_mail(picture: Path, path: Path) -> Sequence[Block]:
    message = EmailMessage()
    message["Subject"] = "scan"
    message.set_content("see the scan")
    message.add_alternative(
        '<p>see <img style="width: 432pt; height: 252pt" src="cid:one@two"></p>', subtype="html"
    )
    page = message.get_payload()[1]  # type: ignore[index] - a message of several parts
    page.add_related(picture.read_bytes(), "image", "png", cid="<one@two>")  # type: ignore[union-attr]
    path.write_bytes(message.as_bytes())
    return eml.read(path)


def from_rich_text(picture: Path, path: Path) -> Sequence[Block]:
    content = picture.read_bytes().hex()
    path.write_text(
        rf"{{\rtf1 see {{\*\shppict{{\pict{{\*\picprop ab}}\pngblip\picwgoal8640\pichgoal5040 {content}}}}}"
        rf"{{\nonshppict{{\pict\wmetafile8 {content}}}}} here\par}}"
    )
    return rtf.read(path)


@pytest.mark.parametrize(
    "read",
    [
        from_word,
        from_slides,
        from_workbook,
        from_open_text,
        from_open_slides,
        from_open_sheets,
        from_page,
        from_mail,
        from_rich_text,
    ],
)
def test_a_picture_of_text_is_kept_as_large_as_it_is_displayed(
    read: Pictured, picture_of_text: Path, tmp_path: Path
) -> None:
    blocks = read(picture_of_text, tmp_path / "document")

    (figure,) = (block for block in blocks if isinstance(block, FigureBlock))
    assert (round(figure.width_pt), round(figure.height_pt)) == (432, 252)
    assert figure.content == picture_of_text.read_bytes()


def test_a_picture_in_a_cell_comes_after_its_table(picture_of_text: Path, tmp_path: Path) -> None:
    document = docx.Document()
    table = document.add_table(rows=1, cols=2)
    table.cell(0, 0).text = "scan"
    table.cell(0, 1).paragraphs[0].add_run().add_picture(str(picture_of_text), width=Inches(3))
    document.save(str(tmp_path / "a.docx"))

    grid, figure, *_ = word.read(tmp_path / "a.docx")

    assert isinstance(grid, TableBlock)
    assert isinstance(figure, FigureBlock)


def test_a_picture_in_a_header_is_found_by_the_headers_own_relations(
    picture_of_text: Path, tmp_path: Path
) -> None:
    document = docx.Document()
    document.add_paragraph("text")
    document.sections[0].header.paragraphs[0].add_run().add_picture(str(picture_of_text), width=Inches(6))
    document.save(str(tmp_path / "a.docx"))

    assert isinstance(word.read(tmp_path / "a.docx")[1], FigureBlock)


def png(width: int, height: int) -> bytes:
    file = io.BytesIO()
    Image.fromarray(np.full((height, width), 255, np.uint8)).save(file, "PNG")
    return file.getvalue()


def test_icons_empty_pictures_and_repeated_ones_are_passed_over(picture_of_text: Path) -> None:
    album, content = Album(), picture_of_text.read_bytes()

    assert not list(album.blocks(lambda: content, Size(50, 50)))
    assert not list(album.blocks(lambda: png(40, 40)))
    assert not list(album.blocks(lambda: png(800, 800)))
    assert list(album.blocks(lambda: content))
    assert not list(album.blocks(lambda: content))
    assert not list(album.blocks(lambda: None))


def test_one_side_of_a_picture_tells_the_other(picture_of_text: Path) -> None:
    content = picture_of_text.read_bytes()

    for size in (Size(240, 0), Size(0, 140)):
        (figure,) = Album().blocks(lambda: content, size)
        assert isinstance(figure, FigureBlock)
        assert (figure.width_pt, figure.height_pt) == pytest.approx((240, 140), abs=0.5)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"\x01\0\0\0" + bytes(50), "as EMF"),
        (b"\xd7\xcd\xc6\x9a" + bytes(50), "as WMF"),
        (b"\n<svg/>", "as SVG"),
        (b"????", "something unknown"),
        (b"\x89PNG\r\n\x1a\n" + bytes(20), "unknown"),
        (png(600, 600)[:60], BROKEN),
        (png(20_000, 5_001), TOO_LARGE),
    ],
)
def test_a_picture_that_cannot_be_read_is_said(content: bytes, said: str) -> None:
    (block,) = Album().blocks(lambda: content)

    assert isinstance(block, UnreadNote)
    assert said in block.problem


def test_a_picture_that_cannot_be_taken_out_is_said() -> None:
    def load() -> bytes:
        raise CorruptError("the file is damaged")

    assert list(Album().blocks(load)) == [UnreadNote(BROKEN)]


def test_pictures_beyond_the_limit_are_said(picture_of_text: Path) -> None:
    album = Album()
    image = Image.open(picture_of_text)
    contents: list[bytes] = []
    for number in range(MOST + 1):
        file = io.BytesIO()
        image.crop((0, 0, 1200 - number, 700)).save(file, "PNG")
        contents.append(file.getvalue())

    *read, last = (block for content in contents for block in album.blocks(lambda c=content: c))

    assert all(isinstance(block, FigureBlock) for block in read)
    assert last == UnreadNote(BEYOND)


@pytest.mark.parametrize(
    "shown",
    [
        "<div style=\"background-image: url('{}')\">see</div>",
        '<svg><image href="{}"/></svg>',
        '<svg xmlns:xlink="http://www.w3.org/1999/xlink"><image xlink:href="{}"/></svg>',
        '<object data="{}"></object>',
        '<picture><source srcset="{} 2x"></picture>',
        '<embed src="{}">',
        '<input type="image" src="{}">',
        "<style>.paper {{ background: white url({}) no-repeat }}</style>",
    ],
)
def test_pictures_of_a_web_page_are_found_whichever_way_it_shows_them(
    picture_of_text: Path, tmp_path: Path, shown: str
) -> None:
    path = tmp_path / "page.html"
    path.write_text(f"<body><p>see</p>{shown.format(inline(picture_of_text))}</body>")

    assert any(isinstance(block, FigureBlock) for block in html.read(path))


def test_a_picture_in_the_styles_of_a_web_page_is_read(picture_of_text: Path) -> None:
    font = "@font-face {src: url(data:font/woff;base64,AAAA)}"
    sheet = f'{font} p {{background: url("{inline(picture_of_text)}")}}'

    found = html.blocks(f"<html><head><title>a</title><style>{sheet}</style></head><body>see</body></html>")

    assert [isinstance(block, FigureBlock) for block in found[:2]] == [True, False]


def test_a_drawing_within_a_web_page_is_named_and_an_icon_of_its_styles_is_not() -> None:
    drawing = "data:image/svg+xml;utf8,%3Csvg xmlns=%27http://www.w3.org/2000/svg%27/%3E"

    found = html.blocks(
        f'<style>a {{background: url("{drawing}")}}</style><p style="background: url({drawing})">see</p>'
        f'<img src="{drawing}">'
    )

    (unread,) = [block for block in found if isinstance(block, UnreadNote)]
    assert "stored as SVG and was not read" in unread.problem


def test_a_picture_that_comes_with_a_mail_and_stands_nowhere_in_it_is_read_at_its_end(
    picture_of_text: Path, tmp_path: Path
) -> None:
    message = EmailMessage()
    message["Subject"] = "Scan"
    message.set_content("<p>see the scan</p>", subtype="html")
    message.add_related(picture_of_text.read_bytes(), "image", "png", cid="<scan@1>")
    (tmp_path / "a.eml").write_bytes(message.as_bytes())

    found = eml.read(tmp_path / "a.eml")

    assert isinstance(found[-1], FigureBlock)


def test_a_picture_within_markdown_is_read(picture_of_text: Path, tmp_path: Path) -> None:
    path = tmp_path / "page.md"
    path.write_text(f"# Scan\n\nsee ![the scan]({inline(picture_of_text)}) here\n")

    found = text_files.read_markdown(path)

    assert [type(block) for block in found] == [HeadingBlock, Paragraph, FigureBlock]


def test_pictures_in_every_part_of_markdown_are_read_once(picture_of_text: Path, tmp_path: Path) -> None:
    picture = inline(picture_of_text)
    source = f"# ![a][s]\n\n<p><img src='{picture}'></p>\n\nsee <img src='{picture}'>\n\n[s]: {picture}\n"

    path = tmp_path / "page.md"
    path.write_text(source)
    found = text_files.read_markdown(path)

    assert [type(block) for block in found] == [HeadingBlock, FigureBlock, Paragraph]


def test_a_picture_behind_slides_is_read_once(picture_of_text: Path, tmp_path: Path) -> None:
    plain, path = tmp_path / "plain.pptx", tmp_path / "slides.pptx"
    deck = pptx.Presentation()
    for layout in (6, 6, 0):
        deck.slides.add_slide(deck.slide_layouts[layout])
    deck.slides[2].shapes.add_picture(str(picture_of_text), Emu(0), Emu(0), width=Emu(6 * 914_400))
    deck.save(str(plain))
    with zipfile.ZipFile(plain) as source, zipfile.ZipFile(path, "w") as target:
        slide = source.read("ppt/slides/slide3.xml")
        (drawn,) = re.findall(rb"<p:pic>.*</p:pic>", slide, re.DOTALL)
        relations = source.read("ppt/slides/_rels/slide3.xml.rels")
        (relation,) = re.findall(rb"<Relationship [^>]*/image[^>]*>", relations)
        moved = {
            "ppt/slides/slide3.xml": (drawn, b""),
            "ppt/slideMasters/slideMaster1.xml": (
                b"</p:spTree>",
                drawn.replace(b"rId2", b"rId99") + b"</p:spTree>",
            ),
            "ppt/slideMasters/_rels/slideMaster1.xml.rels": (
                b"</Relationships>",
                relation.replace(b"rId2", b"rId99") + b"</Relationships>",
            ),
        }
        for name in source.namelist():
            target.writestr(name, source.read(name).replace(*moved.get(name, (b"\0", b"\0"))))

    found = slides.read(path)

    assert sum(isinstance(block, FigureBlock) for block in found) == 1
