"""How results show themselves."""

import io
import traceback
from decimal import Decimal
from pathlib import Path

import pytest
from pydantic import BaseModel

import docmill
from docmill.demo import Sample

BILL = """Acme Trading Ltd
12 High Street, Leeds LS1 4AB

Invoice number: INV-2041
Invoice date: 12 March 2026

Total                  GBP 119.00
"""


class Order(BaseModel):
    order_number: str | None = None
    total: float | None = None


@pytest.fixture
def order(samples: list[Sample]) -> Path:
    (paper,) = [sample.path for sample in samples if sample.name == "PO-4500231.pdf"]
    return paper


def test_a_result_prints_as_a_table_with_places(order: Path) -> None:
    result = docmill.process_file(order)

    lines = str(result).splitlines()
    assert lines[0] == "PO-4500231.pdf: purchase_order, ready"
    (number,) = [line for line in lines if line.startswith("  number ")]
    assert "4500231" in number
    assert "page 1, " in number
    assert number.endswith(" %")


def test_values_are_had_by_their_path_whatever_the_type(order: Path) -> None:
    result = docmill.process_file(order)

    assert result.document_type == "purchase_order"
    assert result.is_ready
    assert result.get("number") == "4500231"
    assert isinstance(result.get("lines[0].quantity"), Decimal)
    assert result.get("no_such_field") is None
    assert result.get("lines[99].quantity") is None


def test_a_notebook_shows_the_page_with_a_box_for_each_value(order: Path) -> None:
    extracted = docmill.extract(order, Order)

    html = str(getattr(extracted, "_repr_html_")())  # noqa: B009  the name is that of IPython
    assert html.count("<figure>") == 1
    assert 'src="data:image/webp;base64,' in html
    assert html.count("<i style=") == sum(proof.box is not None for proof in extracted.evidence.values()) > 0
    assert "<script" not in html
    assert "http" not in html


async def test_a_notebook_shows_it_where_an_event_loop_is_running(order: Path) -> None:
    result = await docmill.aprocess_file(order)

    assert "<figure>" in result.as_html()


def test_text_of_a_document_is_no_markup_in_a_notebook(tmp_path: Path) -> None:
    file = tmp_path / "<b>bill.txt"
    file.write_text(BILL.replace("Acme Trading Ltd", "<script>alert(1)</script> Ltd"))

    html = docmill.process_file(file).as_html()

    assert "<script>" not in html
    assert "&lt;b&gt;bill.txt" in html


def test_bytes_and_open_files_are_read_as_a_path_is(order: Path) -> None:
    expected = docmill.process_file(order)

    from_bytes = docmill.process_file(order.read_bytes(), name="order.pdf")
    with order.open("rb") as file:
        from_file = docmill.process_file(file)
    unnamed = docmill.process_file(io.BytesIO(order.read_bytes()))

    for result in (from_bytes, from_file, unnamed):
        assert result.extraction is not None
        assert expected.extraction is not None
        assert result.extraction.data == expected.extraction.data
        assert result.content_hash == expected.content_hash
    assert (from_bytes.name, from_file.name, unnamed.name) == ("order.pdf", order.name, "document")


def test_what_is_no_file_is_said_in_words(tmp_path: Path) -> None:
    text = tmp_path / "bill.txt"
    text.write_text(BILL)

    with text.open() as file, pytest.raises(docmill.SetupError, match=r'open\(path, "rb"\)'):
        docmill.process_file(file)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    with pytest.raises(docmill.SetupError, match="a int is no file"):
        docmill.process_file(7)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


def test_a_file_that_is_not_read_says_so(tmp_path: Path) -> None:
    tune = tmp_path / "tune.mid"
    tune.write_bytes(b"MThd\0\0\0\6" + bytes(range(256)))

    result = docmill.process_file(tune)

    assert str(result).startswith("tune.mid: not read: ")
    assert not result.is_ready
    assert result.get("number") is None
    assert "not read" in result.as_html()


def test_an_error_is_shown_without_those_that_led_to_it(tmp_path: Path) -> None:
    torn = tmp_path / "torn.pdf"
    torn.write_bytes(b"%PDF-1.7\n1 0 obj\n<<>>\nendobj\n")

    for file in (torn, tmp_path / "nowhere.pdf"):
        with pytest.raises(docmill.DocmillError) as caught:
            docmill.process_file(file)
        shown = "".join(traceback.format_exception(caught.value))
        assert "During handling of" not in shown
        assert "direct cause" not in shown


def test_many_files_are_read_with_one_pool_and_bad_ones_stop_nothing(order: Path, tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "order.pdf").write_bytes(order.read_bytes())
    (tmp_path / "sub" / "bill.txt").write_text(BILL)
    (tmp_path / "torn.pdf").write_bytes(b"%PDF-1.7\n1 0 obj\n<<>>\nendobj\n")

    files = {file.path.name: file for file in docmill.process_many(tmp_path)}

    assert set(files) == {"order.pdf", "bill.txt", "torn.pdf"}
    assert files["order.pdf"].unwrap().document_type == "purchase_order"
    assert files["bill.txt"].unwrap().get("gross_total") == Decimal("119.00")
    assert files["torn.pdf"].result is None
    with pytest.raises(docmill.DocumentError) as caught:
        files["torn.pdf"].unwrap()
    assert caught.value.code == "corrupt"
    assert str(files["torn.pdf"]).startswith("torn.pdf: ")


def test_many_files_can_be_left_early(tmp_path: Path) -> None:
    for number in range(12):
        (tmp_path / f"{number:02}.txt").write_text(BILL)

    files = docmill.process_many(tmp_path, workers=1)
    first = next(files)
    files.close()  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue]

    assert first.unwrap().get("number") == "INV-2041"
    with pytest.raises(StopIteration):
        next(files)


async def test_many_files_are_read_in_an_event_loop(tmp_path: Path) -> None:
    paths = [tmp_path / "a.txt", tmp_path / "missing.txt", tmp_path / "b.txt"]
    for path in (paths[0], paths[2]):
        path.write_text(BILL)

    awaited = {file.path.name: file async for file in docmill.aprocess_many(paths, schema=Order)}
    blocking = {file.path.name: file for file in docmill.process_many(paths)}

    assert awaited["a.txt"].unwrap().extraction is not None
    assert isinstance(awaited["missing.txt"].error, docmill.SetupError)
    assert blocking["b.txt"].unwrap().get("number") == "INV-2041"


def test_wrong_arguments_for_many_files_are_told_at_once(tmp_path: Path) -> None:
    with pytest.raises(docmill.SetupError, match="there is no folder"):
        list(docmill.process_many(tmp_path / "nowhere"))
    with pytest.raises(docmill.SetupError, match="there is no type"):
        docmill.process_many(tmp_path, document_type="invoce")


def test_only_public_names_are_listed() -> None:
    assert set(dir(docmill)) == set(docmill.__all__)
