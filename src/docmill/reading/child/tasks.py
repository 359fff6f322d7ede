"""Tasks that the pool's children run on originals: the only code that opens them."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import NamedTuple, TypeAlias

from docmill.errors import (
    CorruptError,
    DocumentError,
    EncryptedError,
    TooLargeError,
    UnsupportedFileTypeError,
)
from docmill.model.document import Embedded, Page, Part, Words
from docmill.reading.child.holders import (
    HOLDERS,
    OpenContainer,
    list_members,
    pdf_members,
    xml_members,
)
from docmill.reading.files import containers, file_types, passwords
from docmill.reading.files.containers import Member, MemberBatch
from docmill.reading.files.options import ReadingOptions
from docmill.reading.formats import READERS, Read
from docmill.reading.images import image_file
from docmill.reading.images.codes import read_codes
from docmill.reading.images.image_file import Picture
from docmill.reading.images.kept_scans import KeptScan, encode_scan
from docmill.reading.layout.tables import add_tables
from docmill.reading.layout.typeset import Block, Typeset, set_on_pages
from docmill.reading.mail import eml, outlook_msg, tnef
from docmill.reading.ocr.page import local_engine, recognise_page
from docmill.reading.ocr.text_lines import legible_dimension, turn_picture
from docmill.reading.pdf import attachments, form_fields, pdf_file, text_merging
from docmill.reading.pdf.glyph_shapes import GlyphShapes
from docmill.reading.pdf.page_codes import CodeSearch
from docmill.reading.pdf.page_objects import find_ruling_lines
from docmill.reading.pdf.text_merging import FigurePlace
from docmill.reading.statements import statement_files
from docmill.reading.statements.statement_files import embedded_data, embedded_tables

CONTAINERS: Mapping[str, OpenContainer] = {
    "application/mbox": eml.open_mailbox,
    "application/ms-tnef": tnef.open_attachments,
    "application/vnd.ms-outlook": outlook_msg.open_attachments,
    "application/zip": containers.open_archive,
    "message/rfc822": eml.open_attachments,
    **{
        media_type: partial(statement_files.open_statements, media_type=media_type)
        for media_type in statement_files.MEDIA_TYPES
    },
}
"""Openers by media type."""

TEXT_READERS: Mapping[str, Read] = {
    **READERS,
    "application/ms-tnef": tnef.read,
    "application/vnd.ms-outlook": outlook_msg.read,
    "message/rfc822": eml.read,
    **{
        media_type: partial(statement_files.read, media_type=media_type)
        for media_type in statement_files.MEDIA_TYPES
    },
}
"""Readers by media type, of formats without pages."""

_WORDLESS = (
    "no text was found in the file, nor in its pictures; if it shows some, save it as a PDF and use that"
)
_UNDECODABLE = "the HEIC picture cannot be decoded; save it as a JPEG and use that"


class OpenedFile(NamedTuple):
    """Result of opening a file.

    pages: the first pages of a PDF, all of a picture; None for each that must be recognised. page_count: 0
    for a format without pages. embedded: its XML for programs. parts: further files that it holds beside its
    own content.
    """

    media_type: str
    page_count: int
    pages: list[Page | None]
    embedded: tuple[Embedded, ...] = ()
    parts: tuple[Part, ...] = ()


def open_original(path: Path, options: ReadingOptions) -> OpenedFile:
    """Detect the file's type and read as much of its text as one task may.

    Raises UnsupportedFileTypeError, EncryptedError, CorruptError, TooLargeError; they name the media type
    as far as it is known.
    """
    try:
        with passwords.open_unlocked(path, options.passwords) as readable:
            media_type = file_types.media_type(readable)
        if media_type in TEXT_READERS or media_type in CONTAINERS:
            return _open_flow(path, media_type, options)
        if media_type != file_types.PDF:
            try:
                count = image_file.count_frames(path, options)
            except CorruptError as error:
                if media_type == file_types.HEIC.media_type:
                    raise undecodable_error() from error
                raise
            _check_pages(count, options)
            return OpenedFile(media_type, count, [None] * count)
        with pdf_file.open_document(path, options.passwords) as document:
            count = len(document)  # at least 1: PDFium refuses a file without pages
            _check_pages(count, options)
            last = min(count, options.pages_per_task)
            pages = _text_pages(path, document, range(1, last + 1), options)
            files = attachments.in_pdf(document, path, options.passwords)
            parts = list_members(pdf_members(files, options))
            return OpenedFile(media_type, count, pages, files.einvoices, parts)
    except DocumentError as error:
        if error.media_type is None:
            with suppress(DocumentError):
                error.media_type = file_types.kind(path).media_type
        raise


def _open_flow(path: Path, media_type: str, options: ReadingOptions) -> OpenedFile:
    """Open a format without pages."""
    if media_type == attachments.XML:
        embedded = attachments.in_file(path)
        is_parsed = path.stat().st_size <= attachments.MAX_BYTES_WITH_FILES
        members = xml_members(path, options) if is_parsed else []
        return OpenedFile(media_type, 0, [], embedded, list_members(members))
    parts: tuple[Part, ...] = ()
    if media_type in HOLDERS:
        # What cannot be opened here is told of by the reader of the text.
        with suppress(DocumentError), HOLDERS[media_type](path, options) as members:
            parts = list_members(members)
    return OpenedFile(media_type, 0, [], embedded_data(path, media_type, options), parts)


def undecodable_error() -> UnsupportedFileTypeError:
    """Error for a HEIC that is damaged or of a kind without a decoder here; the two cannot be told apart."""
    return UnsupportedFileTypeError(_UNDECODABLE, media_type=file_types.HEIC.media_type)


def wordless_error(pages: Sequence[Page], media_type: str) -> UnsupportedFileTypeError:
    """Error for a file of text without a word. pages: those it has, with their problems."""
    problem = next((page.problem for page in pages if page.problem), None)
    message = f"no word of the file can be read: {problem}" if problem else _WORDLESS
    return UnsupportedFileTypeError(message, media_type=media_type)


def list_parts(path: Path, media_type: str, options: ReadingOptions) -> list[Part]:
    """List the documents that a mail or an archive holds, without taking them out.

    Raises EncryptedError, CorruptError, TooLargeError.
    """
    with CONTAINERS[media_type](path, options) as members:
        return list(list_members(members))


def take_parts(path: Path, media_type: str, first: int, room: int, options: ReadingOptions) -> MemberBatch:
    """Take out the documents from index `first` on, as many as one task may return. room: bytes for all.

    Raises EncryptedError, CorruptError, TooLargeError.
    """
    with (CONTAINERS.get(media_type) or HOLDERS[media_type])(path, options) as members:
        return containers.take_batch(members, first, room, options)


def take_sections(path: Path, sections: list[Part], room: int, options: ReadingOptions) -> MemberBatch:
    """Take sections out of a file with pages, as many as one task may return. room: bytes for all.

    Raises EncryptedError, CorruptError, TooLargeError.
    """
    excerpt = partial(image_file.excerpt, path, options)
    if file_types.media_type(path) == file_types.PDF:
        excerpt = partial(pdf_file.excerpt, path, options.passwords)
    members: list[Member] = []
    for part in sections:
        assert part.first_page is not None  # every section has both
        assert part.last_page is not None
        members.append(Member(part.name, part.kind, partial(excerpt, part.first_page, part.last_page)))
    batch = containers.take_batch(members, 0, room, options)
    parts = [replace(part, problem=taken.problem) for part, taken in zip(sections, batch.parts, strict=False)]
    return batch._replace(parts=parts)


def _check_pages(count: int, options: ReadingOptions) -> None:
    if count > options.max_pages:
        raise TooLargeError(f"the file has {count} pages, more than {options.max_pages}; split it")


class FlowedPages(NamedTuple):
    """The pages of a format without pages, and the pictures on them that are still to be read.

    figures: their places; contents: their bytes, as they are stored. embedded: data read from the tables.
    """

    pages: list[Page]
    figures: list[FigurePlace]
    contents: list[bytes]
    embedded: tuple[Embedded, ...] = ()


def read_flow(path: Path, media_type: str, options: ReadingOptions) -> FlowedPages:
    """Read a format without pages: its text is set on pages.

    Raises EncryptedError, CorruptError, TooLargeError.
    """
    blocks = _read_blocks(path, media_type, options)
    pages, figures = set_on_pages(blocks, max_pages=options.max_flow_pages)
    places = [FigurePlace(number, figure.page_number, figure.box) for number, figure in enumerate(figures, 1)]
    contents = [figure.content for figure in figures]
    return FlowedPages(pages, places, contents, embedded_tables(path, media_type, blocks, options))


def set_flow(path: Path, media_type: str, options: ReadingOptions) -> Typeset:
    """Set the text of a format without pages, and its pictures, on pages.

    Raises EncryptedError, CorruptError, TooLargeError.
    """
    return set_on_pages(_read_blocks(path, media_type, options), max_pages=options.max_flow_pages)


def _read_blocks(path: Path, media_type: str, options: ReadingOptions) -> list[Block]:
    with passwords.open_unlocked(path, options.passwords) as readable:
        return TEXT_READERS[media_type](readable)


def read_text(path: Path, first: int, last: int, options: ReadingOptions) -> list[Page | None]:
    """Pages `first` to `last` of a PDF by their text layers, None for each that must be recognised."""
    with pdf_file.open_document(path, options.passwords) as document:
        return _text_pages(path, document, range(first, last + 1), options)


def _text_pages(
    path: Path, document: pdf_file.PdfDocument, numbers: Sequence[int], options: ReadingOptions
) -> list[Page | None]:
    """See `read_text`. Pages whose contents cannot be decoded are broken instead of empty."""
    pages: list[Page | None] = []
    shapes = GlyphShapes(document)
    codes = CodeSearch()
    for number in numbers:
        try:
            with pdf_file.open_page(document, number) as page:
                text = text_merging.text_page(page, number, shapes)
                if text:
                    text = add_tables(text, partial(find_ruling_lines, page))
                    text = replace(text, codes=codes.read(page, text.rotation))
                if text and number == 1 and form_fields.is_dynamic(document, page):
                    text = replace(text, problem=form_fields.DYNAMIC)
        except CorruptError as error:
            text = broken_page(number, error.message)
        pages.append(text)
    empty = [page.number for page in pages if page and not page.words.texts and page.problem is None]
    undecodable = pdf_file.unreadable_pages(path, empty, options.passwords) if empty else []
    return [
        broken_page(page.number, pdf_file.DAMAGED_PAGE) if page and page.number in undecodable else page
        for page in pages
    ]


def unlock(path: Path, password: str) -> bytes | None:
    """Take the password off a PDF or Office file; None for a file that needs none.

    Raises EncryptedError if the password is wrong or the file is protected in another way, CorruptError.
    """
    if passwords.is_locked(path):
        return passwords.decrypt(path, [password])
    if file_types.kind(path).media_type != file_types.PDF:
        return None
    try:
        with pdf_file.open_document(path):
            return None
    except EncryptedError:
        return pdf_file.decrypt(path, [password])


def complete_page(path: Path, seen: Page, options: ReadingOptions) -> Page:
    """Complete a recognised page of a PDF with the file's own text."""
    try:
        with (
            pdf_file.open_document(path, options.passwords) as document,
            pdf_file.open_page(document, seen.number) as page,
        ):
            whole = text_merging.merge_reading(text_merging.read_sound_layer(page, seen.number), seen)
    except CorruptError:
        return seen
    return add_tables(whole if whole.words is seen.words else replace(whole, tables=()))


