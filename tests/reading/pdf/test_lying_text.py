import re
import string
from collections.abc import Mapping
from itertools import combinations
from pathlib import Path
from typing import Any

import pikepdf
import pytest
import reportlab
from reportlab.pdfbase import pdfmetrics
from reportlab.pdfbase.ttfonts import TTFont
from reportlab.pdfgen.canvas import Canvas

from docmill.model.document import Page
from docmill.reading.child import tasks
from docmill.reading.files.options import ReadingOptions
from docmill.reading.pdf import pdf_file, text_layer, text_merging

FONTS = Path(reportlab.__file__).parent / "fonts"
LINES = (
    "Papierhaus Lindner GmbH, Hafenstraße 12, 20457 Hamburg",
    "Rechnung Nr. RE-2025-0769 vom 04.07.2025",
    "Büromaterial 3 x 66,60 EUR = 199,80 EUR",
    "zzgl. 19 % USt 37,96 EUR, Gesamtbetrag 237,76 EUR",
    "IBAN DE89 3704 0044 0532 0130 00, USt-IdNr. DE136695976",
)
CASES = Path(__file__).parents[3].parent / "shared" / "cases"
NEEDS_CASES = pytest.mark.skipif(not CASES.is_dir(), reason="the shared cases are not here")


def exchanged(*pairs: str) -> dict[str, str]:
    """A map that exchanges the two characters of each pair."""
    return {old: new for first, second in pairs for old, new in ((first, second), (second, first))}


ROTATED = {
    letter: letters[(index + 13) % len(letters)]
    for letters in (string.ascii_lowercase, string.ascii_uppercase)
    for index, letter in enumerate(letters)
}


def add_font(name: str) -> None:
    pdfmetrics.registerFont(TTFont(name, FONTS / name))  # pyright: ignore[reportUnknownMemberType] - reportlab


def draw(path: Path, *, font: str = "Vera.ttf", lines: tuple[str, ...] = LINES, turn: int = 0) -> Path:
    add_font(font)
    canvas = Canvas(str(path), pagesize=(595, 842))
    if turn:
        canvas.translate(595, 0)
        canvas.rotate(turn)
    canvas.setFont(font, 11)
    for row, line in enumerate(lines):
        canvas.drawString(50, 500 - 24 * row, line)
    canvas.save()
    return path


def with_map(path: Path, changed: Mapping[str, str]) -> Path:
    """The PDF with other characters in the maps of its fonts to Unicode."""
    lying = path.with_name(f"lying-{path.name}")
    with pikepdf.open(path) as document:
        for item in document.objects:
            if isinstance(item, pikepdf.Dictionary) and "/ToUnicode" in item:
                unicode_map = item["/ToUnicode"].read_bytes().decode()
                replaced = re.sub(
                    r"(?<= )<([0-9A-F]{4})>",
                    lambda code: f"<{ord(changed.get(chr(int(code[1], 16)), chr(int(code[1], 16)))):04X}>",
                    unicode_map,
                )
                item["/ToUnicode"].write(replaced.encode())
        document.save(lying)
    return lying


def read_layer(path: Path) -> Page | None:
    with pdf_file.open_document(path) as document, pdf_file.open_page(document, 1) as page:
        return text_merging.text_page(page, 1)


def recognise(path: Path) -> Page:
    """The page as it is read when its layer is not believed."""
    options = ReadingOptions()
    seen = tasks.recognise_picture(path, "application/pdf", 1, options, "rapidocr").page
    return tasks.complete_page(path, seen, options)


@pytest.mark.parametrize("font", ["Vera.ttf", "VeraBd.ttf", "VeraIt.ttf"])
def test_an_honest_font_is_believed(tmp_path: Path, font: str) -> None:
    page = read_layer(draw(tmp_path / "honest.pdf", font=font))

    assert page is not None
    assert (page.source, page.quality, page.layer_doubt) == ("text", 1.0, None)
    assert "RE-2025-0769" in page.text


@pytest.mark.parametrize("font", ["Vera.ttf", "VeraBd.ttf", "VeraIt.ttf"])
def test_any_two_exchanged_digits_are_noticed(tmp_path: Path, font: str) -> None:
    honest = draw(tmp_path / "made.pdf", font=font, lines=(*LINES, "0123456789"))

    believed = [
        pair
        for pair in map("".join, combinations(string.digits, 2))
        if read_layer(with_map(honest, exchanged(pair))) is not None
    ]

    assert believed == []


@pytest.mark.parametrize("turn", [0, 90])
def test_two_exchanged_digits_are_read_from_the_page(tmp_path: Path, turn: int) -> None:
    lying = with_map(draw(tmp_path / "made.pdf", turn=turn), exchanged("69"))

    assert read_layer(lying) is None
    page = recognise(lying)

    assert page.layer_doubt == "contradicted"
    assert page.source == "ocr"
    assert "RE-2025-0769" in page.text
    assert "DE136695976" in page.text


def test_another_alphabet_is_noticed(tmp_path: Path) -> None:
    assert read_layer(with_map(draw(tmp_path / "made.pdf"), ROTATED)) is None


