"""Rich Text Format (specification 1.9.1): text, tables and pictures, without objects and hidden text."""

import codecs
import re
from binascii import unhexlify
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from docmill.errors import CorruptError
from docmill.reading.formats.pictures import Album, Size
from docmill.reading.layout.typeset import Block, PageBreak, Paragraph, TableBlock

TOKEN = re.compile(
    rb"\\(?P<word>[a-zA-Z]{1,32})(?P<number>-?\d{1,10})?[ ]?"
    rb"|\\'(?P<hex>[0-9a-fA-F]{2})"
    rb"|\\(?P<sign>[^a-zA-Z'])"
    rb"|(?P<group>[{}])"
    rb"|(?P<text>[^\\{}\r\n]+)"
    rb"|[\r\n]+|\\.?",
    re.DOTALL,
)
SKIPPED = frozenset(
    b"atnauthor atndate atnicn atnid atnref atntime author buptim category colorschememapping colortbl"
    b" comment company creatim datafield datastore defchp defpap doccomm docvar factoidname filetbl fldinst"
    b" fonttbl generator hlinkbase info keywords latentstyles listoverridetable listtable manager mmath"
    b" nextfile nonshppict objdata operator panose pict printim private revtbl revtim rsidtbl rxe shpinst"
    b" stylesheet subject tc themedata title txe userprops wgrffmtfilter xe xmlnstbl".split()
)
"""Groups without visible text."""
SIGNS: Mapping[bytes, str] = {
    b"bullet": "•", b"cell": "", b"emdash": "—", b"emspace": " ", b"endash": "–", b"enspace": " ",
    b"ldblquote": "“", b"line": "\n", b"lquote": "‘", b"lbr": "\n", b"qmspace": " ", b"rdblquote": "”",
    b"rquote": "’", b"tab": "\t", b"nestcell": "   ", b"nestrow": "\n",
}  # fmt: skip
SYMBOLS: Mapping[bytes, str] = {b"~": "\u00a0", b"_": "-", b"\\": "\\", b"{": "{", b"}": "}"}
SHOWN_IF_STARRED = frozenset({b"shptxt", b"pntext", b"shppict"})
TWIPS_PER_PT = 20
CHARSETS = {
    77: "mac_roman",
    128: "cp932", 129: "cp949", 134: "gb18030", 136: "big5hkscs", 161: "cp1253", 162: "cp1254",
    163: "cp1258", 177: "cp1255", 178: "cp1256", 186: "cp1257", 204: "cp1251", 222: "cp874", 238: "cp1250",
    254: "cp437", 255: "cp850",
}  # fmt: skip
"""Codecs by the charset of a font; 0 is that of the document."""
PAGES = {b"mac": "mac_roman", b"pc": "cp437", b"pca": "cp850"}
CODE_PAGES = {936: "gb18030", 950: "big5hkscs", 10000: "mac_roman", 65001: "utf-8"}
"""Codecs by number, where they are not called `cp` and the number."""
UNICODE_LIMIT = 0x10000


@dataclass(frozen=True, slots=True)
class _State:
    """State of a group. codec: of the bytes; fallback: number of signs to skip after a Unicode character."""

    codec: str
    fallback: int = 1
    is_skipped: bool = False
    is_hidden: bool = False
    in_fonts: bool = False
    in_picture: bool = False
    margin: str = ""

    @property
    def is_silent(self) -> bool:
        return self.is_skipped or self.is_hidden


