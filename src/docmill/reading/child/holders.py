"""Documents with content of their own that hold further files."""

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

from docmill.model.document import Part
from docmill.reading.files import file_types
from docmill.reading.files.containers import Member, with_clean_names
from docmill.reading.files.options import ReadingOptions
from docmill.reading.formats import embedded_objects
from docmill.reading.formats.supporting_documents import supporting_documents
from docmill.reading.pdf import attachments, pdf_file
from docmill.reading.pdf.attachments import PdfAttachments

OpenContainer = Callable[[Path, ReadingOptions], AbstractContextManager[Sequence[Member]]]
"""Opens a file's members for the length of a block. Raises EncryptedError, CorruptError, TooLargeError."""

_TOO_MANY = "more than {count} files are in one document; save this one from it and upload it by itself"


def list_members(members: Sequence[Member]) -> tuple[Part, ...]:
    """The members as parts that have not been taken out."""
    named = with_clean_names(members)
    return tuple(Part(member.name, member.kind, problem=member.problem) for member in named)


def pdf_members(files: PdfAttachments, options: ReadingOptions) -> list[Member]:
    """The files attached to a PDF besides its e-invoices, and those within the e-invoices."""
    most_bytes = options.max_part_bytes + 1  # one more tells that it is too large
    members = [
        Member(file.name, "attachment", partial(file.read, most_bytes), file.problem) for file in files.others
    ]
    for file in files.sources:
        members += supporting_documents(file.read(attachments.MAX_BYTES_WITH_FILES))
    return _limit_count(members, options)


def xml_members(path: Path, options: ReadingOptions) -> list[Member]:
    """The files within the XML of an e-invoice."""
    return _limit_count(supporting_documents(path.read_bytes()), options)


def _limit_count(members: Sequence[Member], options: ReadingOptions) -> list[Member]:
    """The members; those beyond the limit have a problem, because the document is of use without them."""
    most = options.max_parts
    beyond = (replace(member, problem=_TOO_MANY.format(count=most)) for member in members[most:])
    return [*members[:most], *beyond]


@contextmanager
def _open_pdf(path: Path, options: ReadingOptions) -> Generator[Sequence[Member]]:
    with pdf_file.open_document(path, options.passwords) as document:
        files = attachments.in_pdf(document, path, options.passwords)
    yield pdf_members(files, options)


@contextmanager
def _open_xml(path: Path, options: ReadingOptions) -> Generator[Sequence[Member]]:
    yield xml_members(path, options)


@contextmanager
def _open_office(path: Path, options: ReadingOptions, *, media_type: str) -> Generator[Sequence[Member]]:
    with embedded_objects.open_embedded(path, options, media_type=media_type) as members:
        yield _limit_count(members, options)


HOLDERS: Mapping[str, OpenContainer] = {
    file_types.PDF: _open_pdf,
    attachments.XML: _open_xml,
    **{kind: partial(_open_office, media_type=kind) for kind in embedded_objects.FINDERS},
}
"""Openers by media type."""
