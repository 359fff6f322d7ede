"""Members of mails and archives, extracted within limits; ZIP archives."""

import stat
import struct
import zipfile
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import count as count_from
from pathlib import Path
from typing import NamedTuple

from docmill.errors import CorruptError, DocumentError, EncryptedError, TooLargeError
from docmill.files import clean_name, is_junk
from docmill.model.document import Part, PartKind
from docmill.reading.files.file_types import ZIP_FAULTS
from docmill.reading.files.options import ReadingOptions

TASK_BYTES = 32_000_000
"""A task returns no further parts through its socket once it has this many bytes."""
EMPTY = "the file is empty"
TOO_MUCH = "the files before it are all that is taken out of one document; upload it by itself"
ENCRYPTED = "protected by a password; unpack it with the password and upload what comes out"
LINK = "a link to another place, not a file"
UNKNOWN_PACKING = "packed in a way that cannot be read; pack it as an ordinary ZIP archive"
DAMAGED = "the archive is damaged; have it sent again, or unpack it and upload what it holds"

_IS_ENCRYPTED = 0x1
_IS_UTF_8 = 0x800
_AES_METHOD = 99
_MIN_RATIO_BYTES = 10_000_000
"""The compression ratio of smaller files is not checked."""
_MAX_DIRECTORY_BYTES = 5_000_000
_CHUNK_BYTES = 1 << 20
_SUPPORTED_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA)
_END_RECORD = struct.Struct("<4s4H2LH")
_ZIP64_END_RECORD = struct.Struct("<4sQ2H2L4Q")
"""Records at the end of an archive (APPNOTE.TXT 4.3.14 and 4.3.16)."""


@dataclass(frozen=True, slots=True)
class Member:
    """A document within another, before it is extracted.

    read: returns its bytes, raises a DocumentError with the reason. problem: the reason if it cannot be
    read, as far as that is known already.
    """

    name: str
    kind: PartKind
    read: Callable[[], bytes]
    problem: str | None = None


class MemberBatch(NamedTuple):
    """Parts from some index on. contents: None for a part with a problem. is_last: no parts follow."""

    parts: list[Part]
    contents: list[bytes | None]
    is_last: bool


def with_clean_names(members: Iterable[Member]) -> Iterator[Member]:
    """Yield the members with clean, distinct names, without junk files of operating systems."""
    files: set[str] = set()
    names: set[str] = set()
    for member in members:
        if is_junk(member.name):
            continue
        name = clean_name(member.name)
        steps = name.casefold().split("/")
        folders = ["/".join(steps[:count]) for count in range(1, len(steps))]
        if not files.isdisjoint(folders):  # a file cannot be a folder as well
            name, folders = name.replace("/", "_"), []
        if name.casefold() in names:  # whatever its case, as some file systems ignore it
            folder, slash, last = name.rpartition("/")
            stem, dot, ending = last.rpartition(".")
            if not stem:
                stem, dot, ending = last, "", ""
            numbered = (f"{folder}{slash}{stem} ({number}){dot}{ending}" for number in count_from(2))
            name = next(other for other in numbered if other.casefold() not in names)
        files.add(name.casefold())
        names.update((name.casefold(), *folders))
        yield replace(member, name=name)


def take_batch(members: Iterable[Member], first: int, room: int, options: ReadingOptions) -> MemberBatch:
    """Extract the parts from index `first` on, as many as one task may return, at least one.

    room: bytes that the document's parts may still have together; parts that do not fit get a problem.
    """
    parts: list[Part] = []
    contents: list[bytes | None] = []
    size = 0
    for index, member in enumerate(with_clean_names(members)):
        if index < first:
            continue
        if size >= TASK_BYTES:
            return MemberBatch(parts, contents, is_last=False)
        content: bytes | None = None
        problem = member.problem or (TOO_MUCH if size >= room else None)
        if problem is None:
            try:
                content = member.read()
            except DocumentError as error:
                problem = error.message
        if content is not None:
            problems = (
                (not content, EMPTY),
                (len(content) > options.max_part_bytes, _too_large(options)),
                (len(content) > room - size, TOO_MUCH),
            )
            problem = next((problem for is_so, problem in problems if is_so), None)
            content = None if problem else content
        parts.append(Part(member.name, member.kind, problem=problem))
        contents.append(content)
        size += len(content or b"")
    return MemberBatch(parts, contents, is_last=True)


