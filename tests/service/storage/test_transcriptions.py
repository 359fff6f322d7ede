"""A stored transcription is loaded, or the error says what is wrong with it."""

import json
from collections.abc import Callable

import pytest
import zstandard
from obstore.store import MemoryStore

from docmill.errors import CorruptError
from docmill.model import codec
from docmill.model.document import Document
from docmill.service.storage.blobs import Blobs, NewerTranscriptionError, load_transcription

PATH = "ingestions/7/transcription.json.zst"


async def test_a_stored_transcription_is_loaded(make_document: Callable[..., Document]) -> None:
    blobs = Blobs(MemoryStore())
    await blobs.put_once(PATH, codec.dumps(make_document("Total 12.50")))

    assert (await load_transcription(blobs, PATH)).text == "Total 12.50"


async def test_one_that_is_gone_is_corrupt() -> None:
    with pytest.raises(CorruptError, match="is gone"):
        await load_transcription(Blobs(MemoryStore()), PATH)


async def test_one_that_cannot_be_read_is_corrupt() -> None:
    blobs = Blobs(MemoryStore())
    await blobs.put_once(PATH, b"half a file")

    with pytest.raises(CorruptError, match="cannot be read"):
        await load_transcription(blobs, PATH)


async def test_one_of_a_newer_release_waits_for_that_release() -> None:
    blobs = Blobs(MemoryStore())
    await blobs.put_once(PATH, zstandard.compress(json.dumps({"format": 99}).encode()))

    with pytest.raises(NewerTranscriptionError, match="update this one"):
        await load_transcription(blobs, PATH)
