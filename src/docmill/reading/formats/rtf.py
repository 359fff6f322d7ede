"""Rich Text Format (specification 1.9.1): text, tables and pictures, without objects and what is hidden."""

import codecs
import re
from binascii import unhexlify
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from docmill.errors import CorruptError
from docmill.reading.files.options import ReadingOptions
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
"""Groups without text that can be seen."""
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
"""What the charsets of fonts mean; 0 is that of the document."""
PAGES = {b"mac": "mac_roman", b"pc": "cp437", b"pca": "cp850"}
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


@dataclass(slots=True)
class _Story:
    """A text being read: the body, a header, a footer. cells: of the row that is not finished."""

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

    def end_page(self) -> None:
        self.end()
        self.blocks.append(PageBreak())

    def end(self) -> None:
        if self.cells and "".join(self.text).strip():
            self.end_cell()
        self.in_table = False
        if "".join(self.text).strip():
            self.end_paragraph()
        self.end_table()
        self.end_pictures()


@dataclass(slots=True)
class _Picture:
    """A picture being read. numbers: what its words say."""

    numbers: dict[bytes, int] = field(default_factory=dict[bytes, int])
    content: bytearray = field(default_factory=bytearray)
    digits: bytearray = field(default_factory=bytearray)

    def taken_out(self) -> bytes:
        """The picture as a file."""
        hexadecimal = bytes(self.digits).translate(None, b" \t")
        try:
            return bytes(self.content) or unhexlify(hexadecimal[: len(hexadecimal) // 2 * 2])
        except ValueError as error:
            raise CorruptError("a picture in the file is damaged") from error

    @property
    def size(self) -> Size:
        """As it is displayed."""
        return Size(self._side(b"picwgoal", b"picscalex"), self._side(b"pichgoal", b"picscaley"))

    def _side(self, goal: bytes, scale: bytes) -> float:
        return self.numbers.get(goal, 0) / TWIPS_PER_PT * self.numbers.get(scale, 100) / 100


def read(path: Path, options: ReadingOptions) -> list[Block]:
    """Headers, the text with its tables, footers."""
    del options
    return blocks(path.read_bytes())


def blocks(data: bytes) -> list[Block]:
    """See `read`."""
    reader = _Reader()
    reader.read(data)
    return reader.blocks()


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

    def blocks(self) -> list[Block]:
        """The blocks that were read, headers first."""
        found: list[Block] = []
        for story in self._stories.values():
            story.end()
            found += story.blocks
        return found

    def read(self, data: bytes) -> None:
        at = 0
        starred = False
        while match := TOKEN.match(data, at):
            at = match.end()
            kind = match.lastgroup
            if kind == "group":
                self._group(opens=match["group"] == b"{")
            elif match["word"]:
                number = int(match["number"]) if match["number"] else None
                if match["word"] == b"bin":
                    stop = at + min(max(number or 0, 0), len(data))
                    if self._state.in_picture:
                        self._picture.content += data[at:stop]
                    at = stop
                else:
                    self._word(match["word"], number, starred=starred)
            elif match["hex"]:
                self._byte(int(match["hex"], 16))
            elif match["text"] and self._state.in_picture:
                self._picture.digits += match["text"]
            elif match["text"]:
                self._bytes(match["text"])
            elif match["sign"]:
                self._sign(match["sign"])
            starred = match["sign"] == b"*"
        self._flush()

    @property
    def _state(self) -> _State:
        return self._states[-1]

    @property
    def _story(self) -> _Story:
        return self._stories[self._state.margin]

    def _change(self, **changes: object) -> None:
        self._states[-1] = replace(self._state, **changes)  # pyright: ignore[reportArgumentType] - fields of its own

    def _group(self, *, opens: bool) -> None:
        self._flush()
        self._to_skip = 0
        if opens:
            self._states.append(self._state)
        elif len(self._states) > 1:
            before = self._states.pop()
            if before.in_picture and not self._state.in_picture:
                self._end_picture()
            if before.margin and not self._state.margin:
                self._stories[before.margin].end()

    def _end_picture(self) -> None:
        """Keep the picture if it may hold text. What Word stores for older readers it holds twice."""
        picture, self._picture = self._picture, _Picture()
        self._story.pictures += self._album.blocks(picture.taken_out, picture.size)

    def _word(self, word: bytes, number: int | None, *, starred: bool) -> None:
        if word == b"u":
            self._unicode(number or 0)
            return
        self._flush()
        if word in SKIPPED or (starred and word not in SHOWN_IF_STARRED):
            in_picture = word == b"pict" and not self._is_silent
            self._change(is_skipped=True, in_fonts=word == b"fonttbl", in_picture=in_picture)
        elif self._state.in_picture:
            self._picture.numbers[word] = number or 0
        elif word in CHANGES:
            CHANGES[word](self, number)
        elif word == b"uc":
            self._change(fallback=max(0, min(number or 0, 8)))
        elif word in PAGES or word == b"ansicpg":
            self._page = PAGES.get(word) or _code_page(number)
            self._change(codec=self._page)
        elif word[:6] in (b"header", b"footer") and len(word) <= len(b"headerf"):
            self._change(margin=word[:6].decode())
        elif not self._is_silent:
            self._in_text(word)

    @property
    def _is_silent(self) -> bool:
        return self._state.is_skipped or self._state.is_hidden

    def _in_text(self, word: bytes) -> None:
        story = self._story
        if word in (b"par", b"sect"):
            story.end_paragraph()
        elif word == b"page":
            story.end_page()
        elif word == b"cell":
            story.end_cell()
        elif word == b"row":
            story.end_row()
        elif word == b"intbl":
            story.in_table = True
        elif word == b"pard":
            story.in_table = False
        elif word in SIGNS:
            self._put(SIGNS[word])

    def _put(self, text: str) -> None:
        if not self._is_silent:
            self._story.text.append(text)

    def _byte(self, byte: int) -> None:
        if self._to_skip:
            self._to_skip -= 1
        else:
            self._pending.append(byte)

    def _bytes(self, text: bytes) -> None:
        skipped = min(self._to_skip, len(text))
        self._to_skip -= skipped
        self._pending += text[skipped:]

    def _sign(self, sign: bytes) -> None:
        self._flush()
        if sign in (b"\r", b"\n"):
            self._word(b"par", None, starred=False)
        elif sign in SYMBOLS:
            self._put(SYMBOLS[sign])

    def _unicode(self, number: int) -> None:
        """A character by its number, which is signed and, beyond 65,535, comes in two halves."""
        self._flush()
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
        """Decode the bytes collected so far: those of one character may come one by one."""
        if self._pending:
            text = bytes(self._pending).decode(self._state.codec, "replace")
            self._pending.clear()
            self._put("".join(character for character in text if character >= " "))

    def choose_font(self, number: int | None) -> None:
        self._font = number or 0
        if not self._state.in_fonts:
            self._change(codec=self._fonts.get(self._font, self._page))

    def set_charset(self, number: int | None) -> None:
        if number in CHARSETS:
            self._fonts[self._font] = CHARSETS[number]

    def reset(self, _: int | None) -> None:
        self._change(codec=self._page, is_hidden=False)

    def hide(self, number: int | None) -> None:
        self._change(is_hidden=number != 0)

    def show(self, _: int | None) -> None:
        self._change(is_skipped=False)


CHANGES: Mapping[bytes, Callable[[_Reader, int | None], None]] = {
    b"f": _Reader.choose_font,
    b"fcharset": _Reader.set_charset,
    b"plain": _Reader.reset,
    b"v": _Reader.hide,
    b"deleted": _Reader.hide,
    b"shptxt": _Reader.show,
}


def _code_page(number: int | None) -> str:
    name = {936: "gb18030", 950: "big5hkscs", 10000: "mac_roman", 65001: "utf-8"}.get(
        number or 0, f"cp{number}"
    )
    try:
        codecs.lookup(name)
    except LookupError:
        return "cp1252"
    return name
