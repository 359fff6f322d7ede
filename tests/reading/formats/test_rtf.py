import pytest
from hypothesis import given
from hypothesis import strategies as st

from docmill.reading.formats.rtf import blocks
from docmill.reading.layout.typeset import PageBreak, Paragraph, TableBlock

HEAD = (
    rb"{\rtf1\ansi\ansicpg1252{\fonttbl{\f0\fcharset0 Arial;}"
    rb"{\f1\fcharset204 Arial Cyr;}{\f2\fcharset128 Gothic;}}"
    rb"{\*\generator x;}{\info{\title hidden}}"
)


def text(content: bytes) -> str:
    found = blocks(HEAD + content + b"}")
    return "\n".join(block.text for block in found if isinstance(block, Paragraph))


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (rb"Gr\'f6\'dfe \'80 5\par", "Größe € 5"),
        (rb"\u8364?5\par", "€5"),
        (rb"\uc2\u8364\'80\'80 5\par", "€ 5"),
        (rb"\uc0\u8364 5\par", "€5"),
        (rb"\u-10179?\u-8704?\par", "\U0001f600"),
        (rb"{\f1\'d1\'f7\'e5\'f2}\par", "Счет"),
        (rb"{\f2\'90\'bf\'8b\'81}\par", "請求"),
        (rb"a\tab b\line c\~d\_e\{\}\\\par", "a\tb\nc\u00a0d-e{}\\"),
        (rb"\ldblquote x\rdblquote\endash y\par", "“x”–y"),
        (rb"seen{\v hidden}{\deleted gone}{\v0 too}\par", "seentoo"),
        (rb"{\field{\*\fldinst HYPERLINK x}{\fldrslt link}}\par", "link"),
        (rb"a{\pict\wmetafile8 0123}{\object{\objdata 00}{\result b}}\par", "ab"),
        (rb"{\pict\bin5 }}}}}}c\par", "c"),
        (rb"{\*\unknown x}{\shp{\*\shpinst{\sp x}{\shptxt boxed\par}}}", "boxed"),
        (rb"{\header Acme\par}{\footerr page\par}body\par", "Acme\nbody\npage"),
        (b"one\\\ntwo\\par\nthree", "one\ntwo\nthree"),
        (rb"\mac\'8a\par", "ä"),
        (rb"\ansicpg1250\'b3\par", "ł"),
        (rb"\ansicpg9999\'e4\par", "ä"),
        (rb"{\f1\plain\'e4}\par", "ä"),
    ],
)
def test_text_is_read_as_it_is_seen(content: bytes, expected: str) -> None:
    assert text(content) == expected


def test_rows_make_tables() -> None:
    row = rb"\trowd\cellx1\cellx2\intbl a\par b\cell\intbl 5\cell\row"

    assert blocks(HEAD + rb"before\par" + row * 2 + rb"\pard after\par\page last}") == [
        Paragraph("before"),
        TableBlock([["a\nb", "5"], ["a\nb", "5"]]),
        Paragraph("after"),
        PageBreak(),
        Paragraph("last"),
    ]


def test_a_file_that_is_cut_off_gives_what_is_there() -> None:
    assert blocks(HEAD + rb"\trowd\intbl a\cell b") == [TableBlock([["a", "b"]])]
    assert blocks(rb"{\rtf1 text") == [Paragraph("text")]


WORDS = [
    b"{", b"}", rb"\par ", rb"\cell ", rb"\row ", rb"\u55357?", rb"\'", rb"\bin9999999 ", rb"\uc9 ", rb"\f1 ",
    b"x", b"\\", rb"\intbl ", rb"{\header ",
]  # fmt: skip


@given(st.lists(st.sampled_from(WORDS), max_size=30))
def test_any_order_of_words_is_read(parts: list[bytes]) -> None:
    blocks(rb"{\rtf1 " + b"".join(parts))