def _too_large(options: ReadingOptions) -> str:
    """Problem text of a part that has too many bytes."""
    return f"the file is larger than {options.max_part_bytes / 1e6:.0f} MB; upload it by itself, in pieces"


@contextmanager
def open_archive(path: Path, options: ReadingOptions) -> Generator[list[Member]]:
    """Open an archive; its members can be read within the block.

    Raises CorruptError, TooLargeError for too many members, EncryptedError if all need a password.
    """
    _check_directory(path)
    try:
        archive = zipfile.ZipFile(path)
    except ZIP_FAULTS as error:
        raise CorruptError(DAMAGED) from error
    with archive:
        entries = [entry for entry in archive.infolist() if not entry.is_dir()]
        members = [_archive_member(archive, entry, options) for entry in entries]
        members = [member for member in members if not is_junk(member.name)]
        if not members:
            raise CorruptError("the archive holds no file")
        if len(members) > options.max_parts:
            count = f"{len(members)} files, more than {options.max_parts}"
            raise TooLargeError(f"the archive holds {count}; split it into several")
        if all(member.problem == ENCRYPTED for member in members):
            raise EncryptedError(f"the archive is {ENCRYPTED}")
        yield members


def _check_directory(path: Path) -> None:
    """Refuse an archive whose directory is too large to be read in acceptable time and memory."""
    with path.open("rb") as file:
        file.seek(0, 2)
        file.seek(max(0, file.tell() - _END_RECORD.size - 0xFFFF))
        tail = file.read()
    end, end_64 = tail.rfind(b"PK\x05\x06"), tail.rfind(b"PK\x06\x06")
    if end < 0 or len(tail) - end < _END_RECORD.size:
        raise CorruptError(DAMAGED)
    directory_bytes = _END_RECORD.unpack_from(tail, end)[5]
    if 0 <= end_64 <= end - _ZIP64_END_RECORD.size:  # the ZIP64 record takes precedence
        directory_bytes = _ZIP64_END_RECORD.unpack_from(tail, end_64)[8]
    if directory_bytes > _MAX_DIRECTORY_BYTES:
        raise TooLargeError("the archive lists too many files; split it into several")


def _archive_member(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, options: ReadingOptions) -> Member:
    name = entry.orig_filename
    if not entry.flag_bits & _IS_UTF_8:  # many programs write UTF-8 without the flag for it
        with suppress(UnicodeError):
            name = name.encode("cp437").decode("utf-8")
    largest = max(_MIN_RATIO_BYTES, entry.compress_size * options.max_ratio)
    problems = (
        (stat.S_ISLNK(entry.external_attr >> 16), LINK),
        (entry.flag_bits & _IS_ENCRYPTED or entry.compress_type == _AES_METHOD, ENCRYPTED),
        (entry.compress_type not in _SUPPORTED_METHODS, UNKNOWN_PACKING),
        (not entry.file_size, EMPTY),
        (entry.file_size > options.max_part_bytes, _too_large(options)),
        (entry.file_size > largest, f"it unpacks to more than {options.max_ratio} times its size: a trap"),
    )
    problem = next((problem for is_so, problem in problems if is_so), None)
    return Member(name, "member", partial(_read_content, archive, entry, options), problem)


def _read_content(archive: zipfile.ZipFile, member: zipfile.ZipInfo, options: ReadingOptions) -> bytes:
    """Read a member, up to one byte more than a part may have, whatever size the directory states."""
    chunks: list[bytes] = []
    left = options.max_part_bytes + 1
    try:
        with archive.open(member) as stream:
            while left > 0 and (chunk := stream.read(min(left, _CHUNK_BYTES))):
                chunks.append(chunk)
                left -= len(chunk)
    except ZIP_FAULTS as error:
        raise CorruptError("this file of the archive is damaged; have it sent again") from error
    return b"".join(chunks)
