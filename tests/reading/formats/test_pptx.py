from collections.abc import Callable, Mapping
from pathlib import Path

import pptx
from pptx.presentation import Presentation
from pptx.util import Inches

from docmill.reading.formats.pptx import read
from docmill.reading.layout.typeset import Block, HeadingBlock, MissingBlock, PageBreak, Paragraph, TableBlock

MakeZip = Callable[[Mapping[str, str]], Path]
BOX = (Inches(1), Inches(1), Inches(4), Inches(2))


def shown(presentation: Presentation, folder: Path) -> list[Block]:
    presentation.save(str(folder / "made.pptx"))
    return [block for block in read(folder / "made.pptx") if block != Paragraph("")]


def test_slides_are_read_with_titles_boxes_tables_groups_and_notes(tmp_path: Path) -> None:
    presentation = pptx.Presentation()
    slide = presentation.slides.add_slide(presentation.slide_layouts[5])
    slide.shapes.add_textbox(*BOX).text_frame.text = "first\vline\nsecond"
    table = slide.shapes.add_table(2, 3, *BOX).table
    table.cell(0, 0).merge(table.cell(0, 1))
    for row, column, text in ((0, 0, "wide"), (0, 2, "c"), (1, 0, "d"), (1, 1, "e"), (1, 2, "f")):
        table.cell(row, column).text = text
    slide.shapes.add_group_shape().shapes.add_textbox(*BOX).text_frame.text = "grouped"
    assert slide.shapes.title
    slide.shapes.title.text = "Offer"
    notes = slide.notes_slide.notes_text_frame
    assert notes
    notes.text = "say hello"
    presentation.slides.add_slide(presentation.slide_layouts[6])

    assert shown(presentation, tmp_path) == [
        HeadingBlock("Offer", 1),
        Paragraph("first\nline"),
        Paragraph("second"),
        TableBlock([["wide", "", "c"], ["d", "e", "f"]], 1, {(0, 0): (1, 2)}),
        Paragraph("grouped"),
        Paragraph("say hello"),
        PageBreak(),
        PageBreak(),
    ]


def test_a_damaged_slide_does_not_hide_the_others(make_zip: MakeZip) -> None:
    path = make_zip(
        {
            "ppt/presentation.xml": "<p xmlns:r='r'><sldIdLst><s id='7' r:id='a'/>"
            "<s id='8' r:id='b'/></sldIdLst></p>",
            "ppt/_rels/presentation.xml.rels": "<r><a Id='a' Type='t/slide' Target='1.xml'/>"
            "<a Id='b' Type='t/slide' Target='2.xml'/></r>",
            "ppt/1.xml": "<broken",
            "ppt/2.xml": "<s><cSld><spTree><sp><txBody><p><r><t>fine</t></r></p></txBody></sp>"
            "</spTree></cSld></s>",
            "ppt/_rels/2.xml.rels": "<r><a Id='d' Type='t/diagramData' Target='d.xml'/></r>",
            "ppt/d.xml": "<d><ptLst><pt/><pt><t><p><r><t>step</t></r></p></t></pt></ptLst></d>",
        }
    )

    missing, _, *others = read(path)

    assert isinstance(missing, MissingBlock)
    assert missing.problem.startswith("slide 1 is damaged")
    assert others == [Paragraph("fine"), Paragraph(""), Paragraph("step"), PageBreak()]