@dataclass(slots=True)
class _Story:
    """A text being read: the body, a header, a footer. cells: of the unfinished row."""

    blocks: list[Block] = field(default_factory=list[Block])
    rows: list[list[str]] = field(default_factory=list[list[str]])
    cells: list[str] = field(default_factory=list[str])
    text: list[str] = field(default_factory=list[str])
    in_table: bool = False
    pictures: list[Block] = field(default_factory=list[Block])

    def end_paragraph(self) -> None:
        if self.in_table:
            self.text.append("\n")
            return
        self.end_table()
        text, self.text = "".join(self.text), []
        self.blocks.append(Paragraph(text.strip("\n"), is_set="\t" in text))
        self.end_pictures()

    def end_cell(self) -> None:
        self.cells.append("".join(self.text).strip())
        self.text = []

    def end_row(self) -> None:
        self.rows.append(self.cells)
        self.cells, self.in_table = [], False

    def end_table(self) -> None:
        if self.cells:
            self.end_row()
        if self.rows:
            self.blocks.append(TableBlock(self.rows))
            self.rows = []
            self.end_pictures()

    def end_pictures(self) -> None:
        """Put the pictures of a paragraph or a table after it."""
        self.blocks += self.pictures
        self.pictures = []

    def end(self) -> list[Block]:
        """End the running paragraph and table; all blocks of the story."""
        if self.cells and "".join(self.text).strip():
            self.end_cell()
        self.in_table = False
        if "".join(self.text).strip():
            self.end_paragraph()
        self.end_table()
        self.end_pictures()
        return self.blocks


