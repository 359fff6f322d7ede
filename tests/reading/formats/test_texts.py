"""Plain text, Markdown, and tables saved as text."""

from pathlib import Path

import pytest

from docmill.reading.files.options import ReadingOptions
from docmill.reading.formats import delimited_text, markdown, plain_text
from docmill.reading.layout.typeset import Block, Grid, Heading, Missing, PageBreak, Paragraph

OPTIONS = ReadingOptions()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "a.txt"


def as_table(path: Path, content: bytes | str) -> list[Block]:
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return delimited_text.read(path, OPTIONS)


def test_lines_stay_and_form_feeds_start_pages(path: Path) -> None:
    path.write_bytes(b"Net   5\r\nVAT   1\f\f\nlast\r")

    assert plain_text.read(path, OPTIONS) == [
        Paragraph("Net   5\nVAT   1", is_set=True),
        PageBreak(),
        Paragraph("last", is_set=True),
        PageBreak(),
    ]


def test_a_file_of_spaces_holds_no_text(path: Path) -> None:
    path.write_text(" \n\f \n")

    assert plain_text.read(path, OPTIONS) == []


@pytest.mark.parametrize(
    "content",
    [
        "a,b\n1,2\n",
        "a;b\r\n1;2\r\n",
        "a\tb\n1\t2",
        "a|b\n1|2\n",
        "sep=#\na#b\n1#2\n",
        '"a","b"\n"1","2"\n',
        "\ufeffa,b\n1,2\n",
        "a,b\n1,2\n".encode("utf-16"),
    ],
)
def test_a_table_is_read_whatever_parts_it(path: Path, content: bytes | str) -> None:
    assert as_table(path, content) == [Grid([["a", "b"], ["1", "2"]], 1)]


def test_quotation_marks_hold_lines_and_marks(path: Path) -> None:
    assert as_table(path, 'a;b\n"1;\n2";"say ""x"""\n3;4\n') == [
        Grid([["a", "b"], ["1;\n2", 'say "x"'], ["3", "4"]], 1)
    ]


def test_what_is_no_table_is_read_as_text(path: Path) -> None:
    assert as_table(path, "just words\nand more\n") == [
        Paragraph("just words\nand more", is_set=True),
        PageBreak(),
    ]


def test_a_quotation_mark_that_never_ends_makes_it_text(path: Path) -> None:
    content = "a,b\n1,2\n" * 9000 + 'x,"' + "y\n" * 600_000

    assert isinstance(as_table(path, content)[0], Paragraph)


def test_a_table_without_end_is_read_as_far_as_possible(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delimited_text, "MAX_CELLS", 4)

    grid, missing = as_table(path, "a,b\n1,2\n3,4\n")

    assert grid == Grid([["a", "b"], ["1", "2"]], 1)
    assert isinstance(missing, Missing)
    assert "more than 2 rows" in missing.problem


def test_markdown_is_read_as_it_is_meant(path: Path) -> None:
    path.write_text(
        "Title\n=====\n\n## Terms ##\n**Total:** _12_ [link](http://x) \\* `code`\n* one\n\n"
        "| Item | Price |\n|:-----|------:|\n| a \\| b | **5** |\n\n```py\nx  =  1\n```\n"
        "Under\n---\n~~~\nopen\n"
    )

    assert markdown.read(path, OPTIONS) == [
        Heading("Title", 1),
        Heading("Terms", 2),
        Paragraph("Total: 12 link * code\n• one", is_set=True),
        Grid([["Item", "Price"], ["a | b", "5"]], 1),
        Paragraph("x  =  1", is_set=True),
        Heading("Under", 2),
        Paragraph("open\n", is_set=True),
    ]
