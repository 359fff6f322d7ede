"""ZIP archives: what they hold, within limits, whatever they claim."""

import stat
import struct
import zipfile
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from docmill.errors import CorruptError, EncryptedError, TooLargeError
from docmill.files import is_junk
from docmill.reading.containers.members import EMPTY, Member, too_large
from docmill.reading.files.file_types import ZIP_FAULTS
from docmill.reading.files.options import ReadingOptions

ENCRYPTED = "protected by a password; unpack it with the password and upload what comes out"
LINK = "a link to another place, not a file"
UNKNOWN_PACKING = "packed in a way that cannot be read; pack it as an ordinary ZIP archive"
DAMAGED = "the archive is damaged; have it sent again, or unpack it and upload what it holds"

_IS_ENCRYPTED = 0x1
_IS_UTF_8 = 0x800
_AES = 99
_RATIO_FROM_BYTES = 10_000_000
"""A smaller file does no harm, however well it was packed."""
_LARGEST_DIRECTORY = 5_000_000
_PIECE = 1 << 20
_READABLE = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA)
_END = struct.Struct("<4s4H2LH")
_END_64 = struct.Struct("<4sQ2H2L4Q")
"""How an archive ends (APPNOTE.TXT 4.3.14 and 4.3.16)."""


@contextmanager
def open_archive(path: Path, options: ReadingOptions) -> Generator[list[Member]]:
    """The files of an archive, to be read within the block.

    Raises CorruptError, TooLargeError for too many, EncryptedError if all need a password.
    """
    _check_directory(path)
    try:
        archive = zipfile.ZipFile(path)
    except ZIP_FAULTS as error:
        raise CorruptError(DAMAGED) from error
    with archive:
        held = list(_files(archive, options))
        if not held:
            raise CorruptError("the archive holds no file")
        if len(held) > options.max_parts:
            raise TooLargeError(
                f"the archive holds {len(held)} files, more than {options.max_parts}; split it into several"
            )
        if all(member.problem == ENCRYPTED for member in held):
            raise EncryptedError(f"the archive is {ENCRYPTED}")
        yield held


def _check_directory(path: Path) -> None:
    """Refuse a list of files so long that to read it would take too much time and memory."""
    with path.open("rb") as file:
        file.seek(0, 2)
        file.seek(max(0, file.tell() - _END.size - 0xFFFF))
        tail = file.read()
    end, end_64 = tail.rfind(b"PK\x05\x06"), tail.rfind(b"PK\x06\x06")
    if end < 0 or len(tail) - end < _END.size:
        raise CorruptError(DAMAGED)
    directory_bytes = _END.unpack_from(tail, end)[5]
    if 0 <= end_64 <= end - _END_64.size:  # what it says wins
        directory_bytes = _END_64.unpack_from(tail, end_64)[8]
    if directory_bytes > _LARGEST_DIRECTORY:
        raise TooLargeError("the archive lists too many files; split it into several")


def _files(archive: zipfile.ZipFile, options: ReadingOptions) -> Iterator[Member]:
    for member in archive.infolist():
        name = _name(member)
        if not member.is_dir() and not is_junk(name):
            read = partial(_content, archive, member, options)
            yield Member(name, "member", read, _problem(member, options))


def _name(member: zipfile.ZipInfo) -> str:
    """The name as it was meant: many programs write UTF-8 and do not say so."""
    if member.flag_bits & _IS_UTF_8:
        return member.orig_filename
    try:
        return member.orig_filename.encode("cp437").decode("utf-8")
    except UnicodeError:
        return member.orig_filename


def _problem(member: zipfile.ZipInfo, options: ReadingOptions) -> str | None:
    largest = max(_RATIO_FROM_BYTES, member.compress_size * options.max_ratio)
    findings = (
        (stat.S_ISLNK(member.external_attr >> 16), LINK),
        (member.flag_bits & _IS_ENCRYPTED or member.compress_type == _AES, ENCRYPTED),
        (member.compress_type not in _READABLE, UNKNOWN_PACKING),
        (not member.file_size, EMPTY),
        (member.file_size > options.max_part_bytes, too_large(options)),
        (member.file_size > largest, f"it unpacks to more than {options.max_ratio} times its size: a trap"),
    )
    return next((problem for is_so, problem in findings if is_so), None)


def _content(archive: zipfile.ZipFile, member: zipfile.ZipInfo, options: ReadingOptions) -> bytes:
    """At most one byte more than a part may have: whatever the directory says of its size."""
    pieces: list[bytes] = []
    left = options.max_part_bytes + 1
    try:
        with archive.open(member) as stream:
            while left > 0 and (piece := stream.read(min(left, _PIECE))):
                pieces.append(piece)
                left -= len(piece)
    except ZIP_FAULTS as error:
        raise CorruptError("this file of the archive is damaged; have it sent again") from error
    return b"".join(pieces)
