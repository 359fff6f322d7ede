"""Office files to damage."""

import io
from typing import Any

import docx
import openpyxl
import pptx
import xlwt

from fuzz.holders import zipped

OPEN_DOCUMENT = "application/vnd.oasis.opendocument."
TABLE = """<table:table table:name="A"><table:table-row table:number-rows-repeated="2"><table:table-cell
table:number-columns-spanned="2" office:value-type="float" office:value="7"><text:p>7</text:p>
</table:table-cell></table:table-row></table:table>"""
BODIES = {
    "text": f"<text:h text:outline-level='1'>Rechnung</text:h><text:list><text:list-item><text:p>a</text:p>"
    f"</text:list-item></text:list>{TABLE}",
    "spreadsheet": TABLE,
    "presentation": "<draw:page><draw:frame><draw:text-box><text:p>a</text:p></draw:text-box></draw:frame>"
    "</draw:page>",
}


def offices() -> dict[str, list[bytes]]:
    """Files by their kind."""
    return {
        "docx": [_docx()],
        "xlsx": [_xlsx()],
        "xls": [_xls()],
        "pptx": [_pptx()],
        "odt": [_open_document("text")],
        "ods": [_open_document("spreadsheet")],
        "odp": [_open_document("presentation")],
    }


def _docx() -> bytes:
    file, document = io.BytesIO(), docx.Document()
    document.add_heading("Invoice 7")
    document.add_paragraph("Total 119.00 EUR", style="List Bullet")
    document.add_table(2, 2).cell(0, 0).text = "Net"
    document.save(file)
    return file.getvalue()


def _xlsx() -> bytes:
    file, workbook = io.BytesIO(), openpyxl.Workbook()
    sheet = workbook.active
    assert sheet is not None
    sheet.append(["Net", 100.5])
    sheet.append(["Date", "=A1"])
    sheet.merge_cells("A1:B1")
    workbook.save(file)
    return file.getvalue()


def _xls() -> bytes:
    library: Any = xlwt  # untyped
    file, workbook = io.BytesIO(), library.Workbook()
    sheet = workbook.add_sheet("A")
    sheet.write_merge(0, 0, 0, 1, "Rechnung für März")
    sheet.write(1, 0, 1234.5, library.easyxf(num_format_str="#,##0.00"))
    workbook.save(file)
    return file.getvalue()


def _pptx() -> bytes:
    file, presentation = io.BytesIO(), pptx.Presentation()
    slide = presentation.slides.add_slide(presentation.slide_layouts[5])
    assert slide.shapes.title
    slide.shapes.title.text = "Offer"
    slide.shapes.add_table(2, 2, 0, 0, 100, 100).table.cell(0, 0).text = "Net"  # pyright: ignore[reportArgumentType] - numbers are lengths
    presentation.save(file)
    return file.getvalue()


def _open_document(kind: str) -> bytes:
    names = "".join(
        f" xmlns:{name}='urn:oasis:names:tc:opendocument:xmlns:{what}:1.0'"
        for name, what in (("office", "office"), ("text", "text"), ("table", "table"), ("draw", "drawing"))
    )
    content = f"<office:document-content{names}><office:body><office:{kind}>{BODIES[kind]}</office:{kind}>"
    content += "</office:body></office:document-content>"
    return zipped({"mimetype": (OPEN_DOCUMENT + kind).encode(), "content.xml": content.encode()})