class Recognition(NamedTuple):
    """A recognised page, and the preprocessed picture it was read in, if that is to be kept."""

    page: Page
    picture: KeptScan | None = None


Source: TypeAlias = Path | bytes
"""A file, or the bytes of a picture within one."""


def load_readers() -> None:
    """Load this module with its libraries, for a process whose children will need them."""


def load_rapid_engine() -> None:
    """Load the models of RapidOCR, for a process whose children will need them."""
    local_engine("rapidocr", ReadingOptions())


def recognise_picture(
    source: Source, media_type: str, number: int, options: ReadingOptions, engine: str
) -> Recognition:
    """Recognise one page with an engine of this machine, given by its name."""
    try:
        picture = draw_legible_picture(source, media_type, number, options)
        page, preprocessed = recognise_page(local_engine(engine, options), picture, options, number=number)
    except (CorruptError, TooLargeError) as error:
        return Recognition(broken_page(number, error.message))
    turned = turn_picture(picture.pixels, page.rotation - picture.rotation)
    codes = read_codes(turned)
    page = add_tables(replace(page, engine=engine, codes=codes))
    if preprocessed is None or not options.keep_preprocessed:
        return Recognition(page)
    return Recognition(page, encode_scan(preprocessed))


def draw_legible_picture(source: Source, media_type: str, number: int, options: ReadingOptions) -> Picture:
    """Draw as `draw_picture` does, but larger where letters became too small to be recognised.

    Raises CorruptError, TooLargeError.
    """
    picture = draw_picture(source, media_type, number, options)
    dimension_px = legible_dimension(picture.pixels, options.max_dimension_px)
    if dimension_px <= options.max_dimension_px:
        return picture
    return draw_picture(source, media_type, number, replace(options, max_dimension_px=dimension_px))


def draw_picture(source: Source, media_type: str, number: int, options: ReadingOptions) -> Picture:
    """Draw the picture in which a page of the file, or a picture within one, is recognised.

    Raises CorruptError, TooLargeError.
    """
    fit = (options.max_dimension_px, options.max_dimension_px)
    if isinstance(source, bytes):
        picture = image_file.load(source, 1, fit, options)
        return picture._replace(rotation=0)  # it stands upright on its page already
    if media_type != file_types.PDF:
        return image_file.load(source, number, fit, options)
    with (
        pdf_file.open_document(source, options.passwords) as document,
        pdf_file.open_page(document, number) as page,
    ):
        return pdf_file.render(page, fit)


def broken_page(number: int, problem: str) -> Page:
    """A page that could not be read, with the reason."""
    return Page(number, 595, 842, Words.none(), source="none", quality=0.0, problem=problem)
