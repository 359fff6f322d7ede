"""The types of files that hold documents, and how to look into each."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path

from docmill.reading.containers import archives
from docmill.reading.containers.members import Held
from docmill.reading.files.options import ReadingOptions
from docmill.reading.formats import READERS, Read
from docmill.reading.mail import eml, outlook_msg, tnef

Look = Callable[[Path, ReadingOptions], AbstractContextManager[Sequence[Held]]]
"""What a file holds, to be read within the block. Raises EncryptedError, CorruptError, TooLargeError."""

WHOLES: Mapping[str, Look] = {
    "application/mbox": eml.messages,
    "application/ms-tnef": tnef.enclosed,
    "application/vnd.ms-outlook": outlook_msg.enclosed,
    "application/zip": archives.members,
    "message/rfc822": eml.enclosed,
}
"""By media type."""

TEXTS: Mapping[str, Read] = {
    **READERS,
    "application/ms-tnef": tnef.read,
    "application/vnd.ms-outlook": outlook_msg.read,
    "message/rfc822": eml.read,
}
"""By media type, what has no pages and says something itself."""
