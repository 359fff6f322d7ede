"""Damage to files, always the same for the same random numbers."""

import io
import struct
import zipfile
import zlib
from collections.abc import Callable
from random import Random

INTERESTING = (
    b"\x00",
    b"\xff",
    b"\x7f",
    b"\x80",
    b"\xff\xff\xff\xff",
    b"\x7f\xff\xff\xff",
    b"%s%n",
    b"<",
    b"&a;",
    b"\r\n",
)
BROKEN = (zipfile.BadZipFile, zlib.error, OSError, ValueError, RuntimeError, EOFError, KeyError, struct.error)
MOST_BYTES = 2_000_000

Mutation = Callable[[bytes, bytes, Random], bytes]


def mutated(seed: bytes, other: bytes, random: Random) -> bytes:
    """The seed with one to four kinds of damage. other: a file to take pieces from."""
    data = seed
    for _ in range(random.randint(1, 4)):
        data = random.choice(MUTATIONS)(data, other, random)
    return data[:MOST_BYTES]


def flipped(data: bytes, _other: bytes, random: Random) -> bytes:
    """A few bits changed."""
    changed = bytearray(data)
    for _ in range(random.choice((1, 2, 8, 64)) if data else 0):
        changed[random.randrange(len(changed))] ^= 1 << random.randrange(8)
    return bytes(changed)


def truncated(data: bytes, _other: bytes, random: Random) -> bytes:
    """Only the beginning, or all but the beginning."""
    at = random.randint(0, len(data))
    return data[:at] if random.random() < 0.8 else data[at:]


def overwritten(data: bytes, _other: bytes, random: Random) -> bytes:
    """A number or a sign that readers stumble over."""
    piece = random.choice(INTERESTING)
    at = random.randint(0, len(data))
    return data[:at] + piece + data[at + len(piece) :]


def repeated(data: bytes, _other: bytes, random: Random) -> bytes:
    """A piece many times over."""
    at, length = random.randint(0, len(data)), random.choice((1, 4, 16, 256))
    return data[:at] + data[at : at + length] * random.choice((2, 10, 500)) + data[at:]


def cut(data: bytes, _other: bytes, random: Random) -> bytes:
    """A piece gone."""
    at = random.randint(0, len(data))
    return data[:at] + data[at + random.choice((1, 2, 4, 100)) :]


def spliced(data: bytes, other: bytes, random: Random) -> bytes:
    """The beginning of one and the end of the other."""
    return data[: random.randint(0, len(data))] + other[random.randint(0, len(other)) :]


def member_damaged(data: bytes, other: bytes, random: Random) -> bytes:
    """Of an archive: one file changed and all sums right, so that the archive itself shows nothing."""
    members = _members(data)
    if not members:
        return flipped(data, other, random)
    names = sorted(members)
    name = random.choice(names)
    match random.randrange(4):
        case 0:
            del members[name]
        case 1:
            members[name] = members[random.choice(names)]
        case 2:
            members[name] = nested(members[name], random)
        case _:
            members[name] = random.choice(PLAIN)(members[name], other, random)
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for member, content in members.items():
            archive.writestr(member, content)
    return packed.getvalue()


def nested(data: bytes, random: Random) -> bytes:
    """Elements in elements, deeper than any program writes."""
    at = data.rfind(b"</") if b"</" in data else len(data)
    depth = random.choice((100, 5_000, 50_000))
    return data[:at] + b"<p>" * depth + b"</p>" * depth + data[at:]


def _members(data: bytes) -> dict[str, bytes]:
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            small = [member for member in archive.infolist() if member.file_size < MOST_BYTES]
            return {member.filename: archive.read(member) for member in small[:100]}
    except BROKEN:
        return {}


PLAIN: tuple[Mutation, ...] = (flipped, truncated, overwritten, repeated, cut, spliced)
MUTATIONS: tuple[Mutation, ...] = (*PLAIN, member_damaged, member_damaged)
