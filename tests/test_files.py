"""A file is hashed and read in pieces."""

import hashlib
from pathlib import Path

from docmill.files import CHUNK_BYTES, chunks, digest


def test_the_digest_is_the_sha_256_of_the_content(tmp_path: Path) -> None:
    file = tmp_path / "a"
    file.write_bytes(b"content")

    assert digest(file) == hashlib.sha256(b"content").hexdigest()


async def test_the_chunks_are_the_file_in_pieces(tmp_path: Path) -> None:
    file = tmp_path / "a"
    content = bytes(CHUNK_BYTES) + b"the rest"
    file.write_bytes(content)

    pieces = [piece async for piece in chunks(file)]

    assert pieces == [content[:CHUNK_BYTES], b"the rest"]
