"""Compound files as Outlook writes them ([MS-CFB] version 3), small ones."""

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

Tree: TypeAlias = Mapping[str, "bytes | Tree"]

_SECTOR, _MINI, _CUTOFF = 512, 64, 4096
_FREE, _END, _FAT = 0xFFFFFFFF, 0xFFFFFFFE, 0xFFFFFFFD
_STORAGE, _STREAM, _ROOT = 1, 2, 5


@dataclass
class _Entry:
    name: str
    kind: int
    content: bytes = b""
    child: int = _FREE
    right: int = _FREE
    start: int = _END

    def packed(self, size: int) -> bytes:
        name = self.name.encode("utf-16-le") + b"\0\0"
        return struct.pack(
            "<64sHBBLLL16sL16sLQ",
            name, len(name), self.kind, 1, _FREE, self.right, self.child, b"", 0, b"", self.start, size,
        )  # fmt: skip


@dataclass
class _Chains:
    """Sectors of one size, and which comes after which."""

    size: int
    after: list[int] = field(default_factory=list[int])
    data: bytearray = field(default_factory=bytearray)

    def add(self, content: bytes) -> int:
        """Where the content begins."""
        if not content:
            return _END
        first = len(self.after)
        count = -(-len(content) // self.size)
        self.after += [*range(first + 1, first + count), _END]
        self.data += content.ljust(count * self.size, b"\0")
        return first


def compound(tree: Tree) -> bytes:
    """A compound file with these storages and streams."""
    entries = [_Entry("Root Entry", _ROOT)]
    entries[0].child = _listed(tree, entries)
    large, small = _Chains(_SECTOR), _Chains(_MINI)
    for entry in entries[1:]:
        entry.start = (small if len(entry.content) < _CUTOFF else large).add(entry.content)
    entries[0].start = large.add(bytes(small.data))
    links = large.add(struct.pack(f"<{len(small.after)}L", *small.after).ljust(_SECTOR, b"\xff"))
    listing = b"".join(entry.packed(len(entry.content)) for entry in entries[1:])
    names = large.add(entries[0].packed(len(small.data)) + listing)
    return _file(large, names=names, links=links)


def _listed(tree: Tree, entries: list[_Entry]) -> int:
    """The index of the first of the entries, of which each is to the right of the one before."""
    last: _Entry | None = None
    first = _FREE
    for name, content in tree.items():
        is_stream = isinstance(content, bytes)
        entry = _Entry(name, _STREAM, content) if is_stream else _Entry(name, _STORAGE)
        if last is None:
            first = len(entries)
        else:
            last.right = len(entries)
        entries.append(entry)
        last = entry
        if not is_stream:
            entry.child = _listed(content, entries)
    return first


def _file(chains: _Chains, *, names: int, links: int) -> bytes:
    count = 1
    while count * _SECTOR // 4 < len(chains.after) + count:
        count += 1
    tables = list(range(len(chains.after), len(chains.after) + count))
    head = struct.pack(
        "<8s16sHHHHH6xLLLLLLLLLL",
        b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", b"", 0x3E, 3, 0xFFFE, 9, 6,
        0, count, names, 0, _CUTOFF, links, 1, _END, 0, tables[0],
    )  # fmt: skip
    head += _numbers([*tables[1:]], 108)
    return head + chains.data + _numbers([*chains.after, *[_FAT] * count], count * _SECTOR // 4)


def _numbers(numbers: Sequence[int], count: int) -> bytes:
    return struct.pack(f"<{count}L", *numbers, *[_FREE] * (count - len(numbers)))


TEXT_16, BINARY = "001F", "0102"


def message(
    *attached: Tree, texts: Mapping[int, str] | None = None, binaries: Mapping[int, bytes] | None = None
) -> Tree:
    """A message for `compound`, by its properties and attachments."""
    return {
        "__properties_version1.0": bytes(32),
        **_values(texts or {}, binaries or {}),
        **{f"__attach_version1.0_#{index:08X}": one for index, one in enumerate(attached)},
    }


def within(tree: Tree) -> Tree:
    """A message as an attachment of another."""
    inner = {**tree, "__properties_version1.0": bytes(24)}
    return {"__properties_version1.0": bytes(8), "__substg1.0_3701000D": inner}


def attachment(texts: Mapping[int, str], binaries: Mapping[int, bytes]) -> Tree:
    """An attachment by its properties."""
    return {"__properties_version1.0": bytes(8), **_values(texts, binaries)}


def _values(texts: Mapping[int, str], binaries: Mapping[int, bytes]) -> Tree:
    return {
        **{f"__substg1.0_{number:04X}{TEXT_16}": text.encode("utf-16-le") for number, text in texts.items()},
        **{f"__substg1.0_{number:04X}{BINARY}": content for number, content in binaries.items()},
    }