def test_text_drawn_within_a_form_is_looked_at_too(tmp_path: Path) -> None:
    add_font("Vera.ttf")
    canvas: Any = Canvas(str(tmp_path / "form.pdf"), pagesize=(595, 842))
    canvas.beginForm("text")
    canvas.setFont("Vera.ttf", 22)
    canvas.drawString(100, 600, LINES[1])
    canvas.endForm()
    canvas.scale(0.5, 0.5)
    canvas.translate(30, 40)
    canvas.doForm("text")
    canvas.save()

    honest = read_layer(tmp_path / "form.pdf")

    assert honest is not None
    assert "0769" in honest.text
    assert read_layer(with_map(tmp_path / "form.pdf", exchanged("69"))) is None


def test_a_doubted_text_that_the_page_confirms_counts(tmp_path: Path) -> None:
    path = draw(tmp_path / "made.pdf")
    with pdf_file.open_document(path) as document, pdf_file.open_page(document, 1) as page:
        honest = text_merging.read_sound_layer(page, 1)
    doubted = honest._replace(doubted=honest.upright.boxes, doubt="contradicted")
    seen = tasks.recognise_picture(path, "application/pdf", 1, ReadingOptions(), "rapidocr").page

    page = text_merging.merge_reading(doubted, seen)

    assert (page.source, page.quality, page.layer_doubt) == ("text", 1.0, None)
    assert page.words.texts == text_layer.page_from_layer(honest).words.texts


def test_a_doubted_page_that_cannot_be_recognised_is_not_relied_on(tmp_path: Path) -> None:
    lying = with_map(draw(tmp_path / "made.pdf"), exchanged("69"))
    with pdf_file.open_document(lying) as document, pdf_file.open_page(document, 1) as page:
        layer = text_merging.read_sound_layer(page, 1)
    broken = tasks.broken_page(1, "the page is damaged")

    page = text_merging.merge_reading(layer, broken)

    assert (page.quality, page.layer_doubt, page.problem) == (0.5, "contradicted", "the page is damaged")
    assert "Papierhaus" in page.text


def without_map(path: Path) -> Path:
    bare = path.with_name(f"bare-{path.name}")
    with pikepdf.open(path) as document:
        for item in document.objects:
            if isinstance(item, pikepdf.Dictionary) and "/ToUnicode" in item:
                del item["/ToUnicode"]
        document.save(bare)
    return bare


def test_letters_without_a_meaning_are_read_from_the_page_and_the_rest_from_the_file(tmp_path: Path) -> None:
    bare = without_map(draw(tmp_path / "made.pdf"))

    assert read_layer(bare) is None
    page = recognise(bare)

    assert page.layer_doubt == "unmapped"
    assert (page.source, page.lines[0].text) == ("text", LINES[0])
    assert "Büromaterial" in page.text
    confidence = dict(zip(page.words.texts, page.words.confidences.tolist(), strict=True))
    assert confidence["Hafenstraße"] < 1
    assert confidence["Papierhaus"] == 1


def test_a_word_with_an_unknown_letter_that_is_not_recognised_is_unsure(tmp_path: Path) -> None:
    bare = without_map(draw(tmp_path / "made.pdf"))
    with pdf_file.open_document(bare) as document, pdf_file.open_page(document, 1) as page:
        layer = text_merging.read_sound_layer(page, 1)
    empty = text_layer.page_from_layer(layer._replace(upright=layer.upright.only([0]), garbled=()))

    page = text_merging.merge_reading(layer, empty)

    unsure = [text for text, sure in zip(page.words.texts, page.words.confidences, strict=True) if sure < 1]
    assert unsure == ["Hafenstra\x01e", "B\x02romaterial"]


@pytest.mark.parametrize(
    ("texts", "garbled"),
    [
        (["\uf0b7Item", "Item"], ()),
        (["Gr\uf0b7n", "\uf0b7ber"], (0, 1)),
        (["12\x01"], ()),
    ],
)
def test_bullets_and_icons_make_no_word_garbled(texts: list[str], garbled: tuple[int, ...]) -> None:
    assert text_layer.find_garbled_words(texts) == garbled


@NEEDS_CASES
@pytest.mark.parametrize(
    ("name", "number", "vat_id"),
    [
        ("11-text-layer-is-cipher/in/o1-shift-13.pdf", "RE-2025-0810", "DE136695976"),
        ("11-text-layer-is-cipher/in/o2-shift1.pdf", "RE-2025-0820", "DE136695976"),
        ("11-text-layer-is-cipher/in/q3-permuted.pdf", "RE-2025-0703", "DE136695976"),
        ("11-text-layer-is-cipher/in/q4-two-digits.pdf", "RE-2025-0769", "DE136695976"),
        ("12-no-tounicode/in/p03-no-tounicode.pdf", "Hafenstraße", "Büromaterial"),
    ],
)
def test_papers_with_wrong_maps_are_read_as_they_are_shown(name: str, number: str, vat_id: str) -> None:
    page = recognise(CASES / name)

    assert page.layer_doubt is not None
    assert number in page.words.texts
    assert vat_id in page.words.texts
