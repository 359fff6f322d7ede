import json
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal

import numpy as np
import pytest
import zstandard

from docmill.model import codec
from docmill.model.document import Box, Cell, Code, Document, Embedded, Table, Usage


def test_a_document_survives_storing(make_document: Callable[..., Document]) -> None:
    document = make_document("Total   12,50 €", "", "Seite 3")

    again = codec.loads(codec.dumps(document))

    assert again.text == document.text
    assert [page.number for page in again.pages] == [1, 2, 3]
    np.testing.assert_allclose(again.pages[0].words.boxes, document.pages[0].words.boxes, atol=1e-5)
    assert again.pages[0].words.boxes.dtype == np.float32
    assert codec.dumps(again) == codec.dumps(document)


def test_tables_survive_storing(make_document: Callable[..., Document]) -> None:
    cell = Cell(row=1, column=0, row_span=1, column_span=2, box=Box(0.1, 0.2, 0.3, 0.25), words=(0, 1))
    table = Table(Box(0.1, 0.1, 0.9, 0.25), row_count=2, column_count=2, cells=(cell,))
    document = make_document("Total   12,50 €", "no table")
    document = replace(document, pages=[replace(document.pages[0], tables=(table,)), document.pages[1]])

    again = codec.loads(codec.dumps(document))

    assert [page.tables for page in again.pages] == [(table,), ()]


def test_a_transcription_of_the_first_format_is_read(make_document: Callable[..., Document]) -> None:
    document = make_document("Total   12,50 €")
    content = json.loads(zstandard.decompress(codec.dumps(document)))
    content["format"] = 1
    del content["pages"][0]["tables"]

    again = codec.loads(zstandard.compress(json.dumps(content).encode()))

    assert again.text == document.text
    assert again.pages[0].tables == ()


def test_a_page_remembers_who_recognised_it_and_its_codes(make_document: Callable[..., Document]) -> None:
    (page,) = make_document("Total").pages
    codes = (Code("]Q1", "A\x1d", Box(0.1, 0.2, 0.3, 0.4)), Code("]C0", "B", Box(0, 0, 1, 1)))
    document = Document("0" * 64, "image/png", [replace(page, engine="tesseract", codes=codes)])

    again = codec.loads(codec.dumps(document))

    assert (again.pages[0].engine, again.pages[0].codes) == ("tesseract", codes)


def test_a_page_remembers_that_it_was_preprocessed(make_document: Callable[..., Document]) -> None:
    document = make_document("Total", "Sum")
    pages = [replace(page, preprocessed=page.number == 2) for page in document.pages]

    again = codec.loads(codec.dumps(replace(document, pages=pages)))

    assert [page.preprocessed for page in again.pages] == [False, True]


def test_a_page_remembers_which_edges_cut_its_text(make_document: Callable[..., Document]) -> None:
    document = make_document("Total", "Sum")
    pages = [
        replace(page, cut_edges=("right", "bottom") if page.number == 2 else ()) for page in document.pages
    ]

    again = codec.loads(codec.dumps(replace(document, pages=pages)))

    assert [page.cut_edges for page in again.pages] == [(), ("right", "bottom")]


def test_a_page_remembers_why_its_own_text_was_not_believed(make_document: Callable[..., Document]) -> None:
    document = make_document("Total", "Sum")
    pages = [replace(page, layer_doubt="unmapped" if page.number == 2 else None) for page in document.pages]

    again = codec.loads(codec.dumps(replace(document, pages=pages)))

    assert [page.layer_doubt for page in again.pages] == [None, "unmapped"]


def test_pages_of_earlier_releases_name_no_engine(make_document: Callable[..., Document]) -> None:
    content = json.loads(zstandard.decompress(codec.dumps(make_document("Total"))))
    del content["pages"][0]["engine"]

    again = codec.loads(zstandard.compress(json.dumps(content).encode()))

    assert again.pages[0].engine is None


def test_bytes_that_are_no_transcription_are_refused() -> None:
    with pytest.raises(ValueError, match="not a transcription"):
        codec.loads(b"{}")


def test_a_format_of_the_future_is_refused() -> None:
    future = zstandard.compress(json.dumps({"format": 99}).encode())

    with pytest.raises(codec.NewerFormatError, match="format 99 is unknown"):
        codec.loads(future)


@pytest.mark.parametrize("written", [0, "2", None])
def test_a_format_that_never_was_is_refused(written: object) -> None:
    with pytest.raises(ValueError, match="is unknown; expected 2") as caught:
        codec.loads(zstandard.compress(json.dumps({"format": written}).encode()))
    assert not isinstance(caught.value, codec.NewerFormatError)


def test_what_reading_cost_survives_storing(make_document: Callable[..., Document]) -> None:
    usage = Usage(input_tokens=7, output_tokens=3, model="own", cost=Decimal("0.0012"))

    again = codec.loads(codec.dumps(replace(make_document("Total"), usage=usage)))

    assert again.usage == usage


def test_embedded_files_survive_storing(make_document: Callable[..., Document]) -> None:
    xml = Embedded("factur-x.xml", "application/xml", "<Größe/>".encode())

    again = codec.loads(codec.dumps(replace(make_document("Total"), embedded=(xml,))))

    assert again.embedded == (xml,)


def test_a_transcription_with_places_that_are_no_numbers_is_refused(
    make_document: Callable[..., Document],
) -> None:
    content = json.loads(zstandard.decompress(codec.dumps(make_document("Total"))))
    content["pages"][0]["width_pt"] = float("nan")

    with pytest.raises(ValueError, match="not a transcription"):
        codec.loads(zstandard.compress(json.dumps(content).encode()))
