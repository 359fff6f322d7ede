"""Web pages as a person sees them: text, tables and pictures, without scripts, styles or network."""

import re
from binascii import a2b_base64
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import MappingProxyType
from urllib.parse import unquote, unquote_to_bytes

from lxml import etree

from docmill.errors import CorruptError, TooLargeError
from docmill.reading.formats.cells import TableCell, table
from docmill.reading.formats.list_numbering import FORMS
from docmill.reading.formats.package import Element, attribute, local, whole_number
from docmill.reading.formats.pictures import Album, Size
from docmill.reading.layout.typeset import Block, HeadingBlock, Paragraph
from docmill.reading.text import encodings

UNSEEN = frozenset({
    "applet", "audio", "canvas", "colgroup", "datalist", "embed", "head", "iframe", "map", "math", "meter",
    "noframes", "noscript", "object", "param", "progress", "rp", "rt", "script", "source", "style", "svg",
    "template", "title", "track", "video",
})  # fmt: skip
BLOCKS = frozenset({
    "article", "aside", "body", "center", "dd", "details", "dialog", "dir", "div", "dt", "figcaption",
    "footer", "form", "header", "hgroup", "html", "legend", "li", "main", "nav", "option", "search",
    "section", "summary", "td", "th", "tr",
})  # fmt: skip
"""Elements that stand on lines of their own. All others, also unknown ones, stand in a line."""
SPACED = frozenset({"address", "blockquote", "dl", "fieldset", "figure", "hr", "menu", "ol", "p", "ul"})
"""Elements with room above and below."""
HEADINGS = {f"h{level}": level for level in range(1, 7)}
PREFORMATTED = frozenset({"listing", "plaintext", "pre", "textarea", "xmp"})
HIDING = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden|mso-hide\s*:\s*all", re.IGNORECASE)
SILENT_INPUTS = frozenset({"checkbox", "color", "file", "hidden", "image", "password", "radio", "range"})
DECLARED = re.compile(rb"<meta[^>]{0,500}?charset\s*=\s*[\"']?\s*([\w.:()-]{2,40})", re.IGNORECASE)
DECLARED_XML = re.compile(rb"\A\s*<\?xml[^>]{0,200}?encoding\s*=\s*[\"']([\w.:-]{2,40})")
META_BYTES = 8192
SPACES = re.compile(r"[ \t\r\n\f\u200b]+")
LINE_END = "\v"
"""Stands for `<br>`, since line ends in the source are mere spaces."""
DEEPEST = 200
"""Elements inside each other. Deeper ones are read as bare text: no page that people write has them."""
BULLET = "•"
NUMBER_FORMS = {"a": "lowerLetter", "A": "upperLetter", "i": "lowerRoman", "I": "upperRoman"}
"""Values of the attribute `type` of `<ol>`, as `FORMS` calls them."""
INLINE = re.compile(r"data:image/[\w.+-]{1,30}(?:;[\w=.-]{1,40}){0,3};base64,", re.IGNORECASE)
DRAWING = re.compile(r"data:image/svg\+xml", re.IGNORECASE)
SOURCES = {
    "embed": ["src"],
    "image": ["href", "xlink:href"],
    "img": ["src"],
    "input": ["src"],
    "object": ["data"],
}
"""Attributes that name the picture of an element."""
BACKGROUND = re.compile(r"url\(\s*[\"']?([^\"')]+)", re.IGNORECASE)
PT_PER_PX = 0.75
NONE: Mapping[str, Callable[[], bytes]] = MappingProxyType({})
SPAN_DIGITS = 4
VOID = frozenset({"br", "hr", "input", "select"})


def read(path: Path) -> list[Block]:
    """Read headings, text and tables of the body."""
    return blocks(path.read_bytes())


def blocks(
    page: bytes | str,
    charset: str | None = None,
    enclosed: Mapping[str, Callable[[], bytes]] = NONE,
    *,
    album: Album | None = None,
) -> list[Block]:
    """Blocks that a page shows. charset: as its transport states it; the page itself may state another.

    enclosed: pictures that came with it, by content id. album: of the document that the page is a part of.
    """
    root = _parsed(page, charset)
    return [] if root is None else _visible_blocks(root, 0, _Pictures(enclosed, album or Album()))


def links(page: bytes | str, charset: str | None = None) -> Iterator[tuple[str, str]]:
    """The text and the address of each link of a page, as they stand there."""
    root = _parsed(page, charset)
    for element in () if root is None else root.iter("a"):
        if address := attribute(element, "href"):
            yield " ".join("".join(element.itertext()).split()), address.strip()


