"""Content that arrives piece by piece: in memory while it is small, in a temporary file beyond."""

import os
import tempfile
from pathlib import Path
from types import TracebackType
from typing import IO, Self

from docmill.errors import ServerError, TooLargeError
from docmill.runs.document_bytes import DocumentBytes

MEMORY_BYTES = 1 << 20
"""Content up to this size stays in memory."""


class IncomingContent:
    """Collects the content of a document, up to a limit. Left without `take`, its block leaves no file."""

    def __init__(self, name: str, max_bytes: int) -> None:
        self._name = name
        self._max_bytes = max_bytes
        self._size = 0
        self._parts: list[bytes] = []
        self._file: IO[bytes] | None = None
        self._path: Path | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._file is not None:
            self._file.close()
        if self._path is not None:
            self._path.unlink(missing_ok=True)

    def check_size(self, byte_size: int) -> None:
        """Raise TooLargeError if so many bytes are more than the limit."""
        if byte_size > self._max_bytes:
            raise TooLargeError(
                f"{self._name!r} has more than {self._max_bytes / 1e6:g} MB, which is the limit"
            )

    def add(self, part: bytes) -> None:
        """Add a piece. Raises TooLargeError beyond the limit, ServerError if the disk takes no more."""
        self._size += len(part)
        self.check_size(self._size)
        try:
            if self._file is None:
                self._parts.append(part)
                if self._size <= MEMORY_BYTES:
                    return
                descriptor, path = tempfile.mkstemp(prefix="docmill-")
                self._path = Path(path)
                self._file = os.fdopen(descriptor, "wb")
                self._file.writelines(self._parts)
                self._parts.clear()
            else:
                self._file.write(part)
        except OSError as error:
            raise ServerError(f"cannot write a temporary file: {error.strerror}") from error

    def take(self) -> DocumentBytes:
        """The content; whoever takes it removes it. Raises ServerError if the disk takes no more."""
        if self._file is None or self._path is None:
            return DocumentBytes(self._name, content=b"".join(self._parts))
        try:
            self._file.close()
        except OSError as error:
            raise ServerError(f"cannot write a temporary file: {error.strerror}") from error
        path, self._path = self._path, None
        return DocumentBytes(self._name, path=path, is_temporary=True)
