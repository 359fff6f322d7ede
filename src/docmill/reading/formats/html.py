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
from docmill.reading.files.options import ReadingOptions
from docmill.reading.formats.cells import TableCell, table
from docmill.reading.formats.list_numbering import FORMS
from docmill.reading.formats.package import Element, attribute, local
from docmill.reading.formats.pictures import Album, Size
from docmill.reading.layout.typeset import Block, HeadingBlock, Paragraph
from docmill.reading.text import encodings

UNSEEN = frozenset(
    {
        "applet",
        "audio",
        "canvas",
        "colgroup",
        "datalist",
        "embed",
        "head",
        "iframe",
        "map",
        "math",
        "meter",
        "noframes",
        "noscript",
        "object",
        "param",
        "progress",
        "rp",
        "rt",
        "script",
        "source",
        "style",
        "svg",
        "template",
        "title",
        "track",
        "video",
    }
)
BLOCKS = frozenset(
    {
        "article",
        "aside",
        "body",
        "center",
        "dd",
        "details",
        "dialog",
        "dir",
        "div",
        "dt",
        "figcaption",
        "footer",
        "form",
        "header",
        "hgroup",
        "html",
        "legend",
        "li",
        "main",
        "nav",
        "option",
        "search",
        "section",
        "summary",
        "td",
        "th",
        "tr",
    }
)
"""Elements that stand on lines of their own. Any other, also one that nobody knows, stands in a line."""
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
"""Elements inside each other. What is deeper is read as bare text: no page that people write needs more."""
BULLET = "•"
NUMBER_FORMS = {"a": "lowerLetter", "A": "upperLetter", "i": "lowerRoman", "I": "upperRoman"}
"""Values of the attribute `type` of `<ol>`, as `FORMS` calls them."""
INLINE = re.compile(r"data:image/[\w.+-]{1,30}(?:;[\w=.-]{1,40}){0,3};base64,", re.IGNORECASE)
DRAWING = re.compile(r"data:image/svg\+xml", re.IGNORECASE)
SOURCES = {
    "embed": ("src",),
    "image": ("href", "xlink:href"),
    "img": ("src",),
    "input": ("src",),
    "object": ("data",),
}
BACKGROUND = re.compile(r"url\(\s*[\"']?([^\"')]+)", re.IGNORECASE)
PT_PER_PX = 0.75
NONE: Mapping[str, Callable[[], bytes]] = MappingProxyType({})


def read(path: Path, options: ReadingOptions) -> list[Block]:
    """Headings, text and tables of the body."""
    del options
    return blocks(path.read_bytes())


def blocks(
    page: bytes | str,
    charset: str | None = None,
    enclosed: Mapping[str, Callable[[], bytes]] = NONE,
    *,
    album: Album | None = None,
) -> list[Block]:
    """Blocks that a page shows. charset: as its transport says; the page itself may say something else.

    enclosed: pictures that came with it, by content id. album: of the document that the page is a part of.
    """
    text = page if isinstance(page, str) else encodings.decode(page, charset or _declared(page))
    root = _parsed(text)
    return [] if root is None else _shown(root, 0, _Pictures(enclosed, album or Album()))


def _declared(data: bytes) -> str | None:
    head = data[:META_BYTES]
    found = DECLARED.search(head) or DECLARED_XML.search(head)
    return found[1].decode("ascii", "replace") if found else None


def _parsed(text: str) -> Element | None:
    parser = etree.HTMLParser(
        encoding="utf-8", no_network=True, remove_comments=True, remove_pis=True, huge_tree=True
    )
    data = text.replace("\0", "").encode("utf-8", "replace")
    try:
        root = etree.fromstring(data, parser) if data.strip() else None
    except etree.XMLSyntaxError:  # nothing but comments, or nothing that looks like a page
        return None
    if any(entry.type == etree.ErrorTypes.ERR_RESOURCE_LIMIT for entry in parser.error_log):
        raise TooLargeError("the web page nests its elements too deeply; save it as a PDF and use that")
    return root


