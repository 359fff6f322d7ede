import io
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pikepdf
import pytest

from docmill.model.document import Document, Page
from docmill.reading.images import kept_scans
from docmill.reading.images.kept_scans import (
    KeptScan,
    KeptScans,
    bind_scans,
    encode_scan,
    format_page_numbers,
)
from docmill.reading.pdf import pdf_file

MakeDocument = Callable[..., Document]


def pixels(width: int, height: int) -> np.ndarray[tuple[int, ...], np.dtype[np.uint8]]:
    picture = np.full((height, width, 3), 255, np.uint8)
    picture[height // 4 : height // 2, width // 4 : width // 2] = 0
    return picture


@pytest.fixture
def pages(make_document: MakeDocument) -> list[Page]:
    return [replace(page, engine="rapidocr") for page in make_document(*"abcdefg").pages]


def a_print(width: int = 300, height: int = 400) -> KeptScan:
    one = encode_scan(pixels(width, height))
    assert one is not None
    return one


def test_pictures_become_a_pdf_whose_pages_are_called_as_those_that_they_show(pages: list[Page]) -> None:
    data = bind_scans([(pages[1], a_print()), (pages[4], a_print(800, 200))], "scän.tiff")

    with pikepdf.open(io.BytesIO(data)) as made, made.open_outline() as outline:
        assert [page.label for page in made.pages] == ["2", "5"]
        assert [item.title for item in outline.root] == ["Page 2", "Page 5"]
        assert str(made.docinfo["/Title"]) == "scän.tiff: pages 2, 5 as preprocessed for reading"
        assert made.check_pdf_syntax() == []


def test_the_pages_show_the_pictures_upright_and_whole(pages: list[Page], tmp_path: Path) -> None:
    path = tmp_path / "pictures.pdf"
    path.write_bytes(bind_scans([(pages[0], a_print(300, 400))], "a.png"))

    with pdf_file.open_document(path) as document, pdf_file.open_page(document, 1) as page:
        height_pt = page.get_height()
        seen = pdf_file.render(page, (300, 400)).pixels[:, :, 0]

    assert height_pt == pytest.approx(max(pages[0].width_pt, pages[0].height_pt), abs=0.01)
    assert seen.shape == (400, 300)
    assert seen[150, 110] < 20
    assert seen[150, 200] > 235
    assert seen[300, 110] > 235


def test_the_same_pictures_give_the_same_bytes(pages: list[Page]) -> None:
    kept = [(pages[0], a_print())]

    assert bind_scans(kept, "a.pdf") == bind_scans(kept, "a.pdf")


def test_a_picture_is_kept_for_who_read_the_page_in_it(pages: list[Page]) -> None:
    kept = KeptScans()
    kept.add(pages[2], a_print())

    assert kept.of(pages[2]) == a_print()
    assert kept.of(replace(pages[2], engine="documentai")) is None
    assert kept.of(pages[3]) is None


def test_what_has_no_room_is_not_kept(pages: list[Page], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept_scans, "MOST_BYTES_IN_ALL", len(a_print().jpeg) + 1)
    kept = KeptScans()

    for page in pages[:2]:
        kept.add(page, a_print())

    assert kept.of(pages[0])
    assert kept.of(pages[1]) is None


def test_a_large_picture_is_kept_with_less_of_it_or_not_at_all(monkeypatch: pytest.MonkeyPatch) -> None:
    noise = np.random.default_rng(1).integers(0, 255, (300, 300, 3), np.uint8)
    whole = encode_scan(noise)
    assert whole is not None

    monkeypatch.setattr(kept_scans, "MOST_BYTES", len(whole.jpeg) - 1)
    less = encode_scan(noise)
    monkeypatch.setattr(kept_scans, "MOST_BYTES", 100)

    assert less is not None
    assert len(less.jpeg) < len(whole.jpeg)
    assert encode_scan(noise) is None


@pytest.mark.parametrize(
    ("numbers", "expected"),
    [([3], "page 3"), ([3, 3], "page 3"), ([5, 2, 4, 6], "pages 2, 4-6"), ([1, 2], "pages 1-2")],
)
def test_page_numbers_are_written_as_people_write_them(numbers: list[int], expected: str) -> None:
    assert format_page_numbers(numbers) == expected
