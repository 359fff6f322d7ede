"""Members of mails and archives: their names, and taking them out within limits."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

from docmill.errors import CorruptError, DocumentError
from docmill.files import clean_name, is_junk
from docmill.model.document import Part, PartKind
from docmill.reading.files.options import ReadingOptions

TASK_BYTES = 32_000_000
"""What one task gives back at most, unless a single part is larger: it goes through a socket."""
EMPTY = "the file is empty"
TOO_MUCH = "the files before it are all that is taken out of one document; upload it by itself"

"""What no name needs: control characters, halves of characters, and what turns the direction of writing."""


@dataclass(frozen=True, slots=True)
class Member:
    """A document within another, before it is taken out.

    read: its bytes; raises a DocumentError that says why not. problem: known before reading.
    """

    name: str
    kind: PartKind
    read: Callable[[], bytes]
    problem: str | None = None


class MemberBatch(NamedTuple):
    """Parts from some position on. contents: None for each with a problem. is_last: none come after."""

    parts: list[Part]
    contents: list[bytes | None]
    is_last: bool


def with_clean_names(held: Iterable[Member]) -> Iterator[Member]:
    """Give clean, distinct names to the members that are not junk files of a system."""
    files: set[str] = set()
    names: set[str] = set()
    for member in held:
        if is_junk(member.name):
            continue
        name = clean_name(member.name)
        if not files.isdisjoint(_folders(name)):  # a file cannot be a folder as well
            name = name.replace("/", "_")
        name = _unlike(name, names)
        files.add(name.casefold())
        names.update((name.casefold(), *_folders(name)))
        yield replace(member, name=name)


def list_parts(held: Iterable[Member]) -> list[Part]:
    """List the members as parts, without their contents."""
    return [Part(member.name, member.kind, problem=member.problem) for member in with_clean_names(held)]


def take_batch(held: Iterable[Member], first: int, room: int, options: ReadingOptions) -> MemberBatch:
    """Take out the parts from index `first` on, as many as one task may return, at least member.

    room: how many bytes all of them may have together; those that do not fit are not taken.
    """
    parts: list[Part] = []
    contents: list[bytes | None] = []
    size = 0
    for index, member in enumerate(with_clean_names(held)):
        if index < first:
            continue
        if size >= TASK_BYTES:
            return MemberBatch(parts, contents, is_last=False)
        part, content = _taken(member, room - size, options)
        parts.append(part)
        contents.append(content)
        size += len(content or b"")
    return MemberBatch(parts, contents, is_last=True)


def _taken(member: Member, room: int, options: ReadingOptions) -> tuple[Part, bytes | None]:
    part = Part(member.name, member.kind, problem=member.problem)
    if part.problem is not None:
        return part, None
    if room <= 0:
        return replace(part, problem=TOO_MUCH), None
    try:
        content = member.read()
        if not content:
            raise CorruptError(EMPTY)
    except DocumentError as error:
        return replace(part, problem=error.message), None
    if len(content) > options.max_part_bytes:
        return replace(part, problem=too_large(options)), None
    if len(content) > room:
        return replace(part, problem=TOO_MUCH), None
    return part, content


def too_large(options: ReadingOptions) -> str:
    """Problem text of a part that has too many bytes."""
    return f"the file is larger than {options.max_part_bytes / 1e6:.0f} MB; upload it by itself, in pieces"


def _folders(name: str) -> list[str]:
    steps = name.casefold().split("/")
    return ["/".join(steps[:count]) for count in range(1, len(steps))]


def _unlike(name: str, taken: set[str]) -> str:
    """`name`, with a number before its ending if it is taken. Systems take a.PDF and A.pdf for the same."""
    if name.casefold() not in taken:
        return name
    folder, slash, last = name.rpartition("/")
    stem, dot, ending = last.rpartition(".")
    if not stem:
        stem, dot, ending = last, "", ""
    number = 2
    while (other := f"{folder}{slash}{stem} ({number}){dot}{ending}").casefold() in taken:
        number += 1
    return other
