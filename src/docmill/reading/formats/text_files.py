"""Files of text: plain text, tables saved as delimited text (CSV, TSV), e-invoices in XML, and Markdown.

Markdown is CommonMark with the tables and the strikethrough of GitHub, read as a program shows it.
"""

import csv
import html as entities
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from docmill.errors import CorruptError
from docmill.model.cells import shown_text
from docmill.reading.files import delimited
from docmill.reading.formats import html, supporting_documents
from docmill.reading.formats.package import Element, local, parse_xml
from docmill.reading.formats.pictures import Album
from docmill.reading.layout.typeset import (
    Block,
    HeadingBlock,
    MissingBlock,
    PageBreak,
    Paragraph,
    TableBlock,
    beside_text,
)
from docmill.reading.pdf import attachments
from docmill.reading.text import encodings, western
from docmill.schemas.einvoice_kinds import ENVELOPE, ROOTS

if TYPE_CHECKING:
    from markdown_it.tree import SyntaxTreeNode

MAX_CELLS = 1_000_000
LONGEST_CELL = 1_000_000
NAMED = re.compile(r"\Asep=(.)\n", re.IGNORECASE)
"""First line of a table that states its delimiter, as Excel reads it."""
REST = "the table has more than {count:,} rows, and the rest was not read; split it to have all of it"
LARGE_GROUP = 12
"""A group of an e-invoice with more values than this has headings for the groups within it."""
WORDS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
"""Borders of the words in an element's name."""
DAY = re.compile(r"(\d{4})(\d\d)(\d\d)")
CALENDAR = "102"
"""UN/CEFACT 2379: year, month and day without marks."""
UNITS = ("currencyID", "unitCode")
"""Attributes without which a number says little."""
DEEPEST = 60
"""Lists and quotations inside each other. The parser leaves out deeper ones; such a file is read as text."""
LONGEST_MARKDOWN = 500_000
"""Characters beside pictures; lists take a second for each 100,000. Longer files are read as text."""
ENCLOSED = re.compile(r";base64,[\w+/=]+")
BULLET = "• "
LINE_BREAK = re.compile(r"<br\b", re.IGNORECASE)
PICTURE = re.compile(r"<(?:img|source)\b", re.IGNORECASE)
UNSEEN_TAG = re.compile(
    r"<!|</?(?:a|abbr|b|bdi|bdo|big|center|cite|code|data|del|dfn|div|em|font|i|img|ins|kbd|label|mark|p|picture"
    r"|q|rp|rt|ruby|s|samp|small|source|span|strike|strong|sub|sup|time|tt|u|var|wbr)\b",
    re.IGNORECASE,
)
"""A comment or tag of HTML within a line. Other words in angle brackets are shown."""
INDENTATION = re.compile(r"[ \t]*")

csv.field_size_limit(LONGEST_CELL)


def read(path: Path) -> list[Block]:
    """Read lines as they are; a form feed starts a new page. Nothing for a text of spaces."""
    return _plain_blocks(encodings.decode(path.read_bytes()))


