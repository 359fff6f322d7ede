"""The types of files that hold documents, and how to look into each."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path

from docmill.reading import archives, mail, msg, tnef
from docmill.reading.formats import READERS, Read
from docmill.reading.holding import Held
from docmill.reading.options import ReadingOptions

Look = Callable[[Path, ReadingOptions], AbstractContextManager[Sequence[Held]]]
"""What a file holds, to be read within the block. Raises EncryptedError, CorruptError, TooLargeError."""

WHOLES: Mapping[str, Look] = {
    "application/mbox": mail.messages,
    "application/ms-tnef": tnef.enclosed,
    "application/vnd.ms-outlook": msg.enclosed,
    "application/zip": archives.members,
    "message/rfc822": mail.enclosed,
}
"""By media type."""

TEXTS: Mapping[str, Read] = {
    **READERS,
    "application/ms-tnef": tnef.read,
    "application/vnd.ms-outlook": msg.read,
    "message/rfc822": mail.read,
}
"""By media type, what has no pages and says something itself."""