@dataclass(slots=True)
class _Picture:
    """A picture being read. numbers: by the control words of its group."""

    numbers: dict[bytes, int] = field(default_factory=dict[bytes, int])
    content: bytearray = field(default_factory=bytearray)
    digits: bytearray = field(default_factory=bytearray)

    def to_file(self) -> bytes:
        """The picture as a file. Raises CorruptError."""
        hexadecimal = bytes(self.digits).translate(None, b" \t")
        try:
            return bytes(self.content) or unhexlify(hexadecimal[: len(hexadecimal) // 2 * 2])
        except ValueError as error:
            raise CorruptError("a picture in the file is damaged") from error

    def size(self) -> Size:
        """Displayed size."""
        sides = ((b"picwgoal", b"picscalex"), (b"pichgoal", b"picscaley"))
        numbers = self.numbers
        return Size(
            *(numbers.get(goal, 0) / TWIPS_PER_PT * numbers.get(scale, 100) / 100 for goal, scale in sides)
        )


def read(path: Path) -> list[Block]:
    """Read headers, the text with its tables, footers."""
    return blocks(path.read_bytes())


def blocks(data: bytes) -> list[Block]:
    """See `read`."""
    return _Reader().blocks(data)


class _Reader:
    """Walks through the groups. A file that is cut off gives what is there."""

    def __init__(self) -> None:
        self._states = [_State("cp1252")]
        self._page = "cp1252"
        self._fonts: dict[int, str] = {}
        self._font = 0
        self._stories = {name: _Story() for name in ("header", "", "footer")}
        self._pending = bytearray()
        self._to_skip = 0
        self._surrogate = 0
        self._album = Album()
        self._picture = _Picture()

    def blocks(self, data: bytes) -> list[Block]:
        """Read a file and return its blocks, headers first."""
        at = 0
        is_starred = False
        while match := TOKEN.match(data, at):
            at = match.end()
            if match.lastgroup == "group":
                self._open_or_close(opens=match["group"] == b"{")
            elif match["word"]:
                number = int(match["number"]) if match["number"] else None
                if match["word"] == b"bin":
                    stop = at + min(max(number or 0, 0), len(data))
                    if self._state.in_picture:
                        self._picture.content += data[at:stop]
                    at = stop
                else:
                    self._word(match["word"], number, is_starred=is_starred)
            elif match["text"] and self._state.in_picture:
                self._picture.digits += match["text"]
            elif match["hex"] or match["text"]:
                text = bytes([int(match["hex"], 16)]) if match["hex"] else match["text"]
                skipped = min(self._to_skip, len(text))
                self._to_skip -= skipped
                self._pending += text[skipped:]
            elif match["sign"]:
                self._flush()
                if match["sign"] in (b"\r", b"\n"):
                    self._word(b"par", None, is_starred=False)
                self._put(SYMBOLS.get(match["sign"], ""))
            is_starred = match["sign"] == b"*"
        self._flush()
        return [block for story in self._stories.values() for block in story.end()]

    @property
    def _state(self) -> _State:
        return self._states[-1]

    def _open_or_close(self, *, opens: bool) -> None:
        """Open or close a group."""
        self._flush()
        self._to_skip = 0
        if opens:
            self._states.append(self._state)
        elif len(self._states) > 1:
            closed = self._states.pop()
            if closed.in_picture and not self._state.in_picture:
                # Word stores each picture a second time for older readers; the album keeps one.
                picture, self._picture = self._picture, _Picture()
                story = self._stories[self._state.margin]
                story.pictures += self._album.blocks(picture.to_file, picture.size())
            if closed.margin and not self._state.margin:
                self._stories[closed.margin].end()

    def _word(self, word: bytes, number: int | None, *, is_starred: bool) -> None:
        """Act on a control word."""
        self._flush()
        state = self._state
        if word == b"u":
            self._unicode(number or 0)
        elif word in SKIPPED or (is_starred and word not in SHOWN_IF_STARRED):
            in_picture = word == b"pict" and not state.is_silent
            in_fonts = word == b"fonttbl"
            self._states[-1] = replace(state, is_skipped=True, in_fonts=in_fonts, in_picture=in_picture)
        elif state.in_picture:
            self._picture.numbers[word] = number or 0
        elif word == b"fcharset":
            if number in CHARSETS:
                self._fonts[self._font] = CHARSETS[number]
        elif (changed := self._changed_state(word, number)) is not None:
            self._states[-1] = changed
        elif not state.is_silent:
            self._text_word(word)

    def _changed_state(self, word: bytes, number: int | None) -> _State | None:
        """The state after a control word that changes it; None for other words."""
        state = self._state
        changed = None
        if word == b"f":
            self._font = number or 0
            changed = (
                state if state.in_fonts else replace(state, codec=self._fonts.get(self._font, self._page))
            )
        elif word == b"plain":
            changed = replace(state, codec=self._page, is_hidden=False)
        elif word in (b"v", b"deleted"):
            changed = replace(state, is_hidden=number != 0)
        elif word == b"shptxt":
            changed = replace(state, is_skipped=False)
        elif word == b"uc":
            changed = replace(state, fallback=max(0, min(number or 0, 8)))
        elif word in PAGES or word == b"ansicpg":
            self._page = PAGES.get(word) or _code_page(number)
            changed = replace(state, codec=self._page)
        elif word[:6] in (b"header", b"footer") and len(word) <= len(b"headerf"):
            changed = replace(state, margin=word[:6].decode())
        return changed

    def _text_word(self, word: bytes) -> None:
        """Act on a control word that is part of the text."""
        story = self._stories[self._state.margin]
        if word in (b"par", b"sect"):
            story.end_paragraph()
        elif word == b"page":
            story.end()
            story.blocks.append(PageBreak())
        elif word == b"cell":
            story.end_cell()
        elif word == b"row":
            story.end_row()
        elif word in (b"intbl", b"pard"):
            story.in_table = word == b"intbl"
        elif word in SIGNS:
            self._put(SIGNS[word])

    def _put(self, text: str) -> None:
        if text and not self._state.is_silent:
            self._stories[self._state.margin].text.append(text)

    def _unicode(self, number: int) -> None:
        """Put a character by its number, which is signed and, beyond 65,535, comes in two halves."""
        code = number % UNICODE_LIMIT
        self._to_skip = self._state.fallback
        if 0xD800 <= code < 0xDC00:  # noqa: PLR2004 - the first halves
            self._surrogate = code
            return
        if 0xDC00 <= code < 0xE000:  # noqa: PLR2004 - the second halves
            code = 0x10000 + (self._surrogate - 0xD800) * 0x400 + code - 0xDC00 if self._surrogate else 0xFFFD
        self._surrogate = 0
        self._put(chr(code) if code > 31 else "")  # noqa: PLR2004 - controls

    def _flush(self) -> None:
        """Decode the bytes collected so far: those of a character may come one by one."""
        if self._pending:
            text = bytes(self._pending).decode(self._state.codec, "replace")
            self._pending.clear()
            self._put("".join(character for character in text if character >= " "))


def _code_page(number: int | None) -> str:
    name = CODE_PAGES.get(number or 0, f"cp{number}")
    try:
        codecs.lookup(name)
    except LookupError:
        return "cp1252"
    return name
