"""What was typed into forms and onto pages."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pikepdf
import pytest
from pikepdf import Array, Dictionary, Name, String
from reportlab.pdfgen.canvas import Canvas

from docmill.model.document import Page
from docmill.reading.child import tasks
from docmill.reading.files.options import ReadingOptions
from docmill.reading.pdf import form_fields, pdf_file, text_merging
from docmill.reading.pdf.form_fields import FormField, lines_of

MakePdf = Callable[..., Path]
Annotation = dict[str, Any]

HELVETICA = Dictionary(Type=Name.Font, Subtype=Name.Type1, BaseFont=Name.Helvetica)
AT = [100, 600, 300, 620]


def text(value: str, **more: object) -> Annotation:
    return {"/Subtype": Name.Widget, "/FT": Name.Tx, "/T": String(value[:5]), "/V": String(value), **more}


def typed(text: str) -> Callable[[Canvas], None]:
    def draw(canvas: Canvas) -> None:
        canvas.drawString(50, 604, text)

    return draw


@pytest.fixture
def form(make_pdf: MakePdf) -> Callable[..., Path]:
    """A page that prints "Name" beside fields without any appearance."""

    def make(*annotations: Annotation, label: str = "Name", **of_form: Any) -> Path:  # noqa: ANN401  PDF objects
        path = make_pdf(typed(label))
        with pikepdf.open(path, allow_overwriting_input=True) as document:
            made = [
                document.make_indirect(Dictionary({"/Type": Name.Annot, "/Rect": Array(AT), **one}))
                for one in annotations
            ]
            document.pages[0].Annots = Array(made)
            form: dict[str, object] = {
                "/Fields": Array(made),
                "/DA": String("/Helv 10 Tf 0 g"),
                "/DR": Dictionary(Font=Dictionary(Helv=HELVETICA)),
            }
            document.Root.AcroForm = Dictionary(form | {f"/{key}": value for key, value in of_form.items()})
            document.save(path)
        return path

    return make


def read(path: Path) -> Page:
    with pdf_file.open_document(path) as document, pdf_file.open_page(document, 1) as page:
        found = text_merging.text_page(page, 1)
    assert found is not None
    return found


def test_values_stand_on_the_line_of_their_label(form: Callable[..., Path]) -> None:
    page = read(form(text("Ada Lovelace")))

    assert page.text.split() == ["Name", "Ada", "Lovelace"]
    assert len(page.lines) == 1
    x0, y0, x1, y1 = page.words.boxes[1]
    assert 100 / 595 <= x0 < x1 < 300 / 595
    assert 1 - 620 / 842 <= y0 < y1 <= 1 - 600 / 842 + 0.001


def test_a_value_that_is_printed_as_well_is_there_once(form: Callable[..., Path]) -> None:
    page = read(form(text("Ada"), label="Name            Ada"))

    assert page.text.split().count("Ada") == 1


@pytest.mark.parametrize(
    "kept_out",
    [{"/F": 2}, {"/F": 32}, {"/Ff": 1 << 13}, {"/V": String(" ")}, {"/Rect": Array([100, 600, 100, 600])}],
)
def test_what_nobody_is_to_see_is_left_out(form: Callable[..., Path], kept_out: Annotation) -> None:
    assert read(form({**text("secret"), **kept_out})).text.split() == ["Name"]


@pytest.mark.parametrize(("state", "mark"), [("/Yes", "☒"), ("/Off", "☐")])
def test_boxes_are_ticked_or_not(form: Callable[..., Path], state: str, mark: str) -> None:
    appearance = Dictionary(N=Dictionary(Yes=Dictionary(), Off=Dictionary()))
    box: Annotation = {
        "/Subtype": Name.Widget, "/FT": Name.Btn, "/T": String("agreed"), "/V": Name(state),
        "/AS": Name(state), "/AP": appearance,
    }  # fmt: skip

    assert read(form(box)).text.split() == ["Name", mark]


def test_choices_show_what_a_person_sees(form: Callable[..., Path]) -> None:
    choice: Annotation = {
        "/Subtype": Name.Widget, "/FT": Name.Ch, "/T": String("country"), "/V": String("de"), "/Ff": 1 << 17,
        "/Opt": Array([Array([String("fr"), String("France")]), Array([String("de"), String("Germany")])]),
    }  # fmt: skip

    assert read(form(choice)).text.split() == ["Name", "Germany"]


def test_a_comb_is_one_word_per_run_of_cells(form: Callable[..., Path]) -> None:
    page = read(form(text("DE 4711", **{"/Ff": 1 << 24, "/MaxLen": 10})))

    assert page.words.texts == ["Name", "DE", "4711"]
    assert page.words.boxes[2, 0] == pytest.approx(160 / 595, abs=0.01)
    assert page.words.boxes[2, 2] == pytest.approx(240 / 595, abs=0.01)


def test_notes_on_the_page_are_text(form: Callable[..., Path]) -> None:
    note: Annotation = {"/Subtype": Name.FreeText, "/Contents": String("paid in cash"), "/DA": String("")}

    assert "paid in cash" in " ".join(read(form(note)).words.texts)


def test_buttons_and_signatures_have_no_value(form: Callable[..., Path]) -> None:
    button: Annotation = {"/Subtype": Name.Widget, "/FT": Name.Sig, "/T": String("sig")}
    link: Annotation = {"/Subtype": Name.Link}

    assert read(form(button, link)).text.split() == ["Name"]


def test_a_field_on_a_page_that_is_turned_is_turned_with_it(form: Callable[..., Path]) -> None:
    path = form(text("Ada"))
    with pikepdf.open(path, allow_overwriting_input=True) as document:
        document.pages[0].Rotate = 90
        document.pages[0].Contents = pikepdf.Stream(document, b"0 0 1 1 re f")
        document.save(path)

    with pdf_file.open_document(path) as document, pdf_file.open_page(document, 1) as page:
        layer = text_merging.read_sound_layer(page, 1)

    assert layer.upright.texts == ["Ada"]
    x0, y0, x1, y1 = layer.upright.boxes[0]
    assert 600 <= x0 < x1 <= 620
    assert 100 <= y0 < y1 <= 300


@pytest.mark.parametrize("is_told", [True, False])
def test_a_form_kept_as_xfa_says_so(form: Callable[..., Path], *, is_told: bool) -> None:
    path = form(XFA=Array([]))
    with pikepdf.open(path, allow_overwriting_input=True) as document:
        del document.pages[0]["/Annots"]
        if is_told:
            document.Root.NeedsRendering = True
        document.Root.AcroForm.XFA = pikepdf.Stream(document, b"<xdp/>")
        document.save(path)

    [page] = tasks.open_original(path, ReadingOptions()).pages

    assert page is not None
    assert page.problem == form_fields.DYNAMIC


@pytest.mark.parametrize(("alignment", "left"), [(0, 0), (1, 90), (2, 180)])
def test_words_are_set_as_the_field_says(alignment: int, left: float) -> None:
    [[(word, box)]] = lines_of(FormField("abcd", (0, 0, 200, 12), 10, alignment))

    assert (word, box[0], box[2]) == ("abcd", left, left + 20)


def test_long_paragraphs_are_broken_where_a_viewer_would() -> None:
    lines = lines_of(FormField("one two three four", (0, 0, 50, 100), 10, multiline=True))

    assert [[word for word, _ in line] for line in lines] == [["one", "two"], ["three", "four"]]


def test_an_empty_comb_has_no_lines() -> None:
    assert lines_of(FormField("  ", (0, 0, 50, 10), cells=5)) == []
