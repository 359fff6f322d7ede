"""Plain text, Markdown, and tables saved as text."""

import re
from pathlib import Path
from tempfile import NamedTemporaryFile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from docmill.reading.formats import text_files
from docmill.reading.layout.typeset import Block, HeadingBlock, MissingBlock, PageBreak, Paragraph, TableBlock


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "a.txt"


def as_table(path: Path, content: bytes | str) -> list[Block]:
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return text_files.read_table(path)


def markdown(source: str) -> list[Block]:
    with NamedTemporaryFile(suffix=".md") as file:
        file.write(source.encode())
        file.flush()
        return text_files.read_markdown(Path(file.name))


def test_lines_stay_and_form_feeds_start_pages(path: Path) -> None:
    path.write_bytes(b"Net   5\r\nVAT   1\f\f\nlast\r")

    assert text_files.read(path) == [
        Paragraph("Net   5\nVAT   1", is_set=True),
        PageBreak(),
        Paragraph("last", is_set=True),
        PageBreak(),
    ]


def test_a_file_of_spaces_holds_no_text(path: Path) -> None:
    path.write_text(" \n\f \n")

    assert text_files.read(path) == []


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
    assert as_table(path, content) == [TableBlock([["a", "b"], ["1", "2"]], 1)]


def test_quotation_marks_hold_lines_and_marks(path: Path) -> None:
    assert as_table(path, 'a;b\n"1;\n2";"say ""x"""\n3;4\n') == [
        TableBlock([["a", "b"], ["1;\n2", 'say "x"'], ["3", "4"]], 1)
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
    monkeypatch.setattr(text_files, "MAX_CELLS", 4)

    grid, missing = as_table(path, "a,b\n1,2\n3,4\n")

    assert grid == TableBlock([["a", "b"], ["1", "2"]], 1)
    assert isinstance(missing, MissingBlock)
    assert "more than 2 rows" in missing.problem


def test_markdown_is_read_as_it_is_meant(path: Path) -> None:
    path.write_text(
        "Title\n=====\n\n## Terms ##\n**Total:** _12_ [link](http://x) \\* `code`\n* one\n\n"
        "| Item | Price |\n|:-----|------:|\n| a \\| b | **5** |\n\n```py\nx  =  1\n```\n"
        "Under\n---\n~~~\nopen\n"
    )

    assert text_files.read_markdown(path) == [
        HeadingBlock("Title", 1),
        HeadingBlock("Terms", 2),
        Paragraph("Total: 12 link * code\n• one", is_set=True),
        TableBlock([["Item", "Price"], ["a | b", "5"]], 1),
        Paragraph("x  =  1", is_set=True),
        HeadingBlock("Under", 2),
        Paragraph("open", is_set=True),
    ]


@pytest.mark.parametrize(
    ("source", "seen"),
    [
        ("3. a\n1. b\n\n   more\n   * c\n     d", "3. a\n1. b\n\n   more\n   • c\n     d"),
        ("> said **he**\nand she", "said he\nand she"),
        ("a\\\nb  \nc", "a\nb\nc"),
        ("[*one*][1] ![two](x.png)\n\n[1]: http://x 'title'", "one two"),
        ("AT&amp;T &euro; 5 * 3 snake_case ~~was~~", "AT&T € 5 * 3 snake_case was"),
        ("<b>12</b> <EUR> a<br>b<!-- c --> <a@b.com>", "12 <EUR> a\nb a@b.com"),
        ("- [x] done", "• [x] done"),
    ],
)
def test_markdown_is_read_by_its_standard(source: str, seen: str) -> None:
    assert markdown(source) == [Paragraph(seen, is_set=True)]


def test_columns_of_a_text_that_looks_like_markdown_stay_in_line(path: Path) -> None:
    path.write_text(
        "Order\n=====\n  Screw    2   10.00\n  Nut      1    5.00\n---------------------\n"
        "  Sum          15.00\n\n\n     paid   15.00\n"
    )

    assert text_files.read_markdown(path) == [
        HeadingBlock("Order", 1),
        Paragraph(
            "  Screw    2   10.00\n  Nut      1    5.00\n  Sum          15.00\n\n\n     paid   15.00",
            is_set=True,
        ),
    ]


def test_tables_and_code_within_a_list_come_after_its_text() -> None:
    source = "* one\n\n  | a |\n  |---|\n  | b<br>c |\n\n  ```\n  x\n  ```\n* two\n"

    assert markdown(source) == [
        Paragraph("• one", is_set=True),
        TableBlock([["a"], ["b\nc"]], 1),
        Paragraph("x", is_set=True),
        Paragraph("• two", is_set=True),
    ]


def test_html_within_markdown_is_read_as_html() -> None:
    found = markdown("<table><tr><td>a<td>b<tr><td>1<td>2</table>\n\n*after*\n")

    assert found == [TableBlock([["a", "b"], ["1", "2"]]), Paragraph("after", is_set=True)]


@pytest.mark.parametrize(
    "source", ["> " * 100 + "deep", "# much\n" + "- x\n" * 200_000], ids=["deep", "long"]
)
def test_markdown_that_its_parser_would_cut_or_take_long_for_is_read_as_text(source: str) -> None:
    first, *_ = markdown(source)

    assert first == Paragraph(source.strip("\n"), is_set=True)


@given(st.text(alphabet="ab1 \n*_-#>.", max_size=80))
def test_no_letter_is_lost_to_marks(source: str) -> None:
    found = "".join(block.text for block in markdown(source) if isinstance(block, HeadingBlock | Paragraph))

    assert re.findall(r"\w", found.replace("_", "")) == re.findall(r"\w", source.replace("_", ""))