def _plain_blocks(text: str) -> list[Block]:
    """See `read`."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n")
    pages = [page.strip("\n") for page in lines.split("\f")]
    return [block for page in pages if page.strip() for block in (Paragraph(page, is_set=True), PageBreak())]


def read_table(path: Path) -> list[Block]:
    """Read one table, whose first row names the columns; plain text if the content is no table."""
    content = western.decode(path.read_bytes()).replace("\r\n", "\n").replace("\r", "\n")
    named = NAMED.match(content)
    content = content[named.end() if named else 0 :]
    is_whole = len(content) <= delimited.SAMPLE
    table = delimited.find_table(content[: delimited.SAMPLE], is_whole=is_whole)
    mark = named[1] if named else table.delimiter if table else None
    if mark is None:
        return _plain_blocks(content)
    rows: list[list[str]] = []
    left = MAX_CELLS
    rest: list[Block] = []
    try:
        for row in csv.reader(content.splitlines(keepends=True), delimiter=mark):
            left -= len(row)
            if left < 0:
                rest = [MissingBlock(REST.format(count=len(rows)))]
                break
            rows.append([shown_text(cell) for cell in row])
    except csv.Error:  # a cell of a megabyte: a quotation mark that is none
        return _plain_blocks(content)
    if table is None or table.delimiter != mark or not table.start:
        return [TableBlock(rows, 1), *rest]
    return [*_with_lines_around(rows, table), *rest]


def _with_lines_around(rows: Sequence[Sequence[str]], table: delimited.DelimitedTable) -> Iterator[Block]:
    """A table, and the lines before and after it as text."""
    filled = [index for index, row in enumerate(rows) if any(row)]
    start = filled[table.start]
    stop = start + delimited.end_of_table(rows[start:], table.columns)
    parts = (rows[:start], rows[stop:])
    before, after = ("\n".join("  ".join(filter(None, row)) for row in part) for part in parts)
    yield Paragraph(before, is_set=True)
    yield TableBlock([row for row in rows[start:stop] if any(row)], 1)
    if after.strip():
        yield Paragraph(after, is_set=True)


def read_xml(path: Path) -> list[Block]:
    """Read an e-invoice: names in words, groups under headings; any other or broken XML as plain text."""
    content = attachments.without_large_files(path.read_bytes())
    if len(content) > attachments.MAX_BYTES or attachments.root(content) not in ROOTS:
        return _plain_blocks(encodings.decode(attachments.without_files(content)))
    try:
        root = parse_xml(content.lstrip(b"\xef\xbb\xbf \t\r\n"))
    except (CorruptError, LookupError):
        return read(path)
    if root.getroottree().docinfo.internalDTD is not None:  # no e-invoice may declare one
        return read(path)
    if root.tag == ENVELOPE:
        root = next(element for element in root.iter() if element.tag in ROOTS)
    return [HeadingBlock(_name_in_words(root)), *_group_blocks(root, 2)]


def _group_blocks(element: Element, level: int) -> Iterator[Block]:
    """Blocks for the element's content: its own values first, as its schemas have it, then its groups."""
    rows: list[tuple[str, str]] = []
    counts = Counter(child.tag for child in element)
    seen: Counter[object] = Counter()
    for child in element:
        seen[child.tag] += 1
        if not len(child):
            rows.append((_name_in_words(child), _value(child)))
            continue
        if rows:
            yield TableBlock(rows)
            rows = []
        number = f" {seen[child.tag]}" if counts[child.tag] > 1 else ""
        yield HeadingBlock(_name_in_words(child) + number, level)
        leaves = [leaf for leaf in child.iter() if not len(leaf)]
        if len(leaves) > LARGE_GROUP:
            yield from _group_blocks(child, level + 1)
            continue
        values: list[tuple[str, str]] = []
        for leaf in leaves:
            owner = leaf.getparent()
            prefix = "" if owner is None or owner is child else f"{_name_in_words(owner)}: "
            values.append((prefix + _name_in_words(leaf), _value(leaf)))
        yield TableBlock(values)
    if rows:
        yield TableBlock(rows)


def _name_in_words(element: Element) -> str:
    """The local name in words: `CityName` is "City name", `EndpointID` "Endpoint ID"."""
    first, *rest = WORDS.split(local(element))
    words = [first[:1].upper() + first[1:], *(word if word.isupper() else word.lower() for word in rest)]
    return " ".join(words)


def _value(leaf: Element) -> str:
    if local(leaf) in supporting_documents.FILES:  # their content is a document of its own
        return leaf.get("filename") or leaf.get("mimeCode") or ""
    value = (leaf.text or "").strip()
    if leaf.get("format") == CALENDAR:
        value = DAY.sub(r"\1-\2-\3", value)
    return " ".join([value, *(str(leaf.get(name)) for name in UNITS if leaf.get(name))]).strip()


def read_markdown(path: Path) -> list[Block]:
    """Read headings, tables, fenced code, the rest as text with its line ends; pictures after each."""
    source = encodings.decode(path.read_bytes())
    if len(ENCLOSED.sub("", source)) > LONGEST_MARKDOWN:
        return _plain_blocks(source)
    from markdown_it import MarkdownIt  # noqa: PLC0415 - takes a tenth of a second, and few files are Markdown
    from markdown_it.tree import SyntaxTreeNode  # noqa: PLC0415 - as above

    parser = MarkdownIt("commonmark", {"maxNesting": DEEPEST}).enable(["table", "strikethrough"])
    # Nothing is fetched, and a refused address would be shown as text.
    parser.validateLink = lambda url: True  # noqa: ARG005
    source = source.replace("\r\n", "\n").replace("\r", "\n")
    tokens = parser.parse(source)
    if any(token.level >= DEEPEST - 1 for token in tokens):
        return _plain_blocks(source)
    page = _MarkdownPage(source)
    page.walk(SyntaxTreeNode(tokens))
    page.end_text()
    return page.blocks