class _Pictures:
    """The pictures that a page brings with it. Nothing is fetched."""

    def __init__(self, enclosed: Mapping[str, Callable[[], bytes]], album: Album) -> None:
        self._enclosed = enclosed
        self._album = album

    def blocks(self, element: Element) -> Iterator[Block]:
        """All that the element itself shows, whichever way it names them."""
        size = Size(_length(element, "width"), _length(element, "height"))
        for source in _sources(element):
            yield from self._of(source.strip(), size)

    def _of(self, source: str, size: Size) -> Iterator[Block]:
        inline = INLINE.match(source)
        if inline:
            yield from self._album.blocks(partial(unpacked, source[inline.end() :]), size)
        elif DRAWING.match(source):
            yield from self._album.blocks(partial(unquote_to_bytes, source.partition(",")[2]), size)
        elif source[:4].lower() == "cid:" and (content := self._enclosed.get(unquote(source[4:]))):
            yield from self._album.blocks(content, size)


def _sources(element: Element) -> list[str]:
    """Sources of the pictures that an element shows: an image, an object, backgrounds of a style.

    Backgrounds that are drawings are icons.
    """
    named = [attribute(element, name) for name in SOURCES.get(local(element), ())]
    listed = (attribute(element, "srcset") or "").split() if local(element) in ("img", "source") else []
    rules = element.text if local(element) == "style" else attribute(element, "style")
    styled = [source for source in BACKGROUND.findall(rules or "") if not DRAWING.match(source.strip())]
    return [source for source in (*named, *listed, *styled) if source]


def unpacked(base64: str) -> bytes:
    """The bytes of a `data:` address. Raises CorruptError."""
    try:
        return a2b_base64(unquote(base64))
    except ValueError as error:
        raise CorruptError("a picture within the page is damaged") from error


def _length(image: Element, side: str) -> float:
    """A side of a picture in points, 0 if the page does not say it."""
    styled = re.search(rf"(?<![-\w]){side}\s*:\s*(\d{{1,5}})(px|pt)", attribute(image, "style") or "")
    plain = re.fullmatch(r"(\d{1,5})(px)?", (attribute(image, side) or "").strip())
    if styled:
        return int(styled[1]) * (1.0 if styled[2] == "pt" else PT_PER_PX)
    return int(plain[1]) * PT_PER_PX if plain else 0.0


@dataclass
class _NumberedList:
    """Counter of an `<ol>`. form: of its numbers, as in `FORMS`; step: -1 where it counts backwards."""

    form: str
    number: int
    step: int

    @classmethod
    def of(cls, element: Element) -> "_NumberedList":
        is_reversed = attribute(element, "reversed") is not None
        items = sum(local(child) == "li" for child in element)
        start = _whole(attribute(element, "start"), items if is_reversed else 1)
        form = NUMBER_FORMS.get((attribute(element, "type") or "").strip(), "decimal")
        return cls(form, start, -1 if is_reversed else 1)

    def next_mark(self, value: str | None) -> str:
        """The mark of the next item. value: the item's attribute, which sets the number."""
        number = _whole(value, self.number)
        self.number = number + self.step
        return f"{FORMS[self.form](number) if self.form in FORMS and number > 0 else number}."


def _whole(text: str | None, default: int) -> int:
    return int(text) if text and re.fullmatch(r"\s*-?\d{1,9}\s*", text) else default


