"""Loads the stored text of documents."""

from docmill.errors import CorruptError, ServerError
from docmill.model import codec
from docmill.model.document import Document
from docmill.resilience.concurrency import STORED_BYTES, off_loop
from docmill.service.storage.blobs import Blobs


class NewerTranscriptionError(ServerError):
    """A newer release of docmill wrote the transcription."""


async def load_transcription(blobs: Blobs, path: str) -> Document:
    """The document whose text is stored at `path`.

    Raises CorruptError if the file is gone or cannot be read, NewerTranscriptionError, and what `Blobs.get`
    raises.
    """
    data = await blobs.get(path)
    try:
        return await off_loop(codec.loads, data, size=len(data) / STORED_BYTES)
    except codec.NewerFormatError as error:
        raise NewerTranscriptionError(
            "the document was read by a newer release of docmill; update this one, then try again"
        ) from error
    except ValueError as error:
        raise CorruptError(f"the stored transcription {path!r} cannot be read") from error