class _MarkdownPage:
    """Collects blocks. Running text, with its lists, stays one block until something else follows."""

    def __init__(self, source: str) -> None:
        self.blocks: list[Block] = []
        self._source = source.split("\n")
        self._album = Album()
        self._pictures: list[str] = []
        self._text: list[str] = []
        self._text_end = 0
        self._mark: str | None = None
        self._indent = ""

    def walk(self, parent: "SyntaxTreeNode") -> None:
        """Add the content of an element."""
        for node in parent.children:
            first, end = node.map or (0, 0)
            lines = self._source[first:end]
            # Several lines above a rule are no heading: they may be rows above a sum.
            if node.type == "paragraph" or (node.type == "heading" and len(lines) > 2):  # noqa: PLR2004 - a line and its rule
                self._put(node, self._with_indentation(node, lines))
            elif node.type == "code_block" and node.level == 0:  # it may be columns of the text
                self._put(node, "\n".join(lines))
            elif node.type in ("bullet_list", "ordered_list"):
                self._list(node)
            elif node.type == "blockquote":
                self.walk(node)
            elif node.type in ("heading", "fence", "code_block", "table", "html_block"):
                self.end_text()
                self.blocks += self._block(node)

    def _block(self, node: "SyntaxTreeNode") -> list[Block]:
        """Blocks of an element that interrupts the running text."""
        if node.type == "heading":
            return [HeadingBlock(self._inline(node), int(node.tag[1:]))]
        if node.type == "table":
            rows = [row for part in node.children for row in part.children]
            return [TableBlock([list(map(self._inline, row.children)) for row in rows], 1)]
        if node.type == "html_block":
            return html.blocks(node.content, album=self._album)
        return [Paragraph(node.content.removesuffix("\n"), is_set=True)]

    def end_text(self) -> None:
        """End the running text and add the pictures in it."""
        lines, self._text = "\n".join(self._text).strip("\n"), []
        if lines.strip():
            self.blocks.append(Paragraph(lines, is_set=True))
        pictures, self._pictures = self._pictures, []
        if pictures:
            self.blocks += beside_text(html.blocks("".join(pictures), album=self._album))

    def _put(self, node: "SyntaxTreeNode", lines: str) -> None:
        """Add running text, with the empty lines before it."""
        first, end = node.map or (self._text_end, self._text_end)
        start = self._indent if self._mark is None else self._mark
        if self._text:
            self._text += [""] * (first - self._text_end)
        self._text.append(start + lines.replace("\n", f"\n{self._indent}"))
        self._mark, self._text_end = None, end

    def _list(self, node: "SyntaxTreeNode") -> None:
        outer = self._indent
        for item in node.children:
            mark = BULLET if node.type == "bullet_list" else f"{item.info}{item.markup} "
            self._mark, self._indent = outer + mark, outer + " " * len(mark)
            self.walk(item)
            if not item.children:
                self._put(item, "")
            self._mark, self._indent = None, outer

    def _with_indentation(self, node: "SyntaxTreeNode", written: list[str]) -> str:
        """The text of an element, indented as in the file, so that columns stay aligned."""
        lines = self._inline(node)
        shown = lines.split("\n")
        written = written[: -1 if node.type == "heading" else None]
        if node.level or len(shown) != len(written):
            return lines
        return "\n".join(
            f"{INDENTATION.match(old)[0]}{new}"  # pyright: ignore[reportOptionalSubscript] - always matches
            for new, old in zip(shown, written, strict=True)
        )

    def _inline(self, parent: "SyntaxTreeNode") -> str:
        """Text without its marks."""
        texts: list[str] = []
        for node in parent.children:
            if node.type in ("softbreak", "hardbreak"):
                texts.append("\n")
            elif node.type == "html_inline":
                if PICTURE.match(node.content):
                    self._pictures.append(node.content)
                is_shown = not UNSEEN_TAG.match(node.content)
                texts.append("\n" if LINE_BREAK.match(node.content) else node.content * is_shown)
            else:
                if node.type == "image":
                    self._pictures.append(f'<img src="{entities.escape(str(node.attrs.get("src", "")))}">')
                texts.append(self._inline(node) if node.children else node.content)
        return "".join(texts)