def _shown(element: Element, depth: int, pictures: _Pictures) -> list[Block]:
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
        self._is_set = False
        self._lists: list[_NumberedList | None] = []  # the lists around, None for those of bullets

    def walk(self, element: Element, depth: int) -> None:
        name = local(element)
        if _is_hidden(element):
            return
        self._pictured(element)
        if name in UNSEEN:
            return
        if depth > DEEPEST:
            self._line.append(" ".join(map(str, element.itertext())))
        elif name == "table":
            self.end_paragraph()
            self.blocks += _table(element, depth, self._pictures)
        elif name in HEADINGS:
            self.end_paragraph()
            self.inside(element, depth)
            self._end_heading(HEADINGS[name])
        elif name in PREFORMATTED:
            self._preformatted(element)
        elif name in EMPTY:
            self._line.append(EMPTY[name](element))
        elif name in SPACED or name in BLOCKS:
            self._block(element, name, depth)
        else:
            self.inside(element, depth)

    def _pictured(self, element: Element) -> None:
        """Pictures that it shows, on lines of their own if they hold text."""
        if local(element) == "img":
            self._line.append(" ")
        within = {"svg": "image", "head": "style"}.get(local(element))
        shown = element.iter(within) if within else [element]
        found = [block for source in shown for block in self._pictures.blocks(source)]
        if found:
            self.end_paragraph()
            self.blocks += found

    def _block(self, element: Element, name: str, depth: int) -> None:
        end = self.end_paragraph if name in SPACED else self._end_line
        end()
        if name == "li":
            self._line.append(f"{self._next_mark(element)} ")
        if name in ("menu", "ol", "ul"):
            self._lists.append(_NumberedList.of(element) if name == "ol" else None)
            self.inside(element, depth)
            self._lists.pop()
        else:
            self.inside(element, depth)
        end()

    def _next_mark(self, item: Element) -> str:
        numbered = self._lists[-1] if self._lists else None
        return BULLET if numbered is None else numbered.next_mark(attribute(item, "value"))

    def inside(self, element: Element, depth: int) -> None:
        self._line.append(element.text or "")
        for found in element:
            self.walk(found, depth + 1)
            self._line.append(found.tail or "")

    def _preformatted(self, element: Element) -> None:
        self.end_paragraph()
        text = "".join(map(str, element.itertext())).strip("\r\n")
        if text.strip():
            self.blocks.append(Paragraph(text, is_set=True))

    def _end_line(self) -> None:
        text, self._line = "".join(self._line), []
        if text.strip():
            self._lines += [SPACES.sub(" ", line).strip() for line in text.split(LINE_END)]

    def _text(self) -> str:
        self._end_line()
        lines, self._lines = self._lines, []
        return "\n".join(lines).strip("\n")

    def end_paragraph(self) -> None:
        """End the running paragraph."""
        text = self._text()
        if text:
            self.blocks += [Paragraph(text), Paragraph("")]

    def _end_heading(self, level: int) -> None:
        text = self._text()
        if text:
            self.blocks.append(HeadingBlock(text.replace("\n", " "), level))


def _input(element: Element) -> str:
    silent = (attribute(element, "type") or "text").lower() in SILENT_INPUTS
    return "" if silent else f" {attribute(element, 'value') or ''} "


def _select(element: Element) -> str:
    """The chosen option, the first if none is."""
    options = list(element.iter("option"))
    chosen = [option for option in options if attribute(option, "selected") is not None]
    return "".join(map(str, (chosen or options)[0].itertext())) if options else ""


def _line_end(_: Element) -> str:
    return LINE_END


EMPTY: Mapping[str, Callable[[Element], str]] = {
    "br": _line_end,
    "hr": _line_end,
    "input": _input,
    "select": _select,
}
"""Elements that are something instead of holding something."""


def _is_hidden(element: Element) -> bool:
    return attribute(element, "hidden") is not None or bool(HIDING.search(attribute(element, "style") or ""))


def _table(element: Element, depth: int, pictures: _Pictures) -> list[Block]:
    before: list[Block] = []
    rows: list[list[TableCell]] = []
    header_rows = 0
    for row in _rows(element):
        if local(row) != "tr":  # a caption, or what does not belong into a table
            before += _shown(row, depth + 1, pictures)
            continue
        cells = [cell for cell in row if local(cell) in ("td", "th") and not _is_hidden(cell)]
        is_header = bool(cells) and all(local(cell) == "th" for cell in cells)
        header_rows += is_header and header_rows == len(rows)
        rows.append([_cell(cell, depth + 4, pictures) for cell in cells])
    return before + table(rows, header_rows)


def _rows(element: Element) -> list[Element]:
    rows: list[Element] = []
    for found in element:
        if local(found) in ("thead", "tbody", "tfoot"):
            rows += _rows(found)
        elif local(found) not in UNSEEN and not _is_hidden(found):
            rows.append(found)
    return rows


def _cell(element: Element, depth: int, pictures: _Pictures) -> TableCell:
    found = _Page(pictures)
    found.inside(element, depth)
    found.end_paragraph()
    return TableCell(found.blocks, _span(element, "rowspan"), _span(element, "colspan"))


def _span(element: Element, name: str) -> int:
    text = attribute(element, name) or ""
    return int(text) if text.isdecimal() and len(text) < len("10000") else 1
