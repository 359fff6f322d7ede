"""The types of files that hold documents, and how to look into each."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path

from docmill.reading import archives
from docmill.reading.holding import Held
from docmill.reading.options import ReadingOptions

ZIP = "application/zip"

Look = Callable[[Path, ReadingOptions], AbstractContextManager[Sequence[Held]]]
"""What a file holds, to be read within the block. Raises EncryptedError, CorruptError, TooLargeError."""

WHOLES: Mapping[str, Look] = {
    ZIP: archives.members,
}
"""By media type."""