def _parsed(page: bytes | str, charset: str | None) -> Element | None:
    """The page as a tree; None if nothing in it looks like a page."""
    if isinstance(page, bytes):
        head = page[:META_BYTES]
        declared = DECLARED.search(head) or DECLARED_XML.search(head)
        page = encodings.decode(
            page, charset or (declared[1].decode("ascii", "replace") if declared else None)
        )
    parser = etree.HTMLParser(
        encoding="utf-8", no_network=True, remove_comments=True, remove_pis=True, huge_tree=True
    )
    data = page.replace("\0", "").encode("utf-8", "replace")
    try:
        root = etree.fromstring(data, parser) if data.strip() else None
    except etree.XMLSyntaxError:  # nothing but comments, or nothing that looks like a page
        return None
    if any(entry.type == etree.ErrorTypes.ERR_RESOURCE_LIMIT for entry in parser.error_log):
        raise TooLargeError("the web page nests its elements too deeply; save it as a PDF and use that")
    return root


@dataclass(frozen=True, slots=True)
class _Pictures:
    """The pictures that a page brings with it. Nothing is fetched."""

    enclosed: Mapping[str, Callable[[], bytes]]
    album: Album

    def blocks(self, element: Element) -> Iterator[Block]:
        """Pictures that the element itself shows: as an image, as an object, as a background.

        Backgrounds that are drawings are icons, and left out.
        """
        name = local(element)
        sources = [attribute(element, source) or "" for source in SOURCES.get(name, ())]
        if name in ("img", "source"):
            sources += (attribute(element, "srcset") or "").split()
        rules = element.text if name == "style" else attribute(element, "style")
        backgrounds = BACKGROUND.findall(rules or "")
        sources += [source for source in backgrounds if not DRAWING.match(source.strip())]
        size = Size(_length(element, "width"), _length(element, "height"))
        for source in map(str.strip, sources):
            inline = INLINE.match(source)
            load: Callable[[], bytes] | None = None
            if inline:
                load = partial(_decode_base64, source[inline.end() :])
            elif DRAWING.match(source):
                load = partial(unquote_to_bytes, source.partition(",")[2])
            elif source[:4].lower() == "cid:":
                load = self.enclosed.get(unquote(source[4:]))
            if load:
                yield from self.album.blocks(load, size)


def _decode_base64(text: str) -> bytes:
    """The bytes of a `data:` address. Raises CorruptError."""
    try:
        return a2b_base64(unquote(text))
    except ValueError as error:
        raise CorruptError("a picture within the page is damaged") from error


def _length(image: Element, side: str) -> float:
    """A side of a picture in points, 0 if the page does not state it."""
    styled = re.search(rf"(?<![-\w]){side}\s*:\s*(\d{{1,5}})(px|pt)", attribute(image, "style") or "")
    if styled:
        return int(styled[1]) * (1.0 if styled[2] == "pt" else PT_PER_PX)
    plain = re.fullmatch(r"(\d{1,5})(px)?", (attribute(image, side) or "").strip())
    return int(plain[1]) * PT_PER_PX if plain else 0.0


class _NumberedList:
    """Counter of an `<ol>`, which may count backwards."""

    def __init__(self, element: Element) -> None:
        is_reversed = attribute(element, "reversed") is not None
        items = sum(local(child) == "li" for child in element)
        self._step = -1 if is_reversed else 1
        self._number = _integer(attribute(element, "start"), items if is_reversed else 1)
        self._form = NUMBER_FORMS.get((attribute(element, "type") or "").strip(), "decimal")

    def next_mark(self, value: str | None) -> str:
        """The mark of the next item. value: the item's attribute, which sets the number."""
        number = _integer(value, self._number)
        self._number = number + self._step
        return f"{FORMS[self._form](number) if self._form in FORMS and number > 0 else number}."


def _integer(text: str | None, default: int) -> int:
    return int(text) if text and re.fullmatch(r"\s*-?\d{1,9}\s*", text) else default


def _visible_blocks(element: Element, depth: int, pictures: _Pictures) -> list[Block]:
    page = _Page(pictures)
    page.walk(element, depth)
    page.end_paragraph()
    return page.blocks


