from pathlib import Path

from docmill.reading.layout.tables import RulingLines
from docmill.reading.pdf import pdf_file
from docmill.reading.pdf.page_objects import find_ruling_lines

CONTENT = b"""
0.5 w 50 700 m 250 700 l S
50 650 200 1 re f
1 0 0 1 10 20 cm 40 600 100 50 re S
300 300 m 350 350 l S
200 200 100 100 re f
10 10 m 12 10 l S
"""


def drawn(tmp_path: Path, *, rotation: int = 0) -> tuple[RulingLines, RulingLines]:
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Rotate %d /Contents 4 0 R >>" % rotation,
        b"<< /Length %d >>\nstream\n%s\nendstream" % (len(CONTENT), CONTENT),
    ]
    body = b"%PDF-1.4\n" + b"".join(
        b"%d 0 obj\n%s\nendobj\n" % (number, content) for number, content in enumerate(objects, 1)
    )
    path = tmp_path / "lines.pdf"
    path.write_bytes(body + b"trailer << /Root 1 0 R /Size 5 >>\n%%EOF")
    with pdf_file.open_document(path) as document, pdf_file.open_page(document, 1) as page:
        return find_ruling_lines(page)


def test_strokes_thin_boxes_and_outlines_are_lines_from_the_upper_left(tmp_path: Path) -> None:
    across, down = drawn(tmp_path)

    assert sorted([round(edge) for edge in line] for line in across.tolist()) == [
        [100, 50, 250],
        [130, 50, 150],
        [150, 50, 250],
        [180, 50, 150],
    ]
    assert sorted([round(edge) for edge in line] for line in down.tolist()) == [
        [50, 130, 180],
        [150, 130, 180],
    ]


def test_a_turned_page_gives_no_lines(tmp_path: Path) -> None:
    across, down = drawn(tmp_path, rotation=90)

    assert (len(across), len(down)) == (0, 0)
