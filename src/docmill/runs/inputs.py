"""The documents that a run is given, in batches."""

import asyncio
import itertools
import os
import re
from collections.abc import AsyncIterable, AsyncIterator
from pathlib import Path

from docmill.ports import Ref
from docmill.runs.roles import Inputs, Listed
from docmill.runs.states import NewDocument

BATCH = 500
_ESCAPED = re.compile(rb"\\x([89a-f][0-9a-f])")
LINGER_S = 0.05
"""What comes one by one is added in batches as far as it comes within this time."""


async def in_batches(inputs: Inputs) -> AsyncIterator[list[NewDocument]]:
    """The listed documents, each as soon as it is known. A blocking iterator is asked in a thread."""
    if isinstance(inputs, AsyncIterable):
        async for batch in _gathered(inputs):
            yield batch
        return
    iterator = iter(inputs)
    while batch := await asyncio.to_thread(
        lambda: [_listed(one) for one in itertools.islice(iterator, BATCH)]
    ):
        yield batch


async def _gathered(inputs: AsyncIterable[Listed]) -> AsyncIterator[list[NewDocument]]:
    """What an asynchronous iterator gives, in batches, without waiting for a batch to become full."""
    queue: asyncio.Queue[NewDocument | None] = asyncio.Queue(BATCH)

    async def ask() -> None:
        try:
            async for one in inputs:
                await queue.put(_listed(one))
        finally:
            await queue.put(None)

    asking = asyncio.create_task(ask())
    try:
        while (first := await queue.get()) is not None:
            await asyncio.sleep(LINGER_S)
            batch: list[NewDocument] = [first]
            is_last = False
            while not queue.empty() and len(batch) < BATCH:
                following = queue.get_nowait()
                if following is None:
                    is_last = True
                    break
                batch.append(following)
            yield batch
            if is_last:
                break
        await asking
    finally:
        asking.cancel()


def _listed(given: Listed) -> NewDocument:
    match given:
        case Ref():
            return NewDocument(_text(given.key), _text(given.name), given.metadata, given.version)
        case Path():
            return NewDocument(key_of(given), key_of(Path(given.name)), version=version_of(given))
        case str():
            key = _text(given)
            return NewDocument(key, key.rstrip("/").rpartition("/")[2] or key)


def _text(name: str) -> str:
    if name.isascii():
        return name
    try:
        return os.fsencode(name).decode("utf-8", "backslashreplace")
    except UnicodeEncodeError:  # half of a pair that stands for no byte
        return name.encode("utf-8", "backslashreplace").decode()


def key_of(path: Path) -> str:
    r"""The path as a key. Bytes of it that are no UTF-8 are written as \xNN: stores keep text."""
    return _text(path.as_posix())


def path_of(key: str) -> Path:
    """The path of which this is the key."""
    path = Path(key)
    if "\\x" not in key or path.exists():
        return path
    as_bytes = _ESCAPED.sub(lambda match: bytes.fromhex(match[1].decode()), key.encode())
    return Path(os.fsdecode(as_bytes))


def version_of(path: Path) -> str:
    """The version of a local file: its size, and when it was last changed; empty if it is not to be seen."""
    try:
        status = path.stat()
    except OSError:
        return ""
    return f"{status.st_size}-{status.st_mtime_ns}"