class _Page:
    """The blocks shown so far."""

    def __init__(self, pictures: _Pictures) -> None:
        self.blocks: list[Block] = []
        self._pictures = pictures
        self._lines: list[str] = []
        self._line: list[str] = []
        self._lists: list[_NumberedList | None] = []  # the lists around, None for those of bullets

    def walk(self, element: Element, depth: int) -> None:
        """Add what an element shows."""
        name = local(element)
        if _is_hidden(element):
            return
        self._add_pictures(element, name)
        if name in UNSEEN:
            return
        if depth > DEEPEST:
            self._line.append(" ".join(map(str, element.itertext())))
        elif name == "table":
            self.end_paragraph()
            self.blocks += _table(element, depth, self._pictures)
        elif name in HEADINGS:
            self.end_paragraph()
            self.add_content(element, depth)
            if text := self._take_text():
                self.blocks.append(HeadingBlock(text.replace("\n", " "), HEADINGS[name]))
        elif name in PREFORMATTED:
            self.end_paragraph()
            text = "".join(map(str, element.itertext())).strip("\r\n")
            self.blocks += [Paragraph(text, is_set=True)] if text.strip() else []
        elif name in VOID:
            self._line.append(_void_text(element, name))
        elif name in SPACED or name in BLOCKS:
            self._add_block(element, name, depth)
        else:
            self.add_content(element, depth)

    def _add_pictures(self, element: Element, name: str) -> None:
        """Add the pictures that an element shows, on lines of their own if they hold text."""
        if name == "img":
            self._line.append(" ")
        within = {"svg": "image", "head": "style"}.get(name)
        sources = element.iter(within) if within else [element]
        pictures = [block for source in sources for block in self._pictures.blocks(source)]
        if pictures:
            self.end_paragraph()
            self.blocks += pictures

    def _add_block(self, element: Element, name: str, depth: int) -> None:
        end = self.end_paragraph if name in SPACED else self._end_line
        end()
        if name == "li":
            numbered = self._lists[-1] if self._lists else None
            mark = BULLET if numbered is None else numbered.next_mark(attribute(element, "value"))
            self._line.append(f"{mark} ")
        if name in ("menu", "ol", "ul"):
            self._lists.append(_NumberedList(element) if name == "ol" else None)
            self.add_content(element, depth)
            self._lists.pop()
        else:
            self.add_content(element, depth)
        end()

    def add_content(self, element: Element, depth: int) -> None:
        """Add the text and the elements within an element."""
        self._line.append(element.text or "")
        for inner in element:
            self.walk(inner, depth + 1)
            self._line.append(inner.tail or "")

    def _end_line(self) -> None:
        text, self._line = "".join(self._line), []
        if text.strip():
            self._lines += [SPACES.sub(" ", line).strip() for line in text.split(LINE_END)]

    def _take_text(self) -> str:
        self._end_line()
        lines, self._lines = self._lines, []
        return "\n".join(lines).strip("\n")

    def end_paragraph(self) -> None:
        """End the running paragraph."""
        if text := self._take_text():
            self.blocks += [Paragraph(text), Paragraph("")]


def _void_text(element: Element, name: str) -> str:
    """Text of an element that is shown as something instead of holding something."""
    if name == "input":
        is_silent = (attribute(element, "type") or "text").lower() in SILENT_INPUTS
        return "" if is_silent else f" {attribute(element, 'value') or ''} "
    if name == "select":
        options = list(element.iter("option"))
        chosen = [option for option in options if attribute(option, "selected") is not None] or options
        return "".join(map(str, chosen[0].itertext())) if chosen else ""
    return LINE_END


def _is_hidden(element: Element) -> bool:
    return attribute(element, "hidden") is not None or bool(HIDING.search(attribute(element, "style") or ""))


def _table(element: Element, depth: int, pictures: _Pictures) -> list[Block]:
    before: list[Block] = []
    rows: list[list[TableCell]] = []
    header_rows = 0
    for row in _rows(element):
        if local(row) != "tr":  # a caption, or what does not belong into a table
            before += _visible_blocks(row, depth + 1, pictures)
            continue
        cells = [cell for cell in row if local(cell) in ("td", "th") and not _is_hidden(cell)]
        is_header = bool(cells) and all(local(cell) == "th" for cell in cells)
        header_rows += is_header and header_rows == len(rows)
        rows.append([])
        for cell in cells:
            page = _Page(pictures)
            page.add_content(cell, depth + 4)
            page.end_paragraph()
            spans = (
                whole_number(attribute(cell, name), 1, max_digits=SPAN_DIGITS)
                for name in ("rowspan", "colspan")
            )
            rows[-1].append(TableCell(page.blocks, *spans))
    return before + table(rows, header_rows)


def _rows(element: Element) -> list[Element]:
    rows: list[Element] = []
    for inner in element:
        if local(inner) in ("thead", "tbody", "tfoot"):
            rows += _rows(inner)
        elif local(inner) not in UNSEEN and not _is_hidden(inner):
            rows.append(inner)
    return rows
