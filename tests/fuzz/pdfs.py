"""PDFs to damage: one for each way in which text comes with a page."""

import io
from collections.abc import Callable
from typing import Any

import pikepdf
from pikepdf import Array, Dictionary, Name, String
from PIL import Image
from reportlab.pdfgen.canvas import Canvas

PASSWORD = "häslein"


def pdfs() -> list[bytes]:
    """Some of every sort."""
    return [drawn(_printed), drawn(_scanned), form(), locked()]


def locked() -> bytes:
    """One that asks for `PASSWORD`."""
    encryption = pikepdf.Encryption(user=PASSWORD, owner="boss")
    return _changed(drawn(_printed), encryption=encryption)


def form() -> bytes:
    """Fields of each type, and the other description of a form, which nobody reads."""
    fields: list[dict[str, Any]] = [
        {"/FT": Name.Tx, "/V": String("Ada Lovelace"), "/Ff": 1 << 24, "/MaxLen": 20},
        {"/FT": Name.Btn, "/V": Name.Yes, "/AS": Name.Yes},
        {"/FT": Name.Ch, "/V": String("de"), "/Opt": Array([Array([String("de"), String("Germany")])])},
    ]

    def change(document: pikepdf.Pdf) -> None:
        widgets = Array(
            [
                document.make_indirect(
                    Dictionary(
                        {"/Type": Name.Annot, "/Subtype": Name.Widget, "/T": String(f"f{row}"), "/F": 4}
                        | {"/Rect": Array([100, 600 - 30 * row, 300, 620 - 30 * row])}
                        | field
                    )
                )
                for row, field in enumerate(fields)
            ]
        )
        document.pages[0].Annots = widgets
        xfa = pikepdf.Stream(document, b"<xdp/>")
        document.Root.AcroForm = Dictionary(Fields=widgets, DA=String("/Helv 10 Tf 0 g"), XFA=xfa)

    return _changed(drawn(_printed), change)


def drawn(*draw: Callable[[Canvas], None]) -> bytes:
    file = io.BytesIO()
    canvas = Canvas(file, pagesize=(595, 842), invariant=True)
    for page in draw:
        page(canvas)
        canvas.showPage()
    canvas.save()
    return file.getvalue()


def _printed(canvas: Canvas) -> None:
    canvas.drawString(60, 780, "Invoice 7, total 119.00 EUR")
    for y in (600, 620, 640):
        canvas.line(60, y, 260, y)
    canvas.drawString(65, 625, "Net")


def _scanned(canvas: Canvas) -> None:
    """A picture, and invisible text over it."""
    picture = Image.linear_gradient("L").resize((60, 80))
    canvas.drawInlineImage(picture, 0, 0, 595, 842)  # pyright: ignore[reportUnknownMemberType] - untyped
    text = canvas.beginText(60, 780)
    text.setTextRenderMode(3)
    text.textLine("lnv0ice 7, t0tal")
    canvas.drawText(text)


def _changed(
    data: bytes,
    change: Callable[[pikepdf.Pdf], None] = lambda _: None,
    *,
    encryption: pikepdf.Encryption | None = None,
) -> bytes:
    file = io.BytesIO()
    with pikepdf.open(io.BytesIO(data)) as document:
        change(document)
        if encryption is None:
            document.save(file, deterministic_id=True)
        else:
            document.save(file, encryption=encryption)
    return file.getvalue()
